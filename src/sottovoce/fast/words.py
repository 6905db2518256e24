"""Words for batches: AES-256 in counter mode, keyed by the operating system or, for simulation, by a seed.

Report i owns the words from counter i * words / 2 on, so that it does not matter how a batch is cut into
chunks or on how many threads it runs. A rejected draw reads on in an overflow range far above all spans.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext
from numpy.typing import NDArray

from sottovoce.core.params import check_integer
from sottovoce.fast.keystream import BLOCK, by_ctr, keystream

Uint64s = NDArray[np.uint64]

_OVERFLOW = 1 << 127
_OVERFLOW_BLOCKS = 1 << 32
_ZEROS = bytes(1 << 18)  # what is encrypted: the words are the bare keystream


@dataclass(frozen=True, slots=True)
class WordStream:
    """The words of a batch. The key is drawn when the stream is made, never at import."""

    key: bytes = field(repr=False)  # whoever knows it can undo the noise of the batch
    words: int  # per report, even: a block of the cipher holds two
    skipped: int = 0  # reports whose words were given to an earlier part of the same batch
    simulated: bool = False  # the key came from a seed

    @classmethod
    def secure(cls, words: int) -> WordStream:
        """A stream keyed by the operating system."""
        return cls(os.urandom(32), words)

    @classmethod
    def seeded(cls, words: int, seed: int) -> WordStream:
        """A reproducible stream, for simulation only."""
        check_integer("seed", "a simulation", seed, -(1 << 63), 1 << 256)
        return cls(hashlib.sha256(b"sottovoce words 1|%d" % seed).digest(), words, simulated=True)

    def after(self, reports: int) -> WordStream:
        """The rest of the stream: a file is one batch under one key, drawn in pieces."""
        return replace(self, skipped=self.skipped + reports)

    def rows(self, first: int, count: int) -> Uint64s:
        """The words of reports first, ..., first + count - 1: one row each."""
        for rows in self.chunks(first, first + count, max(1, count)):
            return rows
        return np.empty((0, self.words), np.uint64)

    def chunks(self, first: int, last: int, size: int) -> Iterator[Uint64s]:
        """The rows of consecutive chunks of at most `size` reports.

        All chunks lie in the same memory, which stays in the cache: copy what must be kept before the next
        one is requested.
        """
        counter = (self.skipped + first) * self.words // 2
        encryptor = keystream(self.key, counter, (last - first) * self.words // 2)
        width = 8 * self.words
        size = min(size, last - first)
        buffer = np.empty(size * width + BLOCK, np.uint8)  # the cipher asks for room for one more block
        for start in range(first, last, max(1, size)):
            count = min(size, last - start)
            _fill(encryptor, buffer, count * width)
            yield buffer[: count * width].view("<u8").reshape(count, self.words)

    def overflow(self, report: int) -> Iterator[int]:
        """The words that a report reads after a rejection."""
        encryptor = by_ctr(self.key, _OVERFLOW + (self.skipped + report) * _OVERFLOW_BLOCKS)
        while True:
            raw = encryptor.update(_ZEROS[:BLOCK])
            yield int.from_bytes(raw[:8], "little")
            yield int.from_bytes(raw[8:], "little")


def _fill(encryptor: CipherContext, buffer: NDArray[np.uint8], length: int) -> None:
    view = memoryview(buffer.data)
    done = 0
    while done < length:
        step = min(length - done, len(_ZEROS))
        zeros = _ZEROS if step == len(_ZEROS) else memoryview(_ZEROS)[:step]
        done += encryptor.update_into(zeros, view[done:])
