"""The results after a search of a range: the clamped mean, the cost of clamping, and the mean itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Clamp, Integers, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Mean
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.mean.clamped import CautiousMeanEvidence, RangeEvidence, SignedSumEvidence, StatedSquare
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.ranges.bits import threshold_of
from sottovoce.tally.tally import Tally

_CLIPPING = "How much higher the mean of the clamped numbers is than that of the numbers themselves"
_CORRECTED = "The mean, without the bias of clamping but with the noise of estimating that bias"
_MEAN = "The mean, estimated by that of the clamped numbers; its interval includes the possible part beyond the range"


def range_estimates(
    domain: Integers | Interval, tallies: Sequence[Tally], searchers: int, mean_square: float | None = None
) -> Estimates:
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
    terms = (_mean(clamped), *parts)
    corrected = SignedSumEvidence(terms, (1,) * len(terms), -constant, (least, most), "mean", _CORRECTED)
    ends = means.get("below"), means.get("above")
    stated = None if mean_square is None else _stated(mean_square, range_, others)
    cautious = CautiousMeanEvidence((_mean(clamped),), (1,), 0.0, (least, most), "mean", _MEAN, *ends, stated=stated)
    about = Mean(domain)
    used = [tally for tally, _ in _clamps(tallies)]
    return {
        "mean": Estimate.of(about, cautious, sources_of(used)),
        "clamped": clamped,
        "clipping": Estimate.of(about, clipping, sources_of(used[1:]) or clamped.sources),
        "corrected": Estimate.of(about, corrected, sources_of(used)),
        "range": _range(about, range_, clamped, others, searchers),
    }


def partial_estimates(domain: Integers | Interval, tallies: Sequence[Tally]) -> Estimates:
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


def _stated(mean_square: float, range_: Clamp, tallies: Sequence[Tally]) -> StatedSquare:
    """The stated bound, with the answers of those who were asked whether they lie beyond an end."""
    counts, asked = np.zeros(2), np.zeros(2)
    rates: Any = None
    for tally in tallies:
        if tally.mechanism.domain.numbers is None:
            side = int(threshold_of(tally) != range_.low)
            counts[side], asked[side], rates = tally.cells[side], tally.n, rates_of(tally.mechanism.channel)
    own, other = (1.0, 0.0) if rates is None else (float(rates.own), float(rates.other))
    return StatedSquare(mean_square, counts, asked, own, other)


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
