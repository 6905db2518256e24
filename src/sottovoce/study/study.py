"""A study: named questions with one budget, for whom it is, and what it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from sottovoce.core.asked import MAX_TEXT, NAME, Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import UNITS, Collection, StudyFacts
from sottovoce.core.params import check_epsilon, decimal_text
from sottovoce.core.question import Question
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.questions import study_question
from sottovoce.study.study_plan import StudyPlan, plan_study

MAX_QUESTIONS = 200
_CONTACT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|https://\S+")


@dataclass(frozen=True, slots=True)
class Study:
    """Named questions with one budget.

    Attributes:
        epsilon: of one participation: each participant is asked one of the questions, with all of it.
        lifetime: the most that all reports of a device lose together, where it may send several.
        unit: what the budget protects: a person, a device, or a single event.
        contact: of the data-protection officer, an address of mail or of a page.
        collection: how reports reach the collector.
        population: the answers that are expected, by question: plans and simulations use them where there are no data.
    """

    name: str
    epsilon: Decimal
    unit: str
    owner: str
    contact: str
    purpose: str
    questions: tuple[Asked, ...]
    lifetime: Decimal | None = None
    analysts: str = ""
    start: date | None = None
    end: date | None = None
    languages: tuple[str, ...] = ("en",)
    collection: Collection | None = None
    population: tuple[tuple[str, ExpectedAnswers], ...] = ()

    def __init__(
        self,
        name: str,
        *,
        epsilon: Any,
        unit: str,
        owner: str,
        contact: str,
        purpose: str,
        questions: Mapping[str, Question | Asked] | Sequence[Asked],
        lifetime: Any = None,
        analysts: str = "",
        start: date | None = None,
        end: date | None = None,
        languages: Sequence[str] = ("en",),
        collection: Collection | None = None,
        population: Mapping[str, ExpectedAnswers] | Sequence[tuple[str, ExpectedAnswers]] = (),
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ParameterError("The name of a study is made like that of a question, such as sleep-2027.")
        if unit not in UNITS:
            raise ParameterError(f"The unit of privacy must be one of {', '.join(UNITS)}.")
        for word, text in (("owner", owner), ("purpose", purpose)):
            if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
                raise ParameterError(f"The {word} of a study must be a text of 1 to {MAX_TEXT} characters.")
        if not isinstance(contact, str) or not _CONTACT.fullmatch(contact):
            raise ParameterError("The contact must be an address of mail, or of a page that begins with https://.")
        budget = check_epsilon("a study", epsilon)
        lifetime_budget = budget if lifetime is None else check_epsilon("a lifetime", lifetime)
        if lifetime_budget < budget:
            raise ParameterError("The lifetime budget must be at least the epsilon of one participation.")
        if start is not None and end is not None and end < start:
            raise ParameterError("A study must not end before it starts.")
        asked = _questions(questions)
        values: dict[str, Any] = {
            "name": name,
            "epsilon": budget,
            "unit": unit,
            "owner": owner,
            "contact": contact,
            "purpose": purpose,
            "questions": asked,
            "lifetime": lifetime_budget,
            "analysts": analysts,
            "start": start,
            "end": end,
            "languages": tuple(languages) or ("en",),
            "collection": collection,
            "population": _population(population, asked),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def question(self, name: str) -> Asked:
        """One of the questions."""
        for asked in self.questions:
            if asked.name == name:
                return asked
        raise ParameterError(f"The study has no such question. Known: {', '.join(one.name for one in self.questions)}.")

    def attribute(self, name: str) -> str:
        """The question under which the answers to this one are known."""
        return self.question(name).attribute or name

    def expected(self, name: str) -> ExpectedAnswers | None:
        """The answers that are expected of a question, if the study says so."""
        return dict(self.population).get(self.attribute(name))

    @property
    def facts(self) -> StudyFacts:
        """What its manifests say about it."""
        return StudyFacts(
            self.name,
            self.owner,
            self.contact,
            self.purpose,
            self.unit,
            self.epsilon,
            self.epsilon if self.lifetime is None else self.lifetime,
            self.analysts,
            None if self.start is None else self.start.isoformat(),
            None if self.end is None else self.end.isoformat(),
            self.languages,
            self.collection or Collection(),
        )

    def plan(self, participants: int, *, level: float = 0.95, priors: Mapping[str, Any] | None = None) -> StudyPlan:
        """The method, the share of the participants and the expected error of every question."""
        return plan_study(self, participants, level=level, priors=priors)

    def __str__(self) -> str:
        return f"{self.name}: {len(self.questions)} questions, epsilon {decimal_text(self.epsilon)} per {self.unit}"


def _questions(questions: Any) -> tuple[Asked, ...]:
    if isinstance(questions, Mapping):
        asked = tuple(one if isinstance(one, Asked) else Asked(name, one) for name, one in questions.items())
        if any(one.name != name for name, one in zip(questions, asked, strict=True)):
            raise ParameterError("The names of questions must be those under which they are given.")
    else:
        asked = tuple(questions)
    if not asked or not all(isinstance(one, Asked) for one in asked) or len(asked) > MAX_QUESTIONS:
        raise ParameterError(f"A study needs 1 to {MAX_QUESTIONS} questions.")
    if len({one.name for one in asked}) < len(asked):
        raise ParameterError("The names of the questions of a study must differ.")
    return tuple(_of_attribute(one, asked) for one in asked)


def _of_attribute(asked: Asked, others: Sequence[Asked]) -> Asked:
    """A question about the answer of another one has its texts, unit and labels, where it has none of its own."""
    if not asked.attribute:
        return asked
    first = next((one for one in others if one.name == asked.attribute and one is not asked), None)
    if first is None or first.attribute:
        raise ParameterError(
            f"The attribute of {asked.name} must be the name of another question, which has no attribute itself."
        )
    if first.question.domain != asked.question.domain or first.missing != asked.missing:
        raise ParameterError(
            f"The questions {first.name} and {asked.name} are about one attribute, so they have the same answers."
        )
    return replace(
        asked,
        texts=asked.texts or first.texts,
        unit=asked.unit or first.unit,
        labels=asked.labels or (first.labels if asked.answers == first.answers else ()),
    )


def _population(population: Any, questions: Sequence[Asked]) -> tuple[tuple[str, ExpectedAnswers], ...]:
    described = tuple(population.items()) if isinstance(population, Mapping) else tuple(population)
    known = {one.name: one for one in questions}
    for name, expected in described:
        if name not in known or known[name].attribute:
            raise ParameterError("A population describes the answers to questions of the study, each attribute once.")
        study_question(known[name]).check_population(expected)
    return described
