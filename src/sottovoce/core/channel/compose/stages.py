"""`Then` and `Chain`: one channel after another, with nothing kept or with a memo between."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, TypeVar

from sottovoce.core.arithmetic.rational import floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.closed_forms import delta, extremes
from sottovoce.core.channel.facets import (
    Costed,
    Divergent,
    Extremal,
    Facet,
    Masked,
    Memoised,
    Numbered,
    Numeric,
    Rates,
    Relaying,
    Rounded,
    Scale,
    Slotted,
    Supporting,
    Vectors,
    check_memos,
    facet,
    outputs_of,
    trusted,
)
from sottovoce.core.channel.finite.bits import Bits, bits_ratio
from sottovoce.core.channel.finite.subset import Subset, response_moments, response_scales
from sottovoce.core.channel.finite.table import Table
from sottovoce.core.channel.numeric.rounding import PLACES, Rounding
from sottovoce.core.channel.vector.place import Place
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, part
from sottovoce.core.errors import ParameterError, PrivacyError, TooLargeError
from sottovoce.core.params import count_text
from sottovoce.core.spec_cost import Effort, effort, short_steps, steps, summed

MAX_ROWS = 65  # of a table that an audit enumerates whole
MAX_CODE_BITS = 1 << 16  # of a report that is the code of another channel
MAX_CELLS = 1 << 18  # of a product of channels that is computed entry by entry

C = TypeVar("C", bound="_Composed")


@declared
class _Composed(Channel, Relaying, Numbered, Rounded, Vectors, Slotted, Costed):
    """What both compositions share: the report of the first is the code of the second."""

    first: Channel = part("channel", channel_from_spec)
    second: Channel = part("channel", channel_from_spec)
    last = delegated("second")
    inputs = delegated("first.inputs")
    codes = delegated("first.codes")
    codes_are_indices = delegated("first.codes_are_indices")
    rounding = delegated("first.rounding")
    dimensions = delegated("first.dimensions")
    slots = delegated("first.slots")
    payload_bits = delegated("second.payload_bits")
    outputs = delegated("second.outputs")
    publics = delegated("second.publics")
    accepts = delegated("second.accepts")
    contains = delegated("second.contains")

    def check_fields(self) -> None:
        reports = _reports(self.first)
        if reports != self.second.inputs:
            raise ParameterError(
                f"In a {self.kind} channel the reports of the first must be the codes of the second:"
                f" {count_text(reports)} reports, {count_text(self.second.inputs)} codes."
            )
        if not self.second.codes_are_indices:
            raise ParameterError(f"In a {self.kind} channel the second must take every report of the first.")
        if self.first.publics:
            raise ParameterError(f"In a {self.kind} channel only the second may read public words.")
        if not (self.first.exact and self.second.exact):
            raise ParameterError(
                f"The stages of a {self.kind} channel must have exact laws, which channels with floats lack."
            )
        check_memos(self)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return self.first, self.second

    def has(self, kind: type[Facet]) -> bool:
        """Answers are read by the first stage, and reports are those of the second."""
        if kind is Numbered:
            return facet(self.second, kind) is not None
        return kind not in (Rounded, Vectors, Slotted) or facet(self.first, kind) is not None

    @property
    def words(self) -> int:
        return self.first.words + self.second.words

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        return self.second.sample(self.first.sample(code, coins), coins, public)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        if isinstance(self.first, Rounding):
            point = self.first.position(code) >> PLACES
            between: Iterable[int] = range(point, min(point + 2, self.second.inputs))
        elif self._terms > MAX_CELLS:
            raise TooLargeError(
                f"The law of this {self.kind} channel sums over {count_text(self._terms)} products for each report."
            )
        else:
            between = filter(self.first.contains, range(self.second.inputs))  # a likelihood is defined on reports only
        weights = ((m, self.first.likelihood(m, code)) for m in between)
        return sum((weight * self.second.likelihood(report, m, public) for m, weight in weights if weight), Fraction(0))

    @property
    def _terms(self) -> int:
        """How many products one likelihood sums up, compositions within compositions included."""
        inner = [stage._terms if isinstance(stage, _Composed) else 1 for stage in (self.first, self.second)]
        return self.second.inputs * sum(inner)

    def _law_effort(self, first: Effort, second: Effort) -> Effort:
        """What one likelihood costs: two products after a rounding, else one for each code between."""
        product = first.likelihood + second.likelihood
        between = 2 if isinstance(self.first, Rounding) else 1 if self._terms > MAX_CELLS else self.second.inputs
        return Effort(first.bits + second.bits, between * product, ratio_bits=2 * (first.bits + second.bits))

    def _entries_effort(self) -> int:
        """The steps of `_ratio_by_entry`, which refuses at once what is too large."""
        return 1 if self.publics or _products(self) > MAX_CELLS else _matrix_effort(self)[0]

    def _ratio_by_entry(self) -> Fraction:
        if self.publics or _products(self) > MAX_CELLS:
            raise TooLargeError(
                f"This {self.kind} channel has no closed form for its ratio, and is too large to sum up."
            )
        worst = Fraction(1)
        for column in zip(*_matrix(self), strict=True):
            if max(column) and not min(column):
                raise PrivacyError(
                    f"A {self.kind} channel with different supports gives no privacy: the ratio is infinite."
                )
            if max(column):
                worst = max(worst, max(column) / min(column))
        return worst


def _reports(channel: Channel) -> int:
    """How many numbers have the channel's width, reports or not."""
    outputs = outputs_of(channel)
    if outputs is not None:
        return outputs
    if channel.payload_bits > MAX_CODE_BITS:
        raise ParameterError(f"Reports of {channel.payload_bits} bits are too long to be codes of another channel.")
    return 1 << channel.payload_bits


