"""Vectors whose coordinates are randomized one by one: a few chosen ones, one only, or all of them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from sottovoce.core import registry
from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Channel, SampledCoordinates, closed_forms
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.channel.shapes import after_rounding
from sottovoce.core.domain import Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import Approximate
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Mean, VectorMean
from sottovoce.core.statistic.parts import CountParts
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.mean.common import scale
from sottovoce.mechanisms.mean.gaussian import check_delta

DESIGNED, BITS = "designed", "bernoulli"
MOST_COMPOSED = 512  # coordinates of a report whose delta a device computes in a moment
_HALVINGS = 60
_UNIT = Interval(-1, 1)  # the channel of a grid point does not depend on the range
_EVEN = Prior.uniform(-1, 1)


def build(domain: Domain, *, epsilon: Any, inner: str | None = None, count: Any = None, delta: Any = None) -> Mechanism:
    """A few coordinates of a vector, each through a mechanism for a mean with its share of the budget.

    Law: the report's id chooses `count` consecutive coordinates, cyclically; each of them goes through the
        mechanism `inner` with epsilon / count. By default `count` is the number of least variance of each mean for
        answers spread evenly: one for small budgets, more for large ones. With a delta, `inner` is bernoulli, and its
        share of the budget the largest one whose composition over `count` coordinates keeps (epsilon, delta).
    Privacy: the id is independent of the answer, and the ratios of the chosen coordinates multiply to e**epsilon. With
        a delta: the hockey-stick divergence of `count` opposite bits at e**epsilon, a sum over the number of bits that
        agree, is at most delta.
    Estimator: for each coordinate the mean of its reports, read by the scale of `inner`; unbiased.
    Cost: `count` reports of `inner` side by side; a coordinate has n count / d reports.
    Reference: Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE
        2019 (its k for the piecewise mechanism corrected, and here chosen by exact variance for any mechanism); with a
        delta Wang, Zhao, Yang, Ren, "Locally differentially private data collection and analysis", 2019, and Kairouz,
        Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015.
    """
    budget, grids = check_epsilon("sampled", epsilon), _ranges("sampled", domain)
    failing = None if delta is None else check_delta("sampled", delta)
    chosen = None if count is None else check_integer("count", "sampled", count, 1, len(grids))
    if failing is not None:
        return _approximate("sampled", domain, budget, failing, inner, chosen or best_bits(budget, failing, len(grids)))
    known = inner or DESIGNED
    return _built("sampled", domain, budget, known, chosen or best_count(budget, len(grids), known))


def split_n(domain: Domain, *, epsilon: Any, inner: str = DESIGNED) -> Mechanism:
    """One coordinate of a vector, with the whole budget: participants are split over the coordinates.

    Law: the report's id chooses one coordinate, which goes through the mechanism `inner`.
    Privacy: that of `inner`; the id is independent of the answer.
    Estimator: for each coordinate the mean of its reports; unbiased.
    Cost: a report of `inner`; a coordinate has n / d reports.
    Reference: the baseline "split n" of the comparisons of means in several dimensions.
    """
    return _built("split-n", domain, check_epsilon("split-n", epsilon), inner, 1)


def split_epsilon(domain: Domain, *, epsilon: Any, inner: str | None = None, delta: Any = None) -> Mechanism:
    """Every coordinate of a vector, with an equal share of the budget.

    Law: each of d coordinates goes through the mechanism `inner` with epsilon / d, independently. With a delta,
        `inner` is bernoulli, and its share the largest one whose composition keeps (epsilon, delta).
    Privacy: two answers may differ everywhere, so the ratios multiply to e**epsilon; with a delta as for `sampled`.
    Estimator: for each coordinate the mean of its reports; unbiased.
    Cost: d reports of `inner` side by side.
    Reference: the baseline "split epsilon" of the comparisons of means in several dimensions.
    """
    budget, count = check_epsilon("split-epsilon", epsilon), len(_ranges("split-epsilon", domain))
    if delta is not None:
        return _approximate("split-epsilon", domain, budget, check_delta("split-epsilon", delta), inner, count)
    return _built("split-epsilon", domain, budget, inner or DESIGNED, count)


def best_count(budget: Decimal, dimensions: int, inner: str) -> int:
    """How many coordinates to report, by the exact variance of a coordinate's mean for answers spread evenly.

    With n count / d reports the variance is d / (count n) times that of one report, noise and spread of the answers.
    The first count after which it rises is taken; rounding of the budget shares creates no second minimum.
    """
    best, least = 1, float("inf")
    for count, one in _shares(budget, dimensions, inner):
        variance = (one.average_variance(_EVEN) + _EVEN.variance) / count
        if variance >= least:
            break
        best, least = count, variance
    return best


def best_bits(budget: Decimal, delta: Decimal, dimensions: int) -> int:
    """How many coordinates to report one bit about: least square of a reading, over the reports of a coordinate."""
    counts = np.arange(1, min(dimensions, MOST_COMPOSED) + 1)
    return 1 + int(np.argmin(np.tanh(composed_shares(float(budget), float(delta), counts) / 2) ** -2 / counts))


def composed_shares(budget: float, delta: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest budget of one bit, for each number of bits whose composition keeps (budget, delta); in floats."""
    low, high = budget / counts, np.full(len(counts), 2 * budget + 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        least = np.floor((counts + budget / middle) / 2) + 1  # bits that agree, from which the ratio exceeds the budget
        right = expit(middle)
        excess = binom.sf(least - 1, counts, right) - np.exp(budget) * binom.sf(least - 1, counts, 1 - right)
        kept = excess <= delta
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return np.asarray(low)


def _approximate(
    name: str, domain: Domain, budget: Decimal, delta: Decimal, inner: str | None, count: int
) -> Mechanism:
    """One bit of each chosen coordinate, within (budget, delta) by exact arithmetic."""
    if inner not in (None, BITS):
        raise reject("inner", name, f"'{BITS}' where a delta is given", inner)
    if count > MOST_COMPOSED:
        raise ParameterError(
            f"A delta of {name} is for at most {MOST_COMPOSED} coordinates a report. Got {count}: choose sampled with a"
            " smaller count, or leave the delta out."
        )
    grids = [scale(name, part, 1) for part in _ranges(name, domain)]
    (share,) = composed_shares(float(budget), float(delta), np.array([count]))
    for digits in range(12, 3, -1):  # floats may lie a little above what exact arithmetic allows
        least = Decimal(repr(float(share))).quantize(Decimal(10) ** -digits, ROUND_FLOOR)
        channel = SampledCoordinates(tuple(grids), _second(BITS, _one(BITS, least).channel), count)
        if closed_forms.delta(channel, odds(budget)) <= delta:
            return Mechanism(name, VectorMean(domain), channel, budget, CountParts(), guarantee=Approximate(delta))
    raise ParameterError(f"The 'delta' parameter of {name} is too small for {count} coordinates at this epsilon.")


def _shares(budget: Decimal, dimensions: int, inner: str) -> Iterator[tuple[int, Mechanism]]:
    """Mechanisms for one coordinate of one, two, three, ..., as long as there is room for the share."""
    for count in range(1, dimensions + 1):
        try:
            yield count, _one(inner, _share(budget, count))
        except ParameterError:
            if count == 1:
                raise
            return


def _share(budget: Decimal, count: int) -> Decimal:
    """An equal share of the budget, rounded down."""
    return Context(prec=20, rounding=ROUND_FLOOR).divide(budget, Decimal(count))


def _one(inner: str, budget: Decimal) -> Mechanism:
    if inner not in registry.names(Mean):
        raise reject("inner", "sampled", f"one of {', '.join(registry.names(Mean))}", inner)
    return registry.mechanism(inner, _UNIT, epsilon=budget)


def _ranges(owner: str, domain: Domain) -> list[Domain]:
    """The domains of the coordinates, all of them numbers."""
    parts = domain.coordinates if isinstance(domain, Domain) else None
    if parts is None or any(part.numbers is None for part in parts):
        raise reject("domain", owner, "a Box, or a record whose fields are numbers", domain)
    return list(parts)


def _built(name: str, domain: Domain, budget: Decimal, inner: str, count: int) -> Mechanism:
    parts = _ranges(name, domain)
    second = _second(inner, _one(inner, _share(budget, count)).channel)
    outputs = outputs_of(second) or 0
    if len(parts) * outputs > MAX_CELLS:
        raise ParameterError(
            f"A tally has at most 2**24 cells; {len(parts)} coordinates with {outputs} reports of {inner} each"
            " need more."
        )
    grids = [scale(name, part, second.inputs - 1) for part in parts]
    return Mechanism(name, VectorMean(domain), SampledCoordinates(tuple(grids), second, count), budget, CountParts())


def _second(inner: str, channel: Channel) -> Channel:
    """The channel of a grid point."""
    second = after_rounding(channel)
    if second is None:
        raise ParameterError(f"The channel of {inner} does not begin with a rounding.")
    return second
