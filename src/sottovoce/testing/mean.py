"""Checks of mechanisms for means, in addition to the contract: their reports, read as numbers, are unbiased."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from sottovoce.core.channel import Channel, Rounding
from sottovoce.core.channel.facets import Numeric, need, outputs_of, readings, rounding_of, scales_of, stages_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.shapes import after_rounding, is_clamped
from sottovoce.core.domain import Interval
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Mean
from sottovoce.estimate.mean.evidence import from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.testing.codes import codes_of, loosest, require
from sottovoce.testing.statistics import check_mean, check_rate, reports_for_mean

CLAMPED = Fraction(1, 10**9)  # of the range, that clamped noise may be biased
MOST_SUMMED = 1 << 12  # outputs whose likelihoods are summed up
HELD = Fraction(7, 10)  # of the way through the range: the answer of everyone when reports are drawn
OFF = 0.15  # of the range: a mean that is 30 % of half the range off must be noticed


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question asked through a small channel."""
    rounding = rounding_of(channel)
    if rounding is None:
        raise AssertionError("Numbers are not rounded first.")
    question = Mean(Interval(rounding.low, rounding.high))
    claimed, guarantee = Decimal(MAX_EPSILON), loosest(mechanism.guarantee)
    forever = None if stages_of(channel) is None else claimed
    return Mechanism(
        mechanism.name, question, channel, claimed, mechanism.statistic, guarantee=guarantee, claimed_forever=forever
    )


def check_small(mechanism: Mechanism) -> None:
    """Moments in closed form are those of the enumerated law; so are bias and variance of the shipped estimator."""
    channel = mechanism.channel
    reads = _readings(channel)
    _check_readings(mechanism, [output for output in range(len(reads)) if channel.contains(output)])
    # A grid point that is rounded once more is read to 2**-32 of its way; at full size such ways are powers of two.
    rounding = _rounding(mechanism)
    twice = rounding.step * rounding.steps / (2 << PLACES) if _rounds_twice(channel) else 0
    for code in codes_of(channel):
        first = second = Fraction(0)
        for (_, report), probability in law(channel, code).items():
            first += probability * reads[report]
            second += probability * reads[report] ** 2
        moments = need(channel, Numeric).moments(code)
        require(moments == (first, second), f"The moments differ from the law at {code}.")
        require(is_clamped(channel) or abs(first - code) <= twice, f"The mean is biased at {code}.")
        predicted = mechanism.variance(code, 1, target="sample")
        error = abs(Fraction(predicted) - (second - first**2))
        require(error <= second / 10**9, f"The predicted variance differs from the law at {code}.")


def check_whole(mechanism: Mechanism) -> None:
    """At full size: no bias at the ends of the range, in its middle and between grid points; one variance."""
    channel, rounding = mechanism.channel, _rounding(mechanism)
    numbers = mechanism.domain.numbers
    require(numbers is not None, "The answers are not numbers.")
    low, high, origin = numbers or (Fraction(0), Fraction(0), Fraction(0))
    outputs = outputs_of(channel) or 0
    _check_readings(mechanism, [output for output in (0, outputs // 2, outputs - 1) if channel.contains(output)])
    top = rounding.steps << PLACES
    codes = [rounding.number(place) for place in (0, top // 2, top // 3, top - 1, top)]
    allowed = CLAMPED * (high - low) if is_clamped(channel) else Fraction(0)
    for code in codes:
        first, _ = need(channel, Numeric).moments(code)
        require(abs(first - code) <= allowed, f"The mean is biased by {float(first - code):.3g} at {code}.")
    alone = np.array([mechanism.variance(code + origin, target="sample") for code in codes])
    many = mechanism.variance(np.array([float(code + origin) for code in codes]), target="sample")
    require(bool(np.allclose(alone, many, rtol=1e-6)), "The variances of an array differ from those of its numbers.")
    if mechanism.domain.size is None:
        worst = mechanism.worst_case_variance()
        require(bool((alone <= worst * (1 + 1e-12)).all()), "Some variance exceeds the worst case.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """The closed forms at full size, and reports that were drawn."""
    check_whole(mechanism)
    check_drawn_mean(mechanism, seed, reports)


def check_drawn_mean(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the mean of the law, and enough of them to notice one that is off."""
    channel, rounding = mechanism.channel, _rounding(mechanism)
    reads = _readings(channel)
    length = float(rounding.step * rounding.steps)
    place = int(HELD * (rounding.steps << PLACES))
    first, second = need(channel, Numeric).moments(rounding.number(place))
    variance, reach = float(second - first**2), float(max(reads) - min(reads))
    count = max(reports, reports_for_mean(variance, reach, OFF * length))
    mean = float(np.dot(np.array(reads, float), _drawn(mechanism, place, count, seed))) / count
    check_mean(f"{mechanism.name}, drawn mean", mean, count, float(first), variance, reach, OFF * length)
    if len(reads) <= MOST_SUMMED:
        half = range(len(reads) // 2, len(reads))
        end = rounding.number(rounding.steps << PLACES)
        rate = sum((channel.likelihood(y, end) for y in half if channel.contains(y)), Fraction(0))
        cells = _drawn(mechanism, rounding.steps << PLACES, reports, seed)
        check_rate(f"{mechanism.name}, upper outputs", int(cells[half.start :].sum()), reports, float(rate))


def _drawn(mechanism: Mechanism, place: int, count: int, seed: int) -> np.ndarray:
    batch = draw(mechanism, np.full(count, place, np.uint64), WordStream.seeded(mechanism.words, seed))
    cells: np.ndarray = mechanism.tally(batch).cells
    return cells


def _check_readings(mechanism: Mechanism, outputs: list[int]) -> None:
    """The estimate from one report is its reading."""
    reads = _readings(mechanism.channel)
    origin = mechanism.domain.numbers.origin if mechanism.domain.numbers else Fraction(0)
    scale = float(max(map(abs, reads)) + abs(origin))
    for output in outputs:
        (value,) = from_cells(mechanism, 1, np.eye(1, mechanism.cells, output, dtype=np.int64)[0]).values()
        require(abs(value - float(reads[output] + origin)) <= 1e-12 * scale, "A report is not read by its scale.")


def numbers(mechanism: Mechanism) -> np.ndarray:
    """The reading of each output, as an answer."""
    origin = mechanism.domain.numbers.origin if mechanism.domain.numbers else Fraction(0)
    return np.array([float(read + origin) for read in _readings(mechanism.channel)])


def _readings(channel: Channel) -> list[Fraction]:
    scales = scales_of(channel)
    require(scales is not None, "The reports are not read as numbers.")
    return list(readings(scales or (), outputs_of(channel) or 0))


def _rounding(mechanism: Mechanism) -> Rounding:
    rounding = rounding_of(mechanism.channel)
    if rounding is None:
        raise AssertionError("Numbers are not rounded first.")
    return rounding


def _rounds_twice(channel: Channel) -> bool:
    """Whether some branch of a mix rounds the grid point that it is given."""
    return any(rounding_of(branch) is not None for branch in (after_rounding(channel) or channel).parts)
