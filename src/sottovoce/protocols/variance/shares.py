"""The split of participants and budget for a variance: by the exact variance of its estimate under the prior."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Domain, Integers, Interval, Square
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.mean.moments import variances_at
from sottovoce.estimate.prior import CELLS, Prior, expected_answers
from sottovoce.estimate.variance.errors import error_variance
from sottovoce.estimate.variance.same_reports import readings
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
OFF = 0.5  # standard deviations by which the mean may differ from the prior, when shares are chosen
PEOPLE = (0.1, 0.9)  # share of the participants who report the number itself
FEWEST = 30  # of a first round
DIGITS = 12  # of a centre, within the range
_EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN)
BUDGETS = [Decimal(part) / 20 for part in range(2, 19)]  # shares of a budget that are tried


class Expected(NamedTuple):
    """Variances of single readings, of the number and of its square, and their covariance; the mean less the centre."""

    number: float
    square: float
    covariance: float
    distance: float
    spread: float  # variance of the answers themselves

    def moved(self, off: float) -> Expected:
        """Variances for answers all moved by this many standard deviations, up or down with equal probability.

        Up to noise that depends on the answer, moving by m adds 4 m**2 times the spread to the variance of the squares,
        and 2 m**2 times the spread to the mean product of distance and covariance.
        """
        more = off**2 * self.spread
        distance = math.copysign(math.sqrt(self.distance**2 + more), self.distance)
        product = self.distance * self.covariance + 2 * more * self.spread
        covariance = product / distance if distance else self.covariance
        return Expected(self.number, self.square + 4 * more * self.spread, covariance, distance, self.spread)

    def error(self, participants: tuple[int, int], *, together: bool = False) -> float:
        """The variance of the estimate; `together` if each participant reports both."""
        covariance = self.covariance if together else 0.0
        return error_variance(self.number, self.square, covariance, self.distance, participants)


@lru_cache(maxsize=32)
def belief(domain: Integers | Interval, prior: Prior | None) -> Prior:
    """The prior of the answers; for whole numbers, on whole numbers."""
    if prior is None:
        return expected_answers(domain)
    prior.scaled(domain.low, domain.high)  # refuses values outside the range
    integers = domain.whole
    if integers is None or integers.size > CELLS:
        return prior
    places = np.rint(np.subtract(prior.values, integers.low)).astype(np.int64)
    return Prior(np.arange(integers.low, integers.high + 1), np.bincount(places, prior.weights, integers.size))


def squared(prior: Prior, view: Square) -> Prior:
    """The law of the squares."""
    return Prior(_squares(np.asarray(prior.values), view, float(view.centre)), prior.weights)


def _squares(values: Floats, view: Square, centre: float) -> Floats:
    """Floats, kept inside the range of the squares."""
    return np.clip((values - centre) ** 2, float(view.image.low), float(view.image.high))


def short(number: float, step: float, length: float) -> Decimal:
    """A number of a range of this length, rounded to a power of ten of at most a step, or to `DIGITS` digits."""
    finest = math.floor(math.log10(length)) - DIGITS
    power = max(finest, math.floor(math.log10(step))) if step > 0 else finest
    return Decimal(repr(float(number))).quantize(Decimal(1).scaleb(power), context=_EXACT)


def built(name: str, domain: Domain, epsilon: Decimal, prior: Prior | None) -> Mechanism:
    """A mechanism for a mean; a designed one for the prior, if there is one."""
    options = {"objective": "prior", "prior": prior} if name == "designed" and prior is not None else {}
    return build(name, domain, epsilon=epsilon, **options)


def expected(
    number: Mechanism, square: Mechanism, law: Prior, *, learned: bool = False, missed: float = 0.0
) -> Expected:
    """The expected variances of a mechanism for a number and one for its square, for answers drawn from this law.

    If the centre is `learned` it follows the mean: then the squares are those about the mean, or about a number at the
    distance `missed` from it.
    """
    view = square.domain
    if not isinstance(view, Square):
        raise ParameterError("The second mechanism of a variance must ask for squares.")
    values, weights = np.asarray(law.values), np.asarray(law.weights)
    mean = float(values @ weights)
    centre = mean + missed if learned else float(view.centre)
    squares = _squares(values, view, centre)
    mean_square = float(squares @ weights)
    away, spread = values - mean, float((values - mean) ** 2 @ weights)
    return Expected(
        float(variances_at(number, values) @ weights) + spread,
        float((variances_at(square, squares) + (squares - mean_square) ** 2) @ weights),
        float((away * squares) @ weights),
        mean - centre,
        spread,
    )


def expected_of_outputs(mechanism: Mechanism, law: Prior) -> Expected:
    """Variances of single readings, expected for reports that are read twice."""
    read, domain = readings(mechanism), mechanism.domain.whole
    if domain is None:
        raise ParameterError("Reports that are read twice must be about whole numbers.")
    shares = np.bincount(np.rint(np.subtract(law.values, domain.low)).astype(np.int64), law.weights, domain.size)
    reports = sum(share * law_row(mechanism.channel, code) for code, share in enumerate(shares))
    number, square = (np.array([float(value) for value in row]) for row in (read.number, read.square))
    first, second = float(np.dot(reports, number)), float(np.dot(reports, square))
    return Expected(
        float(np.dot(reports, (number - first) ** 2)),
        float(np.dot(reports, (square - second) ** 2)),
        float(np.dot(reports, (number - first) * (square - second))),
        law.mean - float(read.centre),
        law.variance,
    )


def people_share(number: Mechanism, square: Mechanism, law: Prior) -> float:
    """The share of participants who report the number: it minimises a / (1 - s) + b / s."""
    known = expected(number, square, law).moved(OFF)
    b = math.sqrt(4 * known.distance**2 * known.number)
    share = b / (b + math.sqrt(known.square))
    return min(max(share, PEOPLE[0]), PEOPLE[1])


@lru_cache(maxsize=64)
def budget_share(domain: Integers | Interval, epsilon: Decimal, centre: Decimal, law: Prior) -> Decimal:
    """The share of the budget for the number, found with one bit for each of both; others change it little."""
    view = Square(domain, centre)

    def error(share: Decimal) -> float:
        number = build("bernoulli", domain, epsilon=epsilon * share)
        square = build("bernoulli", view, epsilon=epsilon * (1 - share))
        return expected(number, square, law).moved(OFF).error((1 << 40, 1 << 40), together=True)

    return min(BUDGETS, key=error)


def first_round(number: Mechanism, square: Mechanism, law: Prior, participants: int) -> int:
    """How many of the participants to ask first: the k that minimises a / (n - k) + 2 b**2 / k**2."""
    known = expected(number, square, law)
    low, high = min(FEWEST, participants // 2), participants // 2
    while high - low > 1:  # the derivative a / (n - k)**2 - 4 b**2 / k**3 rises with k
        middle = (low + high) // 2
        rising = known.square * middle**3 > 4 * known.number**2 * (participants - middle) ** 2
        low, high = (low, middle) if rising else (middle, high)
    return max(2, high)
