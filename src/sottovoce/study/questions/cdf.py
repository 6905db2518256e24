"""Shares of answers up to some points in a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.question import Cdf
from sottovoce.core.round import Estimates
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate


@dataclass(frozen=True, slots=True)
class StudyCdf(StudyQuestion):
    """The share of the answers up to each point."""

    keys: ClassVar[tuple[str, ...]] = ("points", *RANGE)
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Cdf | None:
        domain = table.numbers()
        return None if domain is None else table.built("points", lambda: Cdf(domain, table.table.get("points", ())))

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        domain, estimate = self.question.domain, first_estimate(estimates)
        at, points = places_of(domain, column), places_of(domain, self.question.points)
        labels = [] if estimate is None else [str(label) for label in estimate.labels]
        return {(Cdf.noun, label): float((at <= point).mean()) for label, point in zip(labels, points, strict=False)}


def places_of(domain: Domain, values: Sequence[Any]) -> np.ndarray:
    """Values as numbers that compare as they do: categories by their place in the list."""
    is_listed = domain.numbers is None and domain.size is not None
    return np.array([float(domain.encode(value) if is_listed else value) for value in values])
