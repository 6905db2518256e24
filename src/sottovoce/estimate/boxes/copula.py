"""Tables of two fields with known margins: a normal copula, moved to a coarse table as far as its noise allows.

Margins come from reports about single fields, decoded, and from the sums of all coarse tables of a field: both are
weighted by their errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from sottovoce.estimate.boxes.pairs import PairBoxes
from sottovoce.estimate.boxes.partitions import PartitionBoxes, PartReading
from sottovoce.estimate.evidence import Evidence, Floats, Ints
from sottovoce.estimate.request import Target

MOST = 0.98  # of a correlation
DECODED = 0.5  # mean squared error of decoded shares of wide ranges over that of unbiased ones
SWEEPS = 60
_NEAR = 1e-7
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class FieldLine:
    """The decoded shares of the fine buckets of one field, and the reports that they come from, if there are any."""

    shares: Floats
    evidence: Evidence | None

    def meeting(self, parts: Ints, coarse: Floats, covariance: Floats) -> Floats:
        """The shares, moved toward the shares of coarse parts from other reports by the errors of both."""
        sums = np.eye(len(coarse))[parts].T
        own = sums @ self.shares
        wanted = coarse
        if self.evidence is not None:
            error = DECODED * self.evidence.functional(sums).covariance
            wanted = own + error @ np.linalg.pinv(error + covariance, rcond=_NEAR) @ (coarse - own)
        wanted = np.maximum(wanted, own * 1e-3)
        found = self.shares * (wanted / np.maximum(own, _TINY))[parts]
        return np.asarray(found / found.sum())


@dataclass(frozen=True, eq=False)
class CopulaBoxes(PairBoxes):
    """Reports about pairs of fields in coarse parts, and the shares of the fine buckets of each field by itself."""

    lines: Mapping[str, FieldLine]

    def fitted_shares(self) -> Floats:
        margins = {name: self.margin(name) for name in self.lines}
        tables = (joined(margins[first], margins[second], one) for (first, second), one in self.pairs.items())
        return np.concatenate([table.ravel() for table in tables])

    def margin(self, name: str) -> Floats:
        """The shares of one field by all reports about it: those about it alone, and the sums of its tables."""
        readings = [one for one in self.readings if name in one.names]
        if not readings:
            return self.lines[name].shares
        weights = np.array([one.n for one in readings]) / sum(one.n for one in readings)
        coarse, covariance = 0.0, 0.0
        for weight, one in zip(weights, readings, strict=True):
            rows = _sums_over(one, name)
            coarse = coarse + weight * (rows @ one.shares)
            covariance = covariance + weight**2 * one.covariance(rows, Target.POPULATION)
        return self.lines[name].meeting(self._parts(name), np.asarray(coarse), np.asarray(covariance))

    def _parts(self, name: str) -> Ints:
        """The coarse part of each fine bucket of a field."""
        pair = next(pair for pair, one in self.pairs.items() if name in pair and one.readings)
        return _parts_of(self.pairs[pair].readings[0], *(self.sizes[one] for one in pair))[pair.index(name)]


def _sums_over(reading: PartReading, name: str) -> Floats:
    """One row for each part of a field: a one for each cell of a coarse table that is in it."""
    axis = reading.names.index(name)
    places = np.indices(reading.shape)[axis].ravel()
    return np.asarray(np.eye(reading.shape[axis])[places].T, np.float64)


def _parts_of(reading: PartReading, first: int, second: int) -> tuple[Ints, Ints]:
    """The coarse part of each fine bucket of two fields with so many buckets."""
    own = reading.parts.reshape(first, second)
    return own[:, 0] // reading.shape[1], own[0] % reading.shape[1]


def joined(first: Floats, second: Floats, coarse: PartitionBoxes) -> Floats:
    """The table of two fields with these margins that is nearest to a coarse one, and smooth where that is noise."""
    if not coarse.readings:
        return np.multiply.outer(first, second)
    (reading,) = coarse.readings
    rows, columns = _parts_of(reading, len(first), len(second))
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
