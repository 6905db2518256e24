"""The map of two fields: the density of the answers over a grid of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import matplotlib.pyplot as plt
import numpy as np

from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.show import plot as rows
from sottovoce.estimate.show.plot import MOST_LABEL

if TYPE_CHECKING:
    from sottovoce.estimate.boxes.base import GridEvidence
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.request import IntervalRequest

SHADES = "viridis"
MOST_TICKS = 12  # categories along an axis that all have a label


def plot(estimate: Estimate, bounds: Bounds, request: IntervalRequest, axes: Any) -> Any:
    """A map of two fields, the first one upwards: darker cells hold fewer answers for their area.

    Single cells are far noisier than boxes of many cells, so that the map shows a decoder's values and no intervals.
    """
    evidence = cast("GridEvidence", estimate.evidence)
    grid: Grid | None = getattr(evidence, "buckets", None)
    if not isinstance(grid, Grid) or len(grid.shape) != 2:
        return rows.plot(estimate, bounds, request, axes)
    shown = estimate if estimate.decoder.moves else estimate.decoded(evidence.curve_decoder)
    if axes is None:
        _, axes = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
    upward, across = grid.each
    share = 100 * shown.values.reshape(grid.shape)
    mesh = axes.pcolormesh(across.edges, upward.edges, share / _areas(upward, across), cmap=SHADES, vmin=0)
    axes.figure.colorbar(mesh, ax=axes, label="percent of the participants for each cell of mean size")
    for axis, name, buckets in ((axes.yaxis, grid.names[0], upward), (axes.xaxis, grid.names[1], across)):
        axis.set_label_text(printable(name, MOST_LABEL))
        _tick(axis, buckets)
    through = printable(", ".join(dict.fromkeys(one.mechanism.name for one in estimate.sources)))
    kind = "simulation of " if estimate.simulated else ""
    title = f"{kind}{through}, {plural(estimate.n, 'report', ',')}, epsilon {estimate.epsilon:.4g}"
    axes.set_title(f"{title}\nmap by {shown.decoder.name}; use range(...) for intervals", fontsize="medium")
    return axes


def _areas(upward: Buckets, across: Buckets) -> Any:
    """The area of each cell, in that of a cell of mean size."""
    areas = np.multiply.outer(upward.widths, across.widths)
    return areas / areas.mean()


def _tick(axis: Any, buckets: Buckets) -> None:
    """The categories along an axis; numbers have ticks of their own."""
    if buckets.domain.choices is None:
        return
    step = -(-len(buckets) // MOST_TICKS)
    labels = [printable(str(label), MOST_LABEL) for label in buckets.domain.labels()]
    axis.set_ticks(buckets.centres[::step], labels[::step])
