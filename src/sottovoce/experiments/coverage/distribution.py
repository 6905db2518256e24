"""How often intervals and bands of a distribution cover: every run draws a whole tally, and asks for the intervals as
shipped.

Counts of reports are drawn from the law of a report of somebody of the population, which is computed exactly; that the
shipped sampler has this law is what the contract checks. Sums of noisy histograms are drawn from theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Histogram
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.compatible import known_averages, region
from sottovoce.estimate.distribution.series import SeriesEvidence
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning
from sottovoce.experiments.coverage.declared.distributions import WIDE_RUNS
from sottovoce.experiments.coverage.populations import (
    domain_of,
    heights_at,
    law,
    moments,
    quantile,
    shares_of,
)
from sottovoce.experiments.coverage.study import LEVEL, Coverage
from sottovoce.tally.counts import simulate_counts
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
PARTS = (1 / 32, 0.25, 0.5, 0.75, 31 / 32)  # of the domain, up to which cumulative shares are judged
SHARES = ("0.01", "0.25", "0.5", "0.9", "0.99")
MIDDLE = PARTS[1:4], ("0.25", "0.5", "0.9")
FEWEST = 200  # intervals of a kind whose coverage is shown
CUT, END = "cdf, cut", "quantile, end"
_SHOWN = range(3, 63, 6)  # edges at which widths of compatible limits are measured


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """All kinds of intervals for one mechanism, crowd and number of people."""
    return _coverages(point, runs, seed, PARTS, SHARES)


def middle_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The same without cumulative shares and quantiles near the ends."""
    return _coverages(point, runs, seed, *MIDDLE)


def _coverages(
    point: Mapping[str, Any], runs: int, seed: int, parts: Sequence[float], shares: Sequence[str]
) -> list[Coverage]:
    method = _built(point["mechanism"], point["crowd"], point["epsilon"], point["buckets"])
    held: dict[str, list[bool]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)
        for tally in _tallies(method, point, runs, seed):
            for kind, covered in _judged(method.estimate(tally), point["crowd"], parts, shares):
                held.setdefault(kind, []).append(covered)
    return [
        Coverage(of=kind, method="normal", coverage=float(np.mean(covered)), runs=len(covered))
        if len(covered) >= min(FEWEST, runs)
        else Coverage(of=kind, method="normal", coverage=None, runs=len(covered))
        for kind, covered in held.items()
    ]


@lru_cache(maxsize=32)
def _built(name: str, crowd: str, epsilon: float, buckets: int) -> Mechanism:
    return mechanism(name, domain_of(crowd, buckets), epsilon=epsilon, buckets=buckets)


def _tallies(method: Mechanism, point: Mapping[str, Any], runs: int, seed: int) -> Iterator[Tally]:
    rng, n = np.random.default_rng(seed), point["n"]
    for _ in range(runs):
        if isinstance(method.channel, Histogram):
            held = rng.multinomial(n, shares_of(method, point["crowd"]))
            yield simulate_counts(method, held, seed=int(rng.integers(1 << 62)))
        else:
            yield Tally(method, n, rng.multinomial(n, law(method, point["crowd"])[1]))


