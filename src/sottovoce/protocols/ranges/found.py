"""The results after a search of a range: the clamped mean, the cost of clamping, and the mean itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from sottovoce.core.channel.facets import Rates
from sottovoce.core.channel.shapes import support_rates
from sottovoce.core.domain import Above, Clamp, Integers, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Mean
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate, sources_of
from sottovoce.estimate.mean.clamped import CautiousMeanEvidence, RangeEvidence, SignedSumEvidence
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.tally.tally import Tally

_CLIPPING = "How much higher the mean of the clamped numbers is than that of the numbers themselves"
_CORRECTED = "The mean, without the bias of clamping but with the noise of estimating that bias"
_MEAN = "The mean, estimated by that of the clamped numbers; its interval includes the possible part beyond the range"


def found(domain: Integers | Interval, tallies: Sequence[Tally], searchers: int) -> Estimates:
    """The estimates of the last round: numbers first, then the share and the part beyond each end inside the domain."""
    number, *others = tallies
    if not all(tally.n for tally in tallies):
        _clamp(number)
        raise ParameterError("Each arm of the last round of a range search needs at least one report.")
    range_, clamped, tails = _clamp(number), number.mechanism.estimate(number), _tails(tallies)
    means = {name: _mean(tally.mechanism.estimate(tally)) for name, tally in tails.items()}
    shift = {"below": float(range_.low), "above": float(range_.high)}
    least, most = float(domain.low), float(domain.high)
    parts, apart = tuple(means.values()), most - least
    constant = sum(shift[name] for name in means)
    clipping = SignedSumEvidence(parts, (-1,) * len(parts), constant, (-apart, apart), "clamped minus mean", _CLIPPING)
    added = (_mean(clamped), *parts)
    corrected = SignedSumEvidence(added, (1,) * len(added), -constant, (least, most), "mean", _CORRECTED)
    cautious = CautiousMeanEvidence((_mean(clamped),), (1,), 0.0, (least, most), "mean", _MEAN, *_both(means))
    about, used = Mean(domain), [number, *tails.values()]
    return {
        "mean": Estimate.of(about, cautious, sources_of(used)),
        "clamped": clamped,
        "clipping": Estimate.of(about, clipping, sources_of(used[1:]) or clamped.sources),
        "corrected": Estimate.of(about, corrected, sources_of(used)),
        "range": _range(about, range_, clamped, others, searchers),
    }


def found_partly(domain: Integers | Interval, tallies: Sequence[Tally]) -> Estimates:
    """The mean if nobody was asked about a part beyond the range: answers there may lie at the end of the domain."""
    number, range_ = tallies[0], _clamp(tallies[0])
    clamped = number.mechanism.estimate(number)
    used = {name: tally for name, tally in _tails(tallies).items() if tally.n}
    means = {name: _mean(tally.mechanism.estimate(tally)) for name, tally in used.items()}
    least, most = float(domain.low), float(domain.high)
    widths = {"below": float(range_.low) - least, "above": most - float(range_.high)}
    below, above = (0.0 if name in means else width for name, width in widths.items())
    ends = (_mean(clamped),), (1,), 0.0, (least, most)
    cautious = CautiousMeanEvidence(*ends, "mean", _MEAN, *_both(means), unasked=(below, above))
    return {"mean": Estimate.of(Mean(domain), cautious, sources_of([number, *used.values()])), "clamped": clamped}


def _mean(estimate: Estimate) -> MeanEvidence:
    return cast(MeanEvidence, estimate.evidence)


def _both(means: dict[str, MeanEvidence]) -> tuple[MeanEvidence | None, MeanEvidence | None]:
    return means.get("below"), means.get("above")


def _clamp(number: Tally) -> Clamp:
    """The range of the tally of clamped numbers."""
    if not isinstance(number.mechanism.domain, Clamp):
        raise TypeError("The last round of a search must ask for clamped numbers.")
    return number.mechanism.domain


def _tails(tallies: Sequence[Tally]) -> dict[str, Tally]:
    """The tallies of numbers clamped to the part below the range, and above it, where there is one."""
    range_, names = _clamp(tallies[0]), {}
    for tally in tallies[1:]:
        if tally.mechanism.domain.kind == Clamp.kind:
            names["below" if _clamp(tally).high == range_.low else "above"] = tally
    return names


def _range(about: Mean, range_: Clamp, clamped: Estimate, tallies: Sequence[Tally], searchers: int) -> Estimate:
    names, counts, asked = [], [], []
    rates: Rates | None = None
    for tally in tallies:
        own = tally.mechanism.domain
        if isinstance(own, Above):
            below = own.threshold == range_.low
            names.append(f"below {decimal_text(range_.low)}" if below else f"from {decimal_text(range_.high)} on")
            counts.append(int(tally.cells[0 if below else 1]))
            asked.append(tally)
            rates = support_rates(tally.mechanism.channel)
    yes, no = (float(rates.own), float(rates.other)) if rates else (1.0, 0.0)
    evidence = RangeEvidence(
        np.array(counts, np.int64),
        np.array([tally.n for tally in asked], np.int64),  # type: ignore[arg-type]
        *(yes, no, None, tuple(names), range_.low, range_.high, searchers),
    )
    return Estimate.of(about, evidence, sources_of(asked) or clamped.sources)
