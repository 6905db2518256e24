"""Plans for frequent words: the error of a share, and which words are found."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core.domain.words import Words
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.params import reject
from sottovoce.core.question import FrequentWords
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.frequent_words.evidence import FOUND, smallest_found
from sottovoce.estimate.frequent_words.limit import fewest_people
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import (
    OWNER,
    Option,
    Planner,
    Request,
    RootWays,
    TriedMechanism,
    no_method,
    shortest_first,
)


@dataclass(frozen=True, slots=True)
class FrequentWordsPlanner(Planner):
    """Without a prior the error is that of a rare word; a prior is the share of a word that is to be found."""

    domain: Words
    deny: tuple[str, ...]
    share: float | None
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"Frequent words of at most {plural(self.domain.longest, 'letter')}"

    @property
    def measure(self) -> str:
        return "the share of a rare word" if self.share is None else f"the share of a word of {100 * self.share:.2g} %"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = []
        for name in self.methods:
            try:
                mechanism = build(name, self.domain, epsilon=epsilon, deny=self.deny)
            except ParameterError:
                continue
            error = math.sqrt(float(mechanism.variance([self.share or 0.0], 1, target=self.target)[0]))
            candidates.append(TriedMechanism(error, mechanism, name))
        if not candidates:
            raise no_method(epsilon, self.methods)
        return shortest_first(candidates)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        found = smallest_found(best.mechanism, participants)
        if found is None:
            yield "With so few participants no word is found, whatever its share."
        else:
            yield (
                f"A word that {100 * found:.2g} % of people give is found with probability {100 * FOUND:g} %, without a"
                f" list of candidates ({self.domain.bits} bits)."
            )
        if self.share is not None:
            people = fewest_people(best.mechanism, self.share, FOUND)
            yield f"To find a word of {100 * self.share:.2g} % with this probability, ask {people:,} people."


def planner(request: Request) -> FrequentWordsPlanner:
    """Checks the request; the prior is the share of a word that is to be found."""
    request.refuse_mechanism()
    question: Any = request.question
    share, methods = request.prior, tuple(request.registered(FrequentWords))
    is_share = isinstance(share, (int, float, Decimal)) and not isinstance(share, bool) and 0 < share <= 1
    if share is not None and not is_share:
        raise reject("prior", OWNER, "the share of a word that is to be found, a number in (0, 1]", share)
    return FrequentWordsPlanner(
        question.domain, question.deny, None if share is None else float(share), methods, request.target
    )
