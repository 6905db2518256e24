"""The fast Walsh-Hadamard transform of the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def walsh(table: NDArray[Any]) -> NDArray[Any]:
    """Each row times the Hadamard matrix of its length, a power of two."""
    rows, order = table.shape
    half = 1
    while half < order:
        pairs = table.reshape(rows, -1, 2, half)
        table = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return table.reshape(rows, order)
