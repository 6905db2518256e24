"""Pictures of experiments, as reproducible SVG."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sottovoce_experiments.coverage.study import by_kind
from sottovoce_experiments.experiment import Experiment, Row

_MARKERS = "osv^x"


def save(figure: Figure, path: Path) -> None:
    """Write a figure; text stays text, without dates and random names."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with mpl.rc_context({"svg.hashsalt": "sottovoce", "svg.fonttype": "none"}):
        figure.savefig(unfinished, format="svg", metadata={"Date": None}, bbox_inches="tight")
    os.replace(unfinished, path)


def group_table(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Error by the share of the group, a line for each epsilon; published numbers are crosses."""
    figure, axes = plain(experiment.title)
    for place, epsilon in enumerate(sorted({row["epsilon"] for row in rows})):
        chosen = [row for row in rows if row["epsilon"] == epsilon]
        ratios = [row["ratio"] for row in chosen]
        colour = f"C{place}"
        axes.plot(ratios, [row["error"] for row in chosen], color=colour, label=f"epsilon {epsilon:g}")
        for row in chosen:
            axes.plot(row["ratio"], row["published"], "x", color=colour, alpha=1 if row["required"] else 0.35)
    axes.set_yscale("log")
    axes.set_xlabel("share of the budget for the group")
    axes.set_ylabel("error, in lengths of the range")
    axes.legend(title="lines: ours, crosses: published\n(pale: unstable)", bbox_to_anchor=(1.02, 1), loc="upper left")
    return figure


def group_errors(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """A small picture for each group: median error by epsilon, a line for each method."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    across = min(3, len(groups))
    down = -(-len(groups) // across)
    figure = Figure(figsize=(3 * across + 1.5, 2.4 * down + 0.6), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, group in zip(grid.flat, groups, strict=False):
        for method in dict.fromkeys(row["method"] for row in rows):
            chosen = [row for row in rows if row["group"] == group and row["method"] == method]
            axes.plot([row["epsilon"] for row in chosen], [row["median"] for row in chosen], ".-", label=method)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{group}, {chosen[0]['members']:,}", fontsize="medium")
    for axes in grid.flat[len(groups) :]:
        axes.set_axis_off()
    figure.suptitle(experiment.title)
    figure.supxlabel("epsilon")
    figure.supylabel("median error, in lengths of the range")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def stated_and_true(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """True epsilon by stated epsilon; the grey line is equality."""
    figure, axes = plain(experiment.title)
    stated = sorted({row["epsilon"] for row in rows})
    axes.plot([0, stated[-1]], [0, stated[-1]], color="0.6", linewidth=6, alpha=0.5, label="what is stated, and ours")
    for variant in dict.fromkeys(row["variant"] for row in rows):
        chosen = [row for row in rows if row["variant"] == variant]
        axes.plot([row["epsilon"] for row in chosen], [row["true"] for row in chosen], ".-", label=variant)
    axes.set_xlabel("stated epsilon")
    axes.set_ylabel("true epsilon")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left")
    return figure


def coverage(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """A dot for each judged interval, a row of dots for each kind; the promised level is a bar."""
    found = by_kind(rows)
    figure, axes = plain(experiment.title)
    for place, ((_, _, _, level), each) in enumerate(found.items()):
        axes.plot(each, [place] * len(each), "o", color="C0", alpha=0.4)
        axes.plot(100 * level, place, "|", color="0.2", markersize=18)
    axes.set_yticks(range(len(found)), [", ".join(kind[:3]) for kind in found])
    axes.invert_yaxis()
    axes.set_xlabel("coverage, %")
    return figure


def widths(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Widths of intervals by the number of reports, a line for each method; a colour for each mechanism."""
    figure, axes = plain(experiment.title)
    mechanisms, methods = (list(dict.fromkeys(row[name] for row in rows)) for name in ("mechanism", "method"))
    for mechanism, method in product(mechanisms, methods):
        chosen = [row for row in rows if (row["mechanism"], row["method"]) == (mechanism, method)]
        style = f"{_MARKERS[methods.index(method) % len(_MARKERS)]}-"
        colour, label = f"C{mechanisms.index(mechanism)}", f"{mechanism}, {method}"
        axes.plot([row["n"] for row in chosen], [row["relative"] for row in chosen], style, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("reports")
    axes.set_ylabel("width, in those of the normal interval")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def words_found(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Discoveries by epsilon, a line for each method; crosses where all unlisted answers are one word."""
    figure, axes = plain(experiment.title)
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        for one, mark, label in ((False, "o-", method), (True, "x", None)):
            chosen = [row for row in rows if row["method"] == method and (row["others"] == 1) == one]
            points = [row["epsilon"] for row in chosen], [row["found"] for row in chosen]
            axes.plot(*points, mark, color=f"C{place}", label=label)
    axes.set_xlabel("epsilon of one report")
    axes.set_ylabel("words found")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left")
    return figure


def planned(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Measured errors of the choices beside those of the best methods, by epsilon; a colour for each size."""
    figure, axes = plain(experiment.title)
    for place, size in enumerate(dict.fromkeys(row["k"] for row in rows)):
        chosen = [row for row in rows if row["k"] == size]
        points = [row["epsilon"] for row in chosen], [row["measured_ratio"] for row in chosen]
        axes.plot(*points, "o", color=f"C{place}", alpha=0.5, label=f"k = {size:,}")
    axes.axhline(1, color="0.6")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("mean squared error, in those of the best")
    axes.legend()
    return figure


def rejections(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Rejection rates of true hypotheses beside the level, a colour for each test."""
    figure, axes = plain(experiment.title)
    for place, test in enumerate(dict.fromkeys(row["test"] for row in rows)):
        rates = [100 * float(row["at_5"]) for row in rows if row["test"] == test]
        axes.plot(rates, [place] * len(rates), "o", color=f"C{place}", alpha=0.6, label=str(test))
    axes.axvline(5, color="0.6")
    axes.set_yticks([])
    axes.set_xlabel("rejected at the level 5 %, in per cent")
    axes.legend()
    return figure


def planned_powers(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Planned and measured power, a colour for each test."""
    figure, axes = plain(experiment.title)
    for place, test in enumerate(dict.fromkeys(row["test"] for row in rows)):
        points = [(100 * float(row["power"]), 100 * float(row["seen"])) for row in rows if row["test"] == test]
        axes.plot(*zip(*points, strict=True), "o", color=f"C{place}", alpha=0.6, label=str(test))
    axes.plot([40, 100], [40, 100], color="0.6")
    axes.set_xlabel("planned power, in per cent")
    axes.set_ylabel("seen, in per cent")
    axes.legend()
    return figure


def plain(title: str) -> tuple[Figure, Axes]:
    """A picture of one plot."""
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    return figure, axes


def powers(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Measured power against the predicted one."""
    figure, axes = plain(experiment.title)
    for place, test in enumerate(dict.fromkeys(row["test"] for row in rows)):
        own = [row for row in rows if row["test"] == test]
        predicted, power = ([100 * float(row[name]) for row in own] for name in ("predicted", "power"))
        axes.plot(predicted, power, "o", color=f"C{place}", label=str(test))
    axes.plot([0, 100], [0, 100], color="0.6")
    axes.set_xlabel("predicted power, per cent")
    axes.set_ylabel("measured power, per cent")
    axes.legend()
    return figure


def watched(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """How often watched experiments reject a true hypothesis: by e-values, and by the usual p-value."""
    figure, axes = plain(experiment.title)
    null = [row for row in rows if not row["difference"]]
    for name, text in (("at_5", "e-value reached 20"), ("naive", "p-value was below 5 %")):
        axes.plot([100 * float(row[name]) for row in null], range(len(null)), "o", label=text)
    axes.axvline(5, color="0.6")
    axes.set_yticks(range(len(null)), [f"epsilon {row['epsilon']:g}, ratio {row['ratio']}" for row in null])
    axes.set_xlabel("streams, per cent")
    axes.legend()
    return figure
