"""A study: named questions with one budget, for whom it is, and what it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from sottovoce.core.asked import NAME, Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import UNITS, Collection, StudyFacts
from sottovoce.core.language.translated import MAX_TEXT, Texts, texts_by_language
from sottovoce.core.params import check_epsilon, check_integer, decimal_text
from sottovoce.core.question import Question
from sottovoce.study.experiments.arms import StudyExperiment, experiment_problems
from sottovoce.study.plan import MOST
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.questions import study_question
from sottovoce.study.repeats.repeated import invitation_problem, repeat_problems
from sottovoce.study.strata import Stratum
from sottovoce.study.study_plan import StudyPlan, plan_study

MAX_QUESTIONS = 200
_CONTACT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|https://\S+")


@dataclass(frozen=True, slots=True)
class Study:
    """Describe a study: named questions that share one privacy budget.

    Each participant is asked one of the questions, with the whole budget. Most people write a study file and call
    `read_study`.

    Attributes:
        name: A short name for files and addresses.
        epsilon: The privacy budget of one participation.
        unit: What the budget protects: "person", "device" or "event".
        owner: Who is responsible for the study.
        contact: The data-protection contact: an address of mail or of a page.
        purpose: What the study is for, in one sentence.
        questions: The questions, as `Asked`.
        lifetime: The largest loss of all reports of a device together, where it may send several.
        analysts: Who analyses the results.
        start: The first day.
        end: The last day.
        languages: The languages of the participant's page.
        collection: How reports reach the collector.
        population: The expected answers, by question. Plans and simulations use them where there are no data.
        title: The title for readers; empty where the name is used.
        translations: The title and the purpose in further languages.
        participants: How many people are expected, where the study says so.
        strata: The public strata, each with its number of people, where results are weighted by them.
        stratum: The stratum that this study asks, where it is one of several.
        experiment: The arms of an experiment, where participants are shown different texts.
        in_rounds: The names of the questions for quantiles that are asked in five rounds, by `QuantileRounds`.
        repeat: How the study is repeated; `epsilon` then bounds all reports of a person within one window of waves.

    Examples:
        >>> smokes = sv.Asked("smokes", sv.Frequency(sv.Categories(["yes", "no"])), texts="Do you smoke?")
        >>> study = sv.Study("health", epsilon=1, unit="person", owner="Institute", contact="dpo@example.org",
        ...                  purpose="Plan courses.", questions=[smokes])
        >>> print(study)
        health: 1 questions, epsilon 1 per person

    See also:
        `read_study` reads a study file, `plan_study` plans it.
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
    title: str = ""
    translations: tuple[tuple[str, Texts], ...] = ()
    participants: int | None = None
    strata: tuple[Stratum, ...] = ()
    stratum: str = ""
    experiment: StudyExperiment | None = None
    in_rounds: tuple[str, ...] = ()
    repeat: Repeat | None = None

    def __init__(
        self,
        name: str,
        *,
        epsilon: Any,
        unit: str,
        owner: str,
        contact: str,
        purpose: str | Mapping[str, str],
        questions: Mapping[str, Question | Asked] | Sequence[Asked],
        lifetime: Any = None,
        analysts: str = "",
        start: date | None = None,
        end: date | None = None,
        languages: Sequence[str] = ("en",),
        collection: Collection | None = None,
        population: Mapping[str, ExpectedAnswers] | Sequence[tuple[str, ExpectedAnswers]] = (),
        title: str | Mapping[str, str] = "",
        translations: Sequence[tuple[str, Texts]] = (),
        participants: int | None = None,
        strata: Sequence[Stratum] = (),
        stratum: str = "",
        experiment: StudyExperiment | None = None,
        in_rounds: Sequence[str] = (),
        repeat: Repeat | None = None,
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ParameterError("The name of a study is made like that of a question, such as sleep-2027.")
        if unit not in UNITS:
            raise ParameterError(f"The unit of privacy must be one of {', '.join(UNITS)}.")
        if not isinstance(owner, str) or not owner.strip() or len(owner) > MAX_TEXT:
            raise ParameterError(f"The owner of a study must be a text of 1 to {MAX_TEXT} characters.")
        languages = tuple(languages) or ("en",)
        spoken = {"purpose": _spoken("purpose", purpose, languages)}
        if title:
            spoken["title"] = _spoken("title", title, languages)
        further = {key: texts[1:] for key, texts in spoken.items() if texts[1:]}
        if not isinstance(contact, str) or not _CONTACT.fullmatch(contact):
            raise ParameterError("The contact must be an address of mail, or of a page that begins with https://.")
        budget = check_epsilon("a study", epsilon)
        if repeat is not None:
            several = bool(strata) or experiment is not None or bool(in_rounds)
            for problem in repeat_problems(unit, start, end, lifetime, collection, has_parts=several):
                raise ParameterError(problem)
            if (tokens := invitation_problem(repeat, collection)) is not None:
                raise ParameterError(tokens)
            assert start is not None
            end, lifetime = repeat.end(start), repeat.lifetime(budget)
        lifetime_budget = budget if lifetime is None else check_epsilon("a lifetime", lifetime)
        if lifetime_budget < budget:
            raise ParameterError("The lifetime budget must be at least the epsilon of one participation.")
        if start is not None and end is not None and end < start:
            raise ParameterError("A study must not end before it starts.")
        if participants is not None:
            check_integer("participants", "a study", participants, 1, MOST)
        if stratum:
            name, spoken = _in_stratum(name, spoken, strata, stratum)
            further = {key: texts[1:] for key, texts in spoken.items() if texts[1:]}
        asked = _questions(questions)
        if experiment is not None:
            for problem in experiment_problems(unit, asked, has_clusters=any(one.cluster_of for one in strata)):
                raise ParameterError(problem)
        values: dict[str, Any] = {
            "name": name,
            "epsilon": budget,
            "unit": unit,
            "owner": owner,
            "contact": contact,
            "purpose": spoken["purpose"][0][1],
            "questions": asked,
            "lifetime": lifetime_budget,
            "analysts": analysts,
            "start": start,
            "end": end,
            "languages": languages,
            "collection": collection,
            "population": _population(population, asked),
            "title": spoken["title"][0][1] if "title" in spoken else "",
            "translations": tuple(sorted((dict(translations) | further).items())),
            "participants": participants,
            "strata": tuple(strata),
            "stratum": stratum,
            "experiment": experiment,
            "in_rounds": _in_rounds(in_rounds, asked, has_strata=bool(strata)),
            "repeat": repeat,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def family(self) -> str:
        """The name of the study file, without that of a stratum."""
        return self.name.removesuffix(f"-{self.stratum}") if self.stratum else self.name

    @property
    def in_one_round(self) -> list[Asked]:
        """The questions that are asked in one round."""
        return [asked for asked in self.questions if asked.name not in self.in_rounds]

    def question(self, name: str) -> Asked:
        """Return one of the questions.

        Args:
            name: The name of the question.

        Returns:
            The question as `Asked`.
        """
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
            self.title,
            self.translations,
            () if self.experiment is None else self.experiment.arms,
            repeat=self.repeat,
        )

    def plan(self, participants: int, *, level: float = 0.95, priors: Mapping[str, Any] | None = None) -> StudyPlan:
        """Plan the method, the share of the participants and the expected error of every question.

        Args:
            participants: How many people take part.
            level: The level of intervals.
            priors: The expected answers by question. Default: the population of the study.

        Returns:
            A plan, as `plan_study` gives it.
        """
        return plan_study(self, participants, level=level, priors=priors)

    def __str__(self) -> str:
        arms = "" if self.experiment is None else f", {len(self.experiment.arms)} arms"
        return (
            f"{self.name}: {len(self.questions)} questions{arms}, epsilon {decimal_text(self.epsilon)} per {self.unit}"
        )


def _spoken(key: str, text: object, languages: Sequence[str]) -> Texts:
    """The title or the purpose by language; the first language of the study is the first."""
    texts = {languages[0]: text} if isinstance(text, str) else text
    pairs = dict(texts_by_language(texts, f"{key} of a study"))
    if languages[0] not in pairs or not {*pairs} <= {*languages}:
        raise ParameterError(f"The {key} of a study must be in its languages, at least in {languages[0]}.")
    return tuple((language, pairs[language]) for language in languages if language in pairs)


def _in_stratum(
    name: str, spoken: Mapping[str, Texts], strata: Sequence[Stratum], stratum: str
) -> tuple[str, dict[str, Texts]]:
    """The name and the title of the study of one stratum: participants read to which one they belong."""
    own = next((one for one in strata if one.name == stratum), None)
    if own is None:
        raise ParameterError("The stratum of a study must be one of its strata.")
    title = spoken.get("title") or tuple((language, name) for language, _ in spoken["purpose"])
    titles = tuple((language, f"{text} ({own.label(language)})") for language, text in title)
    named = f"{name}-{stratum}"
    if not NAME.fullmatch(named):
        raise ParameterError("The names of a study and of its stratum have at most 39 characters together.")
    return named, {**spoken, "title": titles}


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


def _in_rounds(names: Sequence[str], questions: Sequence[Asked], *, has_strata: bool) -> tuple[str, ...]:
    """The names of questions that a search in rounds can answer."""
    known = {one.name: one for one in questions}
    for name in names:
        asked = known.get(name)
        if asked is None or not study_question(asked).takes_rounds:
            raise ParameterError(
                "Questions in rounds must be questions of the study for quantiles, without reasons for no answer."
            )
        if has_strata:
            raise ParameterError(
                f"The quantiles of {name} are not combined over strata when they are asked in rounds: ask in one round."
            )
    return tuple(names)


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
        units=asked.units or first.units,
        labels=asked.labels or (first.labels if asked.answers == first.answers else ()),
        group_texts=asked.group_texts or first.group_texts,
    )


def _population(population: Any, questions: Sequence[Asked]) -> tuple[tuple[str, ExpectedAnswers], ...]:
    described = tuple(population.items()) if isinstance(population, Mapping) else tuple(population)
    known = {one.name: one for one in questions}
    for name, expected in described:
        if name not in known or known[name].attribute:
            raise ParameterError("A population describes the answers to questions of the study, each attribute once.")
        study_question(known[name]).check_population(expected)
    return described
