"""How often intervals of Gaussian means hold the truth: whole protocols, with tallies drawn from their exact law.

A tally of n reports of an arm is multinomial with the law of one report, for any mean and deviation of the answers. So
tallies are drawn without answers and reports; the analyst's part is unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.core.channel import Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above, Digit, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Estimates, Protocol, Round
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.gaussian.law import informed, law
from sottovoce.protocols.gaussian.known import GaussianMeanKnownSigma
from sottovoce.protocols.gaussian.unknown import GaussianMeanUnknownSigma
from sottovoce.protocols.play import play
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.rounds import GAUSSIAN_DELTA, GAUSSIAN_EPSILON, LONG, SHORT
from sottovoce_experiments.coverage.draws import arm_shares
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Ints = NDArray[np.int64]

WIDE, NARROW = Interval(*LONG), Interval(*SHORT)


def drawn(protocol: Protocol, mean: float, deviation: float, participants: int, rng: np.random.Generator) -> Estimates:
    """The estimates of a protocol when this many answers are normal with this mean and deviation."""
    left = participants

    def ask(stage: Round, number: int) -> tuple[Tally, ...]:
        nonlocal left
        asked = left if stage.quota is None else stage.quota
        left -= asked
        each = rng.multinomial(asked, arm_shares(stage))
        return tuple(
            _tally(arm.mechanism, mean, deviation, int(n), rng) for arm, n in zip(stage.arms, each, strict=True)
        )

    return play(protocol, ask).estimates


def _tally(mechanism: Mechanism, mean: float, deviation: float, n: int, rng: np.random.Generator) -> Tally:
    if isinstance(mechanism.statistic, CountOutputs):
        shares = law(mechanism, mean, deviation)
        return Tally(mechanism, n, rng.multinomial(n, shares / shares.sum()).astype(np.int64))
    return Tally(mechanism, n, _supports(mechanism, mean, deviation, n, rng))


def _supports(mechanism: Mechanism, mean: float, deviation: float, n: int, rng: np.random.Generator) -> Ints:
    """Bits of a histogram are flipped independently: for the holders of a bin, and for all others."""
    view, rates = mechanism.domain, rates_of(mechanism.channel)
    if not isinstance(view, Digit) or not isinstance(rates, Rates):
        raise TypeError("Only histograms of bins can be drawn by their supports.")
    edges = float(view.origin) + float(view.width) * np.arange(view.base + 1)
    shares = np.diff(ndtr((edges - mean) / deviation))
    holders = rng.multinomial(n, shares / shares.sum())
    found = rng.binomial(holders, float(rates.own)) + rng.binomial(n - holders, float(rates.other))
    return np.asarray(found, np.int64)


def best_error(epsilon: Any, n: int) -> float:
    """The least standard error of one bit from each of n, in deviations: the side of the mean, if it were known."""
    side = build("rr", Above(WIDE, 0), epsilon=epsilon)
    return 1 / math.sqrt(n * float(informed([(side, 1.0)], 0.0, 1.0)[0, 0]))


def measured(protocol: Protocol, mean: float, deviation: float, participants: int, runs: int, seed: int) -> Coverage:
    """Coverage over many runs; error and width in deviations, efficiency against the best one bit."""
    rng = np.random.default_rng(seed)
    held, errors, halves = 0, [], []
    for _ in range(runs):
        found = drawn(protocol, mean, deviation, participants, rng)["mean"]
        low, high = found.quiet_ci(LEVEL)
        held += bool(low[0] <= mean <= high[0])
        errors.append((found.value - mean) / deviation)
        halves.append(float(high[0] - low[0]) / 2 / deviation)
    # The median square instead of the mean: one run in a thousand may find the wrong place.
    error = float(np.median(np.abs(errors))) / 0.6744897501960817
    best = best_error(getattr(protocol, "epsilon"), participants)  # noqa: B009
    numbers = {
        "error": error,
        "half_width": float(np.median(halves)),
        "efficiency": (best / error) ** 2,
        "largest": float(np.max(np.abs(errors))),
    }
    return Coverage(method=found.default_method, coverage=held / runs, runs=runs, numbers=numbers)


def protocol_of(name: str, participants: int) -> Protocol:
    """The protocol of a line: a known deviation is 1.5, an unknown one lies from 0.1 to 100."""
    epsilon, delta = GAUSSIAN_EPSILON, GAUSSIAN_DELTA if name.endswith("Delta") else None
    rounds = 1 if name.endswith("OneRound") else 2
    if name.startswith("GaussianMeanKnownSigma"):
        domain = WIDE if delta is None else NARROW
        return GaussianMeanKnownSigma(domain, "1.5", epsilon, participants, rounds=rounds, delta=delta)
    return GaussianMeanUnknownSigma(WIDE, "0.1", "100", epsilon, participants, rounds=rounds, delta=delta)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whole protocols, for one law of the answers."""
    protocol = protocol_of(point["protocol"], point["n"])
    return [measured(protocol, point["mean"], point["deviation"], point["n"], runs, seed)]
