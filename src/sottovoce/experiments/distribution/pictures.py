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


def errors_by_method(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """A small picture for each metric: the error by epsilon, a line for each method that has it."""
    names = [name for name in experiment.columns if name not in (*experiment.axes, "error")]
    figure = Figure(figsize=(12, 6), layout="constrained")
    grid = figure.subplots(2, 4, squeeze=False)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axes, name in zip(grid.flat, names, strict=False):
        for place, method in enumerate(methods):
            chosen = [row for row in rows if row["method"] == method and row[name] is not None]
            points = [row["epsilon"] for row in chosen], [row[name] for row in chosen]
            axes.plot(*points, "o-" if place < 10 else "s--", color=f"C{place % 10}", label=method)
        axes.set_yscale("log")
        axes.set_title(name, fontsize="medium")
    handles, labels = grid.flat[len(names) - 1].get_legend_handles_labels()  # every method has a mean and a variance
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
        axes.legend(handles, labels, loc="center", fontsize="small")
    figure.suptitle(experiment.title)
    figure.supxlabel("epsilon")
    return figure
