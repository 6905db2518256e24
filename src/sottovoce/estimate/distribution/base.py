"""Evidence about a distribution: the shares of buckets, for any shape of the law.

A shape derives from `DistributionEvidence` and has `buckets`, `n`, `values()`, the unbiased shares of the buckets, and
`covariance(target)`, their joint covariance. Everything that is asked of a distribution follows: `functional(weights)`
gives linear functionals with their covariance, `spreads(weights)` their variances alone, and `answer` reads cumulative
shares, ranges, quantiles, means, variances and densities from them (`estimate/distribution/answers.py`). A shape that
can do without the matrix of all covariances overrides `functional` and `spreads`; one that has a likelihood of shares
overrides `likelihood` and says so in `offers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    POOR_BELOW,
    Bounds,
    Contributions,
    Counted,
    Evidence,
    Functional,
    Offer,
    most_excess,
)
from sottovoce.estimate.mean.scores import ReportScores, ScoreMoments, excess

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.estimate import Estimate

Floats = NDArray[np.float64]
EARLY = 1e-3  # change of the total log-likelihood, times e**epsilon, at which EM ends

COMPATIBLE = "compatible"
GUARDED = "guarded"
CHECKED = 64  # functionals whose law is judged where there are too many for all
MOST_TOGETHER = 1 << 11  # buckets, all covariances of whose shares are computed


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


class DistributionEvidence(Evidence):
    """Evidence about the shares of `buckets`."""

    methods: ClassVar[tuple[str, ...]] = ("normal", GUARDED)
    noun: ClassVar[str] = "share"
    picture: ClassVar[str] = "estimate.distribution.picture:plot"
    buckets: Buckets
    counted: Counted | None
    __slots__ = ()

    @property
    def edges(self) -> Floats:
        """The ends of the buckets, in the units of the domain."""
        return self.buckets.edges

    @property
    def circular(self) -> bool:
        """Whether the last bucket is next to the first."""
        return self.buckets.circular

    @property
    def labels(self) -> Sequence[object]:  # type: ignore[override]
        return self.buckets.labels()

    @property
    def question(self) -> Question | None:  # type: ignore[override]
        return None if self.counted is None else self.counted.mechanism.question

    @property
    def distribution(self) -> DistributionEvidence:
        return self

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({Offer.ALL_SHARES, Offer.COVARIANCE, Offer.ORDER})

    def variances(self, target: str) -> Floats:
        return np.maximum(np.diag(self.covariance(target)), 0)

    def fitted(self, weights: Floats, target: str = "population") -> Functional:
        """The same values, and their covariance where the shares are likely ones: what bands are made of.

        A band holds if the largest of many deviations stays within it. Errors that are themselves poorly known would
        make the largest one of them, in standard errors, larger than that of normal deviations.
        """
        return self.functional(weights, target)

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> DistributionEvidence:
        raise ParameterError("Distributions are combined from reports that are counted one by one, of no series.")

    def check_together(self, what: str) -> None:
        """Refuse what needs all covariances of too many buckets."""
        if len(self.buckets) > MOST_TOGETHER:
            raise TooLargeError(
                f"{what} over {len(self.buckets)} buckets needs too large a matrix; {MOST_TOGETHER} are possible."
                " Intervals of shares, cumulative shares and quantiles work for any number."
            )

    def spreads(self, weights: Floats, target: str = "population") -> Floats:
        """The variances of these functionals alone."""
        return np.maximum(np.diag(self.functional(weights, target).covariance), 0)

    def height_spreads(self, target: str) -> Floats:
        """The variances of the cumulative shares up to each edge inside."""
        d = len(self.buckets)
        return self.spreads(np.tri(d - 1, d), target)

    def contributions_of(self, weights: Floats) -> Contributions | None:
        """How far one report can move linear functionals of the shares, if they are means of one number from each."""
        return None

    def reach_of(self, weights: Floats) -> float:
        """A bound on the range of the readings of one report, for these weights."""
        return math.inf

    def answer(self, question: Question) -> Evidence:
        found: Evidence | None = late.load("estimate.distribution.answers:answer")(self, question)
        return super().answer(question) if found is None else found

    @property
    def curve_decoder(self) -> str:
        """The decoder of curves, such as pictures show: unbiased shares of many buckets are negative here and there."""
        return "simplex"

    @property
    def curve_methods(self) -> tuple[str, ...]:
        """The methods of intervals of cumulative shares, ranges and quantiles, and of bands."""
        return self.methods

    @property
    def rises(self) -> bool:
        """Whether what is estimated is a distribution, so that its cumulative shares rise from 0 to 1."""
        return True

    @property
    def unevenness(self) -> str | None:
        """The warning about shares of buckets where they are right for evenly spread answers only; None elsewhere."""
        return None

    @property
    def early_stop(self) -> float | None:
        """EM ends early, as its authors propose: shares of largest likelihood are rougher than the truth."""
        if self.counted is None:
            return EARLY
        return EARLY * math.exp(self.counted.mechanism.epsilon)

    # --- intervals ---------------------------------------------------------------------------------
    @property
    def default(self) -> str:  # type: ignore[override]
        return self.default_of(self.checked_rows())

    def default_of(self, weights: Floats) -> str:
        """The default method for linear functionals: "normal" where it is good for each and for all at once."""
        if self.n < POOR_BELOW:
            return GUARDED
        limits = ((0.95, most_excess(0.95)), (1 - 0.05 / max(1, len(weights)), MOST_EXCESS))
        good = all((self.excess_of(weights, level) <= most).all() for level, most in limits)
        return "normal" if good else GUARDED

    def inside(self, level: float, method: str, target: str) -> Bounds:
        return kept_inside(self.interval(level, method, target), self.limits)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        bounds = self.normal(level, target)
        if method != GUARDED:
            return bounds
        return self.guarded(np.eye(len(self.buckets)), bounds, level, target) if self.is_small else bounds

    @property
    def is_small(self) -> bool:
        """Whether the scores of all buckets are held at once."""
        return len(self.buckets) <= MOST_TOGETHER

    def guarded(
        self, weights: Floats, bounds: Bounds, level: float, target: str, *, room: float = 0.0, judged: float = 0.0
    ) -> Bounds:
        """Normal intervals of linear functionals where these are good at a level, betting intervals elsewhere.

        The betting interval holds for any law of the reports and any number of them. `room` is how far the functionals
        may be off. `judged` is the level at which normal intervals must be good, if it is another one.
        """
        rows = np.atleast_2d(weights)
        excesses, most = self.excess_of(rows, judged or level, target), MOST_EXCESS if judged else most_excess(level)
        poor = np.flatnonzero(~(excesses <= most))
        scores = self.scores_of(rows[poor]) if len(poor) else None
        found = None if scores is None else scores.betting(self.limits_of(rows[poor]), level)
        if found is None:
            return bounds
        values, (low, high) = rows[poor] @ self.values(), bounds
        low, high = low.copy(), high.copy()
        low[poor], high[poor] = np.minimum(found.low - room, values), np.maximum(found.high + room, values)
        return Bounds(low, high)

    def scores_of(self, weights: Floats) -> ReportScores | None:
        """Linear functionals as means of one score from each report, if they are and there is room for them."""
        return None

    def limits_of(self, weights: Floats) -> tuple[Floats, Floats]:
        """Between which numbers linear functionals of any distribution lie."""
        return weights.min(axis=1), weights.max(axis=1)

    def moments_of(self, weights: Floats, target: str) -> ScoreMoments | None:
        """The moments of the error of one report for linear functionals."""
        scores = self.scores_of(weights)
        return None if scores is None else scores.moments()

    def excess_of(self, weights: Floats, level: float, target: str | None = None) -> Floats:
        """How many times as often as promised the normal intervals of linear functionals may miss; without a target,
        the worse of both."""
        rows = np.atleast_2d(weights)
        if not len(rows):
            return np.ones(0)
        if self.n < POOR_BELOW:
            return np.full(len(rows), np.inf)
        each = [self.moments_of(rows, one) for one in ((target,) if target else ("population", "sample"))]
        known = [excess(one, self.n, level) for one in each if one is not None]
        return np.max(known, axis=0) if known else np.ones(len(rows))

    def doubt_of(self, weights: Floats, level: float, most: float = MOST_EXCESS, method: str = "normal") -> str | None:
        """The warning about intervals of linear functionals, if they may miss too often."""
        rows = np.atleast_2d(weights)
        if method == GUARDED and self._bets(rows):
            return None
        few = self.few()
        if few is not None:
            return f"{few}{self._better(rows)}"
        found = self.excess_of(rows, level)
        poor = int((~(found <= most)).sum())
        if not poor:
            return None
        return (
            f"The normal interval of level {level:.8g} is poor for {poor} of {len(rows)} values: too few reports tell"
            f" them apart.{self._better(rows)}"
        )

    def few(self) -> str | None:
        """The warning about so few reports that no approximation is trusted."""
        return f"The normal interval is poor for {self.n} reports." if self.n < POOR_BELOW else None

    def _bets(self, rows: Floats) -> bool:
        """Whether there are betting intervals of linear functionals."""
        scores = self.scores_of(rows)
        return scores is not None and scores.affordable

    def _better(self, rows: Floats) -> str:
        return " The guarded interval holds." if self._bets(rows) else ""

    def checked_rows(self) -> Floats:
        """The shares of all buckets, or of some of them where they are many."""
        d = len(self.buckets)
        if self.is_small:
            return np.eye(d)
        places = np.unique(np.linspace(0, d - 1, CHECKED).astype(int))
        rows = np.zeros((len(places), d))
        rows[np.arange(len(places)), places] = 1
        return rows

    def normal_is_poor(self) -> NDArray[np.bool_]:
        poor = ~(self.excess_of(self.checked_rows(), 0.95) <= most_excess(0.95))
        return poor if self.is_small else np.full(len(self.buckets), bool(poor.any()))

    def warning(self) -> str | None:
        return self.doubt_of(self.checked_rows(), 0.95, most_excess(0.95))

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        return self.doubt_of(self.checked_rows(), level, most, method if self.is_small else "normal")

    # --- showing -----------------------------------------------------------------------------------
    def sentence(self, found: Estimate, level: float) -> str:
        return (
            f"The estimates of the shares of {len(self.buckets)} buckets are {found.quality}; the standard error of an"
            f" unbiased share is about {np.median(found.std_errors):.2g}."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        table.insert(1, "from", self.edges[:-1])
        table.insert(2, "to", self.edges[1:])
        return table
