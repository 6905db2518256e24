"""The variance of one report read as a number, for every answer of the domain, exactly.

A number between two grid points is rounded to one of the two at random. So the mean square of the reading is linear
between two grid points, and its variance is a parabola there: with f the way from the point j to j + 1,
(1 - f) V_j + f V_(j+1) + f (1 - f) (mean_(j+1) - mean_j)**2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.core.channel import Rounding
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Numeric, need, rounding_of, scales_of
from sottovoce.core.channel.shapes import after_rounding
from sottovoce.core.domain.base import Domain, Numbers
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import GroupMean, Mean, VectorMean
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.prior import Prior

SLOPES = (-4.0, 1.0)  # steeper lines would amplify the noise of a mean square more than they gain
MAX_LISTED = 1 << 12  # whole numbers of a domain that are tried one by one


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Mean and variance of the reading at each grid point, in codes; `variances` are floats of exact numbers.

    Without `between` no answer lies between two points, as for whole numbers that are all grid points.
    """

    low: float
    step: float
    means: Floats
    variances: Floats
    between: bool = True

    def at(self, codes: Floats) -> Floats:
        """The variance at any codes."""
        place = (codes - self.low) / self.step
        point = np.clip(np.floor(place), 0, len(self.means) - 2).astype(np.int64)
        up = np.clip(place - point, 0, 1)
        between = up * (1 - up) * np.diff(self.means)[point] ** 2
        return np.asarray((1 - up) * self.variances[point] + up * self.variances[point + 1] + between)

    def squares(self, centre: float) -> Floats:
        """The mean square distance of the reading from a number, at each grid point."""
        return np.asarray(self.variances + (self.means - centre) ** 2)

    def noise(self, centre: float, square: float) -> float:
        """The largest mean variance that answers can have whose reports have this mean square about the centre.

        For every slope b, E V <= b E M + max over x of (V(x) - b M(x)), where V is the variance and M the mean square
        at an answer; the least such line is taken. It is exact if V is a function of M, as for windows, or
        constant, as for noise; and it is unknown if M is the same for all answers, as for one bit.
        """
        squares = self.squares(centre)

        def line(slope: float) -> float:
            return slope * float(np.clip(square, squares.min(), squares.max())) + self.height(slope, centre)

        best = scipy.optimize.minimize_scalar(line, bounds=SLOPES, method="bounded", options={"xatol": 1e-7})
        return float(best.fun)

    def height(self, slope: float, centre: float) -> float:
        """The largest V - slope M over all answers: at a grid point, or at a vertex between two."""
        rest = self.variances - slope * self.squares(centre)
        if not self.between:
            return float(rest.max())
        left, rise, apart = rest[:-1], np.diff(rest), np.diff(self.means) ** 2
        inner = left + (rise + apart) ** 2 / (4 * apart)
        return float(np.where(np.abs(rise) < apart, inner, np.maximum(left, rest[1:])).max())


def variance_at(mechanism: Mechanism, answer: Any) -> Fraction:
    """The exact variance of the reading of one report of a participant with this answer, a number."""
    check_numbers(mechanism, "variance")
    if not isinstance(answer, (int, float, Decimal, Fraction, np.integer, np.floating)) or isinstance(answer, bool):
        raise reject("truth", "variance", "a number", answer)
    plain = answer.item() if isinstance(answer, np.generic) else answer
    numbers = low, high, origin = numbers_of(mechanism)
    # A float stands for the shortest decimal that prints it, as in a domain: 124.2 does not exceed the end 124.2.
    code = Fraction(repr(plain) if isinstance(plain, float) else plain) - origin if math.isfinite(plain) else high + 1
    if not low <= code <= high:
        raise _outside(numbers, plain)
    first, second = need(mechanism.channel, Numeric).moments(code)
    return second - first**2


def variances_at(mechanism: Mechanism, answers: Any) -> Floats:
    """The variance at each of many answers."""
    check_numbers(mechanism, "variance")
    try:
        values = np.asarray(answers, float)
    except (TypeError, ValueError):
        raise reject("truth", "variance", "numbers of the domain", answers) from None
    numbers = numbers_of(mechanism)
    wrong = ~((values >= numbers.ends[0]) & (values <= numbers.ends[1]))
    if wrong.any():
        raise _outside(numbers, float(values[wrong].flat[0]))
    return profile(mechanism.channel).at(values - float(numbers.origin))


def _outside(numbers: Numbers, value: object) -> ParameterError:
    low, high = numbers.ends
    return reject("truth", "variance", f"a number in [{low:g}, {high:g}]", value)


def worst_case_variance(mechanism: Mechanism) -> float:
    """The largest variance over every answer of the domain, rounded up.

    Up to 4,096 whole numbers are tried one by one; for more, all numbers between them are included.
    """
    check_numbers(mechanism, "worst_case_variance")
    size = mechanism.domain.size
    if size is not None and size <= MAX_LISTED:
        low, high, _ = numbers_of(mechanism)
        codes = (low + (high - low) * Fraction(place, max(1, size - 1)) for place in range(size))
        worst = max(second - first**2 for first, second in map(need(mechanism.channel, Numeric).moments, codes))
    else:
        worst = _worst(mechanism.channel)
    ratio = float(worst)
    return ratio if Fraction(ratio) >= worst else math.nextafter(ratio, math.inf)


def average_variance(mechanism: Mechanism, prior: Any) -> float:
    """The variance of one report, averaged over a prior or over a list of answers."""
    check_numbers(mechanism, "average_variance")
    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    return float(np.dot(variances_at(mechanism, belief.values), belief.weights))


