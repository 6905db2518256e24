"""Vectors whose coordinates are randomized one by one: a few chosen ones, one only, or all of them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from sottovoce.core import registry
from sottovoce.core.channel import Channel, SampledCoordinates
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.channel.shapes import after_rounding
from sottovoce.core.domain import Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Mean, VectorMean
from sottovoce.core.statistic.parts import CountParts
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.mean.common import scale

_UNIT = Interval(-1, 1)  # the channel of a grid point does not depend on the range
_EVEN = Prior.uniform(-1, 1)


def build(domain: Domain, *, epsilon: Any, inner: str = "designed", count: Any = None) -> Mechanism:
    """A few coordinates of a vector, each through a mechanism for a mean with its share of the budget.

    Law: the report's id chooses `count` consecutive coordinates, cyclically; each of them goes through the
        mechanism `inner` with epsilon / count. By default `count` is the number of least variance of each mean for
        answers spread evenly: one for small budgets, more for large ones.
    Privacy: the id is independent of the answer, and the ratios of the chosen coordinates multiply to e**epsilon.
    Estimator: for each coordinate the mean of its reports, read by the scale of `inner`; unbiased.
    Cost: `count` reports of `inner` side by side; a coordinate has n count / d reports.
    Reference: Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE
        2019 (its k for the piecewise mechanism corrected, and here chosen by exact variance for any mechanism).
    """
    budget, grids = check_epsilon("sampled", epsilon), _ranges("sampled", domain)
    if count is None:
        chosen = best_count(budget, len(grids), inner)
    else:
        chosen = check_integer("count", "sampled", count, 1, len(grids))
    return _built("sampled", domain, budget, inner, chosen)


def split_n(domain: Domain, *, epsilon: Any, inner: str = "designed") -> Mechanism:
    """One coordinate of a vector, with the whole budget: participants are split over the coordinates.

    Law: the report's id chooses one coordinate, which goes through the mechanism `inner`.
    Privacy: that of `inner`; the id is independent of the answer.
    Estimator: for each coordinate the mean of its reports; unbiased.
    Cost: a report of `inner`; a coordinate has n / d reports.
    Reference: the baseline "split n" of the comparisons of means in several dimensions.
    """
    return _built("split-n", domain, check_epsilon("split-n", epsilon), inner, 1)


def split_epsilon(domain: Domain, *, epsilon: Any, inner: str = "designed") -> Mechanism:
    """Every coordinate of a vector, with an equal share of the budget.

    Law: each of d coordinates goes through the mechanism `inner` with epsilon / d, independently.
    Privacy: two answers may differ everywhere, so the ratios multiply to e**epsilon.
    Estimator: for each coordinate the mean of its reports; unbiased.
    Cost: d reports of `inner` side by side.
    Reference: the baseline "split epsilon" of the comparisons of means in several dimensions.
    """
    budget = check_epsilon("split-epsilon", epsilon)
    return _built("split-epsilon", domain, budget, inner, len(_ranges("split-epsilon", domain)))


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
