"""A simultaneous band of the cumulative distribution, and samples of the distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.estimate.distribution.buckets import Buckets, rising
from sottovoce.estimate.distribution.compatible import region
from sottovoce.estimate.distribution.reach import reach
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Bounds, Floats
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.distribution.base import DistributionEvidence

MOST_SEED = 1 << 256
POINTWISE = 0.95  # the level at which the normal law of a single height is judged


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Limits of the share of answers up to each edge of the buckets, which hold all at once with `level`.

    Attributes:
        points: the edges of the buckets.
        values: the estimated shares below these, and up to these where answers are spread evenly inside buckets.
        low, high: the limits, cut to what a cumulative distribution can be; of a truncated series, which need not be
            one, as they are. On a continuum many answers may lie on an edge, which the bucket behind it holds: the
            upper limit is that of the shares with this bucket.
        half: half the width of the band of the shares below each edge, before it was cut.
    """

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    half: Floats
    level: float
    buckets: Buckets = field(repr=False)

    def limits(self, values: Any) -> tuple[Floats, Floats]:
        """Lower and upper limits of the share of answers that are at most each of some values."""
        listed = np.atleast_1d(np.asarray(values)).tolist()
        inside = [int(self.buckets.sure(None, value).sum()) for value in listed]
        touched = [int(self.buckets.touched(None, value).sum()) for value in listed]
        behind = self.buckets.step is None  # the upper limits are those of the edges behind
        return self.low[inside], self.high[np.maximum(np.array(touched) - behind, 0)]

    def to_frame(self) -> pd.DataFrame:
        """A table of the band."""
        import pandas as pd

        columns = {"value": self.points, "estimate": self.values, "low": self.low, "high": self.high}
        return pd.DataFrame(columns)


def band(source: DistributionEvidence, shares: Floats, request: IntervalRequest, seed: int) -> tuple[Band, str | None]:
    """The band of cumulative shares, and why it may miss more often than it promises, or None.

    The band is that of the unbiased cumulative shares: as many standard errors as their largest deviation stays within.
    The deviations are nearly normal with a covariance that a likely distribution tells, so their largest one is
    simulated. Method "guarded", the default where some deviations are far from normal, replaces the limits of these by
    those of betting intervals of the same level. Method "compatible": the least and the largest cumulative share of
    every distribution that is compatible with the reports (`estimate.distribution.compatible`).
    """
    check_integer("seed", "band", seed, 0, MOST_SEED)
    if source.circular:
        raise ParameterError("Values on a circle have no order: ask for the share of an arc, or for the circular mean.")
    if request.method == Method.COMPATIBLE:
        low, high = region(source, request.level, request.target, seed).curve(len(source.buckets))
        half, doubt = (high - low) / 2, source.few()
    else:
        low, high, half, doubt = _linear(source, request.level, request.target, seed, request.method)
    heights = np.cumsum(shares)[:-1]
    values, low, high, half = (
        np.concatenate([[0.0], part, [last]])
        for part, last in ((heights, 1.0), (low, 1.0), (np.maximum(high, low), 1.0), (half, 0.0))
    )
    if source.buckets.step is None:
        high = np.append(high[1:] if source.rises else np.maximum(high[1:], high[:-1]), 1.0)
    return Band(source.edges, values, low, high, half, request.level, source.buckets), doubt


def _linear(
    source: DistributionEvidence, level: float, target: Target, seed: int, method: Method | None
) -> tuple[Floats, Floats, Floats, str | None]:
    """Lower and upper limits at the edges inside, half the width before they were cut, and a doubt."""
    source.check_together("A band")
    d = len(source.buckets)
    sums = ShareSums(source, np.tri(d - 1, d))
    curve = source.fitted(sums.rows, target)
    wide = reach(curve.covariance, level, seed)
    half, each = wide * curve.errors, 1 - 2 * float(ndtr(-wide))
    poor = sums.doubt(POINTWISE)
    chosen = method or (Method.NORMAL if poor is None else Method.GUARDED)
    doubt = source.unevenness or sums.doubt(POINTWISE, method=chosen)
    low, high = curve.values - half, curve.values + half
    if chosen == Method.GUARDED:
        low, high = sums.guarded(Bounds(low, high), each, target, judged=POINTWISE)
        half = (high - low) / 2
    if source.rises:
        low = np.maximum.accumulate(np.clip(low, 0, 1))
        high = np.minimum.accumulate(np.clip(high, 0, 1)[::-1])[::-1]
    return low, high, half, doubt


def sample(buckets: Buckets, values: Floats, count: int, seed: int | None) -> NDArray[Any]:
    """Values drawn from estimated shares, evenly inside a bucket."""
    check_integer("count", "sample", count, 0, 1 << 32)
    if seed is not None:
        check_integer("seed", "sample", seed, 0, MOST_SEED)
    shares, rng = np.diff(rising(values)), np.random.default_rng(seed)
    chosen = rng.choice(len(shares), size=count, p=shares / shares.sum())
    places = buckets.edges[chosen] + rng.random(count) * buckets.widths[chosen]
    if buckets.step is None:
        return places
    first, _ = buckets.ends
    steps = np.rint((places - first) / buckets.step)
    if buckets.domain.size is None:
        return np.asarray(first + steps * buckets.step)
    places, choices = (first + steps).astype(np.int64), buckets.domain.choices
    return places if choices is None else np.array(choices)[places]
