"""The compression-based mechanism: fewer reports than answers, and the least epsilon for a bound of the distortion."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Channel, Subset, Table
from sottovoce.core.domain import Domain, Merged
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_epsilon, check_fraction, check_integer, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.published_common import budget_of

NAME = "compression"
MOST_PLANNED = 256  # categories with given laws, whose programs are solved
_UNUSED = 1e-7  # of the largest weight: below it an output is left out
_STEPS = 60  # of a bisection of epsilon
_GRID = 1 << 40  # weights of a program are rounded to it

Floats = NDArray[np.float64]


class Floors(NamedTuple):
    """The least probability of each report, and the share of answers that are reported as they are."""

    weights: Floats
    kept: float


def build(
    domain: Domain, *, epsilon: Any = None, prior: Any = None, distortion: Any = None, outputs: int | None = None
) -> Mechanism:
    """The channel to at most `outputs` categories with the least epsilon for a distortion, or the reverse.

    Law: the likeliest categories under `prior` have a report each; all others are merged with the last of these. Among
        m reports z has the least probability a(z), and e**epsilon a(z) for its own category; the rest of a row is
        divided among the others in proportion to a. The weights a minimise the largest probability, over the laws of
        `prior`, that the report is another category than the answer: a linear program.
    Privacy: no column has a ratio above e**epsilon, compared in integers. With `distortion` in place of epsilon, the
        least epsilon for which that program keeps the distortion is found by bisection.
    Estimator: the inverse of the table, for the shares of the merged categories; unbiased for any answers.
    Cost: one byte. For one law the channel is randomized response on the merged categories; fewer of them have less
        distortion at a small epsilon. The compression ratio is ln(m) / ln(k).
    Reference: Xiong, Sarwate, Mandayam, "Randomized requantization with local differential privacy", ICASSP 2016;
        section 2.2.3 of the survey.
    """
    k = categories(NAME, domain, 1 << 16)
    most = k if outputs is None else check_integer("outputs", NAME, outputs, 2, k)
    laws = _laws(prior, k)
    if distortion is None or epsilon is not None:
        budget = check_epsilon(NAME, epsilon)
    if distortion is not None and epsilon is not None:
        raise ParameterError(f"Give {NAME} either epsilon or distortion: the other one follows.")
    kept = _likeliest(laws, most)
    if distortion is None:
        kept, channel = _channel(laws, kept, odds(budget))
    else:
        kept, channel = _least(laws, kept, _wanted(distortion, laws[:, kept]))
        budget = budget_of(NAME, channel.ratio())
    view = domain if len(kept) == k else Merged(domain, tuple(_classes(kept, k)))
    return Mechanism(NAME, Frequency(view), channel, budget, CountOutputs())


def distortion_of(mechanism: Mechanism, prior: Any) -> float:
    """The largest probability, over the laws of a prior, that a report is another category than the answer."""
    view = mechanism.domain
    classes: tuple[int, ...] = getattr(view, "parts", tuple(range(view.size or 0)))
    laws = _laws(prior, len(classes))
    own = np.array([float(mechanism.channel.likelihood(place, place)) for place in range(max(classes) + 1)])
    first = [classes.index(place) for place in range(len(own) - 1)]
    alone = 1 - laws[:, first] @ own[:-1]
    last = [code for code, one in enumerate(classes) if one == len(own) - 1]  # its report stands for one of these
    return float(min(np.max(alone - own[-1] * laws[:, code]) for code in last))


# --- what was asked ---------------------------------------------------------------------------------------
def _laws(prior: Any, k: int) -> Floats:
    """One row for each law of the answers; without a prior, even shares."""
    if prior is None:
        return np.full((1, k), 1 / k)
    must_be = f"a list of {k} weights that are not negative, or several such lists, for at most {MOST_PLANNED} codes"
    given = list(prior) if isinstance(prior, Iterable) and not isinstance(prior, (str, bytes)) else []
    listed = given if given and isinstance(given[0], Iterable) and not isinstance(given[0], str) else [given]
    if not all(isinstance(row, Iterable) and not isinstance(row, (str, bytes)) for row in listed):
        raise reject("prior", NAME, must_be, prior)
    rows = [[float(check_fraction("prior", NAME, weight)) for weight in row] for row in listed]
    if k > MOST_PLANNED or any(len(row) != k or min(row) < 0 or sum(row) <= 0 for row in rows):
        raise reject("prior", NAME, must_be, prior)
    laws = np.array(rows)
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def _likeliest(laws: Floats, most: int) -> list[int]:
    """The categories of largest mean probability, in this order."""
    order: list[int] = np.argsort(-laws.mean(axis=0), kind="stable").tolist()
    return order[:most]


def _wanted(distortion: Any, laws: Floats) -> float:
    """The share of answers that must be kept."""
    allowed = float(check_fraction("distortion", NAME, distortion))
    least = float(np.max(1 - laws.sum(axis=1)))
    most = float(np.max(1 - laws[:, 0]))
    if not least < allowed < most:
        raise reject(
            "distortion",
            NAME,
            f"a number in ({least:.6g}, {most:.6g}): merging alone changes the first share of answers, and the second"
            " is reached by always reporting the likeliest category, which tells nothing",
            distortion,
        )
    return 1 - allowed


def _classes(kept: list[int], k: int) -> list[int]:
    """The class of each category: kept ones by their place among all kept, all others with the last kept one."""
    order = [*sorted(kept[:-1]), kept[-1]]
    return [order.index(code) if code in order else len(order) - 1 for code in range(k)]


# --- the program ------------------------------------------------------------------------------------------
def floors(laws: Floats, ratio: float) -> Floors:
    """The weights with the least distortion: maximise the least share that is kept, over the laws.

    A row has room for the own report if sum(a) + (ratio - 1) a(x) <= 1; what is left then fits into the others.
    """
    worst, m = laws.shape
    room = np.hstack([np.ones((m, m)) + (ratio - 1) * np.eye(m), np.zeros((m, 1))])
    kept = np.hstack([-ratio * laws, np.ones((worst, 1))])
    solution = linprog(
        [*[0.0] * m, -1.0],
        A_ub=np.vstack([room, kept]),
        b_ub=[*[1.0] * m, *[0.0] * worst],
        bounds=[(0, 1)] * (m + 1),
        method="highs-ds",
    )
    return Floors(np.asarray(solution.x[:m]), float(solution.x[m]))


def _support(laws: Floats, kept: list[int], ratio: float) -> tuple[list[int], Floors]:
    """The kept categories whose report is used, and the program of these alone."""
    while True:
        solved = floors(laws[:, kept], ratio)
        used = [code for code, one in zip(kept, solved.weights, strict=True) if one > _UNUSED * solved.weights.max()]
        if len(used) < 2:
            raise ParameterError(
                f"At this epsilon {NAME} has the least distortion if the likeliest category is always reported, which"
                " tells nothing. Give a larger epsilon, or another prior."
            )
        if len(used) == len(kept):
            return kept, solved
        kept = used


def _least(laws: Floats, kept: list[int], share: float) -> tuple[list[int], Channel]:
    """The channel of the least epsilon that keeps a share of the answers, by bisection."""
    low, high = 0.0, float(MAX_EPSILON)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if floors(laws[:, kept], math.exp(middle)).kept >= share else (middle, high)
    if high > float(MAX_EPSILON) - 1e-6:
        raise ParameterError(f"The distortion of {NAME} needs more than the largest epsilon, {MAX_EPSILON}.")
    return _channel(laws, kept, odds(Decimal(repr(round(high + 1e-9, 9)))))


def _channel(laws: Floats, kept: list[int], e: Fraction) -> tuple[list[int], Channel]:
    """The table of the program in integers, for the categories in the order of their classes."""
    if (laws[:, kept] == laws[:, kept[:1]]).all():
        m = len(kept)
        return kept, Subset(m, 1, math.floor(UNIT * e / (e + m - 1)))
    used, solved = _support(laws, kept, float(e))
    order = [*sorted(used[:-1]), used[-1]]
    weights = [solved.weights[used.index(code)] for code in order]
    listed = [Fraction(math.floor(weight * _GRID), _GRID) for weight in weights]
    room = max(sum(listed) + (e - 1) * one for one in listed)
    return used, Table([_row(listed, place, e, room) for place in range(len(listed))])


def _row(weights: list[Fraction], own: int, e: Fraction, room: Fraction) -> list[int]:
    """One row: the own report as often as allowed, the rest in proportion to the weights."""
    least = [math.ceil(UNIT * weight / room) for weight in weights]
    most = [math.floor(e * weight) for weight in least]
    row = list(least)
    row[own] = min(most[own], UNIT - sum(least) + least[own])
    rest, others = UNIT - sum(row), [place for place in range(len(row)) if place != own]
    reach = sum(most[place] - least[place] for place in others)
    for place in others:
        row[place] += rest * (most[place] - least[place]) // max(reach, 1)
    for place in others:  # the few units that rounding left
        more = min(UNIT - sum(row), most[place] - row[place])
        row[place] += more
    return row
