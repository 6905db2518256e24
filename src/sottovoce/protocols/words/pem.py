"""PEM: frequent words through beginnings that grow, one group of people for each length; then a verifying round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.core.domain.words import Words, words_of
from sottovoce.core.params import check_epsilon, check_integer, check_people, reject
from sottovoce.core.question import FrequentWords
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.estimate.evidence import Ints
from sottovoce.protocols.words.beginnings import beginning, extended, shares_of, strongest

OWNER = "PEM"
MOST_COUNT = 1 << 10
MOST_VERIFY = 90  # percent
DECODING = 1 << 15  # steps of reading one tally


@dataclass(frozen=True, slots=True)
class PEM(Protocol):
    """Find the most frequent words through beginnings that grow. Everyone answers once.

    The people of the first group report the first letters of their word, as many as leave at most `candidates`
    beginnings. The `count` most frequent ones are extended by all letters that may follow, and the next group reports
    longer beginnings. There are as few groups as `candidates` allows, as published, and their steps are even. The paper
    extends by bits and reports through local hashing; here steps are letters, and reports are `fragments`.

    A last group is asked about whole words and did not choose them: its shares are unbiased, with intervals.

    Args:
        domain: The possible words, as `Words`. Groups before the last report first letters, of longer words as well.
        epsilon: The privacy budget of one participant.
        count: How many words are found; some of them may be chance where fewer are frequent.
        participants: How many participants are expected.
        verify: The percentage of the people that verifies the words found; 0 estimates from the last group, as
            published.
        candidates: How many beginnings may be counted after one round.

    Examples:
        >>> from sottovoce.protocols.words.pem import PEM
        >>> protocol = PEM(sv.Words(longest=5), epsilon=4, count=2, participants=20_000)
        >>> sv.simulate(protocol, ["tea"] * 15_000 + ["mate"] * 5_000, seed=1)["words"].labels
        ('tea', 'mate')

    See also:
        The mechanism `fragments`, which needs one round.

    Reference: Wang, Li, Jha, "Locally differentially private heavy hitter identification", IEEE TDSC 2021.
    """

    domain: Words
    epsilon: Any
    count: int
    participants: int
    verify: int = 20
    candidates: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        if self.question.domain.spelled is not self.domain:
            raise reject("domain", OWNER, "possible words, such as Words(longest=8)", self.domain)
        fewest = words_of(len(self.domain.letters), 1)
        most = min(MOST_COUNT, (1 << 20) // fewest)
        check_integer("count", OWNER, self.count, 1, most)
        check_integer("verify", OWNER, self.verify, 0, MOST_VERIFY)
        check_integer("candidates", OWNER, self.candidates, self.count * fewest, 1 << 20)
        check_people("participants", OWNER, self.participants)

    @property
    def question(self) -> FrequentWords:
        return FrequentWords(self.domain)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many letters each group reports."""
        longest = self.domain.longest
        first = self._reach(1)
        if first == longest:
            return (longest,)
        groups = -(-(longest - first) // self._reach(self.count))
        return (first, *(first - (first - longest) * group // groups for group in range(1, groups + 1)))

    def _reach(self, kept: int) -> int:
        """The most letters by which so many beginnings can be extended."""
        base, longest = len(self.domain.letters), self.domain.longest
        return max(
            step for step in range(1, longest + 1) if kept * words_of(base, step) <= self.candidates or step == 1
        )

    def effort(self) -> int:
        return (len(self.lengths) + 1) * DECODING

    def start(self) -> Round:
        return self._round(0)

    def _round(self, place: int) -> Round:
        lengths, verifying = self.lengths, self.verify > 0
        if place == len(lengths):
            return Round((Arm("verify", beginning(self.domain, self.epsilon, lengths[-1])),))
        people = self.participants * (100 - self.verify) // 100 // len(lengths)
        arm = Arm("beginning", beginning(self.domain, self.epsilon, lengths[place]))
        is_last = place == len(lengths) - 1 and not verifying
        return Round((arm,), quota=None if is_last else max(1, people))

    def chosen(self, rounds: History) -> Ints:
        """The numbers of the beginnings that are kept after these rounds."""
        codes, old = np.zeros(1, np.int64), 0
        for length, (tally,) in zip(self.lengths, rounds, strict=False):
            codes, old = extended(self.domain, codes, old, length), length
            codes = strongest(tally, codes, self.count)
        return codes

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        groups, planned = len(self.lengths), len(self.lengths) + (self.verify > 0)
        if len(rounds) < planned and not closing:
            return self._round(len(rounds))
        (tally,) = rounds[-1]
        estimates = {"words": shares_of(tally, self.chosen(rounds), fresh=len(rounds) > groups)}
        if len(rounds) == planned:
            return estimates
        asked = self.lengths[min(len(rounds), groups) - 1]
        return partial(estimates, f"Closed early: {len(rounds)} of {planned} rounds were asked, of {asked} letters.")
