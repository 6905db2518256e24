"""How often intervals for a mean cover: summed over the law for two outputs, else simulated.

In a simulation for the population each report comes from the mixed law of all answers; for the sample a fixed number
comes from each answer. Coverage is judged for all runs at once, by the formulas of `estimate.mean`; a test compares
that with the shipped intervals one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from sottovoce.core.channel.base import Channel
from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.mean.betting import Sides
from sottovoce.estimate.mean.evidence import MeanEvidence, from_cells
from sottovoce.estimate.mean.moments import numbers_of, profile
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.estimate.mean.single import bernstein, hoeffding
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.tally.laws import law_at
from sottovoce_experiments.coverage.declared.studies import (
    LATER,
    MEAN_CROWDS,
    MEAN_EPSILON,
    MEAN_KINDS,
    MEAN_METHODS,
    SINGLE,
    STREAM,
    TARGETS,
)
from sottovoce_experiments.coverage.draws import add_sums
from sottovoce_experiments.coverage.study import LEVEL, Coverage
from sottovoce_experiments.experiment import Row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Judge:
    """Which tallies of n reports have an interval that covers the true mean."""

    mechanism: Mechanism
    truth: float
    n: int
    level: float = LEVEL

    @cached_property
    def numbers(self) -> Floats:
        """The reading of each output."""
        _, _, origin = numbers_of(self.mechanism)
        return numbers_at(*scale_of(self.mechanism.channel, origin), np.arange(self.mechanism.cells))

    @cached_property
    def known(self) -> MeanEvidence:
        """The part of intervals that depends on the mechanism and n alone; its tally does not matter."""
        return from_cells(self.mechanism, self.n, np.eye(1, self.mechanism.cells, dtype=np.int64)[0] * self.n)

    @cached_property
    def _sides(self) -> Sides:
        return self.known.sides(self.level, Method.BETTING)

    @cached_property
    def features(self) -> Floats:
        """For each output the summands: its distance from the truth, the square, and the gain of each bet."""
        away = self.numbers - self.truth
        up, down = (np.log1p(np.outer(s * away, b.sizes)) for s, b in ((1, self._sides.up), (-1, self._sides.down)))
        return np.concatenate([away[:, None], away[:, None] ** 2, up, down], axis=1)

    def sums(self, counts: Ints) -> Floats:
        """The sums that `covers` reads, one row for each tally."""
        return np.asarray(counts.astype(float) @ self.features)

    def covers(self, sums: Floats, method: str, target: str) -> NDArray[np.bool_]:
        """For each row of sums, whether the interval holds the truth."""
        if method == "betting":
            bets = len(self._sides.up.sizes)
            parts = (sums[:, 2 : 2 + bets], self._sides.up), (sums[:, 2 + bets :], self._sides.down)
            capital = np.maximum(*(logsumexp(part, axis=1, b=side.weights) for part, side in parts))
            return np.asarray(capital < math.log(2 / (1 - self.level)))
        first, second = sums[:, 0] / self.n, sums[:, 1] / self.n
        spread = np.maximum(second - first**2, 0) * self.n / (self.n - 1)
        if method == "normal":
            variance = spread if target == "population" else np.minimum(spread, self.noise(first, second))
            half = deviate(self.level) * np.sqrt(variance / self.n)
        elif method == "hoeffding":
            half = np.asarray(hoeffding(self.known.reach, self.n, self.level))
        else:
            half = bernstein(self.known.reach, spread, self.n, self.level)
        return np.asarray(np.abs(first) <= half + _ROUNDING)

    def noise(self, first: Floats, second: Floats) -> Floats:
        """The bound on the noise, from mean and mean square about the truth."""
        middle = self.known.centre - self.truth
        return np.interp(
            second - 2 * middle * first + middle**2,
            *_noise(self.mechanism.channel, self.known.centre - self.known.origin),
        )


@lru_cache(maxsize=32)
def _noise(channel: Channel, centre: float) -> tuple[Floats, Floats]:
    """The bound on the noise, at many mean squares; between them it is concave and nearly straight."""
    grid = profile(channel)
    squares = grid.squares(centre)
    places = np.linspace(squares.min(), squares.max(), 101)
    return places, np.array([grid.noise(centre, float(place)) for place in places])


def laws(mechanism: Mechanism, answers: Sequence[float]) -> Floats:
    """The law of a report for each answer; normalised, since NumPy requires rows that sum to one."""
    _, _, origin = numbers_of(mechanism)
    rows = np.array([law_at(mechanism.channel, Fraction(answer) - origin) for answer in answers])
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def draw(judge: Judge, rows: Floats, target: str, runs: int, rng: np.random.Generator) -> Floats:
    """The sums of runs with n participants each, the answers being equally common."""
    out = np.zeros((runs, 1, judge.features.shape[1]))
    for law in [rows.mean(axis=0)] if target == "population" else rows:
        share = judge.n if target == "population" else judge.n // len(rows)
        add_sums(law, judge.features, np.array([share]), out, rng)
    return out[:, 0]


def two_outputs(rows: Floats, n: int, target: str) -> tuple[Ints, Floats]:
    """Every tally of two outputs, and its probability."""
    if target == "population":
        law = stats.binom.pmf(np.arange(n + 1), n, rows[:, 1].mean())
    else:
        each, law = n // len(rows), np.ones(1)
        for row in rows:
            law = np.convolve(law, stats.binom.pmf(np.arange(each + 1), each, row[1]))
    ones = np.arange(n + 1)
    return np.stack([n - ones, ones], axis=1), law


def coverages(
    mechanism: Mechanism,
    answers: Sequence[float],
    n: int,
    target: str,
    methods: Sequence[str],
    *,
    runs: int,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> dict[str, float]:
    """The coverage of each method; exact for two outputs."""
    judge, rows = Judge(mechanism, float(np.mean(answers)), n, level), laws(mechanism, answers)
    if mechanism.cells == 2:
        counts, law = two_outputs(rows, n, target)
        sums = judge.sums(counts)
        return {method: float(law[judge.covers(sums, method, target)].sum()) for method in methods}
    sums = draw(judge, rows, target, runs, rng)
    return {method: float(judge.covers(sums, method, target).mean()) for method in methods}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """One mechanism and crowd, on [-1, 1]."""
    mechanism, answers = _built(point["mechanism"]), MEAN_CROWDS[point["crowd"]]
    rng = np.random.default_rng(seed)
    found = {
        target: coverages(mechanism, answers, point["n"], target, MEAN_METHODS, runs=runs, rng=rng)
        for target in TARGETS
    }
    made = None if mechanism.cells == 2 else runs
    return [
        Coverage(method=method, target=target, coverage=found[target][method], runs=made)
        for method, target in MEAN_KINDS
    ]


def _built(name: str) -> Mechanism:
    return build(name, Interval(-1, 1), epsilon=MEAN_EPSILON)


def looks(stream: int = STREAM) -> Ints:
    """The times of looks at a stream: after each of the first reports, then at evenly growing times up to its end."""
    later = np.unique(np.round(np.geomspace(SINGLE, stream, LATER + 1)).astype(np.int64))
    return np.union1d(np.arange(1, SINGLE + 1), later)


def stream_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Streams whose anytime interval never leaves out the true mean."""
    alarms = false_alarms(_built(point["mechanism"]), MEAN_CROWDS["all 0.9"], runs=runs, seed=seed)
    return [Coverage(of="mean at every look", method="anytime", coverage=1 - alarms / runs, runs=runs)]


