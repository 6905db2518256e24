"""Results of a study: one table of all estimates, with what the missing answers could hide.

The table of a simulation and that of the real study have the same columns, so that the analysis can be written first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.experiments.comparisons import ArmComparison, all_compared
from sottovoce.study.questions import study_question
from sottovoce.study.questions.base import StudyQuestion
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("study", "question", "arm", "measure", "label", "estimate", "std_error", "low", "high", "level"),
    *("could_be_low", "could_be_high", "p_value", "n", "epsilon", "method", "simulated"),
)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The estimates of one question; in an experiment, those of one of its arms."""

    asked: Asked
    estimates: Estimates
    arm: str = ""

    @property
    def key(self) -> str:
        """The name of the question, with that of the arm where there is one."""
        return f"{self.asked.name}~{self.arm}" if self.arm else self.asked.name

    @property
    def question(self) -> StudyQuestion:
        """What its kind does in studies."""
        return study_question(self.asked)

    def lines(self, level: float) -> Iterator[ResultLine]:
        """Every number of the question; of a number with reasons the mean of those who answered, and the reasons."""
        return self.question.lines(self.estimates, level)


@dataclass(frozen=True)
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
        if self.study.experiment is not None and "~" not in name:
            arms = ", ".join(f"{name}~{arm}" for arm in self.study.experiment.names)
            raise ParameterError(f"This study has an experiment, and its arms are not added: name one of {arms}.")
        self.study.question(name.partition("~")[0])
        return next(one for one in self.questions if one.key == name)

    @cached_property
    def comparisons(self) -> tuple[ArmComparison, ...]:
        """The arms of the experiment compared with the first one; empty where there is no experiment."""
        parts = [(one.asked, one.arm, one.estimates) for one in self.questions]
        return all_compared(self.study.experiment, parts, self.level)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Which intervals may miss more often than they promise, and why: a sentence for each question."""
        sentences = {
            f"{one.asked.name}{f', arm {one.arm}' * bool(one.arm)}: {doubt}": None
            for one in self.questions
            for estimate in one.estimates.values()
            if isinstance(estimate, Estimate)
            for doubt in [one.question.doubt(estimate, self.level)]
            if doubt is not None
        }
        return tuple(sentences)

    def to_frame(self) -> pd.DataFrame:
        """The table that is exported."""
        import pandas as pd

        rows = [row for one in self.questions for row in self._rows(one)]
        return pd.DataFrame([*rows, *self._differences()], columns=list(COLUMNS))

    def _rows(self, result: QuestionResult) -> Iterator[dict[str, Any]]:
        first = next((one for one in result.estimates.values() if isinstance(one, Estimate)), None)
        yield from self._lines(result.asked, result.arm, result.lines(self.level), () if first is None else (first,))

    def _differences(self) -> Iterator[dict[str, Any]]:
        """The differences between the arms of an experiment, after all estimates."""
        for one in self.comparisons:
            yield from self._lines(one.asked, one.name, one.lines, one.estimates)

    def _lines(
        self, asked: Asked, arm: str, lines: Iterable[ResultLine], estimates: Sequence[Estimate]
    ) -> Iterator[dict[str, Any]]:
        """Rows of the table; `estimates` are those that the lines come from."""
        methods = dict.fromkeys(source.mechanism.name for one in estimates for source in one.sources)
        for line in lines:
            could = line.could_be or (math.nan, math.nan)
            yield {
                "study": self.study.name,
                "question": asked.name,
                "arm": arm,
                "measure": line.measure,
                "label": line.label,
                "estimate": line.value,
                "std_error": line.std_error,
                "low": line.low,
                "high": line.high,
                "level": self.level,
                "could_be_low": could[0],
                "could_be_high": could[1],
                "p_value": line.p_value,
                "n": sum(one.n for one in estimates),
                "epsilon": decimal_text(self.study.epsilon),
                "method": " and ".join(methods),
                "simulated": any(one.simulated for one in estimates),
            }


def results_of(
    study: Study, report_names: Mapping[str, str], estimates: Estimates, level: float, *, reports: int
) -> StudyResults:
    """The results of a study, in simulation and in earnest; `report_names` has the report of each question."""
    answered = []
    arms = ("",) if study.experiment is None else study.experiment.names
    for asked, arm in product(study.questions, arms):
        report = f"{report_names[asked.name]}: {arm}" if arm else report_names[asked.name]
        begin = f"{report}: "
        own = {
            report_names[asked.name] if name == report else name.removeprefix(begin): estimate
            for name, estimate in estimates.items()
            if name == report or name.startswith(begin)
        }
        if own:
            answered.append(QuestionResult(asked, study_question(asked).answered(own), arm))
    return StudyResults(study, tuple(answered), reports, level)
