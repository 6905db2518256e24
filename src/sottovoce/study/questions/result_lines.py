"""Lines of a study's results: one number each, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.request import IntervalRequest, Target


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One number of the results."""

    measure: str
    label: str
    value: float
    std_error: float
    low: float
    high: float
    could_be: tuple[float, float] | None = None
    p_value: float = math.nan  # of a difference, adjusted for all that are compared
    left_out: tuple[tuple[str, str], ...] = ()  # attributes with answers that an association does not count

    @property
    def is_share(self) -> bool:
        """Whether the number is a share of the participants."""
        return self.measure.startswith("share")


def estimate_lines(estimate: Estimate, level: float, measure: str = "", *, named: bool = False) -> list[ResultLine]:
    """The values of an estimate with their intervals; a single value has no label, unless it is `named`."""
    low, high = estimate.quiet_ci(level)  # `StudyResults.doubts` says what speaks against them
    noun = measure or estimate.evidence.noun
    labels = [""] if len(estimate.values) == 1 and not named else estimate.axes.texts()
    labels = ["" if label == noun else label for label in labels]  # a circular mean is its own label
    columns = (estimate.values, estimate.std_errors, low, high)
    return [
        ResultLine(noun, label, float(value), float(error), float(least), float(most))
        for label, value, error, least, most in zip(labels, *columns, strict=True)
    ]


def evidence_lines(evidence: Evidence, level: float, measure: str) -> Iterator[ResultLine]:
    """The unbiased values of evidence with its own intervals."""
    low, high = evidence.interval(IntervalRequest(level, evidence.default))
    errors = np.sqrt(evidence.variances(Target.POPULATION))
    for label, value, error, least, most in zip(
        evidence.axes.texts(), evidence.values(), errors, low, high, strict=True
    ):
        yield ResultLine(measure, label, float(value), float(error), float(least), float(most))


def level_of_each(level: float, intervals: int) -> float:
    """The level of each of several intervals that hold together at a level."""
    return 1 - (1 - level) / intervals
