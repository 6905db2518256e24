"""The fast Walsh-Hadamard transform, and counts of the sets of Hadamard response."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import HadamardSets
from sottovoce.estimate.evidence import Ints


def walsh(table: NDArray[Any]) -> NDArray[Any]:
    """Each row times the Hadamard matrix of its length, a power of two."""
    rows, order = table.shape
    half = 1
    while half < order:
        pairs = table.reshape(rows, -1, 2, half)
        table = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return table.reshape(rows, order)


def hadamard_counts(sets: HadamardSets, cells: Ints) -> tuple[Ints, Ints]:
    """For each code the reports in its set and those in its group."""
    table = walsh(cells.reshape(sets.groups, sets.order))
    codes = np.arange(sets.codes)
    groups, rows = codes % sets.groups, codes // sets.groups + 1
    hits = table[groups, 0]
    return (hits + table[groups, rows]) // 2, hits
