"""Which ids may have come before, in memory of a fixed size: most ids come once, and those need not be compared."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.fast.compiled import compiled

SLOTS = 1 << 29  # a power of two, of two bits each: 128 MB, of which a small input touches a few pages
_FIRST, _SECOND, _LAST = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93))
_HALF, _SEEN, _TWICE = np.uint64(32), np.uint8(1), np.uint8(2)


@njit(nogil=True, inline="always")
def _mixed(one, other):
    """Spreads ids that are counted up, too: devices draw theirs, but others may number them."""
    mixed = one * _FIRST + other * _SECOND
    mixed = (mixed ^ (mixed >> _HALF)) * _LAST
    return mixed ^ (mixed >> _HALF)


@compiled
def _mark(words, slots):
    mask, total = np.uint64(4 * len(slots) - 1), np.uint64(0)
    for row in range(words.shape[0]):
        mixed = _mixed(words[row, 0], words[row, 1])
        total += mixed
        slot = mixed & mask
        shift = np.uint8(2 * (slot & np.uint64(3)))
        place = slot >> np.uint64(2)
        held = (slots[place] >> shift) & np.uint8(3)
        slots[place] |= (_SEEN if held == 0 else _TWICE) << shift
    return total


@compiled
def _suspect(words, slots, out):
    mask, total = np.uint64(4 * len(slots) - 1), np.uint64(0)
    for row in range(words.shape[0]):
        mixed = _mixed(words[row, 0], words[row, 1])
        total += mixed
        slot = mixed & mask
        out[row] = (slots[slot >> np.uint64(2)] >> np.uint8(2 * (slot & np.uint64(3)))) & _TWICE
    return total


class RepeatedIds:
    """Marks the slots of ids in a first pass; in a second one, ids whose slot was marked once came once.

    Two ids may share a slot, so some that came once are suspected, and no other harm is done. Both passes must see the
    same ids: `same` compares their sums.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = np.zeros(slots // 4, np.uint8)
        self._sums = [0, 0]

    def mark(self, ids: NDArray[np.uint8]) -> None:
        """Rows of 16 bytes, in the first pass."""
        self._sums[0] += int(_mark(_words(ids), self._slots)) + len(ids)

    def suspects(self, ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of these rows may have an id that comes several times, in the second pass."""
        suspect = np.empty(len(ids), np.bool_)
        self._sums[1] += int(_suspect(_words(ids), self._slots, suspect)) + len(ids)
        return suspect

    @property
    def same(self) -> bool:
        """Whether both passes saw the same ids so far."""
        return (self._sums[0] - self._sums[1]) % (1 << 64) == 0


def _words(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(ids).view("<u8").astype(np.uint64, copy=False)
