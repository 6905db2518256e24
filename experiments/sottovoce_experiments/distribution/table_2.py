"""Table 2 of the square-wave paper: all of its methods under all of its metrics, on Beta(5, 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce_experiments.distribution.wave import BUCKETS, PAPER, PARTICIPANTS
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

LABELS = (
    *("SW with EMS", "SW with EM", "HH-ADMM", "HH-ADMM, weighted"),
    *("CFO binning, 16", "CFO binning, 32", "CFO binning, 64", "CFO binning, chosen"),
    *("HH", "HaarHRR", "PM", "SR"),
)
ERRORS = ("wasserstein", "ks", "range_0.1", "range_0.4", "quantile", "mean", "variance")


def summary(rows: Sequence[Row]) -> list[str]:
    """The best method of each metric."""
    lines = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        best = []
        for name in ERRORS:
            known = [row for row in rows if row["epsilon"] == epsilon and row[name] is not None]
            least = min(known, key=lambda row: row[name])
            best.append(f"{name} {least['method']}")
        lines.append(f"Least errors at epsilon {epsilon:g}: {'; '.join(best)}.")
    return lines


PAGE = Page(
    "results/distributions.md",
    """\
# Errors of estimated distributions

Measured by `sottovoce reproduce sw-table-2 --pages docs`, which writes the page anew. The figures of the paper, with
its sentences judged, are on [its page](papers/square-wave.md).
""",
)


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    return (
        f"Answers of Beta(5, 2), {PARTICIPANTS:,} participants, {BUCKETS} buckets of [0, 1], {rows[0]['runs']} runs of"
        " each method; mean errors x 1000 against the histogram of the answers. HH, HH-ADMM and HaarHRR have four, four"
        " and two children for each node; HH and HaarHRR are the unbiased shares, with negative ones among them. PM and"
        " SR are asked for the mean, and in a second survey for the variance."
    )


def _column(head: str, field: str) -> PageColumn:
    return PageColumn(head, field, ".2f", scale=1000, missing="-")


EXPERIMENT = Experiment(
    id="sw-table-2",
    paper=f"{PAPER}, Table 2 (the methods) under the metrics of its Figures 2 to 4",
    title="All methods for distributions, Beta(5, 2), 100,000 participants, 256 buckets",
    data=("Beta(5, 2)",),
    methods=LABELS,
    metric="mean absolute errors against the histogram of the answers, on [0, 1]",
    grid=(("epsilon", (0.5, 1.0, 2.0)), ("method", LABELS)),
    quick=(("epsilon", (1.0,)), ("method", LABELS)),
    runs=30,
    quick_runs=2,
    cell=Late("distribution.methods:cell"),
    figure=Picture("epsilon", ERRORS, "method", rows=True),
    columns=("epsilon", "method", *ERRORS, "error"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## The methods of the square-wave paper",
        text=_text,
        columns=(
            _column("Wasserstein", "wasserstein"),
            _column("Kolmogorov-Smirnov", "ks"),
            _column("range 0.1", "range_0.1"),
            _column("range 0.4", "range_0.4"),
            _column("deciles", "quantile"),
            _column("mean", "mean"),
            _column("variance", "variance"),
        ),
    ),
)
