"""The mean direction on a circle in a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.question import CircularMean
from sottovoce.core.round import Estimates
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.base import WITHIN, StudyQuestion, Truth


@dataclass(frozen=True, slots=True)
class StudyCircularMean(StudyQuestion):
    """The circular mean, such as of a time of day."""

    keys: ClassVar[tuple[str, ...]] = ("period",)
    by_group: ClassVar[str] = WITHIN

    @classmethod
    def read(cls, table: QuestionTable) -> CircularMean | None:
        domain = table.circle()
        return None if domain is None else CircularMean(domain)

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        turns = 2 * np.pi * np.array([float(value) for value in column]) / self.period
        direction = math.atan2(float(np.sin(turns).mean()), float(np.cos(turns).mean()))
        return {(CircularMean.noun, ""): direction % (2 * math.pi) / (2 * math.pi) * self.period}

    @property
    def period(self) -> float:
        return float(self.question.domain.high)
