"""Whether a second round that asks dependent pairs only helps: errors of the fit after one round and after two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.evidence import JointEvidence
from sottovoce.estimate.joint.models import mutual_information
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.tables.fits import distance, mean_ratio
from sottovoce_experiments.tables.records import COLUMNS, Records, records, reports
from sottovoce_experiments.tables.results_page import PAGE

FIRST = 0.4  # of the participants
KEPT = 0.5  # of the pairs: those with the largest mutual information in the fit of the first round
METHODS = ("one_round", "two_rounds")


def two_rounds(people: Records, epsilon: float, participants: int, rng: np.random.Generator) -> JointEvidence:
    """The reports of both rounds together; the second round asks the pairs that depend most in the first fit."""
    first = round(FIRST * participants)
    before = reports(people, TableViews.for_fit(people.record, people.pairs, epsilon), first, rng)
    model = latent.fit(before.tables, None, 0).model
    strength = {names: mutual_information(model.table(names)) for names in people.pairs}
    kept = sorted(people.pairs, key=lambda names: -strength[names])[: round(KEPT * len(people.pairs))]
    after = reports(people, TableViews.for_fit(people.record, kept, epsilon), participants - first, rng)
    tables = before.tables.joined([after.tables.about(before.tables.sizes)])
    if tables is None:
        raise ParameterError("Reports of both rounds must be about views.")
    return JointEvidence(before.asked, tables)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean error of the fit, with the ratio of both ways in each run."""
    people, rng = records(point["data"]), np.random.default_rng(seed)
    participants, epsilon = len(people.codes), point["epsilon"]
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(runs):
        once = reports(people, TableViews.for_fit(people.record, people.pairs, epsilon), participants, rng)
        for name, evidence in zip(METHODS, (once, two_rounds(people, epsilon, participants, rng)), strict=True):
            errors[name].append(distance(people, latent.fit(evidence.tables, None, 0).model.table))
    row: Row = {name: float(np.mean(values)) for name, values in errors.items()}
    row["ratio"], row["error"], _ = mean_ratio(errors["two_rounds"], errors["one_round"])
    return [row | {"people": participants, "used": runs}]


EXPERIMENT = Experiment(
    id="tables-second-round",
    title="Cross tables of eight attributes: the fit after one round, and after a second one about dependent pairs",
    data=("adult",),
    methods=METHODS,
    metric="sum of absolute errors of the cells, mean over all tables of two attributes",
    grid=(("data", ("adult",)), ("epsilon", (1.0,))),
    quick=(("data", ("adult",)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", METHODS, panels="data", log="xy"),
    columns=("data", "epsilon", *METHODS, "ratio", "error", "people", "used"),
    needs=tuple(COLUMNS),
    section=Section(
        page=PAGE,
        heading="## A second round about dependent pairs",
        text="The fit of eight attributes at epsilon 1, 20 runs of each way. In two rounds, 40 % of the people answer"
        " as usual. The others answer the half of the pairs that depend most on each other in the first fit. The ratio"
        " is the error of two rounds over that of one, with its standard error.",
        lead=("data",),
        columns=(
            *(PageColumn(name.replace("_", " "), name, ".3f") for name in METHODS),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("±", "error", ".3f"),
        ),
    ),
)
