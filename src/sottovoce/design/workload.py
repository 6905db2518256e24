"""What a distribution is wanted for, as linear functions of the shares of its bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.params import check_integer, reject

Floats = NDArray[np.float64]
MAX_BINS = 1 << 12
# Part of an even histogram that is mixed into workloads of a few numbers, so that every share stays estimable.
SPARE = 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Queries w'p about the shares p of bins: only their Gram matrix W'W and their number matter.

    `goal` is the Gram matrix that a design makes small. It is that of the queries and of their mirror images, whose
    variances are the same: the share beyond a point is one less the share up to it. A few queries have a small part of
    a histogram added, which keeps the shares that they do not need estimable.
    """

    gram: Floats
    queries: int
    goal: Floats

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.gram)


def workload(name: str, bins: int, *, circular: bool = False) -> Workload:
    """A workload by name: cdf, quantiles, ranges, histogram, mean or moments, of bins on a line or around a circle.

    On a circle there is no first bin: instead of cumulative shares and ranges every arc is a query, and instead of the
    mean its two directions, the means of cosine and sine.
    """
    bins = check_integer("bins", "workload", bins, 2, MAX_BINS)
    makers = _CIRCLE if circular else _LINE
    if name not in makers:
        raise reject("workload", "a design", f"one of {', '.join(makers)}", name)
    gram, queries = makers[name](bins)
    few = np.linalg.matrix_rank(gram) < bins - 1
    spare = SPARE * np.trace(gram) / bins if few else 0.0
    return Workload(gram, queries, (gram + gram[::-1, ::-1]) / 2 + spare * np.eye(bins))


def _cdf(bins: int) -> tuple[Floats, int]:
    """Shares up to the end of each bin but the last."""
    later = np.maximum.outer(np.arange(bins), np.arange(bins))
    return bins - 1.0 - later, bins - 1


def _ranges(bins: int) -> tuple[Floats, int]:
    """Shares from any bin to any later one, without the range of all bins."""
    index = np.arange(bins)
    before, after = np.minimum.outer(index, index) + 1.0, bins - np.maximum.outer(index, index)
    return before * after - 1, bins * (bins + 1) // 2 - 1


def _arcs(bins: int) -> tuple[Floats, int]:
    """Arcs that start anywhere and leave out at least one bin.

    Two bins at distance d are both in the arcs that reach from one to the other, one way or the other way around.
    """
    gap = np.abs(np.subtract.outer(np.arange(bins), np.arange(bins))).astype(float)
    one_way, other_way = bins - 1 - gap, np.maximum(gap - 1, 0)
    return (one_way * (one_way + 1) + other_way * (other_way + 1)) / 2, bins * (bins - 1)


def _histogram(bins: int) -> tuple[Floats, int]:
    return np.eye(bins), bins


def _mean(bins: int) -> tuple[Floats, int]:
    """The mean of the bins' centres in [-1, 1]."""
    centres = _centres(bins)
    return np.outer(centres, centres), 1


def _moments(bins: int) -> tuple[Floats, int]:
    """The means of the centres and of their squares."""
    centres = _centres(bins)
    return np.outer(centres, centres) + np.outer(centres**2, centres**2), 2


def _directions(bins: int) -> tuple[Floats, int]:
    """The means of cosine and sine."""
    angle = 2 * np.pi * np.subtract.outer(np.arange(bins), np.arange(bins)) / bins
    return np.cos(angle), 2


def _centres(bins: int) -> Floats:
    return (2 * np.arange(bins) + 1 - bins) / bins


_Maker = Callable[[int], tuple[Floats, int]]
_LINE: dict[str, _Maker] = {
    "cdf": _cdf,
    "quantiles": _cdf,
    "ranges": _ranges,
    "histogram": _histogram,
    "mean": _mean,
    "moments": _moments,
}
_CIRCLE: dict[str, _Maker] = {
    "cdf": _arcs,
    "quantiles": _arcs,
    "ranges": _arcs,
    "histogram": _histogram,
    "mean": _directions,
}
