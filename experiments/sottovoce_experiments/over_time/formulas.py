"""Filter and smoother on truths that move at random: errors beside their formulas, and average coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.estimate.series.state_space import Models, fit, mix
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time.compared import PAGE
from sottovoce_experiments.page import PageColumn, Section, percent
from sottovoce_experiments.picture import Picture

EPOCHS, SERIES, EDGE = 420, 10, 140  # the last: epochs at both ends that the formulas do not describe
RHOS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e4)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Mean squared errors over the formulas, for a known variance of the moves and for one that is not known."""
    rng, rho = np.random.default_rng(seed), float(point["rho"])
    formulas = {"online": (np.sqrt(rho**2 + 4 * rho) - rho) / 2, "retrospective": np.sqrt(rho / (rho + 4))}
    errors: dict[str, list[float]] = {f"{kind}{known}": [] for kind in formulas for known in ("", " known")}
    held: dict[str, list[float]] = {kind: [] for kind in formulas}
    model = Models(np.eye(1), np.full((1, 1, 1), rho), np.ones(1), np.zeros(1))
    inner = slice(EDGE, EPOCHS - EDGE)
    for _ in range(runs):
        truth = np.cumsum(np.sqrt(rho) * rng.standard_normal((EPOCHS, SERIES)), axis=0)
        values = truth + rng.standard_normal(truth.shape)
        mixed, exact = mix(values, np.ones(EPOCHS)), fit(values, np.ones(EPOCHS), model)
        for kind, found, spread, known in (
            ("online", mixed.online, mixed.online_variances, exact.filtered),
            ("retrospective", mixed.smooth, mixed.smooth_variances, exact.smoothed),
        ):
            errors[kind].append(float(np.mean((found - truth)[inner] ** 2)))
            errors[f"{kind} known"].append(float(np.mean((known[:, :, 0] - truth)[inner] ** 2)))
            held[kind].append(float(np.mean(np.abs(found - truth) <= 1.96 * np.sqrt(spread))))
    return [
        {
            **point,
            "kind": kind,
            "formula": float(formula),
            "known": float(np.mean(errors[f"{kind} known"]) / formula),
            "known_error": float(np.std(errors[f"{kind} known"], ddof=1) / np.sqrt(runs) / formula),
            "found": float(np.mean(errors[kind]) / formula),
            "found_error": float(np.std(errors[kind], ddof=1) / np.sqrt(runs) / formula),
            "coverage": float(np.mean(held[kind])),
            "runs": runs,
        }
        for kind, formula in formulas.items()
    ]


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    return (
        f"The truth moves at random with variance rho in each of {EPOCHS} epochs, in units of the variance of an"
        " unbiased estimate. Formulas of the mean squared error: (sqrt(rho^2 + 4 rho) - rho) / 2 online,"
        " sqrt(rho / (rho + 4)) looking back. `known` is the error with rho known over the formula, `found` that of"
        f" `Series.smooth`, which does not know it, over {rows[0]['runs']} runs of {SERIES} series. `coverage`"
        " is that of 95 % intervals, on average over epochs."
    )


EXPERIMENT = Experiment(
    id="over-time-formulas",
    title="Errors of filter and smoother beside their formulas",
    metric="mean squared error over the formula",
    methods=("Series.smooth",),
    grid=(("rho", RHOS),),
    quick=(("rho", (1.0,)),),
    runs=20,
    quick_runs=2,
    cell=Late("over_time.formulas:cell"),
    figure=Picture(("rho", "kind"), ("known", "found"), dots=True, guide=1.0, log=""),
    columns=("rho", "kind", "formula", "known", "known_error", "found", "found_error", "coverage"),
    section=Section(
        page=PAGE,
        heading="## Filter and smoother beside their formulas",
        text=text,
        lead=("rho", "kind"),
        columns=(
            PageColumn("formula", "formula", ".4f"),
            PageColumn("known", "known", ".3f"),
            PageColumn("+-", "known_error", ".3f"),
            PageColumn("found", "found", ".3f"),
            PageColumn("+-", "found_error", ".3f"),
            percent("coverage, %", 1),
        ),
    ),
)
