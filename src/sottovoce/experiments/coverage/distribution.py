"""How often intervals and bands of a distribution cover: every run draws a whole tally, and asks for the intervals as
shipped.

Counts of reports are drawn from the law of a report of somebody of the population, which is computed exactly; that the
shipped sampler has this law is what the contract checks.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.buckets import coded_buckets
from sottovoce.estimate.distribution.compatible import region
from sottovoce.estimate.distribution.series import SeriesEvidence
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning
from sottovoce.experiments.coverage.study import LEVEL, Coverage
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
DOMAIN = Interval(0, 1)
POINTS = (0.25, 0.5, 0.75)
SHARES = ("0.25", "0.5", "0.9")
# Spikes and where they stand: one heavy, some light, on an even floor.
SPIKES = ((0.2013, 0.3), (0.4987, 0.2), (0.7511, 0.1), (0.9003, 0.1))
_FINE = 200_001
_SHOWN = range(3, 63, 6)  # edges at which widths of compatible limits are measured
_WIDE_RUNS = 4  # in which they are


@lru_cache(maxsize=4)
def truth(crowd: str) -> tuple[Floats, Floats]:
    """The cumulative distribution on a fine grid."""
    grid = np.linspace(0, 1, _FINE)
    if crowd == "smooth":
        from scipy.stats import beta

        return grid, np.asarray(beta.cdf(grid, 5, 2))
    floor = 1 - sum(weight for _, weight in SPIKES)
    return grid, floor * grid + sum(weight * (grid >= place) for place, weight in SPIKES)


def moments(crowd: str) -> tuple[float, float]:
    """Mean and variance of the population."""
    if crowd == "smooth":
        return 5 / 7, 10 / (49 * 8)
    floor = 1 - sum(weight for _, weight in SPIKES)
    mean = floor / 2 + sum(weight * place for place, weight in SPIKES)
    return mean, floor / 3 + sum(weight * place**2 for place, weight in SPIKES) - mean**2


def integral(crowd: str, points: Floats) -> Floats:
    """Of the cumulative distribution, from 0 on."""
    if crowd == "smooth":
        from scipy.stats import beta

        return np.asarray(points * beta.cdf(points, 5, 2) - 5 / 7 * beta.cdf(points, 6, 2))
    floor = 1 - sum(weight for _, weight in SPIKES)
    return np.asarray(floor * points**2 / 2 + sum(weight * np.maximum(points - place, 0) for place, weight in SPIKES))


@lru_cache(maxsize=32)
def law(method: Mechanism, crowd: str) -> tuple[Floats, Floats]:
    """The shares of the codes, or of the points of the grid that numbers are rounded to, and the law of a report."""
    grid = rounding_of(method.channel)
    if grid is None:
        line, heights = truth(crowd)
        shares = np.diff(np.interp(coded_buckets(method.domain).edges, line, heights))
    else:
        # A number is rounded to one of its two neighbours: the share of a point is the mean of a hat around it.
        below = integral(crowd, np.linspace(0, 1, grid.steps + 1)) * grid.steps
        slopes = np.concatenate([[0.0], np.diff(below), [1.0]])
        shares = np.diff(slopes)
    rates = shares @ np.array([law_row(method.channel, code) for code in range(len(shares))])
    return shares, rates / rates.sum()


def quantile(crowd: str, share: float) -> float:
    """The smallest value up to which this share lies."""
    grid, heights = truth(crowd)
    return float(grid[np.searchsorted(heights, share - 1e-12)])


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """All kinds of intervals for one mechanism, crowd and number of people."""
    method = _built(point["mechanism"], point["epsilon"], point["buckets"])
    rng, (_, rates) = np.random.default_rng(seed), law(method, point["crowd"])
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)
        for _ in range(runs):
            tally = Tally(method, point["n"], rng.multinomial(point["n"], rates))
            for kind, covered, width in _judged(method.estimate(tally), point["crowd"]):
                held.setdefault(kind, []).extend(covered)
                widths.setdefault(kind, []).extend(width)
    return [
        Coverage(
            of=kind,
            method="normal",
            coverage=float(np.mean(covered)),
            runs=len(covered),
            numbers={"width": float(np.mean(widths[kind]))},
        )
        for kind, covered in held.items()
    ]


@lru_cache(maxsize=32)
def _built(name: str, epsilon: float, buckets: int) -> Mechanism:
    return mechanism(name, DOMAIN, epsilon=epsilon, buckets=buckets)


def _judged(estimate: Estimate, crowd: str) -> list[tuple[str, list[bool], list[float]]]:
    grid, heights = truth(crowd)
    found = []
    mean, variance = moments(crowd)
    for kind, answer, true in (
        ("mean", estimate.mean(), [mean]),
        ("variance", estimate.variance(), [variance]),
        ("cdf", estimate.cdf(list(POINTS)), [float(np.interp(one, grid, heights)) for one in POINTS]),
        ("quantile", estimate.quantile(list(SHARES)), [quantile(crowd, float(one)) for one in SHARES]),
    ):
        low, high = answer.ci(LEVEL)
        inside = [bool(a <= t <= b) for a, t, b in zip(low, true, high, strict=True)]
        found.append((kind, inside, [float(width) for width in high - low]))
    band = estimate.band(LEVEL)
    at_edges = np.interp(band.points, grid, heights)
    whole = bool(((band.low <= at_edges + 1e-9) & (at_edges <= band.high + 1e-9)).all())
    found.append(("band", [whole], [float(2 * band.half[1:-1].mean())]))
    return found


def compatible_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whether the truth is compatible with the reports, and widths of both bands at ten edges in the first runs."""
    method = _built(point["mechanism"], point["epsilon"], point["buckets"])
    rng, (shares, rates) = np.random.default_rng(seed), law(method, point["crowd"])
    held, widths = [], []
    for run in range(runs):
        estimate = method.estimate(Tally(method, point["n"], rng.multinomial(point["n"], rates)))
        found = region(estimate.evidence, LEVEL, "population")
        true = found.rows @ shares
        held.append(bool(((found.low <= true + 1e-9) & (true <= found.high + 1e-9)).all()))
        if run < _WIDE_RUNS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PoorIntervalWarning)
                band = estimate.band(LEVEL)
            sets = np.tri(point["buckets"] - 1, point["buckets"])
            own = [found.largest(sets[edge - 1]) - found.least(sets[edge - 1]) for edge in _SHOWN]
            widths.append((float(np.mean(own)), float(np.mean((band.high - band.low)[list(_SHOWN)]))))
    own_width, band_width = np.mean(widths, axis=0)
    numbers = {"width": float(own_width), "band_width": float(band_width)}
    return [Coverage(of="band", method="compatible", coverage=float(np.mean(held)), runs=runs, numbers=numbers)]


def series_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Intervals and bands of a truncated series, judged by the projection, and bands also by the distribution."""
    name, options = "orthogonal-series", {"epsilon": point["epsilon"], "buckets": point["buckets"]}
    method = mechanism(name, DOMAIN, basis=point["basis"], participants=point["n"], **options)
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
            ("cdf", estimate.cdf(list(POINTS)), np.interp(POINTS, evidence.edges, heights)),
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
