"""Of mechanisms that are nearly as good as the best one, the one with the shortest reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.study.planners.base import Option, RootWays

FOUND = 0.95  # probability that a rare item is found
NEARLY = 1.015  # times the smallest standard error: 3 % of the variance


class TriedMechanism(NamedTuple):
    """A mechanism, what plans call it, and its standard error for one participant."""

    error: float
    mechanism: Mechanism
    name: str


def shortest_first(candidates: Sequence[TriedMechanism]) -> RootWays:
    """All candidates as options, best first; at least one is needed."""
    least = min(one.error for one in candidates)

    def rank(one: TriedMechanism) -> tuple[float, int]:
        nearly = one.error <= NEARLY * least
        return (0.0, codec.payload_bytes(one.mechanism.channel)) if nearly else (one.error, 0)

    options = (
        Option(
            one.name, one.mechanism, one.error, codec.payload_bytes(one.mechanism.channel), _reason(one.error / least)
        )
        for one in sorted(candidates, key=rank)
    )
    return RootWays(tuple(options), least)


def _reason(ratio: float) -> str:
    if ratio == 1:
        return "no method has a smaller error."
    return f"{ratio:.3g} times the smallest error{', with shorter reports' if ratio <= NEARLY else ''}."


def found_sentence(what: str, share: float, among: str) -> str:
    """The smallest share that is found nearly always, in words."""
    return (
        f"{what} that {100 * share:.2g} % of people hold is found with probability {100 * FOUND:g} %, by intervals that"
        f" hold for all {among} at once."
    )
