"""How often intervals for a variance cover, by simulation of whole protocols: every run asks the shipped interval.

In each run participants are drawn from a population, put into rounds and arms, and answer. The interval for the
population is judged by the variance of the population, that for the sample by the variance of the participants drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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
from sottovoce.core.statistic.moments import Moments
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.play import play
from sottovoce.protocols.variance.rounds import VarianceRounds
from sottovoce.tally.laws import law_at
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.rounds import (
    ROUNDS_KINDS,
    SEQUENTIAL,
    SUMS_EPSILON,
    VARIANCE_CROWDS,
    VARIANCE_EPSILON,
    VARIANCE_MECHANISM,
)
from sottovoce_experiments.coverage.draws import arm_shares
from sottovoce_experiments.coverage.moments import moment_cells
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def protocol(method: str, n: int, *, epsilon: Any = VARIANCE_EPSILON) -> VarianceRounds:
    """The protocol of each method, with the share that it chooses."""
    if method == "same-reports":
        return VarianceRounds(Integers(0, 4), epsilon, method=method)
    first = n // SEQUENTIAL if method == "sequential" else None
    return VarianceRounds(Interval(-1, 1), epsilon, method=method, mechanism=VARIANCE_MECHANISM, first=first)


def draw(asked: VarianceRounds, answers: Sequence[Any], held: Ints, rng: np.random.Generator) -> Estimates:
    """A whole protocol, given the number of participants of each answer."""
    waiting = held.copy()

    def ask(stage: Round, number: int) -> tuple[Tally, ...]:
        nonlocal waiting
        asking = waiting if stage.quota is None else rng.multivariate_hypergeometric(waiting, stage.quota)
        waiting = waiting - asking
        split = rng.multinomial(asking, arm_shares(stage))
        return tuple(_tally(arm.mechanism, answers, split[:, place], rng) for place, arm in enumerate(stage.arms))

    return play(asked, ask).estimates


def _tally(mechanism: Mechanism, answers: Sequence[Any], held: Ints, rng: np.random.Generator) -> Tally:
    if isinstance(mechanism.statistic, Moments):
        return Tally(mechanism, int(held.sum()), moment_cells(mechanism, answers, held, rng))
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
    """The variance of answers with these counts; of a sample with the divisor n - 1."""
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
    kinds: Sequence[tuple[str, str]] = ROUNDS_KINDS,
    level: float = LEVEL,
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


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whole protocols, for one method and crowd."""
    method, n, weights = point["protocol"], point["n"], VARIANCE_CROWDS[point["crowd"]]
    answers = list(range(5)) if method == "same-reports" else [Fraction(place, 2) for place in range(-2, 3)]
    found = coverages(protocol(method, n), answers, weights, n, runs=runs, rng=np.random.default_rng(seed))
    return _rows(found, runs)


def sums_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Both reports of everyone through one mechanism, counted by their sums, for one crowd."""
    asked = VarianceRounds(Interval(-1, 1), SUMS_EPSILON, method="split-eps", mechanism=point["mechanism"])
    answers, weights = [Fraction(place, 2) for place in range(-2, 3)], VARIANCE_CROWDS[point["crowd"]]
    return _rows(coverages(asked, answers, weights, point["n"], runs=runs, rng=np.random.default_rng(seed)), runs)


def _rows(found: Mapping[tuple[str, str], float | None], runs: int) -> list[Coverage]:
    return [
        Coverage(of="variance", method=kind, target=target, coverage=covered, runs=runs)
        for (kind, target), covered in found.items()
    ]
