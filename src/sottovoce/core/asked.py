"""A question of a study: named, with its texts, and with reasons for giving no answer, which are answers too.

Who does not know or refuses sends a report like everyone: a missing report would tell. Among categories a reason is one
category more. A number and the reasons are a group and a value: "answered" is the first group; the value of a person
without one does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.core.domain import Categories, Integers
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.question import CircularMean, Frequency, GroupMean, Mean, Quantile, Question, Variance

ANSWERED = "answered"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_TEXT = 2000
MAX_SHARE = 1000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
MOST_WHOLE = 1000  # whole numbers that become categories where there are reasons


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a study.

    Attributes:
        name: short, for files and programs.
        question: about the answers themselves.
        texts: what participants read, by language.
        missing: reasons for giving no answer, such as "don't know".
        share: of the participants who are asked this, relative to the other questions.
        unit: of a number, such as "hours".
        attribute: the name of another question that is about the same answer of a person; empty if there is none.
        labels: what participants read instead of a category, a group or a reason, by language.
    """

    name: str
    question: Question
    texts: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    share: int = 1
    unit: str = ""
    attribute: str = ""
    labels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError(
                "The name of a question must begin with a small letter and have at most 40 small letters, digits,"
                " hyphens and underscores."
            )
        if not isinstance(self.question, Question):
            raise ParameterError("A question of a study must be a question, such as Mean(Interval(0, 14)).")
        object.__setattr__(self, "texts", _texts(self.texts))
        object.__setattr__(self, "missing", _reasons(self.missing))
        check_integer("share", "a question", self.share, 1, MAX_SHARE)
        if self.attribute and not NAME.fullmatch(self.attribute):
            raise ParameterError("The attribute of a question must be the name of another question.")
        object.__setattr__(self, "labels", _labels(self.labels, self.answers))
        self.whole  # noqa: B018  (refuses reasons that the question cannot have)

    @property
    def whole(self) -> Question:
        """The question with the reasons for giving no answer among the answers."""
        asked = self.question
        if not self.missing:
            return asked
        if isinstance(asked, Frequency) and (listed := _listed(asked.domain)) is not None:
            return Frequency(self._categories(listed))
        if isinstance(asked, Mean):
            return GroupMean(self._categories((ANSWERED,)), asked.domain)
        if isinstance(asked, GroupMean) and (listed := _listed(asked.by)) is not None:
            return GroupMean(self._categories(listed), asked.value)
        raise ParameterError(
            "Only shares of categories, means and means by group can have reasons for giving no answer."
        )

    def _categories(self, listed: Iterable[str]) -> Categories:
        values = [*listed, *self.missing]
        if len({*values}) < len(values):
            raise ParameterError("A reason for giving no answer is among the answers already.")
        return Categories(values)

    def answer(self, value: object) -> Any:
        """What the domain of the whole question takes for an answer or a reason."""
        asked = self.question
        if not self.missing:
            return value
        reason = value if isinstance(value, str) and value in self.missing else None
        if isinstance(asked, Frequency):
            asked.domain.encode(value) if reason is None else None  # refused before it becomes a text
            return reason if reason is not None else str(_whole(value))
        blank = _lowest(asked.value if isinstance(asked, GroupMean) else asked.domain)
        if reason is not None:
            return reason, blank
        return value if isinstance(asked, GroupMean) else (ANSWERED, value)

    @property
    def key(self) -> str:
        """The name under which a participant's answer is given: once for all questions about one attribute."""
        return self.attribute or self.name

    @property
    def answers(self) -> tuple[str, ...]:
        """The categories, groups and reasons that participants read, as texts."""
        asked = self.question
        of = asked.by if isinstance(asked, GroupMean) else asked.domain
        return (*(_listed(of) or ()), *self.missing)

    @property
    def unit_of_numbers(self) -> str:
        """The unit of what is estimated: squared for a variance, none for shares."""
        if isinstance(self.question, (Mean, GroupMean, Quantile, CircularMean)):
            return self.unit
        return f"{self.unit}²" if self.unit and isinstance(self.question, Variance) else ""

    def margin(self, half_width: float) -> str:
        """Half the width of an interval with its unit; that of a share in percentage points."""
        if self.question.noun.startswith("share"):
            return f"{100 * half_width:.3g} points"
        return f"{half_width:.3g} {self.unit_of_numbers}".rstrip()

    def text(self, language: str) -> str:
        """In a language, else in the first one; without any, the name."""
        found = dict(self.texts)
        return found.get(language) or next(iter(found.values()), self.name)

    def label(self, answer: object, language: str) -> str:
        """What a category, a group or a reason is called in a language; itself where nothing else is said."""
        return dict(dict(self.labels).get(language, ())).get(str(answer), str(answer))


def _texts(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str):
        given = {"en": given}
    items = tuple(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(items, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in items):
        raise ParameterError("The text of a question must be a text, or a table of texts by language.")
    for language, text in items:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise ParameterError("The texts of a question must be named by languages, such as en or de.")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise ParameterError(f"A text of a question must have 1 to {MAX_TEXT} characters.")
    return items


def _labels(given: object, answers: tuple[str, ...]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    if isinstance(given, Mapping):
        given = tuple((language, _items(each)) for language, each in given.items())
    if not isinstance(given, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in given):
        raise ParameterError("The labels of a question must be a table by language, each of labels by answer.")
    for language, each in given:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise ParameterError("The labels of a question must be named by languages, such as en or de.")
        if not isinstance(each, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in each):
            raise ParameterError("The labels of a question must be a table by language, each of labels by answer.")
        if any(answer not in answers for answer, _ in each):
            raise ParameterError("A label is for an answer that this question does not have.")
        if not all(isinstance(label, str) and label.strip() and len(label) <= MAX_TEXT for _, label in each):
            raise ParameterError(f"A label of an answer must have 1 to {MAX_TEXT} characters.")
    return given


def _items(given: object) -> object:
    return tuple(given.items()) if isinstance(given, Mapping) else given


def _reasons(given: object) -> tuple[str, ...]:
    reasons = tuple(given) if isinstance(given, (list, tuple)) else None
    if reasons is None or not all(isinstance(one, str) and one.strip() for one in reasons):
        raise ParameterError("The reasons for giving no answer must be a list of texts.")
    if len({*reasons}) < len(reasons):
        raise ParameterError("The reasons for giving no answer must differ.")
    return reasons


def _listed(domain: Domain) -> tuple[str, ...] | None:
    """The answers as texts, if they can be listed."""
    if isinstance(domain, Categories) or (isinstance(domain, Integers) and domain.size <= MOST_WHOLE):
        return tuple(map(str, domain.labels()))
    return None


def _whole(value: object) -> object:
    """3.0 is the whole number 3."""
    return int(value) if isinstance(value, float) else value


def _lowest(domain: Domain) -> object:
    """Any number of a domain: it does not count."""
    return getattr(domain, "low", 0)
