"""The state of a protocol inside another one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sottovoce.core.round import Estimates, Protocol, Round, Tallies, reports_of

Rounds = tuple[Tallies, ...]


def walked(protocol: Protocol, rounds: Rounds) -> tuple[int, Round | Estimates]:
    """How many of these rounds belong to an inner protocol and are over, and its next step."""
    for count, tallies in enumerate(rounds):
        stage = stage_after(protocol, rounds[:count])
        if not isinstance(stage, Round) or not stage.may_end(reports_of(tallies)):
            return count, stage
    return len(rounds), stage_after(protocol, rounds)


def stage_after(protocol: Protocol, rounds: Rounds) -> Round | Estimates:
    """The next step of an inner protocol after these rounds.

    The step is cached: the outer protocol knows its whole history only, and asks again for the results of the inner one
    after the rounds before. So each round costs the inner protocol one step.
    """
    if not rounds:
        return protocol.start()
    simulated = tuple(getattr(tally, "simulated", False) for tallies in rounds for tally in tallies)
    return _stage_after(protocol, rounds, simulated)


@lru_cache(maxsize=64)
def _stage_after(protocol: Protocol, rounds: Rounds, simulated: Any) -> Round | Estimates:
    """Tallies that differ only in their simulation mark are equal, so the marks are part of the key."""
    return protocol.advance(rounds)
