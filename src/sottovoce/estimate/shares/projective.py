"""How many reports lie in the hyperplane of each code."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import ProjectiveSets
from sottovoce.core.channel.finite.sets import spaces

Ints = NDArray[np.int64]
MAX_TRANSFORM = 1 << 22  # numbers of a Fourier transform; the hyperplanes of larger fields have few points


def hyperplane_counts(sets: ProjectiveSets, cells: Ints) -> Ints:
    """For each code the reports that are orthogonal to it."""
    values = _values(sets, sets.outputs)
    if sets.order**sets.digits <= MAX_TRANSFORM:
        return _by_transform(sets, cells, values)
    counts = np.zeros(sets.codes, np.int64)
    powers = sets.order ** np.arange(sets.digits, dtype=np.int64)
    where = np.flatnonzero(cells)
    _count(values[where], cells[where], _backwards(sets, values[: sets.codes]), powers, np.int64(sets.order), counts)
    return counts


def _values(sets: ProjectiveSets, points: int) -> Ints:
    """The coordinates of points as numbers, the first one highest."""
    starts = np.array(spaces(sets.order, sets.digits)[: sets.digits], np.int64)
    numbers = np.arange(points)
    follow = np.searchsorted(starts[1:], numbers, side="right")
    return np.asarray(numbers - starts[follow] + (sets.order ** np.arange(sets.digits, dtype=np.int64))[follow])


def _backwards(sets: ProjectiveSets, values: Ints) -> Ints:
    """The same coordinates in the other order."""
    found, rest = np.zeros_like(values), values.copy()
    for _ in range(sets.digits):
        found = found * sets.order + rest % sets.order
        rest //= sets.order
    return found


def _by_transform(sets: ProjectiveSets, cells: Ints, values: Ints) -> Ints:
    """A report is orthogonal to v if the mean of e**(2 pi i a (v, y) / order) over all a is 1; otherwise it is 0.

    So counts are means of Fourier coefficients of the cells at the multiples of v.
    """
    whole = np.zeros(sets.order**sets.digits)
    whole[values] = cells
    spectrum = np.fft.fftn(whole.reshape((sets.order,) * sets.digits)).real.ravel()
    vectors = _backwards(sets, values[: sets.codes])
    digits = [vectors // sets.order**place % sets.order for place in range(sets.digits)]
    total = np.zeros(sets.codes)
    for multiple in range(sets.order):
        total += spectrum[sum(multiple * digit % sets.order * sets.order**place for place, digit in enumerate(digits))]
    return np.rint(total / sets.order).astype(np.int64)


@njit(nogil=True, cache=True)
def _count(points, cells, codes, powers, order, counts):
    for v in range(codes.shape[0]):
        for i in range(points.shape[0]):
            product = np.int64(0)
            for place in range(powers.shape[0]):
                product += (codes[v] // powers[place] % order) * (points[i] // powers[place] % order)
            if product % order == 0:
                counts[v] += cells[i]
