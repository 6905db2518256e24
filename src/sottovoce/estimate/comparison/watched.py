"""Tests that may be watched: e-values of a difference, from the bets behind confidence sequences.

If both populations have the mean m, the capital of bets that the first mean is above m, times the capital of bets that
the second is below m, has an expectation of at most one at every time. The e-value is the smallest such product over
all m, averaged over both directions. It ever exceeds 1 / alpha with a probability of at most alpha (Ville), so an
experiment may stop whenever it does.

Reference: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; Ramdas,
Gruenwald, Vovk, Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 2023.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.comparison.test import E_VALUE, Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.betting import Sides
from sottovoce.estimate.sources import EstimateSource

Sources = tuple[EstimateSource, ...]
PIECES = 8  # into which a range of means is divided again
MOST_ROUNDS = 40
CLOSE = 0.03  # how far a bound of a logarithm may be below the smallest one
STEPS = np.linspace(-6, 6, 25)  # standard errors around both means, where the search begins
WATCHED = "The test may be looked at after every report, and end the experiment."


def watched_tests(a: Estimate, b: Estimate, hypotheses: Sequence[str], valid: str) -> tuple[Test, ...]:
    """One test for each value of two estimates from different people."""
    first, second = a.evidence.watched(), b.evidence.watched()
    sources, simulated = (*a.sources, *b.sources), a.simulated or b.simulated
    values = a.evidence.values() - b.evidence.values()
    return tuple(
        _test(hypothesis, log_e_value(one, other), Effect("difference", float(value)), valid, sources, simulated)
        for hypothesis, one, other, value in zip(hypotheses, first, second, values, strict=True)
    )


def watched_mean(estimate: Estimate, stated: float) -> Test:
    """Test that a mean, or a single share, is a stated number; the test may be watched."""
    sides = estimate.evidence.watched()
    if len(sides) != 1:
        raise ParameterError(f"A test of one number needs an estimate with one value. Got {len(sides)}.")
    capital = float(np.logaddexp(sides[0].above(stated), sides[0].below(stated))) - math.log(2)
    said = f"The {estimate.evidence.noun} of the population is {stated:g}."
    effect = Effect("difference", estimate.value - stated)
    return _test(said, capital, effect, "reports of different people.", estimate.sources, estimate.simulated)


def e_mean(tests: Sequence[Test]) -> Test:
    """One test that all hypotheses are true: the mean of e-values is an e-value, whatever they have in common."""
    if not tests or any(one.e_value is None for one in tests):
        raise ParameterError("The mean of e-values needs tests that may be watched.")
    largest = max(tests, key=lambda one: one.statistic)
    mean = float(np.mean([one.statistic for one in tests]))
    p_value = min(1.0, 1 / mean) if mean else 1.0
    said = f"All {len(tests)} hypotheses are true, such as: {largest.hypothesis}"
    return Test(
        *(said, mean, p_value, E_VALUE, None, largest.effect, largest.valid_given),
        sources=largest.sources,
        simulated=largest.simulated,
    )


def log_e_value(one: Sides, other: Sides) -> float:
    """The logarithm of the e-value that two means are the same; at most `CLOSE` too small, never too large.

    Evidence that a mean is above m falls with m, and evidence that it is below m rises. So both ends of a range of m
    bound the product inside, and ranges are divided until the bound is close.
    """

    left, right = _pairs(_first_ends(one, other))
    closed = math.inf
    for _ in range(MOST_ROUNDS):
        starts, ends = (_logs(one, other, means) for means in (left, right))
        bounds = _bounds(starts, ends)
        reached = min(float(_bounds(logs, logs).min()) for logs in (starts, ends))
        is_open = bounds < min(reached, closed) - CLOSE
        closed = float(min([closed, *bounds[~is_open]]))
        if not is_open.any():
            return closed - math.log(2)
        lowest = float(bounds.min())
        steps = np.linspace(left[is_open], right[is_open], PIECES + 1)
        left, right = steps[:-1].ravel(), steps[1:].ravel()
    return min(closed, lowest) - math.log(2)


def _first_ends(one: Sides, other: Sides) -> list[float]:
    """The ends of all means, and steps around the mean of both samples, where the smallest product nearly always is."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    numbers, counts = (np.concatenate(both) for both in ((one.numbers, other.numbers), (one.counts, other.counts)))
    total = max(float(counts.sum()), 1.0)
    mean = float(numbers @ counts) / total
    smaller = max(min(float(one.counts.sum()), float(other.counts.sum())), 1.0)
    error = math.sqrt(max(float((numbers - mean) ** 2 @ counts) / total, 0.0) / smaller)
    inside = [end for end in (mean + STEPS * error).tolist() if low < end < high]
    return [low, *sorted({*inside}), high]


def _pairs(ends: list[float]) -> tuple[Floats, Floats]:
    return np.array(ends[:-1]), np.array(ends[1:])


def _logs(one: Sides, other: Sides, means: Floats) -> tuple[Floats, ...]:
    """Evidence that the first mean is above and below each number, and that the second is."""
    return one.all_above(means), one.all_below(means), other.all_above(means), other.all_below(means)


def _bounds(left: tuple[Floats, ...], right: tuple[Floats, ...]) -> Floats:
    """The least logarithm of the sum of both products between two means, for many pairs of them."""
    return np.asarray(np.logaddexp(right[0] + left[3], left[1] + right[2]))


def _test(said: str, log_capital: float, effect: Effect, valid: str, sources: Sources, simulated: bool) -> Test:
    e_value = math.exp(min(log_capital, 700.0))
    p_value = math.exp(min(0.0, -log_capital))
    valid_given = f"{valid} {WATCHED}"
    return Test(said, e_value, p_value, E_VALUE, None, effect, valid_given, sources=sources, simulated=simulated)
