"""`Mix`: one of several channels, chosen by a coin that is independent of the code."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import ClassVar

from sottovoce.core.arithmetic.rational import FINE, UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.closed_forms import extremes
from sottovoce.core.channel.compose.stages import Then
from sottovoce.core.channel.facets import (
    Costed,
    Extremal,
    Facet,
    Numeric,
    Scale,
    facet,
    outputs_of,
    rounding_of,
    stages_of,
    trusted,
)
from sottovoce.core.channel.numeric.rounding import Rounding
from sottovoce.core.channel.shapes import Indexed, Mixed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integers, parts
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, effort, short_steps, summed

WEIGHT_BITS = 2 * (FINE + 1)  # of a weight in units, as a fraction


@declared
class Mix(Indexed, Mixed, Numeric, Extremal, Costed):
    """Channel c with probability weights[c] / 2**53; its outputs come after those of the channels before it.

    The alphabets are disjoint, so a report shows which channel was chosen; the choice is independent of the code.
    """

    kind: ClassVar[str] = "mix"
    weights: tuple[int, ...] = integers(1, UNIT)
    channels: tuple[Channel, ...] = parts("channels", channel_from_spec)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    parts = delegated("channels")

    def check_fields(self) -> None:
        if len(self.weights) < 2 or len(self.weights) != len(self.channels) or sum(self.weights) != UNIT:
            raise ParameterError(
                "A mix must have two or more channels, and a weight for each; the weights must sum to 2**53."
            )
        if any(channel.publics or outputs_of(channel) is None for channel in self.channels):
            raise ParameterError("The channels of a mix must have numbered outputs and read no public words.")
        if any(rounding_of(channel) is None and not channel.codes_are_indices for channel in self.channels):
            raise ParameterError("Every channel of a mix must take every code.")
        if any(stages_of(channel) for channel in self.channels):
            raise ParameterError("The channels of a mix must not keep a memo.")
        codes = {_codes(channel) for channel in self.channels}
        if len(codes) != 1 or all(rounding_of(channel) for channel in self.channels):
            raise ParameterError(f"The channels of a mix must take the same codes. Got {sorted(codes)!s:.80}.")
        starts = accumulate((outputs_of(channel) or 0 for channel in self.channels), initial=0)
        object.__setattr__(self, "_starts", tuple(starts))

    def has(self, kind: type[Facet]) -> bool:
        return kind is not Numeric or all(facet(channel, Numeric) for channel in self.channels)

    @property
    def alternatives(self) -> tuple[tuple[int, Channel], ...]:
        return tuple(zip(self.weights, self.channels, strict=True))

    @property
    def quadratic(self) -> bool:
        return all(trusted(channel, Numeric).quadratic for channel in self.channels)

    @property
    def inputs(self) -> int:
        return _codes(self.channels[0])

    @property
    def words(self) -> int:
        return 1 + sum(channel.words for channel in self.channels)

    def starts(self) -> tuple[int, ...]:
        """The first output of each channel, and the number of all."""
        return self._starts

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        begin = coins.position + 1
        chosen = coins.pick(tuple(accumulate(self.weights)))
        reports = []
        for place, channel in enumerate(self.channels):
            coins.seek(begin)
            begin += channel.words
            reports.append(coins.when(place == chosen, partial(channel.sample, code)))
        coins.seek(begin)
        return self.starts()[chosen] + reports[chosen]

    @property
    def outputs(self) -> int:
        return self.starts()[-1]

    def _branch(self, report: int) -> tuple[int, int]:
        """The channel of a report, and what that channel reported."""
        chosen = bisect_right(self._starts, report) - 1
        return chosen, report - self._starts[chosen]

    def contains(self, report: int) -> bool:
        if not 0 <= report < self.outputs:
            return False
        chosen, inner = self._branch(report)
        return self.channels[chosen].contains(inner)

    def ratio(self) -> Fraction:
        return max(channel.ratio() for channel in self.channels)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        chosen, inner = self._branch(report)
        return units(self.weights[chosen]) * self.channels[chosen].likelihood(inner, code)

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        branches = [(units(w), extremes(channel)) for w, channel in zip(self.weights, self.channels, strict=True)]
        most, least = ([share * p for share, ends in branches for p in ends[side]] for side in (0, 1))
        return most, least

    def scales(self) -> tuple[Scale, ...]:
        """Each channel is read by its own scale: all are unbiased for the same code."""
        return tuple(
            Scale(start + first, start + origin, slope)
            for start, channel in zip(self.starts(), self.channels, strict=False)
            for first, origin, slope in trusted(channel, Numeric).scales()
        )

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        branch_moments = [trusted(channel, Numeric).moments(code) for channel in self.channels]
        pairs = list(zip(self.weights, branch_moments, strict=True))
        first, second = (sum((units(w) * m[p] for w, m in pairs), Fraction(0)) for p in (0, 1))
        return first, second

    def effort(self) -> Effort:
        efforts = [effort(channel) for channel in self.channels]
        compared = sum(short_steps(one.ratio_bits) for one in efforts)
        known = Effort(
            bits=WEIGHT_BITS + max(one.bits for one in efforts),
            likelihood=len(efforts) + max(one.likelihood for one in efforts),
            ratio=sum(one.ratio for one in efforts) + compared,
            ratio_bits=max(one.ratio_bits for one in efforts),
        )
        return summed(self, known)._replace(extremes=sum(one.extremes for one in efforts) + self.outputs)

    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances of all channels that take the same codes."""
        mixtures: list[Channel] = []
        plain = [channel for channel in self.channels if rounding_of(channel) is None]
        for small in plain[0].miniatures():
            branches = [_sized(channel, small.inputs) for channel in self.channels]
            if all(branches):
                mixtures.append(type(self)(self.weights, tuple(channel for channel in branches if channel)))
        return tuple(mixtures)


def _codes(channel: Channel) -> int:
    """How many codes a channel takes; one that rounds takes those from 0 to the end of its range."""
    rounding = rounding_of(channel)
    if rounding is None:
        return channel.inputs
    if rounding.low != 0 or rounding.high != int(rounding.high):
        raise ParameterError("The range of a channel that rounds must be 0, ..., a whole number, in a mix.")
    return int(rounding.high) + 1


def _sized(channel: Channel, codes: int) -> Channel | None:
    """A small instance of a channel with this number of codes, or None."""
    if isinstance(channel, Then) and isinstance(channel.first, Rounding):
        return Then(Rounding(0, codes - 1, channel.first.steps), channel.second)
    return next((small for small in channel.miniatures() if small.inputs == codes), None)
