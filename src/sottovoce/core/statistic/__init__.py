"""What a tally counts: how one report becomes integers."""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core.errors import SpecError
from sottovoce.core.late import load
from sottovoce.core.specs import take
from sottovoce.core.statistic.base import Limits, Statistic

# One line for each statistic; its module is loaded when a mechanism needs it.
STATISTICS = {
    "outputs": "core.statistic.outputs:CountOutputs",
    "supports": "core.statistic.supports:CountSupports",
    "asked": "core.statistic.asked:CountAsked",
    "seeds": "core.statistic.seeds:CountSeeds",
    "cohorts": "core.statistic.cohorts:CountCohorts",
    "keyed": "core.statistic.keyed:CountKeyed",
    "parts": "core.statistic.parts:CountParts",
    "each": "core.statistic.each:CountEach",
    "joint": "core.statistic.joint:CountJoint",
    "sums": "core.statistic.sums:Sums",
    "moments": "core.statistic.moments:Moments",
}

__all__ = ["STATISTICS", "Limits", "Statistic", "statistic_from_spec"]


def statistic_from_spec(spec: object) -> Statistic:
    """The statistic a specification describes."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind not in STATISTICS:
        raise SpecError(f"A statistic of a specification must have a kind among {', '.join(STATISTICS)}.")
    take(spec, f"the statistic {kind}", ("kind",))
    found: Statistic = load(STATISTICS[kind])()
    return found
