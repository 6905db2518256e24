"""Counting indices, and counting each bit of many masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_PLANES = 8


@njit(nogil=True, cache=True)
def count_indices(reports, cells):
    """Add one to the cell of each report. Callers have checked that every report is below the number of cells."""
    for i in range(reports.shape[0]):
        cells[reports[i]] += 1


@njit(nogil=True, cache=True)
def _add_planes(reports, cells):
    """Vertical counters: bit j of plane b is bit b of the count of lane j, so 64 lanes are added at once."""
    planes = np.zeros(_PLANES, np.uint64)
    one = np.uint64(1)
    zero = np.uint64(0)
    n = reports.shape[0]
    full = (1 << _PLANES) - 1
    for lane in range(reports.shape[1]):
        start = 0
        while start < n:
            stop = min(n, start + full)
            for i in range(start, stop):
                carry = reports[i, lane]
                for b in range(_PLANES):
                    both = planes[b] & carry
                    planes[b] ^= carry
                    carry = both
                    if carry == zero:
                        break
            for j in range(min(64, cells.shape[0] - 64 * lane)):
                total = 0
                for b in range(_PLANES):
                    total += np.int64((planes[b] >> np.uint64(j)) & one) << b
                cells[64 * lane + j] += total
            planes[:] = zero
            start = stop


def add_masks(reports: NDArray[np.uint64], cells: NDArray[np.int64]) -> None:
    """Add each mask, bit by bit, to the cells."""
    _add_planes(reports, cells)


def mask_bytes(masks: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """The payloads of masks: their first bytes, little-endian."""
    return np.ascontiguousarray(masks.astype("<u8", copy=False).view(np.uint8)[:, :width])


def masks_of(payloads: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The masks of payloads, padded with zero bits to whole words."""
    n, width = payloads.shape
    padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = payloads
    return padded.view("<u8").astype(np.uint64, copy=False)


def popcounts(masks: NDArray[np.uint64]) -> NDArray[Any]:
    """How many bits each mask has set."""
    return np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
