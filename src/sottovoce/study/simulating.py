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
from sottovoce.core.question import Frequency, GroupMean, Mean, Variance
from sottovoce.protocols.simulate import derived_seed, simulate
from sottovoce.study.results import QuestionResult, StudyResults
from sottovoce.study.study import Study
from sottovoce.study.whole import PlannedQuestion, StudyPlan

if TYPE_CHECKING:
    import pandas as pd

SEPARATOR = "/"  # between a question's name and "by", for the groups of means by group


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
        frame["covered"] = (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])
        return frame


def simulate_study(made: StudyPlan, answers: Any, *, seed: int | None = None) -> SimulatedStudy:
    """One run of a planned study.

    `answers` is a table or a mapping with a column for each question, under its name; means by group have a second one,
    NAME/by. Empty cells are the first reason for giving no answer, where there are any, and refused otherwise.
    """
    columns = {one.asked.name: _column(one.asked, answers) for one in made.questions}
    (size,) = {len(column) for column in columns.values()} or {0}
    places = _assigned(made, size, seed)
    found = []
    for place, one in enumerate(made.questions):
        chosen = [columns[one.asked.name][int(who)] for who in np.flatnonzero(places == place)]
        if not chosen:
            raise ParameterError(f"Nobody was asked {one.asked.name}: more participants are needed.")
        found.append(QuestionResult(one.asked, _ask(one, chosen, derived_seed(seed, f"question {place}"))))
    results = StudyResults(made.study, tuple(found), made.level)
    return SimulatedStudy(
        results, {name: _truth(made.question(name).asked, column) for name, column in columns.items()}
    )


def read_answers(study: Study, path: str) -> pd.DataFrame:
    """The columns of a study's questions from a file of answers, CSV or Parquet."""
    import pandas as pd

    try:
        frame = pd.read_csv(path) if path.lower().endswith(".csv") else pd.read_parquet(path)
    except (OSError, ValueError):  # pandas repeats what it read
        raise ParameterError("The file of answers cannot be read: it must be CSV or Parquet.") from None
    needed = [name for asked in study.questions for name in _names(asked)]
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ParameterError(f"The file of answers has no column {absent[0]}: one for each question is needed.")
    return frame[needed]


def _names(asked: Asked) -> list[str]:
    return [asked.name, *([f"{asked.name}{SEPARATOR}by"] if isinstance(asked.question, GroupMean) else [])]


def _assigned(made: StudyPlan, size: int, seed: int | None) -> np.ndarray:
    weights = np.array([one.participants for one in made.questions], float)
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
    raw = _cells(asked.name, answers)
    if isinstance(asked.question, GroupMean):
        groups = _cells(f"{asked.name}{SEPARATOR}by", answers)
        raw = [
            asked.missing[0] if asked.missing and (_is_empty(group) or _is_empty(value)) else (group, value)
            for group, value in zip(groups, raw, strict=True)
        ]
    elif asked.missing:
        raw = [asked.missing[0] if _is_empty(value) else value for value in raw]
    return [asked.answer(value) for value in raw]


def _cells(name: str, answers: Any) -> list[Any]:
    try:
        column = answers[name]
    except KeyError:
        raise ParameterError(f"The answers have no column {name}.") from None
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _truth(asked: Asked, column: Sequence[Any]) -> dict[tuple[str, str], float]:
    """The numbers that the lines of the results estimate."""
    question = asked.question
    if isinstance(question, Frequency):
        labels = [str(label) for label in asked.whole.domain.labels()]
        told = [str(value) for value in column]
        return {("share", label): told.count(label) / len(told) for label in labels}
    if isinstance(question, (Mean, Variance)) and not asked.missing:
        numbers = np.array([float(value) for value in column])
        return {("mean", ""): float(numbers.mean()), ("variance", ""): float(numbers.var())}
    groups: dict[str, list[float]] = {}
    for group, value in column:
        groups.setdefault(str(group), []).append(float(value))
    shares = {("share", group): len(values) / len(column) for group, values in groups.items()}
    means = {("mean", group): float(np.mean(values)) for group, values in groups.items()}
    answered = {("mean", ""): means[("mean", "answered")]} if ("mean", "answered") in means else {}
    return {**shares, **means, **answered}
