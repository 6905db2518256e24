"""The adaptive mean, measured: its error against one round, its bias, and how often its intervals cover.

Tallies are drawn from their law. Given round one, the second mean is unbiased and its variance is exact, so the error
needs no second round; only coverage draws some, several for each first round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.mean.evidence import from_cells
from sottovoce.estimate.mean.moments import profile
from sottovoce.estimate.mean.noise import average_noise
from sottovoce.estimate.mean.sequential import weights_of
from sottovoce.estimate.mean.single import hoeffding
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce.protocols.mean.belief import Decision, spread
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.rounds import ROUNDS_KINDS, SECOND_ROUNDS
from sottovoce_experiments.coverage.declared.studies import TARGETS
from sottovoce_experiments.coverage.mean import Judge
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RANGE = Interval(-1, 1)


def laws() -> dict[str, Prior]:
    """The laws of the published comparison: normal, exponential with rate 6 from the low end, beta; cut to [-1, 1]."""
    return {
        "N(0, 0.1^2)": Prior.normal(0, 0.1, -1, 1),
        "exponential": Prior.exponential(6, -1, 1),
        "Beta(0.5, 0.5)": Prior.beta(0.5, 0.5, -1, 1),
    }


def hostile() -> dict[str, Prior]:
    """Laws that are hard for adapting: no gain, few points, ends, and rare answers far away."""
    return {
        "uniform": Prior.uniform(-1, 1),
        "all 1": Prior([1.0], [1.0]),
        "-0.5 or 0.7": Prior([-0.5, 0.7], [0.5, 0.5]),
        "-1 or 1": Prior([-1.0, 1.0], [0.5, 0.5]),
        "one in 200 far away": Prior([-0.9, 1.0], [0.995, 0.005]),
    }


@lru_cache(maxsize=256)
def report_law(mechanism: Mechanism, law: Prior) -> Floats:
    """The law of the report of a participant drawn from a law on the domain."""
    grid, numbers = rounding_of(mechanism.channel), mechanism.domain.numbers
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
    """One first round: the next step, the error of its mean, and the exact variances of the rest."""

    adapted: bool
    away: float  # of the first mean from the truth
    weight: float  # of the first round
    first: float  # variance of the first mean
    second: float  # variance of the second mean, given the first round


def error(runs: Sequence[Run]) -> tuple[float, float]:
    """The mean square error, and its standard error.

    In each square of the first mean's error the part of one tally is replaced by its expectation: the mean is the
    same, and the variance is almost removed.
    """
    usual = np.mean([run.weight for run in runs])
    each = [
        run.weight**2 * run.away**2 - usual**2 * (run.away**2 - run.first) + (1 - run.weight) ** 2 * run.second
        for run in runs
    ]
    return float(np.mean(each)), float(np.std(each) / math.sqrt(len(each)))


def bias(runs: Sequence[Run]) -> tuple[float, float]:
    """The bias, which is the covariance of the first weight with the first mean; and its standard error."""
    weights, away = (np.array([getattr(run, name) for run in runs]) for name in ("weight", "away"))
    each = (weights - weights.mean()) * away  # the mean weight times the first mean has no bias
    return float(each.mean()), float(each.std() / math.sqrt(len(each)))


def first_rounds(protocol: AdaptiveMeanRounds, law: Prior, runs: int, rng: np.random.Generator) -> Iterator[Run]:
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
            weight, _ = weights_of((asked, n - asked), found.variances)
        yield Run(found.adapted, away, weight, before, spread(found.mechanism, law) / (n - asked))


def one_round_error(protocol: AdaptiveMeanRounds, law: Prior) -> float:
    """The mean square error of the one-round channel, exactly."""
    return spread(protocol.one_round(), law) / protocol.participants


# --- coverage ----------------------------------------------------------------------------------------
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SecondRounds:
    """Many second rounds after one first: means and variances as the estimates have them, for all at once.

    A test compares the intervals with the shipped ones.
    """

    first: Tally
    found: Decision
    second: Ints  # cells, one row for each second round
    n: int  # of a second round

    def _read(self, mechanism: Mechanism, cells: Ints, n: int) -> tuple[Floats, Floats, Floats]:
        """The mean, the variance of a reading, and the bound on its noise, in each row."""
        judge = Judge(mechanism, 0.0, n)
        mean, square = (cells @ judge.numbers**power / n for power in (1, 2))
        spread_of = np.maximum(square - mean**2, 0) * n / (n - 1)
        return mean, spread_of, np.minimum(judge.noise(mean, square), spread_of)

    def intervals(self, level: float = LEVEL) -> dict[tuple[str, str], tuple[Floats, Floats]]:
        """The middle and half the width of each kind of interval, in each row."""
        asked, n = self.first.n, self.first.n + self.n
        if self.found.mechanism == self.first.mechanism:
            mean, spread_of, noise = self._read(self.found.mechanism, self.first.cells + self.second, n)
            reach = _reach(self.found.mechanism)
            exact = {target: np.full_like(mean, hoeffding(reach, n, level)) for target in TARGETS}
            variances = {"population": spread_of / n, "sample": noise / n}
        else:
            rounds = (
                (self.first.mechanism, asked, self.first.cells[None, :]),
                (self.found.mechanism, self.n, self.second),
            )
            before, after = (self._read(mechanism, cells, people) for mechanism, people, cells in rounds)
            noises = [_noises(*each) for each in rounds]
            weights = weights_of((asked, self.n), self.found.variances)
            mean = weights[0] * before[0] + weights[1] * after[0]
            sums = [
                weights[0] ** 2 * early / asked + weights[1] ** 2 * late / self.n
                for early, late in ((before[1], after[1]), noises)
            ]
            least = (profile(m.channel).variances.min() for m in (self.first.mechanism, self.found.mechanism))
            answers = np.clip(np.minimum(before[1] - next(least), after[1] - next(least)), 0, 1)
            excess = weights[0] - asked / n
            variances = {
                "population": sums[0],
                "sample": sums[1] + excess**2 * answers * (1 / asked + 1 / self.n),
            }
            exact = {target: np.full_like(mean, self._hoeffding(weights, excess, level, target)) for target in TARGETS}
        normal = {target: deviate(level) * np.sqrt(variances[target]) for target in TARGETS}
        halves = {"normal": normal, "hoeffding": exact}
        return {(method, target): (mean, halves[method][target]) for method, target in ROUNDS_KINDS}

    def _hoeffding(self, weights: tuple[float, float], excess: float, level: float, target: str) -> float:
        each = 1 - (1 - level) / (2 if target == "population" else 3)
        rounds = ((self.first.mechanism, self.first.n), (self.found.mechanism, self.n))
        half = sum(w * hoeffding(_reach(m), n, each) for w, (m, n) in zip(weights, rounds, strict=True))
        if target == "sample":
            half += abs(excess) * (1 + self.first.n / self.n) * hoeffding(2, self.first.n, each)
        return half


def _noises(mechanism: Mechanism, n: int, cells: Ints) -> Floats:
    """The bound on the noise of two rounds, in each row."""
    return np.array([average_noise(from_cells(mechanism, n, row)) for row in cells])


def _reach(mechanism: Mechanism) -> float:
    return Judge(mechanism, 0.0, 2).known.reach


def coverages(
    protocol: AdaptiveMeanRounds, law: Prior, *, firsts: int, seconds: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """For each first round the share of second rounds that cover, by kind; and how often the protocol adapted.

    Answers are the points of the design's grid, with the probabilities that rounding gives them. For the population
    each second round has a crowd of its own; for the sample one crowd answers in all of them.
    """
    mechanism = protocol.start().arms[0].mechanism
    shares = law.rounded(-1, 1, mechanism.channel.inputs - 1)
    shares, n, asked = shares / shares.sum(), protocol.participants, protocol.asked_first
    later, places = n - asked, np.linspace(-1, 1, len(shares))
    hits, adapted = np.zeros((firsts, len(ROUNDS_KINDS))), 0
    for place in range(firsts):
        held = rng.multinomial(asked, shares), rng.multinomial(later, shares)
        seeds = rng.integers(1 << 62, size=2).tolist()
        first = Tally(mechanism, asked, simulate_cells(mechanism, held[0], runs=1, seed=seeds[0])[0])
        found = protocol.decision(first)
        adapted += found.adapted
        drawn_for = {
            "population": drawn(found.mechanism, law, later, seconds, rng),
            "sample": simulate_cells(found.mechanism, held[1], runs=seconds, seed=seeds[1]),
        }
        truths = {"population": law.mean, "sample": float((held[0] + held[1]) @ places / n)}
        each = {target: SecondRounds(first, found, cells, later).intervals() for target, cells in drawn_for.items()}
        for kind, (method, target) in enumerate(ROUNDS_KINDS):
            middle, half = each[target][method, target]
            hits[place, kind] = np.mean(np.abs(middle - truths[target]) <= half + _ROUNDING)
    return hits, adapted / firsts


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Many first rounds for one law, each with many second ones; a standard error is over first rounds."""
    protocol, rng = AdaptiveMeanRounds(RANGE, point["epsilon"], point["n"]), np.random.default_rng(seed)
    hits, adapted = coverages(protocol, laws()[point["law"]], firsts=runs, seconds=SECOND_ROUNDS, rng=rng)
    means, errors = hits.mean(axis=0).tolist(), (hits.std(axis=0) / math.sqrt(runs)).tolist()
    return [
        Coverage(
            method=method,
            target=target,
            coverage=mean,
            runs=runs * SECOND_ROUNDS,
            numbers={"adapted": adapted, "std_error": off},
        )
        for (method, target), mean, off in zip(ROUNDS_KINDS, means, errors, strict=True)
    ]
