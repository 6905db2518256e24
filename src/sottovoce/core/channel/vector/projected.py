"""`Projected`: a vector is turned by a public pseudo-random rotation, and a few coordinates go through a cap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.facets import Costed, PublicCoins, Relaying, Summed, Vectors
from sottovoce.core.channel.shapes import Capped
from sottovoce.core.channel.vector.sphere import MAX_DIMENSIONS, TOP, Cap, SummandScale, axis_ends, facts
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integer, part
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, effort

GOLDEN = 0x9E3779B97F4A7C15
MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of the finaliser of SplitMix64
_MASK = (1 << WORD) - 1
ROUNDS = (1, 2, 4)  # bits of the signs before each transform; the next one is for the sum
LEAST = 64  # coordinates, filled up, from which on a vector is projected
FINE = 128  # steps of a decoded coordinate in one standard deviation: rounding adds one part in 100,000 to the variance
MIDDLE = 2048  # the summand of zero
LAST = 2 * MIDDLE - 1  # 16 standard deviations: no draw of a device is cut off, and the weight of a report is bounded


@declared
class Projected(Channel, Vectors, Summed, Capped, PublicCoins, Relaying, Costed):
    """The report of `inner`, a cap on the unit sphere of k dimensions, on a projection that the public words choose.

    The vector, filled up with zeros to D = 2**r coordinates, gets random signs and a Walsh-Hadamard transform, three
    times, and signs again; coordinates that agree modulo k are added up, and the sum is given the length of the vector.
    Decoding is the transposed map; a tally sums its results, rounded without bias by public words.

    For a rotation that is uniform among all rotations the mean would be exactly proportional to the answer. Here it is
    so up to a relative bias that falls like 1/D; tests measure less than 0.3 % for the least D, 64, at worst. Where
    k = D nothing is projected, and there is no bias.
    """

    kind: ClassVar[str] = "projected"
    codes_are_indices: ClassVar[bool] = False
    publics: ClassVar[int] = 1
    exact: ClassVar[bool] = False
    size: int = integer(2, MAX_DIMENSIONS)
    inner: Cap = part("channel", channel_from_spec)
    dimensions = delegated("size")
    last = delegated("inner")
    cap = delegated("inner")
    words = delegated("inner.words")
    payload_bits = delegated("inner.payload_bits")
    contains = delegated("inner.contains")

    def check_fields(self) -> None:
        if not isinstance(self.inner, Cap) or self.inner.law != "sphere":
            raise ParameterError("The inner channel of a projected one must be a cap on the sphere.")
        if self.inner.size not in projections(self.size):
            allowed = ", ".join(map(str, projections(self.size)))
            raise ParameterError(
                f"A vector of {self.size} dimensions is projected to {allowed} dimensions. Got {self.inner.size}."
            )

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    @property
    def padded(self) -> int:
        """The power of two that holds all coordinates."""
        return padded(self.size)

    # --- the sampler -------------------------------------------------------------------------------
    @property
    def inputs(self) -> int:
        return 2 * self.size

    def codes(self) -> Iterable[Any]:
        """The two ends of each axis, as for `Cap`."""
        return axis_ends(self.size)

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        return self.inner.sample(self.projected(code, public), coins)

    def projected(self, code: Sequence[float], public: Words) -> list[float]:
        """The projection, of the length of the vector itself."""
        signs, _ = public_draws(public, self.padded)
        values = [*code, *([0.0] * (self.padded - self.size))]
        folded, length = [0.0] * self.inner.size, math.sqrt(sum(number * number for number in code))
        for sign in ROUNDS:
            turn(values, signs, sign)
            walsh(values)
        fold(values, signs, length, folded)
        return folded

    # --- the alphabet ------------------------------------------------------------------------------
    @property
    def sums(self) -> tuple[int, ...]:
        return (LAST,) * self.size + (LAST**2,) * self.size

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        levels = report.to_bytes(self.inner.size, "little")
        signs, dithers = public_draws(public, self.padded)
        values, numbers = [0.0] * self.padded, [0] * self.size
        unfold(levels, signs, values)
        for sign in reversed(ROUNDS):
            walsh(values)
            turn(values, signs, sign)
        round_off(values, dithers, unfolded_scale(self), numbers)
        return [*numbers, *(number**2 for number in numbers)]

    def reading(self) -> SummandScale:
        """How the decoded coordinates are read: as if the rotation were uniform."""
        known, k, full = facts(self.inner), self.inner.size, self.padded
        # The length of a random projection of a unit vector is the root of a beta variable; this is its mean.
        length = math.exp(log_root(k) - log_root(full))
        scale = known.mean * length
        lost = (2 * known.reach / TOP) ** 2 / 6
        along = known.square * k / full
        across = (1 - along) / (full - 1)
        step = 1 / (FINE * math.sqrt(full))
        more = lost * k / full + step**2 / 6
        return SummandScale(MIDDLE, step / scale, (along + more) / scale**2, (across + more) / scale**2)

    def zero_squares(self) -> Sequence[float]:
        """The first axis, before it is turned at random."""
        return [1 / self.padded] * self.size

    # --- the law -----------------------------------------------------------------------------------
    def ratio(self) -> Fraction:
        """Given the public words the law is the inner one."""
        return self.inner.ratio()

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        return self.inner.likelihood(report, code)

    def effort(self) -> Effort:
        return effort(self.inner)

    def miniatures(self) -> tuple[Channel, ...]:
        return ()


def padded(size: int) -> int:
    """The least power of two that is not below a number of dimensions."""
    return 1 << (size - 1).bit_length()


def projections(size: int) -> list[int]:
    """The dimensions to which a vector may be projected: fewer than all only if the rotation is good enough."""
    full = padded(size)
    return [1 << power for power in range(3, full.bit_length())] if full >= LEAST else [full]


def log_root(size: int) -> float:
    """ln of the mean length of a standard normal vector, without the term that all sizes share."""
    return math.lgamma((size + 1) / 2) - math.lgamma(size / 2)


@lru_cache(maxsize=64)
def unfolded_scale(channel: Projected) -> float:
    """The factor from a decoded sum of centred levels to steps: it undoes three transforms and the folds."""
    full, k = channel.padded, channel.inner.size
    width = facts(channel.inner).reach / TOP  # centred levels are odd numbers, twice as far apart
    return width * FINE / (full * math.sqrt(full / k))  # the roots of D in the transforms and in a step cancel


def public_draws(public: Words, count: int) -> tuple[list[int], list[float]]:
    """For each coordinate four public signs, as bits, and a public number in (0, 1).

    Signs and number are read from one word each: SplitMix64 from the first public word, stirred once more with the
    second.
    """
    words = [_mixed(_mixed(public[0] + place * GOLDEN & _MASK) ^ public[1]) for place in range(1, count + 1)]
    return [word & 15 for word in words], [((word >> 12) + 0.5) / (1 << 52) for word in words]


def _mixed(word: int) -> int:
    word = (word ^ word >> 30) * MIXERS[0] & _MASK
    word = (word ^ word >> 27) * MIXERS[1] & _MASK
    return word ^ word >> 31


# What follows calls nothing but `math`: the vectorised sampler and the tally kernel compile these very functions.
def walsh(values: Any) -> None:
    """The Walsh-Hadamard transform in place, not scaled."""
    size, half = len(values), 1
    while half < size:
        for start in range(0, size, 2 * half):
            for i in range(start, start + half):
                left, right = values[i], values[i + half]
                values[i], values[i + half] = left + right, left - right
        half *= 2


def turn(values: Any, signs: Any, sign: int) -> None:
    """Change the sign of the values that have a public bit."""
    for i in range(len(values)):
        if signs[i] & sign:
            values[i] = -values[i]


def fold(values: Any, signs: Any, length: float, folded: Any) -> None:
    """Add up values whose places agree modulo k, with the last of their signs, and give the sums a length."""
    k, square = len(folded), 0.0
    for i in range(len(values)):
        folded[i % k] += -values[i] if signs[i] & 8 else values[i]
    for i in range(k):
        square += folded[i] * folded[i]
    scale = length / math.sqrt(square) if square > 0 else 0.0
    for i in range(k):
        folded[i] *= scale


def unfold(levels: Any, signs: Any, values: Any) -> None:
    """Put the centred levels back to all places they are sums of."""
    k = len(levels)
    for i in range(len(values)):
        centred = 2.0 * levels[i % k] - 255.0
        values[i] = -centred if signs[i] & 8 else centred


def round_off(values: Any, dithers: Any, scale: float, summands: Any) -> None:
    """The summands of the decoded values. These are sums of integers, so that floats hold them exactly."""
    for i in range(len(summands)):
        summands[i] = int(min(max(math.floor(values[i] * scale + dithers[i]) + 2048.0, 0.0), 4095.0))
