"""Goals of a study in words: "hours +- 0.1", "smoker +- 2 points"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.study.questions import study_question

_FORM = re.compile(r"\s*([a-z][a-z0-9_-]*)\s*(?:\+-|\+/-|±)\s*([0-9]*\.?[0-9]+)\s*(points?|%)?\s*")


@dataclass(frozen=True, slots=True)
class StudyGoal:
    """Half the width of the interval of a question."""

    name: str
    half_width: Decimal


def read_goals(question: Callable[[str], Asked], texts: Sequence[str]) -> tuple[StudyGoal, ...]:
    """The goals of a study, one for a question at most; `question` finds a question by its name."""
    goals = [_read(question, text) for text in texts]
    if len({one.name for one in goals}) < len(goals):
        raise ParameterError("A question can have one goal.")
    return tuple(goals)


def _read(question: Callable[[str], Asked], text: str) -> StudyGoal:
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ParameterError('A goal is a question and half the width of its interval, such as "hours +- 0.1".')
    asked = question(match[1])
    return StudyGoal(asked.name, study_question(asked).goal(Decimal(match[2]), points=bool(match[3])))
