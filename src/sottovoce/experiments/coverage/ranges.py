"""Measured error and coverage of a search of a range: rounds drawn from their laws, without anybody's report.

The participants of a round are drawn from a population, so the tally of an arm is one draw from a multinomial whose
probabilities are the average over the population.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Above, Clamp, Integers, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Round
from sottovoce.estimate.estimate import PoorIntervalWarning
from sottovoce.estimate.mean.moments import variances_at
from sottovoce.protocols.ranges.found import found
from sottovoce.protocols.ranges.search import RangeSearch
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Rounds = tuple[tuple[Tally, ...], ...]
ORACLE = (0.005, 0.995)  # quantiles that an oracle clamps to


@dataclass(frozen=True, slots=True)
class RangeRun:
    """One search: what was found, by how many, in how many rounds, and the expected squared error that follows."""

    low: float
    high: float
    searchers: int
    rounds: int
    squared_error: float


@dataclass(frozen=True, slots=True)
class RangeCoverage:
    """How often the 95 % intervals after a search held what they are about."""

    data: str
    epsilon: float
    n: int
    draws: int
    clamped: float  # the mean of clamped numbers
    corrected: float  # the mean itself, by the unbiased estimate
    mean: float  # the mean itself, by the cautious interval


def run_search(protocol: RangeSearch, population: Floats, rng: np.random.Generator) -> tuple[Rounds, Round]:
    """The rounds of a search, and the last round that follows. The population is sorted."""
    history: Rounds = ()
    stage = protocol.start()
    while not isinstance(stage.arms[0].mechanism.domain, Clamp):
        history = (*history, draw_round(stage, population, stage.quota or 0, rng))
        following = protocol.advance(history)
        if not isinstance(following, Round):
            raise TypeError("A search ends with a round of clamped numbers.")
        stage = following
    return history, stage


def draw_round(stage: Round, population: Floats, participants: int, rng: np.random.Generator) -> tuple[Tally, ...]:
    """The tallies of a round with so many participants."""
    return _draw(stage, [_output_law(arm.mechanism, population) for arm in stage.arms], participants, rng)


def _draw(stage: Round, laws: list[Floats], participants: int, rng: np.random.Generator) -> tuple[Tally, ...]:
    weights = np.array([arm.weight for arm in stage.arms], float)
    sizes = rng.multinomial(participants, weights / weights.sum())
    cells = [rng.multinomial(size, law) for size, law in zip(sizes, laws, strict=True)]
    return tuple(Tally(arm.mechanism, int(size), own) for arm, size, own in zip(stage.arms, sizes, cells, strict=True))


def _output_law(mechanism: Mechanism, population: Floats) -> Floats:
    """How likely each output is for someone of the population."""
    domain, channel = mechanism.domain, mechanism.channel
    if isinstance(domain, Above):
        share = 1 - np.searchsorted(population, float(domain.threshold)) / len(population)
        held = np.array([1 - share, share])
    elif isinstance(domain, Clamp) and (grid := rounding_of(channel)) is not None:
        steps, low, high = grid.steps, float(domain.low), float(domain.high)
        places = (np.clip(population, low, high) - low) * (steps / (high - low))
        points = np.minimum(places.astype(np.int64), steps - 1)
        up = places - points
        held = np.bincount(points, 1 - up, steps + 1) + np.bincount(points + 1, up, steps + 1)
    else:
        raise TypeError(f"A search asks about thresholds and clamped numbers, not about {domain.kind}.")
    law = (held / held.sum()) @ np.array([law_row(channel, code) for code in range(len(held))])
    return np.asarray(law / law.sum())


def squared_error(population: Floats, low: float, high: float, n: float, *, method: str, epsilon: Any) -> float:
    """The expected squared distance of the mean of n clamped numbers from the mean of the population, exactly."""
    clamped = np.clip(population, low, high)
    grid = np.linspace(-1, 1, 1025)
    noise = variances_at(build(method, Interval(-1, 1), epsilon=epsilon), grid)
    half = (high - low) / 2
    places = (clamped - low) / half - 1
    variance = float(np.interp(places, grid, noise).mean()) * half**2 + float(clamped.var())
    return float(clamped.mean() - population.mean()) ** 2 + variance / n


def searches(protocol: RangeSearch, population: Floats, runs: int, seed: int) -> Iterator[RangeRun]:
    """Independent searches, each with the error that its last round is expected to have."""
    rng = np.random.default_rng(seed)
    ordered = np.sort(np.asarray(population, float))
    for _ in range(runs):
        history, last = run_search(protocol, ordered, rng)
        domain = last.arms[0].mechanism.domain
        if not isinstance(domain, Clamp):
            raise TypeError("A search ends with a round of clamped numbers.")
        asked = sum(tally.n for tallies in history for tally in tallies)
        n = (protocol.participants - asked) * last.arms[0].weight / last.weight
        ends = float(domain.low), float(domain.high)
        cost = squared_error(ordered, *ends, n, method=protocol.method, epsilon=protocol.epsilon)
        yield RangeRun(*ends, asked, len(history), cost)


def oracle_error(population: Floats, n: int, *, method: str, epsilon: Any) -> float:
    """The expected squared error of someone who knew the quantiles of the population and asks everyone at once."""
    low, high = (float(end) for end in np.quantile(population, ORACLE))
    return squared_error(population, low, high, n, method=method, epsilon=epsilon)


def range_coverage(
    name: str,
    domain: Integers | Interval,
    population: Floats,
    n: int,
    epsilon: Any,
    *,
    runs: int,
    draws: int,
    seed: int,
) -> RangeCoverage:
    """Coverage over searches and, for each of them, over draws of its last round."""
    rng = np.random.default_rng(seed)
    ordered = np.sort(np.asarray(population, float))
    protocol = RangeSearch(domain, epsilon, n)
    held = np.zeros(3)
    for _ in range(runs):
        history, last = run_search(protocol, ordered, rng)
        asked = sum(tally.n for tallies in history for tally in tallies)
        ends = last.arms[0].mechanism.domain.numbers
        truth = {"clamped": np.clip(ordered, float(ends.low), float(ends.high)).mean()}  # type: ignore[union-attr]
        truth |= {"corrected": ordered.mean(), "mean": ordered.mean()}
        laws = [_output_law(arm.mechanism, ordered) for arm in last.arms]
        for _ in range(draws):
            result = found(domain, _draw(last, laws, n - asked, rng), asked)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PoorIntervalWarning)  # whether it is poor is what is measured
                bounds = [result[key].ci() for key in truth]
            pairs = zip(bounds, truth.values(), strict=True)
            held += [bool(low[0] <= true <= high[0]) for (low, high), true in pairs]
    return RangeCoverage(name, float(epsilon), n, runs * draws, *(held / (runs * draws)).tolist())


def range_coverage_rows(*, runs: int = 20, draws: int = 50, seed: int = 1) -> list[RangeCoverage]:
    """What a page of coverages shows: laws of different tails in ranges far too wide."""
    rng = np.random.default_rng(seed)
    laws: dict[str, tuple[Integers | Interval, Floats]] = {
        "normal(1000, 5) in [-10000, 10000]": (Interval(-10_000, 10_000), rng.normal(1000, 5, 50_000)),
        "lognormal in [0, 10000]": (Interval(0, 10_000), np.minimum(rng.lognormal(2, 0.7, 50_000), 10_000)),
        "geometric in 0..1000": (Integers(0, 1000), np.minimum(rng.geometric(0.08, 50_000), 1000).astype(float)),
    }
    return [
        range_coverage(name, domain, population, n, epsilon, runs=runs, draws=draws, seed=seed + place)
        for place, (name, (domain, population)) in enumerate(laws.items())
        for n in (10_000, 100_000)
        for epsilon in (1, 2)
    ]


def markdown(rows: list[RangeCoverage]) -> str:
    """The part of the page about unknown ranges."""
    lines = [
        "",
        "## Unknown ranges",
        "",
        "`RangeSearch`: whole searches, and for each of them many draws of its last round. The interval of the clamped"
        " mean is about the mean of clamped answers, those of the corrected and of the cautious mean are about the true"
        " mean. Percentages; the cautious one is promised to cover at least 95 %.",
        "",
        "| answers | n | epsilon | clamped mean | corrected mean | mean, cautious | draws |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.data} | {row.n} | {row.epsilon:g} | {100 * row.clamped:.1f} | {100 * row.corrected:.1f} |"
        f" {100 * row.mean:.1f} | {row.draws} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"
