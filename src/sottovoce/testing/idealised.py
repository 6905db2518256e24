"""Checks of idealised mechanisms for vectors of a ball, in place of an exact law: ratio, mean and variance.

The closed forms of such mechanisms are those of real numbers and cannot be enumerated; so reports are drawn, and must
not refute them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaincinv

from sottovoce.core.channel import Cap
from sottovoce.core.channel.facets import dimensions_of, facet, need
from sottovoce.core.channel.shapes import Capped
from sottovoce.core.channel.vector.sphere import facts
from sottovoce.core.domain import Ball
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.vector_mean.ball import from_cells, predicted_variance
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.testing.codes import require
from sottovoce.testing.statistics import ALPHA

Floats = NDArray[np.float64]
OFF = 0.3  # relative error of a mean that must be noticed
LOSS = 0.35  # of epsilon that rounding may hide: a larger gap means that the budget is not used
MOST_COORDINATES = 1 << 26  # that drawing reports may take
FEWEST = 500  # reports of the rarer event, from which on the ratio is known well enough


def check_drawn_ball(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have mean and variance of the closed forms, and do not refute the ratio."""
    check_mean_and_variance(mechanism, seed, reports)
    capped = facet(mechanism.channel, Capped)
    if capped is not None:
        question = VectorMean(Ball(1, capped.cap.size))
        inner = Mechanism("inner", question, capped.cap, mechanism.claimed, Sums(), guarantee=IDEALISED)
        check_ratio(inner, seed, reports)


def check_mean_and_variance(mechanism: Mechanism, seed: int, reports: int, off: float = OFF) -> None:
    """The mean report along the answer is its length, and the spread of all coordinates is what is predicted."""
    dimensions = dimensions_of(mechanism.channel) or 0
    radius = float(mechanism.domain.radius)  # type: ignore[attr-defined]
    direction = np.random.default_rng([seed, 1]).normal(size=dimensions)
    held = direction / np.linalg.norm(direction)
    variances = predicted_variance(mechanism, radius * held) / radius**2
    deviate = float(stats.norm.isf(ALPHA / 2))
    needed = math.ceil((2.2 * deviate / off) ** 2 * float(variances.max()))
    count = min(max(reports, needed), max(100, MOST_COORDINATES // dimensions))
    batch = draw(mechanism, np.tile(held, (count, 1)), WordStream.seeded(mechanism.words, seed))
    evidence = from_cells(mechanism, count, mechanism.tally(batch).cells)
    means, spreads = evidence.values() / radius, evidence.spreads / radius**2
    away = float(means @ held) - 1
    # Along the answer the variance is a mean of those of the coordinates, so at most the largest of them.
    bound = deviate * math.sqrt(float(variances.max()) / count)
    require(abs(away) <= bound, f"{mechanism.name}: the mean report is {away:+.3g} off, more than {bound:.3g}.")
    require(bound < off or count < needed, f"{mechanism.name}: {count} reports are too few to detect a wrong mean.")
    chi = float(((means - held) ** 2 / variances).sum() * count)
    # The answer's own direction is one of d; all of them have nearly the same variance, which the factor allows for.
    limit = 1.1 * float(stats.chi2.isf(ALPHA, dimensions))
    require(chi <= limit, f"{mechanism.name}: the mean report is off in some direction, {chi:.4g} > {limit:.4g}.")
    ratio = float(spreads.sum() / variances.sum())
    slack = deviate * math.sqrt(6 / (count * min(dimensions, 30))) + deviate * math.sqrt(6 / count) / dimensions + 1e-3
    require(abs(ratio - 1) <= slack, f"{mechanism.name}: the spread of reports is {ratio:.4f} times the predicted one.")


def check_ratio(mechanism: Mechanism, seed: int, reports: int) -> None:
    """How often reports lie in the cap of an answer, for that answer and for its opposite: at most e**epsilon apart."""
    channel = need(mechanism.channel, Capped).cap
    count = min(max(reports, 20_000), max(100, MOST_COORDINATES // channel.size))
    pole = np.random.default_rng([seed, 2]).normal(size=channel.size)
    pole /= np.linalg.norm(pole)
    hits = [
        int((components(mechanism, sign * pole, pole, count, seed + place) >= threshold_of(channel)).sum())
        for place, sign in enumerate((1.0, -1.0))
    ]
    low = betaincinv(max(hits[0], 1), count - hits[0] + 1, ALPHA / 2) if hits[0] else 0.0
    high = betaincinv(hits[1] + 1, max(count - hits[1], 1), 1 - ALPHA / 2)
    epsilon = float(mechanism.claimed)
    shown = f"{mechanism.name}: {hits[0]} and {hits[1]} of {count} reports of opposite answers lie in a cap"
    require(low <= 0 or math.log(low / high) <= epsilon, f"{shown}, which refutes epsilon {epsilon:g}.")
    if hits[1] >= FEWEST:
        require(math.log(hits[0] / hits[1]) >= (1 - LOSS) * epsilon - 0.15, f"{shown}: epsilon is not used.")


def threshold_of(channel: Cap) -> float:
    """The threshold in lengths of the drawn vector."""
    return float(channel.threshold) / (1.0 if channel.law == "sphere" else math.sqrt(channel.size))


def components(mechanism: Mechanism, held: Floats, pole: Floats, count: int, seed: int) -> Floats:
    """The component along a direction of many reports of one answer, in lengths of the drawn vector."""
    channel = need(mechanism.channel, Capped).cap
    batch = draw(mechanism, np.tile(held, (count, 1)), WordStream.seeded(mechanism.words, seed))
    reading = channel.reading()
    return np.asarray((batch.payloads() - reading.origin) * (reading.step * facts(channel).mean) @ pole)
