"""The experiment on quantiles in rounds: its grid, its table and its page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import Page, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.quantiles.laws import REPORTED, TUNED
from sottovoce_experiments.sources import ADULT, HISTOGRAMS, TAXI

PAGE = Page(
    "results/quantiles.md",
    """\
# Quantiles in rounds

How near `QuantileRounds` comes to the least possible error, and how often its intervals hold. Simulated by
`sottovoce reproduce quantiles-in-rounds --pages docs`, with the protocol that ships: each round is drawn from the exact
law of its counts.
""",
)
SIZES = ((1.0, 10_000), (1.0, 100_000), (1.0, 1_000_000), (0.5, 10_000), (2.0, 100_000), (2.0, 1_000_000))
CASES = (
    *(("spread", 0.5, *size) for size in SIZES),
    ("spread", 0.9, 1.0, 100_000),
    ("ties", 0.5, 1.0, 100_000),
)
AXES = ("answers", "quantile", "epsilon", "n")
BARS = {(1.0, 100_000): 1.5, (1.0, 1_000_000): 1.3, (2.0, 100_000): 1.3, (2.0, 1_000_000): 1.3}  # 2.5 elsewhere


def summary(rows: Sequence[Row]) -> list[str]:
    """Root mean square over all distributions, coverage, and the worst distribution, for each case."""

    def case(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in AXES)

    said = []
    for (answers, level, epsilon, n), group in groupby(sorted(rows, key=case), key=case):
        own = list(group)
        ratio = (sum(row["ratio"] ** 2 for row in own) / len(own)) ** 0.5
        error = sum((row["ratio"] * row["std_error"]) ** 2 for row in own) ** 0.5 / len(own) / max(ratio, 1e-12)
        worst = max(own, key=lambda row: row["ratio"])
        bar = BARS.get((epsilon, n), 2.5)
        over = [row["data"] for row in own if row["ratio"] > bar]
        covers, early, ever = (sum(row[name] for row in own) / len(own) for name in ("coverage", "early", "sequence"))
        nearby = (sum(row["nearby"] ** 2 for row in own) / len(own)) ** 0.5
        said.append(
            f"{answers}, quantile {level:g}, epsilon {epsilon:g}, n {n:,}: ratio {ratio:.2f} (standard error"
            f" {error:.2f}), bar {bar:g}, worst {worst['ratio']:.2f} ({worst['data']}), above the bar:"
            f" {', '.join(over) or 'none'}; up to a part {nearby:.2f}; coverage {covers:.1%}, closed early"
            f" {early:.1%}, sequence {ever:.1%}"
        )
    return said


def surely_above(rows: Sequence[Row]) -> list[Row]:
    """The lines whose ratio is above the bar by more than two standard errors."""
    return [row for row in rows if row["ratio"] - 2 * row["std_error"] > BARS.get((row["epsilon"], row["n"]), 2.5)]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    above = surely_above(rows)
    lines = "\n".join(f"- {line}." for line in summary(rows))
    names = ", ".join(sorted({row["data"] for row in above})) or "none"
    return (
        "The error of an estimate is the distance of the share of answers below it from the share asked for. The floor"
        " is the standard error of that share if everyone were asked about the true quantile:"
        " sqrt((q(1 - q) + e^epsilon / (e^epsilon - 1)^2) / n). `ratio` is the root mean square error over the floor,"
        f" in five rounds, {rows[0]['runs']} runs a line, with its standard error. The settings were chosen on other"
        f" distributions ({', '.join(TUNED)}). `spread` has histograms of 1,024 parts with answers spread evenly over"
        " each part; `ties` has 1,024 whole numbers. There a value is a quantile if the share of answers below it is at"
        " most the share asked for, and the share of answers up to it is at least that: such a value has no error, and"
        " any other the distance to the nearer of the two shares."
        "\n\nBeside a heap of answers in a narrow part of the range, an estimate has a large error although it is close"
        " to the quantile. An answer about a threshold tells at most h^2 / (8 v) nats about the place of a heap of the"
        " share h, with v the variance of one answer. So 1,024 places of a heap are told apart by at least 55 v / h^2"
        " answers, however they are chosen, and a heap of up to seven floors is never found for sure. Therefore `up to"
        " a part` is a second error: the estimate may first move by 1 / 1,024 of the range, as in the promise of"
        " Gaboardi, Rogers and Sheffet (2019), which allows an error of the share or of the place. The bars are those"
        " of `ratio`."
        "\n\nCoverage in percent: of the interval at the end, of"
        " the interval of a search that is closed after three rounds, and of the confidence sequence after all rounds."
        " `width` is half the width of the interval at the end, in floors, and `of the sequence` that of the sequence."
        f"\n\n{len(above)} of {len(rows)} lines are above their bar by more than two standard errors; they are about"
        f" {names}. Over all distributions:\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="quantiles-in-rounds",
    title="Quantiles in five rounds: error over the least possible one",
    metric="root mean square error of the share below the estimate, over the floor",
    data=REPORTED,
    methods=("QuantileRounds",),
    grid=((AXES, CASES), ("data", REPORTED)),
    quick=((AXES, CASES[1:2]), ("data", ("Beta(5, 2)", "uniform"))),
    runs=20,
    quick_runs=4,
    cell=Late("quantiles.search:cell"),
    figure=Picture(
        "n", "ratio", "data", where=(("answers", "spread"), ("quantile", 0.5), ("epsilon", 1.0)), guide=1.0, log="x"
    ),
    columns=(*AXES, "data", "ratio", "std_error", "nearby", "coverage", "early", "sequence", "width", "sequence_width"),
    summary=summary,
    needs=(HISTOGRAMS.file, ADULT.file, TAXI.file),
    section=Section(
        page=PAGE,
        heading="## Error and coverage",
        text=text,
        lead=("answers", "quantile", "epsilon", PageColumn("n", "n", ","), "data"),
        columns=(
            PageColumn("ratio", "ratio", ".2f"),
            PageColumn("+-", "std_error", ".2f"),
            PageColumn("up to a part", "nearby", ".2f"),
            percent("coverage", 0),
            percent("closed early", 0, "early"),
            percent("sequence", 0, "sequence"),
            PageColumn("width", "width", ".1f"),
            PageColumn("of the sequence", "sequence_width", ".0f"),
        ),
    ),
)