def check_numbers(mechanism: Mechanism, owner: str) -> None:
    """Refuse mechanisms whose reports are not read as numbers about one mean."""
    if isinstance(mechanism.question, GroupMean):
        raise ParameterError(
            f"{owner} is about one mean; {mechanism.name} has several: use variance((shares, priors), n)."
        )
    if isinstance(mechanism.question, VectorMean):
        raise ParameterError(f"{owner} is about one mean; {mechanism.name} has several: use variance(vector, n).")
    if not isinstance(mechanism.question, Mean):
        raise ParameterError(
            f"{owner} is about reports read as numbers; {mechanism.name} asks for frequencies, whose variances depend"
            " on all shares: use variance(shares, n)."
        )
    if scales_of(mechanism.channel) is None:
        raise ParameterError(f"The reports of this {mechanism.name} are not read as numbers without bias.")


def numbers_of(mechanism: Mechanism) -> Numbers:
    """Lowest and highest code, and the map from codes to answers."""
    numbers = mechanism.domain.numbers
    if numbers is None:
        raise ParameterError(f"The answers of {mechanism.name} are not numbers.")
    return numbers


def holds_every_code(domain: Domain, grid: Rounding) -> bool:
    """Whether each whole number of a domain is a point of the grid, so that no answer lies between two."""
    whole = domain.numbers is not None and domain.size == domain.numbers.high - domain.numbers.low + 1
    return whole and domain.size is not None and grid.steps % (domain.size - 1) == 0


@lru_cache(maxsize=32)
def profile(channel: Channel) -> Profile:
    """Moments at all grid points, computed once for each channel."""
    rounding, read = _grid(channel)
    if need(_second(channel), Numeric).quadratic:
        # Three points determine the parabola; around the middle there is no cancellation.
        middle, places = rounding.steps // 2, np.arange(rounding.steps + 1)
        level, bent, slope = _parabola(lambda j: read(j)[1], rounding.steps)
        value, rise = level + slope * middle + bent * middle**2, slope + 2 * bent * middle
        away = (places - middle).astype(float)
        variances = float(value) + float(rise) * away + float(bent) * away**2
        means = np.asarray(float(rounding.low) + float(rounding.step) * places, float)
    else:
        means, variances = (np.array([float(moment[p]) for moment in _listed(channel)]) for p in (0, 1))
    return Profile(float(rounding.low), float(rounding.step), means, variances)


@lru_cache(maxsize=4)
def _listed(channel: Channel) -> list[tuple[Fraction, Fraction]]:
    """Mean and variance at every grid point, one by one."""
    rounding, read = _grid(channel)
    return [read(point) for point in range(rounding.steps + 1)]


@lru_cache(maxsize=32)
def _worst(channel: Channel) -> Fraction:
    """The largest variance between any two neighbouring grid points."""
    rounding, read = _grid(channel)
    if not need(_second(channel), Numeric).quadratic:
        return max(_peak(left, right) for left, right in pairwise(_listed(channel)))
    return max(_peak(read(j), read(j + 1)) for j in _candidates(rounding, read))


def _peak(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> Fraction:
    """The top of the parabola between two grid points with these means and variances."""
    apart, rise = (right[0] - left[0]) ** 2, right[1] - left[1]
    if abs(rise) >= apart:
        return max(left[1], right[1])
    return left[1] + (rise + apart) ** 2 / (4 * apart)


def _candidates(rounding: Rounding, read: Callable[[int], tuple[Fraction, Fraction]]) -> set[int]:
    """Candidates for the worst step, if the variance of grid points is a parabola a + s j + b j**2.

    The rise from j to j + 1 is linear in j. So there are three ranges of steps, with the peak at the left point,
    between, or at the right point, and in each the peak is itself a polynomial of degree two in j: largest at an end
    of the range or beside its own vertex.
    """
    _, bent, slope = _parabola(lambda j: read(j)[1], rounding.steps)
    apart = rounding.step**2
    turns: list[Fraction] = []
    if bent:
        # Where the rise slope + bent + 2 bent j is -apart, 0 or apart: the ends of the range between, and its vertex,
        # as V_j + (rise + apart)**2 / (4 apart) changes by rise (1 + bent / apart). Then the vertices of V_j, V_(j+1).
        turns += [(rise - slope - bent) / (2 * bent) for rise in (-apart, Fraction(0), apart)]
        turns += [-slope / (2 * bent), -slope / (2 * bent) - 1]
    near = {math.floor(turn) + shift for turn in turns for shift in (-1, 0, 1, 2)}
    return {0, rounding.steps - 1, *(j for j in near if 0 <= j < rounding.steps)}


def _parabola(value: Callable[[int], Fraction], steps: int) -> tuple[Fraction, Fraction, Fraction]:
    """a, b and s of a + s j + b j**2 through the first, middle and last point; a line if there are only two."""
    first, last = value(0), value(steps)
    if steps == 1:
        return first, Fraction(0), last - first
    middle = steps // 2
    bent = ((last - first) / steps - (value(middle) - first) / middle) / (steps - middle)
    return first, bent, (last - first) / steps - bent * steps


def _second(channel: Channel) -> Channel:
    """The channel after the rounding."""
    second = after_rounding(channel)
    if second is None:
        raise ParameterError(f"The reports of a {channel.kind} channel are not numbers that were rounded first.")
    return second


def _grid(channel: Channel) -> tuple[Rounding, Callable[[int], tuple[Fraction, Fraction]]]:
    """The grid, and the exact mean and variance of the reading at one of its points, in codes."""
    second, rounding = _second(channel), rounding_of(channel)
    if rounding is None:
        raise ParameterError(f"A {channel.kind} channel does not round numbers.")
    low, step = Fraction(rounding.low), rounding.step

    def read(point: int) -> tuple[Fraction, Fraction]:
        first, square = need(second, Numeric).moments(point)
        return low + step * first, step**2 * (square - first**2)

    return rounding, read
