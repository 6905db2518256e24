"""Means by group with an unknown range: search a good range for all groups together first, then ask within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sottovoce.core.domain import Clamp, Domain, Integers, Interval, Pair
from sottovoce.core.question import GroupMean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Estimates
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.ranges.after import AfterRangeSearch
from sottovoce.protocols.ranges.search import RangeSearchRounds


@dataclass(frozen=True, slots=True)
class RangeSearchGroupMean(AfterRangeSearch):
    """Estimate means by group of a number whose range is hardly known; group and number are both private.

    A few rounds of one bit each find the range in which a group's mean has the smallest expected error. Everyone who is
    left answers with their group and their number, clamped to that range. The result is "clamped": means of clamped
    numbers by group, and "thresholds": the shares of all participants at or above each threshold, which say how many
    numbers were moved. If the protocol is closed before, there is "mean" instead: that of everyone, from the
    thresholds.
    """

    by: Domain
    domain: Integers | Interval
    epsilon: Any
    participants: int
    method: str = "group-nprr"
    search: Any = None
    rounds: int = 6

    def __post_init__(self) -> None:
        checked = self.opening
        for name in ("epsilon", "participants", "search", "rounds"):
            object.__setattr__(self, name, getattr(checked, name))

    @property
    def question(self) -> GroupMean:
        return GroupMean(self.by, self.domain)

    @property
    def opening(self) -> RangeSearchRounds:
        plain = self.domain, self.epsilon, self.participants, self.method, self.search
        return RangeSearchRounds(*plain, rounds=self.rounds, by=self.by)

    def following(self, estimates: Estimates, rounds: Rounds) -> AskEveryone:
        low, high = self.opening.chosen(tuple(rounds))
        asked = Pair(self.by, Clamp(self.domain, low, high))
        return AskEveryone(build(self.method, asked, epsilon=self.epsilon), "clamped")
