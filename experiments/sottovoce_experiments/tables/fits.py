"""Errors of the tables of eight attributes: unbiased, made possible, by CALM, independent, and fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.decoders.calm import CalmDecoder
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.joint import latent
from sottovoce.protocols.shares.published import calm
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.tables.records import COLUMNS, Floats, Records, records, reports
from sottovoce_experiments.tables.results_page import PAGE

BARS = {  # of the fit on census records, by participants and epsilon
    **{(0, 0.5): 0.44, (0, 1.0): 0.30, (0, 2.0): 0.215},
    **{(1_000_000, 0.5): 0.21, (1_000_000, 1.0): 0.135, (1_000_000, 2.0): 0.09},
}
METHODS = ("unbiased", "simplex", "calm", "independence", "fit", "half")
SHOWN = METHODS[:-1]


def distance(people: Records, table: Callable[[tuple[str, ...]], Floats]) -> float:
    """The mean over all pairs of the sum of the absolute errors of the cells."""
    return float(np.mean([np.abs(table(names) - people.table(names)).sum() for names in people.pairs]))


def run(people: Records, protocol: TableViews, participants: int, rng: np.random.Generator) -> dict[str, float]:
    """The distances of all methods. CALM asks other people, all other methods read the same reports."""
    tables = reports(people, protocol, participants, rng).tables
    asked = calm(protocol.question, protocol.epsilon, participants)
    consistent: Any = CalmDecoder().solve(reports(people, asked, participants, rng)).fit
    fit = latent.fit(tables, None, 0)
    ways: dict[str, Callable[[tuple[str, ...]], Floats]] = {
        "unbiased": tables.values,
        "simplex": lambda names: simplex(tables.values(names).ravel()).reshape(people.table(names).shape),
        "calm": consistent.model.table,
        "independence": fit.independent.table,
        "fit": fit.model.table,
        "half": lambda names: (fit.model.table(names) + fit.independent.table(names)) / 2,
    }
    return {name: distance(people, table) for name, table in ways.items()}


def mean_ratio(top: Sequence[float], bottom: Sequence[float]) -> tuple[float, float, float]:
    """The mean, its standard error and the largest of the ratios of paired runs."""
    ratio = np.array(top) / np.array(bottom)
    return float(ratio.mean()), float(ratio.std() / np.sqrt(max(len(ratio) - 1, 1))), float(ratio.max())


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Means over the runs."""
    if runs < 1:
        raise ParameterError("An experiment needs at least one run.")
    people, rng = records(point["data"]), np.random.default_rng(seed)
    participants = point["participants"] or len(people.codes)
    protocol = TableViews.for_fit(people.record, people.pairs, point["epsilon"])
    results = [run(people, protocol, participants, rng) for _ in range(runs)]
    each = {name: [one[name] for one in results] for name in METHODS}
    row: Row = {name: float(np.mean(values)) for name, values in each.items()}
    row["error"] = float(np.std(each["fit"]) / np.sqrt(max(runs - 1, 1)))
    row["of_independence"], row["of_independence_error"], row["worst"] = mean_ratio(each["fit"], each["independence"])
    row["half_of_independence"], _, row["half_worst"] = mean_ratio(each["half"], each["independence"])
    row["of_calm"], row["of_calm_error"], _ = mean_ratio(each["fit"], each["calm"])
    bar = BARS.get((point["participants"], point["epsilon"])) if point["data"] == "adult" else None
    return [row | {"bar": bar, "people": participants, "used": runs}]


def summary(rows: Sequence[Row]) -> list[str]:
    """The fit beside its bar, independence and CALM."""
    return [
        f"{row['data']}, {row['people']:,} people, epsilon {row['epsilon']:g}: fit {row['fit']:.3f} +-"
        f" {row['error']:.3f}, wanted {row['bar'] or '-'}, independence {row['independence']:.3f},"
        f" {row['of_independence']:.2f} of independence in the mean and {row['worst']:.2f} in the worst run;"
        f" {row['of_calm']:.2f} of CALM."
        for row in rows
    ]


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    worst = max(row["worst"] for row in rows)
    return (
        "Eight attributes, all 28 tables of two. Each person answers one view; CALM asks views of its own, by its rule."
        f" Means of {max(row['used'] for row in rows)} runs, with standard errors after ±. Ratios are those of single"
        " runs. The fit is `consistent()`; its constants were chosen on census records (adult). Hospital records were"
        " looked at while its stacking was chosen, so they are not unseen. A million people are the census records,"
        f" drawn again. The worst single fit of all has {worst:.2f} times the error of independence. The mean of the"
        f" fit and independence is never worse than {max(row['half_worst'] for row in rows):.2f} times, but gains less:"
        " `half` is its error over that of independence. The reports do not tell in which runs it would help."
    )


def _with_error(head: str, field: str) -> tuple[PageColumn, PageColumn]:
    return PageColumn(head, field, ".3f"), PageColumn("±", f"{field}_error", ".3f")


EXPERIMENT = Experiment(
    id="tables-fits",
    title="Cross tables of eight attributes, all pairs: errors of fits",
    data=("adult", "hospital"),
    methods=METHODS,
    metric="sum of absolute errors of the cells, mean over all tables of two attributes",
    grid=(
        (("data", "participants"), (("adult", 0), ("hospital", 0), ("adult", 1_000_000))),
        ("epsilon", (0.5, 1.0, 2.0)),
    ),
    quick=((("data", "participants"), (("adult", 0),)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", METHODS, panels=("data", "people"), log="xy"),
    columns=(
        *("data", "people", "epsilon", *METHODS, "error", "bar"),
        *("of_independence", "of_independence_error", "worst", "half_of_independence", "half_worst"),
        *("of_calm", "of_calm_error", "used"),
    ),
    summary=summary,
    needs=tuple(COLUMNS),
    section=Section(
        page=PAGE,
        heading="## Fits of eight attributes",
        text=_text,
        lead=("data", PageColumn("people", "people", ","), "epsilon"),
        columns=(
            *(PageColumn(name, name, ".3f") for name in SHOWN),
            PageColumn("± of the fit", "error", ".3f"),
            PageColumn("wanted", "bar", None),
            *_with_error("of independence", "of_independence"),
            PageColumn("worst run", "worst", ".2f"),
            PageColumn("half", "half_of_independence", ".3f"),
            PageColumn("its worst run", "half_worst", ".2f"),
            *_with_error("of CALM", "of_calm"),
        ),
    ),
)
