"""How often the interval of a share covers, computed from the law of the counts. No simulation.

For each possible count (or pair of counts) the shipped interval is evaluated, and the probabilities of those that
cover the truth are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sottovoce.core.channel import Block, Contrast, Histogram, Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.shares.contrasts import ContrastsEvidence
from sottovoce.estimate.shares.sums import SumsEvidence, bins
from sottovoce.estimate.shares.supports import SupportsEvidence
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REACH = 6.5  # standard deviations that are enumerated; the mass beyond, below 1e-9, counts as not covered
_ROUNDING = 1e-12


def support_law(rates: Rates, n: int, held: int, target: str) -> tuple[Ints, Floats]:
    """The counts of supporting reports and their probabilities when a share held/n holds the code."""
    own, other = float(rates.own), float(rates.other)
    if target == "population":
        rate = other + held / n * (own - other)
        counts = _around(n * rate, math.sqrt(n * rate * (1 - rate)), n)
        return counts, stats.binom.pmf(counts, n, rate)
    left = _around(held * own, math.sqrt(held * own * (1 - own)), held)
    right = _around((n - held) * other, math.sqrt((n - held) * other * (1 - other)), n - held)
    law = np.convolve(stats.binom.pmf(left, held, own), stats.binom.pmf(right, n - held, other))
    return np.arange(left[0] + right[0], left[-1] + right[-1] + 1), law


def contrast_law(rates: Contrast, n: int, held: int, mates: int, target: str) -> tuple[Ints, Ints, Floats]:
    """Pairs (plus, minus) and their probabilities; `mates` others hold codes of the same group.

    The law of a sum of independent three-way scores is the Fourier transform of its characteristic function, on a
    window wide enough that nothing wraps around.
    """
    kinds = [
        (held, float(rates.plus_own), float(rates.hit_own - rates.plus_own)),
        (mates, float(rates.hit_own) / 2, float(rates.hit_own) / 2),
        (n - held - mates, float(rates.hit_other) / 2, float(rates.hit_other) / 2),
    ]
    means = [sum(count * kind[side] for count, *kind in kinds) for side in (0, 1)]
    sizes = [1 << math.ceil(math.log2(2 * _REACH * math.sqrt(mean + 1) + 16)) for mean in means]
    plus_turn, minus_turn = (np.exp(2j * np.pi * np.arange(size) / size) for size in sizes)

    def characteristic(plus: float, minus: float) -> NDArray[np.complex128]:
        return np.asarray(1 - plus - minus + plus * plus_turn[:, None] + minus * minus_turn[None, :])

    if target == "population":
        total = characteristic(means[0] / n, means[1] / n) ** n
    else:
        total = np.ones((sizes[0], sizes[1]), complex)
        for count, plus, minus in kinds:
            total *= characteristic(plus, minus) ** count
    law = np.real(np.fft.fft2(total)) / total.size
    starts = [max(0, round(mean) - size // 2) for mean, size in zip(means, sizes, strict=True)]
    plus_counts, minus_counts = (start + np.arange(size) for start, size in zip(starts, sizes, strict=True))
    law = law[np.ix_(plus_counts % sizes[0], minus_counts % sizes[1])]
    likely = law > 1e-10
    grid = np.meshgrid(plus_counts, minus_counts, indexing="ij")
    return grid[0][likely], grid[1][likely], law[likely]


def sum_law(channel: Histogram, n: int, held: int, target: str) -> tuple[Ints, Floats]:
    """The sums of a bin and their probabilities, by the powers of characteristic functions on a wide enough window."""
    off, on = (law_row(channel.part, code) for code in (0, channel.part.inputs - 1))
    found, outputs = bins(channel), np.arange(len(off))
    mean = n * found.start + held * found.slope
    deviation = math.sqrt(n * (max(found.on, found.off) + found.slope**2))
    size = 1 << math.ceil(math.log2(2 * _REACH * deviation + len(off)))
    turned = [np.fft.fft(np.bincount(outputs % size, law, size)) for law in (off, on)]
    if target == "population":
        total = ((1 - held / n) * turned[0] + held / n * turned[1]) ** n
    else:
        total = turned[0] ** (n - held) * turned[1] ** held
    sums = round(mean) - size // 2 + np.arange(size)
    law = np.maximum(np.real(np.fft.ifft(total)), 0)[sums % size]
    likely = law > 1e-14
    return sums[likely], law[likely]


def coverage(mechanism: Mechanism, n: int, share: float, method: str, target: str, level: float = 0.95) -> float:
    """The probability that the interval of the first code covers its share; all others are held equally often."""
    held = round(share * n)
    rates = rates_of(mechanism.channel)
    if isinstance(rates, Rates):
        own, other = float(rates.own), float(rates.other)
        counts, law = support_law(rates, n, held, target)
        rows = np.zeros_like(counts)

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return SupportsEvidence(counts, n, own, other)

    elif isinstance(rates, Contrast) and isinstance(mechanism.channel, Block):
        sets = mechanism.channel.sets
        groups = sets.outputs // (2 * sets.size)
        mates = round((n - held) * (-(-sets.codes // groups) - 1) / (sets.codes - 1))
        counts, minus, law = contrast_law(rates, n, held, mates, target)
        rows = counts + minus
        hit_own, plus_own = float(rates.hit_own), float(rates.plus_own)

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return ContrastsEvidence(counts, rows, n, hit_own, plus_own)

    elif isinstance(mechanism.channel, Histogram):
        read = bins(mechanism.channel)
        counts, law = sum_law(mechanism.channel, n, held, target)
        low, high = SumsEvidence(counts, n, read).interval(level, method, target)
        return float(law[(low <= held / n + _ROUNDING) & (high >= held / n - _ROUNDING)].sum())
    else:
        raise TypeError(f"The coverage of {mechanism.name} cannot be computed from its law.")

    def reaches(counts: Ints, rows: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        low, high = evidence(counts, rows).interval(level, method, target)
        return high >= held / n - _ROUNDING, low > held / n + _ROUNDING

    if method in ("wilson", "normal") or (isinstance(rates, Rates) and target == "population"):
        from_above, beyond = reaches(counts, rows)
        return float(law[from_above & ~beyond].sum())
    # The limits rise with the count, so for each row the counts that cover are a range: bisect for its ends.
    kinds, places = np.unique(rows, return_inverse=True)
    first = _first_true(lambda c: reaches(c, kinds)[0], counts, places, len(kinds))
    past = _first_true(lambda c: reaches(c, kinds)[1], counts, places, len(kinds))
    return float(law[(counts >= first[places]) & (counts < past[places])].sum())


def _first_true(test: Callable[[Ints], NDArray[np.bool_]], counts: Ints, places: Ints, rows: int) -> Ints:
    """For each row the least of its counts from which on a monotone test is true; one past the last if none is."""
    low, high = np.full(rows, np.iinfo(np.int64).max), np.full(rows, -1)
    np.minimum.at(low, places, counts)
    np.maximum.at(high, places, counts + 1)
    while (low < high).any():
        middle = (low + high) // 2
        found = test(np.minimum(middle, np.maximum(high - 1, low))) | (low >= high)
        low, high = np.where(found, low, middle + 1), np.where(found, np.minimum(middle, high), high)
    return high


def _around(mean: float, deviation: float, top: int) -> NDArray[np.int64]:
    reach = _REACH * deviation + 12
    return np.arange(max(0, math.floor(mean - reach)), min(top, math.ceil(mean + reach)) + 1)
