"""The only source of randomness of a device.

Everything is defined on 64-bit words, so that Python, Numba and JavaScript draw the same reports from the
same words. A channel owns a fixed span of words (`begin` loads it, `word` reads it in order); what a
rejected draw needs beyond its own word comes from an overflow range (`extra`), so that no draw shifts the
words of another. "Exact" means exact given uniform words.

`bits` is the number of leading bits of a word that a coin reads: always 53, except in tests, which set 8 so
that rejection occurs; at 53 bits it practically never does.

Samplers do the same work for every answer and all coins: they draw everything and then select. Unneeded values are
drawn from one outcome (`below(1)`) or with `when`. Only a rejected draw takes longer; its probability is the same for
every answer.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import isqrt
from typing import TypeVar

from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.errors import WordsError

T = TypeVar("T")

BACKWARD = "A sampler goes back to a word that it has passed."
LEVELS = 8  # bit-sliced comparisons before the few undecided lanes get a word each


def flip_levels(num: int) -> int:
    """How many leading bits of `num` the bit-sliced comparison reads: none for a sure event."""
    if num in (0, UNIT):
        return 0
    trailing_zeros = (num & -num).bit_length() - 1
    return min(LEVELS, FINE - trailing_zeros)


def flips_span(lanes: int, num: int) -> int:
    """Words that `flips` owns: the levels, then a reserve of one word for each lane still undecided.

    About lanes / 2**LEVELS lanes stay undecided; the reserve lies seven standard deviations above that, and
    a draw that needs more reads on in the overflow range.
    """
    levels = flip_levels(num)
    blocks = -(-lanes // 64)
    undecided_remain = levels == LEVELS and num & ((1 << (FINE - LEVELS)) - 1)
    reserve = (lanes + 7 * isqrt(lanes << LEVELS) >> LEVELS) + 5 if undecided_remain else 0
    return levels * blocks + reserve


class Coins(ABC):
    """Random decisions from 64-bit words; subclasses say where the words come from."""

    __slots__ = ("_at", "_idle", "_raw", "bits")

    def __init__(self, bits: int = FINE) -> None:
        self.bits = bits
        self._raw = b""
        self._at = 0
        self._idle = False

    def begin(self, words: int) -> None:
        """Load the span of one report; unused words of the previous one are discarded."""
        self._raw = self._load(words)
        self._at = 0

    @abstractmethod
    def _load(self, words: int) -> bytes:
        """The bytes of a span, eight per word, little-endian."""

    @abstractmethod
    def extra(self) -> int:
        """The next word of the overflow range of this report."""

    @property
    def position(self) -> int:
        """How many words of the span have been passed."""
        return self._at // 8

    def seek(self, position: int) -> None:
        """Move forward to a word of the span: words that a branch did not use are skipped, not reused."""
        if 8 * position < self._at:
            raise WordsError(BACKWARD)
        self._at = 8 * position

    def word(self) -> int:
        """The next word of the span."""
        return self._take(1)

    def _take(self, words: int) -> int:
        end = self._at + 8 * words
        if end > len(self._raw):
            raise IndexError("A channel reads more words than it owns.")
        value = int.from_bytes(self._raw[self._at : end], "little")
        self._at = end
        return value

    def _fine(self) -> int:
        """A number below UNIT from the leading bits of the next word."""
        return self.word() >> (64 - self.bits) << (FINE - self.bits)

    def flip(self, num: int) -> bool:
        """True with probability num / UNIT."""
        return self._fine() < num

    def pick(self, cumulative: Sequence[int]) -> int:
        """Index i with probability (cumulative[i] - cumulative[i-1]) / UNIT; the last entry is UNIT."""
        return bisect_right(cumulative, self._fine())

    def below(self, n: int) -> int:
        """A uniform integer in [0, n)."""
        shift = 64 - self.bits
        size = 1 << self.bits
        if not 0 < n <= size:
            raise ValueError(f"A draw from {n} outcomes needs 1 <= outcomes <= {size}.")
        limit = size - size % n
        draw = self.word() >> shift
        while draw >= limit:
            draw = self._further() >> shift
        return draw % n

    def _further(self) -> int:
        """A word of the overflow range. A draw that does not count takes none, so that it shifts no other."""
        return self._spare() if self._idle else self.extra()

    def _spare(self) -> int:
        """The value that a draw that does not count reads instead of a word."""
        return 0

    def _pass(self, end: int) -> None:
        """Read the words of the span up to `end`, which no decision needs."""
        while self.position < end:
            self.word()

    def flips(self, lanes: int, num: int) -> int:
        """Independent flips side by side: bit j of the result is true with probability num / UNIT.

        Each lane compares a random 53-bit number with `num`, leading bit first, 64 lanes per word; a lane is
        decided at the first bit that differs. After `LEVELS` bits each undecided lane, in rising order, takes
        one word for its remaining bits. A lane whose bits all agree is not below `num`: false.
        """
        end = self.position + flips_span(lanes, num)
        everyone = (1 << lanes) - 1
        if num == UNIT:
            return everyone
        blocks = -(-lanes // 64)
        result = 0
        undecided = everyone
        levels = flip_levels(num)
        for level in range(levels):
            drawn = self._take(blocks)
            if num >> (FINE - 1 - level) & 1:
                result |= undecided & ~drawn
                undecided &= drawn
            else:
                undecided &= ~drawn
        if levels == LEVELS and num & ((1 << (FINE - LEVELS)) - 1):
            result = self._decided(result, undecided, blocks, num, end)
        self.seek(end)
        return result

    def _decided(self, result: int, undecided: int, blocks: int, num: int, end: int) -> int:
        """A word for each undecided lane; the words of the reserve that are left over are read as well.

        The number of undecided lanes depends on the bits of a report, so the time must not depend on it.
        """
        rest_bits = FINE - LEVELS
        rest = num & ((1 << rest_bits) - 1)
        # Byte by byte: masks of a million lanes would be slow to walk through as one number.
        decided = bytearray(result.to_bytes(8 * blocks, "little"))
        for place, left in enumerate(undecided.to_bytes(8 * blocks, "little")):
            while left:
                lane = left & -left
                left ^= lane
                drawn = self.word() if self.position < end else self._further()
                decided[place] |= lane * (drawn >> (64 - rest_bits) < rest)
        self._pass(end)
        return int.from_bytes(decided, "little")

    def until(self, draw: Callable[[Coins], T], accept: Callable[[T], bool], tries: int = 1) -> T:
        """Repeat a draw until it is accepted: the law of the draw given acceptance.

        The first `tries` draws read the span. All of them are drawn, and the first that is accepted is taken; if none
        is, further draws read the overflow range.
        """
        drawn = [draw(self) for _ in range(tries)]
        accepted = [value for value in drawn if accept(value)]
        while not accepted:
            value = draw(_Overflow(self))
            accepted = [value] if accept(value) or self._accepts_any() else []
        return accepted[0]

    def _accepts_any(self) -> bool:
        """Whether any draw is accepted: one that does not count reads zeros, which may never be accepted."""
        return self._idle

    def when(self, counts: bool, draw: Callable[[Coins], int]) -> int:
        """A draw that is always made; its result is meaningful only if it `counts`."""
        before = self._idle
        self._idle = before or not counts
        value = draw(self)
        self._idle = before
        return value

    def either(self, first: bool, one: Callable[[Coins], int], other: Callable[[Coins], int]) -> int:
        """One of two draws that read the same words: both are made, and one of them counts."""
        start = self._at
        drawn = self.when(first, one)
        end, self._at = self._at, start
        instead = self.when(not first, other)
        self._at = max(end, self._at)
        return (instead, drawn)[first]


class _Overflow(Coins):
    """The overflow range of other coins, read as if it were a span."""

    __slots__ = ("_source",)

    def __init__(self, source: Coins) -> None:
        super().__init__(source.bits)
        self._source = source

    def _load(self, words: int) -> bytes:
        raise TypeError("An overflow range is read word by word.")

    def _take(self, words: int) -> int:
        value = 0
        for place in range(words):
            value |= self._source._further() << (64 * place)
        self._at += 8 * words
        return value

    def _pass(self, end: int) -> None:
        """Nothing: an overflow range holds no words of its own."""

    def extra(self) -> int:
        return self._source._further()


class SystemCoins(Coins):
    """Words from the operating system. Each report draws its own, so a fork shares none."""

    __slots__ = ()

    def _load(self, words: int) -> bytes:
        return os.urandom(8 * words)

    def extra(self) -> int:
        return int.from_bytes(os.urandom(8), "little")

    # System words have no order to preserve: draws that do not count read them like any other.
    def _spare(self) -> int:
        return self.extra()

    def _accepts_any(self) -> bool:
        return False


class SeededCoins(Coins):
    """Words from SHAKE-256 of a seed and the report's number: for simulation and tests, never for privacy."""

    __slots__ = ("_extras", "_overflow", "_report", "_seed")

    def __init__(self, seed: int, *, first_report: int = 0, bits: int = FINE) -> None:
        super().__init__(bits)
        self._seed = seed
        self._report = first_report - 1
        self._extras = 0
        self._overflow = b""

    def _stream(self, purpose: bytes, length: int) -> bytes:
        label = b"sottovoce coins 1|%s|%d|%d" % (purpose, self._seed, self._report)
        return hashlib.shake_256(label).digest(length)

    def _load(self, words: int) -> bytes:
        self._report += 1
        self._extras = 0
        self._overflow = b""
        return self._stream(b"span", 8 * words)

    def extra(self) -> int:
        self._extras += 1
        end = 8 * self._extras
        if end > len(
            self._overflow
        ):  # a longer stream begins like a shorter one; twice as long, it is seldom read again
            self._overflow = self._stream(b"overflow", 2 * end)
        return int.from_bytes(self._overflow[end - 8 : end], "little")


class TapeCoins(Coins):
    """Given words, for replay: the first of the tape are the span, the overflow comes from elsewhere."""

    __slots__ = ("_overflow", "_tape")

    def __init__(self, tape: bytes | Iterable[int], overflow: Iterable[int] = (), *, bits: int = FINE) -> None:
        super().__init__(bits)
        self._tape = tape if isinstance(tape, bytes) else b"".join(w.to_bytes(8, "little") for w in tape)
        self._overflow = iter(overflow)

    def _load(self, words: int) -> bytes:
        return self._tape[: 8 * words]

    def extra(self) -> int:
        for value in self._overflow:
            return value
        raise IndexError("The tape has no overflow words left.")
