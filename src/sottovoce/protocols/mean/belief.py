"""A belief about the answers from a first round, and whether a channel designed for it would pay."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Domain
from sottovoce.core.domain.base import Numbers
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.design.designed import uniform
from sottovoce.estimate.frequency.maximise import em_step
from sottovoce.estimate.frequency.mixture import Dense
from sottovoce.estimate.mean.moments import numbers_of
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.estimate.prior import Prior
from sottovoce.tally.laws import law_at, law_row
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
# Likelihood steps from even shares. The maximum itself has a few spikes; stopped here, answers that reports do not
# distinguish still have even shares, and the design is close to that for the true law at every budget.
STEPS = 400
# Pseudo-participants with evenly spread answers: answers that are absent from the first round may occur later, and
# the design must not be costly for them.
CAUTION = 15
PLACES = 6  # of a share: the same design on machines whose sums differ in the last bits
# The optimism of a design under its own belief, compared with the truth, in reports of round one.
OPTIMISM = 8
LEAST_GAIN = 0.005  # of the variance: a smaller gain is not worth a second question


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision after round one: a belief about the answers, and the mechanism of round two.

    `gain` is the share of the variance of one report that the design would save under this belief, `needed` the
    share it must save to be used. `variances` are those of one report of round one and of round two, with the spread of
    the answers.
    """

    belief: Prior
    mechanism: Mechanism
    adapted: bool
    gain: float
    needed: float
    variances: tuple[float, float]

    @property
    def reason(self) -> str:
        """The decision and its reason in one sentence."""
        if self.adapted:
            return (
                "Adapted: after round one the channel designed for its answers promised"
                f" {self.gain:.1%} less variance than the one-round channel, so round two was asked through it."
            )
        return (
            "Fell back: after round one the channel designed for its answers promised"
            f" {max(self.gain, 0):.1%} less variance than the one-round channel, and promises below {self.needed:.1%}"
            " are not trusted; so round two was asked through the one-round channel."
        )


def points(domain: Domain, inputs: int) -> list[Fraction]:
    """The codes of the grid to which a design rounds; of numbers in bins the codes of the numbers themselves."""
    numbers = _numbers(domain)
    return [numbers.low + (numbers.high - numbers.low) * Fraction(i, inputs - 1) for i in range(inputs)]


def _numbers(domain: Domain) -> Numbers:
    numbers = domain.numbers or domain.root.numbers
    if numbers is None:
        raise ParameterError("A belief needs answers that are numbers.")
    return numbers


def _reported(domain: Domain, code: Fraction) -> Fraction:
    """The code through which a number is reported: its own, or its bin's where a square wave puts numbers into bins."""
    if domain.numbers is not None:
        return code
    bins: Any = domain
    return Fraction(bisect_right(bins.edges, code + _numbers(domain).origin))


@lru_cache(maxsize=32)
def _law(mechanism: Mechanism, inputs: int) -> Floats:
    """The law of a report at each point of the grid, one column each."""
    codes = (_reported(mechanism.domain, code) for code in points(mechanism.domain, inputs))
    return np.array([law_at(mechanism.channel, code) for code in codes]).T


def believed(tally: Tally, inputs: int, *, between: bool) -> Prior:
    """A cautious estimate of the law of the rounded answers, by likelihood."""
    mechanism, seen = tally.mechanism, np.flatnonzero(tally.cells)
    mixture = Dense(np.ascontiguousarray(_law(mechanism, inputs)[seen]), tally.cells[seen].astype(float))
    even = uniform(inputs, between=between)
    shares = np.full(inputs, 1 / inputs)
    for _ in range(STEPS):
        shares = em_step(shares, mixture.slope(shares))
    cautious = (tally.n * shares + CAUTION * even) / (tally.n + CAUTION)
    origin = _numbers(mechanism.domain).origin
    values = [float(code + origin) for code in points(mechanism.domain, inputs)]
    return Prior(values, np.round(cautious, PLACES))


def published_belief(tally: Tally, inputs: int) -> Prior:
    """The published estimate of the law, without likelihood and without caution.

    For randomized response the matrix of its law is inverted. Negative shares become 0, and the rest is scaled to sum
    to 1 (Wei et al., algorithm 5). For additive noise the noisy numbers themselves are counted at the nearest points of
    the grid. Numbers outside the range are left out (appendix B.1).
    """
    mechanism, grid = tally.mechanism, rounding_of(tally.mechanism.channel)
    low, high = numbers_of(mechanism).ends
    outputs = len(tally.cells)
    if grid is not None and grid.steps + 1 == outputs:
        law = np.array([law_row(mechanism.channel, point) for point in range(outputs)])
        shares = np.maximum(np.linalg.solve(law.T, tally.cells / tally.n), 0)
    else:
        read = numbers_at(*scale_of(mechanism.channel, numbers_of(mechanism).origin), np.arange(outputs))
        places = np.round((read - low) / (high - low) * (inputs - 1)).astype(np.int64)
        inside = (places >= 0) & (places < inputs)
        shares = np.bincount(places[inside], tally.cells[inside], inputs)
    if not shares.sum() > 0:
        shares = np.ones(len(shares))
    return Prior(np.linspace(low, high, len(shares)), np.round(shares / shares.sum(), PLACES))


def belief_error(truth: Prior, belief: Prior) -> float:
    """The largest relative error of a share of a belief, psi of Claim 3; infinite if it expects impossible answers."""
    expected = dict(zip(belief.values, belief.weights, strict=True))
    actual = dict(zip(truth.values, truth.weights, strict=True))
    pairs = [(expected.get(value, 0.0), actual.get(value, 0.0)) for value in expected.keys() | actual.keys()]
    return max(abs(one - other) / other if other else inf if one else 0.0 for one, other in pairs)


def variance_error(error: float) -> tuple[float, float]:
    """Limits of true over promised variance of a design, if shares of its belief have relative errors up to `error`.

    Claim 3 of Wei et al., corrected. Let V be the true average variance, and W the one that the belief promises. For
    any channel |W - V| / V <= error, so V / W lies between 1 / (1 + error) and 1 / (1 - error). The published bound of
    |W - V| / V is error / (1 + error). A belief with too large shares where the variance is large exceeds it.
    """
    if not error >= 0:
        raise reject("error", "the variance error", "a number that is not negative", error)
    return 1 / (1 + error), 1 / (1 - error) if error < 1 else inf


def spread(mechanism: Mechanism, belief: Prior) -> float:
    """The variance of the reading of one report, for an answer drawn from the belief."""
    return mechanism.average_variance(belief) + belief.variance


def needed_gain(asked: int) -> float:
    """The gain that a design from this number of reports must promise."""
    return LEAST_GAIN + OPTIMISM / asked


def decide(first: Tally, belief: Prior, one_round: Mechanism, design: Mechanism) -> Decision:
    """The design if it promises enough, else the one-round channel."""
    usual, best = spread(one_round, belief), spread(design, belief)
    gain, needed = 1 - best / usual, needed_gain(first.n)
    adapted = gain >= needed
    chosen = design if adapted else one_round
    read = first.mechanism.question.room == one_round.question.room  # else its reports are no part of the mean
    before = usual if first.mechanism == one_round else spread(first.mechanism, belief) if read else inf
    return Decision(belief, chosen, adapted, gain, needed, (before, best if adapted else usual))
