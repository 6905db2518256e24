"""`Fakes`: one part of an answer through its channel, the others replaced by uniform values; which one stays secret."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.compose.each import Each
from sottovoce.core.channel.facets import Rates
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, effort, short_steps, summed


@declared
class Fakes(Each):
    """A code is a tuple with a code of each channel. A coin chooses one of them, which reports; a report of each other
    channel is uniform. Reports lie side by side like those of `Each`.

    The probability of a report is a sum over the channels that may have been chosen, relative to the uniform law. Two
    answers may differ in every part, so no part hides another, and nothing is gained by the secret choice: with equal
    ratios the ratio of the whole is the same.
    """

    kind: ClassVar[str] = "fakes"

    def check_fields(self) -> None:
        Each.check_fields(self)
        if not all(isinstance(channel, Subset) and channel.w == 1 for channel in self.channels):
            raise ParameterError("Fake reports stand beside k-ary randomized response only.")

    @property
    def words(self) -> int:
        """One for the choice; for each channel its own, and one for a fake."""
        return 1 + sum(channel.words + 1 for channel in self.channels)

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        chosen, report = coins.below(len(self.channels)), 0
        for place, (own, channel, shift) in enumerate(zip(code, self.channels, self.shifts(), strict=False)):
            true = coins.when(place == chosen, partial(channel.sample, own))
            fake = coins.when(place != chosen, lambda source, size=channel.inputs: source.below(size))  # type: ignore[misc]
            report |= (fake, true)[place == chosen] << shift
        return report

    def _relative(self, report: int, code: Any) -> Fraction:
        """The probability of a report in those of the uniform law."""
        parts = zip(self.channels, self.split(report), code, strict=True)
        total = sum((channel.inputs * channel.likelihood(part, own) for channel, part, own in parts), Fraction(0))
        return total / len(self.channels)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        return self._relative(report, code) / prod(channel.inputs for channel in self.channels)

    def ratio(self) -> Fraction:
        """A report that agrees with one answer everywhere, and with another nowhere."""
        most, least = Fraction(0), Fraction(0)
        for channel in self.channels:
            if isinstance(channel, Subset):
                own, other = channel.rates()
                most, least = most + channel.inputs * own, least + channel.inputs * other
        return most / least

    def marginal(self, place: int) -> Rates:
        """How often a report of a part is its own code, and any one other code."""
        channel, count = self.channels[place], len(self.channels)
        if not isinstance(channel, Subset):
            raise TypeError("Fake reports stand beside k-ary randomized response only.")
        fake = Fraction(count - 1, count * channel.inputs)
        own, other = channel.rates()
        return Rates(own / count + fake, other / count + fake)

    def effort(self) -> Effort:
        efforts = [effort(channel) for channel in self.channels]
        bits = 64 + max(one.bits for one in efforts) * len(efforts)
        ratio_bits = 64 + 128 * len(efforts)
        sums = len(efforts) * short_steps(bits)
        return summed(
            self, Effort(bits, sum(one.likelihood for one in efforts) + sums, 8 * len(efforts) + sums, ratio_bits)
        )

    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances of the first two and the first three channels."""
        chosen = dict.fromkeys((self.channels[:2], self.channels[:3]))
        return tuple(
            type(self)(small)
            for some in chosen
            for small in zip(*(channel.miniatures()[: 4 - len(some)] for channel in some), strict=False)
        )
