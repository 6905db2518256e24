"""Goals of a study in words: "hours +- 0.1", "smoker +- 2 points"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Cdf, Distribution, Frequency, Range
from sottovoce.study.study import Study

_FORM = re.compile(r"\s*([a-z][a-z0-9_-]*)\s*(?:\+-|\+/-|±)\s*([0-9]*\.?[0-9]+)\s*(points?|%)?\s*")


@dataclass(frozen=True, slots=True)
class StudyGoal:
    """Half the width of the interval of a question."""

    name: str
    half_width: Decimal


def read_goals(study: Study, texts: Sequence[str]) -> tuple[StudyGoal, ...]:
    """The goals of a study, one for a question at most."""
    found = [_read(study, text) for text in texts]
    if len({one.name for one in found}) < len(found):
        raise ParameterError("A question can have one goal.")
    return tuple(found)


def _read(study: Study, text: str) -> StudyGoal:
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ParameterError('A goal is a question and half the width of its interval, such as "hours +- 0.1".')
    asked, size = study.question(match[1]), Decimal(match[2])
    if match[3]:
        if not isinstance(asked.question, (Cdf, Distribution, Frequency, Range)):
            raise ParameterError(f"Points are for shares; {asked.name} is a {asked.question.noun}.")
        size /= 100
    if size <= 0:
        raise ParameterError(f"The goal of {asked.name} must be above 0.")
    return StudyGoal(asked.name, size)
