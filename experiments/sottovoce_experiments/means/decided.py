"""The adaptive mean beside one round: exact errors after each simulated first round, and intervals of drawn crowds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.mean.sequential import weights_of
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce.protocols.mean.belief import Decision
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.means.laws import law

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TARGETS = ("population", "sample")
CROWDS = 4  # of round two, after each first round


def report_laws(mechanism: Mechanism, belief: Prior) -> Floats:
    """The law of a report for each value of the answers, one row each."""
    grid, numbers = rounding_of(mechanism.channel), mechanism.domain.numbers
    assert grid is not None and numbers is not None  # the mechanisms of an adaptive mean
    low, high = numbers.ends
    places = (np.asarray(belief.values) - low) / (high - low) * grid.steps
    rows = np.array([law_row(mechanism.channel, point) for point in range(grid.steps + 1)])
    laws = np.column_stack([np.interp(places, np.arange(grid.steps + 1), output) for output in rows.T])
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def counted(mechanism: Mechanism, belief: Prior, held: Ints, rng: np.random.Generator) -> Tally:
    """A tally of people of whom this many hold each value."""
    cells = rng.multinomial(held, report_laws(mechanism, belief)).sum(axis=0)
    return Tally(mechanism, int(held.sum()), cells)


def exact_ratios(protocol: AdaptiveMeanRounds, belief: Prior, first: Tally, decision: Decision) -> tuple[float, float]:
    """Mean square error over that of one round for both targets, exact given the first round and its weights."""
    if decision.mechanism == first.mechanism:
        return 1.0, 1.0
    n, asked = protocol.participants, first.n
    later, spread = n - asked, belief.variance
    one = protocol.one_round().average_variance(belief)
    weights, people = np.array(weights_of((asked, later), decision.variances)), np.array([asked, later])
    # Reports of a square wave are not read as numbers: their weight is zero.
    before = first.mechanism.average_variance(belief) if weights[0] else 0.0
    noises = np.array([before, decision.mechanism.average_variance(belief)])
    population = float(weights**2 @ ((noises + spread) / people)) / ((one + spread) / n)
    chance = (weights[0] - asked / n) ** 2 * spread * (1 / asked + 1 / later)
    return population, (float(weights**2 @ (noises / people)) + chance) / (one / n)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Paired runs of one law: errors given each first round are exact, intervals are of crowds drawn anew."""
    domain, belief = law(point["answers"])
    protocol = AdaptiveMeanRounds(domain, point["epsilon"], point["n"])
    rng, n, asked = np.random.default_rng(seed), protocol.participants, protocol.asked_first
    mechanism, values = protocol.one_round(), np.asarray(belief.values)
    ratios, adapted, errors, halves, doubts = [], 0, [], [], 0
    for _ in range(runs):
        early = rng.multinomial(asked, belief.weights)
        first = counted(mechanism, belief, early, rng)
        decision = protocol.decision(first)
        ratios.append(exact_ratios(protocol, belief, first, decision))
        adapted += decision.adapted
        for _ in range(CROWDS):
            late = rng.multinomial(n - asked, belief.weights)
            mean = protocol.together(first, counted(decision.mechanism, belief, late, rng), decision)
            errors.append([mean.value - belief.mean, mean.value - float((early + late) @ values) / n])
            halves.append(_halves(mean))
            doubts += bool(mean.evidence.warning())
    hits = np.abs(errors) <= np.array(halves)
    root = np.sqrt(np.mean(np.square(errors), axis=0))
    square = np.array(ratios)
    row: dict[str, Any] = {**point, "runs": runs * CROWDS, "adapted": adapted / runs, "doubt": doubts / runs / CROWDS}
    for place, target in enumerate(TARGETS):
        mean_square = float(square[:, place].mean())
        row[target] = math.sqrt(mean_square)
        row[f"{target} error"] = float(square[:, place].std()) / math.sqrt(runs) / (2 * row[target])
        row[f"{target} worst"] = math.sqrt(float(square[:, place].max()))
        row[f"{target} coverage"] = float(hits[:, place].mean())
        row[f"{target} width"] = float(np.mean(np.array(halves)[:, place])) / 1.96 / float(root[place])
    return [row]


def _halves(mean: Estimate) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorIntervalWarning)  # counted as doubts
        bounds = [mean.ci(method="normal", target=target) for target in TARGETS]
    return [float(high[0] - low[0]) / 2 for low, high in bounds]