def _judged(estimate: Estimate, crowd: str, parts: Sequence[float], asked: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Whether each interval holds the truth; those that reach beyond 0 or 1, or to an end of the domain, once more."""
    buckets = estimate.evidence.distribution.buckets  # type: ignore[union-attr]
    first, last = buckets.edges[0], buckets.edges[-1]
    places = [int(first + (last - first) * part) if buckets.whole else part for part in parts]
    ends = np.array(places) + (0.5 if buckets.whole else 0)
    mean, variance = moments(crowd, len(buckets))
    true = [quantile(crowd, float(one), len(buckets)) for one in asked]
    whole_share, whole_domain = (0.0, 1.0), (np.ceil(first), np.floor(last))
    for kind, answer, truths, (once_more, cut) in (
        ("mean", estimate.mean(), [mean], ("", whole_share)),
        ("variance", estimate.variance(), [variance], ("", whole_share)),
        ("cdf", estimate.cdf(places), heights_at(crowd, buckets, ends), (CUT, whole_share)),
        ("quantile", estimate.quantile(list(asked)), true, (END, whole_domain)),
    ):
        bounds = answer.ci(LEVEL)
        for low, one, high in zip(bounds.low, truths, bounds.high, strict=True):
            covered = bool(low <= one + 1e-12 and one <= high + 1e-12)
            yield kind, covered
            if once_more and (low <= cut[0] or high >= cut[1]):
                yield once_more, covered
    yield "band", _within(estimate.band(LEVEL), crowd, estimate)


def _within(band: Any, crowd: str, estimate: Estimate) -> bool:
    at_edges = heights_at(crowd, estimate.evidence.distribution.buckets, band.points)  # type: ignore[union-attr]
    return bool(((band.low <= at_edges + 1e-9) & (at_edges <= band.high + 1e-9)).all())


def compatible_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """How often the truth is compatible, so that the limits hold it, and the linear band of the same reports holds it.

    Widths of both are measured at ten edges in the first runs.
    """
    crowd, buckets = point["crowd"], point["buckets"]
    method = _built(point["mechanism"], crowd, point["epsilon"], buckets)
    shares, _ = law(method, crowd)
    held, linear, widths = [], [], []
    for run, tally in enumerate(_tallies(method, point, runs, seed)):
        estimate = method.estimate(tally)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            band = estimate.band(LEVEL)
        linear.append(_within(band, crowd, estimate))
        rows, values, half = known_averages(estimate.evidence, LEVEL, "population")
        held.append(bool((np.abs(rows @ shares - values) <= half + 1e-9).all()))
        if run < WIDE_RUNS:
            found, sets = region(estimate.evidence, LEVEL, "population"), np.tri(buckets - 1, buckets)
            own = [found.largest(sets[edge - 1]) - found.least(sets[edge - 1]) for edge in _SHOWN]
            widths.append((float(np.mean(own)), float(np.mean((band.high - band.low)[list(_SHOWN)]))))
    own_width, band_width = np.mean(widths, axis=0)
    numbers = {
        "width": float(own_width),
        "band_width": float(band_width),
        "ratio": float(own_width / band_width),
        "band_coverage": float(np.mean(linear)),
    }
    return [Coverage(of="band", method="compatible", coverage=float(np.mean(held)), runs=runs, numbers=numbers)]


def series_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Intervals and bands of a truncated series, judged by the projection, and bands also by the distribution."""
    name, options = "orthogonal-series", {"epsilon": point["epsilon"], "buckets": point["buckets"]}
    method = mechanism(name, domain_of(point["crowd"], 0), basis=point["basis"], participants=point["n"], **options)
    rng, (shares, rates) = np.random.default_rng(seed), law(method, point["crowd"])
    held: dict[str, list[bool]] = {}
    for _ in range(runs):
        estimate = method.estimate(Tally(method, point["n"], rng.multinomial(point["n"], rates)))
        evidence = estimate.evidence
        if not isinstance(evidence, SeriesEvidence):
            raise TypeError("There are as many waves as shares, so nothing is projected.")
        projected = evidence.projection @ shares
        whole, heights = estimate.band(LEVEL), np.concatenate([[0.0], np.cumsum(projected)])
        for kind, answer, true in (
            ("share", estimate, projected),
            ("mean", estimate.mean(), [evidence.buckets.numbers() @ projected]),
            ("cdf", estimate.cdf(list(MIDDLE[0])), np.interp(MIDDLE[0], evidence.edges, heights)),
        ):
            low, high = answer.ci(LEVEL)
            held.setdefault(kind, []).extend(bool(a <= t <= b) for a, t, b in zip(low, true, high, strict=True))
        for kind, curve in (("band", heights), ("whole", np.concatenate([[0.0], np.cumsum(shares)]))):
            inside = (whole.low <= curve + 1e-9) & (curve <= whole.high + 1e-9)
            held.setdefault(kind, []).append(bool(inside.all()))
    waves = {"waves": method.channel.outputs // 2}  # type: ignore[attr-defined]
    return [
        Coverage(of=kind, method="normal", coverage=float(np.mean(covered)), runs=len(covered), numbers=waves)
        for kind, covered in held.items()
    ]
