"""Pictures of experiments on distributions."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce.experiments.experiment import Experiment, Row


def distances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Wasserstein distance by epsilon, a line for each method; bars are crosses."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    methods = list(dict.fromkeys((row["mechanism"], row["decoder"]) for row in rows))
    for place, method in enumerate(methods):
        chosen = [row for row in rows if (row["mechanism"], row["decoder"]) == method]
        epsilons = [row["epsilon"] for row in chosen]
        axes.plot(epsilons, [row["wasserstein"] for row in chosen], ".-", color=f"C{place}", label=", ".join(method))
        bars = [(row["epsilon"], row["bar"]) for row in chosen if row["bar"] is not None]
        if bars:
            axes.plot(*zip(*bars, strict=True), "x", color=f"C{place}")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("Wasserstein distance")
    axes.legend()
    return figure
