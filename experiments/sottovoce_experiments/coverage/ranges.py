"""Measured error and coverage of a search of a range: rounds drawn from their laws, without single reports.

The participants of a round are drawn from a population, so the tally of an arm is one draw from a multinomial whose
probabilities are the average over the population.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Above, Clamp, Integers, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Round, Tallies
from sottovoce.estimate.mean.moments import variances_at
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.play import play
from sottovoce.protocols.ranges.mean import RangeSearchMean
from sottovoce.protocols.ranges.results import range_estimates
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.draws import arm_shares
from sottovoce_experiments.coverage.study import Coverage

Floats = NDArray[np.float64]
ORACLE = (0.005, 0.995)  # quantiles that an oracle clamps to
PEOPLE = 50_000
DRAWS = 50  # of the last round, after each search


@dataclass(frozen=True, slots=True)
class RangeRun:
    """One search: the range found, participants and rounds, and the expected squared error of the last round."""

    low: float
    high: float
    searchers: int
    rounds: int
    squared_error: float


def run_search(
    protocol: RangeSearchMean, population: Floats, rng: np.random.Generator
) -> tuple[tuple[Tallies, ...], Round]:
    """The rounds of a search, and the last round that follows. The population is sorted."""

    def ask(stage: Round, number: int) -> Tallies | None:
        searches = not isinstance(stage.arms[0].mechanism.domain, Clamp)
        return draw_round(stage, population, stage.quota or 0, rng) if searches else None

    last = play(protocol, ask)
    return last.history, last.round


def draw_round(stage: Round, population: Floats, participants: int, rng: np.random.Generator) -> tuple[Tally, ...]:
    """The tallies of a round with this number of participants."""
    return _draw(stage, [_output_law(arm.mechanism, population) for arm in stage.arms], participants, rng)


def _draw(stage: Round, laws: list[Floats], participants: int, rng: np.random.Generator) -> tuple[Tally, ...]:
    sizes = rng.multinomial(participants, arm_shares(stage))
    cells = [rng.multinomial(size, law) for size, law in zip(sizes, laws, strict=True)]
    return tuple(Tally(arm.mechanism, int(size), own) for arm, size, own in zip(stage.arms, sizes, cells, strict=True))


def _output_law(mechanism: Mechanism, population: Floats) -> Floats:
    """The probability of each output for a member of the population."""
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
        raise TypeError(f"A search asks about thresholds and clamped numbers. Got a domain of kind {domain.kind}.")
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


def searches(protocol: RangeSearchMean, population: Floats, runs: int, seed: int) -> Iterator[RangeRun]:
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
    """The expected squared error of one round with the quantiles of the population as the range."""
    low, high = (float(end) for end in np.quantile(population, ORACLE))
    return squared_error(population, low, high, n, method=method, epsilon=epsilon)


def coverages(
    domain: Integers | Interval, population: Floats, n: int, epsilon: Any, *, runs: int, draws: int, seed: int
) -> list[Coverage]:
    """Coverage over searches and, for each of them, over draws of its last round: of each mean that is found."""
    rng = np.random.default_rng(seed)
    ordered = np.sort(np.asarray(population, float))
    protocol = RangeSearchMean(domain, epsilon, n)
    held = dict.fromkeys(("clamped", "corrected", "mean"), 0)
    for _ in range(runs):
        history, last = run_search(protocol, ordered, rng)
        asked = sum(tally.n for tallies in history for tally in tallies)
        ends = last.arms[0].mechanism.domain.numbers
        clamped = np.clip(ordered, float(ends.low), float(ends.high)).mean()  # type: ignore[union-attr]
        laws = [_output_law(arm.mechanism, ordered) for arm in last.arms]
        for _ in range(draws):
            result = range_estimates(domain, _draw(last, laws, n - asked, rng), asked)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PoorIntervalWarning)  # its quality is what is measured
                bounds = {of: result[of].ci() for of in held}
            for of, (low, high) in bounds.items():
                held[of] += bool(low[0] <= (clamped if of == "clamped" else ordered.mean()) <= high[0])
    made = runs * draws
    return [
        Coverage(of=of, method=result[of].default_method, coverage=count / made, runs=made)
        for of, count in held.items()
    ]


def population(answers: str) -> tuple[Integers | Interval, Floats]:
    """Laws with different tails, in ranges that are far too wide."""
    rng = np.random.default_rng(1)
    if answers.startswith("normal"):
        return Interval(-10_000, 10_000), rng.normal(1000, 5, PEOPLE)
    if answers.startswith("lognormal"):
        return Interval(0, 10_000), np.minimum(rng.lognormal(2, 0.7, PEOPLE), 10_000)
    return Integers(0, 1000), np.minimum(rng.geometric(0.08, PEOPLE), 1000).astype(float)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Searches for one law of the answers."""
    domain, people = population(point["answers"])
    return coverages(domain, people, point["n"], point["epsilon"], runs=runs, draws=DRAWS, seed=seed)
