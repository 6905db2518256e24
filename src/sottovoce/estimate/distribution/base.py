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
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.errors import TooLargeError
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted, Evidence, Offer

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.estimate import Estimate

Floats = NDArray[np.float64]
EARLY = 1e-3  # change of the total log-likelihood, times e**epsilon, at which EM ends

COMPATIBLE = "compatible"
MOST_TOGETHER = 1 << 11  # buckets, all covariances of whose shares are computed


class Functional(NamedTuple):
    """Linear functionals of a distribution: unbiased values, and their joint covariance."""

    values: Floats
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))


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

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
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

    def functional(self, weights: Floats, target: str = "population") -> Functional:
        """Sums of shares with these weights, one row for each functional."""
        rows = np.atleast_2d(weights)
        return Functional(rows @ self.values(), rows @ self.covariance(target) @ rows.T)

    def fitted(self, weights: Floats, target: str = "population") -> Functional:
        """The same values, and their covariance where the shares are likely ones: what bands are made of.

        A band holds if the largest of many deviations stays within it. Errors that are themselves poorly known would
        make the largest one of them, in standard errors, larger than that of normal deviations.
        """
        return self.functional(weights, target)

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
    def inside(self, level: float, method: str, target: str) -> Bounds:
        return kept_inside(self.interval(level, method, target), self.limits)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return self.normal(level, target)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.buckets), self.n < POOR_BELOW)

    def warning(self) -> str | None:
        return f"The normal interval is poor for {self.n} reports." if self.n < POOR_BELOW else None

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
