"""Checks of mechanisms for vectors, in addition to the contract: each coordinate is unbiased."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import Coordinates, need, readings, slots_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.shapes import is_clamped
from sottovoce.core.domain import Box
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import VectorMean
from sottovoce.estimate.vector_mean.evidence import evidence
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.testing.codes import codes_of, require
from sottovoce.testing.idealised import check_drawn_ball
from sottovoce.testing.mean import CLAMPED, HELD, OFF
from sottovoce.testing.sparse import check_drawn_sparse, check_small_sparse
from sottovoce.testing.statistics import check_mean, reports_for_mean

MOST_WORDS = 1 << 27  # that drawing reports may take


def box_of(channel: Channel) -> Box:
    """The vectors that a channel takes whose coordinates all have the same grid."""
    known = need(channel, Coordinates)
    return Box(known.roundings[0].low, known.roundings[0].high, known.dimensions)


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question asked through a small channel."""
    slots = slots_of(channel)
    domain = box_of(channel) if slots is None else slots.vectors
    return Mechanism(mechanism.name, VectorMean(domain), channel, Decimal(MAX_EPSILON), mechanism.statistic)


def check_small(mechanism: Mechanism) -> None:
    """Over the enumerated law each coordinate is chosen equally often, and its reading has the mean of the answer and
    the moments of the closed form."""
    if slots_of(mechanism.channel) is not None:
        check_small_sparse(mechanism)
        return
    channel, known = mechanism.channel, need(mechanism.channel, Coordinates)
    dimensions = known.dimensions
    if known.part_scales() is None:
        return  # a stand-in of a table, whose own moments are checked at full size
    reads = _readings(channel)
    grid = known.roundings[0]
    for code in codes_of(channel):
        chosen = [Fraction(0)] * dimensions
        first, second = [Fraction(0)] * dimensions, [Fraction(0)] * dimensions
        for (words, report), probability in law(channel, code).items():
            for coordinate, part in known.parts_of(report, words):
                chosen[coordinate] += probability
                first[coordinate] += probability * reads[part]
                second[coordinate] += probability * reads[part] ** 2
        for coordinate, number in enumerate(code):
            share = Fraction(known.chosen, dimensions)
            require(chosen[coordinate] == share, "A coordinate is chosen more often than others.")
            expected = _moments(channel, number)
            require(
                (first[coordinate] / share, second[coordinate] / share) == expected, "The moments differ from the law."
            )
            point = (number - Fraction(grid.low)) / grid.step
            require(is_clamped(channel) or expected[0] == point, f"The mean of coordinate {coordinate} is biased.")
            predicted = mechanism.variance([float(entry) for entry in code], 1, target="sample")[coordinate]
            exact = float(grid.step**2 * (expected[1] - expected[0] ** 2) / share)
            require(abs(predicted - exact) <= 1e-9 * exact, "The predicted variance differs from the law.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """At full size: the closed form is unbiased on the grid, and drawn reports have its mean in every coordinate."""
    if not mechanism.channel.exact:
        check_drawn_ball(mechanism, seed, reports)
        return
    if slots_of(mechanism.channel) is not None:
        check_drawn_sparse(mechanism, seed, reports)
        return
    channel, reads = mechanism.channel, _readings(mechanism.channel)
    known = need(channel, Coordinates)
    grid = known.roundings[0]
    for point in (0, grid.steps // 2, grid.steps):
        bias = abs(known.part_moments(point)[0] - point)
        require(bias <= (CLAMPED * grid.steps if is_clamped(channel) else 0), f"A coordinate is biased at {point}.")
    place = int(HELD * (grid.steps << PLACES))
    first, second = _moments(channel, grid.number(place))
    variance, reach = float(second - first**2), float(max(reads) - min(reads))
    dimensions = known.dimensions
    needed = max(reports, reports_for_mean(variance, reach, OFF * grid.steps)) * dimensions // known.chosen
    rows = min(needed, MOST_WORDS // (channel.words + 2))
    codes = np.full((rows, dimensions), place, np.uint64)
    tally = mechanism.tally(draw(mechanism, codes, WordStream.seeded(mechanism.words, seed)))
    means = evidence(mechanism, tally)
    counts = tally.cells.reshape(dimensions, -1).sum(axis=1)
    for coordinate in dict.fromkeys((0, dimensions // 2, dimensions - 1)):
        count = int(counts[coordinate])
        mean = (float(means.values()[coordinate]) - float(means.limits[0][coordinate])) / _step(mechanism, coordinate)
        if rows == needed:
            name = f"{mechanism.name}, mean of coordinate {coordinate}"
            check_mean(name, mean, count, float(first), variance, reach, OFF * grid.steps)


def _step(mechanism: Mechanism, coordinate: int) -> float:
    return float(need(mechanism.channel, Coordinates).roundings[coordinate].step)


def _moments(channel: Channel, number: Fraction) -> tuple[Fraction, Fraction]:
    """Moments of the two grid points beside a number, mixed as rounding mixes them."""
    known = need(channel, Coordinates)
    grid = known.roundings[0]
    point, rest = divmod(grid.position(number), 1 << PLACES)
    up = Fraction(rest, 1 << PLACES)
    low, high = known.part_moments(point), known.part_moments(min(point + 1, grid.steps))
    return (1 - up) * low[0] + up * high[0], (1 - up) * low[1] + up * high[1]


def _readings(channel: Channel) -> list[Fraction]:
    known = need(channel, Coordinates)
    scales = known.part_scales()
    require(scales is not None, "The reports of a coordinate are not read as numbers.")
    return list(readings(scales or (), known.part_outputs))
