"""How often intervals and bands of a distribution cover: every run draws answers, reports and intervals as shipped."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning
from sottovoce.experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
DOMAIN = Interval(0, 1)
POINTS = (0.25, 0.5, 0.75)
SHARES = ("0.25", "0.5", "0.9")
# Spikes and where they stand: one heavy, some light, on an even floor.
SPIKES = ((0.2013, 0.3), (0.4987, 0.2), (0.7511, 0.1), (0.9003, 0.1))
_FINE = 200_001


def draw(crowd: str, n: int, rng: np.random.Generator) -> Floats:
    """Answers of n people."""
    if crowd == "smooth":
        return rng.beta(5, 2, n)
    places, weights = np.array(SPIKES).T
    chosen = rng.choice(len(places) + 1, n, p=[*weights, 1 - weights.sum()])
    return np.where(chosen < len(places), np.append(places, 0)[chosen], rng.random(n))


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


def quantile(crowd: str, share: float) -> float:
    """The smallest value up to which this share lies."""
    grid, heights = truth(crowd)
    return float(grid[np.searchsorted(heights, share - 1e-12)])


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """All kinds of intervals for one mechanism, crowd and number of people."""
    method = _built(point["mechanism"], point["epsilon"], point["buckets"])
    rng = np.random.default_rng(seed)
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)
        for _ in range(runs):
            answers = draw(point["crowd"], point["n"], rng)
            tally = method.tally(method.privatize(answers, seed=int(rng.integers(1 << 62)), threads=1))
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
