"""The exact law of a report of Gaussian answers for any mean and deviation, and the likelihood of tallies.

A report is about a digit of the answer, about the side of a threshold it lies on, or about the answer clamped to a
range. In all three the share of each code is a sum of normal probabilities, and the channel gives the law of reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.facets import Rounded, need
from sottovoce.core.domain import Above, Clamp, Digit, Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.tally.laws import law_row

_FAR = 3.0  # deviations in one period of digits, from which on a few periods are summed up one by one
_PERIODS = np.arange(-3, 4)
_WAVES = 5  # of a Fourier series where periods are shorter: the next has a height of e**-79
_STEP = 1e-4  # of differences, in deviations: their error is its square
_SLIM = 1e-300
_GRID = np.linspace(-1, 1, 9)
_GRIDS = 20  # at most, on the way to the top
_NARROW = 0.1  # deviations, below which the likelihood is treated as a parabola
_SCORINGS = 12  # steps at most, to the very top
_FINEST = 1e-4  # deviations, to which it is found
_AROUND = 6.0  # deviations, in which a law that does not change is left out
_SAME = 1e-9


class ArmCells(NamedTuple):
    """The tally of one arm."""

    mechanism: Mechanism
    cells: Ints


def law(mechanism: Mechanism, mean: Any, deviation: Any) -> Floats:
    """The probability of each output, along the last axis, when answers have these means and deviations."""
    where, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(deviation, float))
    shares = _shares(mechanism.domain, mechanism, where, spread)
    return np.asarray(shares @ _rows(mechanism))


@singledispatch
def _shares(domain: Domain, mechanism: Mechanism, mean: Floats, deviation: Floats) -> Floats:
    """The share of each code."""
    raise ParameterError(f"A domain of kind {domain.kind} is not supported for Gaussian answers.")


@_shares.register
def _(domain: Above, mechanism: Mechanism, mean: Floats, deviation: Floats) -> Floats:
    above = ndtr((mean - float(domain.threshold)) / deviation)
    return np.stack([1 - above, above], axis=-1)


@lru_cache(maxsize=64)
def _rows(mechanism: Mechanism) -> Floats:
    """The law of a report for each code."""
    channel = mechanism.channel
    if not isinstance(mechanism.statistic, CountOutputs):
        raise ParameterError(
            f"The likelihood needs tallies of outputs; {mechanism.name} has {mechanism.statistic.kind}."
        )
    rows = np.array([law_row(channel, code) for code in range(channel.inputs)])
    rows.setflags(write=False)
    return rows


@_shares.register
def _digits(domain: Digit, mechanism: Mechanism, mean: Floats, deviation: Floats) -> Floats:
    """The share of each digit: normal probabilities of all its cells."""
    width, base = float(domain.width), domain.base
    period = width * base
    # The position in a period is computed exactly: means may be far larger than a cell.
    place = np.mod(mean - float(domain.origin), period)[..., None]
    spread = deviation[..., None]
    shares = np.empty((*mean.shape, base))
    wide = period < _FAR * deviation
    if not wide.all():
        edges = width * np.arange(base * len(_PERIODS) + 1) + period * _PERIODS[0]
        below = ndtr((edges - place[~wide]) / spread[~wide])
        cells = np.diff(below, axis=-1).reshape(-1, len(_PERIODS), base)
        shares[~wide] = cells.sum(axis=1)
    if wide.any():
        middle = width * (np.arange(base) + 0.5)
        series = np.full((int(wide.sum()), base), 1 / base)
        for wave in range(1, _WAVES + 1):
            turn = 2 * math.pi * wave / period
            height = 2 / (math.pi * wave) * math.sin(math.pi * wave / base)
            series += height * np.exp(-((turn * spread[wide]) ** 2) / 2) * np.cos(turn * (middle - place[wide]))
        shares[wide] = series
    return shares


@_shares.register
def _points(domain: Clamp, mechanism: Mechanism, mean: Floats, deviation: Floats) -> Floats:
    """The share of each grid point: clamped answers rounded at random to one of their two neighbours.

    With the mean excess E(t) = mean of max(x - t, 0) it is the second difference of E at the point over the step.
    """
    rounding = need(mechanism.channel, Rounded).rounding
    step = float(rounding.step)
    points = float(rounding.low) + step * np.arange(rounding.steps + 1)
    away = (points - mean[..., None]) / deviation[..., None]
    density = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi)
    excess = deviation[..., None] * (density - away * ndtr(-away))
    falls = -np.diff(excess, axis=-1) / step  # of the answer that lie above each step, on average
    falls = np.concatenate([np.ones((*mean.shape, 1)), falls, np.zeros((*mean.shape, 1))], axis=-1)
    return np.asarray(np.maximum(-np.diff(falls, axis=-1), 0))


# --- the likelihood ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """The likelihood of mean and deviation, given tallies of several arms; a known deviation has `known`."""

    parts: tuple[ArmCells, ...]
    known: float | None = None

    @classmethod
    def of(cls, parts: Iterable[tuple[Mechanism, Any]], known: float | None = None) -> Likelihood:
        """The likelihood of mechanisms and their tallies; arms without reports are left out."""
        listed = (ArmCells(mechanism, np.asarray(tally.cells, np.int64)) for mechanism, tally in parts if tally.n)
        return cls(tuple(listed), known)

    @property
    def n(self) -> int:
        """All reports."""
        return int(sum(part.cells.sum() for part in self.parts))

    def log(self, mean: Any, deviation: Any) -> Floats:
        """The logarithm of the likelihood of each pair of a mean and a deviation."""
        total: Any = np.zeros(np.broadcast_shapes(np.shape(mean), np.shape(deviation)))
        for mechanism, cells in self.parts:
            total = total + np.log(np.maximum(law(mechanism, mean, deviation), _SLIM)) @ cells
        return np.asarray(total, float)

    def information(self, mean: float, deviation: float) -> Floats:
        """Fisher's information about the mean and the logarithm of the deviation, from these numbers of reports."""
        return self._slopes(mean, deviation)[1]

    def _slopes(self, mean: float, deviation: float) -> tuple[Floats, Floats]:
        """The slope of the logarithm of the likelihood in both directions, and its expected curvature."""
        slope, curved = np.zeros(2), np.zeros((2, 2))
        means = mean + deviation * _STEP * np.array([0, 1, -1, 0, 0])
        deviations = deviation * np.exp(_STEP * np.array([0, 0, 0, 1, -1]))
        for mechanism, cells in self.parts:
            rows = law(mechanism, means, deviations)
            rises = np.stack([(rows[1] - rows[2]) / (2 * _STEP * deviation), (rows[3] - rows[4]) / (2 * _STEP)])
            shares = rises / np.maximum(rows[0], _SLIM)
            slope += shares @ cells
            curved += float(cells.sum()) * shares @ rises.T
        return slope, curved

    def variance(self, mean: float, deviation: float) -> Floats:
        """The covariance of the estimates of mean and log deviation; a known deviation has none."""
        information = self.information(mean, deviation)
        about_mean = information[0, 0]
        if self.known is not None:
            return np.array([[1 / about_mean if about_mean > 0 else math.inf, 0.0], [0.0, 0.0]])
        if not np.linalg.det(information) > 1e-12 * about_mean * information[1, 1]:
            return np.full((2, 2), math.inf)
        return np.asarray(np.linalg.inv(information))

    def climb(self, mean: float, deviation: float, limits: tuple[float, float]) -> tuple[float, float]:
        """The maximum near a start: the best of a grid, which gets finer if it is inside; then Fisher's scoring.

        A step that does not lead higher is halved, so that the end is never below the best of the grid.
        """
        near, wide = self._near(mean, deviation), 1.0
        for _ in range(_GRIDS):
            means = mean + deviation * wide * _GRID
            spreads = np.clip(deviation * (np.exp(wide * _GRID / 2) if self.known is None else np.ones(1)), *limits)
            heights = near.log(means[:, None], spreads[None, :])
            best = np.unravel_index(int(np.argmax(heights)), heights.shape)
            mean, deviation = float(means[best[0]]), float(spreads[best[1]])
            if best[0] not in (0, len(_GRID) - 1):
                wide /= 3
            if wide < _NARROW:
                break
        return near._scored(mean, deviation, limits)

    def _scored(self, mean: float, deviation: float, limits: tuple[float, float]) -> tuple[float, float]:
        height = float(self.log(mean, deviation))
        for _ in range(_SCORINGS):
            slope, curved = self._slopes(mean, deviation)
            step = slope[:1] / curved[0, 0] if self.known is not None else np.linalg.lstsq(curved, slope, rcond=None)[0]
            lengths = 0.5 ** np.arange(6)
            means = mean + step[0] * lengths
            spreads = np.clip(deviation * np.exp(step[1:].sum() * lengths), *limits)
            heights = self.log(means, spreads)
            best = int(np.argmax(heights))
            if not heights[best] > height:
                break
            moved = abs(float(means[best]) - mean) + abs(float(spreads[best]) - deviation)
            mean, deviation, height = float(means[best]), float(spreads[best]), float(heights[best])
            if moved < _FINEST * deviation:
                break
        return mean, deviation

    def _near(self, mean: float, deviation: float) -> Likelihood:
        """The likelihood without arms whose law is constant nearby: most scales matter only near a border."""
        means = mean + deviation * np.linspace(-_AROUND, _AROUND, 25)[:, None]
        spreads = deviation * (np.ones(1) if self.known is not None else np.array([0.5, 1.0, 2.0]))
        laws = ((part, law(part.mechanism, means, spreads)) for part in self.parts)
        kept = (part for part, rows in laws if np.ptp(rows, axis=(0, 1)).max() > _SAME)
        return Likelihood(tuple(kept), self.known)


def informed(mechanisms: Sequence[tuple[Mechanism, float]], mean: float, deviation: float) -> Floats:
    """The information of one participant who is put into each arm with this share."""
    parts = tuple(ArmCells(mechanism, _one(mechanism.cells, share)) for mechanism, share in mechanisms)
    return Likelihood(parts).information(mean, deviation) / UNIT


def _one(cells: int, share: float) -> Ints:
    """A tally with the number of reports per participant; only this number matters."""
    return np.array([round(share * UNIT), *([0] * (cells - 1))], np.int64)
