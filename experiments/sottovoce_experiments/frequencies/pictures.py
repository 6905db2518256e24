"""Pictures of experiments with shares."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row


def errors(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Mean squared error by epsilon, a panel for each number of participants."""
    return _panels(experiment, rows, ("n",), "mse")


def deviations(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The same, with the standard deviation over runs and data sets as a shade."""
    return _panels(experiment, rows, ("n",), "mse", shade=True)


def variances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Variance of the estimates by epsilon."""
    return _panels(experiment, rows, ("n",), "variance")


def sizes(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Mean squared error by epsilon, a panel for each number of values and participants."""
    return _panels(experiment, rows, ("k", "n"), "mse")


def _panels(
    experiment: Experiment, rows: Sequence[Row], by: tuple[str, ...], what: str, *, shade: bool = False
) -> Figure:
    places = list(dict.fromkeys(tuple(row[name] for name in by) for row in rows))
    across = min(3, len(places))
    down = -(-len(places) // across)
    figure = Figure(figsize=(3.2 * across + 1.8, 2.6 * down + 0.6), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, place in zip(grid.flat, places, strict=False):
        here = [row for row in rows if tuple(row[name] for name in by) == place]
        _lines(axes, here, what, shade=shade)
        axes.set_title(
            ", ".join(f"{name} = {value:,}" for name, value in zip(by, place, strict=True)), fontsize="medium"
        )
    for axes in grid.flat[len(places) :]:
        axes.set_axis_off()
    figure.suptitle(experiment.title)
    figure.supxlabel("epsilon")
    figure.supylabel("variance of a share" if what == "variance" else "mean squared error of a share")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def _lines(axes: Axes, rows: Sequence[Row], what: str, *, shade: bool) -> None:
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        chosen = [row for row in rows if row["method"] == method and row[what] is not None]
        budgets, values = [row["epsilon"] for row in chosen], [row[what] for row in chosen]
        axes.plot(budgets, values, ".-", color=f"C{place}", label=method)
        if shade:
            low = [max(row["mse"] - row["std"], row["mse"] / 10) for row in chosen]
            high = [row["mse"] + row["std"] for row in chosen]
            axes.fill_between(budgets, low, high, color=f"C{place}", alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")


def decoders(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Errors of each decoder in those of the linear one; a dot for each cell."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(experiment.title, fontsize="medium")
    names = list(dict.fromkeys(row["decoder"] for row in rows))
    unbiased = [row["error"] for row in rows if row["decoder"] == names[0]]
    for place, name in enumerate(names):
        errors = [row["error"] for row in rows if row["decoder"] == name]
        ratios = [error / first for error, first in zip(errors, unbiased, strict=True) if error is not None]
        axes.plot(ratios, [place] * len(ratios), "o", color=f"C{place}", alpha=0.4)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("error, in those of the linear decoder")
    return figure


def compression(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The least epsilon by distortion, a line for each law and number of reports."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, outputs in dict.fromkeys((row["answers"], row["outputs"]) for row in rows):
        here = [row for row in rows if (row["answers"], row["outputs"]) == (name, outputs) and row["least"] is not None]
        axes.plot(
            [float(row["distortion"]) for row in here], [row["least"] for row in here], "o-", label=f"{name}, {outputs}"
        )
    axes.set_xlabel("share of changed answers")
    axes.set_ylabel("least epsilon")
    axes.set_title(experiment.title, fontsize="medium")
    axes.legend(fontsize="x-small")
    return figure
