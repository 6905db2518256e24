"""Kernels of public maps beside hashes and pools."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import inverses
from sottovoce.core.channel import ArcSets, AskedMap, Bits, Block, Chain, Channel, MultiplierMap
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Count, Reports
from sottovoce.fast.kernels.compose.public import Public64, chosen_numbers, map_counter, mapper


@mapper.register
def _(chosen: MultiplierMap) -> Callable[[Public64, Codes], NDArray[np.uint32]]:
    def apply(public: Public64, codes: Codes) -> NDArray[np.uint32]:
        numbers, _ = chosen_numbers(chosen.choice, public)
        return np.asarray((numbers + 1) * codes.astype(np.int64) % chosen.order, np.uint32)

    return apply


@mapper.register
def _(chosen: AskedMap) -> Callable[[Public64, Codes], NDArray[np.uint32]]:
    def apply(public: Public64, codes: Codes) -> NDArray[np.uint32]:
        numbers, _ = chosen_numbers(chosen.choice, public)
        return np.asarray(np.minimum((codes.astype(np.int64) - numbers) % chosen.k, chosen.asked), np.uint32)

    return apply


@compiled
def _count_wheel(reports, numbers, inverse, size, cells):
    """The codes whose multiples lie at a report or up to `size` - 1 before it."""
    order = np.int64(inverse.shape[0])
    for i in range(reports.shape[0]):
        step = inverse[numbers[i] + 1]
        code = np.int64(reports[i]) * step % order
        for _ in range(size):
            if code < cells.shape[0]:
                cells[code] += 1
            code -= step
            if code < 0:
                code += order


@map_counter.register
def _(chosen: MultiplierMap, inner: Channel) -> Count:
    if not isinstance(inner, Block) or not isinstance(inner.sets, ArcSets):
        raise NoBatchError("The tally kernel of multiples needs arcs of a circle.")
    inverse, size = np.array(inverses(chosen.order), np.int64), inner.sets.size

    def count(reports: Reports, public: Public64 | None, cells: NDArray[np.int64]) -> None:
        if public is None:
            raise ValueError("Reports of a wheel must be counted together with their public words.")
        _count_wheel(reports, chosen_numbers(chosen.choice, public)[0], inverse, size, cells)

    return count


@compiled
def _count_asked(masks, numbers, asked, cells):
    k = cells.shape[0]
    for i in range(masks.shape[0]):
        for place in range(asked):
            if masks[i, place >> 6] >> np.uint64(place & 63) & np.uint64(1):
                cells[(numbers[i] + place) % k] += 1


@map_counter.register
def _(chosen: AskedMap, inner: Channel) -> Count:
    if not isinstance(inner, (Bits, Chain)):
        raise NoBatchError("The tally kernel of codes that are asked about needs a bit for each of them.")

    def count(reports: Reports, public: Public64 | None, cells: NDArray[np.int64]) -> None:
        if public is None:
            raise ValueError("Answers about some codes must be counted together with their public words.")
        _count_asked(reports, chosen_numbers(chosen.choice, public)[0], chosen.asked, cells)

    return count


def count_windows(chosen: AskedMap, public: Public64) -> NDArray[np.int64]:
    """How many ids ask about each code: those whose first code is at most `asked` - 1 places before it."""
    firsts = np.bincount(chosen_numbers(chosen.choice, public)[0], minlength=chosen.k)
    upto = np.concatenate([[0], np.cumsum(np.concatenate([firsts[chosen.k - chosen.asked + 1 :], firsts]))])
    return np.asarray(upto[chosen.asked :] - upto[: chosen.k])
