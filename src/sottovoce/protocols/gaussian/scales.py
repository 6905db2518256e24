"""Finding Gaussian answers on a wide range: digits at every scale, asked in one round, and read from coarse to fine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Digit, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.gaussian.law import ArmCells, Likelihood

Floats = NDArray[np.float64]

BASE = 4  # digits of a scale; each cell is two cells of the next finer scale
MOST_SCALES = 120
FEWEST = 20  # reports of a scale: coins assign participants, and with fewer expected some scale may have none
_KEPT = 24  # places that are followed at each scale
_STARTS = 3
_MOVED = 48
_EXACT = Context(prec=200)


@lru_cache(maxsize=64)
def scale_arms(domain: Interval, finest: Decimal, epsilon: Decimal) -> tuple[Mechanism, ...]:
    """Digits in cells of `finest` and of twice, four times, ... its width, until one period spans the domain."""
    reach = _EXACT.subtract(domain.high, domain.low)
    widths = [finest]
    while widths[-1] * BASE < reach:
        widths.append(_EXACT.multiply(widths[-1], Decimal(2)))
        if len(widths) > MOST_SCALES:
            raise ParameterError(f"A range of more than 2**{MOST_SCALES} deviations is too wide to be searched.")
    views = (Digit(domain, width, BASE, domain.low) for width in widths)
    return tuple(build("grr", view, epsilon=epsilon) for view in views)


def reports_per_scale(scale: Mechanism, scales: int, failure: float) -> int:
    """How many reports of each scale find the place with a probability of about 1 - failure.

    A wrong place has another digit on two scales at least, as neighbouring scales share a bit. Two digits are confused
    by k reports with a probability below B**k, where B is the sum of the square roots of the products of their
    likelihoods; there are about four such neighbours to each scale. The number of reports of a scale is random, so even
    a large budget, for which two are enough, asks for more.
    """
    own, other = (float(scale.channel.likelihood(report, 0)) for report in (0, 1))
    alike = 2 * math.sqrt(own * other) + (BASE - 2) * other
    return max(FEWEST, math.ceil(math.log(4 * scales / failure) / (-2 * math.log(alike))))


def locate(
    likelihood: Likelihood, scales: Sequence[Mechanism], domain: Interval, deviations: Sequence[float]
) -> tuple[float, float]:
    """The mean and the deviation of the largest likelihood, the latter at first among these.

    From the coarsest scale on, the best places so far are followed: the borders and the middles of cells. Then all
    tallies together choose among the places that are left, and the top of the likelihood near the best is climbed.
    """
    names = frozenset(scale.fingerprint for scale in scales)
    parts = tuple((part.mechanism, part.cells.tobytes()) for part in likelihood.parts)
    return _located(parts, likelihood.known, names, domain, tuple(deviations))


@lru_cache(maxsize=16)  # a protocol is asked again for its finished rounds at every step
def _located(
    parts: tuple[tuple[Mechanism, bytes], ...],
    known: float | None,
    names: frozenset[str],
    domain: Interval,
    deviations: tuple[float, ...],
) -> tuple[float, float]:
    likelihood = Likelihood(tuple(ArmCells(m, np.frombuffer(cells, np.int64)) for m, cells in parts), known)
    digits = [part for part in likelihood.parts if part.mechanism.fingerprint in names]
    digits.sort(key=lambda part: -_view(part).width)
    if not digits:
        raise ParameterError("The place of Gaussian answers needs reports of digits; there are none.")
    spots = [(place, spread) for spread in deviations for place in _followed(digits, domain, spread)]
    places, spreads = (np.array(side) for side in zip(*spots, strict=True))
    # With very many reports a place half a step from the maximum may be far below it: the best are moved a little.
    best = np.argsort(-likelihood.log(places, spreads), kind="stable")[:_MOVED]
    places = (places[best, None] + spreads[best, None] * np.array([0.0, -0.17, 0.17])).ravel()
    spreads = np.repeat(spreads[best], 3)
    heights = likelihood.log(places, spreads)
    limits = (min(deviations), max(deviations))
    # There may be several local maxima: several starts, far enough apart.
    starts: list[int] = []
    for spot in np.argsort(-heights).tolist():
        if len(starts) == _STARTS:
            break
        if all(abs(places[spot] - places[other]) > 2 * spreads[spot] for other in starts):
            starts.append(spot)
    tops = [likelihood.climb(float(places[spot]), float(spreads[spot]), limits) for spot in starts]
    return max(tops, key=lambda top: float(likelihood.log(*top)))


def _view(part: ArmCells) -> Digit:
    view = part.mechanism.domain
    if not isinstance(view, Digit):
        raise TypeError("A scale must ask for a digit.")
    return view


def _followed(digits: Sequence[ArmCells], domain: Interval, deviation: float) -> Floats:
    """The best places for one deviation; cells finer than it add no information."""
    low, high = float(domain.low), float(domain.high)
    step = float(_view(digits[0]).width) / 2
    numbers = np.arange(math.floor((high - low) / step) + 2)  # of places, in steps from the low end
    scores = np.zeros(len(numbers))
    for place, part in enumerate(digits):
        scores = scores + Likelihood((part,)).log(low + step * numbers, deviation)
        best = np.argsort(-scores, kind="stable")[:_KEPT]
        numbers, scores = numbers[best], scores[best]
        if place + 1 == len(digits) or 2 * step < deviation:
            break
        following = float(_view(digits[place + 1]).width) / 2
        step, numbers, scores = following, *_finer(numbers, scores)
    return np.clip(low + step * numbers, low, high)


def _finer(numbers: NDArray[np.int64], scores: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Each place and its two neighbours at half the step; one that is reached twice keeps the better score."""
    around = (2 * numbers[:, None] + np.array([-1, 0, 1])).ravel()
    order = np.lexsort((-np.repeat(scores, 3), around))
    places, first = np.unique(around[order], return_index=True)
    return places, np.repeat(scores, 3)[order][first]


def short_decimal(number: float, step: float) -> Decimal:
    """A decimal near a number, with no more places than the step needs."""
    places = Decimal(1).scaleb(math.floor(math.log10(step)))
    return Decimal(repr(number)).quantize(places, context=_EXACT)


def clipped(number: Decimal, domain: Interval) -> Decimal:
    """The nearest number of the domain."""
    return min(max(number, domain.low), domain.high)
