"""Where the numbers of an estimate come from: mechanisms, and how many reports of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text


class EstimateSource(NamedTuple):
    """A mechanism, and the number of its reports."""

    mechanism: Mechanism
    n: int

    def to_dict(self) -> dict[str, Any]:
        """The source in plain data."""
        mechanism = self.mechanism
        return {
            "mechanism": mechanism.name,
            "fingerprint": mechanism.fingerprint,
            "epsilon": mechanism.epsilon,
            "claimed": decimal_text(mechanism.claimed),
            "guarantee": str(mechanism.guarantee),
            "n": self.n,
        }


def sources_of(tallies: Iterable[Any]) -> tuple[EstimateSource, ...]:
    """The sources of tallies; those of the same mechanism are merged, and those without reports left out."""
    merged: dict[str, EstimateSource] = {}
    for tally in tallies:
        key, n = tally.mechanism.fingerprint, tally.n
        if n:
            merged[key] = EstimateSource(tally.mechanism, n + (merged[key].n if key in merged else 0))
    return tuple(merged.values())
