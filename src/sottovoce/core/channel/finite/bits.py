"""`Bits`: independent bits, 1 with probability p where the code's encoding has a 1, else with q."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import nlargest
from math import comb, prod
from typing import Any, ClassVar

from sottovoce.core import specs
from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.closed_forms import Guarded
from sottovoce.core.channel.facets import Costed, Facet, Masked, Rates, Supporting
from sottovoce.core.channel.listing import CodeList, combination
from sottovoce.core.coins import Coins, flips_span
from sottovoce.core.declared import Form, declared, delegated, integer, of_form, text
from sottovoce.core.errors import PrivacyError
from sottovoce.core.params import check_index, check_integer, reject
from sottovoce.core.spec_cost import Effort, short_steps, summed

MAX_MASK = 64  # positions of uneven masks, whose worst pair is found by dynamic programming
ENCODINGS = ("onehot", "optional", "mask", "blocks", "signed")
MAX_BLOCKS = 20  # each of two positions or more, so that codes stay indices of few bits


def _read_rates(plain: object, owner: str, name: str) -> int | tuple[int, ...]:
    return (specs.integers if isinstance(plain, list) else specs.integer)(plain, owner, name)


def _check_rates(name: str, owner: str, value: Any) -> int | tuple[int, ...]:
    if isinstance(value, tuple):
        return tuple(check_index(name, owner, number) for number in value)
    return check_index(name, owner, value)


_RATES = Form(
    "integer or integers", _read_rates, lambda value: list(value) if isinstance(value, tuple) else value, _check_rates
)


@declared
class Bits(Channel, Supporting, Masked, Guarded, Costed):
    """Unary encodings and similar ones; the report is the mask of the bits that are 1.

    `p` and `q` are units, one for all positions or one per position. The encoding is "onehot" (code v sets
    bit v), "optional" (code k sets none), "mask" (the code is itself a mask with `ones` bits set; any number
    of them where `ones` is 0), "blocks" (one bit in each of `ones` blocks of equal length: the digits of the code in
    base k / ones, the lowest digit in the first block) or "signed" (code 2 j raises bit j to p, code 2 j + 1 lowers
    it to 1 - p, all other bits are fair). A one-hot code whose bit has its own q of 0 shows itself when that bit is
    set; then it cannot be one of those that a guarantee protects.
    """

    kind: ClassVar[str] = "bits"
    k: int = integer()
    p: int | tuple[int, ...] = of_form(_RATES)
    q: int | tuple[int, ...] = of_form(_RATES)
    encoding: str = text(*ENCODINGS, default="onehot")
    ones: int = integer(default=1)
    payload_bits = delegated("k")

    def check_fields(self) -> None:
        least = 1 if self.encoding != "onehot" else 2
        check_integer("k", self.kind, self.k, least, 1 << 24)
        check_integer("ones", self.kind, self.ones, 0, self.k)
        if self.encoding == "mask":
            check_integer("k", self.kind, self.k, 1, MAX_MASK if self.rates_vary else 1 << 12)
        if self.encoding == "blocks" and (self.ones < 2 or self.k % self.ones or self.k < 2 * self.ones):
            raise reject(
                "ones", self.kind, "the number of blocks: at least 2, of equal length of at least 2", self.ones
            )
        if self.encoding == "blocks" and (self.ones > MAX_BLOCKS or self.inputs > 1 << MAX_BLOCKS):
            raise reject("ones", self.kind, f"so small that there are at most {1 << MAX_BLOCKS} codes", self.ones)
        if self.encoding not in ("mask", "blocks") and self.ones != 1:
            raise reject("ones", self.kind, f"1 where the encoding is {self.encoding}", self.ones)
        if self.encoding in ("blocks", "signed") and self.rates_vary:
            raise reject("p, q", self.kind, f"one probability each where the encoding is {self.encoding}", self.p)
        if self.encoding == "signed" and self.q != UNIT // 2:
            raise reject("q", self.kind, f"{UNIT // 2} where the encoding is signed", self.q)
        for name, value in (("p", self.p), ("q", self.q)):
            if isinstance(value, tuple) and len(value) != self.k:
                raise reject(name, self.kind, f"one probability, or one for each of the {self.k} bits", value)
            least = 0 if name == "q" and self.encoding == "onehot" and isinstance(value, tuple) else 1
            for number in value if isinstance(value, tuple) else (value,):
                check_integer(name, self.kind, number, least, UNIT - 1)
        if self.rates_vary:
            for p, q in zip(self._each(self.p), self._each(self.q), strict=True):
                check_informative(self.kind, units(p), units(q))
        elif isinstance(self.p, int) and isinstance(self.q, int):
            check_informative(self.kind, units(self.p), units(self.q))

    def _each(self, value: int | tuple[int, ...]) -> tuple[int, ...]:
        return value if isinstance(value, tuple) else (value,) * self.k

    @property
    def rates_vary(self) -> bool:
        return isinstance(self.p, tuple) or isinstance(self.q, tuple)

    @property
    def inputs(self) -> int:
        if self.encoding == "mask":
            return 1 << self.k
        if self.encoding == "blocks":
            return int(self.length**self.ones)
        return {"onehot": self.k, "optional": self.k + 1, "signed": 2 * self.k}[self.encoding]

    @property
    def length(self) -> int:
        """Positions of one block."""
        return self.k // self.ones

    def codes(self) -> Iterable[int]:
        if self.encoding == "mask" and self.ones:
            return CodeList(
                comb(self.k, self.ones), lambda at: sum(1 << place for place in combination(self.k, self.ones, at))
            )
        return range(self.inputs)

    @property
    def codes_are_indices(self) -> bool:
        return self.encoding != "mask" or not self.ones

    def mask(self, code: int, public: Words = NO_WORDS) -> int:
        if self.encoding == "mask":
            if not 0 <= code < 1 << self.k or (self.ones and code.bit_count() != self.ones):
                raise ValueError(
                    f"A code of this channel is a mask of {self.k} bits, {self.ones or 'any'} of them set."
                )
            return code
        if self.encoding == "blocks":
            length = self.length
            return sum(1 << (block * length + code // length**block % length) for block in range(self.ones))
        if self.encoding == "signed":
            return 1 << (code >> 1)
        return 1 << code if code < self.k else 0

    def _own(self, place: int, code: int) -> int:
        """How likely a position of the mask of a code is 1, in units."""
        if self.encoding == "signed" and isinstance(self.p, int):
            return (self.p, UNIT - self.p)[code & 1]
        return self.p[place % self.k] if isinstance(self.p, tuple) else self.p

    @property
    def _own_words(self) -> int:
        """Words for the positions that hold a 1: one each, for the largest possible number."""
        return (self.ones or self.k) if self.encoding in ("mask", "blocks") else 1

    @property
    def words(self) -> int:
        background = self.k if isinstance(self.q, tuple) else flips_span(self.k, self.q)
        return background + self._own_words

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        end = coins.position + self.words
        mask = self.mask(code)
        if isinstance(self.q, tuple):
            report = 0
            for place, num in enumerate(self.q):
                report |= coins.flip(num) << place
        else:
            report = coins.flips(self.k, self.q)
        report &= ~mask  # positions that hold a 1 are drawn apart, each from its own word
        beyond = (self.k,) * self._own_words  # as many steps for every code
        own: tuple[int, ...] = (code >> (self.encoding == "signed"),)
        if self.encoding in ("mask", "blocks"):
            own = (*_places(mask), *beyond)[: self._own_words]
        for place in own:
            num = self._own(place, code)
            report |= coins.flip((UNIT, num)[place < self.k]) << place
        coins.seek(end)
        return report & (1 << self.k) - 1

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.k and (report & self.shown).bit_count() <= 1

    @property
    def shown(self) -> int:
        """The mask of bits that only their own code sets."""
        if not isinstance(self.q, tuple) or all(self.q):
            return 0
        return sum(1 << place for place, q in enumerate(self.q) if not q)

    @property
    def protected(self) -> frozenset[int]:
        return frozenset(code for code in range(self.inputs) if not self.shown >> code & 1)

    def guarded_ratio(self, sensitive: frozenset[int]) -> Fraction | None:
        """Protected reports set no bit that shows a code: such a code is then as likely as its bit is to be clear."""
        if not self.shown:
            return self.ratio()
        if not sensitive <= self.protected:
            return None
        pairs = zip(map(units, self._each(self.p)), map(units, self._each(self.q)), strict=True)
        odds = [(p / q, (1 - p) / (1 - q)) if q else (1 - p, 1 - p) for p, q in pairs]
        products = _distinct_products([max(pair) for pair in odds], [1 / min(pair) for pair in odds])
        return max((a * b for a, b in products), default=Fraction(1))

    def ratio(self) -> Fraction:
        if self.shown:
            raise PrivacyError("A bit that only its own code sets shows this code: the ratio is infinite.")
        if isinstance(self.p, int) and isinstance(self.q, int):
            return self._even_ratio(units(self.p), units(self.q))
        p, q = self._each(self.p), self._each(self.q)
        return bits_ratio([units(n) for n in p], [units(n) for n in q], self.encoding, self.ones)

    def _even_ratio(self, p: Fraction, q: Fraction) -> Fraction:
        """All positions are alike: only the numbers of rising and falling bits matter."""
        if self.encoding == "signed":  # (2 p) (1 / (2 - 2 p)) with two positions, p / (1 - p) with one
            return p / (1 - p)
        if self.encoding == "blocks":
            return bits_ratio([p, p], [q, q], "blocks", self.ones)
        if self.encoding != "mask":
            some = min(self.k, 2)  # with a single bit no two codes can set different ones
            return bits_ratio([p] * some, [q] * some, self.encoding, 1)
        if self.ones:
            return bits_ratio([p, p], [q, q], "onehot", 1) ** min(self.ones, self.k - self.ones)
        return bits_ratio([p], [q], "mask", 0) ** self.k

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        mask = self.mask(code)
        ones = (self._own(place, code) if mask >> place & 1 else q for place, q in enumerate(self._each(self.q)))
        return Fraction(
            prod(one if report >> place & 1 else UNIT - one for place, one in enumerate(ones)), UNIT**self.k
        )

    def has(self, kind: type[Facet]) -> bool:
        """A mask of several bits is supported bit by bit, and has no support of its own.

        A signed code is supported less often by the code of the other sign than by all others, so it has no rates.
        """
        if kind is Masked:
            return self.encoding != "signed"
        return kind not in (Supporting, Guarded) or self.encoding in ("onehot", "optional")

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        if self.encoding == "signed":
            return bool(report >> (code >> 1) & 1) != bool(code & 1)
        return bool(report >> code & 1)

    def bit_rate(self, place: int) -> Rates:
        return Rates(*(units(value[place] if isinstance(value, tuple) else value) for value in (self.p, self.q)))

    @property
    def own_rate(self) -> Fraction:
        """How often a bit has the value that its code gives it, where all positions are alike."""
        return units(self.p[0] if isinstance(self.p, tuple) else self.p)

    def rates(self, code: int = 0) -> Rates | None:
        if code == self.k:
            return None  # the last optional code has no bit
        return self.bit_rate(code)

    def pair(self) -> tuple[Fraction, Fraction] | None:
        if self.rates_vary:
            return None
        own, other = (units(value) for value in (self.p, self.q) if isinstance(value, int))
        return own * other, other * other

    def effort(self) -> Effort:
        masks = self.encoding in ("mask", "blocks")
        bits = 128 * (2 * self.ones if self.encoding == "blocks" else self.k if masks else 2)
        if self.rates_vary:  # at each position ten quotients, differences and comparisons
            exchanged = min(self.ones, self.k - self.ones)
            ratio = 10 * self.k + (2 * self.k * (exchanged + 1) ** 2 * short_steps(bits) if masks else 0)
        else:  # a power is computed without reducing fractions
            ratio = bits >> 6 if masks else 0
        return summed(self, Effort(bits=128 * self.k, likelihood=2, ratio=20 + ratio, ratio_bits=bits))

    def miniatures(self) -> tuple[Channel, ...]:
        if self.encoding == "blocks":
            return tuple(type(self)(2 * ones, self.p, self.q, self.encoding, ones) for ones in (2, 3)[: self.ones - 1])
        small = min(self.k, 2 if self.encoding == "signed" else 4)
        if self.shown:
            return (self._mixed(small),)
        ones = min(self.ones, 2) if self.encoding == "mask" else self.ones
        small_channels = [self._cut(small, ones), *([self._cut(small, ones, last=True)] if self.rates_vary else [])]
        if self.encoding == "mask" and min(self.ones, self.k - self.ones) > 2:
            small_channels.append(self._cut(6, 3))  # three bits that rise, and three that fall
        return tuple(small_channels)

    def _cut(self, size: int, ones: int, last: bool = False) -> Bits:
        """The first or the last positions."""
        kept = slice(-size, None) if last else slice(size)
        p, q = (value[kept] if isinstance(value, tuple) else value for value in (self.p, self.q))
        return type(self)(size, p, q, self.encoding, ones)

    def smallest(self) -> Bits:
        """Two positions, or two blocks of two."""
        if self.encoding == "blocks":
            return type(self)(4, self.p, self.q, self.encoding, 2)
        return self._cut(min(self.k, 2), min(self.ones, 2))

    def _mixed(self, small: int) -> Bits:
        """Positions that show their code and others, by turns."""
        hidden, seen = ([v for v in range(self.k) if bool(self.shown >> v & 1) == shows] for shows in (False, True))
        chosen = sorted((*hidden[: max(small - len(seen), small // 2)], *seen[: max(small - len(hidden), small // 2)]))
        p, q = (tuple(self._each(value)[place] for place in chosen) for value in (self.p, self.q))
        return type(self)(len(chosen), p, q)


def bits_ratio(p: Sequence[Fraction], q: Sequence[Fraction], encoding: str, ones: int) -> Fraction:
    """The largest product over the bits in which two encodings differ.

    A bit that the first code sets and the second does not contributes at most max(p/q, (1-p)/(1-q)); a bit
    the other way round at most the largest inverse. The worst pair of codes sets the worst bits of each kind.
    """
    risen = [max(a / b, (1 - a) / (1 - b)) for a, b in zip(p, q, strict=True)]
    fallen = [max(b / a, (1 - b) / (1 - a)) for a, b in zip(p, q, strict=True)]
    if encoding == "mask":
        return _worst_masks(risen, fallen, ones)
    if encoding == "blocks":  # all positions are alike, and two codes may differ in every block
        return (risen[0] * fallen[0]) ** ones
    pairs = max(
        (a * b for a, b in _distinct_products(risen, fallen)),
        default=Fraction(1),
    )
    return max(pairs, *risen, *fallen) if encoding == "optional" else pairs


def _distinct_products(risen: list[Fraction], fallen: list[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    """The best partners at two different positions: the two best of each kind suffice."""
    best_risen = nlargest(2, range(len(risen)), key=risen.__getitem__)
    best_fallen = nlargest(2, range(len(fallen)), key=fallen.__getitem__)
    for i in best_risen:
        for j in best_fallen:
            if i != j:
                yield risen[i], fallen[j]


def _worst_masks(risen: list[Fraction], fallen: list[Fraction], ones: int) -> Fraction:
    """Any number of ones: each bit at its worst. Exactly `ones`: the same number of bits must rise and fall."""
    if not ones:
        result = Fraction(1)
        for up, down in zip(risen, fallen, strict=True):
            result *= max(up, down)
        return result
    exchanged = min(ones, len(risen) - ones)
    # best[u][d]: the largest product with u bits risen and d fallen among the positions seen so far
    best = {(0, 0): Fraction(1)}
    for up, down in zip(risen, fallen, strict=True):
        longer = dict(best)
        for (u, d), value in best.items():
            for key, gain in (((u + 1, d), up), ((u, d + 1), down)):
                if max(key) <= exchanged:
                    longer[key] = max(longer.get(key, Fraction(0)), value * gain)
        best = longer
    return max(best[n, n] for n in range(exchanged + 1) if (n, n) in best)


def _places(mask: int) -> Iterator[int]:
    """The set bits of a mask, in rising order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
