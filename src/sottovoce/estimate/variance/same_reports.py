"""Any function of a whole number from the reports of a finite channel: the variance from the reports of a mean.

If a channel rounds every whole number of a domain to itself before it randomises, numbers w(y) for its outputs with
E[w(report) | x] = f(x) for *every* x make the mean of w an unbiased estimate of the mean of f. They solve a linear
system whose matrix is the law of the channel, here exactly, in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import NamedTuple

from sottovoce.core.channel import Channel, Subset
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.shapes import after_rounding
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Variance
from sottovoce.estimate.evidence import Counted
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise
from sottovoce.estimate.variance.spread import VarianceEvidence

MOST = 64  # whole numbers of a domain
Row = tuple[Fraction, ...]


def unbiased(channel: Channel, wanted: Sequence[Fraction]) -> Row:
    """Numbers for the outputs whose mean given code i is wanted[i]; of several solutions one of small variance."""
    if isinstance(channel, Subset) and channel.w == 1:
        own, other = channel.rates()
        rest = other * sum(wanted)
        return tuple((value - rest) / (own - other) for value in wanted)
    return _solution(channel, tuple(wanted))


@lru_cache(maxsize=64)
def _solution(channel: Channel, wanted: Row) -> Row:
    """The solution of least mean square if all codes are equally common: D P^T (P D P^T)^-1 f, D = 1 / mean law."""
    outputs = outputs_of(channel)
    if outputs is None or channel.inputs > MOST:
        raise ParameterError(f"The law of this {channel.kind} channel cannot be solved for functions of a number.")
    laws = [[channel.likelihood(y, code) for y in range(outputs)] for code in range(channel.inputs)]
    means = [sum(column) / channel.inputs for column in zip(*laws, strict=True)]
    scaled = [[p / m if m else Fraction(0) for p, m in zip(row, means, strict=True)] for row in laws]
    gram = [[sum(map(mul, left, right), Fraction(0)) for right in scaled] for left in laws]
    factors = _solve(gram, wanted)
    return tuple(sum(map(mul, factors, column), Fraction(0)) for column in zip(*scaled, strict=True))


def _solve(matrix: list[list[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """Gauss and Jordan, in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next((i for i in range(place, len(rows)) if rows[i][place]), None)
        if pivot is None:
            raise ParameterError("The law of this channel is singular: its reports determine a mean only.")
        rows[place], rows[pivot] = rows[pivot], rows[place]
        first = rows[place][place]
        rows[place] = [value / first for value in rows[place]]
        for i, row in enumerate(rows):
            if i != place and row[place]:
                factor = row[place]
                rows[i] = [a - factor * b for a, b in zip(row, rows[place], strict=True)]
    return [row[-1] for row in rows]


class SquareReadings(NamedTuple):
    """The readings of each output: the number itself, its squared distance from the centre, and their noise."""

    centre: Fraction
    number: Row
    square: Row
    number_noise: Row  # their means are the variances of both readings given the answer, and their covariance
    square_noise: Row
    covariance_noise: Row


@lru_cache(maxsize=16)
def readings(mechanism: Mechanism) -> SquareReadings:
    """The two readings of every report, about the middle of the domain; another centre gives the same estimate."""
    domain, channel = mechanism.domain, mechanism.channel
    whole = domain.whole
    if whole is None or whole.size > MOST:
        raise ParameterError(
            f"A variance from the same reports as the mean needs whole numbers, at most {MOST} of them."
        )
    rounding = rounding_of(channel)
    law = after_rounding(channel)
    if law is None or rounding is None:
        raise ParameterError("A variance from the same reports as the mean needs a channel that rounds to a grid.")
    if rounding.steps != whole.size - 1:
        raise ParameterError(
            f"The grid of this {mechanism.name} has {rounding.steps + 1} points; every one of the {whole.size} whole"
            " numbers must be one of them, or rounding would add to the variance."
        )
    answers = [Fraction(answer) for answer in range(whole.low, whole.high + 1)]
    centre = (answers[0] + answers[-1]) / 2
    squares = [(answer - centre) ** 2 for answer in answers]
    number, square = unbiased(law, answers), unbiased(law, squares)

    def noise(left: Row, right: Row, expected: Callable[[int], Fraction]) -> Row:
        laws = ([law.likelihood(y, code) for y in range(len(left))] for code in range(len(answers)))
        products = list(map(mul, left, right))
        return unbiased(
            law, [sum(map(mul, row, products), Fraction(0)) - expected(code) for code, row in enumerate(laws)]
        )

    return SquareReadings(
        centre,
        number,
        square,
        noise(number, number, lambda code: answers[code] ** 2),
        noise(square, square, lambda code: squares[code] ** 2),
        noise(number, square, lambda code: answers[code] * squares[code]),
    )


def from_outputs(mean: MeanEvidence) -> VarianceEvidence:
    """The evidence about the variance of a tally of outputs from which a mean was read."""
    counted = mean.counted
    if counted is None:
        raise ParameterError("A variance from the same reports needs the tally of a mean.")
    read, n = readings(counted.mechanism), counted.n
    poor = bool(mean.normal_is_poor()[0])
    # Squares about the middle reach up to half the range, squared.
    square_ends = 0.0, max((end - float(read.centre)) ** 2 for end in mean.ends)
    number, square = _part(read.number, counted, mean.ends, poor), _part(read.square, counted, square_ends, poor)
    product = _mean(tuple(map(mul, read.number, read.square)), counted)
    covariance = (product - number.mean * square.mean) * n / (n - 1)

    def noise() -> ReadingNoise:
        rows = (read.number_noise, read.square_noise, read.covariance_noise)
        return ReadingNoise(*(float(_mean(row, counted)) for row in rows))

    asked = Variance(counted.mechanism.question.domain)
    return VarianceEvidence(
        number, square, read.centre, mean.ends, joint=covariance, noise=noise, question=asked, also=(mean,)
    )


def _mean(row: Row, tally: Counted) -> Fraction:
    return sum(map(mul, row, map(Fraction, tally.cells.tolist())), Fraction(0)) / tally.n


def _part(row: Row, tally: Counted, ends: tuple[float, float], poor: bool) -> MeanPart:
    if tally.n < 2:
        raise ParameterError("A variance needs at least two reports.")
    mean = _mean(row, tally)
    variance = (_mean(tuple(value**2 for value in row), tally) - mean**2) * tally.n / (tally.n - 1)
    return MeanPart(tally.n, mean, variance, float(max(row) - min(row)), ends, poor, float(min(row)))
