"""Results of a study: one table of all estimates, with what the missing answers could hide.

The table of a simulation and that of the real study have the same columns, so that the analysis can be written first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.core.asked import ANSWERED, Asked
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Cdf, Distribution, GroupMean, Mean
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.expected import cumulative
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence, most_excess
from sottovoce.study.planners.distribution import READINGS
from sottovoce.study.sharing import READ
from sottovoce.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("study", "question", "measure", "label", "estimate", "std_error", "low", "high", "level"),
    *("could_be_low", "could_be_high", "n", "epsilon", "method", "simulated"),
)


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


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The estimates of one question."""

    asked: Asked
    estimates: Estimates

    def lines(self, level: float) -> Iterator[ResultLine]:
        """Every number of the question; of a number with reasons the mean of those who answered, and the reasons."""
        for name, estimate in self.estimates.items():
            if not isinstance(estimate, Estimate):
                continue
            if isinstance(self.asked.question, Distribution):
                yield from _of_distribution(estimate, level)
            elif self.asked.missing and isinstance(self.asked.question, Mean):
                yield from self._mean_of_answered(estimate, level)
            elif self.asked.missing and not isinstance(self.asked.question, GroupMean):
                yield from self._shares_with_reasons(estimate, level)
            else:
                named = isinstance(self.asked.question, READINGS)
                yield from _plain(estimate, level, "" if len(self.estimates) == 1 else name, named=named)

    def _mean_of_answered(self, estimate: Estimate, level: float) -> Iterator[ResultLine]:
        shares = estimate.shares
        answered = list(estimate.labels).index(ANSWERED)
        (mean,) = (line for place, line in enumerate(_plain(estimate, level)) if place == answered)
        domain: Any = self.asked.question.domain
        # Two intervals that hold together: of the mean of those who answered, and of how many they are.
        apart = _apart(level, 2)
        ends = np.clip([one[answered] for one in estimate.quiet_ci(apart)], float(domain.low), float(domain.high))
        silent = float(np.clip(1 - shares.quiet_ci(apart)[0][answered], 0, 1))
        could = [
            (1 - silent) * mine + silent * float(end) for mine, end in zip(ends, (domain.low, domain.high), strict=True)
        ]
        yield ResultLine("mean", "", mean.value, mean.std_error, mean.low, mean.high, (could[0], could[1]))
        yield from _plain(shares, level, "share")

    def _shares_with_reasons(self, estimate: Estimate, level: float) -> Iterator[ResultLine]:
        """A share among all lies between the share that was given and that share plus all who gave none."""
        reasons = {*self.asked.missing}
        apart = _plain(estimate, _apart(level, 1 + len(reasons)))
        silent = sum(max(0.0, line.high) for line in apart if line.label in reasons)
        for line, wide in zip(_plain(estimate, level), apart, strict=True):
            could = (max(0.0, wide.low), min(1.0, wide.high + silent))
            spare = None if line.label in reasons else could
            yield ResultLine(line.measure, line.label, line.value, line.std_error, line.low, line.high, spare)


