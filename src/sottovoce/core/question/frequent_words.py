"""Frequent words, without a list of candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.words import Words
from sottovoce.core.errors import DomainError
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question

MOST_DENIED = 10_000


@dataclass(frozen=True, slots=True)
class FrequentWords(Question):
    """Ask for one word, and find the words that many people give, with their shares; nobody lists candidates.

    Args:
        domain: The possible words, as `Words`.
        deny: Words that results never show, such as names or insults.

    Examples:
        >>> m = sv.mechanism("fragments", sv.Words(longest=5), epsilon=4)
        >>> tally = m.tally(m.privatize(["tea"] * 15_000 + ["mate"] * 5_000, seed=1))
        >>> m.estimate(tally).labels
        ('tea', 'mate')

    See also:
        `Frequency` where all possible answers are known, or a list of candidates.
    """

    kind: ClassVar[str] = "frequent-words"
    noun: ClassVar[str] = "share"
    parameters: ClassVar[tuple[str, ...]] = ("deny",)
    is_share: ClassVar[bool] = True
    domain: Words
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.spelled is None:
            raise reject("domain", self.kind, "possible words, such as Words(longest=8)", self.domain)
        object.__setattr__(self, "deny", _check_denied(self.domain, self.deny))


def _check_denied(domain: Domain, deny: Any) -> tuple[str, ...]:
    """Different words of the domain."""
    listed = tuple(deny) if isinstance(deny, Iterable) and not isinstance(deny, (str, bytes)) else None
    if listed is None or len(listed) > MOST_DENIED:
        raise reject("deny", FrequentWords.kind, f"a list of at most {MOST_DENIED} words", None)
    try:
        codes = [domain.encode(word) for word in listed]
    except DomainError as problem:
        raise reject("deny", FrequentWords.kind, f"a list of words, each {problem.must_be}", None) from None
    if len({*codes}) < len(codes):
        raise reject("deny", FrequentWords.kind, "a list of different words", None)
    return listed
