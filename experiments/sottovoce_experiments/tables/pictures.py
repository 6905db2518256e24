"""Pictures of errors and of coverage of cross tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.figures import plain


def distances(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean error of each method by epsilon; a style of line for each file."""
    figure, axes = plain(experiment.title)
    crowds = list(dict.fromkeys((row["data"], row["people"]) for row in rows))
    for style, crowd in zip(("-", "--", ":"), crowds, strict=False):
        chosen = [row for row in rows if (row["data"], row["people"]) == crowd]
        for place, method in enumerate(experiment.methods):
            label = f"{method}, {crowd[0]}, {crowd[1]:,} people"
            points = [row["epsilon"] for row in chosen], [row[method] for row in chosen]
            axes.plot(*points, style, marker=".", color=f"C{place}", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("sum of absolute errors of a table")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def ratios(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The variance of each design over the lower bound, by epsilon; dashed for tables of three attributes."""
    figure, axes = plain(experiment.title)
    for ways, style in ((2, "-"), (3, "--")):
        chosen = [row for row in rows if row["ways"] == ways]
        for place, design in enumerate(experiment.methods):
            points = [row["epsilon"] for row in chosen], [row[design] for row in chosen]
            axes.plot(*points, style, marker=".", color=f"C{place}", label=f"{design}, {ways} attributes")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("epsilon")
    axes.set_ylabel("total variance over the lower bound")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def coverage(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The share of intervals that hold the truth, by kind; each line is a file with a number of people."""
    figure, axes = plain(experiment.title)
    kinds = experiment.columns[3:-3]
    for place, (data, people) in enumerate(dict.fromkeys((row["data"], row["participants"]) for row in rows)):
        chosen = [row for row in rows if (row["data"], row["participants"]) == (data, people)]
        for row in chosen:
            label = f"{data}, {people:,} people" if row is chosen[0] else None
            axes.plot(kinds, [row[kind] for kind in kinds], ".", color=f"C{place}", label=label)
    axes.axhline(0.95, color="0.5", linewidth=1)
    axes.set_ylabel("share of 95 % intervals that hold the truth")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def ratios_of_bits(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The variance of each design over the lower bound, by epsilon; a style of line for each number of attributes."""
    figure = by_epsilon(experiment, rows, ("attributes", "ways"))
    figure.axes[0].set_ylabel("total variance over the lower bound")
    return figure


def distances_of_bits(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean error of each method by epsilon; a style of line for each number of attributes."""
    figure = by_epsilon(experiment, rows, ("attributes",))
    figure.axes[0].set_ylabel("sum of absolute errors of a table")
    return figure


def by_epsilon(experiment: Experiment, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Figure:
    """A line for each method and each combination of keys."""
    figure, axes = plain(experiment.title)
    groups = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    for style, group in zip(("-", "--", ":", "-."), groups, strict=False):
        chosen = [row for row in rows if tuple(row[key] for key in keys) == group]
        said = ", ".join(f"{value} {key}" for key, value in zip(keys, group, strict=True))
        for place, method in enumerate(experiment.methods):
            points = [row["epsilon"] for row in chosen], [row[method] for row in chosen]
            axes.plot(*points, style, marker=".", color=f"C{place}", label=f"{method}, {said}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def distances_of_methods(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean error of each method by epsilon; a colour for each kind of attributes."""
    figure, axes = plain(experiment.title)
    kinds = list(dict.fromkeys(row["attributes"] for row in rows))
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        chosen = [row for row in rows if row["method"] == method]
        style = ("-", "--", ":", "-.")[place % 4]
        color = f"C{kinds.index(chosen[0]['attributes'])}"
        points = [row["epsilon"] for row in chosen], [row["distance"] for row in chosen]
        axes.plot(*points, style, marker=".", color=color, label=f"{method} ({chosen[0]['attributes']})")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("sum of absolute errors of a table")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def distances_of_rounds(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The mean error after one round and after two, by epsilon; a style of line for each file."""
    figure = by_epsilon(experiment, rows, ("data",))
    figure.axes[0].set_ylabel("sum of absolute errors of a table")
    return figure


def distances_of_authors(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Our distance as a line and the authors' bars as crosses, by the number of attributes."""
    figure, axes = plain(experiment.title)
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        chosen = [row for row in rows if row["method"] == method]
        sizes = [row["attributes"] for row in chosen]
        axes.plot(sizes, [row["distance"] for row in chosen], color=f"C{place}", label=method)
        axes.plot(sizes, [row["plot"] for row in chosen], "x", color=f"C{place}", label=f"{method}, authors' plot")
    axes.set_xlabel("attributes")
    axes.set_ylabel("total variation distance of a table")
    axes.legend()
    return figure


def ratios_of_numbers(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error of waves over that of bins, by epsilon: of tables, and of each number."""
    figure, axes = plain(experiment.title)
    for place, name in enumerate(name for name in rows[0] if name.startswith("ratio_") and f"{name}_error" in rows[0]):
        epsilons, values, errors = ([row[key] for row in rows] for key in ("epsilon", name, f"{name}_error"))
        label = name.removeprefix("ratio_").replace("_", " ")
        axes.errorbar(epsilons, values, errors, marker=".", color=f"C{place}", label=label)
    axes.axhline(1, color="0.5", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("epsilon")
    axes.set_ylabel("error of waves over that of bins")
    axes.legend()
    return figure
