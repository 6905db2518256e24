"""The mean of numbers that were clamped to a range, with what is known about the part beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.params import decimal_text
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Bounds, Floats, Offer
from sottovoce.estimate.frequency.supports import SupportsEvidence, clopper_pearson
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.single import SingleMean
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class SignedSumEvidence(SingleMean):
    """A constant plus independent means, each with a sign."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    parts: tuple[MeanEvidence, ...]
    signs: tuple[int, ...]
    constant: float
    ends: tuple[float, float]
    label: str
    about: str = ""

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def axes(self) -> Axes:
        return Axes.of("value", (self.label,))

    def values(self) -> Floats:
        pairs = zip(self.signs, self.parts, strict=True)
        return np.array([self.constant + sum(sign * float(part.values()[0]) for sign, part in pairs)], float)

    def variances(self, target: Target) -> Floats:
        return np.array([sum(float(part.variances(target)[0]) for part in self.parts)])

    def sentence(self, estimate: Estimate, level: float) -> str:
        (low,), (high,) = estimate.ci(level)
        return f"{self.about}: {estimate.value:.6g} ({level:.0%} interval from {low:.6g} to {high:.6g})."

    @property
    def poor(self) -> bool:
        return any(part.poor for part in self.parts)

    def warning(self) -> str | None:
        if not self.poor:
            return None
        few = next(part.n for part in self.parts if part.poor)
        return (
            f"The normal interval is poor: {few} of its reports are too few to know their own variance."
            " The interval of the result named mean holds."
        )


@dataclass(frozen=True, slots=True, eq=False)
class StatedSquare:
    """A bound of the mean square of all numbers, stated by the analyst, and answers on who lies beyond each end.

    A share p of numbers at or above h has a mean excess over h of at most sqrt(square p) - h p (Cauchy and Schwarz).
    The same holds below the range, with all signs changed.
    """

    square: float
    counts: Floats  # who reported to lie below the range, and above it; nobody is asked about an end of the domain
    asked: Floats
    own: float  # how likely that is reported by those who do, and by those who do not
    other: float

    def most(self, side: int, end: float, level: float) -> float:
        """An upper limit of the mean excess beyond an end, away from zero if it is positive."""
        if not self.asked[side]:
            return 0.0
        _, rates = clopper_pearson(self.counts, self.asked, level)
        share = float(np.clip((rates[side] - self.other) / (self.own - self.other), 0, 1))
        if end > 0:  # the bound is largest at this share
            share = min(share, self.square / (4 * end**2))
        return float(np.sqrt(self.square * share) - end * share)


@dataclass(frozen=True, slots=True, eq=False)
class CautiousMeanEvidence(SignedSumEvidence):
    """The mean of clamped numbers as an estimate of the mean itself.

    The interval adds the possible parts beyond either end of the range to that of the clamped mean. Half of the error
    probability goes to the clamped mean and a quarter to each end, so that the coverage is at least the level. The part
    beyond is asked for in one bit, whose limits are exact: with a large budget nearly all reports are zero, and a
    variance that was not seen must not make an interval narrow. For the same reason the clamped mean has its betting
    interval if the normal one is poor. The variance is that of the clamped mean, without the cost of clamping.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.CAUTIOUS,)
    default: ClassVar[Method] = Method.CAUTIOUS
    below: MeanEvidence | None = None  # of numbers clamped to the part below the range
    above: MeanEvidence | None = None
    unasked: tuple[float, float] = (0.0, 0.0)  # widths of the parts below and above about which nobody was asked
    stated: StatedSquare | None = None  # with it the smaller of two limits counts, each with half the error probability

    def interval(self, request: IntervalRequest) -> Bounds:
        half = 1 - (1 - request.level) / 2
        (clamped,) = self.parts
        low, high = clamped.interval(request.at(half).by(Method.BETTING if clamped.poor else Method.NORMAL))
        each = half if self.stated is None else 1 - (1 - half) / 2
        if self.below is not None:  # one side of an interval has half its error probability
            least, end = self.below.limits
            reach = end - least if self.stated is None else min(end - least, self.stated.most(0, -end, each))
            low = low - np.clip(end - _exact_limits(self.below, each).low, 0, reach)
        if self.above is not None:
            end, most = self.above.limits
            reach = most - end if self.stated is None else min(most - end, self.stated.most(1, end, each))
            high = high + np.clip(_exact_limits(self.above, each).high - end, 0, reach)
        return Bounds(low - self.unasked[0], high + self.unasked[1])

    @property
    def poor(self) -> bool:
        """False: where the normal interval of the clamped mean is poor, its betting interval is used."""
        return False


def _exact_limits(mean: MeanEvidence, level: float) -> Bounds:
    """Exact limits of a mean whose reports are one bit each."""
    read = mean.readings
    ones = read.counts[read.numbers > (read.low + read.high) / 2].sum()
    low, high = clopper_pearson(np.array([ones]), mean.n, level)
    return Bounds(read.low + mean.reach * low, read.low + mean.reach * high)


@dataclass(frozen=True, slots=True)
class SeparateSharesEvidence(SupportsEvidence):
    """Shares that are independent, because other participants answered about each; `n` holds how many did."""

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.NULL_ERRORS, Offer.COVARIANCE})

    names: tuple[str, ...] = ()

    @property
    def axes(self) -> Axes:
        return Axes.of("value", self.names)

    def covariance(self, target: Target) -> Floats:
        return np.diag(self.variances(target))

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        shares = ", ".join(
            f"{share:.4f} {name} ({max(0.0, left):.4f} to {min(1.0, right):.4f})"
            for name, share, left, right in zip(self.labels, estimate.values, low, high, strict=True)
        )
        return (
            f"{estimate.n} participants were asked about a threshold each. Shares and {level:.0%} intervals: {shares}."
        )


@dataclass(frozen=True, slots=True)
class RangeEvidence(SeparateSharesEvidence):
    """The range that was found, and the shares beyond its ends; ends of the domain have none.

    Each share comes from answers of its own; `n` holds how many answered about each.
    """

    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)
    searchers: int = 0

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        ends = ", ".join(
            f"{share:.4f} are {name} ({level:.0%} interval from {max(0.0, left):.4f} to {right:.4f})"
            for name, share, left, right in zip(self.labels, estimate.values, low, high, strict=True)
        )
        return (
            f"{self.searchers} participants were asked about thresholds, with one bit each. The range found is"
            f" [{decimal_text(self.low)}, {decimal_text(self.high)}]."
            + (f" Of all participants, {ends}." if ends else " Nothing lies beyond it.")
        )
