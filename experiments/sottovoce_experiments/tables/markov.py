"""A Markov random field with a prior beside latent classes, for few attributes: errors of both fits.

The field is p(x) proportional to exp(sum of a_i(x_i) + sum of b_ij(x_i, x_j)) over the table of all attributes. Its
parameters maximise the normal likelihood of the reported residuals times a Gaussian prior. As for latent classes,
strengths of the prior and independence are mixed by stacking on parts of the reports that the fits have not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sottovoce.estimate.joint import latent, stacking
from sottovoce.estimate.joint.models import WholeTable
from sottovoce.estimate.joint.residuals import Names, Reported, TableSource, centred
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.tables.fits import distance, mean_ratio
from sottovoce_experiments.tables.records import COLUMNS, Floats, Records, records, reports
from sottovoce_experiments.tables.results_page import PAGE

STRENGTHS = (0.25, 0.5, 1.0)  # standard deviations of the logarithms of interactions
SINGLE = 3.0  # standard deviation of the logarithms of answers
SPLITS, STEPS = 4, 150
METHODS = ("independence", "latent_classes", "markov_field")
ATTRIBUTES = {
    "adult": ("income", "sex", "race", "relationship"),
    "hospital": ("gender", "a1c_result", "insulin", "readmitted"),
}


class Field:
    """The parameters of a Markov random field as columns of an indicator matrix over all cells."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.names, self.shape = tuple(sizes), tuple(sizes.values())
        places = np.indices(self.shape).reshape(len(self.shape), -1)
        parts, singles = [], []
        for block in [*((i,) for i in range(len(self.shape))), *combinations(range(len(self.shape)), 2)]:
            size = [self.shape[i] for i in block]
            codes = np.ravel_multi_index(tuple(places[i] for i in block), size)
            parts.append(np.eye(int(np.prod(size)))[codes])
            singles.append(np.full(int(np.prod(size)), len(block) == 1))
        self.design, self.is_single = np.concatenate(parts, axis=1), np.concatenate(singles)

    def shares(self, parameters: Floats) -> Floats:
        """The share of each cell."""
        logs = self.design @ parameters
        grown = np.exp(logs - logs.max())
        return np.asarray(grown / grown.sum())

    def residuals(self, names: Names) -> Floats:
        """The matrix that takes the shares of all cells to the residual of a block."""
        axes = [self.names.index(name) for name in names]
        away = tuple(1 + axis for axis in range(len(self.shape)) if axis not in axes)
        every = np.eye(len(self.design)).reshape(-1, *self.shape).sum(axis=away)
        return np.asarray(centred(every, 1).reshape(len(self.design), -1).T)

    def fitted(self, reported: Sequence[Reported], strength: float) -> WholeTable:
        """The posterior mode."""
        rows = np.concatenate([self.residuals(block.names) for block in reported])
        wanted = np.concatenate([block.residual.ravel() for block in reported])
        weight = np.concatenate([np.full(block.residual.size, block.precision) for block in reported])
        pull = np.where(self.is_single, SINGLE**-2, strength**-2)

        def objective(parameters: Floats) -> tuple[float, Floats]:
            shares = self.shares(parameters)
            away = rows @ shares - wanted
            slope = rows.T @ (weight * away)
            inner = self.design.T @ (shares * (slope - shares @ slope))
            return float(weight @ away**2 + pull @ parameters**2) / 2, inner + pull * parameters

        start = np.zeros(self.design.shape[1])
        best = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        return WholeTable(self.names, self.shares(best.x).reshape(self.shape))


def field_fit(tables: TableSource, seed: int) -> WholeTable:
    """The mixture of fields of several strengths and of independence that predicts best."""
    field, reported, generator = Field(tables.sizes), tables.blocks(), np.random.default_rng(seed)
    products, agreement = np.zeros((1 + len(STRENGTHS),) * 2), np.zeros(1 + len(STRENGTHS))
    for _ in range(SPLITS):
        kept, left = latent.divided(reported, generator)
        models: list[Any] = [latent.independence(tables.sizes, kept), *(field.fitted(kept, one) for one in STRENGTHS)]
        scaled = np.array([_scaled(model, left) for model in models])
        products += scaled @ scaled.T
        agreement += scaled @ np.concatenate([block.precision**0.5 * block.residual.ravel() for block in left])
    weights = stacking.weights(products, agreement)
    alone = latent.independence(tables.sizes, reported).table(field.names)
    fits = [alone, *(field.fitted(reported, one).shares for one in STRENGTHS)]
    return WholeTable(field.names, np.asarray(sum(w * one for w, one in zip(weights, fits, strict=True))))


def _scaled(model: Any, reported: Sequence[Reported]) -> Floats:
    """The residuals of a model for all blocks, in standard errors of the reports."""
    return np.concatenate([precision**0.5 * centred(model.table(names)).ravel() for names, _, precision in reported])


def few(data: str) -> Records:
    """The records of a file with four attributes."""
    every, names = records(data), ATTRIBUTES[data]
    return Records(
        {name: every.sizes[name] for name in names}, every.codes[:, [list(every.sizes).index(n) for n in names]]
    )


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean error of each fit, and the ratio of both in each run."""
    people, rng = few(point["data"]), np.random.default_rng(seed)
    protocol = TableViews.for_fit(people.record, people.pairs, point["epsilon"])
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(runs):
        tables = reports(people, protocol, len(people.codes), rng).tables
        fit = latent.fit(tables, None, 0)
        models: list[Any] = [fit.independent, fit.model, field_fit(tables, 0)]
        for name, model in zip(METHODS, models, strict=True):
            errors[name].append(distance(people, model.table))
    row: Row = {name: float(np.mean(values)) for name, values in errors.items()}
    row["ratio"], row["error"], row["worst"] = mean_ratio(errors["markov_field"], errors["latent_classes"])
    return [row | {"people": len(people.codes), "used": runs}]


EXPERIMENT = Experiment(
    id="tables-markov",
    title="Cross tables of four attributes: latent classes, and a Markov random field with a prior",
    data=("adult", "hospital"),
    methods=METHODS,
    metric="sum of absolute errors of the cells, mean over all tables of two attributes",
    grid=(("data", ("adult", "hospital")), ("epsilon", (0.5, 1.0, 2.0))),
    quick=(("data", ("adult",)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", METHODS, panels="data", log="xy"),
    columns=("data", "epsilon", *METHODS, "ratio", "error", "people", "used"),
    needs=tuple(COLUMNS),
    section=Section(
        page=PAGE,
        heading="## A Markov random field for few attributes",
        text="Four attributes each, all six tables of two, 20 paired runs. The ratio is that of the field to latent"
        " classes in single runs, with its standard error.",
        lead=("data", "epsilon"),
        columns=(
            *(PageColumn(name.replace("_", " "), name, ".4f") for name in METHODS),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("±", "error", ".3f"),
        ),
    ),
)
