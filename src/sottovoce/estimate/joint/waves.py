"""Reports of a numeric attribute through a wave: unbiased shares of its bins, and the likelihood of finer buckets.

A wave tells slow changes of a distribution better than single buckets. So people who answer a number alone report about
fine buckets. The shares of the bins of a table are sums of buckets, whose least-variance reading is linear in the
reports. The fit sees every report through its law, and has a share for each bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.evidence import POOR_BELOW, Floats, Ints
from sottovoce.estimate.reading import OutputReading
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class WaveReading:
    """Reports about the buckets of one attribute.

    Attributes:
        bins: How much of each bucket lies in each bin: one row for each bin, of ones and zeros.
        n: How many reports there are; `counts` says of which kind.
    """

    name: str
    bins: Floats
    buckets: Domain
    channel: Any
    counts: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute, as the only one of a view."""
        return (self.name,)

    def supporting(self, names: Iterable[str]) -> Floats | None:
        """Zeros where there are too few reports for a normal interval; else None."""
        return np.zeros(len(self.bins)) if self.n < POOR_BELOW else None

    @classmethod
    def of(cls, mechanism: Mechanism, cells: Any, wanted: Mapping[str, Domain] | None = None) -> WaveReading:
        """The reports of a view of one attribute; `wanted` has the bins of the tables, the buckets by default."""
        ((name, own),) = mechanism.domain.parts  # type: ignore[attr-defined]
        bins = own if wanted is None else wanted[name]
        matrix = np.eye(own.size or 0) if bins == own else joined_buckets(own, bins)
        return cls(name, matrix, own, mechanism.channel, np.asarray(cells, float))

    @classmethod
    def expected(cls, mechanism: Mechanism, shares: Floats, n: int) -> WaveReading:
        """The reports that are expected of n people with these shares of the buckets."""
        return cls.of(mechanism, n * transition_of(mechanism.channel, len(shares)).forward(shares))

    @property
    def n(self) -> float:
        """The number of reports."""
        return float(self.counts.sum())

    @property
    def cells(self) -> int:
        """The number of bins."""
        return len(self.bins)

    @cached_property
    def reading(self) -> OutputReading:
        """The scores of the reports for each bucket."""
        return linear_decode(self.channel, self.bins.shape[1])

    @cached_property
    def rates(self) -> Floats:
        """How often each report was sent."""
        return self.counts / max(self.n, 1)

    @cached_property
    def shares(self) -> Floats:
        """Unbiased shares of the bins."""
        return np.asarray(self.bins @ self.reading.values(self.rates))

    @cached_property
    def precision(self) -> float:
        """The inverse variance of a contrast of weight one at equal shares, times the number of bins; a mean."""
        return self.n / self.spread

    @cached_property
    def spread(self) -> float:
        """The variance of a bin's residual from one report, times the number of bins, at equal shares of buckets."""
        size, uniform = self.cells, transition_of(self.channel, self.bins.shape[1]).uniform
        variances = self.reading.spreads(self.bins - self.bins.mean(axis=0), uniform, Target.POPULATION)
        return float(size * variances.sum() / (size - 1))

    def marginal(self, names: Iterable[str]) -> Floats:
        """The shares of the bins, or the number one where the attribute is not among the names."""
        return self.shares if {*names} & {*self.names} else np.asarray(self.shares.sum())

    def covariance(self, scores: Floats) -> Floats:
        """The covariance of weighted sums of the bins, one row of weights each."""
        return self.reading.covariance(scores @ self.bins, self.rates, Target.POPULATION) / self.n

    def variances(self, target: Target) -> Floats:
        """The variance of the share of each bin."""
        return np.asarray(self.reading.spreads(self.bins, self.rates, target) / self.n)

    # --- likelihood ------------------------------------------------------------------------------
    @cached_property
    def law(self) -> Floats:
        """The probability of each report, for each bucket: one row for each report."""
        return transition_of(self.channel, self.bins.shape[1]).matrix

    def divided(self, share: float, generator: np.random.Generator) -> WaveReading:
        """A part of the reports, each of which is in it with this probability."""
        return replace(self, counts=generator.binomial(self.counts.astype(np.int64), share).astype(float))

    def log_likelihood(self, shares: Floats) -> tuple[float, Floats]:
        """The logarithm of the likelihood of shares of the buckets, and its slope."""
        rates = self.law @ shares
        return float(self.counts @ np.log(rates)), np.asarray((self.counts / rates) @ self.law)

    @property
    def bin_of(self) -> Ints:
        """The bin of each bucket."""
        return np.asarray(self.bins.argmax(axis=0))

    def inside(self, codes: Ints, generator: np.random.Generator) -> Floats:
        """Numbers that lie evenly in their buckets."""
        buckets: Any = self.buckets  # `Bins`
        ends = np.array([buckets.of.low, *buckets.edges, buckets.of.high], float)
        return np.asarray(ends[codes] + generator.random(len(codes)) * np.diff(ends)[codes])


def is_wave(mechanism: Mechanism) -> bool:
    """Whether a view of one attribute is asked through a channel of numbers."""
    return mechanism.name in WAVES


WAVES = ("mixed-wave", "coded-wave", "square-wave-discrete")


def joined_buckets(buckets: Any, bins: Any) -> Floats:
    """Which bin each bucket lies in, as a matrix of ones and zeros; both are `Bins` of one domain of numbers."""
    if not {*getattr(bins, "edges", ())} <= {*getattr(buckets, "edges", ())}:
        raise ParameterError("The reports are about buckets that do not make up the bins of the table.")
    lows = [buckets.of.low, *buckets.edges]
    place = [sum(edge <= low for edge in bins.edges) for low in lows]
    return np.asarray(np.eye(len(bins.edges) + 1)[:, place])
