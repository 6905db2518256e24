"""How often intervals of Gaussian means hold the truth: whole protocols, with tallies drawn from their exact law.

A tally of n reports of an arm is multinomial with the law of one report, for whatever mean and deviation the answers
have. So no answers are drawn and no report is made, which leaves the analyst's part as it is and saves the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from sottovoce.protocols.gaussian.delta import KnownVar, UnkVar
from sottovoce.protocols.gaussian.known import KVGausstimate, OneRoundKVGausstimate
from sottovoce.protocols.gaussian.unknown import OneRoundUVGausstimate, UVGausstimate
from sottovoce.tally.tally import Tally

Ints = NDArray[np.int64]

EPSILON = "1"
DELTA = "0.000001"
LEVEL = 0.95
SEED = 20_260_116
SIZES = ((10_000, 400), (100_000, 200))  # participants, runs
WIDE = Interval(-500_000, 500_000)
NARROW = Interval(-1_000, 1_000)  # for a histogram of the whole domain


@dataclass(frozen=True, slots=True)
class GaussianCoverage:
    """One row: coverage of the mean's intervals, error and width in deviations, efficiency against the best one bit."""

    protocol: str
    n: int
    mean: float
    deviation: float
    runs: int
    coverage: float
    error: float
    half_width: float
    efficiency: float
    largest: float


def drawn(protocol: Protocol, mean: float, deviation: float, participants: int, rng: np.random.Generator) -> Estimates:
    """The estimates of a protocol when this many answers are normal with this mean and deviation."""
    stage: Round | Estimates = protocol.start()
    history: list[tuple[Tally, ...]] = []
    while isinstance(stage, Round):
        asked = participants if stage.quota is None else stage.quota
        participants -= asked
        each = rng.multinomial(asked, np.array([arm.weight for arm in stage.arms]) / stage.weight)
        history.append(
            tuple(_tally(arm.mechanism, mean, deviation, int(n), rng) for arm, n in zip(stage.arms, each, strict=True))
        )
        stage = protocol.advance(history)
    return stage


def _tally(mechanism: Mechanism, mean: float, deviation: float, n: int, rng: np.random.Generator) -> Tally:
    if isinstance(mechanism.statistic, CountOutputs):
        shares = law(mechanism, mean, deviation)
        return Tally(mechanism, n, rng.multinomial(n, shares / shares.sum()).astype(np.int64))
    return Tally(mechanism, n, _supports(mechanism, mean, deviation, n, rng))


def _supports(mechanism: Mechanism, mean: float, deviation: float, n: int, rng: np.random.Generator) -> Ints:
    """Bits of a histogram are flipped independently: those of the holders of a bin, and those of all others."""
    view, rates = mechanism.domain, rates_of(mechanism.channel)
    if not isinstance(view, Digit) or not isinstance(rates, Rates):
        raise TypeError("Only histograms of bins are drawn by their supports.")
    edges = float(view.origin) + float(view.width) * np.arange(view.base + 1)
    shares = np.diff(ndtr((edges - mean) / deviation))
    holders = rng.multinomial(n, shares / shares.sum())
    found = rng.binomial(holders, float(rates.own)) + rng.binomial(n - holders, float(rates.other))
    return np.asarray(found, np.int64)


def best_error(epsilon: Any, n: int) -> float:
    """The least standard error of one bit from each of n, in deviations: the side of the mean itself, were it known."""
    side = build("rr", Above(WIDE, 0), epsilon=epsilon)
    return 1 / math.sqrt(n * float(informed([(side, 1.0)], 0.0, 1.0)[0, 0]))


def measured(
    protocol: Protocol, mean: float, deviation: float, participants: int, runs: int, seed: Sequence[int] = (SEED,)
) -> GaussianCoverage:
    """Coverage, error and width over many runs."""
    rng = np.random.default_rng([*seed, participants])
    held, errors, halves = 0, [], []
    for _ in range(runs):
        found = drawn(protocol, mean, deviation, participants, rng)["mean"]
        low, high = found.ci(LEVEL)
        held += bool(low[0] <= mean <= high[0])
        errors.append((found.value - mean) / deviation)
        halves.append(float(high[0] - low[0]) / 2 / deviation)
    # The median square rather than the mean: one run in a thousand may take another place for the right one.
    error = float(np.median(np.abs(errors))) / 0.6744897501960817
    best = best_error(getattr(protocol, "epsilon"), participants)  # noqa: B009
    return GaussianCoverage(
        type(protocol).__name__,
        participants,
        mean,
        deviation,
        runs,
        held / runs,
        error,
        float(np.median(halves)),
        (best / error) ** 2,
        float(np.max(np.abs(errors))),
    )


def protocols(participants: int) -> Iterator[tuple[Protocol, float, float]]:
    """Each protocol with a mean and a deviation: in the middle, far from it, and at both ends of what is allowed."""
    for mean, deviation in ((0.0, 1.5), (12345.678 * 1.5, 1.5)):
        yield KVGausstimate(WIDE, "1.5", EPSILON, participants), mean, deviation
        yield OneRoundKVGausstimate(WIDE, "1.5", EPSILON, participants), mean, deviation
    for mean, deviation in ((0.0, 0.13), (12345.678, 1.5), (-77.7, 80.0)):
        yield UVGausstimate(WIDE, "0.1", "100", EPSILON, participants), mean, deviation
        yield OneRoundUVGausstimate(WIDE, "0.1", "100", EPSILON, participants), mean, deviation
    yield KnownVar(NARROW, "1.5", EPSILON, DELTA, participants), 345.678, 1.5
    for mean, deviation in ((0.0, 0.13), (12345.678, 1.5), (-77.7, 80.0)):
        yield UnkVar(WIDE, "0.1", "100", EPSILON, DELTA, participants), mean, deviation


def table(sizes: Sequence[tuple[int, int]] = SIZES, seed: int = SEED) -> Iterator[GaussianCoverage]:
    """Every row."""
    for participants, runs in sizes:
        for place, (protocol, mean, deviation) in enumerate(protocols(participants)):
            yield measured(protocol, mean, deviation, participants, runs, (seed, place))


def markdown(rows: Sequence[GaussianCoverage]) -> str:
    """The part of the coverage page about Gaussian means."""
    runs = max((row.runs for row in rows), default=1)
    lines = [
        "",
        "## Gaussian means",
        "",
        f"Normal answers on a range of {float(WIDE.high - WIDE.low):g} (KnownVar: {float(NARROW.high - NARROW.low):g}),"
        f" epsilon {EPSILON}, delta {DELTA} where there is one; an unknown deviation is known to lie from 0.1 to 100."
        " Whole protocols with tallies drawn from their law. Promised are 93 to 97 %; the standard error of a coverage"
        f" near 95 % is {100 * math.sqrt(0.05 * 0.95 / runs):.2f} % at {runs:,} runs, by which single rows miss it."
        " Errors and half widths are in deviations; efficiency is the square of the error that one bit of everybody"
        " would have, asked at the mean itself, over that of the estimate.",
        "",
        "| protocol | n | mean | deviation | runs | coverage, % | error | half width | efficiency |",
        "|---" * 9 + "|",
    ]
    lines += [
        f"| {row.protocol} | {row.n} | {row.mean:g} | {row.deviation:g} | {row.runs} | {100 * row.coverage:.1f} |"
        f" {row.error:.4f} | {row.half_width:.4f} | {row.efficiency:.3f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"
