"""Evidence about the share of each code, for any shape of the law."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from sottovoce.core.errors import NoCovarianceError, NoIntervalError, ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    Bounds,
    Counted,
    Evidence,
    Floats,
    Ints,
    Offer,
    OutputTally,
    deviate,
)
from sottovoce.estimate.frequency.laws import PAIRWISE, output_law
from sottovoce.estimate.frequency.likelihood import mixture
from sottovoce.estimate.frequency.mixture import Mixture
from sottovoce.estimate.mean.betting import Sides, watched_sides
from sottovoce.estimate.reading import Curve
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

METHODS = (Method.EXACT, Method.WILSON, Method.NORMAL, Method.BOUNDED)
MAX_LAW = 1024  # codes whose law is written down as a table
MAX_COVARIANCE = 4096  # codes


class SupportCounts(NamedTuple):
    """Of n reports so many support each code: with rate `own` those of its holders, with rate `other` all the rest."""

    counts: Ints
    n: int
    own: float
    other: float


class SharesEvidence(Evidence):
    """Evidence about the share of each code.

    Standard errors are those of the law at the nearest share in [0, 1], so that a code without any support has one too.
    With the tally, `counted`, there are also the names of the codes, the covariance and the likelihood.
    """

    default: ClassVar[Method] = Method.EXACT
    default_inside: ClassVar[Method | None] = Method.BOUNDED
    noun: ClassVar[str] = "share"
    origin: ClassVar[str]  # what shares without all kinds of intervals come from
    picks: ClassVar[bool] = True  # whether shares can be read for a list of candidates
    counted: Counted | None
    __slots__ = ()

    @property
    def methods(self) -> tuple[Method, ...]:
        return METHODS

    @property
    def supports(self) -> SupportCounts | None:
        """Counts of supports, where these have the same two rates for all codes."""
        return None

    def exact(self, level: float, target: Target) -> Bounds:
        """Intervals whose coverage is at least the level for every n."""
        raise NoIntervalError(f"Shares of {self.origin} have no exact interval; use method='normal'.")

    def wilson(self, level: float) -> Bounds:
        """Score intervals for the population."""
        raise NoIntervalError(f"Shares of {self.origin} have no Wilson interval; use method='normal'.")

    @abstractmethod
    def excess(self, request: IntervalRequest) -> Floats:
        """Worst miss rate of the Wilson or normal interval of each code, as a multiple of the promised one."""

    def moved(self) -> tuple[Self, Self]:
        """Evidence whose estimates below 0 are raised to 0, and evidence whose estimates above 1 are lowered to 1."""
        raise NoIntervalError(f"Shares of {self.origin} are moved with their intervals.")

    @abstractmethod
    def reach_of(self, weights: Floats) -> float:
        """A bound on the range of readings, for these weights of the scores of all codes."""

    def watched(self) -> list[Sides]:
        known = self.supports
        if known is None:
            return Evidence.watched(self)
        numbers = (np.array([0.0, 1.0]) - known.other) / (known.own - known.other)
        return [
            watched_sides(numbers, np.array([known.n - count, count], float), self.limits) for count in known.counts
        ]

    def curve(self, target: Target) -> Curve:
        """The variance of each estimate as a function of its true share; constant if nothing else is known."""
        return Curve(self.variances(target))

    def interval(self, request: IntervalRequest) -> Bounds:
        if request.method == Method.BOUNDED:
            return self.inside(request.by(Method.EXACT))
        if request.method == Method.WILSON and request.target == Target.SAMPLE:
            raise ParameterError("The Wilson interval is about the population; for the sample use 'exact'.")
        if request.method == Method.EXACT:
            return self.exact(request.level, request.target)
        return self.wilson(request.level) if request.method == Method.WILSON else self.normal(request)

    def inside(self, request: IntervalRequest) -> Bounds:
        """Intervals in [0, 1] that are never empty and contain the estimate, moved into [0, 1].

        The upper end is that of an estimate of at least 0, the lower end that of one of at most 1. Both ends rise with
        the estimate, so the interval contains all shares of the one that is not moved, and covers at least as often.
        """
        usual = request.instead_of(Method.BOUNDED, use=Method.EXACT)
        raised, lowered = self.moved()
        nearest = np.clip(self.values(), 0, 1)
        low, high = lowered.interval(usual).low, raised.interval(usual).high
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    @property
    def axes(self) -> Axes:
        if self.counted is None:
            return Axes.of("value", range(len(self.values())))
        return Axes.of("value", self.counted.mechanism.domain if self.counted.codes is None else self.counted.names)

    @property
    def question(self) -> Question | None:
        if self.counted is None or self.counted.codes is not None:
            return None
        return self.counted.mechanism.question

    @property
    def offers(self) -> frozenset[Offer]:
        if self.counted is None:
            return frozenset({Offer.ALL_SHARES, Offer.NULL_ERRORS})
        if self.counted.codes is not None:
            return frozenset({Offer.NULL_ERRORS, Offer.COVARIANCE})
        offers = {Offer.ALL_SHARES, Offer.NULL_ERRORS, Offer.COVARIANCE, Offer.LIKELIHOOD}
        offers |= {Offer.CANDIDATES} if self.picks else set()
        return frozenset({*offers, Offer.OUTPUT_TALLIES} if self._is_counted_by_output(self.counted) else offers)

    @staticmethod
    def _is_counted_by_output(counted: Counted) -> bool:
        channel = counted.mechanism.channel
        plain = isinstance(counted.mechanism.statistic, CountOutputs) and not channel.publics
        return plain and channel.inputs <= MAX_LAW and channel.inputs * len(counted.cells) <= MAX_LAW**2

    def output_tallies(self) -> list[OutputTally]:
        if self.counted is None:
            return Evidence.output_tallies(self)
        return [OutputTally(output_law(self.counted.mechanism.channel), self.counted.cells)]

    def with_reports(self, reports: Any) -> Self:
        """Shares together with the reports, which the likelihood may need."""
        return replace(self, counted=replace(self.counted, reports=reports))  # type: ignore[type-var]

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SharesEvidence:
        raise ParameterError(
            "Candidates are supported for shares that can be read one by one, not for a general table."
        )

    def _among(self, codes: Ints, labels: Sequence[object]) -> Counted | None:
        """The tally for some codes."""
        return None if self.counted is None else replace(self.counted, codes=codes, names=labels)

    def second_moments(self) -> Floats:
        """E[score_u score_v] of one report, where a score is unbiased for "holds the code"."""
        return self._moments

    @cached_property
    def _moments(self) -> Floats:
        """The second moments, which several errors are computed from; shared, so not to be written to."""
        counted = self.counted
        if counted is None:
            raise NoCovarianceError("The covariance of shares needs the tally that they were read from.")
        codes = np.arange(counted.mechanism.channel.inputs) if counted.codes is None else counted.codes
        if len(codes) > MAX_COVARIANCE:
            raise TooLargeError(
                f"The covariance of {len(codes)} shares is too large; it is given up to {MAX_COVARIANCE}."
            )
        moments = self._second_moments(counted, codes)
        moments.setflags(write=False)
        return moments

    def _second_moments(self, counted: Counted, codes: Ints) -> Floats:
        """The mean products of scores from a tally that says how often each report was sent."""
        scores = self.cell_scores(counted.mechanism, codes)
        return np.asarray((scores * (counted.cells / counted.n)) @ scores.T)

    def cell_scores(self, mechanism: Mechanism, codes: Ints) -> Floats:
        """The score of each cell of a tally, for each of the codes that the evidence is about."""
        raise NoCovarianceError(PAIRWISE)

    def covariance(self, target: Target) -> Floats:
        shares, moments = self.values(), self.second_moments()
        first = np.outer(shares, shares) if target == Target.POPULATION else np.diag(shares)
        result = np.asarray((moments - first) / self.n)
        np.fill_diagonal(result, self.variances(target))  # as in the intervals
        return result

    def likelihood(self) -> Mixture:
        if self.counted is None:
            return Evidence.likelihood(self)
        return mixture(self.counted)

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = bounds = estimate.ci(level)
        top = int(np.argmax(estimate.values))
        note = estimate.remark(bounds)
        return (
            f"The estimates are {estimate.quality}; the standard error of a share is about"
            f" {np.median(estimate.std_errors):.2g}. The most frequent value is {self.labels[top]!r} with an estimated"
            f" share of {estimate.values[top]:.4f} ({level:.0%} interval from {low[top]:.4f} to {high[top]:.4f} for the"
            f" population).{'' if note is None else ' ' + note}"
        )

    @property
    def _better(self) -> str:
        return " The exact interval holds." if Method.EXACT in self.methods else ""

    def _cause(self, level: float) -> str:
        """Why an interval of a level may be poor."""
        return "too few reports are expected on one side"

    def warning(self) -> str | None:
        poor = self.normal_is_poor()
        if not poor.any():
            return None
        return (
            f"The normal interval is poor for {int(poor.sum())} of {len(poor)} values: too few reports are expected"
            f" on one side.{self._better}"
        )

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        if request.method not in (Method.WILSON, Method.NORMAL):
            return None
        excess = self.excess(request)
        poor = excess > most
        if not poor.any():
            return self.warning() if request.method == Method.NORMAL else None
        name = "Wilson" if request.method == Method.WILSON else request.method
        return (
            f"The {name} interval of level {request.level:.8g} is poor for {int(poor.sum())} of {len(poor)} values:"
            f" {self._cause(request.level)}, and it may miss {excess.max():,.1f} times as often as promised."
            f"{self._better}"
        )


def score_bounds(values: Floats, curve: Curve, level: float) -> Bounds:
    """(value - f)**2 = z**2 variance(f), solved for the share f: the variance is a parabola.

    Beyond all shares by many standard errors no share has a score this small: the nearest one is left.
    """
    free, linear, square = (deviate(level) ** 2 * np.asarray(term) for term in curve)
    a, b, c = 1 - square, values + linear / 2, values**2 - free
    half = np.sqrt(np.maximum(b**2 - a * c, 0))
    return Bounds((b - half) / a, (b + half) / a)


def moved_inside(evidence: SharesEvidence, bounds: Bounds) -> Bounds:
    """Intervals of estimates moved into [0, 1]: plus and minus as much as without moving them."""
    move = np.clip(evidence.values(), 0, 1) - evidence.values()
    low, high = bounds
    return Bounds(np.clip(low + np.minimum(move, 0), 0, 1), np.clip(high + np.maximum(move, 0), 0, 1))
