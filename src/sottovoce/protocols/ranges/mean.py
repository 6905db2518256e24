"""The mean of numbers with an unknown range: search a good range first, then ask within it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Integers, Interval
from sottovoce.core.question import Mean
from sottovoce.core.round import Estimates, reports_of
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.ranges.after import AfterRangeSearch
from sottovoce.protocols.ranges.clamped import ClampedMeanRound, check_square
from sottovoce.protocols.ranges.search import OWNER, RangeSearchRounds


@dataclass(frozen=True, slots=True)
class RangeSearchMean(AfterRangeSearch):
    """Estimate a mean whose range is hardly known: short rounds find the range, the last one asks for the number.

    A few rounds of one bit each find the range with the smallest expected error. In the last round everyone who is left
    answers with their number, clamped to that range, and a few about the part beyond it. Everyone answers once. If the
    protocol is closed before, "mean" comes from the thresholds (`mean_from_thresholds`).

    Args:
        domain: The widest possible range.
        epsilon: The privacy budget of one participant.
        participants: How many people are expected.
        method: The mechanism for means of the last round.
        search: The share of participants who are asked about thresholds. Default: 15 to 40 %, more where there are few.
        tails: The share of the last round that is asked about the part beyond the range.
        rounds: The largest number of search rounds. Up to six more, with 5 % of the participants each, look for answers
            far beyond the range if there are enough participants.
        mean_square: A bound that the mean of the squared numbers certainly keeps, if you know one. It makes the
            interval of "mean" narrower: few numbers can lie far beyond the range then.

    Examples:
        >>> protocol = sv.RangeSearchMean(sv.Interval(0, 100_000), epsilon=2, participants=4000)
        >>> estimates = sv.simulate(protocol, [20, 21, 22, 23] * 1000, seed=1)
        >>> 15 < estimates["mean"].value < 30
        True

    See also:
        `GaussianMeanUnknownSigma` for normal answers, `AdaptiveMeanRounds` for a narrow range.
    """

    unbegun: ClassVar[str] = "Closed early: some arms of the last round have no reports, so no numbers are counted."
    # Without reports about the part beyond the range, the thresholds say more than clamped numbers.
    needs_all_arms: ClassVar[bool] = True
    domain: Integers | Interval
    epsilon: Any
    participants: int
    method: str = "designed"
    search: Any = None
    tails: Any = Decimal("0.04")
    rounds: int = 6
    mean_square: Any = None

    def __post_init__(self) -> None:
        checked = self.opening
        for name in ("epsilon", "participants", "search", "tails", "rounds"):
            object.__setattr__(self, name, getattr(checked, name))
        object.__setattr__(self, "mean_square", check_square(OWNER, self.mean_square))

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
        ends = search.chosen(tuple(rounds))
        return ClampedMeanRound(
            self.domain, self.epsilon, *ends, left, self.method, self.tails, asked, self.mean_square
        )

    def together(self, estimates: Estimates, then: Estimates) -> Estimates:
        return then
