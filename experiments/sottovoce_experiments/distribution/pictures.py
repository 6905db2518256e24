"""Pictures of experiments on distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row


def distances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Wasserstein distance by epsilon, the mean over all answers, a line for each method; bars are crosses."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    methods = list(dict.fromkeys((row["mechanism"], row["decoder"]) for row in rows))
    for place, method in enumerate(methods):
        chosen = [row for row in rows if (row["mechanism"], row["decoder"]) == method]
        epsilons = list(dict.fromkeys(row["epsilon"] for row in chosen))
        means = [np.mean([row["wasserstein"] for row in chosen if row["epsilon"] == e]) for e in epsilons]
        axes.plot(epsilons, means, ".-", color=f"C{place}", label=", ".join(method))
        bars = [(row["epsilon"], row["bar"]) for row in chosen if row.get("bar") is not None]
        if bars:
            axes.plot(*zip(*bars, strict=True), "x", color=f"C{place}")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("Wasserstein distance")
    axes.legend()
    return figure


def ratios(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The ratio of each data set by epsilon; a line at the better of EM and EMS."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for place, half in enumerate(dict.fromkeys(row["half"] for row in rows)):
        chosen = [row for row in rows if row["half"] == half]
        axes.plot(
            [row["epsilon"] for row in chosen], [row["ratio"] for row in chosen], ".", color=f"C{place}", label=half
        )
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("distance of bayes, relative to the better of EM and EMS")
    axes.legend()
    return figure


def choices(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean distance of each choice by epsilon, relative to the better of EM and EMS."""
    lines = {name: [(row["epsilon"], row[name], row["better"]) for row in rows] for name in experiment.methods}
    return _relative(experiment, lines)


def kinds_of_reports(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean distance from each kind of reports by epsilon, relative to the better of EM and EMS."""
    lines = {
        name: [(row["epsilon"], row["bayes"], row["better"]) for row in rows if row["reports"] == name]
        for name in experiment.methods
    }
    return _relative(experiment, lines)


def _relative(experiment: Experiment, lines: dict[str, list[tuple[float, float, float]]]) -> Figure:
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium", wrap=True)
    for name, points in lines.items():
        epsilons = list(dict.fromkeys(epsilon for epsilon, _, _ in points))
        own = [np.array([pair for epsilon, *pair in points if epsilon == wanted]) for wanted in epsilons]
        axes.plot(epsilons, [one[:, 0].sum() / one[:, 1].sum() for one in own], ".-", label=name)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("distance, relative to the better of EM and EMS")
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


def by_data(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """A row of pictures for each metric, one for each data set: error by epsilon, a line for each method."""
    metrics = [name for name in experiment.columns if name not in ("data", "method", "buckets", "epsilon", "error")]
    axis = "method" if "method" in rows[0] else "buckets"
    sets = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(3 * len(sets) + 2, 2.6 * len(metrics) + 0.6), layout="constrained")
    grid = figure.subplots(len(metrics), len(sets), sharex=True, squeeze=False)
    for line, metric in enumerate(metrics):
        for place, data in enumerate(sets):
            axes = grid[line][place]
            for method in dict.fromkeys(row[axis] for row in rows):
                chosen = [row for row in rows if row["data"] == data and row[axis] == method and row[metric]]
                axes.plot([row["epsilon"] for row in chosen], [row[metric] for row in chosen], ".-", label=str(method))
            axes.set_yscale("log")
            axes.set_title(f"{data}, {metric}", fontsize="small")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    return figure


def by_width(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """A picture for each data set: Wasserstein distance by the width of the wave, a line for each shape or epsilon."""
    axis = "shape" if "shape" in rows[0] else "epsilon"
    sets = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(3 * len(sets) + 1.5, 3), layout="constrained")
    grid = figure.subplots(1, len(sets), sharex=True, squeeze=False)
    for axes, data in zip(grid[0], sets, strict=True):
        for kind in dict.fromkeys(row[axis] for row in rows):
            chosen = [row for row in rows if row["data"] == data and row[axis] == kind]
            axes.plot([row["width"] for row in chosen], [row["wasserstein"] for row in chosen], ".-", label=f"{kind}")
        axes.set_yscale("log")
        axes.set_title(data, fontsize="small")
        axes.set_xlabel("half-width")
    grid[0][-1].legend(title=axis, fontsize="small")
    return figure


def variances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Variance by epsilon, a line for each method; the bound is dashed."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    chosen = [row for row in rows if all(row.get(name) == rows[0].get(name) for name in ("shape", "bins"))]
    for method in dict.fromkeys(row["method"] for row in chosen):
        points = [(row["epsilon"], row["variance"]) for row in chosen if row["method"] == method]
        axes.plot(*zip(*points, strict=True), ".-", label=method)
    bounds = sorted({(row["epsilon"], row["bound"]) for row in chosen})
    axes.plot(*zip(*bounds, strict=True), "k--", label="lower bound")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("variance per participant")
    axes.legend()
    return figure


def range_ratios(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The ratio of each data set by epsilon, a colour for each size; a line at AHEAD."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    for place, size in enumerate(dict.fromkeys(row["buckets"] for row in rows)):
        chosen = [row for row in rows if row["buckets"] == size]
        points = [row["epsilon"] for row in chosen], [row["ratio"] for row in chosen]
        axes.plot(*points, ".", color=f"C{place}", label=f"{size:,} buckets")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("squared error, relative to AHEAD")
    axes.legend()
    return figure


def by_children(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Variance of a range by the number of children, a line for each method, at the first epsilon."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    chosen = [row for row in rows if row["epsilon"] == rows[0]["epsilon"]]
    for method in experiment.methods:
        axes.plot([row["branching"] for row in chosen], [row[method] for row in chosen], ".-", label=method)
    axes.set_yscale("log")
    axes.set_xlabel("children of a node")
    axes.set_ylabel("variance per participant")
    axes.legend()
    return figure
