"""A question of a study: named, with its texts, and with reasons for giving no answer (`core/domain/reasons.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.core.domain.reasons import listed_answers
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.translated import MAX_TEXT, Texts, texts_by_language
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question

_NO_LABELS = "The labels of a question must be a table by language, each of labels by answer."
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_SHARE = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """Describe one question of a study: what is estimated, and what participants read.

    Attributes:
        name: A short name for files and programs.
        question: What is estimated, such as `Mean(Interval(0, 14))`.
        texts: What participants read, by language; a text alone is English.
        missing: Reasons for giving no answer, such as "don't know".
        share: The relative number of participants who are asked this question.
        unit: The unit of a number, such as "hours".
        units: The unit in further languages.
        attribute: The name of another question about the same answer of a person; empty if there is none.
        labels: What people read instead of a category, a group, a reason or the name of an attribute, by language.
        group_texts: What participants read above the groups, by language.
        attribute_texts: What participants read for each attribute of a table: texts by language, by its name.

    Examples:
        >>> sleep = sv.Asked("sleep", sv.Mean(sv.Interval(0, 14)), texts="How long did you sleep?", unit="hours")
        >>> sleep.text("en")
        'How long did you sleep?'

    See also:
        `Study` holds several questions.
    """

    name: str
    question: Question
    texts: Texts = ()
    missing: tuple[str, ...] = ()
    share: int = 1
    unit: str = ""
    attribute: str = ""
    labels: tuple[tuple[str, Texts], ...] = ()
    units: Texts = ()
    group_texts: Texts = ()
    attribute_texts: tuple[tuple[str, Texts], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError(
                "The name of a question must begin with a small letter and have at most 40 small letters, digits,"
                " hyphens and underscores."
            )
        if not isinstance(self.question, Question):
            raise ParameterError("A question of a study must be a question, such as Mean(Interval(0, 14)).")
        texts = {"en": self.texts} if isinstance(self.texts, str) else self.texts
        object.__setattr__(self, "texts", texts_by_language(texts, "text of a question"))
        object.__setattr__(self, "units", texts_by_language(self.units, "unit of a question", "unit"))
        object.__setattr__(self, "group_texts", texts_by_language(self.group_texts, "by_text of a question", "by_text"))
        object.__setattr__(self, "attribute_texts", _attribute_texts(self.attribute_texts, self.attributes))
        object.__setattr__(self, "missing", _reasons(self.missing))
        check_integer("share", "a question", self.share, 1, MAX_SHARE)
        if self.attribute and not NAME.fullmatch(self.attribute):
            raise ParameterError("The attribute of a question must be the name of another question.")
        object.__setattr__(self, "labels", _labels(self.labels, (*self.answers, *self.attributes)))
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
        lists = (listed_answers(one) or () for one in self.question.answer_lists)
        return (*dict.fromkeys(answer for answers in lists for answer in answers), *self.missing)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes of a table; empty for other questions."""
        return tuple(name for name, _ in self.question.domain.fields)

    def attribute_text(self, name: str, language: str) -> str:
        """The text of an attribute of a table in a language, else in the first one; without texts, its name."""
        texts = dict(dict(self.attribute_texts).get(name, ()))
        return texts.get(language) or next(iter(texts.values()), name)

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

    def group_text(self, language: str) -> str:
        """The text above the groups in a language, else in the first one; empty where the study has none."""
        texts = dict(self.group_texts)
        return texts.get(language) or next(iter(texts.values()), "")

    def unit_in(self, language: str) -> str:
        """The unit in a language; as the study file has it where it is not translated."""
        return dict(self.units).get(language, self.unit)

    def label(self, answer: object, language: str) -> str:
        """What a category, a group or a reason is called in a language; itself where nothing else is said."""
        return dict(dict(self.labels).get(language, ())).get(str(answer), str(answer))


def _attribute_texts(texts: object, known: tuple[str, ...]) -> tuple[tuple[str, Texts], ...]:
    """The texts of each attribute, whose names are those of the question."""
    tables = tuple(texts.items()) if isinstance(texts, Mapping) else texts
    pairs = isinstance(tables, tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in tables)
    if not isinstance(tables, tuple) or not pairs or any(name not in known for name, _ in tables):
        raise ParameterError("The texts of attributes must be a table by the names of the attributes of the question.")
    return tuple((name, texts_by_language(one, "text of an attribute")) for name, one in tables)


def no_reasons(question: Question) -> str:
    """The sentence about reasons for giving no answer where a question cannot have any."""
    return f"`missing` is not supported for questions of kind {question.kind}."


def _labels(labels: object, answers: tuple[str, ...]) -> tuple[tuple[str, Texts], ...]:
    tables = tuple(labels.items()) if isinstance(labels, Mapping) else labels
    if not isinstance(tables, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in tables):
        raise ParameterError(_NO_LABELS, parameter="labels")
    pairs = tuple((language, _label_pairs(by_answer, answers)) for language, by_answer in tables)
    texts_by_language(tuple((language, "label") for language, _ in pairs), "labels of a question", "labels")
    return pairs


def _label_pairs(by_answer: object, answers: tuple[str, ...]) -> Texts:
    """Answers and labels of one language."""
    pairs = tuple(by_answer.items()) if isinstance(by_answer, Mapping) else by_answer
    if not isinstance(pairs, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in pairs):
        raise ParameterError(_NO_LABELS, parameter="labels")
    if any(answer not in answers for answer, _ in pairs):
        raise ParameterError(
            "A label is for an answer or an attribute that this question does not have.", parameter="labels"
        )
    if not all(isinstance(label, str) and label.strip() and len(label) <= MAX_TEXT for _, label in pairs):
        raise ParameterError(f"A label of an answer must have 1 to {MAX_TEXT} characters.", parameter="labels")
    return pairs


def _reasons(missing: object) -> tuple[str, ...]:
    reasons = tuple(missing) if isinstance(missing, (list, tuple)) else None
    if reasons is None or not all(isinstance(one, str) and one.strip() for one in reasons):
        raise ParameterError("The reasons for giving no answer must be a list of texts.", parameter="missing")
    if len({*reasons}) < len(reasons):
        raise ParameterError("The reasons for giving no answer must differ.", parameter="missing")
    return reasons
