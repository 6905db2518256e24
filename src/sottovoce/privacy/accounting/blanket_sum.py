"""The delta of shuffled reports from the blanket of their channel, as a numeric upper bound.

Balle, Bell, Gascon and Nissim 2019, Lemma 5.3, in other words: let Z be 0 where a person does not draw from the
blanket, and (a - e**eps b) / blanket at the drawn report otherwise. Then delta is at most E[(Z_1 + ... + Z_n)+] / n for
the worst pair of laws a and b.

All approximations are upper bounds. The positive part is convex, so moving a probability to both neighbours on a grid
with the mean kept can only raise the expectation; the grid is fine against the standard deviation. The sum is a power
of a Fourier transform. Its law is tilted so that the sum is around zero, where the positive part begins, and a tiny
delta is as accurate as a large one. Fewer people hide less, so a crowd may be rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sottovoce.privacy.accounting.blankets import Beside

Floats = NDArray[np.float64]
_LEFT_OUT = 60.0  # minus the logarithm of the tilted probability that a sum leaves its window
_FINE = 32  # grid steps of a standard deviation: rounding adds at most 1 part in 4 * 32**2 to the variance
_FOLD = 1 << 12  # people, or groups of them, that are added up by one transform
_ROUNDING = 1e-8  # of transforms and their powers
_TINY = 1e-100  # deltas below need no sharper bound
_HALVINGS = 18


@dataclass(frozen=True, slots=True)
class _TiltedLaw:
    """Tilted probabilities of numbers, with the logarithm of what the untilted ones sum to after the tilt."""

    numbers: Floats
    chances: Floats
    log: float


def smallest_epsilon(kinds: Sequence[Beside], n: int, delta: float, high: float) -> float:
    """The smallest epsilon below `high` at which all pairs of answers meet a delta, rounded up; `high` where none does.

    The pair with the largest coarse bound is searched first. The others are then tried at what was found.
    """
    crowds = sorted((ShuffledPair(beside, n) for beside in kinds), key=lambda crowd: -crowd.coarse(high / 2))
    epsilon = 0.0
    for crowd in crowds:
        if epsilon and (crowd.coarse(epsilon) <= delta or crowd.delta(epsilon) <= delta):
            continue
        low, epsilon = epsilon, high
        for _ in range(_HALVINGS):
            middle = (low + epsilon) / 2
            low, epsilon = (low, middle) if crowd.delta(middle) <= delta else (middle, epsilon)
    return epsilon


@dataclass(frozen=True, slots=True)
class ShuffledPair:
    """A pair of answers among n people."""

    beside: Beside
    n: int

    def _tilted(self, epsilon: float) -> tuple[float, _TiltedLaw] | None:
        """The tilt and the tilted law of Z; None where Z is never positive."""
        numbers = np.append(self.beside.one - math.exp(epsilon) * self.beside.two, 0.0)
        chances = np.append(self.beside.mass, max(0.0, 1 - self.beside.mass.sum()))
        if numbers.max() <= 0:
            return None
        tilt = _tilt(numbers, chances)
        weights = chances * np.exp(tilt * numbers)
        return tilt, _TiltedLaw(numbers, weights / weights.sum(), math.log(weights.sum()))

    def coarse(self, epsilon: float) -> float:
        """An upper bound at once: s+ is at most e**(tilt s) / (e tilt)."""
        if (tilted := self._tilted(epsilon)) is None:
            return 0.0
        tilt, law = tilted
        return math.exp(min(0.0, self.n * law.log - math.log(self.n * math.e * tilt)))

    def delta(self, epsilon: float) -> float:
        """An upper bound of delta at an epsilon above 0."""
        coarse = self.coarse(epsilon)
        if coarse < _TINY or (tilted := self._tilted(epsilon)) is None:
            return coarse
        tilt, law = tilted
        people = 1
        for fold in _folds(self.n):
            law, people = _sum(law, fold, tilt), people * fold
        above = law.numbers > 0
        mean = float(np.sum(law.numbers[above] * np.exp(-tilt * law.numbers[above]) * law.chances[above]))
        # Sums that leave the window: s e**(-tilt s) is at most 1 / (e tilt), and each group may leave.
        lost = math.exp(-_LEFT_OUT) * 2 * people / (math.e * tilt)
        return float(min(coarse, math.exp(law.log) * (mean * (1 + _ROUNDING) + lost) / people))


def _tilt(numbers: Floats, chances: Floats) -> float:
    """The tilt under which the mean is zero."""

    def mean(tilt: float) -> float:
        return float(np.sum(chances * numbers * np.exp(tilt * (numbers - numbers.max()))))

    high = 1 / numbers.max()
    while mean(high) <= 0:
        high *= 2
    return float(brentq(mean, 0.0, high, xtol=1e-12 * high))


def _folds(n: int) -> list[int]:
    """Factors with a product of at most n, and near it, none above `_FOLD`."""
    levels = max(1, math.ceil(math.log(n) / math.log(_FOLD) - 1e-9))
    factors = []
    for level in range(levels, 0, -1):
        factors.append(max(1, int(n ** (1 / level) + 1e-9)))
        n //= factors[-1]
    return factors


def _sum(law: _TiltedLaw, count: int, tilt: float) -> _TiltedLaw:
    """The law of the sum of so many numbers of this law, on a grid, tilted alike."""
    reach = _reach(law, count)
    size = 1 << math.ceil(math.log2(2 * reach * _FINE / math.sqrt(np.sum(law.chances * law.numbers**2))))
    step = 2 * reach / size
    below = np.floor(law.numbers / step)
    up = law.numbers / step - below
    cells = np.zeros(size)
    for place, share in ((below, 1 - up), (below + 1, up)):
        moved = law.chances * share * np.exp(tilt * (place * step - law.numbers))
        cells += np.bincount(place.astype(np.int64) % size, moved, size)
    total = float(cells.sum())
    power = np.fft.irfft(np.fft.rfft(cells / total) ** count, size)
    places = np.asarray(np.fft.fftfreq(size, 1 / size), np.float64)
    chances = np.maximum(power, 0.0)
    kept = chances > 0
    return _TiltedLaw(places[kept] * step, chances[kept], count * (law.log + math.log(total)))


def _reach(law: _TiltedLaw, count: int) -> float:
    """How far the sum may be from zero but for the probability left out on each side, by Chernoff's bound."""
    deviation = math.sqrt(count * float(np.sum(law.chances * law.numbers**2)))
    widest = float(np.abs(law.numbers).max())
    best = 1.01 * count * widest  # no sum is further away
    for slope in np.geomspace(0.2, 1.6, 7) * math.sqrt(2 * _LEFT_OUT) / deviation:
        if slope * widest < 500:
            both = max(float(np.sum(law.chances * np.exp(side * slope * law.numbers))) for side in (1, -1))
            best = min(best, (count * math.log(both) + _LEFT_OUT) / slope)
    return 1.01 * best
