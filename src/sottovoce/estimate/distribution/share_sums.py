"""Weighted sums of the shares of a distribution: values, errors, and intervals that hold where the normal law fails."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    POOR_BELOW,
    Bounds,
    Floats,
    Functional,
    deviate,
    most_excess,
    slack_deviate,
)
from sottovoce.estimate.mean.scores import ReportScores, ScoreMoments
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.base import DistributionEvidence

CHECKED = 64  # sums whose law is judged where there are too many for all


class ShareSums:
    """Sums of the shares of a source with weights, one row for each sum. Each number is computed once."""

    def __init__(self, source: DistributionEvidence, weights: Floats) -> None:
        self.source, self.rows = source, np.atleast_2d(weights)

    @cached_property
    def values(self) -> Floats:
        """The unbiased values."""
        return np.asarray(self.rows @ self.source.values())

    @remembered
    def functional(self, target: Target) -> Functional:
        """The values with their joint covariance."""
        return self.source.functional(self.rows, target)

    @remembered
    def variances(self, target: Target) -> Floats:
        """The variances of the values alone."""
        return self.source.spreads(self.rows, target)

    @cached_property
    def scores(self) -> ReportScores | None:
        """The sums as means of one score from each report, if they are and there is room for them."""
        return self.source.scores_of(self.rows)

    @remembered
    def moments(self, target: Target) -> ScoreMoments | None:
        """The moments of the error of one report."""
        return self.source.moments_of(self, target)

    @remembered
    def excess(self, level: float, target: Target | None = None) -> Floats:
        """How many times as often as promised normal intervals may miss; without a target, the worse of both."""
        return self.source.excess_of(self, level, target)

    @property
    def bets(self) -> bool:
        """Whether there are betting intervals."""
        return self.scores is not None and self.scores.affordable

    @property
    def default(self) -> Method:
        """The default method: "normal" where it is good for each sum and for all at once."""
        if self.source.n < POOR_BELOW:
            return Method.GUARDED
        limits = ((0.95, most_excess(0.95)), (1 - 0.05 / max(1, len(self.rows)), MOST_EXCESS))
        good = all((self.excess(level) <= most).all() for level, most in limits)
        return Method.NORMAL if good else Method.GUARDED

    def doubt(self, level: float, most: float = MOST_EXCESS, method: Method | None = Method.NORMAL) -> str | None:
        """The warning about intervals, if they may miss too often."""
        if method == Method.GUARDED and self.bets:
            return None
        problem = self.source.few()
        if problem is None and (poor := int((~(self.excess(level) <= most)).sum())):
            problem = (
                f"The normal interval of level {level:.8g} is poor for {poor} of {len(self.rows)} values: too few"
                " reports tell them apart."
            )
        return f"{problem} The guarded interval holds." if problem is not None and self.bets else problem

    def interval(self, request: IntervalRequest, slack: float = 0.0) -> Bounds:
        """Intervals of the sums, which may be off by `slack`."""
        errors = np.sqrt(self.variances(request.target))
        half = deviate(request.level) * errors if not slack else slack_deviate(request.level, slack, errors)
        bounds = Bounds(self.values - half, self.values + half)
        if request.method != Method.GUARDED:
            return bounds
        return self.guarded(bounds, request.level, request.target, room=slack)

    def guarded(
        self, bounds: Bounds, level: float, target: Target, *, room: float = 0.0, judged: float = 0.0
    ) -> Bounds:
        """Normal intervals where these are good at a level, betting intervals elsewhere.

        The betting interval holds for any law of the reports and any number of them. `room` is how far the sums may be
        off. `judged` is the level at which normal intervals must be good, if it is another one.
        """
        most = MOST_EXCESS if judged else most_excess(level)
        poor = np.flatnonzero(~(self.excess(judged or level, target) <= most))
        if not len(poor):
            return bounds
        rows = self.rows[poor]
        scores = self.source.scores_of(rows)
        betting = None if scores is None else scores.betting(self.source.limits_of(rows), level)
        if betting is None:
            return bounds
        values, (low, high) = rows @ self.source.values(), bounds
        low, high = low.copy(), high.copy()
        low[poor], high[poor] = np.minimum(betting.low - room, values), np.maximum(betting.high + room, values)
        return Bounds(low, high)


def kept_inside(bounds: Bounds, limits: tuple[float, float]) -> Bounds:
    """The part of intervals that lies where the truth can be.

    An estimate beyond a limit, as unbiased shares of empty buckets are half of the time, would leave a sliver or
    nothing of its interval, which looks like certainty. There it reaches as far inside as if the estimate were the
    limit.
    """
    (low, high), (least, most) = bounds, limits
    middle, half = (low + high) / 2, (high - low) / 2
    near = np.clip(middle, least, most)
    low = np.where(middle > most, np.minimum(low, near - half), low)
    high = np.where(middle < least, np.maximum(high, near + half), high)
    return Bounds(np.clip(low, least, most), np.clip(high, least, most))