def false_alarms(mechanism: Mechanism, answers: Sequence[float], *, runs: int, seed: int, stream: int = STREAM) -> int:
    """The number of simulated streams whose anytime interval ever leaves out the true mean."""
    judge, law = Judge(mechanism, float(np.mean(answers)), stream), laws(mechanism, answers).mean(axis=0)
    sides, rng = judge.known.sides(judge.level, Method.ANYTIME), np.random.default_rng(seed)
    away = judge.numbers - judge.truth
    pairs = (1, sides.up), (-1, sides.down)
    features = np.concatenate([np.log1p(np.outer(sign * away, bets.sizes)) for sign, bets in pairs], axis=1)
    steps, threshold, alarms = np.diff(looks(stream), prepend=0), math.log(2 / (1 - judge.level)), 0
    for _ in range(runs):
        out = np.zeros((1, len(steps), features.shape[1]))
        add_sums(law, features, steps, out, rng)
        up, down = np.split(out[0], 2, axis=1)
        capital = np.maximum(
            *(logsumexp(part, axis=1, b=bets.weights) for part, (_, bets) in zip((up, down), pairs, strict=True))
        )
        alarms += bool((capital >= threshold).any())
    return alarms


def widths(name: str, n: int) -> dict[str, float]:
    """The width of each interval for the population on [-1, 1], for answers spread evenly, without chance."""
    mechanism = _built(name)
    law = laws(mechanism, np.linspace(-1, 1, 41).tolist()).mean(axis=0)
    # The tally nearest to the law: its cumulative counts are off by at most half a report.
    cells = np.diff(np.round(n * np.append(0, np.cumsum(law)))).astype(np.int64)
    found = from_cells(mechanism, int(cells.sum()), cells)
    each = {method: found.interval(IntervalRequest(LEVEL, method)) for method in found.methods}
    return {method: float((high - low)[0]) for method, (low, high) in each.items()}


def width_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The width of each method, and in those of the normal interval."""
    found = widths(point["mechanism"], point["n"])
    return [{"method": method, "width": width, "relative": width / found["normal"]} for method, width in found.items()]
