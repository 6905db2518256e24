"""Results of a study: one table of all estimates, with what the missing answers could hide.

The table of a simulation and that of the real study have the same columns, so that the analysis can be written first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.params import decimal_text
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.questions import study_question
from sottovoce.study.questions.base import StudyQuestion
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("study", "question", "measure", "label", "estimate", "std_error", "low", "high", "level"),
    *("could_be_low", "could_be_high", "n", "epsilon", "method", "simulated"),
)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The estimates of one question."""

    asked: Asked
    estimates: Estimates

    @property
    def question(self) -> StudyQuestion:
        """What its kind does in studies."""
        return study_question(self.asked)

    def lines(self, level: float) -> Iterator[ResultLine]:
        """Every number of the question; of a number with reasons the mean of those who answered, and the reasons."""
        return self.question.lines(self.estimates, level)


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
        sentences = {
            f"{one.asked.name}: {doubt}": None
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
    answered = []
    for asked in study.questions:
        report = report_names[asked.name]
        begin = f"{report}: "
        own = {
            name.removeprefix(begin): estimate
            for name, estimate in estimates.items()
            if name == report or name.startswith(begin)
        }
        if own:
            answered.append(QuestionResult(asked, study_question(asked).answered(own)))
    return StudyResults(study, tuple(answered), reports, level)
