"""Joint cells: how often each combination of the reports of channels side by side was sent."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each
from sottovoce.core.channel.facets import outputs_of
from sottovoce.fast.kernels.compose.each import unpacked


def count_joint(channel: Each, masks: NDArray[np.uint64], cells: NDArray[np.int64]) -> None:
    """Add reports to cells that are numbered by the outputs of the channels, the last one fastest."""
    places = np.zeros(len(masks), np.int64)
    for part, reports in unpacked(channel, masks):
        places = places * (outputs_of(part) or 0) + reports.astype(np.int64)
    cells += np.bincount(places, minlength=prod(outputs_of(part) or 0 for part in channel.channels))