def _matrix(channel: Channel) -> list[list[Fraction]]:
    """The law, one row per code. Each composition is multiplied once, at any depth of nesting."""
    if isinstance(channel, _Composed):
        first, columns = _matrix(channel.first), list(zip(*_matrix(channel.second), strict=True))
        return [
            [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in first
        ]
    reports = range(_reports(channel))
    return [
        [channel.likelihood(y, code) if channel.contains(y) else Fraction(0) for y in reports]
        for code in channel.codes()
    ]


def _products(channel: Channel) -> int:
    """The work of `_matrix`."""
    cells = channel.inputs * _reports(channel)
    if isinstance(channel, _Composed):
        return cells * channel.second.inputs + _products(channel.first) + _products(channel.second)
    return cells


def _matrix_effort(channel: Channel) -> tuple[int, int]:
    """The steps of `_matrix`, and the bits of a likelihood: those of all stages together."""
    entries = channel.inputs * _reports(channel)
    if not isinstance(channel, _Composed):
        known = effort(channel)
        return entries * known.likelihood * steps(known.bits), known.bits
    (first, first_bits), (second, second_bits) = _matrix_effort(channel.first), _matrix_effort(channel.second)
    bits = first_bits + second_bits
    return 2 * entries * channel.second.inputs * steps(bits) + first + second, bits


@declared
class Then(_Composed, Numeric, Extremal, Divergent, Memoised):
    """Composition, nothing kept; but a rounding above a chain is kept with its memo.

    A device draws the point at which it rounds once, and keeps it secret: numbers on the same side of that point are
    one value to the memo, so a device keeps one memo for each grid point at most.
    """

    kind: ClassVar[str] = "then"
    holds_chain: ClassVar[bool] = True

    @property
    def stages(self) -> tuple[Channel, Channel]:
        """A number is rounded and then randomized to make the memo."""
        kept, fresh = trusted(self.second, Memoised).stages
        return type(self)(self.first, kept), fresh

    def ratio(self) -> Fraction:
        """The second stage's ratio if the first reaches each of its codes with probability 1, else the product's."""
        if isinstance(self.first, Rounding) or (isinstance(self.first, Table) and self.first.reaches_every_output()):
            return self.second.ratio()
        known = self.first.ratio_before(self.second) if isinstance(self.first, Place) else None
        return self._ratio_by_entry() if known is None else known

    def has(self, kind: type[Facet]) -> bool:
        """After a rounding, the facets of the second are those of both."""
        if kind is Numeric or kind is Memoised:
            return isinstance(self.first, Rounding) and all(facet(self.second, one) for one in (kind, Numeric))
        if kind in (Extremal, Divergent):
            return isinstance(self.first, Rounding)
        return _Composed.has(self, kind)

    def delta(self, odds: Fraction) -> Fraction:
        """The second stage's delta: between grid points laws are mixed, and mixing does not increase delta."""
        return delta(self.second, odds)

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        return extremes(self.second)

    def scales(self) -> tuple[Scale, ...]:
        """The scales in the numbers that were rounded, instead of steps of their grid."""
        low, step = Fraction(self.rounding.low), self.rounding.step
        scales = trusted(self.second, Numeric).scales()
        return tuple(Scale(first, origin - slope * low / step, slope / step) for first, origin, slope in scales)

    @property
    def quadratic(self) -> bool:
        """Rounding to the two ends is linear; positions are binary fractions, so only some ranges divide exactly."""
        width = Fraction(self.rounding.high) - Fraction(self.rounding.low)
        return self.rounding.steps == 1 and (1 << PLACES) % width == 0

    def moments(self, code: Any) -> tuple[Fraction, Fraction]:
        grid, second = self.rounding, trusted(self.second, Numeric)
        low, step = Fraction(grid.low), grid.step
        point = min(int((code - low) / step), grid.steps)
        weights = [(near, grid.likelihood(near, code)) for near in (point, point + 1)]
        weighted = [(weight, second.moments(near)) for near, weight in weights if weight]
        mean, square = (sum((weight * moment[p] for weight, moment in weighted), Fraction(0)) for p in (0, 1))
        return low + step * mean, low**2 + 2 * low * step * mean + step**2 * square

    def effort(self) -> Effort:
        first, second = effort(self.first), effort(self.second)
        known = summed(self, self._law_effort(first, second))
        if isinstance(self.first, Rounding):
            return known._replace(
                ratio=second.ratio, ratio_bits=second.ratio_bits, extremes=second.extremes, delta=second.delta
            )
        certain = isinstance(self.first, Table) and self.first.reaches_every_output()
        placed = isinstance(self.first, Place) and self.first.knows_ratio_before(self.second)
        if certain or placed:
            return known._replace(ratio=first.ratio + second.ratio, ratio_bits=second.ratio_bits + 64)
        return known._replace(ratio=self._entries_effort())

    def miniatures(self) -> tuple[Channel, ...]:
        if isinstance(self.second, Table) and self.second.inputs <= MAX_ROWS:
            return (self,)  # a table has no smaller instance
        if isinstance(self.first, Place):
            return tuple(type(self)(*pair) for pair in self.first.miniatures_before(self.second))
        return tuple(
            type(self)(first, second)
            for first in self.first.miniatures()
            for second in (self.second, *self.second.miniatures())
            if _reports(first) == second.inputs
        )


@declared
class Chain(_Composed, Memoised, Supporting, Masked, Numeric, Extremal):
    """A memoised first stage, drawn once per value, and a fresh second stage for each report.

    `ratio` is that of one report. Any number of reports of one unchanged value are functions of the memo and fresh
    coins, so together they lose at most what the first stage loses. Reports of values that change also tell when.
    """

    kind: ClassVar[str] = "chain"

    @property
    def stages(self) -> tuple[Channel, Channel]:
        return self.first, self.second

    def has(self, kind: type[Facet]) -> bool:
        if kind is Supporting:  # several bits of a code are no support of it
            single = self._has_bit_rates and isinstance(self.first, Bits) and self.first.encoding != "blocks"
            return single or self._response is not None
        if kind is Numeric or kind is Extremal:
            return self._response is not None
        return self._has_bit_rates if kind is Masked else _Composed.has(self, kind)

    def ratio_forever(self) -> Fraction:
        """The ratio of all reports of one value together."""
        return self.first.ratio()

    @property
    def _response(self) -> Rates | None:
        """Where both stages are randomized response, both together are: how often a code is sent, and any other."""
        first, second = self.first, self.second
        if not (isinstance(first, Subset) and isinstance(second, Subset)) or first.w > 1 or second.w > 1:
            return None
        kept, sent = first.rates(), second.rates()
        own = kept.own * sent.own + (1 - kept.own) * sent.other
        return Rates(own, (1 - own) / (first.k - 1))

    @property
    def _has_bit_rates(self) -> bool:
        """Whether both stages are independent bits, and so both together."""
        first, second = self.first, self.second
        if not (isinstance(first, Bits) and isinstance(second, Bits)) or first.encoding in ("mask", "signed"):
            return False
        if first.encoding == "blocks" and second.rates_vary:
            return False
        return second.encoding == "mask" and not second.ones

    def mask(self, code: int, public: Words = NO_WORDS) -> int:
        return trusted(self.first, Masked).mask(code)

    def bit_rate(self, place: int) -> Rates:
        """How often a bit is set after both stages."""
        stages = [
            [units(value[place] if isinstance(value, tuple) else value) for value in (stage.p, stage.q)]  # type: ignore[attr-defined]
            for stage in (self.first, self.second)
        ]
        (p, q), (up, down) = stages
        return Rates(p * up + (1 - p) * down, q * up + (1 - q) * down)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        response = self._response
        if response is not None:
            return response.own if report == code else response.other
        if not self._has_bit_rates:
            return _Composed.likelihood(self, report, code, public)
        mask = self.mask(code)
        rates = (self.bit_rate(place)[not mask >> place & 1] for place in range(self.payload_bits))
        probabilities = [rate if report >> place & 1 else 1 - rate for place, rate in enumerate(rates)]
        return Fraction(
            prod(rate.numerator for rate in probabilities), prod(rate.denominator for rate in probabilities)
        )

    def ratio(self) -> Fraction:
        response = self._response
        if response is not None:
            return response.own / response.other
        if not self._has_bit_rates or not isinstance(self.first, Bits):
            return self._ratio_by_entry()
        places = range(self.first.k) if self.rates_vary else range(min(self.first.k, 2))
        rates = [self.bit_rate(place) for place in places]
        return bits_ratio([r.own for r in rates], [r.other for r in rates], self.first.encoding, self.first.ones)

    def effort(self) -> Effort:
        """The effort of one report, and of all reports together."""
        first, second = effort(self.first), effort(self.second)
        if self._response is not None:
            known = summed(self, Effort(512, ratio_bits=512))
            return known._replace(extremes=1 + self.inputs // 64)
        known = summed(self, self._law_effort(first, second))
        if not isinstance(self.first, Bits) or not self._has_bit_rates:
            return known._replace(ratio=first.ratio + self._entries_effort())
        exponent = self.first.ones if self.first.encoding == "blocks" else 1
        ratio = first.ratio + 8 * self.first.k * short_steps(512 * exponent)
        return known._replace(bits=256 * self.first.k, likelihood=2, ratio=ratio, ratio_bits=1024 * exponent)

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        return trusted(self.first, Supporting).supports(report, code)

    def rates(self, code: int = 0) -> Rates | None:
        if (response := self._response) is not None:
            return response
        if code >= self.first.payload_bits:
            return None  # the last optional code has no bit
        return self.bit_rate(code)

    def support_sizes(self) -> tuple[int, int] | None:
        return None if self._response is None else (1, 1)

    def scales(self) -> tuple[Scale, ...]:
        return response_scales(self.inputs, self._joint_rates)

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        return response_moments(self.inputs, self._joint_rates, code)

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        own, other = self._joint_rates
        return [own] * self.inputs, [other] * self.inputs

    @property
    def quadratic(self) -> bool:
        """Randomized response mixes the code with a constant law."""
        return self._response is not None

    @property
    def _joint_rates(self) -> Rates:
        if self._response is None:
            raise TypeError("Only two stages of randomized response are randomized response together.")
        return self._response

    @property
    def rates_vary(self) -> bool:
        return any(isinstance(stage, Bits) and stage.rates_vary for stage in self.parts)

    def miniatures(self) -> tuple[Channel, ...]:
        """The shorter ones have few enough outcomes to enumerate two reports together."""
        return tuple(dict.fromkeys((*self.shortened(3), *self.shortened(2))))

    def shortened(self, k: int) -> tuple[Channel, ...]:
        """Instances of at most k positions, where both stages are independent bits; otherwise the chain itself."""
        if isinstance(self.first, Bits) and isinstance(self.second, Bits):
            pairs = zip(self.first.miniatures(), self.second.miniatures(), strict=False)
            firsts = [(_cut(first, k), second) for first, second in pairs]
            return tuple(type(self)(first, _cut(second, first.payload_bits)) for first, second in firsts)
        if self._response is not None:
            return (type(self)(*(_fewer(stage, k) for stage in self.parts)),)
        return (self,)


def _fewer(channel: Channel, k: int) -> Channel:
    """Randomized response of the same ratio, on at most k values."""
    if not isinstance(channel, Subset):
        raise TypeError("Only randomized response has fewer values.")
    values, ratio = min(k, channel.k), channel.ratio()
    return type(channel)(values, 1, floor_unit(ratio / (ratio + values - 1)))


def _cut(channel: Channel, k: int) -> Channel:
    """The first k positions of independent bits; of blocks, one block."""
    if not isinstance(channel, Bits):
        raise TypeError("Only independent bits can be cut.")
    if channel.encoding == "blocks":  # all blocks are alike, and several of them have too many outcomes in two stages
        return type(channel)(min(channel.length, k), channel.p, channel.q)
    p, q = (value[:k] if isinstance(value, tuple) else value for value in (channel.p, channel.q))
    return type(channel)(min(channel.k, k), p, q, channel.encoding, channel.ones)
