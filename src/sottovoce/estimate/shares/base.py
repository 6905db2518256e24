"""Evidence about the share of each code, for any shape of the law."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Counted, Evidence, Ints, Offer, OutputTally

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.shares.mixture import Mixture

Floats = NDArray[np.float64]
MAX_LAW = 1024  # codes whose law is written down as a table


class Curve(NamedTuple):
    """The variance of an estimated share as a parabola of the true one: free + linear f + square f**2."""

    free: Any  # a float, or one for each value
    linear: Any = 0.0
    square: Any = 0.0

    def at(self, shares: Floats) -> Floats:
        """The variances at these shares."""
        return np.asarray(self.free + shares * (self.linear + shares * self.square))


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

    methods: ClassVar[tuple[str, ...]] = ("exact", "wilson", "normal", "bounded")
    default: ClassVar[str] = "exact"
    default_inside: ClassVar[str | None] = "bounded"
    noun: ClassVar[str] = "share"
    picks: ClassVar[bool] = True  # whether shares can be read for a list of candidates
    counted: Counted | None
    supports: SupportCounts | None = None  # where shares are counts of supports with the same two rates for all codes
    __slots__ = ()

    @abstractmethod
    def exact(self, level: float, target: str) -> Bounds:
        """Intervals whose coverage is at least the level for every n."""

    @abstractmethod
    def wilson(self, level: float) -> Bounds:
        """Score intervals for the population."""

    @abstractmethod
    def excess(self, method: str, level: float) -> Floats:
        """How many times as often as promised the Wilson or normal interval of each code may miss."""

    @abstractmethod
    def moved(self) -> tuple[Self, Self]:
        """The same evidence with estimates below 0 raised to 0, and with those above 1 lowered to 1."""

    @abstractmethod
    def reach_of(self, weights: Floats) -> float:
        """A bound on the range of readings, for these weights of the scores of all codes."""

    def curve(self, target: str) -> Curve:
        """The variance of each estimate as a function of its true share; constant if nothing else is known."""
        return Curve(self.variances(target))

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "bounded":
            return self.inside(level, "exact", target)
        if method == "wilson" and target == "sample":
            raise ParameterError("The Wilson interval is about the population; for the sample use 'exact'.")
        if method == "exact":
            return self.exact(level, target)
        return self.wilson(level) if method == "wilson" else self.normal(level, target)

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """Intervals in [0, 1] that are never empty and contain the estimate, moved into [0, 1].

        The upper end is that of an estimate of at least 0, the lower end that of one of at most 1. Both ends rise with
        the estimate, so the interval contains all shares of the one that is not moved, and covers at least as often.
        """
        if method == "bounded":
            method = "exact"
        raised, lowered = self.moved()
        nearest = np.clip(self.values(), 0, 1)
        low, high = (
            lowered.interval(level, method, target).low,
            raised.interval(level, method, target).high,
        )
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    @property
    def labels(self) -> Sequence[object]:  # type: ignore[override]
        if self.counted is None:
            return range(len(self.values()))
        return self.counted.mechanism.domain.labels() if self.counted.codes is None else self.counted.names

    @property
    def question(self) -> Question | None:  # type: ignore[override]
        if self.counted is None or self.counted.codes is not None:
            return None
        return self.counted.mechanism.question

    @property
    def offers(self) -> frozenset[Offer]:
        if self.counted is None:
            return frozenset({Offer.ALL_SHARES, Offer.NULL_ERRORS})
        if self.counted.codes is not None:
            return frozenset({Offer.NULL_ERRORS, Offer.COVARIANCE})
        found = {Offer.ALL_SHARES, Offer.NULL_ERRORS, Offer.COVARIANCE, Offer.LIKELIHOOD}
        found |= {Offer.CANDIDATES} if self.picks else set()
        return frozenset({*found, Offer.OUTPUT_TALLIES} if self._is_counted_by_output(self.counted) else found)

    @staticmethod
    def _is_counted_by_output(own: Counted) -> bool:
        channel = own.mechanism.channel
        plain = isinstance(own.mechanism.statistic, CountOutputs) and not channel.publics
        return plain and channel.inputs <= MAX_LAW and channel.inputs * len(own.cells) <= MAX_LAW**2

    def output_tallies(self) -> list[OutputTally]:
        if self.counted is None:
            return Evidence.output_tallies(self)
        law: Floats = late.load("estimate.shares.matrix:output_law")(self.counted.mechanism.channel)
        return [OutputTally(law, self.counted.cells)]

    def with_reports(self, reports: Any) -> Self:
        """The same shares, with the reports themselves: their likelihood may need them."""
        return replace(self, counted=replace(self.counted, reports=reports))  # type: ignore[type-var]

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SharesEvidence:
        raise ParameterError(
            "Candidates are supported for shares that can be read one by one, not for a general table."
        )

    def _among(self, codes: Ints, labels: Sequence[object]) -> Counted | None:
        """The same tally, for some codes."""
        return None if self.counted is None else replace(self.counted, codes=codes, names=labels)

    def second_moments(self) -> Floats:
        """E[score_u score_v] of one report, where a score is unbiased for "holds the code"."""
        if self.counted is None:
            raise NoCovarianceError("The covariance of shares needs the tally that they were read from.")
        own = self.counted
        found: Floats = late.load("estimate.shares.moments:second_moments")(own.mechanism, own.n, own.cells)
        return found if own.codes is None else found[np.ix_(own.codes, own.codes)]

    def covariance(self, target: str) -> Floats:
        shares, moments = self.values(), self.second_moments()
        first = np.outer(shares, shares) if target == "population" else np.diag(shares)
        result = np.asarray((moments - first) / self.n)
        np.fill_diagonal(result, self.variances(target))  # the same variances as in the intervals
        return result

    def likelihood(self) -> Mixture:
        if self.counted is None:
            return Evidence.likelihood(self)
        found: Mixture = late.load("estimate.shares.likelihood:mixture")(self.counted)
        return found

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def sentence(self, found: Estimate, level: float) -> str:
        low, high = bounds = found.ci(level)
        top = int(np.argmax(found.values))
        note = found.remark(bounds)
        return (
            f"The estimates are {found.quality}; the standard error of a share is about"
            f" {np.median(found.std_errors):.2g}. The most frequent value is {self.labels[top]!r} with an estimated"
            f" share of {found.values[top]:.4f} ({level:.0%} interval from {low[top]:.4f} to {high[top]:.4f} for the"
            f" population).{'' if note is None else ' ' + note}"
        )

    @property
    def _better(self) -> str:
        return " The exact interval holds." if "exact" in self.methods else ""

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

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        if method not in ("wilson", "normal"):
            return None
        excess = self.excess(method, level)
        poor = excess > most
        if not poor.any():
            return self.warning() if method == "normal" else None
        name = "Wilson" if method == "wilson" else method
        return (
            f"The {name} interval of level {level:.8g} is poor for {int(poor.sum())} of {len(poor)} values:"
            f" {self._cause(level)}, and it may miss {excess.max():,.1f} times as often as promised."
            f"{self._better}"
        )


def moved_inside(evidence: SharesEvidence, bounds: Bounds) -> Bounds:
    """Intervals of estimates moved into [0, 1]: plus and minus as much as without moving them."""
    move = np.clip(evidence.values(), 0, 1) - evidence.values()
    low, high = bounds
    return Bounds(np.clip(low + np.minimum(move, 0), 0, 1), np.clip(high + np.maximum(move, 0), 0, 1))
