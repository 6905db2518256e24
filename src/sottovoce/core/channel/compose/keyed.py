"""`Keyed`: randomize a group; if the result supports the true group, send the randomized value, else a neutral draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil
from typing import Any, ClassVar

from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.closed_forms import extremes
from sottovoce.core.channel.compose.stages import Then
from sottovoce.core.channel.facets import Costed, Facet, Numbered, facet, outputs_of, rounding_of, stages_of
from sottovoce.core.channel.finite.bits import Bits
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.channel.finite.table import Table
from sottovoce.core.channel.listing import product_codes
from sottovoce.core.channel.numeric.rounding import Rounding
from sottovoce.core.channel.shapes import Grouped
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, integers, part
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, effort, steps, summed


@declared
class Keyed(Channel, Grouped, Numbered, Costed):
    """A code is (group, value). `key` randomizes the group. If its report supports the true group, the value goes
    through `inner`; otherwise the inner output is drawn from `neutral`, weights that sum to 2**53 and do not depend on
    the value.

    If key reports are numbered, the report is key * inner outputs + inner; else the inner report is in the lowest bits.
    """

    kind: ClassVar[str] = "keyed"
    codes_are_indices: ClassVar[bool] = False  # codes are pairs
    key: Subset | Bits = part("channel", channel_from_spec)
    inner: Channel = part("channel", channel_from_spec)
    neutral: tuple[int, ...] = integers(0, UNIT)

    def check_fields(self) -> None:
        plain_bits = isinstance(self.key, Bits) and self.key.encoding == "onehot" and not self.key.rates_vary
        if not isinstance(self.key, Subset) and not plain_bits:
            raise ParameterError(
                "The key of a keyed channel must be a Subset, or Bits with a bit for each group and two rates."
            )
        if self.inner.publics or outputs_of(self.inner) is None or stages_of(self.inner):
            raise ParameterError(
                "The inner channel of a keyed one must have numbered outputs, no public words and no memo."
            )
        if rounding_of(self.inner) is None and not self.inner.codes_are_indices:
            raise ParameterError("The inner channel of a keyed one must take every code.")
        fits = len(self.neutral) == outputs_of(self.inner) and sum(self.neutral) == UNIT
        if not fits or any(bool(weight) != self.inner.contains(y) for y, weight in enumerate(self.neutral)):
            raise ParameterError(
                "The neutral law must have a weight for each inner output, positive if it can be reported, and sum to"
                " 2**53."
            )

    @property
    def keyed(self) -> Keyed:
        return self

    @property
    def inner_outputs(self) -> int:
        """How many outputs the inner channel has."""
        return len(self.neutral)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return self.key, self.inner

    def has(self, kind: type[Facet]) -> bool:
        return kind is not Numbered or facet(self.key, Numbered) is not None

    @property
    def inputs(self) -> int:
        return self.key.inputs * self.inner.inputs

    def codes(self) -> Iterable[Any]:
        return product_codes((self.key, self.inner))

    @property
    def words(self) -> int:
        return self.key.words + self.inner.words + 1

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        group, value = code
        begin = coins.position
        key = self.key.sample(group, coins)
        supported = self.key.supports(key, group)
        coins.seek(begin + self.key.words)
        within = coins.when(supported, partial(self.inner.sample, value))
        coins.seek(begin + self.words - 1)
        cumulative = tuple(accumulate(self.neutral))
        neutral = coins.when(not supported, lambda coins: coins.pick(cumulative))
        return self.join(key, (neutral, within)[supported])

    def join(self, key: int, within: int) -> int:
        """The report of a key's report and an inner one."""
        if facet(self.key, Numbered) is None:
            return key << self.inner.payload_bits | within
        return key * self.inner_outputs + within

    def split(self, report: int) -> tuple[int, int]:
        """The key's report and the inner one."""
        if facet(self.key, Numbered) is None:
            return report >> self.inner.payload_bits, report & (1 << self.inner.payload_bits) - 1
        return divmod(report, self.inner_outputs)

    @property
    def outputs(self) -> int:
        return self.key.inputs * self.inner_outputs

    @property
    def payload_bits(self) -> int:
        if facet(self.key, Numbered) is None:
            return self.key.payload_bits + self.inner.payload_bits
        return (self.outputs - 1).bit_length()

    def contains(self, report: int) -> bool:
        if report < 0:
            return False
        key, within = self.split(report)
        return self.key.contains(key) and self.inner.contains(within)

    def ratio(self) -> Fraction:
        """The inner channel's ratio if both codes are supported; that of key and neutral law together if one is.

        Two reports of the key that both support their code are equally likely, and so are two that do not.
        """
        key = self.key.ratio()
        most, least = extremes(self.inner)
        worst = self.inner.ratio()
        for high, low, weight in set(zip(most, least, self.neutral, strict=True)):  # most outputs are alike
            if weight:
                worst = max(worst, key * high / units(weight), units(weight) / low / key)
        return worst

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        group, value = code
        key, within = self.split(report)
        supported = self.key.supports(key, group)
        law = self.inner.likelihood(within, value) if supported else units(self.neutral[within])
        return self.key.likelihood(key, group) * law

    def effort(self) -> Effort:
        key, inner = effort(self.key), effort(self.inner)
        bits = key.bits + inner.bits
        different = 4 * len({*self.neutral}) * steps(key.ratio_bits + inner.bits)
        ratio = key.ratio + inner.ratio + inner.extremes + different
        return summed(self, Effort(bits, key.likelihood + inner.likelihood, ratio, key.ratio_bits + 2 * inner.bits))

    def miniatures(self) -> tuple[Channel, ...]:
        """Small keys and small inner channels, with a neutral law proportional to the largest likelihoods."""
        keys: Any = (self.key, *self.key.miniatures())
        return tuple(
            type(self)(key, inner, neutral_law(inner))
            for key in keys
            for inner in (self.inner, *self.inner.miniatures(), *_coarse(self.inner))
            if key.inputs <= 5 and inner.inputs <= 8 and (outputs_of(inner) or 0) <= 24
        )[:6]


