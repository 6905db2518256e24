"""Shares of intervals in a study: what the kinds of such questions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.round import Estimates
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate


@dataclass(frozen=True, slots=True)
class StudyIntervalShares(StudyQuestion):
    """Shares of the intervals that `IntervalQuestion.intervals` names."""

    shares_report: ClassVar[bool] = True

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        question, estimate = self.question, first_estimate(estimates)
        if estimate is None:
            return {}
        at = _places(question.domain, column)
        return {
            (question.noun, str(label)): float(_inside(question.domain, at, *interval).mean())
            for label, interval in zip(estimate.labels, question.intervals(), strict=True)
        }


def _inside(domain: Domain, at: np.ndarray, first: Any, last: Any) -> np.ndarray:
    """Whether places are in an interval; on a circle it may reach over the end."""
    (high,) = _places(domain, [last])
    low = -np.inf if first is None else _places(domain, [first])[0]
    return np.asarray((low <= at) & (at <= high) if low <= high else (low <= at) | (at <= high))


def _places(domain: Domain, values: Sequence[Any]) -> np.ndarray:
    """Values as numbers that compare as they do: categories by their place in the list."""
    is_listed = domain.numbers is None and domain.size is not None
    return np.array([float(domain.encode(value) if is_listed else value) for value in values])
