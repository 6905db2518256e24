"""How often cumulative shares, ranges, bands and quantiles of rounded answers cover: people answer in round numbers."""

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
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.fast.encode import encode
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.study import LEVEL, Coverage
from sottovoce_experiments.distribution.crowds import data_file
from sottovoce_experiments.sources import ADULT, TAXI

Floats = NDArray[np.float64]
SHARES = (0.25, 0.5, 0.9)
JUDGED_ALONE = ("cdf", "range", "band")  # what is held or missed, without a width that would be enough
PEOPLE = 200_000


@lru_cache(maxsize=8)
def crowd_of(name: str) -> tuple[float, float, Floats]:
    """The ends of the domain, and the answers of a whole population."""
    rng = np.random.default_rng(len(name))
    if name == "hours of work":
        return 0, 100, _column(ADULT.file, "hours_per_week")
    if name == "taxi seconds":
        seconds = _column(TAXI.file, "duration_s")
        return 0, 3_600, seconds[(seconds > 0) & (seconds < 3_600)]
    if name == "loans":  # multiples of 1,000
        return 0, 40_000, np.clip(np.round(rng.lognormal(9.2, 0.6, PEOPLE), -3), 0, 40_000)
    if name == "wages":  # multiples of 100, and 30 % zeros
        wages = np.clip(np.round(rng.lognormal(10, 0.6, PEOPLE), -2), 0, 100_000)
        return 0, 100_000, np.where(rng.random(PEOPLE) < 0.3, 0, wages)
    numbers = np.round(rng.random(PEOPLE) * 100, 2)
    if name == "half at 40":
        return 0, 100, np.where(rng.random(PEOPLE) < 0.5, 40, numbers)
    if name == "both ends":
        return 0, 100, np.where(rng.random(PEOPLE) < 0.5, 100.0 * (rng.random(PEOPLE) < 0.6), np.round(numbers))
    return 0, 1, rng.beta(5, 2, PEOPLE)


def _column(file: str, name: str) -> Floats:
    import pyarrow.parquet as pq

    return np.asarray(pq.read_table(data_file(file), columns=[name]).column(0).to_numpy(), np.float64)


def heaped_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Shares up to nine round numbers, of three ranges, the whole band and three quantiles."""
    low, high, answers = crowd_of(point["crowd"])
    options = {"buckets": point["buckets"]}
    method = mechanism(point["mechanism"], Interval(low, high), epsilon=point["epsilon"], **options)
    points = [low + (high - low) * part / 10 for part in (0, 1, 2, 2.5, 4, 5, 6, 7.5, 10)]
    ranges = [(points[0], points[2]), (points[3], points[5]), (points[4], points[4]), (points[5], points[8])]
    places, upto = _cumulative(answers)
    wanted = np.quantile(answers, SHARES, method="inverted_cdf")
    rng, rates = np.random.default_rng(seed), report_law(method, answers)
    found: dict[str, list[Any]] = {kind: [] for kind in ("cdf", "range", "band", "quantile", "even")}
    for _ in range(runs):
        estimate = method.estimate(Tally(method, point["n"], rng.multinomial(point["n"], rates)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            shares = estimate.cdf(points).quiet_ci(LEVEL)
            found["cdf"].append(_held(shares, [float((answers <= at).mean()) for at in points]))
            each = [_held(estimate.range(a, b).quiet_ci(LEVEL), _inside(answers, a, b)) for a, b in ranges]
            found["range"].append(np.concatenate(each))
            found["band"].append([all(_held(estimate.band(LEVEL).limits(places), upto))])
            for kind, way in (("quantile", "normal"), ("even", "even")):
                found[kind].append(_quantiles(estimate, way, wanted))
    return [_coverage(kind, rows, runs) for kind, rows in found.items()]


def _quantiles(estimate: Estimate, way: str, wanted: Floats) -> Floats:
    """By which part of its own length an interval may shrink towards the estimate before it loses the truth."""
    asked = estimate.quantile(list(SHARES))
    low, high = asked.ci(LEVEL, method=way)
    values = asked.values
    away, room = wanted - values, np.where(wanted >= values, high - values, low - values)
    needed = np.divide(away, room, out=np.where(away == 0, 0.0, np.inf), where=room != 0)
    return np.stack([needed, high - low])


def _coverage(kind: str, rows: list[Any], runs: int) -> Coverage:
    if kind in JUDGED_ALONE:
        return Coverage(of=kind, method="normal", coverage=float(np.mean(rows)), runs=runs, numbers={"factor": None})
    needed = np.array(rows)[:, 0]
    factor = float(np.median(1 / np.maximum(np.quantile(needed, LEVEL, axis=0), 0.01)))
    held = float(np.mean(needed <= 1 + 1e-9))
    return Coverage(of=kind, method="normal", coverage=held, runs=runs, numbers={"factor": factor})


def _held(limits: Any, truth: Any) -> NDArray[np.bool_]:
    low, high = limits
    return np.asarray((low <= np.asarray(truth) + 1e-9) & (np.asarray(truth) <= high + 1e-9))


def _inside(answers: Floats, low: float, high: float) -> float:
    return float(((answers >= low) & (answers <= high)).mean())


def _cumulative(answers: Floats) -> tuple[Floats, Floats]:
    """At most two hundred of the numbers that were answered, and the shares up to them."""
    different, counts = np.unique(answers, return_counts=True)
    upto = np.cumsum(counts) / counts.sum()
    chosen = np.unique(np.linspace(0, len(different) - 1, 200).astype(int))
    return different[chosen], upto[chosen]


def report_law(method: Mechanism, answers: Floats) -> Floats:
    """The law of the report of somebody of the population."""
    grid = rounding_of(method.channel)
    different, counts = np.unique(answers, return_counts=True)
    if grid is None:
        shares = np.bincount(encode(method.domain, different), counts, minlength=method.channel.inputs)
    else:
        ends = float(grid.low), float(grid.high)
        place = (different - ends[0]) / (ends[1] - ends[0]) * grid.steps
        before = np.minimum(place.astype(int), grid.steps - 1)
        upper = counts * (place - before)
        shares = np.bincount(before, counts - upper, minlength=grid.steps + 1)
        shares += np.bincount(before + 1, upper, minlength=grid.steps + 1)
    rates = (shares / shares.sum()) @ np.array([law_row(method.channel, code) for code in range(len(shares))])
    return np.asarray(rates / rates.sum())
