"""`Cap`: a random direction that lies near the answer more often than chance, rounded to a byte per coordinate.

The law is one of real numbers and the sampler computes with floats, so its properties are known to about twelve digits:
mechanisms of this node are `idealised` and have no exact certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from sottovoce.core.arithmetic.rational import FINE, UNIT, floor_unit, odds
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Summed, Vectors
from sottovoce.core.channel.listing import CodeList
from sottovoce.core.channel.shapes import Capped
from sottovoce.core.channel.vector.cap_law import cap, log_norm, signed_share, tail
from sottovoce.core.coins import Coins
from sottovoce.core.declared import decimal, declared, delegated, in_units, integer, text
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject

LAWS = ("sphere", "gauss")
MAX_DIMENSIONS = 1 << 16
TOP = 255  # the largest level of a coordinate
REACH = 12  # standard deviations of a coordinate; larger draws have probability below 1e-20 at any epsilon up to 20
SAFETY = Fraction(1, 10**10)  # relative: shares of caps are known better than that
FIRST = 3  # words before those of the coordinates: which of two opposite vectors, in the cap or not, how far along
_NUMBER = 52  # leading bits of a word that become a number
_SPARE = 64 - _NUMBER  # the others decide how a coordinate is rounded


class Facts(NamedTuple):
    """What follows from the parameters of a cap; lengths are those of the drawn vector, before it is scaled."""

    norm: float  # `log_norm`
    above: float  # share of all vectors that lie in the cap
    below: float
    mean: float  # of the component along the answer
    square: float  # mean square of that component
    across: float  # mean square of the component along any direction perpendicular to the answer
    reach: float  # the largest coordinate that is sent


class SummandScale(NamedTuple):
    """How sums of a tally are read: a summand s is read as (s - origin) * step, in units of the radius.

    The mean square of the reading of a coordinate is `across` if the answer is perpendicular to it, `along` if it is
    parallel, and between them linear in the square of the cosine.
    """

    origin: float
    step: float
    along: float
    across: float


@declared
class Cap(Channel, Vectors, Summed, Capped):
    """With probability `keep` / 2**53 a random vector whose component along the answer exceeds a threshold, else below.

    The vector is uniform on the unit sphere ("sphere", where the threshold is a cosine), or normal with variance 1/d
    in each of the d coordinates ("gauss", where it is in standard deviations). An answer inside the ball is first moved
    to one of the two points of the surface on its line, without bias; the zero vector to one of the two poles of the
    first axis. Each coordinate is rounded to one of 256 levels, again without bias.
    """

    kind: ClassVar[str] = "cap"
    codes_are_indices: ClassVar[bool] = False  # codes are tuples of floats
    exact: ClassVar[bool] = False
    size: int = integer(2, MAX_DIMENSIONS)
    law: str = text(*LAWS)
    threshold: Decimal = decimal()
    keep: int = in_units()
    dimensions = delegated("size")

    def check_fields(self) -> None:
        most = 1 if self.law == "sphere" else REACH
        if not 0 <= self.threshold < most or not float(self.threshold) < most:
            raise reject("threshold", self.kind, f"a number in [0, {most})", self.threshold)
        empty = shares(self.size, self.law, float(self.threshold))[0] < 1e-30  # before anything is divided by it
        if empty or facts(self).mean <= 0 or self.ratio() <= (1 + SAFETY) ** 2:
            raise ParameterError("The reports of this cap channel are independent of the answer; raise epsilon.")

    @classmethod
    def of_budget(cls, size: int, law: str, threshold: Decimal, budget: Decimal) -> Cap:
        """The cap of this threshold with the largest ratio that a budget allows."""
        above, below = shares(size, law, float(threshold))
        likelier = odds(budget) / (1 + SAFETY) * Fraction(above) / Fraction(below)
        return cls(size, law, threshold, floor_unit(likelier / (1 + likelier)))

    @property
    def cap(self) -> Cap:
        return self

    # --- the sampler -------------------------------------------------------------------------------
    @property
    def inputs(self) -> int:
        return 2 * self.size

    def codes(self) -> Iterable[Any]:
        """The two ends of each axis, as a sample of the continuum of vectors."""
        return axis_ends(self.size)

    @property
    def words(self) -> int:
        return FIRST + self.size + self.size % 2

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        words = [coins.word() for _ in range(self.words)]
        numbers = [((word >> _SPARE) + 0.5) / (1 << _NUMBER) for word in words]
        dithers = [((word & ((1 << _SPARE) - 1)) + 0.5) / (1 << _SPARE) for word in words]
        pole, levels = list(code), [0] * self.size
        inside = words[1] >> (64 - FINE) < self.keep
        known, sphere = facts(self), self.law == "sphere"
        share = signed_share(inside, numbers[2], known.above, known.below)
        along = math.cos(cap(abs(share), self.size, known.norm, True)) if sphere else tail(abs(share))
        draw_levels(pole, math.copysign(along, share), numbers, dithers, sphere, known.reach, levels)
        return int.from_bytes(bytes(levels), "little")

    # --- the alphabet ------------------------------------------------------------------------------
    @property
    def payload_bits(self) -> int:
        return 8 * self.size

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.payload_bits

    @property
    def sums(self) -> tuple[int, ...]:
        return (TOP,) * self.size + (TOP**2,) * self.size

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        levels = report.to_bytes(self.size, "little")
        return [*levels, *(level**2 for level in levels)]

    def reading(self) -> SummandScale:
        """How the levels are read."""
        known = facts(self)
        width = 2 * known.reach / TOP
        lost = width**2 / 6  # the mean variance of rounding
        along, across = ((square + lost) / known.mean**2 for square in (known.square, known.across))
        return SummandScale(TOP / 2, width / known.mean, along, across)

    def zero_squares(self) -> Sequence[float]:
        """The first axis."""
        return [1.0, *[0.0] * (self.size - 1)]

    # --- the law -----------------------------------------------------------------------------------
    def ratio(self) -> Fraction:
        """The ratio of the two densities, computed in floats and rounded up by more than their error."""
        known = facts(self)
        likelier = Fraction(self.keep, UNIT - self.keep)
        return likelier * Fraction(known.below) / Fraction(known.above) * (1 + SAFETY)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        raise TypeError("A cap channel is idealised: the likelihood of a single report is not known exactly.")

    def miniatures(self) -> tuple[Channel, ...]:
        return ()


def axis_ends(size: int) -> CodeList:
    """The unit vectors along each axis, and their opposites."""

    def at(place: int) -> tuple[float, ...]:
        axis, opposite = divmod(place, 2)
        return tuple((1.0 - 2.0 * opposite) * (coordinate == axis) for coordinate in range(size))

    return CodeList(2 * size, at)


def shares(size: int, law: str, threshold: float) -> tuple[float, float]:
    """The share of all vectors whose component along a direction exceeds the threshold, and of the others."""
    if law == "sphere":
        above = math.exp(cap(math.acos(threshold), size, log_norm(size), False))
    else:
        above = 0.5 * math.erfc(threshold / math.sqrt(2))
    return above, 1 - above


def density(size: int, law: str, threshold: float) -> float:
    """The integral of t times the density of a component t over the cap, in units that `lean` undoes."""
    if law == "sphere":
        return math.exp(log_norm(size) + (size - 1) / 2 * math.log1p(-threshold * threshold))
    return math.exp(-threshold * threshold / 2) / math.sqrt(2 * math.pi)


def lean(size: int, law: str, threshold: float, difference: float) -> tuple[float, float]:
    """Mean and mean square of the component along the answer.

    `difference` is how much larger the density is in the cap than outside, in units of that of all vectors. Both
    integrals are elementary: t (1 - t**2)**((d-3)/2) and, by parts, t**2 times the same; and so for the normal law.
    """
    gain = density(size, law, threshold) * difference
    mean = gain / (size - 1) if law == "sphere" else gain / math.sqrt(size)
    return mean, (1 + threshold * gain) / size


@lru_cache(maxsize=256)
def facts(channel: Cap) -> Facts:
    """What follows from the parameters."""
    size, law, threshold = channel.size, channel.law, float(channel.threshold)
    above, below = shares(size, law, threshold)
    keep = channel.keep / UNIT
    mean, square = lean(size, law, threshold, keep / above - (1 - keep) / below)
    across = (1 - square) / (size - 1) if law == "sphere" else 1 / size
    reach = REACH / math.sqrt(size)
    return Facts(log_norm(size), above, below, mean, square, across, min(1.0, reach) if law == "sphere" else reach)


def draw_levels(pole: Any, along: float, numbers: Any, dithers: Any, sphere: bool, reach: float, levels: Any) -> None:
    """Fill in the levels of one report, given its component along the answer: a cosine, or standard deviations.

    `pole` holds the answer; it and `numbers` are used up. Nothing but `math` is called, so that the vectorised sampler
    compiles this very function.
    """
    size = len(pole)
    length = 0.0
    for i in range(size):
        length += pole[i] * pole[i]
    length = math.sqrt(length)
    side = 1.0 if numbers[0] < (1 + length) / 2 else -1.0
    if length == 0:
        pole[0], length = 1.0, 1.0
    for i in range(size):
        pole[i] = pole[i] / length * side
    # What is perpendicular: a normal vector (Box and Muller) without its own component along the pole.
    dot = 0.0
    for i in range(0, size, 2):
        radius = math.sqrt(-2 * math.log(numbers[3 + i]))
        turn = 2 * math.pi * numbers[4 + i]
        numbers[3 + i] = radius * math.cos(turn)
        dot += numbers[3 + i] * pole[i]
        if i + 1 < size:
            numbers[4 + i] = radius * math.sin(turn)
            dot += numbers[4 + i] * pole[i + 1]
    perpendicular = 0.0
    for i in range(size):
        numbers[3 + i] -= dot * pole[i]
        perpendicular += numbers[3 + i] * numbers[3 + i]
    if sphere:
        across = math.sqrt(max(0.0, 1 - along * along) / max(perpendicular, 1e-300))
    else:
        across = 1 / math.sqrt(size)
        along = along * across
    for i in range(size):
        coordinate = min(max(along * pole[i] + across * numbers[3 + i], -reach), reach)
        levels[i] = math.floor((coordinate + reach) * (255 / (2 * reach)) + dithers[3 + i])
