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
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.questions import study_question
from sottovoce.study.questions.base import Truth
from sottovoce.study.results import StudyResults, results_of
from sottovoce.study.strata import Stratum, combined
from sottovoce.study.study import Study
from sottovoce.study.study_plan import PlannedQuestion, StudyPlan

if TYPE_CHECKING:
    import pandas as pd

STRATUM = "stratum"  # the column of a file of answers that names the stratum of each person
ARM = "arm"  # the column that names the arm of an experiment in which each person answered
FEWEST_WEIGHTED = 20_000  # rows of the truth of a study with strata


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """Results beside the truth among all who could have been asked."""

    results: StudyResults
    truth: Mapping[tuple[str, str], Truth]  # by question and arm, as the table has them

    def to_frame(self) -> pd.DataFrame:
        """The export of the real study, and two columns more: the truth, and whether the interval holds it."""
        frame = self.results.to_frame()
        known = [
            self.truth.get((str(question), str(arm)), {}).get((str(measure), str(label)), math.nan)
            for question, arm, measure, label in zip(
                *(frame[name] for name in ("question", "arm", "measure", "label")), strict=True
            )
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
    """Run a planned study once with known answers, and compare the estimates with the truth.

    Args:
        plan: The plan of `plan_study`.
        answers: A table or a mapping with a column for each question, under its name or the name of its attribute.
            Means by group have a second column, NAME/by. Empty cells are the first reason for giving no answer, where
            the question has reasons; else they are refused.
        seed: The seed of the simulation. Default: secure randomness.

    Returns:
        The results with the truth beside them; `to_frame` is a table.

    Raises:
        ParameterError: A column is missing, or nobody was asked one of the questions.

    Examples:
        >>> smokes = sv.Asked("smokes", sv.Frequency(sv.Categories(["yes", "no"])), texts="Do you smoke?")
        >>> study = sv.Study("health", epsilon=1, unit="person", owner="Institute", contact="dpo@example.org",
        ...                  purpose="Plan courses.", questions=[smokes])
        >>> run = sv.simulate_study(study.plan(3000), {"smokes": ["yes", "no", "no"] * 1000}, seed=1)
        >>> run.to_frame()["truth"].round(2).tolist()
        [0.33, 0.67]

    See also:
        `sottovoce simulate` repeats this for a study file.
    """
    columns = {one.asked.name: _column(one.asked, answers) for one in plan.questions}
    (size,) = {len(column) for column in columns.values()} or {0}
    report_names = {one.asked.name: one.report for one in plan.questions}
    study = plan.study
    asked = _in_one_wave(study, size, seed)
    arms = {"": asked} if study.experiment is None else _in_arms(study.experiment, answers, size, seed)
    if study.strata and not study.stratum:
        strata = _members(study.strata, answers, size, seed)
        parts = {
            name: _by_arm(plan, columns, _among(rows, arms), derived_seed(seed, f"stratum {name}"))
            for name, rows in strata.items()
        }
        estimates = combined(parts, study.strata)
        members = {arm: _weighted_rows(study.strata, _among(rows, strata), size) for arm, rows in arms.items()}
        everyone = _weighted_rows(study.strata, strata, size)
    else:
        estimates, members, everyone = _by_arm(plan, columns, arms, seed), arms, np.arange(size)
    results = results_of(study, report_names, estimates, plan.level, reports=len(asked))
    # Without a column of arms everybody would answer the same in all of them.
    own = members if study.experiment is not None and ARM in answers else {}
    truth = {
        (one.asked.name, one.arm): one.question.full_truth(
            [columns[one.asked.name][row] for row in own.get(one.arm, everyone)], one.estimates
        )
        for one in results.questions
    }
    return SimulatedStudy(results, truth | _true_differences(results, truth))


def _in_one_wave(study: Study, size: int, seed: int | None) -> np.ndarray:
    """The rows of those who answer: all, or in one wave of a repeated study those whose turn it is."""
    if study.repeat is None:
        return np.arange(size)
    generator = np.random.default_rng(derived_seed(seed, "turns"))
    return np.sort(generator.permutation(size)[: size // study.repeat.window])


def _true_differences(results: StudyResults, truth: Mapping[tuple[str, str], Truth]) -> dict[tuple[str, str], Truth]:
    """The true differences between arms, by question and both arms, where both are known."""
    known: dict[tuple[str, str], Truth] = {}
    for one in results.comparisons:
        first, second = (truth[one.asked.name, arm] for arm in (one.arm, one.baseline))
        nouns = [(line.measure.removesuffix(" difference"), line.label) for line in one.lines]
        known[one.asked.name, one.name] = {
            (f"{noun} difference", label): first[noun, label] - second[noun, label]
            for noun, label in nouns
            if (noun, label) in first and (noun, label) in second
        }
    return known


def _by_arm(
    plan: StudyPlan, columns: Mapping[str, Sequence[Any]], arms: Mapping[str, np.ndarray], seed: int | None
) -> dict[str, Any]:
    """The estimates of all arms, by report and arm; those of one arm without a name by report alone."""
    estimates: dict[str, Any] = {}
    for arm, rows in arms.items():
        part = _estimates(plan, columns, rows, derived_seed(seed, f"arm {arm}") if arm else seed)
        estimates |= {_name_in_arm(name, arm): one for name, one in part.items()}
    return estimates


def _among(rows: np.ndarray, parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The rows of each part that are among some rows."""
    return {name: part[np.isin(part, rows)] for name, part in parts.items()}


def _estimates(
    plan: StudyPlan, columns: Mapping[str, Sequence[Any]], rows: np.ndarray, seed: int | None
) -> dict[str, Any]:
    """The estimates from the answers of some rows, by report."""
    places = _assigned(plan, len(rows), seed)
    estimates: dict[str, Any] = {}
    for place, one in enumerate(plan.reports):
        chosen = [columns[one.asked.name][int(who)] for who in rows[places == place]]
        if not chosen:
            raise ParameterError(f"Nobody was asked {one.asked.name}: more participants are needed.")
        for name, estimate in _ask(one, chosen, derived_seed(seed, f"question {place}")).items():
            estimates[name if name == one.asked.name else f"{one.asked.name}: {name}"] = estimate
    return estimates


def _name_in_arm(name: str, arm: str) -> str:
    """The name of an estimate in an arm of the experiment: "habits: tables" becomes "habits: short: tables"."""
    report, *part = name.split(": ", 1)
    return ": ".join([report, arm, *part] if arm else [name])


def _in_arms(experiment: StudyExperiment, answers: Any, size: int, seed: int | None) -> dict[str, np.ndarray]:
    """The rows of each arm: by the column `arm` of the answers, else drawn by the shares of the arms."""
    if ARM in answers:
        held = [str(one) for one in _cells(ARM, answers)]
        if not {*held} <= {*experiment.names}:
            raise ParameterError(f"The column {ARM} of the answers names an arm that the experiment does not have.")
    else:
        held = assigned_arms(experiment, size, seed)
    return {name: np.flatnonzero([one == name for one in held]) for name in experiment.names}


def assigned_arms(experiment: StudyExperiment, size: int, seed: int | None) -> list[str]:
    """An arm for each person, drawn by the shares of the arms."""
    shares = [float(experiment.part(arm)) for arm in experiment.arms]
    drawn: list[str] = np.random.default_rng(derived_seed(seed, ARM)).choice(experiment.names, size, p=shares).tolist()
    return drawn


def _members(strata: Sequence[Stratum], answers: Any, size: int, seed: int | None) -> dict[str, np.ndarray]:
    """The rows of each stratum: by the column `stratum` of the answers, else drawn in proportion to its people."""
    names = [one.name for one in strata]
    if STRATUM in answers:
        held = [str(one) for one in _cells(STRATUM, answers)]
        if not {*held} <= {*names}:
            raise ParameterError(f"The column {STRATUM} of the answers names a stratum that the study does not have.")
    else:
        people = np.array([one.people for one in strata], float)
        held = np.random.default_rng(derived_seed(seed, STRATUM)).choice(names, size, p=people / people.sum()).tolist()
    return {name: np.flatnonzero([one == name for one in held]) for name in names}


def _weighted_rows(strata: Sequence[Stratum], members: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """Rows in which each stratum has the weight of its people, for the truth: rows are repeated."""
    everyone = sum(one.people for one in strata)
    most = max(size, FEWEST_WEIGHTED)
    counts = {one.name: round(most * one.people / everyone) for one in strata}
    return np.concatenate([np.resize(rows, counts[name]) for name, rows in members.items() if len(rows)])


def drawn_in_arms(
    study: Study, population: Mapping[str, ExpectedAnswers], participants: int, seed: int | None
) -> dict[str, list[Any]]:
    """The answers of a described population in the arms of an experiment, with a column that names the arm."""
    assert study.experiment is not None
    columns: dict[str, list[Any]] = {}
    held = assigned_arms(study.experiment, participants, seed)
    for arm in study.experiment.names:
        expected = study.experiment.expected(arm, tuple(population.items()))
        part = drawn_answers(study.questions, expected, held.count(arm), derived_seed(seed, f"answers in {arm}"))
        for name, cells in {**part, ARM: [arm] * held.count(arm)}.items():
            columns.setdefault(name, []).extend(cells)
    return columns


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
    extra = [STRATUM] if study.strata and not study.stratum else []
    if extra and STRATUM not in frame.columns:
        raise ParameterError(f"The file of answers has no column {STRATUM}, which names the stratum of each person.")
    arms = [ARM] if study.experiment is not None and ARM in frame.columns else []
    return frame[[*needed, *extra, *arms]]


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
