"""Answers of an estimated distribution beyond the shares of its buckets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Cdf, CircularMean, Density, Mean, Quantile, Question, Range, Variance
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning

if TYPE_CHECKING:
    from sottovoce.core.domain import Domain
    from sottovoce.estimate.decoder import Decoder, Fit
    from sottovoce.estimate.distribution.band import Band
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.evidence import Evidence


class OfDistribution:
    """Asks `evidence.distribution`. Values are read from those of the estimate, also where a decoder moved them;
    intervals are those of the unbiased values."""

    __slots__ = ()

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
        distribution = self.evidence.distribution
        if distribution is None:
            raise ParameterError(
                f"This is an estimate of a {self.evidence.noun}, not of a distribution; answer(Distribution(domain))"
                " may give one."
            )
        return distribution

    @property
    def _domain(self) -> Domain:
        return self._distribution.buckets.domain

    def _read(self, answer: Estimate) -> Estimate:
        """The answer from the values of this estimate."""
        if not self.decoder.moves:
            return answer
        values = self._distribution.read(answer.evidence, self.values)
        return replace(answer, values=values, decoder=self.decoder, fit=self.fit)

    def curve(self) -> Estimate:
        """The distribution as a curve: shares that are not negative, with the standard errors of the unbiased ones.

        Where a decoder moved the values, these are they; else it is the evidence's `curve_decoder`.
        """
        return cast("Estimate", self) if self.decoder.moves else self.decoded(self._distribution.curve_decoder)

    def density(self) -> Estimate:
        """The share for each unit of the domain, one value for each bucket."""
        return self._read(self.answer(Density(self._domain)))

    def cdf(self, points: Any) -> Estimate:
        """The share of answers that are at most a point, or each of a list of points."""
        return self._read(self.answer(Cdf(self._domain, _list(points))))

    def quantile(self, shares: Any) -> Estimate:
        """The value up to which a share of the answers lies, or each of a list of shares; of categories, its place."""
        return self._read(self.answer(Quantile(self._domain, _list(shares))))

    def median(self) -> Estimate:
        """The value up to which half of the answers lie."""
        return self.quantile("0.5")

    def iqr(self) -> Estimate:
        """The distance of the quartiles."""
        return self._read(self._of(self._distribution.interquartile_range()))

    def mean(self) -> Estimate:
        """The mean of numbers; on a circle the direction of the mean point."""
        kind = CircularMean if self._distribution.circular else Mean
        return self._read(self.answer(kind(self._domain)))

    def variance(self) -> Estimate:
        """The variance of numbers."""
        return self._read(self.answer(Variance(self._domain)))

    def range(self, low: Any, high: Any) -> Estimate:
        """The share of answers from one value to another; on a circle the arc from one to the other, also over 0."""
        low, high = (end.item() if isinstance(end, np.generic) else end for end in (low, high))
        return self._read(self.answer(Range(self._domain, low, high)))

    def band(
        self, level: float = 0.95, *, target: str = "population", seed: int = 0, method: str | None = None
    ) -> Band:
        """A band that contains the whole cumulative distribution with this probability.

        The default is "normal" where cumulative shares are nearly normal, else "guarded", which is wider where they are
        not. Method "compatible", of square waves, is narrower where reports say little, and holds however answers lie
        inside buckets; it takes seconds.
        """
        request = IntervalRequest.of(level, method, target, simultaneous=True)
        curve, doubt = self._distribution.band(self.values, request, seed)
        if doubt is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=2)
        return curve

    def quiet_band(self, level: float = 0.95) -> Band:
        """The default band for the population without a warning, for pages that state the doubts of all estimates."""
        return self._distribution.band(self.values, IntervalRequest(level))[0]

    def sample(self, count: int, seed: int | None = None) -> NDArray[Any]:
        """Simulated answers from the estimated distribution, whose cumulative shares are made to rise."""
        return self._distribution.sample(self.values, count, seed)


def _list(values: Any) -> tuple[Any, ...]:
    """One value or several, as Python's own numbers and texts."""
    if isinstance(values, (np.ndarray, np.generic)):
        values = values.tolist()
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else (values,)
