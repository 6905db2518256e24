"""What a tally counts: how one report becomes integers."""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core.declared import from_kinds
from sottovoce.core.late import load
from sottovoce.core.statistic.base import Limits, Statistic

# One line for each statistic; its module is loaded when a mechanism needs it.
STATISTICS = {
    "outputs": "core.statistic.outputs:CountOutputs",
    "supports": "core.statistic.supports:CountSupports",
    "items": "core.statistic.items:CountItems",
    "asked": "core.statistic.asked:CountAsked",
    "seeds": "core.statistic.seeds:CountSeeds",
    "states": "core.statistic.states:CountStates",
    "ends": "core.statistic.ends:CountEnds",
    "cohorts": "core.statistic.cohorts:CountCohorts",
    "keyed": "core.statistic.keyed:CountKeyed",
    "parts": "core.statistic.parts:CountParts",
    "each": "core.statistic.each:CountEach",
    "joint": "core.statistic.joint:CountJoint",
    "sums": "core.statistic.sums:Sums",
    "moments": "core.statistic.moments:Moments",
}

__all__ = ["STATISTICS", "Limits", "Statistic", "statistic_from_spec"]


def statistic_from_spec(spec: object, *, device: bool = False) -> Statistic:
    """The statistic a specification describes; a device also takes kinds that it does not know."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if device and kind is not None and (not isinstance(kind, str) or kind not in STATISTICS):
        unknown: Statistic = load("core.unknown:UnknownStatistic").of(spec)
        return unknown
    statistic: Statistic = from_kinds(STATISTICS, spec, "A statistic of a specification must have a kind")
    return statistic
