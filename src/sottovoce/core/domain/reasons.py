"""Reasons for giving no answer, which are answers too.

Who does not know or refuses sends a report like everyone: a missing report would reveal them. Among categories a reason
is one category more. A number and the reasons are a group and a value: "answered" is the first group; the value of a
person who gives a reason does not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from sottovoce.core.domain import Categories
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError

ANSWERED = "answered"
MOST_LISTED = 1000  # integers that become categories where there are reasons


def listed_answers(domain: Domain) -> tuple[str, ...] | None:
    """The answers of a domain as texts, if they can be listed."""
    if domain.choices is not None or (domain.whole is not None and domain.whole.size <= MOST_LISTED):
        return tuple(map(str, domain.labels()))
    return None


def with_categories(answers: Iterable[str], reasons: tuple[str, ...]) -> Categories:
    """Answers and reasons as one list of categories."""
    values = [*answers, *reasons]
    if len({*values}) < len(values):
        raise ParameterError("A reason for giving no answer is among the answers already.", parameter="missing")
    return Categories(values)


def any_answer(domain: Domain) -> object:
    """An answer of a domain, for a person whose answer does not count."""
    return domain.choices[0] if domain.choices else getattr(domain, "low", 0)


def with_answered(reasons: tuple[str, ...]) -> Categories:
    """Whether an answer was given, or why not."""
    return with_categories((ANSWERED,), reasons)
