"""Tables of two fields with known margins: a normal copula, moved to a coarse table as far as its noise allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from sottovoce.estimate.boxes.pairs import PairBoxes
from sottovoce.estimate.boxes.partitions import PartitionBoxes
from sottovoce.estimate.evidence import Floats, Ints

MOST = 0.98  # of a correlation
SWEEPS = 60
_NEAR = 1e-7
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class CopulaBoxes(PairBoxes):
    """Reports about pairs of fields in coarse parts, and the shares of the fine buckets of each field by itself."""

    margins: Mapping[str, Floats]

    def fitted_shares(self) -> Floats:
        tables = (joined(self.margins[first], self.margins[second], one) for (first, second), one in self.pairs.items())
        return np.concatenate([table.ravel() for table in tables])


def joined(first: Floats, second: Floats, coarse: PartitionBoxes) -> Floats:
    """The table of two fields with these margins that is nearest to a coarse one, and smooth where that is noise."""
    if not coarse.readings:
        return np.multiply.outer(first, second)
    (reading,) = coarse.readings
    own = reading.parts.reshape(len(first), len(second))
    rows, columns = own[:, 0] // reading.shape[1], own[0] % reading.shape[1]
    wanted, noise = reading.shares.reshape(reading.shape), reading.variance * reading.shares.size
    blocks = _shares(rows, first), _shares(columns, second)
    smooth = _normal_table(first, second, blocks, rows, columns, wanted)
    found = _coarse(smooth, rows, columns)
    apart = float(((wanted - found) ** 2).sum())
    kept = max(0.0, 1 - noise / apart) if apart > 0 else 0.0
    goal = np.maximum(found + kept * (wanted - found), found * 1e-3)
    return _raked(smooth, first, second, rows, columns, _with_margins(goal, *blocks))


def _shares(parts: Ints, shares: Floats) -> Floats:
    return np.bincount(parts, shares).astype(np.float64)


def _coarse(table: Floats, rows: Ints, columns: Ints) -> Floats:
    """The sums of a table over blocks of neighbouring rows and columns."""
    starts = np.flatnonzero(np.diff(rows, prepend=-1)), np.flatnonzero(np.diff(columns, prepend=-1))
    return np.add.reduceat(np.add.reduceat(table, starts[0], axis=0), starts[1], axis=1)


def _normal_table(
    first: Floats, second: Floats, blocks: tuple[Floats, Floats], rows: Ints, columns: Ints, wanted: Floats
) -> Floats:
    """The table of a normal copula whose sums over blocks are nearest to the wanted ones."""
    scores = _scores(first), _scores(second)

    def table(correlation: float) -> Floats:
        x, y = scores[0][:, None], scores[1]
        exponent = (correlation * (2 * x * y - correlation * (x**2 + y**2))) / (2 * (1 - correlation**2))
        return _with_margins(np.exp(exponent - exponent.max()) * np.multiply.outer(first, second), first, second)

    def distance(correlation: float) -> float:
        return float(((_coarse(table(correlation), rows, columns) - wanted) ** 2).sum())

    best = minimize_scalar(distance, bounds=(-MOST, MOST), method="bounded", options={"xatol": 5e-3})
    return table(float(best.x))


def _scores(shares: Floats) -> Floats:
    """The normal score of the middle of each bucket."""
    heights = np.cumsum(shares) - shares / 2
    return np.asarray(ndtri(np.clip(heights / shares.sum(), 1e-6, 1 - 1e-6)))


def _with_margins(table: Floats, first: Floats, second: Floats) -> Floats:
    """The table scaled to these margins."""
    found = np.maximum(table, 0)
    for _ in range(SWEEPS):
        sums = found.sum(axis=1)
        found = found * (first / np.maximum(sums, _TINY))[:, None]
        found = found * (second / np.maximum(found.sum(axis=0), _TINY))
        if np.abs(sums - first).sum() < _NEAR:
            break
    return np.asarray(found, np.float64)


def _raked(table: Floats, first: Floats, second: Floats, rows: Ints, columns: Ints, goal: Floats) -> Floats:
    """The table scaled to the wanted sums of blocks and to both margins."""
    found = table
    for _ in range(SWEEPS):
        scale = goal / np.maximum(_coarse(found, rows, columns), _TINY)
        if np.abs(scale - 1)[goal > _NEAR].max(initial=0) < _NEAR:
            break
        found = _with_margins(found * scale[np.ix_(rows, columns)], first, second)
    return found
