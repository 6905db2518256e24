"""The mean of numbers with an unknown range: search a good range first, then ask within it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Integers, Interval
from sottovoce.core.question import Mean
from sottovoce.core.round import Estimates, reports_of
from sottovoce.protocols.nested.sequential import Sequential
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.ranges.clamped import ClampedMeanRound
from sottovoce.protocols.ranges.from_thresholds import mean_from_thresholds
from sottovoce.protocols.ranges.search import RangeSearchRounds, bits_of


@dataclass(frozen=True, slots=True)
class RangeSearchMean(Sequential):
    """The mean of a number that may lie anywhere in a wide domain: `RangeSearchRounds`, then `ClampedMeanRound`.

    First a few rounds of one bit each find the range with the least expected error of the mean. In the last round
    everyone who is left answers with their number, clamped to that range, and a few about the part beyond it. Everyone
    answers once. The results are those of the last round. Closed before it, "mean" is what the thresholds say
    (`mean_from_thresholds`).

    `participants` is how many are expected; a share `search` of them is asked about thresholds (None: 15 to 40 %, the
    more the fewer they are), in at most `rounds` rounds.
    """

    unbegun: ClassVar[str] = "Closed early: some arms of the last round have no reports, so no numbers are counted."
    domain: Integers | Interval
    epsilon: Any
    participants: int
    method: str = "designed"
    search: Any = None
    tails: Any = Decimal("0.04")
    rounds: int = 6

    def __post_init__(self) -> None:
        checked = self.opening
        for name in ("epsilon", "participants", "search", "tails", "rounds"):
            object.__setattr__(self, name, getattr(checked, name))

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    @property
    def opening(self) -> RangeSearchRounds:
        return RangeSearchRounds(
            self.domain, self.epsilon, self.participants, self.method, self.search, self.tails, self.rounds
        )

    def following(self, estimates: Estimates, rounds: Rounds) -> ClampedMeanRound:
        search = self.opening
        left = max(1, self.participants - search.searchers)
        asked = sum(map(reports_of, rounds))
        ends = search.chosen(bits_of(rounds))
        return ClampedMeanRound(self.domain, self.epsilon, *ends, left, self.method, self.tails, asked)

    def together(self, estimates: Estimates, then: Estimates) -> Estimates:
        return then

    def alone(self, estimates: Estimates, rounds: Rounds) -> Estimates:
        mean = mean_from_thresholds(self.opening, rounds)
        return {"mean": replace(mean, missing=estimates["thresholds"].missing), **estimates}

    def is_begun(self, later: Rounds) -> bool:
        # Without reports about the part beyond the range, the thresholds say more than clamped numbers.
        return bool(later) and all(tally.n for tally in later[0])

    def effort(self) -> int:
        return 2 * self.opening.effort()
