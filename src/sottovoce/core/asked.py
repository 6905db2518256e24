"""A question of a study: named, with its texts, and with reasons for giving no answer (`core/question/reasons.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question
from sottovoce.core.question.reasons import listed_answers

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_TEXT = 2000
MAX_SHARE = 1000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")


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
        self.full_question  # noqa: B018  (refuses reasons that the question cannot have)

    @property
    def full_question(self) -> Question:
        """The question with the reasons for giving no answer among the answers."""
        if not self.missing:
            return self.question
        if not self.question.takes_reasons:
            raise ParameterError(no_reasons(self.question), parameter="missing")
        return self.question.with_reasons(self.missing)

    def answer(self, value: object) -> Any:
        """What the domain of the full question takes for an answer or a reason."""
        if not self.missing:
            return value
        return self.question.answer(value, value if isinstance(value, str) and value in self.missing else None)

    @property
    def key(self) -> str:
        """The name under which a participant's answer is given: once for all questions about one attribute."""
        return self.attribute or self.name

    @property
    def answers(self) -> tuple[str, ...]:
        """The categories, groups and reasons that participants read, as texts."""
        return (*(listed_answers(self.question.choices) or ()), *self.missing)

    @property
    def unit_of_numbers(self) -> str:
        """The unit of what is estimated: squared for a variance, none for shares."""
        power = self.question.unit_power
        return f"{self.unit}{'²' if power > 1 else ''}" if self.unit and power else ""

    def margin(self, half_width: float) -> str:
        """Half the width of an interval with its unit; that of a share in percentage points."""
        if self.question.is_share:
            return f"{100 * half_width:.3g} points"
        return f"{half_width:.3g} {self.unit_of_numbers}".rstrip()

    def text(self, language: str) -> str:
        """The text in a language, else in the first one; without texts, the name."""
        texts = dict(self.texts)
        return texts.get(language) or next(iter(texts.values()), self.name)

    def label(self, answer: object, language: str) -> str:
        """What a category, a group or a reason is called in a language; itself where nothing else is said."""
        return dict(dict(self.labels).get(language, ())).get(str(answer), str(answer))


def no_reasons(question: Question) -> str:
    """The sentence about reasons for giving no answer where a question cannot have any."""
    return f"This question of kind {question.kind} cannot have reasons for giving no answer."


def _texts(texts: object) -> tuple[tuple[str, str], ...]:
    if isinstance(texts, str):
        texts = {"en": texts}
    items = tuple(texts.items()) if isinstance(texts, Mapping) else texts
    if not isinstance(items, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in items):
        raise ParameterError("The text of a question must be a text, or a table of texts by language.")
    for language, text in items:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise ParameterError("The texts of a question must be named by languages, such as en or de.")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise ParameterError(f"A text of a question must have 1 to {MAX_TEXT} characters.")
    return items


def _labels(labels: object, answers: tuple[str, ...]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    if isinstance(labels, Mapping):
        labels = tuple((language, _items(by_answer)) for language, by_answer in labels.items())
    if not isinstance(labels, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in labels):
        raise ParameterError(
            "The labels of a question must be a table by language, each of labels by answer.", parameter="labels"
        )
    for language, by_answer in labels:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise ParameterError(
                "The labels of a question must be named by languages, such as en or de.", parameter="labels"
            )
        if not isinstance(by_answer, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in by_answer):
            raise ParameterError(
                "The labels of a question must be a table by language, each of labels by answer.", parameter="labels"
            )
        if any(answer not in answers for answer, _ in by_answer):
            raise ParameterError("A label is for an answer that this question does not have.", parameter="labels")
        if not all(isinstance(label, str) and label.strip() and len(label) <= MAX_TEXT for _, label in by_answer):
            raise ParameterError(f"A label of an answer must have 1 to {MAX_TEXT} characters.", parameter="labels")
    return labels


def _items(table: object) -> object:
    return tuple(table.items()) if isinstance(table, Mapping) else table


def _reasons(missing: object) -> tuple[str, ...]:
    reasons = tuple(missing) if isinstance(missing, (list, tuple)) else None
    if reasons is None or not all(isinstance(one, str) and one.strip() for one in reasons):
        raise ParameterError("The reasons for giving no answer must be a list of texts.", parameter="missing")
    if len({*reasons}) < len(reasons):
        raise ParameterError("The reasons for giving no answer must differ.", parameter="missing")
    return reasons
