"""The adaptive mean, measured: its error against one round, its bias, and how often its intervals cover.

Tallies are drawn from their law. Given round one, the second mean is unbiased and its variance is exact, so the error
needs no second round; only coverage draws some, several for each first round.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.estimate import Estimate, PoorIntervalWarning
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.adaptive_belief import spread
from sottovoce.protocols.adaptive_mean import AdaptiveMean
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RANGE = Interval(-1, 1)
EPSILONS = ("1", "2", "4")
PARTICIPANTS = (10_000, 100_000)
FIRST_ROUNDS, SECOND_ROUNDS = 40, 20
SEED = 20_250_605


def laws() -> dict[str, Prior]:
    """The laws of the published comparison: normal, exponential with rate 6 from the low end, beta; cut to [-1, 1]."""
    return {
        "N(0, 0.1^2)": Prior.normal(0, 0.1, -1, 1),
        "exponential": Prior.exponential(6, -1, 1),
        "Beta(0.5, 0.5)": Prior.beta(0.5, 0.5, -1, 1),
    }


def hostile() -> dict[str, Prior]:
    """Laws that adapting may get wrong: nothing to gain, few points, ends, and rare answers far away."""
    return {
        "uniform": Prior.uniform(-1, 1),
        "all 1": Prior([1.0], [1.0]),
        "-0.5 or 0.7": Prior([-0.5, 0.7], [0.5, 0.5]),
        "-1 or 1": Prior([-1.0, 1.0], [0.5, 0.5]),
        "one in 200 far away": Prior([-0.9, 1.0], [0.995, 0.005]),
    }


@lru_cache(maxsize=256)
def report_law(mechanism: Mechanism, law: Prior) -> Floats:
    """The law of the report of someone who was drawn from a law on the domain."""
    grid, numbers = mechanism.channel.rounding, mechanism.domain.numbers
    assert grid is not None and numbers is not None  # the mechanisms of an adaptive mean
    low, high = float(numbers.low + numbers.origin), float(numbers.high + numbers.origin)
    shares = law.rounded(low, high, grid.steps)
    mixed = sum(share * law_row(mechanism.channel, point) for point, share in enumerate(shares) if share)
    return np.asarray(mixed / np.sum(mixed))


def drawn(mechanism: Mechanism, law: Prior, n: int, runs: int, rng: np.random.Generator) -> Ints:
    """The cells of n participants drawn from a law, in each run."""
    return np.asarray(rng.multinomial(n, report_law(mechanism, law), size=runs))


@dataclass(frozen=True, slots=True)
class Run:
    """One first round: what followed, how far off its mean was, and what is exactly known of the rest."""

    adapted: bool
    away: float  # of the first mean from the truth
    weight: float  # of the first round
    first: float  # variance of the first mean
    second: float  # variance of the second mean, given the first round


def error(runs: Sequence[Run]) -> tuple[float, float]:
    """The mean square error, and its standard error.

    Of each square of the first mean's error its share in one tally is replaced by its expectation: the same on
    average, and hardly any chance is left.
    """
    usual = np.mean([run.weight for run in runs])
    each = [
        run.weight**2 * run.away**2 - usual**2 * (run.away**2 - run.first) + (1 - run.weight) ** 2 * run.second
        for run in runs
    ]
    return float(np.mean(each)), float(np.std(each) / math.sqrt(len(each)))


def bias(runs: Sequence[Run]) -> tuple[float, float]:
    """The bias: what the first weight gains with the first mean; and its standard error."""
    weights, away = (np.array([getattr(run, name) for run in runs]) for name in ("weight", "away"))
    each = (weights - weights.mean()) * away  # the mean weight times the first mean has no bias
    return float(each.mean()), float(each.std() / math.sqrt(len(each)))


def first_rounds(protocol: AdaptiveMean, law: Prior, runs: int, rng: np.random.Generator) -> Iterator[Run]:
    """Many first rounds of a protocol whose participants are drawn from a law."""
    start = protocol.start()
    mechanism = start.arms[0].mechanism
    n, asked = protocol.participants, protocol.asked_first
    before = spread(mechanism, law) / asked
    for cells in drawn(mechanism, law, asked, runs, rng):
        tally = Tally(mechanism, asked, cells)
        away = mechanism.estimate(tally).value - law.mean
        if start.quota is None:
            yield Run(False, away, 1.0, before, 0.0)
            continue
        found = protocol.decision(tally)
        if found.mechanism == mechanism:
            weight = asked / n
        else:
            precision = asked / found.variances[0], (n - asked) / found.variances[1]
            weight = precision[0] / sum(precision)
        yield Run(found.adapted, away, weight, before, spread(found.mechanism, law) / (n - asked))


def one_round_error(protocol: AdaptiveMean, law: Prior) -> float:
    """The mean square error of the one-round channel, exactly."""
    return spread(protocol.one_round(), law) / protocol.participants


# --- coverage ----------------------------------------------------------------------------------------
KINDS = tuple((method, target) for method in ("normal", "hoeffding") for target in ("population", "sample"))


@dataclass(frozen=True, slots=True)
class AdaptiveCoverage:
    """One cell of the table: coverage, and its standard error over first rounds."""

    law: str
    epsilon: str
    n: int
    method: str
    target: str
    adapted: float
    coverage: float
    std_error: float
    runs: int


def crowd(mechanism: Mechanism, shares: Floats, n: int, rng: np.random.Generator) -> tuple[Tally, float]:
    """Reports of n participants who hold points of the grid, and the mean of their answers."""
    held = rng.multinomial(n, shares)
    cells = simulate_cells(mechanism, held, runs=1, seed=int(rng.integers(1 << 62)))[0]
    return Tally(mechanism, n, cells), float(held @ np.linspace(-1, 1, len(shares)) / n)


def covered(mean: Estimate, population: float, sample: float) -> list[bool]:
    """For each kind of interval, whether it holds its truth."""
    inside = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)
        for method, target in KINDS:
            low, high = mean.ci(0.95, method=method, target=target)
            inside.append(bool(low[0] <= (population if target == "population" else sample) <= high[0]))
    return inside


def coverages(
    protocol: AdaptiveMean, law: Prior, *, firsts: int, seconds: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """For each first round the share of second rounds that cover, by kind; and how often the protocol adapted.

    Answers are the points of the design's grid, with the probabilities that rounding gives them; so the crowd's own
    mean is known. The second rounds of one first round differ in nearly all that makes the error.
    """
    mechanism = protocol.start().arms[0].mechanism
    shares = law.rounded(-1, 1, mechanism.channel.inputs - 1)
    shares, n, asked = shares / shares.sum(), protocol.participants, protocol.asked_first
    hits, adapted = np.zeros((firsts, len(KINDS))), 0
    for place in range(firsts):
        first, before = crowd(mechanism, shares, asked, rng)
        found = protocol.decision(first)
        adapted += found.adapted
        for _ in range(seconds):
            second, after = crowd(found.mechanism, shares, n - asked, rng)
            sample = (asked * before + (n - asked) * after) / n
            hits[place] += covered(protocol.together(first, second, found), law.mean, sample)
    return hits / seconds, adapted / firsts


def table(
    *, firsts: int = FIRST_ROUNDS, seconds: int = SECOND_ROUNDS, epsilons: Sequence[str] = EPSILONS, seed: int = SEED
) -> Iterator[AdaptiveCoverage]:
    """Every cell, on [-1, 1]."""
    for n in PARTICIPANTS:
        for name, law in laws().items():
            for epsilon in epsilons:
                rng = np.random.default_rng([seed, n, int(epsilon)])
                protocol = AdaptiveMean(RANGE, epsilon, n)
                hits, adapted = coverages(protocol, law, firsts=firsts, seconds=seconds, rng=rng)
                means, errors = hits.mean(axis=0), hits.std(axis=0) / math.sqrt(firsts)
                for (method, target), mean, off in zip(KINDS, means, errors, strict=True):
                    yield AdaptiveCoverage(
                        name, epsilon, n, method, target, adapted, float(mean), float(off), firsts * seconds
                    )


def markdown(rows: Sequence[AdaptiveCoverage]) -> str:
    """The part of the page about the adaptive mean."""
    return "\n".join(_lines(rows)) + "\n"


def _lines(rows: Sequence[AdaptiveCoverage]) -> Iterator[str]:
    yield from (
        "",
        "## Adaptive means",
        "",
        f"`AdaptiveMean` on [-1, 1], answers drawn from the law; {rows[0].runs:,} runs a row, of"
        f" {rows[0].runs // SECOND_ROUNDS:,} first rounds. Percentages; the largest standard error is"
        f" {100 * max(row.std_error for row in rows):.2f}. The normal interval is promised to cover 93 to 97 % of"
        " populations and at least 93 % of samples, the Hoeffding interval at least 95 % of either.",
        "",
        "| law | epsilon | n | adapted | " + " | ".join(f"{m}, {t}" for m, t in KINDS) + " |",
        "|---" * (4 + len(KINDS)) + "|",
    )
    for start in range(0, len(rows), len(KINDS)):
        first, group = rows[start], rows[start : start + len(KINDS)]
        cells = " | ".join(f"{100 * row.coverage:.2f}" for row in group)
        yield f"| {first.law} | {first.epsilon} | {first.n} | {100 * first.adapted:.0f} | {cells} |"
