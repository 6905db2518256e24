"""Figures 4, 6, 14, 15 and 16 of the SoK: frequency oracles on its synthetic data, estimates projected to the simplex.

The published pictures come from code whose clients and servers disagree (docs/why/errata.md), so their numbers are not
compared with: the experiments are repeated with right mechanisms. Averages are over the synthetic data sets of at most
128 values, on which all methods are computed; Figure 16 has the larger ones. The US Census data is not part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.decoder import decoder
from sottovoce_experiments.experiment import Axes, Experiment, Late, Row
from sottovoce_experiments.frequencies.claims import CLAIMS, CORRECTED, RAPPOR
from sottovoce_experiments.frequencies.data import GEOMETRIC_SIZES, TABLE_3, crowd
from sottovoce_experiments.frequencies.draws import decoded
from sottovoce_experiments.frequencies.published import PAGE
from sottovoce_experiments.page import PageColumn, Section

Floats = NDArray[np.float64]
PAPER = "SoK: Descriptive Statistics under Local Differential Privacy, PoPETs 2025"
METHODS = ("grr", "sue", "oue", "olh", "hrr", "hadamard", "subset", RAPPOR, CORRECTED)
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
LARGEST = 128  # values up to which the correction is computed, which takes the cube of their number
RUNS = 20


def everywhere(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One method, averaged over the synthetic data sets of Table 3 that all methods are computed on."""
    used = [(kind, k) for kind, k in TABLE_3 if k <= LARGEST]
    each = [_measured(point["method"], kind, k, point, runs, seed + i) for i, (kind, k) in enumerate(used)]
    errors = np.concatenate([errors for errors, _ in each])
    return [_row(errors, float(np.mean([variance for _, variance in each])))]


def by_size(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One method on the geometric data of one size."""
    if point["method"] == CORRECTED and point["k"] > LARGEST:
        return [{"mse": None, "std": None, "variance": None}]
    return [_row(*_measured(point["method"], "geometric", point["k"], point, runs, seed))]


def _row(errors: Floats, variance: float) -> Row:
    return {"mse": float(errors.mean()), "std": float(errors.std()), "variance": variance}


def _measured(
    method: str, kind: str, size: int, point: Mapping[str, Any], runs: int, seed: int
) -> tuple[Floats, float]:
    """Squared errors of each run, averaged over values, and the variance of an estimate over runs, averaged too."""
    name, _, corrected = method.partition(", ")
    held = crowd(kind, size, point["n"], np.random.default_rng(seed))
    mechanism = build(name, Integers(0, size - 1), epsilon=str(point["epsilon"]))
    chosen = decoder("small-sample", runs=1) if corrected else "simplex"
    values = decoded(mechanism, held, chosen, runs=runs, seed=seed)
    errors = ((values - held / held.sum()) ** 2).mean(axis=1)
    return errors, float(values.var(axis=0, ddof=1).mean())


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The methods of least error, by participants and epsilon."""
    known = [row for row in rows if row["mse"] is not None]
    lines = []
    for n in dict.fromkeys(row["n"] for row in known):
        best = []
        for epsilon in dict.fromkeys(row["epsilon"] for row in known):
            here = [row for row in known if (row["n"], row["epsilon"]) == (n, epsilon)]
            best.append(f"{epsilon:g}: {min(here, key=lambda row: row['mse'])['method']}")
        lines.append(f"Least error with {n:,} participants, by epsilon: {'; '.join(best)}.")
    return lines


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a picture and a table show of the rows, one line for each method."""

    field: str
    words: str
    number: int
    by: tuple[str, ...] = ("n",)
    best: bool = False  # whether the methods of least error are named

    def text(self, rows: Sequence[Mapping[str, Any]]) -> str:
        named = f" {' '.join(summary(rows))}" if self.best else ""
        first = f"{self.words} by epsilon, times 1,000,000; {RUNS} runs of each method on each data set.{named}"
        claims = [f"- {claim.said([dict(row) for row in rows])}" for claim in CLAIMS.get(self.number, ())]
        return "\n".join([first, "", *claims] if claims else [first])

    def columns(self) -> tuple[PageColumn, ...]:
        budgets = ((f"{e:g}", (("epsilon", e),)) for e in BUDGETS)
        return tuple(PageColumn(head, self.field, ".4g", where, 1e6, missing="-") for head, where in budgets)


def _figure(number: int, what: str, picture: str, grid: Axes, quick: Axes, cell: str, shown: _Shown) -> Experiment:
    columns = (*shown.by, "method", "epsilon", *dict.fromkeys(("mse", shown.field)))
    return Experiment(
        id=f"sok-figure-{number}",
        title=f"SoK, Figure {number}: {what}",
        metric="mean squared error of a share, after projection to the simplex",
        grid=grid,
        quick=quick,
        runs=RUNS,
        quick_runs=4,
        cell=Late(f"frequencies.sok:{cell}"),
        figure=f"frequencies.pictures:{picture}",
        columns=columns,
        summary=summary,
        paper=PAPER,
        data=("synthetic data of Table 3: binomial (8, 128 values), geometric (8, ..., 128 values; 512 in Figure 16)",),
        methods=METHODS,
        section=Section(
            page=PAGE,
            heading=f"## SoK, Figure {number}: {what}",
            text=shown.text,
            lead=(*shown.by, "method"),
            columns=shown.columns(),
        ),
    )


def _all(people: tuple[int, ...]) -> Axes:
    return ("n", people), ("method", METHODS), ("epsilon", BUDGETS)


_QUICK: Axes = (("n", (1_000,)), ("method", ("grr", "oue")), ("epsilon", (1.0, 4.0)))
_SOME, _MANY = (1_000, 10_000, 100_000), (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_SIZES: Axes = (("k", GEOMETRIC_SIZES), ("n", _SOME), ("method", METHODS), ("epsilon", BUDGETS))
_QUICK_SIZES: Axes = (("k", (8,)), *_QUICK)
_ERROR, _DEVIATION = "Mean squared error of a share", "Standard deviation of this error over runs and data sets"
_VARIANCE = "Variance of an estimated share over runs"

EXPERIMENTS = (
    _figure(
        4,
        "mean squared error, averaged over data sets",
        "errors",
        _all(_SOME),
        _QUICK,
        "everywhere",
        _Shown("mse", _ERROR, 4, best=True),
    ),
    _figure(
        6, "the same with deviations", "deviations", _all(_SOME), _QUICK, "everywhere", _Shown("std", _DEVIATION, 6)
    ),
    _figure(
        14,
        "the same from 100 to 10,000,000 participants",
        "deviations",
        _all(_MANY),
        _QUICK,
        "everywhere",
        _Shown("mse", _ERROR, 14, best=True),
    ),
    _figure(
        15,
        "variance of the estimates",
        "variances",
        _all(_MANY),
        _QUICK,
        "everywhere",
        _Shown("variance", _VARIANCE, 15),
    ),
    _figure(
        16, "by the number of values", "sizes", _SIZES, _QUICK_SIZES, "by_size", _Shown("mse", _ERROR, 16, ("k", "n"))
    ),
)