@dataclass(frozen=True, slots=True)
class StudyResults:
    """All estimates of a study.

    Attributes:
        reports: how many reports were counted; several questions may be answered from one report.
    """

    study: Study
    questions: tuple[QuestionResult, ...]
    reports: int
    level: float = 0.95

    def __getitem__(self, name: str) -> QuestionResult:
        self.study.question(name)
        return next(one for one in self.questions if one.asked.name == name)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Which intervals may miss more often than they promise, and why: a sentence for each question."""
        found = {
            f"{one.asked.name}: {doubt}": None
            for one in self.questions
            for estimate in one.estimates.values()
            if isinstance(estimate, Estimate)
            for doubt in [_doubt(one.asked, estimate, self.level)]
            if doubt is not None
        }
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """The table that is exported."""
        import pandas as pd

        return pd.DataFrame([row for one in self.questions for row in self._rows(one)], columns=list(COLUMNS))

    def _rows(self, result: QuestionResult) -> Iterator[dict[str, Any]]:
        first = next((one for one in result.estimates.values() if isinstance(one, Estimate)), None)
        for line in result.lines(self.level):
            could = line.could_be or (math.nan, math.nan)
            yield {
                "study": self.study.name,
                "question": result.asked.name,
                "measure": line.measure,
                "label": line.label,
                "estimate": line.value,
                "std_error": line.std_error,
                "low": line.low,
                "high": line.high,
                "level": self.level,
                "could_be_low": could[0],
                "could_be_high": could[1],
                "n": 0 if first is None else first.n,
                "epsilon": decimal_text(self.study.epsilon),
                "method": "" if first is None else " and ".join(dict.fromkeys(s.mechanism.name for s in first.sources)),
                "simulated": first is not None and first.simulated,
            }


def results_of(
    study: Study, report_names: Mapping[str, str], estimates: Estimates, level: float, *, reports: int
) -> StudyResults:
    """The results of a study, in simulation and in earnest; `report_names` has the report of each question."""
    found = []
    for asked in study.questions:
        report = report_names[asked.name]
        begin = f"{report}: "
        own = {
            name.removeprefix(begin): estimate
            for name, estimate in estimates.items()
            if name == report or name.startswith(begin)
        }
        if own:
            found.append(QuestionResult(asked, _answered(asked, own)))
    return StudyResults(study, tuple(found), reports, level)


def _answered(asked: Asked, estimates: Mapping[str, Any]) -> Estimates:
    """What was asked, read from the report of a distribution where it is one."""
    if not isinstance(asked.question, (*READ, *READINGS)):
        return dict(estimates)
    return {
        asked.name if _is_distribution(estimate) else name: (
            estimate.answer(asked.question) if _is_distribution(estimate) else estimate
        )
        for name, estimate in estimates.items()
    }


def _is_distribution(estimate: object) -> bool:
    return isinstance(estimate, Estimate) and isinstance(estimate.evidence, DistributionEvidence)


def _of_distribution(estimate: Estimate, level: float) -> Iterator[ResultLine]:
    """The share of each bucket, and the share of all answers up to its end where answers have an order."""
    labels = estimate.axes.texts()
    yield from _lines(estimate.evidence, level, estimate.evidence.noun, labels)
    found = estimate.evidence
    if isinstance(found, DistributionEvidence) and not found.circular:
        curve = cumulative(found)
        yield from _lines(curve, level, Cdf.noun, curve.axes.texts())


def _apart(level: float, intervals: int) -> float:
    """The level of each of several intervals that hold together at a level."""
    return 1 - (1 - level) / intervals


def _doubt(asked: Asked, estimate: Estimate, level: float) -> str | None:
    """What speaks against the intervals of `lines`, which are those of the evidence for a distribution."""
    found = estimate.evidence
    if isinstance(asked.question, Distribution):
        return found.doubt(found.default, level, most_excess(level))
    return estimate.doubt(level)


def _lines(found: Evidence, level: float, measure: str, labels: list[str]) -> Iterator[ResultLine]:
    low, high = found.interval(level, found.default, "population")
    errors = np.sqrt(found.variances("population"))
    for label, value, error, least, most in zip(labels, found.values(), errors, low, high, strict=True):
        yield ResultLine(measure, label, float(value), float(error), float(least), float(most))


def _plain(estimate: Estimate, level: float, measure: str = "", *, named: bool = False) -> list[ResultLine]:
    low, high = estimate.quiet_ci(level)  # `StudyResults.doubts` says what speaks against them
    noun = measure or estimate.evidence.noun
    labels = [""] if len(estimate.values) == 1 and not named else estimate.axes.texts()
    columns = (estimate.values, estimate.std_errors, low, high)
    return [
        ResultLine(noun, label, float(value), float(error), float(least), float(most))
        for label, value, error, least, most in zip(labels, *columns, strict=True)
    ]
