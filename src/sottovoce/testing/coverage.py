"""How often the interval of a share covers, computed from the law of the counts. No simulation.

For each possible count (or pair of counts) the shipped interval is evaluated, and the probabilities of those that
cover the truth are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sottovoce.core.channel import Contrast, Histogram, Rates
from sottovoce.core.channel.facets import facet
from sottovoce.core.channel.shapes import Itemised, contrast_of, histogram_of, support_rates
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.estimate.evidence import Evidence, deviate
from sottovoce.estimate.frequency.asked import AskedEvidence, asked_rates
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.sums import SumsEvidence, bins
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = tuple[Ints, Ints, Floats]  # pluses, minuses, probabilities

_REACH = 6.5  # standard deviations that are enumerated; the mass beyond, below 1e-9, counts as not covered
_NOISE = 1e-15  # probabilities that rounding errors of a Fourier sum can make
_NEGLIGIBLE = -40.0  # the logarithm of a factor that is left out of such a sum
ROWS = 48  # numbers of hits at which a law of two counts is computed
_ROUNDING = 1e-12


def support_law(rates: Rates, n: int, held: int, target: Target) -> tuple[Ints, Floats]:
    """The counts of supporting reports and their probabilities when a share held/n holds the code."""
    own, other = float(rates.own), float(rates.other)
    if target == Target.POPULATION:
        rate = other + held / n * (own - other)
        counts = _around(n * rate, math.sqrt(n * rate * (1 - rate)), n)
        return counts, stats.binom.pmf(counts, n, rate)
    left = _around(held * own, math.sqrt(held * own * (1 - own)), held)
    right = _around((n - held) * other, math.sqrt((n - held) * other * (1 - other)), n - held)
    law = np.convolve(stats.binom.pmf(left, held, own), stats.binom.pmf(right, n - held, other))
    return np.arange(left[0] + right[0], left[-1] + right[-1] + 1), law


@lru_cache(maxsize=16)
def contrast_law(rates: Contrast, n: int, held: int, mates: int, target: Target) -> tuple[Ints, Ints, Floats]:
    """Pairs (plus, minus) and their probabilities; `mates` others hold codes of the same group."""
    kinds = [
        (held, float(rates.plus_own), float(rates.hit_own - rates.plus_own)),
        (mates, float(rates.hit_own) / 2, float(rates.hit_own) / 2),
        (n - held - mates, float(rates.hit_other) / 2, float(rates.hit_other) / 2),
    ]
    return _pair_law(kinds, n, target)


@lru_cache(maxsize=16)
def asked_law(rates: tuple[float, float, float], n: int, held: int, target: Target) -> tuple[Ints, Ints, Floats]:
    """Pairs (bits set, bits not set) of those who are asked about a code, and their probabilities."""
    own, other, part = rates
    kinds = [(held, part * own, part * (1 - own)), (n - held, part * other, part * (1 - other))]
    return _pair_law(kinds, n, target, ROWS // 3)


def _pair_law(
    kinds: list[tuple[int, float, float]], n: int, target: Target, most: int = ROWS
) -> tuple[Ints, Ints, Floats]:
    """Pairs (plus, minus) of n reports of several kinds, each with its number and its rates of plus and of minus.

    Where there are more than `most` likely numbers of hits, they are taken at even steps, each for those around it.
    """
    plus, minus = (sum(count * kind[side] for count, *kind in kinds) for side in (0, 1))
    if target == Target.POPULATION:
        kinds = [(n, plus / n, minus / n)]
    # Where everyone is asked there is no rest, and the sum of both rates may be rounded to above 1.
    spread = math.sqrt(sum(count * (up + down) * max(1 - up - down, 0) for count, up, down in kinds))
    likely = _around(plus + minus, spread, n)
    step = -(-len(likely) // most)
    rows = likely[step // 2 :: step]
    parts = _binomial_rows(kinds[0], rows) if len(kinds) == 1 else _summed_rows(kinds, rows, (plus, minus))
    ups, downs, law = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ups, downs, step * law


def _binomial_rows(kind: tuple[int, float, float], rows: Ints) -> Iterator[Row]:
    """The likely pairs with each number of hits: of one kind of reports, pluses are binomial."""
    n, up, down = kind
    rate = up / (up + down)
    for hits in map(int, rows):
        plus = _around(hits * rate, math.sqrt(hits * rate * (1 - rate)), hits)
        law = stats.binom.pmf(hits, n, min(1.0, up + down)) * stats.binom.pmf(plus, hits, rate)
        yield plus, hits - plus, law


def _summed_rows(kinds: list[tuple[int, float, float]], rows: Ints, means: tuple[float, float]) -> Iterator[Row]:
    """Likely rows for a sum over several kinds of reports, by the characteristic function.

    That is as narrow as the law is wide, so few frequencies are needed where counts are large.
    """
    # Pluses and minuses each spread by no more than a Poisson count of the same mean.
    windows = [2 * math.ceil(_REACH * math.sqrt(mean) + 16) + 1 for mean in means]
    first, last = (max(0, round(mean) - window // 2) for mean, window in zip(means, windows, strict=True))
    angles = [_frequencies(window, kinds, side) for side, window in enumerate(windows)]
    turns = [np.exp(1j * angle) for angle in angles]
    log = np.zeros((len(angles[0]), len(angles[1])), complex)
    for count, up, down in kinds:
        log += count * np.log(1 - up - down + up * turns[0][:, None] + down * turns[1][None, :])
    turned = np.exp(log)
    for hits in map(int, rows):
        plus = np.arange(max(first, hits - last - windows[1] + 1), min(first + windows[0], hits - last + 1))
        ups, downs = np.exp(-1j * np.outer(plus, angles[0])), np.exp(-1j * np.outer(hits - plus, angles[1]))
        law = np.real(((ups @ turned) * downs).sum(axis=1)) / (windows[0] * windows[1])
        likely = law > _NOISE
        yield plus[likely], hits - plus[likely], law[likely]


def _frequencies(window: int, kinds: list[tuple[int, float, float]], side: int) -> Floats:
    """Angles at which the characteristic function of a count is not negligible; the other count is free."""
    angles = 2 * np.pi * np.fft.fftfreq(window)
    bound = np.zeros(window)
    for count, *rates in kinds:
        own, other = rates[side], rates[1 - side]
        rest = 1 - own - other  # by the triangle inequality for the term that turns freely
        bound += count * np.log(np.abs(rest + own * np.exp(1j * angles)) + other)
    return np.asarray(angles[bound > _NEGLIGIBLE])


@lru_cache(maxsize=16)
def sum_law(channel: Histogram, n: int, held: int, target: Target) -> tuple[Ints, Floats]:
    """The sums of a bin and their probabilities, by the powers of characteristic functions on a wide enough window."""
    off, on = (law_row(channel.part, code) for code in (0, channel.part.inputs - 1))
    moments, outputs = bins(channel), np.arange(len(off))
    mean = n * moments.start + held * moments.slope
    deviation = math.sqrt(n * (max(moments.on, moments.off) + moments.slope**2))
    size = 1 << math.ceil(math.log2(2 * _REACH * deviation + len(off)))
    turned = [np.fft.fft(np.bincount(outputs % size, law, size)) for law in (off, on)]
    if target == Target.POPULATION:
        total = ((1 - held / n) * turned[0] + held / n * turned[1]) ** n
    else:
        total = turned[0] ** (n - held) * turned[1] ** held
    sums = round(mean) - size // 2 + np.arange(size)
    law = np.maximum(np.real(np.fft.ifft(total)), 0)[sums % size]
    likely = law > _NOISE
    return sums[likely], law[likely]


def coverage(mechanism: Mechanism, n: int, share: float, method: str, target: Target, level: float = 0.95) -> float:
    """The probability that the interval of the first code covers its share; all others are held equally often."""
    held = round(share * n)
    channel = mechanism.channel
    itemised, contrast, histogram = facet(channel, Itemised), contrast_of(channel), histogram_of(channel)
    rates = support_rates(channel) if itemised is None else itemised.item_rates()
    if isinstance(mechanism.statistic, CountAsked):
        of_a_bit = asked_rates(mechanism)
        counts, minus, law = asked_law(of_a_bit, n, held, target)
        rows = counts + minus

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return AskedEvidence(counts, rows, n, *of_a_bit)

    elif rates is not None:
        own, other = float(rates.own), float(rates.other)
        counts, law = support_law(rates, n, held, target)
        rows = np.zeros_like(counts)

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return SupportsEvidence(counts, n, own, other)

    elif contrast is not None:
        codes = channel.inputs
        mates = round((n - held) * (-(-codes // contrast.groups) - 1) / (codes - 1))
        counts, minus, law = contrast_law(contrast, n, held, mates, target)
        rows = counts + minus
        hit_own, plus_own = float(contrast.hit_own), float(contrast.plus_own)

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return ContrastsEvidence(counts, rows, n, hit_own, plus_own)

    elif histogram is not None:
        read = bins(histogram)
        counts, law = sum_law(histogram, n, held, target)
        rows = np.zeros_like(counts)

        def evidence(counts: Ints, rows: Ints) -> Evidence:
            return SumsEvidence(counts, n, read)

    else:
        raise TypeError(f"The coverage of {mechanism.name} cannot be computed from its law.")

    def reaches(counts: Ints, rows: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        low, high = evidence(counts, rows).interval(IntervalRequest(level, Method(method), target))
        return high >= held / n - _ROUNDING, low > held / n + _ROUNDING

    if method in ("wilson", "normal"):
        from_above, beyond = reaches(counts, rows)
        return float(law[from_above & ~beyond].sum())
    # The limits rise with the count, so for each row the counts that cover are a range: bisect for its ends.
    kinds, places = np.unique(rows, return_inverse=True)
    if len(kinds) == 1:
        low = _turn(lambda c: reaches(c, kinds)[0], counts, law, -deviate(level))
        high = _turn(lambda c: reaches(c, kinds)[1], counts, law, deviate(level))
        return float(law[(counts >= low) & (counts < high)].sum())
    first = _first_true(lambda c: reaches(c, kinds)[0], counts, places, len(kinds))
    past = _first_true(lambda c: reaches(c, kinds)[1], counts, places, len(kinds))
    return float(law[(counts >= first[places]) & (counts < past[places])].sum())


def _turn(test: Callable[[Ints], NDArray[np.bool_]], counts: Ints, law: Floats, deviates: float) -> int:
    """The least of the counts from which on a monotone test is true, looked for around a normal quantile first."""
    mean = float(counts @ law)
    off = deviates * math.sqrt(max(float((counts - mean) ** 2 @ law), 0.0))
    near = counts[np.abs(counts - mean - off) <= 4 + 0.02 * abs(off)]
    turns = len(near) > 1 and not test(near[:1])[0] and bool(test(near[-1:])[0])
    chosen = near if turns else counts
    return int(_first_true(test, chosen, np.zeros_like(chosen), 1)[0])


def _first_true(test: Callable[[Ints], NDArray[np.bool_]], counts: Ints, places: Ints, rows: int) -> Ints:
    """For each row the least of its counts from which on a monotone test is true; one past the last if none is."""
    low, high = np.full(rows, np.iinfo(np.int64).max), np.full(rows, -1)
    np.minimum.at(low, places, counts)
    np.maximum.at(high, places, counts + 1)
    while (low < high).any():
        middle = (low + high) // 2
        passed = test(np.minimum(middle, np.maximum(high - 1, low))) | (low >= high)
        low, high = np.where(passed, low, middle + 1), np.where(passed, np.minimum(middle, high), high)
    return high


def _around(mean: float, deviation: float, top: int) -> NDArray[np.int64]:
    reach = _REACH * deviation + 12
    return np.arange(max(0, math.floor(mean - reach)), min(top, math.ceil(mean + reach)) + 1)
