"""Shares from the rows of a sketch or from cohorts, as a least-squares fit of the values of interest.

The count of a position, less what it is on average over all values, has a mean that is linear in the shares, with known
coefficients. Where the public functions are balanced, the columns of this design are orthogonal, and the fit of one
value does not depend on which others are listed. Hashed functions, fewer than values, are not balanced: there the
listed values are fitted together. Values that are not listed add nothing on average over the functions; how much they
scatter is read from what the fit leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg, stats

from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import MOST_EXCESS, POOR_BELOW, Bounds, Counted, Flags, Floats, Ints, Offer, deviate
from sottovoce.estimate.frequency.base import SharesEvidence, moved_inside
from sottovoce.estimate.frequency.combine import SharesOfTally
from sottovoce.estimate.frequency.design import RowCounts, rows_of
from sottovoce.estimate.request import IntervalRequest, Method, Target

MAX_TOGETHER = 2048  # values that are fitted together
MAX_CODES = 1 << 24  # values that are estimated at once
MAX_EXACT = 1 << 24  # positions of all codes in all rows, for an exact second moment


@dataclass(frozen=True, eq=False)
class RowsEvidence(SharesOfTally):
    """The rows of a tally, and the codes that are estimated: all of a closed domain, or candidates."""

    rows: RowCounts
    n: int
    counted: Counted
    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.BOUNDED)
    default: ClassVar[Method] = Method.NORMAL
    origin: ClassVar[str] = "cohorts and rows"

    @cached_property
    def codes(self) -> Ints:
        """The codes of interest."""
        if self.counted.codes is not None:
            return self.counted.codes
        size = self.counted.mechanism.channel.inputs
        if size > MAX_CODES:
            raise ParameterError("The answers of an open domain are not listed: estimate them for candidates=[...].")
        return np.arange(size)

    @property
    def balanced(self) -> bool:
        """Whether each value is read by itself without bias."""
        return self.rows.chosen.orthogonal

    @cached_property
    def together(self) -> bool:
        """Whether the values are fitted together; they are so few that the fit is not much noisier."""
        return not self.balanced and len(self.codes) <= min(MAX_TOGETHER, self.rows.rank // 2)

    @property
    def offers(self) -> frozenset[Offer]:
        offers = {Offer.NULL_ERRORS, Offer.COVARIANCE, Offer.DESIGN}
        return frozenset(offers if self.counted.codes is not None else {*offers, Offer.ALL_SHARES, Offer.CANDIDATES})

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the products of the columns of the values."""
        try:
            factor = linalg.cho_factor(self.rows.gram(self.codes))
        except linalg.LinAlgError:
            raise ParameterError(
                "Some candidates have the same positions in all rows, so they have no estimate."
            ) from None
        return np.asarray(linalg.cho_solve(factor, np.eye(len(self.codes))))

    @cached_property
    def _scale(self) -> float:
        return self.n * self.rows.slope * self.rows.norm

    @cached_property
    def _values(self) -> Floats:
        alone = self.rows.products(self.rows.centred, self.codes) / self._scale
        return np.asarray(self.inverse @ alone) if self.together else alone

    def values(self) -> Floats:
        return self._values

    @cached_property
    def _noise(self) -> Floats:
        """The variance of each value that the counts have, given their means."""
        if not self.together:
            return np.asarray(self.rows.spreads(self.codes) / self._scale**2)
        # The diagonal of inverse @ spread @ inverse, whose outer factor is symmetric.
        return np.asarray(((self.inverse @ self._spread) * self.inverse).sum(axis=1) / self._scale**2)

    @cached_property
    def _spread(self) -> Floats:
        """The covariance of what the values are read from, in its own units."""
        return self.rows.spread(self.codes)

    @cached_property
    def _second(self) -> Floats | None:
        """The mean square of the score of each value, from the shares of a whole domain that is not too large.

        Two values may share their positions in more rows than by chance, so that it matters which others are common.
        """
        codes = self.counted.mechanism.channel.inputs
        if not self.balanced or self.rows.blocks * codes * len(self.rows.numbers) > MAX_EXACT:
            return None
        every = np.arange(codes)
        shares = self.rows.products(self.rows.centred, every) / self._scale
        return second_moments(self.rows, shares + (1 - shares.sum()) / codes)[self.codes]

    def variances(self, target: Target) -> Floats:
        shares = np.clip(self._values, 0, 1)
        if self._second is not None:
            # The second moment is linear in the estimates as they are, so what is subtracted is too: moved into [0, 1]
            # they would be too large at a share of zero on average, and the variance too small.
            scores = self._second - (shares**2 if target == Target.POPULATION else self._values)
            # From few reports the two parts do not fit together; the noise of the bits is there in any case.
            return np.asarray(np.maximum(scores / self.n, self._noise))
        # A report of another value reads something in its row, and which row it is, is chance.
        variances = self._noise + (1 - shares) * self.rows.collisions / self.n
        sampling = shares * (1 - shares) / self.n
        if self.rows.exclusive:  # its counts vary with the sample
            variances = variances - (sampling if target == Target.SAMPLE else 0)
            variances = np.maximum(variances, self._least_noise(shares))  # few counts do not show all of it
        elif target == Target.POPULATION:
            variances = variances + sampling
        return np.asarray(variances + self._unbalanced)

    def _least_noise(self, shares: Floats) -> Floats:
        """The variance of the bit of each value alone, given who holds it."""
        own, other = (rate * (1 - rate) for rate in (self.rows.own, self.rows.other))
        return np.asarray((shares * own + (1 - shares) * other) / (self.n * (self.rows.slope * self.rows.norm) ** 2))

    @cached_property
    def _unbalanced(self) -> float:
        """Variance that unfitted values add through unbalanced functions, on average over the functions."""
        if self.balanced:
            return 0.0
        return self._powers[0] * self.rows.collisions / len(self.rows.totals)

    @cached_property
    def _powers(self) -> tuple[float, float, float]:
        """Sums of the squares, third and fourth powers of the shares that are not fitted, without those of noise.

        Of shares whose squares alone are known, higher powers are largest where they are one share.
        """
        second = self._unfitted_squares
        if self.together:
            return second, second**1.5, second**2
        share = self._values
        noise = self._noise + second * self.rows.collisions / len(self.rows.totals)
        rest = min(second, max(0.0, second - float((share**2 - noise).sum())))
        third = rest**1.5 + float((share * (share**2 - 3 * noise)).sum())
        fourth = rest**2 + float((share**4 - 6 * share**2 * noise + 3 * noise**2).sum())
        return second, min(1.0, max(0.0, third)), min(1.0, max(0.0, fourth))

    @cached_property
    def _unfitted_squares(self) -> float:
        """The sum of the squared shares that are not fitted: what random codes read of the residuals, beyond noise.

        The fit takes one part in `rank` out of the residuals for each value. Where all values of a domain are fitted,
        none is left.
        """
        rows, left, kept = self.rows, self.rows.centred, 1.0
        if self.together:
            if self.counted.codes is None:
                return 0.0
            step = self.n * rows.slope / len(rows.totals)
            left, kept = left - step * rows.mixed(self.codes, self._values), 1 - len(self.codes) / rows.rank
        beyond = rows.mean_square(left) / kept - rows.mean_noise
        return min(1.0, max(0.0, beyond / self._scale**2 * len(rows.totals) / rows.collisions))

    def covariance(self, target: Target) -> Floats:
        if len(self.codes) > MAX_TOGETHER:
            raise TooLargeError(
                f"The covariance of {len(self.codes)} shares is too large; it is given up to {MAX_TOGETHER}."
            )
        covariance = self._spread / self._scale**2
        if self.together:
            covariance = self.inverse @ covariance @ self.inverse
        np.fill_diagonal(covariance, self.variances(target))
        return covariance

    def null_errors(self) -> Floats:
        return np.asarray(np.sqrt(self._noise + self.rows.collisions / self.n + self._unbalanced))

    def restricted(self, codes: Ints, labels: Sequence[object]) -> RowsEvidence:
        return replace(self, counted=replace(self.counted, codes=codes, names=labels))

    # --- intervals ----------------------------------------------------------------------------------
    def interval(self, request: IntervalRequest) -> Bounds:
        return self.inside(request.by(Method.NORMAL)) if request.method == Method.BOUNDED else self.normal(request)

    def inside(self, request: IntervalRequest) -> Bounds:
        return moved_inside(self, self.normal(request))

    def excess(self, request: IntervalRequest) -> Floats:
        """Edgeworth expansion of the miss rate: bits and collisions of public functions are skewed."""
        z = deviate(request.level)
        weight = z * stats.norm.pdf(z) / stats.norm.sf(z)
        skew, tail = self._collision_law(self.variances(Target.POPULATION))
        collided = tail / 24 * (z**2 - 3) + skew**2 / 72 * (z**4 - 10 * z**2 + 15)
        return np.asarray(np.clip(1 + weight * (collided + self._skewed_bits(z)), 0.0, 1 / (1 - request.level)))

    def _skewed_bits(self, z: float) -> float:
        """Edgeworth term of the counts, whose variance is estimated from the counts themselves."""
        bits, rate = self.n * self.rows.blocks, 0.5 if self.rows.signed else self.rows.other
        spread = bits * rate * (1 - rate)
        skewed = (1 - 2 * rate) ** 2 / spread * (z**4 + 2 * z**2 - 3) / 18
        return skewed - (1 - 6 * rate * (1 - rate)) / spread * (z**2 - 3) / 12 + (z**2 + 3) / (4 * bits)

    def _cause(self, level: float) -> str:
        z = deviate(level)
        few = z * stats.norm.pdf(z) / stats.norm.sf(z) * self._skewed_bits(z) > MOST_EXCESS - 1
        return SharesEvidence._cause(self, level) if few else "public functions are few, and values collide by chance"

    def _collision_law(self, variances: Floats) -> tuple[Floats, Floats]:
        """Skewness and excess kurtosis that unfitted values bring in, whose collisions are binomial counts."""
        if self.balanced:
            return np.zeros_like(variances), np.zeros_like(variances)
        rows, length = len(self.rows.totals), self.rows.length
        _, third, fourth = self._powers
        hit = 1 / length
        if self.rows.signed:
            return np.zeros_like(variances), fourth * hit * (1 - 3 * hit) / rows**3 / variances**2
        trials = rows * self.rows.blocks
        spread, unit = trials * hit * (1 - hit), trials * (1 - hit)
        skew = third * spread * (1 - 2 * hit) / unit**3
        tail = fourth * spread * (1 - 6 * hit * (1 - hit)) / unit**4
        return skew / variances**1.5, tail / variances**2

    def reach_of(self, weights: Floats) -> float:
        return float(np.abs(weights).sum() * 2 * self.rows.blocks / (self.rows.slope * self.rows.norm))

    def normal_is_poor(self) -> Flags:
        few = self.n * min(self.rows.other, 1 - self.rows.own) < POOR_BELOW
        return np.full(len(self.codes), few)


