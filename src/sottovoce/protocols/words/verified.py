"""Frequent words in two rounds: most people find them without a list, and the others verify them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, check_people
from sottovoce.core.question import FrequentWords
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.mechanisms.words.fragments import build
from sottovoce.protocols.words.pem import DECODING, MOST_VERIFY

OWNER = "verified words"
EARLY = "Closed early: nobody verified the words."


@dataclass(frozen=True, slots=True)
class VerifiedWords(Protocol):
    """Find frequent words by `fragments`, and verify them by other people. Everyone answers once.

    The first round finds words with a stated false discovery rate. The last round did not choose the words. Its shares
    are unbiased also near the smallest share that can be found, where those of one round are too large on average.

    Args:
        domain: The possible words, as `Words`.
        epsilon: The privacy budget of one participant.
        participants: How many participants are expected.
        verify: The percentage of the people that verifies the words found.
        deny: Words that results never show.

    Examples:
        >>> from sottovoce.protocols.words.verified import VerifiedWords
        >>> protocol = VerifiedWords(sv.Words(longest=5), epsilon=4, participants=20_000)
        >>> sv.simulate(protocol, ["tea"] * 15_000 + ["mate"] * 5_000, seed=1)["words"].labels
        ('tea', 'mate')

    See also:
        `PEM`, which shows a stated number of words. One round finds smaller shares, since everyone searches.
    """

    domain: Domain
    epsilon: Any
    participants: int
    verify: int = 20
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        object.__setattr__(self, "deny", self.question.deny)
        check_integer("verify", OWNER, self.verify, 1, MOST_VERIFY)
        check_people("participants", OWNER, self.participants)

    @property
    def question(self) -> FrequentWords:
        return FrequentWords(self.domain, self.deny)  # type: ignore[arg-type]

    @property
    def mechanism(self) -> Mechanism:
        """How words are reported in both rounds."""
        return build(self.domain, epsilon=self.epsilon, deny=self.deny)

    def effort(self) -> int:
        return 2 * DECODING

    def start(self) -> Round:
        people = self.participants * (100 - self.verify) // 100
        return Round((Arm("find", self.mechanism),), quota=max(1, people))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        first, *others = (tally for (tally,) in history)
        found = first.mechanism.estimate(first)
        if closing and not others:
            return partial({"words": found}, EARLY)
        if not found.labels:
            return {"words": found}
        if not others:
            return Round((Arm("verify", self.mechanism),))
        return {"words": others[0].mechanism.estimate(others[0], candidates=found.labels)}
