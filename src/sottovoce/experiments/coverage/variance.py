"""How often intervals for a variance cover, by simulation of whole protocols: every run asks the shipped interval.

In each run participants are drawn from a population, put into rounds and arms, and answer. The interval for the
population is judged by the variance of the population, that for the sample by the variance of the participants drawn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each
from sottovoce.core.channel.base import Channel
from sottovoce.core.domain import Integers, Interval
from sottovoce.core.errors import NoIntervalError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.round import Estimates, Round
from sottovoce.estimate.estimate import PoorIntervalWarning
from sottovoce.protocols.variance.rounds import METHODS, VarianceRounds
from sottovoce.tally.laws import law_at
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EPSILON = 1
MECHANISM = "n-output"
KINDS = (("normal", "population"), ("normal", "sample"), ("hoeffding", "population"), ("hoeffding", "sample"))
SIZES = (10_000, 100_000)
RUNS = 2_000
SEED = 20_250_301
SEQUENTIAL = 5  # one in so many is asked in the first round
# Whole numbers from 0 to 4 and how common each is; for methods that take any number, from -1 to 1 in steps of a half.
CROWDS: dict[str, tuple[int, ...]] = {
    "evenly spread": (1, 1, 1, 1, 1),
    "at both ends": (1, 0, 0, 0, 1),
    "falling from one end": (16, 8, 4, 2, 1),
    "nearly all alike": (0, 1, 18, 1, 0),
}


@dataclass(frozen=True, slots=True)
class VarianceCoverage:
    """One cell of the table; None where there is no such interval."""

    protocol: str
    mechanism: str
    epsilon: float
    n: int
    crowd: str
    method: str
    target: str
    coverage: float | None
    runs: int


def protocol(method: str, n: int, *, epsilon: Any = EPSILON) -> VarianceRounds:
    """What is measured: each method with the share that it chooses."""
    if method == "same-reports":
        return VarianceRounds(Integers(0, 4), epsilon, method=method)
    first = n // SEQUENTIAL if method == "sequential" else None
    return VarianceRounds(Interval(-1, 1), epsilon, method=method, mechanism=MECHANISM, first=first)


def draw(asked: VarianceRounds, answers: Sequence[Any], held: Ints, rng: np.random.Generator) -> Estimates:
    """A whole protocol with so many participants of each answer."""
    history: list[tuple[Tally, ...]] = []
    stage: Round | Estimates = asked.start()
    waiting = held.copy()
    while isinstance(stage, Round):
        asking = waiting
        if stage.quota is not None:
            asking = rng.multivariate_hypergeometric(waiting, stage.quota)
        waiting = waiting - asking
        arms = np.array([arm.weight for arm in stage.arms]) / stage.weight
        split = rng.multinomial(asking, arms)
        history.append(
            tuple(_tally(arm.mechanism, answers, split[:, place], rng) for place, arm in enumerate(stage.arms))
        )
        stage = asked.advance(tuple(history))
    return stage


def _tally(mechanism: Mechanism, answers: Sequence[Any], held: Ints, rng: np.random.Generator) -> Tally:
    cells = np.zeros(mechanism.cells, np.int64)
    for answer, count in zip(answers, held.tolist(), strict=True):
        if count:
            cells += rng.multinomial(count, _law(mechanism.channel, mechanism.domain.encode(answer)))
    return Tally(mechanism, int(held.sum()), cells)


@lru_cache(maxsize=64)
def _law(channel: Channel, code: Any) -> Floats:
    """The law of a report, given the code of an answer; of channels side by side, of each combination."""
    if isinstance(channel, Each):
        first, second = (_law(part, own) for part, own in zip(channel.channels, code, strict=True))
        return np.outer(first, second).ravel()
    row = law_at(channel, code)
    return np.asarray(row / row.sum())


def variance_of(answers: Sequence[float], weights: Any, *, sample: bool = False) -> float:
    """The variance of answers that are so common; of a sample with the divisor n - 1."""
    total, values = float(np.sum(weights)), np.asarray(answers, float)
    mean = float(np.dot(weights, values)) / total
    return float(np.dot(weights, (values - mean) ** 2)) / (total - 1 if sample else total)


def coverages(
    asked: VarianceRounds,
    answers: Sequence[Any],
    weights: Sequence[float],
    n: int,
    *,
    runs: int,
    rng: np.random.Generator,
    kinds: Sequence[tuple[str, str]] = KINDS,
    level: float = 0.95,
) -> dict[tuple[str, str], float | None]:
    """How often each kind of interval covers."""
    shares, numbers = np.asarray(weights, float) / np.sum(weights), [float(Fraction(answer)) for answer in answers]
    covered = dict.fromkeys(kinds, 0)
    truth = {"population": variance_of(numbers, shares)}
    missing: set[tuple[str, str]] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)
        for _ in range(runs):
            held = rng.multinomial(n, shares)
            truth["sample"] = variance_of(numbers, held, sample=True)
            found = draw(asked, answers, held, rng)["variance"]
            for method, target in kinds:
                try:
                    low, high = found.ci(level, method=method, target=target)
                except NoIntervalError:
                    missing.add((method, target))
                    continue
                covered[method, target] += bool(low[0] <= truth[target] <= high[0])
    return {kind: None if kind in missing else count / runs for kind, count in covered.items()}


def table(
    methods: Sequence[str] = METHODS,
    *,
    sizes: Sequence[int] = SIZES,
    crowds: Sequence[str] = tuple(CROWDS),
    runs: int = RUNS,
    seed: int = SEED,
) -> Iterator[VarianceCoverage]:
    """Every cell of the grid."""
    for method in methods:
        for n in sizes:
            asked = protocol(method, n)
            answers = range(5) if method == "same-reports" else [Fraction(place, 2) for place in range(-2, 3)]
            for place, crowd in enumerate(crowds):
                rng = np.random.default_rng([seed, n, METHODS.index(method), place])
                found = coverages(asked, list(answers), CROWDS[crowd], n, runs=runs, rng=rng)
                for (kind, target), coverage in found.items():
                    yield VarianceCoverage(
                        method, asked.mechanism, float(EPSILON), n, crowd, kind, target, coverage, runs
                    )


def markdown(rows: Sequence[VarianceCoverage]) -> str:
    """The part of the page about variances."""
    runs = max(row.runs for row in rows)
    lines = [
        "",
        "## Variances",
        "",
        f"Protocols for a variance on [-1, 1] through {MECHANISM} (`same-reports`: whole numbers from 0 to 4), epsilon"
        f" {EPSILON:g}, answers at five points; {runs:,} simulated protocols each, so that the standard error of a"
        f" coverage near 95 is {100 * math.sqrt(0.05 * 0.95 / runs):.2f}. One in {SEQUENTIAL} is asked in the first"
        " round of `sequential`. Percentages; columns are method and target. The normal interval is promised to cover"
        " 93 to 97 % of populations and at least 93 % of samples; hoeffding 95 % at every n.",
        "",
        "| protocol | n | answers | " + " | ".join(f"{m}, {t}" for m, t in KINDS) + " |",
        "|---" * (3 + len(KINDS)) + "|",
    ]
    for start in range(0, len(rows), len(KINDS)):
        group, first = rows[start : start + len(KINDS)], rows[start]
        cells = " | ".join("" if row.coverage is None else f"{100 * row.coverage:.2f}" for row in group)
        lines.append(f"| {first.protocol} | {first.n} | {first.crowd} | {cells} |")
    return "\n".join(lines) + "\n"
