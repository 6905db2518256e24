"""A likelihood as a matrix of moderate size: neighbouring buckets and neighbouring outputs are put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import TooLargeError
from sottovoce.estimate.shares.mixture import Mixture, Product

Floats = NDArray[np.float64]
MOST_PARTS = 256  # of a matrix that is factorised hundreds of times
MAX_ENTRIES = 1 << 24
LOSS = 0.01  # of the information of the outputs


class Condensed(NamedTuple):
    """Row i has `counts[i]` reports with the likelihoods law[i]; part j has the buckets from first[j] on."""

    law: Floats
    counts: Floats
    first: NDArray[np.int64]
    sizes: Floats  # the width of each part, in the units of the buckets

    def spread(self, shares: Floats, widths: Floats) -> Floats:
        """The shares of all buckets: that of a part is spread evenly over it."""
        each = np.diff(np.append(self.first, len(widths)))
        return np.asarray(np.repeat(shares / self.sizes, each) * widths)


def condensed(mixture: Mixture, widths: Floats) -> Condensed:
    """The likelihood of the shares of at most 256 parts, whose answers are spread evenly over their buckets."""
    parts = min(len(widths), MOST_PARTS)
    rows = len(mixture.counts)
    if rows * parts > MAX_ENTRIES:
        raise TooLargeError(f"The likelihood of {rows} kinds of reports is too large for a matrix.")
    first = np.arange(parts) * len(widths) // parts
    sizes = np.add.reduceat(widths, first)
    ends = np.append(first[1:], len(widths))
    law = np.empty((rows, parts))
    for part, (start, end) in enumerate(zip(first, ends, strict=True)):
        even = np.zeros(len(widths))
        even[start:end] = widths[start:end] / sizes[part]
        law[:, part] = mixture.apply(even)
    counts = np.asarray(mixture.counts, np.float64)
    # Reports of several mechanisms: the rows of each are put together on their own.
    cuts = mixture.ends if isinstance(mixture, Product) else np.zeros(0, np.int64)
    merged = [_merged(*own) for own in zip(np.split(law, cuts), np.split(counts, cuts), strict=True)]
    law, counts = (np.concatenate(pieces) for pieces in zip(*merged, strict=True))
    seen = counts > 0
    return Condensed(np.ascontiguousarray(law[seen]), counts[seen], first, sizes)


def _merged(law: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Neighbouring outputs together, where that loses little; only if the rows are all probabilities of a report."""
    if not np.allclose(law.sum(axis=0), 1):
        return law, counts
    whole = _information(law)
    group = len(law) // law.shape[1]
    while group > 1:
        starts = np.arange(0, len(law), group)
        fewer = np.add.reduceat(law, starts, axis=0)
        if whole - _information(fewer) <= LOSS * whole:
            return fewer, np.add.reduceat(counts, starts)
        group //= 2
    return law, counts


def _information(law: Floats) -> float:
    """The mean chi-square distance of the outputs of a part from those of all parts."""
    mean = law.mean(axis=1)
    return float((law.T**2 @ np.divide(1, mean, out=np.zeros_like(mean), where=mean > 0)).mean() - 1)
