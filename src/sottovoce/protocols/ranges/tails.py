"""The cost of a range: the bias of clamping to it, and the noise of its width.

The share beyond the best range, usually less than a hundredth, cannot be estimated from noisy answers; it is
extrapolated from larger shares. Each side of the centre is assumed to fall like a Weibull law, whose scale, shape and
share are averaged over their posterior. The law is used only to choose a range: estimates and intervals do not depend
on it.
"""

from __future__ import annotations

from functools import cached_property
from math import log
from typing import NamedTuple

import numpy as np
from scipy.special import gamma, gammaincc

from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.ranges.bits import ThresholdBits

SHAPES = (0.3, 10.0)  # 1 is an exponential tail, 2 that of a normal law
SHAPES_TRIED = 12
HEAVIER, LIGHTER = 0.3, 0.8  # how far the logarithm of a shape may lie from that of 1, before anything is known
SCALES_TRIED = 80  # at first, over all magnitudes
SCALES = 24  # then, around the likely ones
FINER = 2  # times that the laws are laid more closely around the likely ones
LIKELY = 1e-5  # of the weight of the likeliest
SHARES = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.03])  # beyond the centre; less than a half if many hold the same number
OF_A_HALF = 0.7  # prior probability that the share is a half
PLACES = 90
POSSIBLE = 3.0  # of a log-likelihood, below its maximum
SAME = 2.0  # thresholds this near to each other by their ratio have about the same share beyond
NEGLIGIBLE = 1e-6  # of the weight of the likeliest law
CAUTIOUS = 0.75  # of the weight of all laws


class Outermost(NamedTuple):
    """The last threshold beyond which answers lie for certain, the last place where they may end, and their share."""

    inner: float
    outer: float
    share: float


class Tail:
    """One side of a distribution: answers about thresholds by their distance from the centre, and how far it may go."""

    def __init__(self, bits: ThresholdBits, reach: float, start: float | None = None) -> None:
        self.bits, self.reach = bits, reach
        self._far = 0.0  # the share of a place far beyond the tail, which says nothing about the tail
        if start is not None and self.outermost.inner >= start:
            bits, self._far = bits.within(start), self.outermost.share
        nearest = float(bits.thresholds.min()) if len(bits.thresholds) else reach
        scales, shapes = np.geomspace(nearest / 8, reach * 2, SCALES_TRIED), np.geomspace(*SHAPES, SHAPES_TRIED)
        laws, weights = _posterior(bits, scales, shapes)
        for _ in range(FINER):  # answers may be more precise than the steps between laws
            scales = _around(laws[1], weights, scales, SCALES)
            shapes = _around(laws[2], weights, shapes, SHAPES_TRIED)
            laws, weights = _posterior(bits, scales, shapes)
        self._laws, self._weights = laws, weights
        # Where to clamp at all: from half the nearest threshold to the end.
        self.places = np.geomspace(min(nearest / 2, reach), reach, PLACES)

    def distance(self, share: float) -> float:
        """The distance at which the expected share has fallen to this one, or the end."""
        expected = self._expected
        enough = np.flatnonzero(expected <= share)
        if not len(enough):
            return self.reach
        last = int(enough[0])
        if last == 0:
            return float(self.places[0])
        # Between the two, by interpolation of the logarithms of distance and share.
        steps = np.log(expected[last - 1 : last + 1])
        part = float((log(share) - steps[0]) / (steps[1] - steps[0]))
        return float(self.places[last - 1] ** (1 - part) * self.places[last] ** part)

    def cautious_distance(self, share: float) -> float:
        """The distance beyond which three quarters of the likely laws have at most this share, or the end.

        The expected share of all laws together would be that of the few with the heaviest tails.
        """
        shares, scales, shapes = self._laws
        places = scales * np.log(np.maximum(shares / share, 1)) ** (1 / shapes)
        order = np.argsort(places)
        last = np.searchsorted(np.cumsum(self._weights[order]), CAUTIOUS * self._weights.sum())
        return min(self.reach, float(places[order][min(last, len(order) - 1)]))

    def share_beyond(self, distances: Floats) -> Floats:
        """The expected share beyond each distance."""
        return np.asarray(_beyond(distances, self._laws) @ self._weights)

    @cached_property
    def _expected(self) -> Floats:
        """The expected share beyond each place."""
        return self.share_beyond(self.places)

    @cached_property
    def _biases(self) -> Floats:
        """How much clamping at each place would bias the mean, by each law.

        The proven lower bound of the far part of the distribution counts too, for every law.
        """
        by_law = _excess(self.places, self._laws) - _excess(np.array([self.reach]), self._laws)
        far = self._far * np.clip(self.outermost.outer - self.places, 0, None)
        return np.asarray(np.maximum(by_law, self.proven()[:, None]) + far[:, None])

    def proven(self) -> Floats:
        """The excess beyond each place that the answers show for certain."""
        least = self.bits.certain()
        ends = self.bits.thresholds
        starts = np.concatenate([[0.0], ends[:-1]])
        gaps = np.clip(ends - np.maximum(starts, self.places[:, None]), 0, None)
        return np.asarray(gaps @ least)

    @cached_property
    def outermost(self) -> Outermost:
        """Where the last answers lie that are certain."""
        places, shares, asked = self.bits.thresholds, self.bits.shares, self.bits.asked
        sure = np.flatnonzero(self.bits.certain())
        if not len(sure):
            return Outermost(0.0, 0.0, 0.0)
        last = int(sure[-1])
        near = places >= places[last] / SAME
        near[last + 1 :] = False
        share = float((asked[near] * shares[near]).sum() / asked[near].sum())
        # The likelihood that all of it lies before a threshold: too wide a range costs less than too narrow a one.
        worth = 4 * (self.bits.own - self.bits.other) ** 2
        gains = np.cumsum(worth * asked * share * (shares - share / 2))
        after = max(last, int(np.flatnonzero(gains >= gains.max() - POSSIBLE)[-1])) + 1
        return Outermost(float(places[last]), float(places[after]) if after < len(places) else self.reach, share)

    @property
    def expected_excess(self) -> float:
        """The expected mean distance from the centre on this side, all answers counted."""
        ends = _excess(np.array([0.0, self.reach]), self._laws) @ self._weights
        return float(ends[0] - ends[1])

    def best(self, other: float, noise: float) -> float:
        """The best end on this side, given the end on the other.

        The expected root of the error is minimised. Its expected square would be dominated by the few laws with the
        heaviest tails, and its expected logarithm would give them too little weight.
        """
        errors = self._biases**2 + (noise * (self.places + other))[:, None] ** 2
        return float(self.places[int(np.argmin(errors**0.25 @ self._weights))])


