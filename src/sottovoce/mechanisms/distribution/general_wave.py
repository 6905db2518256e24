"""General waves: reports are the likelier the nearer they are to the answer, in the shape of a trapezoid."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import cos, floor, pi
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds, within
from sottovoce.core.channel import Table
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import bandwidth, check_domain, coded
from sottovoce.mechanisms.published_common import budget_of, given_instead

BUCKETS = 32  # where the domain is a continuum and no other number is asked for
MOST_BUCKETS = 1 << 10
_FAINTEST = 1e-3  # of a wave, that a pattern around a circle may leave in the reports


def build(
    domain: Domain,
    *,
    epsilon: Any = None,
    shape: Any = None,
    buckets: Any = None,
    workload: str = "cdf",
    b: Any = None,
    wave: Sequence[Any] | None = None,
) -> Mechanism:
    """A trapezoid whose upper side is `shape` times its lower one: 0 is a triangle, 1 the square wave; or any wave.

    Law: of d buckets, with b as for the discrete square wave, a report at the distance t from the bucket has weight
        1 + (e**epsilon - 1) h(t), where h falls from 1 at distances up to shape b to 0 beyond b, else weight 1; the
        d + 2 b weights are scaled to sum to one. On a circle there are d reports. A published b, a part of the range,
        replaces that of the square wave. In place of epsilon, shape and b a whole `wave` may be given: the weights at
        the outputs from -b to b, an odd number of them and at least 1 each, where the weight outside is 1.
    Privacy: the largest and the smallest weight differ by e**epsilon; of a given wave this is its largest weight.
    Estimator: as for the square wave.
    Cost: one or two bytes; the table of all probabilities is part of the specification.
    Reference: Li et al., "Estimating numerical distributions under local differential privacy", SIGMOD 2020,
        definition 5.1 and section 6.4; at the same width, lemma 5.5: the square wave separates answers best.
    """
    name = "general-wave"
    size = check_domain(name, domain).points
    wanted = buckets if buckets is not None else (BUCKETS if size is None or size > MOST_BUCKETS else None)
    if wanted is not None:
        wanted = check_integer("buckets", name, wanted, 2, MOST_BUCKETS)
    question = Distribution(domain, workload, wanted)
    view = coded(name, domain, question.buckets)
    codes = view.size or 2
    if wave is not None:
        if not given_instead(name, epsilon, wave=wave) or shape is not None or b is not None:
            raise ParameterError("Give general-wave either a wave or shape and b: a wave has a shape and a width.")
        table = _published(codes, wave, around=domain.circular)
        budget = budget_of(name, table.ratio())
    else:
        budget = check_epsilon(name, epsilon)
        table = _trapezoid(codes, budget, shape, b, around=domain.circular)
    if not within(table.ratio(), budget):
        raise reject("epsilon", name, "larger: probabilities of 53 bits cannot express it", epsilon)
    return Mechanism(name, question, table, budget, CountOutputs(), domain=view)


def _trapezoid(codes: int, budget: Decimal, shape: Any, b: Any, *, around: bool) -> Table:
    upper = check_fraction("shape", "general-wave", "0.5" if shape is None else shape)
    if not 0 <= upper <= 1:
        raise reject("shape", "general-wave", "a number in [0, 1]", shape)
    width = bandwidth(budget) if b is None else check_fraction("b", "general-wave", b)
    if not 0 < width <= 1:
        raise reject("b", "general-wave", "a number in (0, 1], a part of the range", b)
    return trapezoids(codes, floor(width * codes), upper, odds(budget), around=around)


def _published(codes: int, wave: Sequence[Any], *, around: bool) -> Table:
    """The table of given weights, where the weight outside is 1."""
    listed = [check_fraction("wave", "general-wave", weight) for weight in wave]
    top = max(listed, default=Fraction(1))
    if (
        len(listed) % 2 == 0
        or min(listed) < 1
        or top == 1
        or len(listed) > 2 * codes + 1
        or (around and len(listed) >= codes)
    ):
        raise ParameterError(
            "The 'wave' parameter of general-wave must be an odd number of weights of at least 1, not all of them 1,"
            f" and shorter than {'the circle' if around else 'twice the range'}."
        )
    return _table(codes, [(weight - 1) / (top - 1) for weight in listed], top, around=around)


def trapezoids(codes: int, half: int, upper: Fraction, e: Fraction, *, around: bool) -> Table:
    """Every row has the same wave around its code; no weight is below that of the outside, nor above e times it."""
    half = _visible(codes, min(half, (codes - 1) // 2), upper) if around else half
    return _table(codes, _heights(half, upper), e, around=around)


def _table(codes: int, heights: Sequence[Fraction], e: Fraction, *, around: bool) -> Table:
    """A table with one wave around every code: heights from 0 for the weight outside to 1 for e times that weight."""
    outputs = codes if around else codes + len(heights) - 1
    low = floor(UNIT / (outputs + (e - 1) * sum(heights)))
    wave = [floor(low * (1 + (e - 1) * height)) for height in heights]
    # What rounding leaves goes to the outside, which makes it a little likelier.
    weight_outside, rest = divmod(UNIT - sum(wave), outputs - len(wave))
    rows = []
    for code in range(codes):
        row = [0] * outputs
        for place, weight in enumerate(wave):
            row[(code + place) % outputs] = weight
        outside = ((code + len(wave) + place) % outputs for place in range(outputs - len(wave)))
        for place, output in enumerate(outside):
            row[output] = weight_outside + (place < rest)
        rows.append(row)
    return Table(rows)


def _visible(codes: int, half: int, upper: Fraction) -> int:
    """The largest half-width, up to this one, at which every pattern that repeats around a circle shows in reports."""
    while half:
        heights = [float(height) for height in _heights(half, upper)]
        waves = (
            abs(sum(height * cos(2 * pi * turn * away / codes) for away, height in enumerate(heights, -half)))
            for turn in range(1, codes // 2 + 1)
        )
        if min(waves) > _FAINTEST * sum(heights):
            break
        half -= 1
    return half


def _heights(half: int, upper: Fraction) -> list[Fraction]:
    """Heights of the trapezoid at the outputs from -half to half."""
    return [_height(Fraction(abs(away), half + 1), upper) for away in range(-half, half + 1)]


def _height(away: Fraction, upper: Fraction) -> Fraction:
    """Height of a trapezoid of height 1 that reaches from -1 to 1, with an upper side from -upper to upper."""
    return Fraction(1) if away <= upper else (1 - away) / (1 - upper)
