"""A simultaneous band of the cumulative distribution, and samples of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.buckets import rising
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning, check_level, check_target

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
DRAWS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Limits of the cumulative distribution at the edges of the buckets, which hold all at once with `level`.

    Attributes:
        points: the edges of the buckets.
        values: the estimated cumulative shares at these.
        low, high: the limits, cut to what a cumulative distribution can be.
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


def band(estimate: Estimate, level: float, target: str, seed: int) -> Band:
    """The band of the unbiased cumulative shares: as many standard errors as their largest deviation stays within.

    The deviations are nearly normal with a known covariance, so their largest one is simulated.
    """
    check_level(level)
    check_target(target)
    source = estimate._distribution
    if source.circular:
        raise ParameterError("Values on a circle have no order: ask for the share of an arc, or for the circular mean.")
    if source.unevenness is not None:
        warnings.warn(source.unevenness, PoorIntervalWarning, stacklevel=3)
    d = len(source.buckets)
    found = source.functional(np.tri(d - 1, d), target)
    half = _reach(found.covariance, level, seed) * found.errors
    lower = np.maximum.accumulate(np.clip(found.values - half, 0, 1))
    upper = np.minimum.accumulate(np.clip(found.values + half, 0, 1)[::-1])[::-1]
    shown = np.cumsum(estimate.values)[:-1]
    ends = [(np.array([0.0]), np.array([1.0])) for _ in range(4)]
    values, low, high = (
        np.concatenate([first, part, last])
        for (first, last), part in zip(ends, (shown, lower, np.maximum(upper, lower)), strict=False)
    )
    return Band(source.edges, values, low, high, np.concatenate([[0.0], half, [0.0]]), level)


def _reach(covariance: Floats, level: float, seed: int) -> float:
    """The quantile of the largest of normal deviations with this covariance, in standard errors."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = errors > 0
    correlation = covariance[np.ix_(used, used)] / np.outer(errors[used], errors[used])
    sizes, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(sizes, 0))
    rng = np.random.default_rng(seed)
    largest = np.abs(root @ rng.standard_normal((root.shape[1], DRAWS))).max(axis=0)
    return float(np.quantile(largest, level))


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
