"""Pictures of experiments on sets of items."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row


def variances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The variance of each method over the bound, a mark for each cell."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for method in (*experiment.methods, "hashed sample"):
        shown = [(place, row[method] / row["bound"]) for place, row in enumerate(rows) if row[method] is not None]
        axes.plot(*zip(*shown, strict=True), ".", label=method)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_yscale("log")
    names = [f"{row['items']}, {row['most']}, {row['epsilon']:g}" for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90)
    axes.set_ylabel("variance over the bound")
    axes.legend()
    return figure


def coverage(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Coverage of each kind of interval, a mark for each cell."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for kind in ("exact", "normal", "rare", "sizes"):
        shown = [(place, row[kind]) for place, row in enumerate(rows) if row[kind] is not None]
        axes.plot(*zip(*shown, strict=True), ".", label=kind)
    axes.axhline(0.95, color="grey", linewidth=0.8)
    names = [f"{row['case']}, {row['method']}, {row['epsilon']:g}" for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90)
    axes.set_ylabel("share of intervals that hold the truth")
    axes.legend()
    return figure


def distances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The distance of each method, a mark for each cell."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for method in experiment.methods:
        axes.plot([row[method] for row in rows], ".", label=method)
    names = [f"{row['crowd']}, {row['items']}, {row['epsilon']:g}" for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90)
    axes.set_ylabel("Kendall's distance")
    axes.legend()
    return figure


def key_variances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Variances of shares and of sums of each method."""
    return _dots(
        experiment, rows, ("share", "sum"), ("keys", "most", "epsilon", "method"), "n times the variance", "log"
    )


def key_coverage(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Coverage of means and of shares of each method."""
    return _dots(experiment, rows, ("means", "shares", "few"), ("method", "epsilon"), "intervals that hold the truth")


def _dots(
    experiment: Experiment,
    rows: Sequence[Row],
    kinds: Sequence[str],
    lead: Sequence[str],
    ylabel: str,
    scale: str = "linear",
) -> Figure:
    """A mark for each number of each row."""
    figure = Figure(figsize=(6.4, 4.8))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for kind in kinds:
        shown = [(place, row[kind]) for place, row in enumerate(rows) if row[kind] is not None]
        axes.plot(*zip(*shown, strict=True), ".", label=kind)
    axes.set_yscale(scale)
    names = [", ".join(str(row[name]) for name in lead) for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90, fontsize=5)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure
