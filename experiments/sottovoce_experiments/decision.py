"""The decision table: for a question, a size, participants and epsilon the method to take, and its expected error.

The method is that of `sv.plan`, which ranks all methods by their exact variance; the table says how far the smallest
error of all methods is below it. The expected error is compared with that of estimates from drawn reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.mechanism import Mechanism
from sottovoce.study.plan import Plan
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

PAGE = Page(
    "methods/decision-table.md",
    """\
# Decision table

Find your question, its size and the number of participants; each column is an epsilon of one report. A cell has
the method that `sv.plan` proposes and the expected standard error of its estimate, in points: hundredths of all
participants or of the range. Print the page: it needs no computer beside it.

Written by `sottovoce reproduce decision-table --pages docs`. A test asks `sv.plan` again, cell by cell.
""",
)
EPSILONS, PEOPLE = (0.5, 1.0, 2.0, 4.0), (1_000, 10_000, 100_000)
MEASURED_AT, MOST_DRAWN = 10_000, 1024  # participants and categories that reports are drawn for
UNIT = sv.Interval(0, 1)


def _groups(count: int) -> sv.Categories:
    return sv.Categories([f"group {place + 1}" for place in range(count)])


QUESTIONS: dict[str, Callable[[int], Any]] = {
    "share of one of k categories": lambda k: sv.Frequency(sv.Integers(1, k)),
    "mean of a number": lambda k: sv.Mean(UNIT),
    "mean of each of k numbers": lambda k: sv.VectorMean(sv.Box(0, 1, k)),
    "variance of a number": lambda k: sv.Variance(UNIT),
    "mean in each of k groups": lambda k: sv.GroupMean(_groups(k), UNIT),
}
SIZES = (
    *(("share of one of k categories", k) for k in (2, 8, 64, 1024, 65_536)),
    ("mean of a number", 1),
    *(("mean of each of k numbers", k) for k in (4, 32)),
    ("variance of a number", 1),
    *(("mean in each of k groups", k) for k in (2, 8)),
)


def planned(question: str, k: int, n: int, epsilon: float) -> Plan:
    """The plan of a cell."""
    found: Plan = sv.plan(QUESTIONS[question](k), epsilon=str(epsilon), participants=n)
    return found


def advice(plan: Plan) -> str:
    """The method and its error, as the table writes them; a group that cannot be shown has none."""
    method = plan.best.method.split(" (")[0]
    error = 100 * plan.best.std_error
    return f"`{method}` {error:.2g}" if error < 50 else f"`{method}` too few"


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The proposal, the smallest error of all methods, and the error of drawn estimates over the expected one."""
    plan = planned(point["question"], point["k"], point["n"], point["epsilon"])
    best, least = plan.best, min(option.std_error for option in plan.options)
    drawn = None
    if (
        point["n"] == MEASURED_AT
        and point["k"] <= MOST_DRAWN
        and isinstance(best.procedure, Mechanism)
        and best.decoder == "linear"
    ):
        drawn = measured(best.procedure, point, runs, seed) / best.std_error
    return [
        {
            "advice": advice(plan),
            "method": best.method,
            "error": best.std_error,
            "ratio": best.std_error / least,
            "measured": drawn,
            "bytes": best.bytes_per_report,
            "fingerprint": best.procedure.fingerprint if isinstance(best.procedure, Mechanism) else None,
        }
    ]


def measured(mechanism: Mechanism, point: Mapping[str, Any], runs: int, seed: int) -> float:
    """The root mean square error of estimates from drawn reports, whose answers are spread evenly."""
    rng, k, n, squares = np.random.default_rng(seed), point["k"], point["n"], []
    for run in range(runs):
        answers, truth = _crowd(point["question"], k, n, rng)
        found = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=run, threads=1)))
        squares.append(np.nanmean((np.atleast_1d(found.values) - truth) ** 2))  # groups that are shown
    return math.sqrt(float(np.mean(squares)))


def _crowd(question: str, k: int, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Answers that are spread evenly, and the true values of the population."""
    if question.startswith("share"):
        return rng.integers(1, k + 1, n), 1 / k
    if question.startswith("mean of each"):
        return rng.random((n, k)), 0.5
    if question.startswith("mean in"):
        return list(
            zip((f"group {one}" for one in rng.integers(1, k + 1, n)), rng.random(n).tolist(), strict=True)
        ), 0.5
    return rng.random(n), 0.5


def summary(rows: Sequence[Row]) -> list[str]:
    """How far proposals are from the smallest error, and drawn errors from expected ones."""
    ratios = [row["ratio"] for row in rows]
    drawn = [row["measured"] for row in rows if row["measured"] is not None and row["error"] < 0.05]
    return [
        f"In {len(rows)} cells the proposed method has at most {max(ratios):.3f} times the smallest standard error of"
        " all methods that the plan compares; where errors are close, short reports come first.",
        f"With {MEASURED_AT:,} participants, errors of drawn estimates were {min(drawn):.2f} to {max(drawn):.2f} times"
        f" the expected ones in {len(drawn)} cells whose error is below 5 points (20 runs each).",
    ]


def _said(rows: Sequence[Row]) -> str:
    return " ".join(
        [
            "Answers are taken to be spread evenly over the categories, the range and the groups. *Too few* stands for"
            " an error of more than 50 points.",
            *summary(rows),
        ]
    )


EXPERIMENT = Experiment(
    id="decision-table",
    title="The decision table: the method of the plan, and its expected error",
    metric="standard error",
    grid=((("question", "k"), SIZES), ("n", PEOPLE), ("epsilon", EPSILONS)),
    quick=((("question", "k"), SIZES[1:2]), ("n", (10_000,)), ("epsilon", EPSILONS)),
    runs=20,
    quick_runs=2,
    cell=Late("decision:cell"),
    figure=Picture("n", "error", "epsilon", ("question", "k"), log="xy"),
    columns=("question", "k", "n", "epsilon", "method", "error", "ratio", "measured", "bytes"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Which method, and how precise",
        text=_said,
        lead=("question", "k", PageColumn("participants", "n", ",")),
        columns=tuple(PageColumn(f"epsilon {one:g}", "advice", "", (("epsilon", one),)) for one in EPSILONS),
    ),
)
