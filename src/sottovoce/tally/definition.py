"""What one report adds to a tally: the definition, which the kernels are proven equal to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each, Keyed
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import Coordinates, Pooled, Summed, Supporting, need, outputs_of
from sottovoce.core.mechanism import Mechanism

Cells = NDArray[np.int64]


def scalar_cells(mechanism: Mechanism, words: Words, report: int) -> Cells:
    """The tally cells of one report, by the scalar definition of its statistic."""
    channel, statistic = mechanism.channel, mechanism.statistic
    if isinstance(channel, Keyed):
        return group_cells(channel, report)
    if statistic == "sums":
        return np.array(need(channel, Summed).summands(report, words), np.int64)
    if statistic == "supports":
        return np.array([need(channel, Supporting).supports(report, code, words) for code in channel.codes()], np.int64)
    cells = np.zeros(mechanism.cells, np.int64)
    if statistic == "outputs":
        cells[report] = 1
    elif statistic == "seeds":
        cells[need(channel, Pooled).seed(words) * (outputs_of(channel) or 0) + report] = 1
    elif statistic == "joint" and isinstance(channel, Each):
        cells[_joint(channel, report)] = 1
    else:
        known = need(channel, Coordinates)
        for coordinate, part in known.parts_of(report, words):
            cells[coordinate * known.part_outputs + part] += 1
    return cells


def group_cells(channel: Keyed, report: int) -> Cells:
    """The tally cells of one report: one for each group that its key supports."""
    key, inner = channel.split(report)
    cells = np.zeros((channel.key.inputs, channel.inner_outputs), np.int64)
    cells[:, inner] = [channel.key.supports(key, group) for group in channel.key.codes()]
    return cells.ravel()


def _joint(channel: Each, report: int) -> int:
    """The number of a combination of reports, the last one fastest."""
    place = 0
    for part, own in zip(channel.channels, channel.split(report), strict=True):
        place = place * (outputs_of(part) or 0) + own
    return place
