"""SVIM and SVSM: frequent items, and frequent itemsets, in rounds with different people."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import HeldCount, Itemsets, Sets
from sottovoce.core.params import check_epsilon, check_integer, check_people
from sottovoce.core.question import SetShares
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.set_shares.scaled import ScaledShares
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.sets.drawn import drawn_item, single

PARTS = (0.5, 0.1)  # of the people: who find candidates, and who say how many of them they hold; the rest estimates
COVERED = 0.9  # of the people hold at most as many candidates as there are slots
SHRUNK = 0.9  # of its guessed share, by which an itemset is rarer for each of its items
LARGEST = 4  # items of a guessed itemset
ASSUMED = (
    "A person holds as many candidates as others do, whichever items they are: shares are scaled up by one factor."
)
EARLY = "Closed early: the last round has fewer reports than planned."


@dataclass(frozen=True, slots=True)
class FrequentItems(Protocol):
    """SVIM: the items that most people hold. Everyone answers once, in one of three rounds.

    Half of the people report one of their items. The 2 `count` most frequent ones are candidates. A tenth of the people
    report how many candidates they hold. The number that nine in ten people do not exceed are the slots of the last
    round: its people report one of their candidates, padded to so many. Shares are scaled up for those who hold more.

    Reference: Wang, Li, Jha, "Locally differentially private frequent itemset mining", IEEE S&P 2018.
    """

    domain: Sets
    epsilon: Any
    count: int
    participants: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon("frequent items", self.epsilon))
        check_integer("count", "frequent items", self.count, 1, len(self.domain.items) // 2)
        check_people("participants", "frequent items", self.participants)

    @property
    def question(self) -> SetShares:
        return SetShares(self.domain)

    def effort(self) -> int:
        return 3 * ARM_EFFORT

    def start(self) -> Round:
        return Round((Arm("item", drawn_item(self.domain, self.epsilon, 1)),), quota=int(PARTS[0] * self.participants))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        if not rounds:
            return self.start()
        first = rounds[0][0].mechanism.estimate(rounds[0][0])
        if closing and len(rounds) < 3:
            return partial({"items": first}, EARLY)
        candidates = Itemsets(
            self.domain, [[self.domain.items[place]] for place in largest(first.values, 2 * self.count)]
        )
        return after_candidates(candidates, self.epsilon, int(PARTS[1] * self.participants), rounds[1:], "items")


def largest(values: Floats, count: int) -> list[int]:
    """The places of the largest values, the largest one first."""
    return [int(place) for place in np.argsort(-values, kind="stable")[:count]]


def after_candidates(
    candidates: Itemsets, epsilon: Decimal, people: int, rounds: Rounds, name: str
) -> Round | Estimates:
    """The rounds of those who say how many candidates they hold, and of those who report one; then the estimates."""
    if not rounds:
        return Round((Arm("held", single(HeldCount(candidates), epsilon)),), quota=people)
    counts = rounds[0][0].mechanism.estimate(rounds[0][0])
    slots, factor = slots_of(rounds[0][0].mechanism.estimate(rounds[0][0], decoder="norm-sub").values)
    if len(rounds) == 1:
        return Round((Arm("candidate", drawn_item(candidates, epsilon, slots)),))
    (tally,) = rounds[1]
    shares = tally.mechanism.estimate(tally)
    note = f"{slots} slots for {len(candidates.labels())} candidates; shares were scaled up by {factor:.3g}."
    scaled = Estimate.of(shares.question, ScaledShares(shares.evidence, factor), shares.sources, notes=[note])
    return {name: replace(scaled, assumes=ASSUMED), "held": counts}


def slots_of(shares: Floats) -> tuple[int, float]:
    """How many candidates nine in ten people do not exceed, and the factor for those who hold more.

    `shares` are those of people with 0, 1, 2, ... candidates; none is negative, and they sum to one.
    """
    numbers = np.arange(len(shares))
    slots = max(1, int(np.argmax(np.cumsum(shares) >= COVERED)))
    drawn = float(shares @ np.minimum(numbers, slots))
    return slots, float(shares @ numbers) / drawn if drawn else 1.0


@dataclass(frozen=True, slots=True)
class FrequentItemsets(Protocol):
    """SVSM: the itemsets that most people hold. Half of the people run `FrequentItems`.

    The share of an itemset is guessed as the product of the shares of its items, each relative to the largest and
    shrunk by a tenth. The 2 k itemsets with the largest guesses are candidates, of which the other people report one.

    Reference: Wang, Li, Jha, "Locally differentially private frequent itemset mining", IEEE S&P 2018.
    """

    domain: Sets
    epsilon: Any
    count: int
    participants: int
    start = delegated("items.start")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self.items.epsilon)

    @property
    def items(self) -> FrequentItems:
        """The first three rounds."""
        return FrequentItems(self.domain, self.epsilon, self.count, int(PARTS[0] * self.participants))

    @property
    def question(self) -> SetShares:
        return SetShares(self.domain)

    def effort(self) -> int:
        return 5 * ARM_EFFORT

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        if len(rounds) < 3 or (closing and len(rounds) < 5):
            stage = self.items.advance(rounds[:3], closing)
            if isinstance(stage, Round) and len(rounds) == 2:
                return replace(stage, quota=int(PARTS[0] * (1 - sum(PARTS)) * self.participants))
            return stage
        found: Any = self.items.advance(rounds[:3])
        shares = found["items"]
        best = largest(shares.values, self.count)
        guessed = guesses([float(shares.values[place]) for place in best], 2 * self.count)
        listed = self.domain.listed.typed
        names = [str(shares.labels[place]) for place in best]
        candidates = Itemsets(self.domain, [[listed(names[item]) for item in one] for one in guessed])
        people = int(PARTS[1] * self.participants)
        stage = after_candidates(candidates, self.epsilon, people, rounds[3:], "itemsets")
        return stage if isinstance(stage, Round) else {**found, **stage}


def guesses(shares: Sequence[float], count: int) -> list[tuple[int, ...]]:
    """The itemsets with the largest guessed shares, by the places of their items; `shares` fall."""
    top = max(shares[0], 1e-12)
    relative = [SHRUNK * max(one, 0.0) / top for one in shares]

    def of_size(size: int) -> list[tuple[float, tuple[int, ...]]]:
        places = range(min(len(shares), count // size + size))  # a rarer item has too many better itemsets before it
        return [(float(np.prod([relative[place] for place in one])), one) for one in combinations(places, size)]

    sizes = range(1, 1 + min(LARGEST, len(shares)))
    return [one for _, one in heapq.nlargest(count, (pair for size in sizes for pair in of_size(size)))]