def best_distances(below: Tail | None, above: Tail | None, noise: float) -> tuple[float, float]:
    """The best ends below and above the centre, if the noise of a mean has the standard error `noise` x width."""
    left, right = (0.0 if tail is None else tail.distance(0.01) for tail in (below, above))
    for _ in range(4):  # each side in turn: they depend on each other through the width only
        left = 0.0 if below is None else below.best(right, noise)
        right = 0.0 if above is None else above.best(left, noise)
    return left, right


def _around(places: Floats, weights: Floats, tried: Floats, count: int) -> Floats:
    """Places between those that were tried around all likely ones."""
    likely = places[weights > LIKELY * weights.max()]
    low, high = np.searchsorted(tried, [likely.min(), likely.max()])
    return np.geomspace(tried[max(0, low - 1)], tried[min(len(tried) - 1, high + 1)], count)


def _posterior(bits: ThresholdBits, scales: Floats, shapes_tried: Floats) -> tuple[Floats, Floats]:
    """Laws and their posterior probabilities; all others together are negligible."""
    grid = np.meshgrid(SHARES, scales, shapes_tried, indexing="ij")
    laws = np.stack([axis.ravel() for axis in grid])
    shares, _, shapes = laws
    prior = -((np.log(shapes) / np.where(shapes < 1, HEAVIER, LIGHTER)) ** 2) / 2
    prior = prior + np.where(shares == SHARES[0], log(OF_A_HALF), log((1 - OF_A_HALF) / (len(SHARES) - 1)))
    rate = bits.other + (bits.own - bits.other) * _beyond(bits.thresholds, laws)
    fit = bits.yes @ np.log(rate) + (bits.asked - bits.yes) @ np.log1p(-rate)
    chance = np.exp(prior + fit - (prior + fit).max())
    kept = chance > NEGLIGIBLE
    return laws[:, kept], np.asarray(chance[kept] / chance[kept].sum())


def _beyond(distances: Floats, laws: Floats) -> Floats:
    """The share beyond each distance (rows) by each law (columns)."""
    shares, scales, shapes = laws
    return np.asarray(shares * np.exp(-((distances[:, None] / scales) ** shapes)))


def _excess(distances: Floats, laws: Floats) -> Floats:
    """The mean excess beyond each distance, by each law: the integral of the share from there on."""
    shares, scales, shapes = laws
    rest = gammaincc(1 / shapes, (distances[:, None] / scales) ** shapes)
    return np.asarray(shares * scales / shapes * gamma(1 / shapes) * rest)
