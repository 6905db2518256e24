"""The queries of a workload, as linear functions of the shares of bins: what designs, planners and evidence share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.params import check_integer, reject
from sottovoce.core.workload import Workload

Floats = NDArray[np.float64]
MAX_BINS = 1 << 13
# Part of an even histogram that is mixed into workloads of a few numbers, so that every share stays estimable.
SPARE = 1e-2
_CHUNK = 1 << 8  # rows whose transforms are computed at once


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries w'p about the shares p of bins. A variance depends on their Gram matrix W'W and their number alone.

    Attributes:
        bins: how many bins there are, on a line or around a circle.
        count: how many queries there are.
    """

    bins: int
    circular: bool
    count: int
    _gram: Callable[[int], Floats]
    _rows: Callable[[int], Iterator[Floats]]

    @cached_property
    def gram(self) -> Floats:
        """W'W, a matrix of all pairs of bins."""
        return self._gram(self.bins)

    @property
    def few(self) -> bool:
        """Whether the queries leave some shares open."""
        return self.count < self.bins - 1

    @property
    def spare(self) -> float:
        """The part of a histogram that is added to a few queries."""
        return SPARE * float(np.trace(self.gram)) / self.bins if self.few else 0.0

    @cached_property
    def goal(self) -> Floats:
        """The Gram matrix that a design makes small: of the queries and of their mirror images, and the spare part.

        Mirror images have the same variances: the share beyond a point is one less the share up to it.
        """
        return (self.gram + self.gram[::-1, ::-1]) / 2 + self.spare * np.eye(self.bins)

    def spectrum(self, cells: int) -> Floats:
        """The squared Fourier coefficients of all queries on a circle of cells, whose first cells are the bins.

        A query is extended to the cells that are no bins by a straight line from the last bin to the first. Any
        extension leaves it the same query, and one without jumps needs the least of quick waves.
        """
        if self.circular:
            return np.abs(np.fft.rfft(self.gram[0])) + self.spare
        steps = np.arange(1, cells - self.bins + 1) / (cells - self.bins + 1)
        power = np.zeros(cells // 2 + 1)
        for rows in self._rows(self.bins):
            beyond = rows[:, -1:] + (rows[:, :1] - rows[:, -1:]) * steps
            waves = np.fft.rfft(np.concatenate([rows, beyond], axis=1))
            power += (waves.real**2 + waves.imag**2).sum(axis=0)
        return power / cells + self.spare

    def variance(self, covariance: Floats) -> float:
        """The mean variance of a query, for this covariance of the shares."""
        return float((self.gram * covariance).sum()) / self.count


def queries(workload: Workload | str, bins: int, *, circular: bool = False) -> Queries:
    """The queries of a workload over bins on a line or around a circle.

    On a circle there is no first bin: instead of cumulative shares and ranges every arc is a query, and instead of the
    mean its two directions, the means of cosine and sine.
    """
    bins, name = check_integer("bins", "workload", bins, 2, MAX_BINS), str(workload)
    makers = _CIRCLE if circular else _LINE
    if name not in makers:
        raise reject("workload", "a design", f"one of {', '.join(makers)}", name)
    count, gram, rows = makers[name]
    return Queries(bins, circular, count(bins), gram, rows)


# --- Gram matrices -----------------------------------------------------------------------------------------------
def _cdf(bins: int) -> Floats:
    """Shares up to the end of each bin but the last."""
    return np.asarray(bins - 1.0 - np.maximum.outer(np.arange(bins), np.arange(bins)))


def _ranges(bins: int) -> Floats:
    """Shares from any bin to any later one, without the range of all bins."""
    index = np.arange(bins)
    return np.asarray((np.minimum.outer(index, index) + 1.0) * (bins - np.maximum.outer(index, index)) - 1)


def _arcs(bins: int) -> Floats:
    """Arcs that start anywhere and leave out at least one bin.

    Two bins at distance d are both in the arcs that reach from one to the other, one way or the other way around.
    """
    gap = np.abs(np.subtract.outer(np.arange(bins), np.arange(bins))).astype(float)
    one_way, other_way = bins - 1 - gap, np.maximum(gap - 1, 0)
    return np.asarray((one_way * (one_way + 1) + other_way * (other_way + 1)) / 2)


def _of_rows(rows: Callable[[int], Iterator[Floats]]) -> Callable[[int], Floats]:
    return lambda bins: np.asarray(sum(chunk.T @ chunk for chunk in rows(bins)))


def _directions(bins: int) -> Floats:
    """The means of cosine and sine."""
    return np.cos(2 * np.pi * np.subtract.outer(np.arange(bins), np.arange(bins)) / bins)


# --- rows whose Gram matrix it is, up to the sum of all shares, in chunks -------------------------------------------
def _cdf_rows(bins: int) -> Iterator[Floats]:
    for start in range(0, bins - 1, _CHUNK):
        yield np.tri(min(_CHUNK, bins - 1 - start), bins, start)


def _range_rows(bins: int) -> Iterator[Floats]:
    """A range is a difference of two cumulative shares, so the sum of squares of all is that about their mean."""
    mean = np.arange(bins, 0, -1) / (bins + 1)
    for rows in (np.zeros((1, bins)), *_cdf_rows(bins), np.ones((1, bins))):
        yield np.sqrt(bins + 1) * (rows - mean)


def _single_rows(bins: int) -> Iterator[Floats]:
    for start in range(0, bins, _CHUNK):
        yield np.eye(min(_CHUNK, bins - start), bins, start)


def _mean_rows(bins: int) -> Iterator[Floats]:
    """The mean of the bins' centres in [-1, 1]."""
    yield (2 * np.arange(bins)[None, :] + 1.0 - bins) / bins


def _moment_rows(bins: int) -> Iterator[Floats]:
    """The means of the centres and of their squares."""
    for centres in _mean_rows(bins):
        yield np.concatenate([centres, centres**2])


def _no_rows(bins: int) -> Iterator[Floats]:
    """Around a circle the Gram matrix tells the spectrum by itself."""
    return iter(())


_Maker = tuple[Callable[[int], int], Callable[[int], Floats], Callable[[int], Iterator[Floats]]]
_CUMULATIVE: _Maker = (lambda bins: bins - 1, _cdf, _cdf_rows)
_LINE: dict[str, _Maker] = {
    "cdf": _CUMULATIVE,
    "quantiles": _CUMULATIVE,
    "ranges": (lambda bins: bins * (bins + 1) // 2 - 1, _ranges, _range_rows),
    "histogram": (lambda bins: bins, np.eye, _single_rows),
    "mean": (lambda _: 1, _of_rows(_mean_rows), _mean_rows),
    "moments": (lambda _: 2, _of_rows(_moment_rows), _moment_rows),
}
_ALL_ARCS: _Maker = (lambda bins: bins * (bins - 1), _arcs, _no_rows)
_CIRCLE: dict[str, _Maker] = {
    "cdf": _ALL_ARCS,
    "quantiles": _ALL_ARCS,
    "ranges": _ALL_ARCS,
    "histogram": (lambda bins: bins, np.eye, _no_rows),
    "mean": (lambda _: 2, _directions, _no_rows),
}
