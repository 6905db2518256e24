"""Shares from several tallies, also of different mechanisms and budgets: weighted sums, or one likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.estimate.evidence import (
    Bounds,
    Counted,
    Evidence,
    Flags,
    Floats,
    Ints,
    Offer,
    OutputTally,
    deviate,
    weighted_without_fakes,
)
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.frequency.base import METHODS, SharesEvidence, score_bounds
from sottovoce.estimate.frequency.intervals.lattice import SumLaw, multiples
from sottovoce.estimate.frequency.intervals.misses import SHARES
from sottovoce.estimate.frequency.mixture import Mixture, Product
from sottovoce.estimate.parts import OfParts
from sottovoce.estimate.reading import Curve
from sottovoce.estimate.request import IntervalRequest, Method, Target

MATTERS = 0.1  # weight from which on a part with few reports makes the normal interval poor


@dataclass(frozen=True, slots=True, eq=False)
class CombinedSharesEvidence(OfParts, SharesEvidence):
    """Independent shares of the same values, and their weights: [part, value], which sum to one over the parts.

    The weights do not depend on the reports, so the values are unbiased if all parts have the same shares. With target
    "sample" they are about the shares of the parts' participants, weighted in the same way. If all parts count
    supports with two rates, `law` is that of the weighted sum, and gives exact intervals.
    """

    default: ClassVar[Method] = Method.WILSON
    origin: ClassVar[str] = "several tallies"
    parts: tuple[SharesEvidence, ...]
    weights: Floats
    law: SumLaw | None = None
    counted: Counted | None = None

    @property
    def methods(self) -> tuple[Method, ...]:
        return METHODS[1:] if self.law is None else METHODS

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset.intersection(*(part.offers for part in self.parts))

    # --- readings ----------------------------------------------------------------------------------
    def values(self) -> Floats:
        return np.asarray((self.weights * np.stack([part.values() for part in self.parts])).sum(axis=0))

    def curve(self, target: Target) -> Curve:
        squares = self.weights**2
        columns = zip(*(part.curve(target) for part in self.parts), strict=True)
        return Curve(*(sum(w * np.asarray(term) for w, term in zip(squares, terms, strict=True)) for terms in columns))

    def variances(self, target: Target) -> Floats:
        return self.curve(target).at(np.clip(self.values(), 0, 1))

    def covariance(self, target: Target) -> Floats:
        weighted = (np.outer(w, w) * part.covariance(target) for w, part in zip(self.weights, self.parts, strict=True))
        result = np.sum(list(weighted), axis=0)
        np.fill_diagonal(result, self.variances(target))  # the same variances as in the intervals
        return np.asarray(result)

    def second_moments(self) -> Floats:
        """Second moments of one report among all."""
        shares = self.values()
        return np.asarray(self.n * self.covariance(Target.POPULATION) + np.outer(shares, shares))

    def null_errors(self) -> Floats:
        squares = [(w * part.null_errors()) ** 2 for w, part in zip(self.weights, self.parts, strict=True)]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    def output_tallies(self) -> list[OutputTally]:
        return [tally for part in self.parts for tally in part.output_tallies()]

    def likelihood(self) -> Mixture:
        """Reports of different mechanisms are independent: their likelihoods multiply."""
        return Product([part.likelihood() for part in self.parts])

    def restricted(self, codes: Ints, labels: Sequence[object]) -> CombinedSharesEvidence:
        parts = tuple(part.restricted(codes, labels) for part in self.parts)
        return replace(self, parts=parts, weights=self.weights[:, codes])

    def reach_of(self, weights: Floats) -> float:
        """The range whose square over n is the sum of the squared ranges of the parts, each over its reports."""
        squares = [part.reach_of(weights * w) ** 2 / part.n for w, part in zip(self.weights, self.parts, strict=True)]
        return float(np.sqrt(self.n * sum(squares)))

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        return weighted_without_fakes(fakes, self.values(), self.weights, self.parts)

    # --- intervals ---------------------------------------------------------------------------------
    def _totals(self, law: SumLaw) -> Ints:
        counts = [part.supports.counts for part in self.parts if part.supports is not None]
        return np.asarray(sum(int(a) * count for a, count in zip(law.multiples, counts, strict=True)))

    def exact(self, level: float, target: Target) -> Bounds:
        if self.law is None or target == Target.SAMPLE:
            raise NoIntervalError("Combined tallies have no exact interval of this kind; use method='wilson'.")
        return self.law.limits(self._totals(self.law), level)

    def interval(self, request: IntervalRequest) -> Bounds:
        if request.method == Method.WILSON:
            return self._score(self.values(), request.level, request.target)
        return SharesEvidence.interval(self, request)

    def _score(self, values: Floats, level: float, target: Target) -> Bounds:
        return score_bounds(values, self.curve(target), level)

    def inside(self, request: IntervalRequest) -> Bounds:
        """Intervals in [0, 1] that contain the estimate, moved into [0, 1]; never empty."""
        nearest = np.clip(self.values(), 0, 1)
        if (
            request.method in (Method.BOUNDED, Method.EXACT)
            and request.target == Target.POPULATION
            and self.law is not None
        ):
            totals, law = self._totals(self.law), self.law
            low = law.limits(np.minimum(totals, int(law.origin + law.slope)), request.level).low
            high = law.limits(np.maximum(totals, int(np.ceil(law.origin))), request.level).high
        else:
            low, high = self.interval(request.instead_of(Method.BOUNDED, Method.EXACT, use=Method.WILSON))
            move = nearest - self.values()
            low, high = low + np.minimum(move, 0), high + np.maximum(move, 0)
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    def excess(self, request: IntervalRequest) -> Floats:
        """Worst miss rate from the law of the weighted sum if it is known, else that of the worst part that matters."""
        law = self.law
        if law is None:
            parts = [part.excess(request) * (w > MATTERS) for w, part in zip(self.weights, self.parts, strict=True)]
            return np.asarray(np.max(parts, axis=0))
        first = self.restricted(np.zeros(1, np.int64), (self.labels[0],))

        def interval(totals: Ints) -> Bounds:
            values = np.asarray((totals - law.origin) / law.slope, np.float64)
            if request.method == Method.WILSON:
                return first._score(values, request.level, Target.POPULATION)
            half = deviate(request.level) * np.sqrt(first.curve(Target.POPULATION).at(np.clip(values, 0, 1)))
            return Bounds(values - half, values + half)

        worst = max(law.missed(float(share), interval) for share in SHARES[::4])
        return np.full(self.weights.shape[1], worst / (1 - request.level))

    def normal_is_poor(self) -> Flags:
        poor = [part.normal_is_poor() & (w > MATTERS) for w, part in zip(self.weights, self.parts, strict=True)]
        return np.asarray(np.any(poor, axis=0))


class SharesOfTally(SharesEvidence):
    """Shares from one tally."""

    __slots__ = ()

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> CombinedSharesEvidence:
        """The default weights are those of least variance if all values are equally common. They come from the laws and
        the numbers of reports."""
        parts = tuple(part for part in (self, *others) if isinstance(part, SharesEvidence))
        if len(parts) <= len(others) or any(part.labels != self.labels for part in parts):
            raise ParameterError("Combining shares needs at least one tally, all about the same values.")
        if weights is None:
            return _least_variance(parts, len(self.labels))
        scaled = np.asarray(weights, float)
        if scaled.shape != (len(parts),) or not (scaled > 0).all():
            raise ParameterError("Combining shares needs a positive weight for each tally.")
        return CombinedSharesEvidence(parts, np.repeat(scaled[:, None] / scaled.sum(), len(self.labels), axis=1))


def _least_variance(parts: tuple[SharesEvidence, ...], size: int) -> CombinedSharesEvidence:
    """Weights of least variance: whole multiples of supports with two rates, so that the law of their sum is known."""
    supports = [part.supports for part in parts if part.supports is not None]
    if len(supports) == len(parts):
        n, own, other = (
            np.array([float(x) for x in column]) for column in zip(*(s[1:] for s in supports), strict=True)
        )
        law = SumLaw(n, own, other, multiples(n, own, other, 1 / size))
        weights = law.multiples * n * (own - other) / law.slope
        return CombinedSharesEvidence(parts, np.repeat(weights[:, None], size, axis=1), law)
    precision = np.stack([1 / np.asarray(_expected_variance(part, size)) for part in parts])
    return CombinedSharesEvidence(parts, precision / precision.sum(axis=0))


def _expected_variance(part: SharesEvidence, size: int) -> Floats:
    """The variance of each share if all values are equally common, from the law."""
    if part.counted is None:
        raise ParameterError("Combining shares needs the tallies that they were read from.")
    variances: Floats = part.counted.mechanism.variance(np.full(size, 1 / size), part.n)
    return variances
