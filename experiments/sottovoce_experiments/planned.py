"""How good the planner's choice for shares is: its measured error beside that of the best of all methods.

Tallies are drawn from the law of their counts, for a crowd whose shares fall like those of words (Zipf). The plan does
not know these shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.study.plan import plan
from sottovoce.tally.counts import BY_CELL, simulate_cells
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.frequencies.published import PAGE
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
SIZES, PEOPLE, BUDGETS = (8, 128, 1024, 65_536), (1_000, 10_000, 100_000, 1_000_000), (0.5, 1.0, 2.0, 4.0)
VALUES = 40_000  # estimates that an error is measured from, at least
BATCH = 1 << 22  # cells that are drawn at once
ALLOWED = 1.07


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The choice of the plan, and the method of least exact error, each with its exact and its measured error."""
    size, n, epsilon = point["k"], point["n"], point["epsilon"]
    domain = Integers(0, size - 1)
    shares = _zipf(size)
    held = _rounded(shares, n)
    truth = held / n
    choice = plan(Frequency(domain), epsilon=str(epsilon), participants=n).best.mechanism
    known = [choice, *_others(domain, epsilon, choice.name)]
    exact = [float(np.mean(one.variance(truth, n, target="sample"))) for one in known]
    best = known[int(np.argmin(exact))]
    repeats = max(2, runs * VALUES // size)
    errors = [_measured(one, held, repeats, seed + place) for place, one in enumerate((choice, best))]
    return [
        {
            "choice": choice.name,
            "best": best.name,
            "methods": len(known),
            "exact_ratio": exact[0] / min(exact),
            "measured_ratio": errors[0] / errors[1],
            "measured_over_exact": errors[0] / exact[0],
        }
    ]


def _zipf(size: int) -> Floats:
    weights = 1 / np.arange(1, size + 1)
    return np.asarray(weights / weights.sum())


def _rounded(shares: Floats, n: int) -> NDArray[np.int64]:
    """How many of n hold each value: whole numbers whose sums never lag behind by more than one half."""
    ends = np.round(n * np.cumsum(shares)).astype(np.int64)
    return np.asarray(ends - np.concatenate([[0], ends[:-1]]), np.int64)


def _others(domain: Integers, epsilon: float, chosen: str) -> list[Mechanism]:
    """All other methods with the same guarantee that take this domain."""
    found = []
    for name in names(Frequency):
        try:
            one = build(name, domain, epsilon=str(epsilon))
        except ParameterError:
            continue
        if name != chosen and one.guarantee.is_pure:
            found.append(one)
    return found


def _measured(mechanism: Mechanism, held: NDArray[np.int64], repeats: int, seed: int) -> float:
    """The mean squared error of a share over tallies and values; support counts are drawn one by one."""
    n, joint = int(held.sum()), not isinstance(mechanism.statistic, BY_CELL)
    total, at_once = 0.0, max(1, BATCH // mechanism.cells)
    for start in range(0, repeats, at_once):
        count = min(at_once, repeats - start)
        for row in simulate_cells(mechanism, held, runs=count, seed=seed + start, joint=joint):
            total += float(np.mean((from_cells(mechanism, n, row).values() - held / n) ** 2))
    return total / repeats


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The worst choice, by exact and by measured error."""
    exact = max(rows, key=lambda row: float(row["exact_ratio"]))
    measured = max(rows, key=lambda row: float(row["measured_ratio"]))
    within = sum(row["measured_ratio"] <= ALLOWED for row in rows)
    return [
        f"Largest mean squared error of a choice: {exact['exact_ratio']:.3f} times the lowest, exactly"
        f" ({exact['choice']} for k = {exact['k']}, epsilon {exact['epsilon']:g});"
        f" {measured['measured_ratio']:.3f} times, measured.",
        f"Measured within {100 * (ALLOWED - 1):.0f} % of the best: {within} of {len(rows)} choices.",
    ]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        "Shares fall like those of words (Zipf), which the plan does not know. The mean squared error of a share with"
        " the mechanism of the plan, over that with the best of all mechanisms of the registry that take so many"
        " values: by the exact variance, and measured from at least 80,000 estimates of each, with a standard error of"
        " about one percent. The last column is the measured error of the choice over its exact one."
        f" {' '.join(summary(rows))}"
    )


EXPERIMENT = Experiment(
    id="planned-shares",
    title="The planner's choice for shares, beside the best of all methods",
    metric="mean squared error of a share",
    grid=(("k", SIZES), ("n", PEOPLE), ("epsilon", BUDGETS)),
    quick=(("k", (8, 128)), ("n", (1_000,)), ("epsilon", (0.5, 4.0))),
    runs=2,
    quick_runs=1,
    cell=Late("planned:cell"),
    figure=Picture("epsilon", "measured_ratio", "k", dots=True, guide=1.0, log="x"),
    columns=("k", "n", "epsilon", "choice", "best", "methods", "exact_ratio", "measured_ratio", "measured_over_exact"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## The planner's choice for shares",
        text=said,
        columns=(
            PageColumn("choice", "choice"),
            PageColumn("best", "best"),
            PageColumn("mechanisms", "methods"),
            PageColumn("exact ratio", "exact_ratio", ".4f"),
            PageColumn("measured ratio", "measured_ratio", ".3f"),
            PageColumn("measured / exact", "measured_over_exact", ".3f"),
        ),
    ),
)
