"""`Histogram`: the same channel for each bin of a histogram with a single one, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.facets import Costed, Summed, outputs_of, stages_of
from sottovoce.core.channel.shapes import Binwise
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integer, part
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, effort, steps, summed

MAX_BINS = 1 << 14
MAX_BIN_OUTPUTS = 1 << 20


@declared
class Histogram(Channel, Binwise, Summed, Costed):
    """A code's bin passes the last code of `part` through it, all other bins the first; bin 0 is lowest.

    Two codes differ in two bins, one in each direction. A tally adds up what the bins report.
    """

    kind: ClassVar[str] = "histogram"
    k: int = integer(2, MAX_BINS)
    part: Channel = part("channel", channel_from_spec)
    inputs = delegated("k")

    def check_fields(self) -> None:
        part = self.part
        outputs = outputs_of(part)
        if outputs is None or part.publics or stages_of(part) or not part.exact or not part.codes_are_indices:
            raise ParameterError("The bins of a histogram need a channel with indices, numbered reports and no memo.")
        check_integer("outputs", self.kind, outputs, 2, MAX_BIN_OUTPUTS)
        check_integer("inputs", self.kind, part.inputs, 2, MAX_BIN_OUTPUTS)

    @property
    def histogram(self) -> Histogram:
        return self

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.part,)

    @property
    def words(self) -> int:
        return self.k * self.part.words

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        report, width, ends = 0, self.part.payload_bits, (0, self.part.inputs - 1)
        for place in range(self.k):
            report |= self.part.sample(ends[place == code], coins) << place * width
        return report

    @property
    def payload_bits(self) -> int:
        return self.k * self.part.payload_bits

    def split(self, report: int) -> list[int]:
        """The report of each bin."""
        width = self.part.payload_bits
        return [report >> place * width & (1 << width) - 1 for place in range(self.k)]

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.payload_bits and all(map(self.part.contains, self.split(report)))

    def ratio(self) -> Fraction:
        """The bin of one code may report what its one makes likely, and the bin of the other what its zero does."""
        last = self.part.inputs - 1
        laws = [
            (self.part.likelihood(y, last), self.part.likelihood(y, 0))
            for y in range(outputs_of(self.part) or 0)
            if self.part.contains(y)
        ]
        if any((on == 0) != (off == 0) for on, off in laws):
            raise PrivacyError("A report that only one end of a bin sends shows it: the ratio is infinite.")
        return max(on / off for on, off in laws if off) * max(off / on for on, off in laws if on)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        ends = (0, self.part.inputs - 1)
        bins = enumerate(self.split(report))
        return prod((self.part.likelihood(y, ends[place == code]) for place, y in bins), start=Fraction(1))

    @property
    def sums(self) -> tuple[int, ...]:
        return ((outputs_of(self.part) or 0) - 1,) * self.k

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        return self.split(report)

    def effort(self) -> Effort:
        own, outputs = effort(self.part), outputs_of(self.part) or 0
        ratio = 4 * outputs * own.likelihood * steps(own.bits)
        return summed(self, Effort(self.k * own.bits, self.k * own.likelihood, ratio, 4 * own.bits))

    def miniatures(self) -> tuple[Channel, ...]:
        """Two or three bins with small instances of their channel."""
        small = sorted(self.part.miniatures(), key=lambda part: part.payload_bits)[:2]
        return tuple(type(self)(k, part) for k, part in zip((3, 2), small, strict=False))
