"""A likelihood as a matrix of moderate size: neighbouring buckets and neighbouring outputs are put together."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import TooLargeError
from sottovoce.estimate.distribution.iterate import iterate
from sottovoce.estimate.evidence import Flags, Floats
from sottovoce.estimate.frequency.mixture import Mixture, Product

MOST_PARTS = 256  # of a matrix that is factorised hundreds of times
EQUAL_PARTS = 64  # of more buckets, before those with mass are split
MAX_ENTRIES = 1 << 24
_STOP, _MOST_STEPS = 5e-3, 200  # of the first fit by EM
LOSS = 0.01  # of the information of the outputs


class Condensed(NamedTuple):
    """Row i has `counts[i]` reports with the likelihoods law[i]; part j has the buckets from first[j] on."""

    law: Floats
    counts: Floats
    first: NDArray[np.int64]
    sizes: Floats  # the width of each part, in the units of the buckets
    groups: NDArray[np.int64] | None = None  # the first row of the mixture in each row
    seen: Flags | slice = slice(None)  # groups with reports

    def read(self, rows: Floats) -> Floats:
        """Likelihoods of other answers, one row for each row of the mixture, put together alike."""
        together = rows if self.groups is None else np.add.reduceat(rows, self.groups, axis=0)
        return np.ascontiguousarray(together[self.seen])

    def spread(self, shares: Floats, widths: Floats) -> Floats:
        """The shares of all buckets: that of a part is spread evenly over it."""
        each = np.diff(np.append(self.first, len(widths)))
        return np.asarray(np.repeat(shares / self.sizes, each) * widths)


def condensed(mixture: Mixture, widths: Floats) -> Condensed:
    """The likelihood of the shares of at most 256 parts, whose answers are spread evenly over their buckets.

    Of more buckets, parts are small where a first fit by EM has mass, so that spikes keep a bucket of their own.
    """
    parts = min(len(widths), MOST_PARTS)
    rows = len(mixture.counts)
    if rows * parts > MAX_ENTRIES:
        raise TooLargeError(f"The likelihood of {rows} kinds of reports is too large for a matrix.")
    first = np.arange(parts)
    if len(widths) > MOST_PARTS:
        first = split_where_mass_is(iterate(mixture, stop=_STOP, smooth=False, max_iterations=_MOST_STEPS)[0])
    law, sizes = _of_parts(mixture, widths, first)
    counts = np.asarray(mixture.counts, np.float64)
    # Reports of several mechanisms: the rows of each are put together on their own.
    cuts = [0, *(mixture.ends if isinstance(mixture, Product) else ()), rows]
    groups = np.concatenate([start + _groups(law[start:end]) for start, end in pairwise(cuts)])
    counts = np.add.reduceat(counts, groups)
    given = Condensed(law, counts[counts > 0], first, sizes, groups, counts > 0)
    return given._replace(law=given.read(law))


def evenly(mixture: Mixture, widths: Floats, given: Condensed) -> Condensed:
    """The likelihood of 256 parts of equally many buckets, with the rows of another one."""
    first = np.arange(MOST_PARTS) * len(widths) // MOST_PARTS
    law, sizes = _of_parts(mixture, widths, first)
    return given._replace(law=given.read(law), first=first, sizes=sizes)


def _of_parts(mixture: Mixture, widths: Floats, first: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The likelihoods of all reports, one column for each part, and the widths of the parts."""
    sizes = np.add.reduceat(widths, first)
    ends = np.append(first[1:], len(widths))
    law = np.empty((len(mixture.counts), len(first)))
    for part, (start, end) in enumerate(zip(first, ends, strict=True)):
        even = np.zeros(len(widths))
        even[start:end] = widths[start:end] / sizes[part]
        law[:, part] = mixture.apply(even)
    return law, sizes


def split_where_mass_is(shares: Floats) -> NDArray[np.int64]:
    """The first buckets of 256 parts: of 64 equal ones, that with the largest share is halved again and again."""
    edges = np.arange(EQUAL_PARTS + 1) * len(shares) // EQUAL_PARTS
    heights = np.append(0.0, np.cumsum(shares))
    heap = [(heights[start] - heights[end], int(start), int(end)) for start, end in pairwise(edges)]
    heapify(heap)
    whole: list[int] = []
    while heap and len(heap) + len(whole) < MOST_PARTS:
        _, start, end = heappop(heap)
        if end - start == 1:
            whole.append(start)
            continue
        middle = (start + end) // 2
        for low, high in ((start, middle), (middle, end)):
            heappush(heap, (heights[low] - heights[high], low, high))
    return np.sort([*whole, *(start for _, start, _ in heap)])


def _groups(law: Floats) -> NDArray[np.int64]:
    """The first of each group of outputs. Neighbours are put together where that loses little, and only if the rows are
    all probabilities of a report.
    """
    whole = _information(law)
    group = len(law) // law.shape[1] if np.allclose(law.sum(axis=0), 1) else 1
    while group > 1:
        starts = np.arange(0, len(law), group)
        if whole - _information(np.add.reduceat(law, starts, axis=0)) <= LOSS * whole:
            return starts
        group //= 2
    return np.arange(len(law))


def _information(law: Floats) -> float:
    """The mean chi-square distance of the outputs of a part from those of all parts."""
    mean = law.mean(axis=1)
    return float((law.T**2 @ np.divide(1, mean, out=np.zeros_like(mean), where=mean > 0)).mean() - 1)
