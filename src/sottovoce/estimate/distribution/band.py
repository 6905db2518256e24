"""A simultaneous band of the cumulative distribution, and samples of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.late import load
from sottovoce.core.params import reject
from sottovoce.estimate.distribution.base import COMPATIBLE, DistributionEvidence
from sottovoce.estimate.distribution.buckets import rising
from sottovoce.estimate.distribution.simulated import reach
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning, check_level, check_target

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
MOST_BUCKETS = 1 << 11  # all covariances of whose cumulative shares are computed


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Limits of the cumulative distribution at the edges of the buckets, which hold all at once with `level`.

    Attributes:
        points: the edges of the buckets.
        values: the estimated cumulative shares at these.
        low, high: the limits, cut to what a cumulative distribution can be; of a truncated series, which need not be
            one, as they are.
        half: half the width of the band before it was cut, at each edge.
    """

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    half: Floats
    level: float

    def to_frame(self) -> pd.DataFrame:
        """A table of the band."""
        import pandas as pd

        columns = {"value": self.points, "estimate": self.values, "low": self.low, "high": self.high}
        return pd.DataFrame(columns)


def band(estimate: Estimate, level: float, target: str, seed: int, method: str) -> Band:
    """The band of the unbiased cumulative shares: as many standard errors as their largest deviation stays within.

    The deviations are nearly normal with a covariance that a likely distribution tells, so their largest one is
    simulated. Method "compatible": the least and the largest cumulative share of every distribution that is compatible
    with the reports (`estimate.distribution.compatible`).
    """
    check_level(level)
    check_target(target)
    source = estimate._distribution
    if source.circular:
        raise ParameterError("Values on a circle have no order: ask for the share of an arc, or for the circular mean.")
    if method not in source.curve_methods:
        raise reject("method", "band", f"one of {', '.join(source.curve_methods)}", method)
    low, high, half = (_compatible if method == COMPATIBLE else _linear)(source, level, target, seed)
    shown = np.cumsum(estimate.values)[:-1]
    values, low, high, half = (
        np.concatenate([[0.0], part, [last]])
        for part, last in ((shown, 1.0), (low, 1.0), (np.maximum(high, low), 1.0), (half, 0.0))
    )
    return Band(source.edges, values, low, high, half, level)


def _linear(source: DistributionEvidence, level: float, target: str, seed: int) -> tuple[Floats, Floats, Floats]:
    """Lower and upper limits, and half the width before they were cut, at the edges inside."""
    if source.unevenness is not None:
        warnings.warn(source.unevenness, PoorIntervalWarning, stacklevel=5)
    d = len(source.buckets)
    if d > MOST_BUCKETS:
        raise TooLargeError(
            f"A band over {d} buckets needs too large a matrix; {MOST_BUCKETS} are possible. Intervals of single"
            " cumulative shares and quantiles work for any number."
        )
    found = source.fitted(np.tri(d - 1, d), target)
    half = reach(found.covariance, level, seed) * found.errors
    if not source.rises:
        return found.values - half, found.values + half, half
    lower = np.maximum.accumulate(np.clip(found.values - half, 0, 1))
    return lower, np.minimum.accumulate(np.clip(found.values + half, 0, 1)[::-1])[::-1], half


def _compatible(source: DistributionEvidence, level: float, target: str, seed: int) -> tuple[Floats, Floats, Floats]:
    region = load("estimate.distribution.compatible:region")(source, level, target, seed)
    low, high = region.curve(len(source.buckets))
    return low, high, (high - low) / 2


def sample(estimate: Estimate, count: int, seed: int | None) -> NDArray[Any]:
    """Values drawn from the estimated shares, evenly inside a bucket."""
    buckets = estimate._distribution.buckets
    shares, rng = np.diff(rising(estimate.values)), np.random.default_rng(seed)
    chosen = rng.choice(len(shares), size=count, p=shares / shares.sum())
    places = buckets.edges[chosen] + rng.random(count) * buckets.widths[chosen]
    if not buckets.whole:
        return places
    whole = np.rint(places).astype(np.int64)
    return np.array(buckets.domain.values)[whole] if isinstance(buckets.domain, Categories) else whole
