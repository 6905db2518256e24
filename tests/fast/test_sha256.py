"""The kernel of SHA-256 against the standard library."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from sottovoce.fast.sha256 import LONGEST, digests


def test_every_length_that_fits_one_block() -> None:
    generator = np.random.default_rng(1)
    for length in range(LONGEST + 1):
        rows = generator.integers(0, 256, (37, length), dtype=np.uint8)  # more than go side by side
        found = [b"".join(int(word).to_bytes(8, "big") for word in row) for row in digests(rows)]
        assert found == [hashlib.sha256(row.tobytes()).digest() for row in rows]


def test_longer_messages_are_refused() -> None:
    with pytest.raises(ValueError, match="55 bytes"):
        digests(np.zeros((1, LONGEST + 1), np.uint8))
