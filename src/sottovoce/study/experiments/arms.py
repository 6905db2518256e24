"""An experiment in a study: public arms that show participants different texts, and how many people each has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scipy.special import ndtri

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.experiment import ExperimentArm, check_arms
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group_mean.contrasts import power_at
from sottovoce.study.detect import POWER
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.population_tables import PopulationTables
from sottovoce.study.question_tables import Notes
from sottovoce.study.questions import study_question

TABLE = "experiment"
KEYS = ("share", "text", "population")
REMEDY = 'Write [experiment.NAME] for each arm, the usual one first, with text = "What its participants read."'
Population = tuple[tuple[str, ExpectedAnswers], ...]


@dataclass(frozen=True, slots=True)
class StudyExperiment:
    """The arms of an experiment. The first is the one that all others are compared with.

    Attributes:
        arms: The arms, with their shares and texts.
        populations: By arm, the expected answers that differ from those of the study.
    """

    arms: tuple[ExperimentArm, ...]
    populations: tuple[tuple[str, Population], ...] = ()

    def __post_init__(self) -> None:
        check_arms(self.arms)

    @property
    def baseline(self) -> ExperimentArm:
        """The arm that all others are compared with."""
        return self.arms[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arms."""
        return tuple(arm.name for arm in self.arms)

    def part(self, arm: ExperimentArm) -> Fraction:
        """The part of all participants who are in an arm."""
        return Fraction(arm.share, sum(one.share for one in self.arms))

    @property
    def smallest(self) -> Fraction:
        """The part of all participants who are in the smallest arm."""
        return min(map(self.part, self.arms))

    def expected(self, arm: str, population: Population) -> dict[str, ExpectedAnswers]:
        """The expected answers in an arm, by question."""
        return {**dict(population), **dict(dict(self.populations).get(arm, ()))}

    # --- what it can see -------------------------------------------------------------------------
    def test_level(self, asked: Asked, level: float) -> float | None:
        """The level of one comparison, so that all values and arms of a question hold together; None if not known."""
        values = study_question(asked).compared_values
        return None if values is None else 1 - (1 - level) / ((len(self.arms) - 1) * values)

    def difference_error(self, half_width: float, level: float) -> float:
        """The largest standard error of a difference from the first arm, by the margin of the smallest arm."""
        sizes = [self.smallest / self.part(arm) + self.smallest / self.part(self.baseline) for arm in self.arms[1:]]
        return half_width / deviate(level) * math.sqrt(max(sizes))

    def smallest_difference(self, asked: Asked, half_width: float, level: float) -> float | None:
        """The smallest difference from the first arm that is seen with power 0.8; None if not known."""
        test_level = self.test_level(asked, level)
        if test_level is None:
            return None
        return self.difference_error(half_width, level) * (deviate(test_level) + float(ndtri(POWER)))

    def power_of_half(self, asked: Asked, level: float) -> float:
        """The probability that half of the smallest difference is seen."""
        test_level = self.test_level(asked, level)
        return math.nan if test_level is None else power_at((deviate(test_level) + float(ndtri(POWER))) / 2, test_level)


def experiment_problems(unit: object, questions: Sequence[Asked], *, has_clusters: bool) -> Iterator[str]:
    """Why the arms of a study could not be compared as different people, a sentence each."""
    if unit == "event":
        yield 'An experiment compares different people: write unit = "person" or unit = "device".'
    if has_clusters:
        yield "Arms share clusters, so that they are not independent: remove cluster_of or the experiment."
    for asked in questions:
        if not asked.question.has_differences:
            yield (
                f"The question {asked.name} asks for a {asked.question.noun}, which cannot be compared between arms:"
                ' write ask = "distribution" instead.'
            )


def read_experiment(
    tables: Any, languages: Sequence[str], questions: Sequence[Asked], notes: Notes
) -> StudyExperiment | None:
    """The experiment of the tables [experiment.NAME]; every mistake is noted."""
    if not isinstance(tables, Mapping):
        notes.note((TABLE,), "The experiment is not a table.", REMEDY)
        return None
    arms, populations = [], []
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            notes.note((TABLE, name), "This arm is not a table.", REMEDY)
            continue
        notes.unknown((TABLE, name), table, KEYS, "key")
        texts = _texts(name, table.get("text", ()), languages, notes)
        try:
            arms.append(ExperimentArm(name, table.get("share", 1), () if texts is None else texts))
        except ParameterError as problem:
            key = [problem.parameter] if problem.parameter in table else []
            notes.note((TABLE, name, *key), str(problem), REMEDY)
        expected = PopulationTables(table.get("population", {}), questions, _Within(notes, (TABLE, name))).population()
        populations.append((name, tuple(expected.items())))
    try:
        return StudyExperiment(tuple(arms), tuple(one for one in populations if one[1]))
    except ParameterError as problem:
        notes.note((TABLE,), str(problem), REMEDY)
        return None


def _texts(name: str, text: Any, languages: Sequence[str], notes: Notes) -> tuple[tuple[str, str], ...] | None:
    """The text of an arm in all languages of the study, or none."""
    if isinstance(text, str) and len(languages) == 1:
        text = {languages[0]: text}
    if text == ():
        return ()
    if not isinstance(text, Mapping) or {*text} != {*languages}:
        inside = ", ".join(f'{one} = "..."' for one in languages)
        example = f"text = {{ {inside} }}" if len(languages) > 1 else 'text = "..."'
        notes.note((TABLE, name, "text"), "The text is not in all languages of the study.", f"Write {example}.")
        return None
    return tuple((language, text[language]) for language in languages)


@dataclass(frozen=True, slots=True)
class _Within:
    """Notes about tables inside another table."""

    notes: Notes
    path: tuple[str, ...]

    def note(self, path: tuple[str, ...], what: str, remedy: str) -> None:
        self.notes.note((*self.path, *path), what, remedy)

    def unknown(self, path: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str], word: str) -> None:
        self.notes.unknown((*self.path, *path), table, known, word)
