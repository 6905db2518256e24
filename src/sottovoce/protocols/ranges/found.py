"""The results after a search of a range: the clamped mean, the cost of clamping, and the mean itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Clamp, Integers, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Mean
from sottovoce.core.round import Estimates
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.estimate import Estimate, sources_of
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.shares.supports import clopper_pearson
from sottovoce.protocols.ranges.bits import threshold_of
from sottovoce.protocols.ranges.thresholds import SeparateSharesEvidence
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
_CLIPPING = "How much higher the mean of the clamped numbers is than that of the numbers themselves"
_CORRECTED = "The mean, without the bias of clamping but with the noise of estimating that bias"
_MEAN = "The mean, estimated by that of the clamped numbers; its interval includes the possible part beyond the range"


@dataclass(frozen=True, slots=True, eq=False)
class SignedSumEvidence(Evidence):
    """A constant plus independent means, each with a sign."""

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
    noun: ClassVar[str] = "mean"
    parts: tuple[MeanEvidence, ...]
    signs: tuple[int, ...]
    constant: float
    ends: tuple[float, float]
    label: str
    about: str = ""

    @property
    def n(self) -> int:  # type: ignore[override]
        return sum(part.n for part in self.parts)

    @property
    def limits(self) -> tuple[float, float]:
        return self.ends

    def values(self) -> Floats:
        pairs = zip(self.signs, self.parts, strict=True)
        return np.array([self.constant + sum(sign * float(part.values()[0]) for sign, part in pairs)], float)

    def variances(self, target: str) -> Floats:
        return np.array([sum(float(part.variances(target)[0]) for part in self.parts)])

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return self.normal(level, target)

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        return Axes.of("value", (self.label,))

    def sentence(self, found: Estimate, level: float) -> str:
        (low,), (high,) = found.ci(level)
        return f"{self.about}: {found.value:.6g} ({level:.0%} interval from {low:.6g} to {high:.6g})."

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.array([any(part.normal_is_poor()[0] for part in self.parts)])

    def warning(self) -> str | None:
        poor = next((part for part in self.parts if part.normal_is_poor()[0]), None)
        if poor is None:
            return None
        return (
            f"The normal interval is poor: {poor.n} of its reports are too few to know their own variance."
            " The interval of the result named mean holds."
        )


@dataclass(frozen=True, slots=True, eq=False)
class CautiousMeanEvidence(SignedSumEvidence):
    """The mean of clamped numbers as an estimate of the mean itself.

    Its interval adds the possible parts beyond either end of the range to that of the clamped mean. Half of the error
    probability goes to the clamped mean and a quarter to each end, so that the coverage is at least the level. The part
    beyond is asked for in one bit, whose limits are exact: with a large budget nearly all reports are zero, and a
    variance that was not seen must not make an interval narrow. For the same reason the clamped mean has its betting
    interval if the normal one is poor. The variance is that of the clamped mean, without the cost of clamping.
    """

    methods: ClassVar[tuple[str, ...]] = ("cautious",)
    default: ClassVar[str] = "cautious"
    below: MeanEvidence | None = None  # of numbers clamped to the part below the range
    above: MeanEvidence | None = None
    unasked: tuple[float, float] = (0.0, 0.0)  # widths of the parts below and above about which nobody was asked

    def interval(self, level: float, method: str, target: str) -> Bounds:
        half = 1 - (1 - level) / 2
        (clamped,) = self.parts
        low, high = clamped.interval(half, "betting" if clamped.normal_is_poor()[0] else "normal", target)
        if self.below is not None:  # one side of an interval has half its error probability
            least, end = self.below.limits
            low = low - np.clip(end - _of_bits(self.below, half).low, 0, end - least)
        if self.above is not None:
            end, most = self.above.limits
            high = high + np.clip(_of_bits(self.above, half).high - end, 0, most - end)
        return Bounds(low - self.unasked[0], high + self.unasked[1])

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.array([False])  # no part of the interval is normal if that is poor

    def warning(self) -> str | None:
        return None


def _of_bits(mean: MeanEvidence, level: float) -> Bounds:
    """Exact limits of a mean whose reports are one bit each."""
    read = mean.readings
    ones = read.counts[read.numbers > (read.low + read.high) / 2].sum()
    low, high = clopper_pearson(np.array([ones]), mean.n, level)
    return Bounds(read.low + mean.reach * low, read.low + mean.reach * high)


@dataclass(frozen=True, slots=True)
class RangeEvidence(SeparateSharesEvidence):
    """The range that was found, and the shares beyond its ends; ends of the domain have none.

    Each share comes from answers of its own; `n` holds how many answered about each.
    """

    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)
    searchers: int = 0

    def sentence(self, found: Estimate, level: float) -> str:
        low, high = found.ci(level)
        ends = ", ".join(
            f"{share:.4f} are {name} ({level:.0%} interval from {max(0.0, left):.4f} to {right:.4f})"
            for name, share, left, right in zip(self.labels, found.values, low, high, strict=True)
        )
        return (
            f"{self.searchers} participants were asked about thresholds, with one bit each. The range found is"
            f" [{decimal_text(self.low)}, {decimal_text(self.high)}]."
            + (f" Of all participants, {ends}." if ends else " Nothing lies beyond it.")
        )


def found(domain: Integers | Interval, tallies: Sequence[Tally], searchers: int) -> Estimates:
    """The estimates of the last round: numbers first, then the share and the part beyond each end inside the domain."""
    number, *others = tallies
    ((_, range_), *beyond) = _clamps(tallies)
    if not all(tally.n for tally in tallies):
        raise ParameterError("Each arm of the last round of a range search needs at least one report.")
    clamped = number.mechanism.estimate(number)
    means: dict[str, MeanEvidence] = {}
    for tally, own in beyond:
        means["below" if own.high == range_.low else "above"] = _mean(tally.mechanism.estimate(tally))
    shift = {"below": float(range_.low), "above": float(range_.high)}
    least, most = float(domain.low), float(domain.high)
    parts, apart = tuple(means.values()), most - least
    constant = sum(shift[name] for name in means)
    clipping = SignedSumEvidence(parts, (-1,) * len(parts), constant, (-apart, apart), "clamped minus mean", _CLIPPING)
    whole = (_mean(clamped), *parts)
    corrected = SignedSumEvidence(whole, (1,) * len(whole), -constant, (least, most), "mean", _CORRECTED)
    ends = means.get("below"), means.get("above")
    cautious = CautiousMeanEvidence((_mean(clamped),), (1,), 0.0, (least, most), "mean", _MEAN, *ends)
    about = Mean(domain)
    used = [tally for tally, _ in _clamps(tallies)]
    return {
        "mean": Estimate.of(about, cautious, sources_of(used)),
        "clamped": clamped,
        "clipping": Estimate.of(about, clipping, sources_of(used[1:]) or clamped.sources),
        "corrected": Estimate.of(about, corrected, sources_of(used)),
        "range": _range(about, range_, clamped, others, searchers),
    }


def found_partly(domain: Integers | Interval, tallies: Sequence[Tally]) -> Estimates:
    """The mean if nobody was asked about a part beyond the range: answers there may lie at the end of the domain."""
    number, *others = tallies
    ((_, range_), *_) = _clamps(tallies)
    clamped = number.mechanism.estimate(number)
    used = [tally for tally, _ in _clamps(others) if tally.n]
    means: dict[str, Any] = {}
    for tally, own in _clamps(used):
        means["below" if own.high == range_.low else "above"] = _mean(tally.mechanism.estimate(tally))
    least, most = float(domain.low), float(domain.high)
    widths = {"below": float(range_.low) - least, "above": most - float(range_.high)}
    below, above = (0.0 if name in means else width for name, width in widths.items())
    ends = (_mean(clamped),), (1,), 0.0, (least, most)
    cautious = CautiousMeanEvidence(*ends, "mean", _MEAN, **means, unasked=(below, above))
    return {"mean": Estimate.of(Mean(domain), cautious, sources_of([number, *used])), "clamped": clamped}


def _clamps(tallies: Sequence[Tally]) -> list[tuple[Tally, Clamp]]:
    """The tallies of those who were asked for a number, with the range to which it was clamped."""
    views = ((tally, tally.mechanism.domain) for tally in tallies)
    return [(tally, view) for tally, view in views if isinstance(view, Clamp)]


def _mean(estimate: Estimate) -> MeanEvidence:
    return cast(MeanEvidence, estimate.evidence)


def _range(about: Mean, range_: Clamp, clamped: Estimate, tallies: Sequence[Tally], searchers: int) -> Estimate:
    names, counts, asked = [], [], []
    rates: Any = None
    for tally in tallies:
        if tally.mechanism.domain.numbers is None:  # asked on which side of a threshold they are
            below = threshold_of(tally) == range_.low
            names.append(f"below {decimal_text(range_.low)}" if below else f"from {decimal_text(range_.high)} on")
            counts.append(int(tally.cells[0 if below else 1]))
            asked.append(tally)
            rates = rates_of(tally.mechanism.channel)
    n = np.array([tally.n for tally in asked], np.int64)
    yes, no = (float(rates.own), float(rates.other)) if rates else (1.0, 0.0)
    evidence = RangeEvidence(
        np.array(counts, np.int64),
        n,  # type: ignore[arg-type]
        yes,
        no,
        None,
        tuple(names),
        range_.low,
        range_.high,
        searchers,
    )
    return Estimate.of(about, evidence, sources_of(asked) or clamped.sources)
