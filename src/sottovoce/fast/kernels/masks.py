"""Counting indices, and counting each bit of many masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.fast.compiled import compiled

_PLANES = 12


@compiled
def count_indices(reports, cells):
    """Add one to the cell of each report. Callers have checked that every report is below the number of cells."""
    for i in range(reports.shape[0]):
        cells[reports[i]] += 1


@njit(nogil=True, inline="always")
def _sum3(a, b, c):
    """Three bits of each lane added: the sum, and the carry."""
    half = a ^ b
    return half ^ c, a & b | half & c


@compiled
def _add_planes(reports, cells):
    """Vertical counters: bit j of plane b is bit b of the count of lane j, so 64 lanes are added at once.

    Eight reports at a time are reduced to sums of weight 1, 2, 4 and a carry of weight 8 (a tree of carry-save
    adders, Harley and Seal); only that carry runs through the higher planes. The columns are the inner loop, so
    that memory is read in order and several of them are added by one instruction.
    """
    n, columns = reports.shape
    planes = np.zeros((_PLANES, columns), np.uint64)
    start = 0
    while start < n:
        stop = min(n, start + (1 << _PLANES) - 1)
        i = start
        while i + 8 <= stop:
            for c in range(columns):
                one, two_a = _sum3(planes[0, c], reports[i, c], reports[i + 1, c])
                one, two_b = _sum3(one, reports[i + 2, c], reports[i + 3, c])
                one, two_c = _sum3(one, reports[i + 4, c], reports[i + 5, c])
                one, two_d = _sum3(one, reports[i + 6, c], reports[i + 7, c])
                two, four_a = _sum3(planes[1, c], two_a, two_b)
                two, four_b = _sum3(two, two_c, two_d)
                planes[0, c] = one
                planes[1, c] = two
                planes[2, c], carry = _sum3(planes[2, c], four_a, four_b)
                for b in range(3, _PLANES):
                    overflow = planes[b, c] & carry
                    planes[b, c] ^= carry
                    carry = overflow
            i += 8
        while i < stop:
            for c in range(columns):
                carry = reports[i, c]
                for b in range(_PLANES):
                    overflow = planes[b, c] & carry
                    planes[b, c] ^= carry
                    carry = overflow
            i += 1
        _spread(planes, cells)
        start = stop


@compiled
def _spread(planes, cells):
    """Add the counters to the cells, and clear them."""
    for j in range(min(cells.shape[0], 64 * planes.shape[1])):
        total = np.uint64(0)
        for b in range(_PLANES):
            total |= (planes[b, j >> 6] >> np.uint64(j & 63) & np.uint64(1)) << np.uint64(b)
        cells[j] += np.int64(total)
    planes[:] = 0


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
    return np.asarray(np.bitwise_count(masks).sum(axis=1, dtype=np.int64))
