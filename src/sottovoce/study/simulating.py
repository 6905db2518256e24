"""A study on known answers: what would have been learned, beside the truth.

Every participant is put into one question by coins and answers through the real mechanism, as in the real study.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.protocols.simulate import derived_seed, simulate
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.questions import study_question
from sottovoce.study.results import StudyResults, results_of
from sottovoce.study.study import Study
from sottovoce.study.study_plan import PlannedQuestion, StudyPlan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """Results beside the truth among all who could have been asked."""

    results: StudyResults
    truth: Mapping[str, Mapping[tuple[str, str], float]]

    def to_frame(self) -> pd.DataFrame:
        """The export of the real study, and two columns more: the truth, and whether the interval holds it."""
        frame = self.results.to_frame()
        known = [
            self.truth.get(str(question), {}).get((str(measure), str(label)), math.nan)
            for question, measure, label in zip(frame["question"], frame["measure"], frame["label"], strict=True)
        ]
        frame["truth"] = known
        near = frame["truth"].to_numpy(copy=True)
        for name, period in self._periods().items():  # an arc may reach over the end of the circle
            rows = (frame["question"] == name).to_numpy()
            low = frame["low"].to_numpy()[rows]
            near[rows] = low + (near[rows] - low) % period
        slack = 1e-12 * np.abs(near)  # sums of shares are rounded
        frame["covered"] = (frame["low"] <= near + slack) & (near - slack <= frame["high"])
        return frame

    def _periods(self) -> dict[str, float]:
        """The lengths of the circles whose means are asked for, by question."""
        periods = {one.asked.name: one.question.period for one in self.results.questions}
        return {name: period for name, period in periods.items() if period is not None}


def simulate_study(plan: StudyPlan, answers: Any, *, seed: int | None = None) -> SimulatedStudy:
    """One run of a planned study.

    `answers` is a table or a mapping with a column for each question, under its name or that of its attribute; means by
    group have a second one, NAME/by. Empty cells are the first reason for giving no answer, where there are any, and
    refused otherwise.
    """
    columns = {one.asked.name: _column(one.asked, answers) for one in plan.questions}
    (size,) = {len(column) for column in columns.values()} or {0}
    places = _assigned(plan, size, seed)
    estimates: dict[str, Any] = {}
    for place, one in enumerate(plan.reports):
        chosen = [columns[one.asked.name][int(who)] for who in np.flatnonzero(places == place)]
        if not chosen:
            raise ParameterError(f"Nobody was asked {one.asked.name}: more participants are needed.")
        for name, estimate in _ask(one, chosen, derived_seed(seed, f"question {place}")).items():
            estimates[name if name == one.asked.name else f"{one.asked.name}: {name}"] = estimate
    report_names = {one.asked.name: one.report for one in plan.questions}
    results = results_of(plan.study, report_names, estimates, plan.level, reports=size)
    truth = {one.asked.name: one.question.truth(columns[one.asked.name], one.estimates) for one in results.questions}
    return SimulatedStudy(results, truth)


def drawn_answers(
    questions: Sequence[Asked], population: Mapping[str, ExpectedAnswers], participants: int, seed: int | None
) -> dict[str, list[Any]]:
    """The answers of a described population, a column for each question that is no question about another's answer."""
    columns: dict[str, list[Any]] = {}
    for place, asked in enumerate(questions):
        if asked.attribute:
            continue
        if asked.name not in population:
            raise ParameterError(f"The population does not describe the answers to {asked.name}.")
        generator = np.random.default_rng(None if seed is None else [seed, place])
        columns |= study_question(asked).draw(population[asked.name], participants, generator)
    return columns


def read_answers(study: Study, path: str) -> pd.DataFrame:
    """The columns of a study's questions from a file of answers, CSV or Parquet."""
    import pandas as pd

    try:
        frame = pd.read_csv(path) if path.lower().endswith(".csv") else pd.read_parquet(path)
    except (OSError, ValueError):  # pandas repeats what it read
        raise ParameterError("The file of answers cannot be read: it must be CSV or Parquet.") from None
    needed = [name for asked in study.questions if not asked.attribute for name in study_question(asked).columns]
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ParameterError(f"The file of answers has no column {absent[0]}: one for each question is needed.")
    return frame[needed]


def _assigned(plan: StudyPlan, size: int, seed: int | None) -> np.ndarray:
    weights = np.array([one.participants for one in plan.reports], float)
    generator = np.random.default_rng(derived_seed(seed, "questions"))
    return generator.choice(len(weights), size, p=weights / weights.sum())


def _ask(one: PlannedQuestion, chosen: Sequence[Any], seed: int | None) -> Mapping[str, Any]:
    procedure = one.procedure
    if isinstance(procedure, Mechanism):
        tally = procedure.tally(procedure.privatize(list(chosen), seed=seed))
        return {one.asked.name: procedure.estimate(replace(tally, simulated=True))}
    return simulate(procedure, list(chosen), seed=seed, closing=True)


def _column(asked: Asked, answers: Any) -> list[Any]:
    """The answers to a question as its domain takes them."""
    raw = study_question(asked).raw_answers(lambda name: _cells(name, answers), _is_empty)
    return [asked.answer(value) for value in raw]


def _cells(name: str, answers: Any) -> list[Any]:
    try:
        column = answers[name]
    except KeyError:
        raise ParameterError(f"The answers have no column {name}.") from None
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