def _coarse(inner: Channel) -> tuple[Channel, ...]:
    """A small stand-in of a table of many rows, which has no smaller instance of its own."""
    rounding = rounding_of(inner)
    if rounding is None or not isinstance(inner, Then) or not isinstance(inner.second, Table):
        return ()
    return (Then(Rounding(rounding.low, rounding.high, 2), inner.second.coarse()),)


def spread(inner: Channel) -> Fraction:
    """S: the sum over all outputs of the largest likelihood, by which the neutral law is normalised."""
    return _total(extremes(inner)[0])


def _total(likelihoods: Sequence[Fraction]) -> Fraction:
    """The sum of likelihoods; equal ones are counted and multiplied."""
    return sum((count * value for value, count in Counter(likelihoods).items()), Fraction(0))


def neutral_law(inner: Channel) -> tuple[int, ...]:
    """The law proportional to the largest likelihood of each output: it minimises the largest ratio to it."""
    return rounded_law(extremes(inner)[0])


def rounded_law(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """Weights as units that sum to 2**53. All are rounded up, so that no ratio to the least likely outputs grows; the
    largest weights are then reduced, where a unit matters least."""
    total = _total(weights)
    units_of = {weight: ceil(UNIT * weight / total) for weight in set(weights)}
    rounded = [units_of[weight] for weight in weights]
    largest = max(rounded)
    payers = [y for y, weight in enumerate(rounded) if weight == largest]
    excess, rest = divmod(sum(rounded) - UNIT, len(payers))
    for place, y in enumerate(payers):
        rounded[y] -= excess + (place < rest)
    return tuple(rounded)


def odds_left(e: Fraction, inner: Channel, neutral: Sequence[int]) -> Fraction:
    """The part of the odds e that is left for the key, beside an inner channel with this neutral law."""
    pairs = set(zip(extremes(inner)[0], neutral, strict=True))  # most outputs are alike
    return e / max(high / units(weight) for high, weight in pairs if weight)
