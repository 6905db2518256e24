"""LDPMiner: frequent items in two rounds with the same people, each with half of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Itemsets, Sets
from sottovoce.core.params import check_epsilon, check_integer, check_people
from sottovoce.core.question import SetShares
from sottovoce.core.round import Arm, Estimates, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.protocols.nested.again import Interactive
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.sets.drawn import drawn_item
from sottovoce.protocols.sets.svim import EARLY, largest


@dataclass(frozen=True, slots=True)
class LdpMiner(Interactive):
    """The `count` most frequent items: everyone reports one of their items, padded to `slots`, with half of the budget.

    The 2 `count` most frequent items are candidates. With the other half, the same people report one of their
    candidates. The draw of an item does not count for privacy, as published. Reports are by local hashing, or by
    randomized response where candidates are few.

    Reference: Qin, Yang, Yu, Khalil, Xiao, Ren, "Heavy hitter estimation over set-valued data with local differential
        privacy", CCS 2016.
    """

    answers: ClassVar[int] = 2
    domain: Sets
    epsilon: Any
    count: int
    slots: int
    participants: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon("LDPMiner", self.epsilon))
        check_integer("count", "LDPMiner", self.count, 1, len(self.domain.items) // 2)
        check_integer("slots", "LDPMiner", self.slots, 1, self.domain.most)
        check_people("participants", "LDPMiner", self.participants)

    @property
    def question(self) -> SetShares:
        return SetShares(self.domain)

    def effort(self) -> int:
        return 2 * ARM_EFFORT

    def following(self, rounds: Rounds) -> Round | Estimates:
        half = self.epsilon / Decimal(2)
        if not rounds:
            first = drawn_item(self.domain, half, self.slots, amplified=False)
            return Round((Arm("item", first),), quota=self.participants)
        (tally,) = rounds[-1]
        shares = tally.mechanism.estimate(tally)
        if len(rounds) == 2:
            return {"items": shares}
        listed = [[self.domain.items[place]] for place in largest(shares.values, 2 * self.count)]
        candidates = Itemsets(self.domain, listed)
        slots = min(self.slots, candidates.most)
        second = drawn_item(candidates, half, slots, amplified=False)
        return Round((Arm("candidate", second),), quota=self.participants)

    def closed(self, rounds: Rounds) -> Estimates:
        (tally,) = rounds[-1]
        return partial({"items": tally.mechanism.estimate(tally)}, EARLY)
