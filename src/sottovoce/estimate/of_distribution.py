"""Answers of an estimated distribution beyond the shares of its buckets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Cdf, CircularMean, Density, Mean, Quantile, Question, Range, Variance
from sottovoce.estimate.distribution.answers import QuantileAnswer, SpreadAnswer, read
from sottovoce.estimate.distribution.band import Band, band, sample
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning, check_level

if TYPE_CHECKING:
    from sottovoce.core.domain import Domain
    from sottovoce.estimate.decoder import Decoder, Fit
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.evidence import Evidence


class OfDistribution:
    """Asks `evidence.distribution`. Values are read from those of the estimate, also where a decoder moved them;
    intervals are those of the unbiased values."""

    needs: ClassVar[str] = (
        "This is an estimate of a {noun}, not of a distribution; answer(Distribution(domain)) may give one."
    )
    __slots__: tuple[str, ...] = ()

    if TYPE_CHECKING:

        @property
        def evidence(self) -> Evidence: ...
        @property
        def values(self) -> Floats: ...
        @property
        def decoder(self) -> Decoder: ...
        @property
        def fit(self) -> Fit | None: ...
        def answer(self, question: Question) -> Estimate: ...
        def decoded(self, decoder: str | Decoder) -> Estimate: ...
        def _of(self, evidence: Evidence) -> Estimate: ...

    @property
    def _distribution(self) -> DistributionEvidence:
        return cast("DistributionEvidence", self.evidence.distribution)

    @property
    def _domain(self) -> Domain:
        return self._distribution.buckets.domain

    def _read(self, answer: Estimate) -> Estimate:
        """The answer from the values of this estimate."""
        if not self.decoder.moves:
            return answer
        values = read(answer.evidence, self._distribution, self.values)
        return replace(answer, values=values, decoder=self.decoder, fit=self.fit)

    def curve(self) -> Estimate:
        """Return the distribution as a curve of non-negative shares, with the standard errors of the unbiased ones.

        Values that a decoder moved are kept; otherwise the evidence's `curve_decoder` is used.

        Returns:
            A new estimate.
        """
        return cast("Estimate", self) if self.decoder.moves else self.decoded(self._distribution.curve_decoder)

    def density(self) -> Estimate:
        """Estimate the density: the share for each unit of the domain, one value for each bucket.

        Returns:
            An estimate.
        """
        return self._read(self.answer(Density(self._domain)))

    def cdf(self, points: Any) -> Estimate:
        """Estimate the share of answers that are at most a point, or each of a list of points.

        Args:
            points: A point or a list of points, in units of the answers.

        Returns:
            An estimate with one value for each point.
        """
        return self._read(self.answer(Cdf(self._domain, _list(points))))

    def quantile(self, shares: Any) -> Estimate:
        """Estimate quantiles: the values up to which given shares of the answers lie.

        Args:
            shares: A share or a list of shares between 0 and 1; 0.5 is the median.

        Returns:
            An estimate with one value for each share; for categories the place in their order.
        """
        return self._read(self.answer(Quantile(self._domain, _list(shares))))

    def median(self) -> Estimate:
        """Estimate the median.

        Returns:
            An estimate with one value.
        """
        return self.quantile("0.5")

    def iqr(self) -> Estimate:
        """Estimate the interquartile range.

        Returns:
            An estimate with one value.
        """
        quartiles = self._distribution.answer(Quantile(self._domain, (Decimal("0.25"), Decimal("0.75"))))
        return self._read(self._of(SpreadAnswer(self._distribution, cast(QuantileAnswer, quartiles))))

    def mean(self) -> Estimate:
        """Estimate the mean of numbers; on a circle, the mean direction.

        Returns:
            An estimate with one value.
        """
        kind = CircularMean if self._distribution.circular else Mean
        return self._read(self.answer(kind(self._domain)))

    def variance(self) -> Estimate:
        """Estimate the variance of numbers.

        Returns:
            An estimate with one value.
        """
        return self._read(self.answer(Variance(self._domain)))

    def range(self, low: Any, high: Any) -> Estimate:
        """Estimate the share of answers from one value to another; on a circle the arc, also over 0.

        Args:
            low: The first value.
            high: The last value, included.

        Returns:
            An estimate with one value.
        """
        low, high = (end.item() if isinstance(end, np.generic) else end for end in (low, high))
        return self._read(self.answer(Range(self._domain, low, high)))

    def band(
        self, level: float = 0.95, *, target: str = "population", seed: int = 0, method: str | None = None
    ) -> Band:
        """Compute a band that contains the whole cumulative distribution with a given probability.

        Args:
            level: The probability.
            target: "population" or "sample", as in `ci`.
            seed: The seed of the Monte Carlo quantile.
            method: "normal" where cumulative shares are nearly normal, "guarded" where they are not, or "compatible"
                for square waves: narrower where reports say little, and valid however answers lie inside buckets, but
                seconds slower. Default: "normal" or "guarded", whichever fits.

        Returns:
            A band with `points`, `low` and `high`.
        """
        known = self._distribution.curve_methods
        request = IntervalRequest.of(level, method, target, simultaneous=True, known=known, owner="band")
        curve, doubt = band(self._distribution, self.values, request, seed)
        if doubt is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=2)
        return curve

    def quiet_band(self, level: float = 0.95) -> Band:
        """The default band for the population without a warning, for pages that state the doubts of all estimates."""
        check_level(level)
        return band(self._distribution, self.values, IntervalRequest(level), seed=0)[0]

    def sample(self, count: int, seed: int | None = None) -> NDArray[Any]:
        """Draw simulated answers from the estimated distribution, whose cumulative shares are made to rise.

        Args:
            count: How many answers.
            seed: The seed. Default: another draw each time.

        Returns:
            An array of answers.
        """
        return sample(self._distribution.buckets, self.values, count, seed)


def _list(values: Any) -> tuple[Any, ...]:
    """One value or several, as Python's own numbers and texts."""
    if isinstance(values, (np.ndarray, np.generic)):
        values = values.tolist()
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else (values,)
