"""How many reports lie in the hyperplane of each code."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import ProjectiveSets
from sottovoce.core.channel.finite.sets import spaces
from sottovoce.estimate.evidence import Ints
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.finite.sets import output, tables

MAX_TRANSFORM = 1 << 24  # numbers of a Fourier transform; the hyperplanes of larger fields have few points


def hyperplane_counts(sets: ProjectiveSets, cells: Ints) -> Ints:
    """Number of reports that are orthogonal to each code."""
    if sets.order**sets.digits <= MAX_TRANSFORM:
        return _by_transform(sets, cells, _values(sets))
    counts = np.zeros(sets.codes, np.int64)
    _count(cells, *tables(sets), counts)
    return counts


def _values(sets: ProjectiveSets) -> Ints:
    """The coordinates of all points as numbers, the first one highest."""
    starts = np.array(spaces(sets.order, sets.digits)[: sets.digits], np.int64)
    numbers = np.arange(sets.outputs)
    follow = np.searchsorted(starts[1:], numbers, side="right")
    return np.asarray(numbers - starts[follow] + (sets.order ** np.arange(sets.digits, dtype=np.int64))[follow])


def _backwards(sets: ProjectiveSets, values: Ints) -> Ints:
    """Numbers of the points with their coordinates in reverse order."""
    reversed_, rest = np.zeros_like(values), values.copy()
    for _ in range(sets.digits):
        reversed_ = reversed_ * sets.order + rest % sets.order
        rest //= sets.order
    return reversed_


def _by_transform(sets: ProjectiveSets, cells: Ints, values: Ints) -> Ints:
    """A report is orthogonal to v if the mean of e**(2 pi i a (v, y) / order) over all a is 1; otherwise it is 0.

    So counts are means of Fourier coefficients of the cells at the multiples of v.
    """
    grid = np.zeros(sets.order**sets.digits)
    grid[values] = cells
    spectrum = np.fft.fftn(grid.reshape((sets.order,) * sets.digits)).real.ravel()
    vectors = _backwards(sets, values[: sets.codes])
    digits = [vectors // sets.order**place % sets.order for place in range(sets.digits)]
    total = np.zeros(sets.codes)
    for multiple in range(sets.order):
        total += spectrum[sum(multiple * digit % sets.order * sets.order**place for place, digit in enumerate(digits))]
    return np.rint(total / sets.order).astype(np.int64)


@compiled
def _count(cells, powers, starts, inverse, counts):  # type: ignore[no-untyped-def]
    """Point after point of each hyperplane."""
    digits = powers.shape[0]
    vector, free, whole = np.empty(digits, np.int64), np.empty(digits, np.int64), np.empty(digits, np.int64)
    for code in range(counts.shape[0]):
        for index in range(starts[digits - 1]):
            counts[code] += cells[output(code, index, True, powers, starts, inverse, vector, free, whole)]
