"""Digests of many short messages at once, against the standard library."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from sottovoce.fast.sha256 import LONGEST, digests


def test_digests_are_those_of_the_standard_library() -> None:
    rng = np.random.default_rng(1)
    for length in (0, 1, 3, 16, 31, 54, LONGEST):
        rows = rng.integers(0, 256, (5, length), np.uint8)
        expected = [hashlib.sha256(row.tobytes()).digest() for row in rows]
        assert digests(rows).astype(">u8").tobytes() == b"".join(expected)
        assert np.array_equal(digests(np.asfortranarray(rows)), digests(rows))


def test_messages_of_two_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 55 bytes"):
        digests(np.zeros((1, LONGEST + 1), np.uint8))
