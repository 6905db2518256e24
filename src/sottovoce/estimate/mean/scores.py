"""Means of one score from each report: how well the normal law fits them, and intervals that hold where it does not.

A share of a rare bucket is the mean of scores of which few differ much from the others. Its law is skewed, and its
standard error is known from these few only, so that the normal interval misses too often: an Edgeworth expansion bounds
how often. The betting interval (`estimate.mean.betting`) holds for every law of bounded scores.

Reference: Hall, "The bootstrap and Edgeworth expansion", Springer 1992, section 2.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sottovoce.estimate.evidence import Bounds, Flags, Floats, deviate
from sottovoce.estimate.mean.betting import SPACING, bets_for

MOST_SCORES = 1 << 22  # numbers that are held at once: functionals times outputs
MOST_BETS = 1 << 21  # functionals times outputs times bets, for which betting intervals are computed
_BLOCK = 1 << 19  # of these held at once
_HALVINGS = 44
_POWERS = (2, 3, 4, 6)
_SURE = 2  # standard errors that are added to a skewness
_CONSTANT = 1e-18  # variance of a score that does not vary but by rounding


class ScoreMoments(NamedTuple):
    """Central moments of the error of one score."""

    second: Floats
    third: Floats
    fourth: Floats
    sixth: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ReportScores:
    """Functionals that are means of scores.

    Attributes:
        numbers: the score of each output, one row for each functional.
        counts: how often each output was sent.
        rates: the likely rates of the outputs.
        n: all reports.
    """

    numbers: Floats
    counts: Floats
    rates: Floats
    n: int

    def moments(self) -> ScoreMoments:
        """Moments about the mean score, for the population."""
        away = self.numbers - (self.numbers @ self.rates)[:, None]
        return ScoreMoments(*(np.asarray(away**power @ self.rates) for power in _POWERS))

    def noise(self, weights: Floats, law: Floats, shares: Floats) -> ScoreMoments:
        """Moments about the mean score given the bucket, for the sample; this mean is the weight of the bucket.

        `law` has one column of probabilities of the outputs for each bucket, `shares` are likely ones.
        """
        raw = [self.numbers**power @ law for power in range(_POWERS[-1] + 1)]  # by functional and bucket
        likely = np.maximum(shares, 0) / np.maximum(shares, 0).sum()
        central = (
            sum(math.comb(power, k) * (-weights) ** (power - k) * raw[k] for k in range(power + 1)) for power in _POWERS
        )
        return ScoreMoments(*(np.asarray(moment @ likely) for moment in central))

    @property
    def _bets(self) -> int:
        return 1 + math.ceil(math.log(max(self.n, 4)) / 2 / math.log(SPACING))

    @property
    def affordable(self) -> bool:
        """Whether betting intervals of all functionals are computed."""
        return len(self.numbers) * int((self.counts > 0).sum()) * self._bets <= MOST_BETS

    def betting(self, limits: tuple[Floats, Floats], level: float) -> Bounds | None:
        """Intervals that hold for every law, of means that lie within these limits; None where they cost too much.

        Reports are independent, so the interval also holds for the mean of their expectations: for the sample, and for
        scores of several mechanisms.
        """
        if not self.affordable:
            return None
        used = self.counts > 0
        numbers, counts, bets = self.numbers[:, used], self.counts[used], self._bets
        lowest, highest = self.numbers.min(axis=1), self.numbers.max(axis=1)
        low, high = np.empty(len(numbers)), np.empty(len(numbers))
        block = max(1, _BLOCK // max(1, numbers.shape[1] * bets))
        for start in range(0, len(numbers), block):
            part = slice(start, start + block)
            ends = limits[0][part], limits[1][part]
            reach = lowest[part], highest[part]
            low[part] = _lower(numbers[part], counts, reach, ends, level)
            mirrored = (-reach[1], -reach[0]), (-ends[1], -ends[0])
            high[part] = -_lower(-numbers[part], counts, *mirrored, level)
        return Bounds(low, high)


def _lower(
    numbers: Floats, counts: Floats, reach: tuple[Floats, Floats], ends: tuple[Floats, Floats], level: float
) -> Floats:
    """The least mean that bets on a larger one do not refute, for each row, rounded down."""
    n, spread = int(counts.sum()), (reach[1] - reach[0]) / 2
    sizes = []
    for row, half in enumerate(spread):
        # Scores that seldom differ have a standard deviation of half their range over the root of n, or more.
        limit = 1 / max(ends[1][row] - reach[0][row], 1e-300)
        sizes.append(bets_for(n, 1 - level, (half / math.sqrt(max(n, 4)), half), limit).sizes)
    bets = np.array(sizes)[:, None, :]
    threshold = math.log(2 * bets.shape[2] / (1 - level))

    def refuted(means: Floats) -> Flags:
        away = (numbers - means[:, None])[:, :, None] * bets
        logs = np.einsum("j,ijk->ik", counts, np.log1p(away))
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)) >= threshold)

    low, high = ends[0].astype(float), ends[1].astype(float)
    open_low = refuted(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        out = refuted(middle)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return np.where(open_low, low, ends[0])


def excess(moments: ScoreMoments, n: int, level: float) -> Floats:
    """How many times as often as promised a normal interval may miss, by the expansion of its law.

    The largest term is that of the squared skewness. It is known as poorly as the few scores that it comes from, and
    may be near zero by chance: so it is taken two of its standard errors larger, but no larger than the kurtosis allows
    (Pearson 1916). A score that is the same for all outputs has no error.
    """
    second = moments.second
    known = second > _CONSTANT
    unit = np.where(known, second, 1.0)
    skewness = np.abs(moments.third) / unit**1.5 + _SURE * np.sqrt(np.maximum(moments.sixth, 0) / n / unit**3)
    square = np.minimum(skewness**2, np.maximum(moments.fourth / unit**2 - 1, 0))
    return np.where(known, skewness_excess(square / n, level), 1.0)


def skewness_excess(square: Floats, level: float) -> Floats:
    """How many times as often as promised a normal interval misses, from the squared skewness of the sum."""
    z = deviate(level)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return np.asarray(1 + np.maximum(density * z * (z**4 + 2 * z**2 - 3) / 9 * square, 0) / (1 - level))
