"""How often intervals and bands of a distribution cover.

Counts of reports are drawn from the law of a report of somebody of the population, which is computed exactly; that the
shipped sampler has this law is what the contract checks. Sums of noisy histograms are drawn from theirs. Intervals of
all runs are computed together; those of the first runs also one by one, as everybody gets them, and both must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.compatible import averages, known_averages, region
from sottovoce.estimate.distribution.reach import root_of
from sottovoce.estimate.distribution.series import SeriesEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import deviate, slack_deviate
from sottovoce.estimate.request import PoorIntervalWarning, Target
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.distributions import SHAPES, WIDE_RUNS
from sottovoce_experiments.coverage.distributions.intervals import Intervals, one_by_one, together
from sottovoce_experiments.coverage.distributions.many import ManyTallies, many_tallies, within
from sottovoce_experiments.coverage.distributions.populations import domain_of, heights_at, law, moments, quantile
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
PARTS = (1 / 32, 0.25, 0.5, 0.75, 31 / 32)  # of the domain, up to which cumulative shares are judged
SHARES = ("0.01", "0.25", "0.5", "0.9", "0.99")
MIDDLE = PARTS[1:4], ("0.25", "0.5", "0.9")
FEWEST = 200  # intervals of a kind whose coverage is shown
CUT, END = "cdf, cut", "quantile, end"
_COMPARED = 3  # runs whose intervals are also computed one by one
_NEAR = 1 + 1e-4  # factor by which the reach of a band may differ
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
    crowd, many = point["crowd"], drawn(point, runs, seed)
    places = [many.buckets.edges[0] + part * np.ptp(many.buckets.edges) for part in parts]
    if many.buckets.step is not None:
        places = [int(place) for place in places]
    every = together(many, estimate(many, 0), places, shares)
    compared(many, every, places, shares)
    found = list(_judged(many, every, crowd, places, shares))
    truth = heights_at(crowd, many.buckets, many.buckets.edges[1:-1])
    held = in_bands(many, truth)
    warned = np.full(runs, _uneven(many))
    return [_coverage(*one, runs) for one in (*found, ("band", held, warned))]


def _coverage(kind: str, held: Flags, warned: Flags, runs: int) -> Coverage:
    """That of intervals without a warning; beside it how many warn, and how often these cover."""
    quiet, loud = (float(held[part].mean()) if enough(part, runs) else None for part in (~warned, warned))
    numbers = {"warned": float(warned.mean()) if warned.size else 0.0, "warned_coverage": loud}
    return Coverage(of=kind, method="normal", coverage=quiet, runs=int((~warned).sum()), numbers=numbers)


def enough(chosen: Flags, runs: int) -> bool:
    """Whether there are so many intervals that their coverage is shown."""
    return int(chosen.sum()) >= min(FEWEST, runs)


def drawn(point: Mapping[str, Any], runs: int, seed: int, **options: Any) -> ManyTallies:
    """The tallies of a cell."""
    crowd, name = point["crowd"], point["mechanism"]
    name, own = SHAPES.get(name, (name, {}))
    every = tuple(sorted({**own, **options}.items()))
    method = _built(name, crowd, point["epsilon"], point["buckets"], every)
    return many_tallies(method, crowd, point["n"], runs, seed)


@lru_cache(maxsize=32)
def _built(name: str, crowd: str, epsilon: float, buckets: int, options: tuple[tuple[str, Any], ...]) -> Mechanism:
    return mechanism(name, domain_of(crowd, buckets), epsilon=epsilon, buckets=buckets, **dict(options))


def estimate(many: ManyTallies, run: int) -> Estimate:
    """The estimate from one of the tallies."""
    found: Estimate = many.method.estimate(Tally(many.method, many.n, many.cells[run]))
    return found


def _uneven(many: ManyTallies) -> bool:
    return many.evidence.unevenness is not None


def compared(many: ManyTallies, every: Mapping[str, Intervals], places: Sequence[float], shares: Sequence[str]) -> None:
    """Raises where intervals or bands of the first runs are not those that everybody gets."""
    runs = min(_COMPARED, len(many.cells))
    for run, covariance in zip(range(runs), many.fitted(runs), strict=True):
        found = estimate(many, run)
        for kind, one in one_by_one(found, places, shares).items():
            own = Intervals(*(part[run] for part in every[kind]))
            if not all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(own, one, strict=True)):
                raise AssertionError(f"Intervals of kind {kind} differ from those that everybody gets.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            half = found.band(LEVEL).half[1:-1]
        errors, root = np.sqrt(np.diag(covariance)), root_of(covariance)
        reach = float(np.median(half / errors))
        sizes = np.ptp(half / errors) / reach, within(root, reach / _NEAR, LEVEL), within(root, reach * _NEAR, LEVEL)
        if not (sizes[0] < 1e-5 and sizes[1] and not sizes[2]):
            raise AssertionError("Bands differ from those that everybody gets.")


def _judged(
    many: ManyTallies, every: Mapping[str, Intervals], crowd: str, places: Sequence[float], asked: Sequence[str]
) -> Iterator[tuple[str, Flags, Flags]]:
    """Whether each interval holds the truth; those that reach beyond 0 or 1, or to an end of the domain, once more."""
    buckets = many.buckets
    mean, variance = moments(crowd, len(buckets))
    ends = np.array(places) + (buckets.step or 0) / 2
    quantiles = [quantile(crowd, float(one), len(buckets)) for one in asked]
    truths = map(np.asarray, ([mean], [variance], heights_at(crowd, buckets, ends), quantiles))
    cuts = {CUT: (0.0, 1.0), END: (np.ceil(buckets.edges[0]), np.floor(buckets.edges[-1]))}
    for (kind, (low, high, warned)), truth in zip(every.items(), truths, strict=True):
        held = (low <= truth + 1e-12) & (truth <= high + 1e-12)
        yield kind, held, warned
        for once_more, (least, most) in cuts.items():
            if once_more.startswith(kind):
                cut = (low <= least) | (high >= most)
                yield once_more, held[cut], warned[cut]


def in_bands(many: ManyTallies, truth: Floats) -> Flags:
    """Whether each band holds these heights at the edges inside."""
    far = np.abs(many.heights - truth)
    every = zip(far, many.fitted(), strict=True)
    return np.array([_held(one, covariance) for one, covariance in every])


def _held(far: Floats, covariance: Floats, sums: Floats | None = None) -> bool:
    """Whether all deviations, or sums of them, are within reach."""
    spread = np.diag(covariance) if sums is None else ((sums @ covariance) * sums).sum(axis=1)
    errors = np.sqrt(np.maximum(spread, 0))
    used = errors > 0
    size = float((far[used] / errors[used]).max(initial=0))
    if size <= deviate(LEVEL):  # the reach of a single deviation
        return bool((far[~used] < 1e-9).all())
    return bool((far[~used] < 1e-9).all()) and within(root_of(covariance, sums), size, LEVEL)


def compatible_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """How often the truth is compatible, so that the limits hold it, and the linear band of the same reports holds it.

    Widths of both are measured at ten edges in the first runs.
    """
    crowd, buckets, many = point["crowd"], point["buckets"], drawn(point, runs, seed)
    truth, means = heights_at(crowd, many.buckets, many.buckets.edges[1:-1]), averages(buckets - 1)
    shares, rates = law(many.method, crowd)
    expected = means @ (many.sets @ many.scores @ rates)  # type: ignore[attr-defined]
    linear, held = [], []
    for heights, covariance in zip(many.heights, many.fitted(), strict=True):
        linear.append(_held(np.abs(heights - truth), covariance))
        held.append(_held(np.abs(means @ heights - expected), covariance, means))
    widths = []
    for run in range(min(WIDE_RUNS, runs)):
        found = estimate(many, run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            band = found.band(LEVEL)
        rows, values, half = known_averages(found.evidence, LEVEL, Target.POPULATION)  # type: ignore[arg-type]
        if held[run] != bool((np.abs(rows @ shares - values) <= half + 1e-9).all()):
            raise AssertionError("Compatible distributions differ from those that everybody gets.")
        limits, sets = region(found.evidence, LEVEL, Target.POPULATION), np.tri(buckets - 1, buckets)  # type: ignore[arg-type]
        own = [limits.largest(sets[edge - 1]) - limits.least(sets[edge - 1]) for edge in _SHOWN]
        below = band.high[[edge - 1 for edge in _SHOWN]] - band.low[list(_SHOWN)]  # of the shares below these edges
        widths.append((float(np.mean(own)), float(np.mean(below))))
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
    asked = {**point, "mechanism": "orthogonal-series"}
    many = drawn(asked, runs, seed, basis=point["basis"], participants=point["n"])
    evidence = many.evidence
    if not isinstance(evidence, SeriesEvidence):
        raise TypeError("There are as many waves as shares, so nothing is projected.")
    shares, _ = law(many.method, point["crowd"])
    projected, buckets = evidence.projection @ shares, many.buckets
    held = {"band": in_bands(many, many.sets @ projected), "whole": in_bands(many, many.sets @ shares)}
    numbers = buckets.numbers()[None, :]
    for kind, rows, slack in (
        ("share", np.eye(len(buckets)), 0.0),
        ("mean", numbers, buckets.room),
        ("cdf", np.array([buckets.between(None, place) for place in MIDDLE[0]]), 0.0),
    ):
        errors = np.sqrt(many.spreads(rows))
        half = slack_deviate(LEVEL, slack, errors) if slack else deviate(LEVEL) * errors
        held[kind] = np.abs(many.values(rows) - rows @ projected) <= half
    waves = {"waves": many.method.channel.outputs // 2}  # type: ignore[attr-defined]
    return [
        Coverage(of=kind, method="normal", coverage=float(covered.mean()), runs=covered.size, numbers=waves)
        for kind, covered in held.items()
    ]
