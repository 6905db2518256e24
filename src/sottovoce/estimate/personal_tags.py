"""PUM: shares where answers are sensitive for some people only, who hide them behind common tags.

A home is sensitive for those who live there, and a place like any other for all others. Who holds such an answer sends
a tag instead, such as "home". Tags are sensitive for everybody, so nobody learns who sent one or which answers are
sensitive for whom. The collector knows how many sent each tag, and spreads them over the answers by a law of each tag
that comes from elsewhere, such as public data.

Reference: Murakami, Kawamoto, "Utility-optimized local differential privacy mechanisms for distribution estimation",
USENIX Security 2019, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.core.domain import Categories, Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.linear_queries import LinearQueries

OWNER = "personal tags"
METHODS = ("urr", "urap")
ASSUMES = (
    "Answers behind tags are spread by the laws that were given: shares and intervals are right only if these laws are."
)


@dataclass(frozen=True, slots=True)
class PersonalTags:
    """Categories of which each person may hide some behind tags.

    Args:
        domain: The answers, as `Categories`.
        tags: The tags, as texts that are no answers, such as "home".
        sensitive: Answers that are sensitive for everybody.

    Examples:
        >>> from sottovoce.estimate.personal_tags import PersonalTags
        >>> places = PersonalTags(sv.Categories(["park", "street", "clinic"]), ["home"], sensitive=["clinic"])
        >>> places.tagged("street", {"street": "home"}), places.tagged("park", {"street": "home"})
        ('home', 'park')
    """

    domain: Domain
    tags: Sequence[str]
    sensitive: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.choices is None:
            raise reject("domain", OWNER, "Categories", self.domain)
        tags = (self.tags,) if isinstance(self.tags, str) else tuple(self.tags)
        object.__setattr__(self, "tags", tags)
        object.__setattr__(self, "sensitive", tuple(self.sensitive))
        if not tags or len({*tags, *self._answers}) != len(tags) + len(self._answers):
            raise reject("tags", OWNER, "one or more different texts that are no answers", None)
        if not {*self.sensitive} <= {*self._answers}:
            raise reject("sensitive", OWNER, "answers of the domain", None)

    @property
    def _answers(self) -> tuple[str, ...]:
        return tuple(str(choice) for choice in self.domain.choices or ())

    @property
    def asked(self) -> Categories:
        """What devices send: an answer or a tag."""
        return Categories([*self._answers, *self.tags])

    def tagged(self, answer: str, personal: Mapping[str, str]) -> str:
        """What a person's device gives to the mechanism. `personal` has the tags of that person's own sensitive
        answers; it stays on the device."""
        self.domain.encode(answer)
        tag = personal.get(answer, answer) if isinstance(personal, Mapping) else None
        if tag != answer and tag not in self.tags:
            raise reject("personal", OWNER, "tags of this question", None)
        return tag

    def mechanism(self, *, epsilon: Any, method: str = "urr") -> Mechanism:
        """The mechanism, in which tags and commonly sensitive answers are protected."""
        if method not in METHODS:
            raise reject("method", OWNER, f"one of {', '.join(METHODS)}", method)
        return build(method, self.asked, epsilon=epsilon, sensitive=[*self.sensitive, *self.tags])

    def spread(self, estimate: Estimate, laws: Mapping[str, Mapping[str, float]]) -> Estimate:
        """The shares of all answers, with those behind each tag spread by its law.

        Args:
            estimate: The shares of answers and tags, of the mechanism.
            laws: For each tag, how its share divides among the answers; each sums to one.
        """
        if estimate.question != Frequency(self.asked):
            raise reject("estimate", OWNER, "shares of answers and tags", None)
        rows = np.hstack([np.eye(len(self._answers)), self._columns(laws)])
        queries = LinearQueries(self.asked, rows, names=self._answers)
        return replace(queries.of_shares(estimate), assumes=ASSUMES)

    def _columns(self, laws: Mapping[str, Mapping[str, float]]) -> Floats:
        wanted = "a law for each tag: shares of answers that are not negative and sum to one"
        if {*laws} != {*self.tags}:
            raise reject("laws", OWNER, wanted, None)
        columns = np.zeros((len(self._answers), len(self.tags)))
        for place, tag in enumerate(self.tags):
            for answer, share in laws[tag].items():
                if answer not in self._answers:
                    raise reject("laws", OWNER, wanted, None)
                columns[self._answers.index(answer), place] = share
        if not (columns >= 0).all() or not np.allclose(columns.sum(axis=0), 1, atol=1e-9):
            raise reject("laws", OWNER, wanted, None)
        return columns
