"""Unbiased shares from the reports of coded waves, by Fourier transforms: of least variance for equal shares.

The law is a convolution around the circle of cells. If all cells are buckets, so is its least-variance inverse. On a
line some cells are no buckets; then the equations are solved by conjugate gradients, which the circle of all cells
preconditions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.readings.transition import ShiftTransition, undetermined
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.reading import OutputReading
from sottovoce.estimate.request import Target

_CHUNK = 1 << 4  # rows that are solved at once
_EXACT, _NEARLY = 1e-11, 1e-6  # length of a residual, relative: of shares, and of standard errors
_MOST_STEPS = 500
_SILENT = 1e-12  # information of a wave, relative, of which reports tell nothing


def information(transition: ShiftTransition) -> Floats:
    """What reports tell about each wave around the circle of cells, if all cells are equally common."""
    waves, gap = transition.waves, transition.high - transition.low
    rates = transition.low + gap * waves[:, :1].real / transition.cells  # of an output of each pattern
    power = gap**2 * (np.abs(waves) ** 2 / rates).sum(axis=0)
    power[0] = transition.cells
    if power.min() < _SILENT * power.max():
        raise undetermined(transition.buckets)
    return np.asarray(power)


class CircleDecode(OutputReading):
    """Each cell is a bucket: the score of an output for a bucket depends on their distance alone."""

    def __init__(self, transition: ShiftTransition) -> None:
        self.cells = transition.cells
        one = np.zeros(self.cells)
        one[0] = 1.0
        start = np.fft.irfft(np.fft.rfft(one) / information(transition), self.cells)
        kernels = (transition.forward(start) / transition.uniform).reshape(-1, self.cells)
        self.waves = np.fft.rfft(kernels)  # of the scores of all outputs for the first bucket
        self.square_waves = np.fft.rfft(kernels**2)

    def scores(self, weights: Floats) -> Floats:
        rows = np.fft.rfft(np.atleast_2d(weights))[:, None, :] * self.waves
        return np.asarray(np.fft.irfft(rows, self.cells).reshape(len(rows), -1))

    def values(self, rates: Floats) -> Floats:
        return self._met(rates, self.waves)

    def squares(self, rates: Floats) -> Floats:
        return self._met(rates, self.square_waves)

    def _met(self, rates: Floats, waves: NDArray[np.complex128]) -> Floats:
        shifts = np.fft.rfft(rates.reshape(-1, self.cells))
        return np.asarray(np.fft.irfft((shifts * waves.conj()).sum(axis=0), self.cells))


class ShiftDecode(OutputReading):
    """Some cells are no buckets: scores by conjugate gradients."""

    def __init__(self, transition: ShiftTransition) -> None:
        self.transition, self.inverse = transition, 1 / information(transition)

    def scores(self, weights: Floats) -> Floats:
        return np.concatenate([self._read(rows) for rows in _chunks(np.atleast_2d(weights))])

    def _read(self, weights: Floats, near: float = _EXACT) -> Floats:
        return np.asarray(self.transition.forward(self._solved(weights, near)) / self.transition.uniform)

    def values(self, rates: Floats) -> Floats:
        return np.asarray(self._solved(self.transition.backward(rates / self.transition.uniform)[None, :])[0])

    def squares(self, rates: Floats) -> Floats:
        single = _chunks(np.eye(self.transition.buckets))
        return np.concatenate([self._read(rows, _NEARLY) ** 2 @ rates for rows in single])

    def spreads(self, weights: Floats, rates: Floats, target: Target) -> Floats:
        rows = _chunks(np.atleast_2d(weights))
        return np.concatenate([OutputReading.spreads(self, chunk, rates, target) for chunk in rows])

    def _solved(self, right: Floats, near: float = _EXACT) -> Floats:
        """The solutions of M x = right, one row each, where M is the information of the reports about the buckets."""
        law, solution = self.transition, np.zeros_like(right)
        rest, goal = right.copy(), near * np.linalg.norm(right, axis=1)
        ready = self._preconditioned(rest)
        way, size = ready.copy(), (rest * ready).sum(axis=1)
        for _ in range(_MOST_STEPS):
            if (np.linalg.norm(rest, axis=1) <= goal).all():
                return solution
            moved = law.backward(law.forward(way) / law.uniform)
            step = size / np.maximum((way * moved).sum(axis=1), 1e-300)
            solution += step[:, None] * way
            rest -= step[:, None] * moved
            ready = self._preconditioned(rest)
            before, size = size, (rest * ready).sum(axis=1)
            way = ready + (size / np.maximum(before, 1e-300))[:, None] * way
        raise ParameterError(f"The shares of {law.buckets} buckets were not found: reports hardly tell them apart.")

    def _preconditioned(self, rows: Floats) -> Floats:
        cells = self.transition.cells
        return np.fft.irfft(np.fft.rfft(rows, cells) * self.inverse, cells)[:, : rows.shape[1]]


def _chunks(rows: Floats) -> Iterator[Floats]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]
