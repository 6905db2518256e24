"""Pictures of experiments on distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from sottovoce.experiments.experiment import Experiment, Row


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


def variances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Variance by epsilon, a line for each method; the bound is dashed."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    chosen = [row for row in rows if (row["shape"], row["bins"]) == (rows[0]["shape"], rows[0]["bins"])]
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
