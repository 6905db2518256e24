"""Words for batches: AES-256 in counter mode, keyed by the operating system or, for simulation, by a seed.

Report i owns the words from counter i * words / 2 on, so that it does not matter how a batch is cut into
chunks or on how many threads it runs. A rejected draw reads on in an overflow range far above all spans.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Uint64s = NDArray[np.uint64]

_OVERFLOW = 1 << 127
_OVERFLOW_BLOCKS = 1 << 32
_ZEROS = bytes(1 << 16)


@dataclass(frozen=True, slots=True)
class WordStream:
    """The words of a batch. The key is drawn when the stream is made, never at import."""

    key: bytes
    words: int  # per report, even: a block of the cipher holds two

    @classmethod
    def secure(cls, words: int) -> WordStream:
        """A stream keyed by the operating system."""
        return cls(os.urandom(32), words)

    @classmethod
    def seeded(cls, words: int, seed: int) -> WordStream:
        """A reproducible stream, for simulation only."""
        return cls(hashlib.sha256(b"sottovoce words 1|%d" % seed).digest(), words)

    def _bytes(self, counter: int, length: int) -> bytearray:
        encryptor = Cipher(algorithms.AES(self.key), modes.CTR(counter.to_bytes(16, "big"))).encryptor()
        buffer = bytearray(length + 15)  # the cipher asks for room for one more block
        done = 0
        view = memoryview(buffer)
        while done < length:
            step = min(length - done, len(_ZEROS))
            done += encryptor.update_into(_ZEROS[:step] if step < len(_ZEROS) else _ZEROS, view[done:])
        return buffer

    def rows(self, first: int, count: int) -> Uint64s:
        """The words of reports first, ..., first + count - 1: one row each."""
        raw = self._bytes(first * self.words // 2, 8 * count * self.words)
        return np.frombuffer(raw, dtype="<u8", count=count * self.words).reshape(count, self.words)

    def overflow(self, report: int) -> Iterator[int]:
        """The words that report reads on in after a rejection."""
        block = _OVERFLOW + report * _OVERFLOW_BLOCKS
        while True:
            raw = self._bytes(block, 16)
            yield int.from_bytes(raw[:8], "little")
            yield int.from_bytes(raw[8:16], "little")
            block += 1
