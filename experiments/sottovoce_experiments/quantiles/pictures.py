"""The picture of errors of quantiles in rounds."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.figures import plain


def ratios(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error over the floor by the number of participants, with a line for each distribution at epsilon 1."""
    figure, axes = plain(experiment.title)
    chosen = [row for row in rows if (row["answers"], row["quantile"], row["epsilon"]) == ("spread", 0.5, 1.0)]
    for name in dict.fromkeys(row["data"] for row in chosen):
        own = [row for row in chosen if row["data"] == name]
        axes.plot([row["n"] for row in own], [row["ratio"] for row in own], marker=".", label=name)
    axes.axhline(1, color="grey", linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("participants")
    axes.set_ylabel("error over the floor, median, epsilon 1")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def methods(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error over the floor by method, with a point for each distribution."""
    figure, axes = plain(experiment.title)
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        axes.plot([row["ratio"] for row in own], [row["method"] for row in own], "o", label=name)
    axes.axvline(1, color="grey", linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("error over the floor")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def promises(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The root mean square error by the error that was promised, with a line for each distribution."""
    figure, axes = plain(experiment.title)
    for name in dict.fromkeys(row["data"] for row in rows):
        own = sorted((row for row in rows if row["data"] == name), key=lambda row: float(row["promised"]))
        axes.plot([row["promised"] for row in own], [row["rmse"] for row in own], "o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("error of the share that is promised")
    axes.set_ylabel("root mean square error of the share")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure
