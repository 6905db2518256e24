"""Pictures of contingency tables: a heat map with intervals, and a mosaic whose areas are shares of all people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.show import plot as rows

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.request import IntervalRequest

MOST_CELLS = 80  # with numbers in them; larger tables are shown row by row
MOST_LABEL = 18
SHADES = "Blues"
DARK = 0.6  # of the scale, from which on numbers are white
SIZE = 10  # of numbers, in points: they stay readable where a page shows the picture at half of its width
WIDE, NARROW = 0.9, 0.4  # inches that a number needs with its interval, and alone
HIGH, LOW = 0.1, 0.05  # share of the height that both need


def plot(estimate: Estimate, bounds: Bounds, request: IntervalRequest, axes: Any) -> Any:
    """A heat map of a table of two attributes: each cell has its share and its interval, in percent.

    The cells of a fit also have the share if the attributes were independent, and the interval stands in brackets.
    """
    shape = estimate.axes.shape
    if shape is None or len(shape) != 2 or np.prod(shape) > MOST_CELLS:
        return rows.plot(estimate, bounds, request, axes)
    baseline = _independent(estimate)
    axes = _axes(axes, (1.2 + 1.3 * shape[1], 1.4 + (0.62 if baseline is None else 0.85) * shape[0]))
    values = estimate.values.reshape(shape)
    low, high = (end.reshape(shape) for end in bounds)
    top = max(float(np.nanmax(values)), 1e-9)
    axes.imshow(np.clip(np.nan_to_num(values), 0, top), cmap=SHADES, vmin=0, vmax=top, aspect="auto")
    for row, column in np.ndindex(*shape):
        text = f"{_percent(low[row, column])} to {_percent(high[row, column])}"
        if baseline is not None:
            text = f"independent {_percent(baseline[row, column])}\n({text})"
        text = f"{_percent(values[row, column])}\n{text}"
        colour = "white" if values[row, column] > DARK * top else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=SIZE, color=colour)
    first, second = estimate.axes.each
    axes.set_xticks(range(shape[1]), [printable(str(label), MOST_LABEL) for label in second.labels])
    axes.set_yticks(range(shape[0]), [printable(str(label), MOST_LABEL) for label in first.labels])
    axes.set_xlabel(second.name)
    axes.set_ylabel(first.name)
    axes.set_title(_title(estimate, request, "percent"), fontsize=SIZE)
    return axes


def mosaic(estimate: Estimate, bounds: Bounds, request: IntervalRequest, axes: Any) -> Any:
    """Columns as wide as the groups, divided by the shares within them; negative shares count as zero."""
    shape = estimate.axes.shape
    if shape is None or len(shape) != 2 or np.prod(shape) > MOST_CELLS:
        return rows.plot(estimate, bounds, request, axes)
    evidence: Any = estimate.evidence
    axes = _axes(axes, (1.8 + 1.3 * shape[0], 4.2))
    sizes = np.clip(evidence.table.values().reshape(shape).sum(axis=1), 0, None)
    widths = sizes / max(float(sizes.sum()), 1e-9)
    values = np.nan_to_num(estimate.values.reshape(shape))
    heights = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-9)
    low, high = (end.reshape(shape) for end in bounds)
    first, second = estimate.axes.each
    colours = plt.get_cmap(SHADES)(np.linspace(0.1, 0.5, shape[1]))
    lefts = np.cumsum(widths) - widths
    for group in range(shape[0]):
        bottom = 0.0
        for place in range(shape[1]):
            height = heights[group, place]
            label = printable(str(second.labels[place]), MOST_LABEL) if group == 0 else None
            box = (lefts[group], bottom), widths[group], height
            axes.add_patch(Rectangle(*box, facecolor=colours[place], edgecolor="white", linewidth=2, label=label))
            room = widths[group] * 1.3 * shape[0]
            if height > LOW and room > NARROW:
                text = _percent(estimate.values.reshape(shape)[group, place])
                if height > HIGH and room > WIDE:
                    text += f"\n{_percent(low[group, place])} to {_percent(high[group, place])}"
                middle = lefts[group] + widths[group] / 2, bottom + height / 2
                axes.text(*middle, text, ha="center", va="center", fontsize=SIZE)
            bottom += height
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_xticks(lefts + widths / 2, [printable(str(label), MOST_LABEL) for label in first.labels])
    axes.set_xlabel(first.name)
    axes.set_title(_title(estimate, request, f"{second.name} within {first.name}, percent"), fontsize=SIZE)
    axes.legend(title=second.name, bbox_to_anchor=(1.01, 1), loc="upper left", frameon=False, reverse=True)
    return axes


def _independent(estimate: Estimate) -> Any:
    """The shares of independent attributes, beside a fit; None for other estimates."""
    if not isinstance(estimate.fit, JointFit):
        return None
    return estimate.fit.independent.table(estimate.axes.names)


def _axes(axes: Any, size: tuple[float, float]) -> Any:
    return plt.subplots(figsize=size, layout="constrained")[1] if axes is None else axes


def _title(estimate: Estimate, request: IntervalRequest, what: str) -> str:
    simulated = "simulation, " if estimate.simulated else ""
    reports = f"{simulated}{plural(estimate.n, 'report', ',')}, epsilon {estimate.epsilon:.4g}"
    if not estimate.decoder.moves:
        return f"{reports}\n{what}, {request.words()}"
    return f"{reports}\n{what}, {estimate.quality}\nin brackets {request.words()} of the unbiased shares"


def _percent(share: Any) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f}"
