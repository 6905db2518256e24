"""What a range costs: how much clamping to it moves a mean, and how much noise its width brings.

Of the share beyond the best range, usually less than a hundredth, noisy answers say next to nothing; it must be
extrapolated from the shares that can be seen. Each side of the centre is taken to fall like a Weibull law, whose
scale, shape and share are averaged over what the answers leave possible. The law is used to choose a range and for
nothing else: no estimate and no interval depends on it.
"""

from __future__ import annotations

from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, gammaincc

from sottovoce.protocols.range_bits import Bits

Floats = NDArray[np.float64]

SHAPES = np.exp(np.linspace(log(0.3), log(5.0), 15))  # 1 is an exponential tail, 2 that of a normal law
SPREAD_OF_SHAPES = 0.3  # of their logarithm, before anything is known
SCALES = 48
SHARES = np.array([0.5, 0.3, 0.1, 0.03])  # beyond the centre; less than a half where many hold the same number
OF_A_HALF = 0.85  # how likely it is that nobody does, before anything is known
PLACES = 120
NEGLIGIBLE = 1e-5  # weight of a law


class Tail:
    """One side of a distribution: answers about thresholds by their distance from the centre, and how far it may go."""

    def __init__(self, bits: Bits, reach: float) -> None:
        self.bits, self.reach = bits, reach
        nearest = float(bits.thresholds.min()) if len(bits.thresholds) else reach
        grid = np.meshgrid(SHARES, np.geomspace(nearest / 8, reach * 2, SCALES), SHAPES, indexing="ij")
        laws = np.stack([axis.ravel() for axis in grid])
        weights = _posterior(bits, laws)
        kept = weights > NEGLIGIBLE
        self._laws, self._weights = laws[:, kept], weights[kept] / weights[kept].sum()
        # Where to clamp at all: from half the nearest threshold to the end.
        self.places = np.geomspace(min(nearest / 2, reach), reach, PLACES)

    def distance(self, share: float) -> float:
        """Where the expected share has fallen to this one, or the end."""
        expected = _beyond(self.places, self._laws) @ self._weights
        enough = np.flatnonzero(expected <= share)
        if not len(enough):
            return self.reach
        last = int(enough[0])
        if last == 0:
            return float(self.places[0])
        # Between the two, as if both the distance and the share changed by constant ratios.
        steps = np.log(expected[last - 1 : last + 1])
        part = float((log(share) - steps[0]) / (steps[1] - steps[0]))
        return float(self.places[last - 1] ** (1 - part) * self.places[last] ** part)

    @cached_property
    def _biases(self) -> Floats:
        """How much clamping at each place would bias the mean, by each law.

        What the answers prove of a far part of the distribution counts too, whatever the law says.
        """
        by_law = _excess(self.places, self._laws) - _excess(np.array([self.reach]), self._laws)
        return np.asarray(np.maximum(by_law, self.proven()[:, None]))

    def proven(self) -> Floats:
        """The least excess beyond each place that the answers leave possible."""
        ends, least = self.bits.thresholds, self.bits.certain()
        starts = np.concatenate([[0.0], ends[:-1]])
        gaps = np.clip(ends - np.maximum(starts, self.places[:, None]), 0, None)
        return np.asarray(gaps @ least)

    def best(self, other: float, noise: float) -> float:
        """How far to go on this side, if one goes so far on the other.

        The expected logarithm of the squared error is minimised: how many times larger than need be an error is. The
        expected square itself would be ruled by the few laws with the heaviest tails, however unlikely they are.
        """
        errors = self._biases**2 + (noise * (self.places + other))[:, None] ** 2
        return float(self.places[int(np.argmin(np.log(errors) @ self._weights))])


def best_distances(below: Tail | None, above: Tail | None, noise: float) -> tuple[float, float]:
    """How far to go below and above the centre, where the noise of a mean has the standard error `noise` x width."""
    left, right = (0.0 if tail is None else tail.distance(0.01) for tail in (below, above))
    for _ in range(4):  # each side in turn: they meet in the width alone
        left = 0.0 if below is None else below.best(right, noise)
        right = 0.0 if above is None else above.best(left, noise)
    return left, right


def _posterior(bits: Bits, laws: Floats) -> Floats:
    """How likely each law is, given the answers."""
    shares, _, shapes = laws
    prior = -(np.log(shapes) ** 2) / (2 * SPREAD_OF_SHAPES**2)
    prior = prior + np.where(shares == SHARES[0], log(OF_A_HALF), log((1 - OF_A_HALF) / (len(SHARES) - 1)))
    rate = bits.other + (bits.own - bits.other) * _beyond(bits.thresholds, laws)
    fit = bits.yes @ np.log(rate) + (bits.asked - bits.yes) @ np.log1p(-rate)
    chance = np.exp(prior + fit - (prior + fit).max())
    return np.asarray(chance / chance.sum())


def _beyond(distances: Floats, laws: Floats) -> Floats:
    """The share beyond each distance (rows) by each law (columns)."""
    shares, scales, shapes = laws
    return np.asarray(shares * np.exp(-((distances[:, None] / scales) ** shapes)))


def _excess(distances: Floats, laws: Floats) -> Floats:
    """The mean of what lies beyond each distance, by each law: the integral of the share from there on."""
    shares, scales, shapes = laws
    rest = gammaincc(1 / shapes, (distances[:, None] / scales) ** shapes)
    return np.asarray(shares * scales / shapes * gamma(1 / shapes) * rest)
