"""Exact total variance of designs for cross tables, over the lower bound of all one-round methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from sottovoce.core.domain import Integers, Record
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.tables.results_page import PAGE

# The numbers of answers of eight attributes of the census records.
SIZES = {
    **{"workclass": 9, "education": 16, "income": 2, "sex": 2},
    **{"marital_status": 7, "occupation": 15, "relationship": 6, "race": 5},
}
DESIGNS = ("optimal", "equal", "for_fit", "own_only")
BARS = {2: 1.12, 3: 1.17}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The ratios of all designs; nothing is drawn."""
    record = Record({name: Integers(1, size) for name, size in SIZES.items()})
    tables = list(combinations(SIZES, point["ways"]))
    best = TableViews(record, tables, point["epsilon"])
    bound = best.lower_bound()
    equal = TableViews(record, tables, point["epsilon"], weights=[1] * len(tables))
    # Each table from its own reports alone: a fraction of the participants, without the others' main effects.
    own = sum(len(tables) * equal.own_variance(names) for names in tables) - best.workload.spread
    found = {
        "optimal": best.variance(),
        "equal": equal.variance(),
        "for_fit": TableViews.for_fit(record, tables, point["epsilon"]).variance(),
        "own_only": own,
    }
    return [{**{name: variance / bound for name, variance in found.items()}, "bar": BARS[point["ways"]]}]


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    return (
        "Total variance of all cells of all tables of two or three of eight attributes, at equal shares of the answers,"
        " over a lower bound that holds for every method with one report of each person. The attributes have"
        f" {', '.join(map(str, SIZES.values()))} answers, like those of the census records. All numbers are exact:"
        " nothing is drawn. *Optimal* is the design of `TableViews`, *equal* asks all tables equally often, *for a fit*"
        " asks a fifth of the people one attribute only. *Own reports* estimates each table from its own reports."
        f" The optimal design has at most {max(row['optimal'] for row in rows):.2f} times the bound."
    )


GRID = (("ways", (2, 3)), ("epsilon", (0.5, 1.0, 2.0)))
EXPERIMENT = Experiment(
    id="tables-designs",
    title="Cross tables of eight attributes: exact total variance of designs over the lower bound",
    methods=DESIGNS,
    metric="total variance of the noise of all cells, at equal shares, over the lower bound",
    grid=GRID,
    quick=GRID,
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", DESIGNS, panels="ways", log="x"),
    columns=("ways", "epsilon", *DESIGNS, "bar"),
    section=Section(
        page=PAGE,
        heading="## Designs for eight attributes",
        text=_text,
        lead=("ways", "epsilon"),
        columns=(
            PageColumn("optimal", "optimal", ".3f"),
            PageColumn("wanted", "bar", ".2f"),
            PageColumn("equal", "equal", ".3f"),
            PageColumn("for a fit", "for_fit", ".3f"),
            PageColumn("own reports", "own_only", ".2f"),
        ),
    ),
)
