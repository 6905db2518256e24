"""Pictures of estimates and of differences between groups: points, intervals, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.estimate.evidence import Bounds, Floats
from sottovoce.estimate.show.remarks import remark
from sottovoce.estimate.show.tables import decimals, number, subject

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.group_mean.contrasts import GroupComparison
    from sottovoce.estimate.request import IntervalRequest

MOST_LISTED = 40  # rows with a label and numbers; more are points along an axis of places
MOST_LABEL = 30
MARGIN = 0.08  # of the width of all intervals, on either side
NEAR = 1.0  # widths of all intervals from which on a limit is out of the picture
BAR, MARK, LINE = "0.55", "C0", "0.8"


def plot(estimate: Estimate, bounds: Bounds, request: IntervalRequest, axes: Any) -> Any:
    """One row for each value, in the order of the domain: point, interval, numbers; lines where the truth must end."""
    labels = [printable(text, MOST_LABEL) for text in estimate.axes.texts()]
    places = decimals(np.sqrt(estimate.evidence.variances(request.target)))
    limits = [float(end) for end in estimate.evidence.limits] if np.ndim(estimate.evidence.limits[0]) == 0 else []
    note = remark(estimate, bounds, request.target)
    noun = subject(estimate) if len(labels) == 1 else estimate.evidence.noun
    named = f"{noun}, from {limits[0]:g} to {limits[1]:g}" if np.isfinite(limits).all() and limits else noun
    title = f"{_through(estimate)}, {plural(estimate.n, 'report', ',')}, epsilon {estimate.epsilon:.4g}"
    title += f"\n{request.words()}"
    picture = DrawnValues(labels, estimate.values, bounds, places, limits)
    if len(labels) <= MOST_LISTED:
        return _rows(picture, axes, title, (": ".join(estimate.axes.headings), named), note)
    return _points(picture, axes, title, (noun, ": ".join(estimate.axes.headings)), note)


def plot_differences(comparison: GroupComparison, table: pd.DataFrame, about: str, axes: Any) -> Any:
    """The differences of a table, beside the line of no difference."""
    names = zip(table["group"], table["other"], strict=True)
    labels = [f"{printable(group, MOST_LABEL)} less {printable(other, MOST_LABEL)}" for group, other in names]
    values, low, high = (table[name].to_numpy() for name in ("difference", "low", "high"))
    p_values = table["adjusted"].to_numpy() if "adjusted" in table else None
    picture = DrawnValues(labels, values, Bounds(low, high), decimals(table["std_error"]), [0.0], p_values, near=np.inf)
    title, n = _through(comparison), sum(source.n for source in comparison.sources)
    title += f", {plural(n, 'report', ',')}\n{about}" if comparison.sources else about
    if len(labels) <= MOST_LISTED:
        return _rows(picture, axes, title, ("groups", "difference of means"))
    return _points(picture, axes, title, ("difference of means", "groups"))


def _through(shown: Estimate | GroupComparison) -> str:
    """The mechanisms behind numbers."""
    through = printable(", ".join(dict.fromkeys(source.mechanism.name for source in shown.sources)))
    return f"simulation of {through}" if shown.simulated else through


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """A picture: labels, values and intervals, printed to so many decimal places, and reference lines."""

    labels: Sequence[str]
    values: Floats
    bounds: Bounds
    places: int
    lines: Sequence[float]
    p_values: Floats | None = None
    near: float = NEAR

    @property
    def numbers(self) -> Iterator[str]:
        """Value and interval of each row, and its p-value where there is one."""
        form = f"{{:.{self.places}f}}"
        for place, triple in enumerate(zip(self.values, *self.bounds, strict=True)):
            value, low, high = (number(float(end), form) for end in triple)
            chance = "" if self.p_values is None else f", p = {self.p_values[place]:.2g}"
            yield f"{value} [{low}, {high}]{chance}"

    @cached_property
    def view(self) -> tuple[float, float]:
        """The ends of the axis: all that is estimable and finite, and lines that are near."""
        seen = np.column_stack([self.values, *self.bounds])
        known = seen[~np.isnan(self.values)]
        seen = known if len(known) else seen
        seen = seen[np.isfinite(seen)]
        if not len(seen):
            return -1.0, 1.0
        low, high = float(seen.min()), float(seen.max())
        width = (high - low) or max(abs(low), 1.0)
        near = [line for line in self.lines if low - self.near * width <= line <= high + self.near * width]
        low, high = min([low, *near]), max([high, *near])
        margin = MARGIN * ((high - low) or width)
        return low - margin, high + margin

    def ends(self) -> tuple[Floats, Floats]:
        """Intervals as far as they are in the picture."""
        first, last = self.view
        low, high = (np.clip(end, first, last) for end in self.bounds)
        return low, high

    @property
    def styles(self) -> list[str]:
        """Dotted lines where a value is not estimable."""
        return ["dotted" if unknown else "solid" for unknown in np.isnan(self.values)]


def _rows(picture: DrawnValues, axes: Any, title: str, names: tuple[str, str], note: str | None = None) -> Any:
    """A row for each value, the first one on top, with its numbers at the right."""
    count = len(picture.labels)
    if axes is None:
        _, axes = plt.subplots(figsize=(7.5, 1.6 + 0.32 * count), layout="constrained")
    places = np.arange(count)
    for line in picture.lines:
        if picture.view[0] <= line <= picture.view[1]:
            axes.axvline(line, color=LINE, linewidth=1, zorder=0)
    axes.hlines(places, *picture.ends(), color=BAR, linewidth=2, linestyles=picture.styles)
    axes.plot(picture.values, places, "o", color=MARK, markersize=5)
    # No label is mathematics, whatever dollar signs it has.
    axes.set_yticks(places, picture.labels, parse_math=False)
    for place, text in enumerate(picture.numbers):
        across = axes.get_yaxis_transform()
        axes.text(1.02, place, text, transform=across, va="center", fontsize="small", parse_math=False)
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlim(*picture.view)
    return _named(axes, title, names, note)


def _points(picture: DrawnValues, axes: Any, title: str, names: tuple[str, str], note: str | None = None) -> Any:
    """Points along an axis of places, where there are too many values to name."""
    if axes is None:
        _, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    places = np.arange(len(picture.labels))
    for line in picture.lines:
        if picture.view[0] <= line <= picture.view[1]:
            axes.axhline(line, color=LINE, linewidth=1, zorder=0)
    axes.vlines(places, *picture.ends(), color=BAR, linewidth=1, linestyles=picture.styles)
    axes.plot(places, picture.values, "o", color=MARK, markersize=2)
    step = -(-len(places) // 10)
    axes.set_xticks(places[::step], picture.labels[::step], rotation=45, ha="right", parse_math=False)
    axes.set_ylim(*picture.view)
    return _named(axes, title, names, note)


def _named(axes: Any, title: str, names: tuple[str, str], note: str | None) -> Any:
    """The title, and the names of both axes, the upright one first; a note stands under the picture."""
    upright, level = names
    axes.set_ylabel(upright, parse_math=False)
    axes.set_xlabel("\n".join(filter(None, [level, note and fill(note, 90)])), fontsize="small", parse_math=False)
    axes.set_title(title, fontsize="medium", parse_math=False)
    return axes
