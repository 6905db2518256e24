"""Draws declared pictures with matplotlib, as reproducible SVG and as PNG."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment
from sottovoce_experiments.picture import DIAGONAL, Picture, several
from sottovoce_experiments.row import Row

ACROSS = 3  # panels in a row
COLOURS = 10
WIDE = 34  # letters beside one row of panels
DASHES = ("-", "--", ":", "-.")
_STYLE: Any = {
    "svg.hashsalt": "sottovoce",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def save(figure: Figure, path: Path, *, png: bool = True) -> None:
    """Write a figure as SVG, and as PNG beside it; text stays text, without dates and random names."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with mpl.rc_context(_STYLE):
        figure.savefig(unfinished, format="svg", metadata={"Date": None}, bbox_inches="tight")
        os.replace(unfinished, path)
        if png:
            figure.savefig(unfinished, format="png", dpi=200, bbox_inches="tight")
            os.replace(unfinished, path.with_suffix(".png"))


def plain(title: str) -> tuple[Figure, Axes]:
    """A picture of one plot."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium", wrap=True)
    return figure, axes


def picture(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The declared picture of an experiment."""
    shape = experiment.figure
    if not isinstance(shape, Picture):
        raise TypeError("This experiment draws its own picture.")
    chosen = shape.shown(rows)
    values = several(shape.y) if shape.rows else ("",)
    places = _values(chosen, several(shape.panels))
    grid = [(value, place) for value in values for place in places]
    across = len(places) if shape.rows and len(places) > 1 else min(ACROSS, len(grid))
    down = -(-len(grid) // across)
    size = (6.4, 4.4) if len(grid) == 1 else (3 * across + 1.6, 2.5 * down + 0.6)
    if _is_labelled(shape, chosen):
        size = (max(size[0], 7.4), max(size[1], 1.2 + 0.16 * down * len(_values(chosen, several(shape.x)))))
    figure = Figure(figsize=size, layout="constrained")
    boxes = figure.subplots(down, across, sharex=True, sharey=not shape.rows, squeeze=False)
    for axes, (value, place) in zip(boxes.flat, grid, strict=False):
        here = [row for row in chosen if _of(row, several(shape.panels)) == place]
        _panel(axes, shape, here, chosen, (value,) if value else several(shape.y))
        axes.set_title(
            ", ".join(part for part in (_said(several(shape.panels), place), value) if part), fontsize="small"
        )
    for axes in boxes.flat[len(grid) :]:
        axes.set_axis_off()
    figure.suptitle(experiment.title, fontsize="medium", wrap=True)
    words = [shape.xlabel or ", ".join(several(shape.x)), shape.ylabel or experiment.metric]
    if _is_labelled(shape, chosen):
        words = words[::-1]
    figure.supxlabel(words[0], fontsize="medium")
    figure.supylabel(fill(words[1], WIDE * down), fontsize="medium")
    handles: dict[str, Any] = {}
    for axes in boxes.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize="small")
    return figure


def _panel(axes: Axes, shape: Picture, rows: Sequence[Row], all_rows: Sequence[Row], fields: Sequence[str]) -> None:
    names, by = several(shape.x), several(shape.lines)
    labelled = _is_labelled(shape, all_rows)
    places = _values(all_rows, names)
    lines = [(field, line) for line in _values(all_rows, by) for field in fields]
    for number, (field, line) in enumerate(lines):
        own = [row for row in rows if _of(row, by) == line and row.get(field) is not None]
        colour = f"C{number % COLOURS}"
        style: dict[str, Any] = {
            "color": colour,
            "marker": "o" if shape.dots else ".",
            "alpha": 0.7 if shape.dots else 1.0,
        }
        style["linestyle"] = "" if shape.dots else DASHES[number // COLOURS % len(DASHES)]
        label = ", ".join(part for part in (_said(by, line), field if len(fields) > 1 else "") if part)
        points = [(places.index(_of(row, names)) if labelled else float(row[names[0]]), row) for row in own]
        if shape.mean:  # of numbers and divisors, each
            points = [(x, _mean([row for other, row in points if other == x], field, shape)) for x, _ in points]
        drawn = [(x, row[field] / (row[shape.over] if shape.over else 1)) for x, row in points]
        axes.plot(*_columns(drawn, swapped=labelled), label=label or None, **style)
        if shape.crosses:
            crosses = [(x, row[shape.crosses]) for x, row in points if row.get(shape.crosses) is not None]
            axes.plot(*_columns(crosses, swapped=labelled), "x", color=colour)
        if shape.spread:
            low = [max(row[field] - row[shape.spread], row[field] / 10) for _, row in points]
            high = [row[field] + row[shape.spread] for _, row in points]
            axes.fill_between([x for x, _ in points], low, high, color=colour, alpha=0.15, linewidth=0)
    if shape.dashes:
        known = {float(row[names[0]]): row[shape.dashes] for row in rows if row.get(shape.dashes) is not None}
        axes.plot(*_columns(sorted(known.items())), "k--", label=shape.dashes)
    if shape.guide == DIAGONAL:
        axes.axline((1, 1), slope=1, color="0.6", linewidth=0.8)
    elif isinstance(shape.guide, (int, float)):
        (axes.axvline if labelled else axes.axhline)(shape.guide, color="0.6", linewidth=0.8)
    if labelled:
        axes.set_yticks(range(len(places)), [_said((), place) for place in places], fontsize="x-small")
        axes.set_ylim(len(places) - 0.5, -0.5)
    for axis, scaled in (("x", axes.set_xscale), ("y", axes.set_yscale)):
        if (axis in shape.log and not labelled) or (labelled and axis == "x" and "y" in shape.log):
            scaled("log")


def _is_labelled(shape: Picture, rows: Sequence[Row]) -> bool:
    """Whether places have labels rather than numbers."""
    names = several(shape.x)
    return len(names) > 1 or any(isinstance(row[names[0]], str) for row in rows)


def _of(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _values(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of these fields in the rows, each once."""
    return list(dict.fromkeys(_of(row, names) for row in rows))


def _said(names: Sequence[str], values: Sequence[Any]) -> str:
    """Values as a label; numbers have the name of their field."""
    texts = [
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
        for value in values
    ]
    if not names:
        return ", ".join(texts)
    return ", ".join(
        text if isinstance(value, str) else f"{name} = {text}"
        for name, value, text in zip(names, values, texts, strict=True)
    )


def _columns(points: Sequence[tuple[float, float]], *, swapped: bool = False) -> tuple[list[float], list[float]]:
    """Both coordinates; places with a label go down, so that labels can be read."""
    across, up = [x for x, _ in points], [y for _, y in points]
    return (up, across) if swapped else (across, up)


def _mean(rows: Sequence[Row], field: str, shape: Picture) -> Row:
    """The rows of one place as one, with means of what is drawn."""
    names = [name for name in (field, shape.over, shape.crosses) if name and rows[0].get(name) is not None]
    return {**rows[0], **{name: sum(row[name] for row in rows) / len(rows) for name in names}}
