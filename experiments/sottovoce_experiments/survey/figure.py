"""The picture of a table of methods."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.figures import plain


def errors(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error of each method by epsilon; crosses are measured."""
    figure, axes = plain(experiment.title)
    shown = [row for row in rows if row["error"] is not None]
    for number, mechanism in enumerate(dict.fromkeys(row["mechanism"] for row in shown)):
        chosen = [row for row in shown if row["mechanism"] == mechanism]
        epsilons = [row["epsilon"] for row in chosen]
        axes.plot(epsilons, [row["error"] for row in chosen], ".-", color=f"C{number % 10}", label=mechanism)
        axes.plot(epsilons, [row["measured"] for row in chosen], "x", color=f"C{number % 10}")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel(experiment.metric)
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure
