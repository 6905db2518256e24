"""Kernels of the statistics: each gives, for a channel, a function that adds reports to cells."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Each
from sottovoce.core.channel.compose.maps import NumberedMap
from sottovoce.core.channel.facets import Pooled, facet, outputs_of
from sottovoce.core.channel.shapes import each_of
from sottovoce.core.errors import NoBatchError
from sottovoce.core.statistic.asked import asked_bits
from sottovoce.core.statistic.each import starts
from sottovoce.core.statistic.moments import POWERS, bounds
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Count, Reports, counter, of_reports
from sottovoce.fast.kernels.compose.each import unpacked
from sottovoce.fast.kernels.compose.maps import count_windows
from sottovoce.fast.kernels.compose.public import count_cohorts, count_seeds
from sottovoce.fast.kernels.masks import count_indices

Cells = NDArray[np.int64]
PublicWords = NDArray[np.uint64] | None
_CELLS = len(POWERS)


def by_node(channel: Channel) -> Count:
    """The counter of the channel's own node: supports, groups, coordinates and sums."""
    return counter(channel)


def outputs(channel: Channel) -> Count:
    """Reports are the numbers of their cells."""
    return of_reports(count_indices)


def seeds(channel: Channel) -> Count:
    """Pairs of public function and payload."""
    return partial(count_seeds, _functions(channel), outputs_of(channel) or 0)


def cohorts(channel: Channel) -> Count:
    """Reports and bits of each public function."""
    return partial(count_cohorts, _functions(channel), channel.payload_bits)


def _functions(channel: Channel) -> NumberedMap:
    pooled = facet(channel, Pooled)
    if pooled is None:
        raise NoBatchError(f"There is no kernel that counts the public functions of the node {channel.kind}.")
    return pooled.pool


def asked(channel: Channel) -> Count:
    """Bits that are set, by a kernel of their node; and how many were asked about each code, from their ids."""
    chosen, _ = asked_bits(channel)
    bits = counter(channel)

    def count(reports: Reports, public: PublicWords, cells: Cells) -> None:
        bits(reports, public, cells[: chosen.k])
        if public is not None:
            cells[chosen.k :] += count_windows(chosen, public)

    return count


def joint(channel: Channel) -> Count:
    """Cells are numbered by the outputs of the channels, the last one fastest."""
    parallel = _side_by_side(channel)

    def count(reports: Reports, public: PublicWords, cells: Cells) -> None:
        places = np.zeros(len(reports), np.int64)
        for part, own in unpacked(parallel, reports):
            places = places * (outputs_of(part) or 0) + own.astype(np.int64)
        cells += np.bincount(places, minlength=len(cells))

    return count


def each(channel: Channel) -> Count:
    """The cells of each channel side by side, one after another."""
    parallel, ends = _side_by_side(channel), starts(channel)
    counters = [outputs(part) if outputs_of(part) is not None else counter(part) for part in parallel.channels]

    def count(reports: Reports, public: PublicWords, cells: Cells) -> None:
        for place, (_, own) in enumerate(unpacked(parallel, reports)):
            counters[place](own, None, cells[ends[place] : ends[place + 1]])

    return count


def moments(channel: Channel) -> Count:
    """Sufficient statistics (six sums) for each pair of intervals."""
    parallel = _side_by_side(channel)
    first, second = (np.array(bounds(part), np.int64) for part in parallel.channels)

    def count(reports: Reports, public: PublicWords, cells: Cells) -> None:
        (_, y), (_, z) = unpacked(parallel, reports)
        _add_moments(y.astype(np.int64), z.astype(np.int64), first, second, cells)

    return count


@compiled
def _add_moments(ys, zs, first, second, cells):
    for i in range(ys.shape[0]):
        row, column = 0, 0
        while ys[i] >= first[row + 1]:
            row += 1
        while zs[i] >= second[column + 1]:
            column += 1
        y, z = ys[i] - first[row], zs[i] - second[column]
        at = _CELLS * (row * (second.shape[0] - 1) + column)
        cells[at] += 1
        cells[at + 1] += y
        cells[at + 2] += z
        cells[at + 3] += y * y
        cells[at + 4] += z * z
        cells[at + 5] += y * z


def _side_by_side(channel: Channel) -> Each:
    parallel = each_of(channel)
    if parallel is None:
        raise NoBatchError(f"There is no kernel that counts the reports of the node {channel.kind} together.")
    return parallel
