"""`Each`: independent channels side by side, one for each part of an answer."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Any, ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec, nested
from sottovoce.core.channel.facets import Costed, Rates, stages_of
from sottovoce.core.channel.listing import product_codes
from sottovoce.core.channel.shapes import Bundled
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, parts
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, effort, short_steps, summed

MAX_PARTS = 1 << 16


@declared
class Each(Channel, Bundled, Costed):
    """A code is a tuple with a code of each channel; the report holds their reports side by side, the first lowest.

    Two answers may differ in every channel, so the ratios multiply: budgets add up.
    """

    kind: ClassVar[str] = "each"
    codes_are_indices: ClassVar[bool] = False  # codes are tuples
    channels: tuple[Channel, ...] = parts("channels", channel_from_spec)
    parts = delegated("channels")

    def check_fields(self) -> None:
        if not 1 <= len(self.channels) <= MAX_PARTS:
            raise ParameterError(f"From 1 to {MAX_PARTS} channels can be side by side. Got {len(self.channels)}.")
        if any(channel.publics or stages_of(channel) for channel in self.channels):
            raise ParameterError("Channels side by side read no public words and keep no memo.")
        if not all(channel.exact for channel in self.channels):
            raise ParameterError("Channels side by side must have exact laws, which channels with floats lack.")

    @property
    def bundle(self) -> Each:
        return self

    def marginal(self, place: int) -> Rates | None:
        """The support rates of the reports of a part, where they are not those of its channel alone."""
        return None

    @property
    def inputs(self) -> int:
        return prod(channel.inputs for channel in self.channels)

    def codes(self) -> Iterable[Any]:
        return product_codes(self.channels)

    @property
    def words(self) -> int:
        return sum(channel.words for channel in self.channels)

    def shifts(self) -> tuple[int, ...]:
        """The lowest bit of each channel's report, and the number of all bits."""
        return tuple(accumulate((channel.payload_bits for channel in self.channels), initial=0))

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        report = 0
        for part, channel, shift in zip(code, self.channels, self.shifts(), strict=False):
            report |= channel.sample(part, coins) << shift
        return report

    @property
    def payload_bits(self) -> int:
        return self.shifts()[-1]

    def split(self, report: int) -> list[int]:
        """The report of each channel."""
        return [
            report >> shift & (1 << channel.payload_bits) - 1
            for shift, channel in zip(self.shifts(), self.channels, strict=False)
        ]

    def contains(self, report: int) -> bool:
        if not 0 <= report < 1 << self.payload_bits:
            return False
        return all(channel.contains(part) for channel, part in zip(self.channels, self.split(report), strict=True))

    def ratio(self) -> Fraction:
        return prod((channel.ratio() for channel in self.channels), start=Fraction(1))

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        parts = zip(self.channels, self.split(report), code, strict=True)
        return prod((channel.likelihood(part, own) for channel, part, own in parts), start=Fraction(1))

    def effort(self) -> Effort:
        efforts = [effort(channel) for channel in self.channels]
        bits, ratio_bits = sum(one.bits for one in efforts), sum(one.ratio_bits for one in efforts)
        product = len(efforts) * short_steps(ratio_bits)
        ratio = sum(one.ratio for one in efforts) + product
        return summed(self, Effort(bits, sum(one.likelihood for one in efforts), ratio, ratio_bits))

    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances of the first one, two or three channels; where they are of several kinds, of one of each."""
        kinds = {frozenset(map(type, (channel, *nested(channel)))): channel for channel in self.channels[::-1]}
        few = dict.fromkeys(self.channels[:count] for count in (1, 2, 3))
        chosen = list(few) if len(kinds) == 1 else [tuple(kinds.values())]
        return tuple(
            type(self)(small)
            for some in chosen
            for small in zip(*(channel.miniatures()[: 2 if len(some) < 3 else 1] for channel in some), strict=False)
        )