def from_cells(counted: Counted) -> RowsEvidence:
    """The evidence of a tally that counts each public function by itself."""
    return RowsEvidence(rows_of(counted.mechanism, counted.cells), counted.n, counted)


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance of each share of a closed domain, for these true shares.

    Of one report in row c of a value u, the score of v has a mean of (overlap - h/g) / (h (1 - 1/g)), and the noise of
    independent bits; both are polynomials of the overlap, whose mean and mean square are summed over all rows.
    """
    rows = rows_of(mechanism, np.zeros(mechanism.cells, np.int64))
    if not rows.chosen.orthogonal:
        raise ParameterError("Hashed cohorts have no exact variance: it depends on which values are listed.")
    return np.asarray((second_moments(rows, truth) - (truth**2 if target == Target.POPULATION else truth)) / n)


def second_moments(rows: RowCounts, shares: Floats) -> Floats:
    """The mean square of the score of each code of a closed domain; linear in the shares, whose sum is one."""
    g, h, size = rows.length, rows.blocks, rows.counts.shape[1]
    places, _ = rows.places(np.arange(len(shares)))
    mean = shares * h + (1 - shares) * h / g
    square = mean.copy()
    for block in range(h):
        for other in range(block):
            pairs = places[:, block] * size + places[:, other]
            cells = (np.arange(len(pairs))[:, None] * size**2 + pairs).ravel()
            held = np.bincount(cells, np.tile(shares, len(pairs)))[cells].reshape(pairs.shape)
            square += 2 * held.mean(axis=0)
    rest, gain = rows.other * (1 - rows.other), rows.own * (1 - rows.own) - rows.other * (1 - rows.other)
    noise = rest * rows.norm + gain * (mean * (1 - 1 / g) ** 2 + (h - mean) / g**2)
    signal = rows.slope**2 * (square - 2 * mean * h / g + (h / g) ** 2)
    return np.asarray((noise + signal) / (rows.slope * rows.norm) ** 2)
