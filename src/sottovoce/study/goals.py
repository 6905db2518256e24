"""Goals of a study in words: "hours +- 0.1", "smoker +- 2 points", "smoker differs by 4 points"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.study.questions import study_question

_FORM = re.compile(r"\s*([a-z][a-z0-9_-]*)\s*(\+-|\+/-|±|differs\s+by)\s*([0-9]*\.?[0-9]+)\s*(points?|%)?\s*")


@dataclass(frozen=True, slots=True)
class StudyGoal:
    """Half the width of the interval of a question."""

    name: str
    half_width: Decimal


def read_goals(
    question: Callable[[str], Asked],
    texts: Sequence[str],
    experiment: StudyExperiment | None = None,
    level: float = 0.95,
) -> tuple[StudyGoal, ...]:
    """The goals of a study, one for a question at most; `question` finds a question by its name."""
    goals = [_read(question, text, experiment, level) for text in texts]
    if len({one.name for one in goals}) < len(goals):
        raise ParameterError("A question can have one goal.")
    return tuple(goals)


def _read(question: Callable[[str], Asked], text: str, experiment: StudyExperiment | None, level: float) -> StudyGoal:
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ParameterError(
            'A goal is a question and half the width of its interval, such as "hours +- 0.1". In an experiment it may'
            ' be a difference between arms, such as "hours differs by 0.2".'
        )
    asked = question(match[1])
    size = study_question(asked).goal(Decimal(match[3]), points=bool(match[4]))
    if match[2].startswith("differs"):
        size = Decimal(f"{float(size) / _difference_of_one(asked, experiment, level):.6g}")
    return StudyGoal(asked.name, size)


def _difference_of_one(asked: Asked, experiment: StudyExperiment | None, level: float) -> float:
    """The difference between arms that is seen with a margin of 1 in the smallest arm."""
    if experiment is None:
        raise ParameterError(
            f"The goal of {asked.name} is a difference between arms, and the study has no [experiment]."
        )
    known = study_question(asked).compares_margins
    difference = experiment.smallest_difference(asked, 1.0, level) if known else None
    if difference is None:
        raise ParameterError(f"The plan gives no error of the differences of {asked.name}: ask for a mean or a median.")
    return difference
