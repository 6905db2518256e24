"""Arms of an experiment compared: the differences of every question from the first arm, with their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.errors import SottovoceError
from sottovoce.estimate.comparison.compare import Comparison, compare
from sottovoce.estimate.comparison.test import Test
from sottovoce.estimate.comparison.watched import e_mean
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.study.questions import study_question
from sottovoce.study.questions.result_lines import ResultLine, level_of_each

MOST_WATCHED = 50  # values of a question whose e-values a page computes
LESS = " less "  # between the names of two arms
DIFFERENCE = " difference"  # after the noun of what is compared


@dataclass(frozen=True)
class ArmComparison:
    """One question, compared between an arm and the first one.

    Intervals hold together for all values and arms of the question (Bonferroni). A p-value is multiplied by their
    number, so that it is below 1 - level exactly if the interval leaves out zero.

    Attributes:
        parts: what is compared, by its name, such as "share".
        count: how many differences of the question are tested at once.
        refused: why nothing is compared; empty where something is.
    """

    asked: Asked
    arm: str
    baseline: str
    parts: Mapping[str, Comparison]
    count: int
    level: float
    refused: str = ""

    @property
    def name(self) -> str:
        """The names of both arms, that of the first arm last, such as "new less old"."""
        return f"{self.arm}{LESS}{self.baseline}"

    @cached_property
    def lines(self) -> tuple[ResultLine, ...]:
        """The differences with simultaneous intervals and adjusted p-values."""
        return tuple(line for part in self.parts.values() for line in self._lines(part))

    def _lines(self, part: Comparison) -> Iterator[ResultLine]:
        low, high = part.ci(level_of_each(self.level, self.count))
        p_values = np.minimum(1.0, self.count * part.p_values)
        noun = part.a.evidence.noun
        labels = [""] if len(part.labels) == 1 else [str(label) for label in part.a.axes.texts()]
        rows = zip(labels, part.values, part.std_errors, low, high, p_values, strict=True)
        for label, *numbers in rows:
            value, error, least, most, p_value = map(float, numbers)
            yield ResultLine(f"{noun}{DIFFERENCE}", label, value, error, least, most, p_value=p_value)

    @cached_property
    def overall(self) -> Test | None:
        """One test that nothing differs, where several shares are compared; None elsewhere."""
        first = next(iter(self.parts.values()), None)
        if first is None or len(self.parts) > 1 or len(first.labels) <= 2 or not self.asked.question.is_share:
            return None
        return first.overall()

    @cached_property
    def watched(self) -> Test | None:
        """One e-value that nothing differs, which holds however often it is looked at; None where there is none."""
        parts = self.parts.values()
        if not parts or sum(len(part.labels) for part in parts) > MOST_WATCHED:
            return None
        try:
            return e_mean([test for part in parts for test in part.watched()])
        except SottovoceError:
            return None

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates of both arms, that of the first arm last; empty where nothing is compared."""
        return next(((one.a, one.b) for one in self.parts.values()), ())


def evidence_so_far(compared: Sequence[ArmComparison]) -> float | None:
    """The mean of the e-values of all arms of a question, which is an e-value, too; None where an arm has none."""
    tests = [one.watched for one in compared]
    known = [test.statistic for test in tests if test is not None]
    return float(np.mean(known)) if known and len(known) == len(tests) else None


def is_enough(evidence: float, level: float) -> bool:
    """Whether an e-value shows a difference at this level, however often it was looked at."""
    return evidence >= (1 - 1e-9) / (1 - level)


def compared_arms(
    asked: Asked, experiment: StudyExperiment, estimates: Mapping[str, Mapping[str, object]], level: float
) -> Iterator[ArmComparison]:
    """The comparisons of one question; `estimates` are those of each arm that has any."""
    own = study_question(asked)
    baseline = experiment.baseline.name
    known = {arm: own.compared(results) for arm, results in estimates.items()}
    values = sum(len(one.labels) for one in known.get(baseline, {}).values())
    if values == 2 and own.compared_values == 1:  # two shares that sum to one
        values = 1
    count = (len(experiment.arms) - 1) * max(1, values)
    for arm in experiment.names[1:]:
        if arm in known and baseline in known:
            parts, refused = _parts(known[arm], known[baseline])
            yield ArmComparison(asked, arm, baseline, parts, count, level, refused)


def _parts(first: Mapping[str, Estimate], second: Mapping[str, Estimate]) -> tuple[dict[str, Comparison], str]:
    """The comparisons of two arms by what is compared, or why there are none."""
    parts: dict[str, Comparison] = {}
    refused = ""
    for name in first:
        if name in second:
            try:
                parts[name] = compare(first[name], second[name])
            except SottovoceError as problem:
                refused = str(problem)
    return parts, refused if not parts else ""


def all_compared(
    experiment: StudyExperiment | None, results: Sequence[tuple[Asked, str, Mapping[str, object]]], level: float
) -> tuple[ArmComparison, ...]:
    """The comparisons of all questions, from the estimates of each question and arm."""
    if experiment is None:
        return ()
    by_question: dict[str, tuple[Asked, dict[str, Mapping[str, object]]]] = {}
    for asked, arm, estimates in results:
        by_question.setdefault(asked.name, (asked, {}))[1][arm] = estimates
    return tuple(
        one for asked, estimates in by_question.values() for one in compared_arms(asked, experiment, estimates, level)
    )
