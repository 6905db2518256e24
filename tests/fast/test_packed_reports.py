"""Reports of several channels side by side, packed into words: bit by bit what plain integers give."""

from __future__ import annotations

import random

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Each, Subset
from sottovoce.core.channel.facets import outputs_of
from sottovoce.fast.kernels.base import lanes
from sottovoce.fast.kernels.compose.each import pack, unpacked
from sottovoce.fast.kernels.masks import add_masks
from sottovoce.tally.tally import report_cells

P, Q = UNIT // 4 * 3, UNIT // 4
CHANNELS = [
    Each((Bits(70, P, Q), Subset(5, 1, P), Bits(130, P, Q), Subset(300, 1, P))),
    Each((Subset(5, 1, P), Bits(61, P, Q), Bits(64, P, Q), Bits(2, P, Q))),
    Each((Bits(64, P, Q), Bits(128, P, Q), Subset(2, 1, P))),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=range(len(CHANNELS)))
def test_parts_are_found_where_they_were_put(channel: Each) -> None:
    chance = random.Random(4)
    widths = [part.payload_bits for part in channel.channels]
    for _ in range(20):
        parts = [chance.getrandbits(width) for width in widths]
        parts = [
            p if isinstance(c, Bits) else p % (outputs_of(c) or 1) for p, c in zip(parts, channel.channels, strict=True)
        ]
        shifts = [sum(widths[:place]) for place in range(len(widths))]
        report = sum(part << shift for part, shift in zip(parts, shifts, strict=True))
        room = 8 * lanes(channel.payload_bits)
        mask = np.frombuffer(report.to_bytes(room, "little"), np.uint64)[None, :].copy()
        packed = np.zeros_like(mask)
        for part, width, shift in zip(parts, widths, shifts, strict=True):
            words = np.frombuffer(part.to_bytes(8 * lanes(width), "little"), np.uint64)[None, :].copy()
            pack(words, shift, packed)
        assert packed.tolist() == mask.tolist()
        found = [
            int.from_bytes(np.ascontiguousarray(words).tobytes(), "little") for _, words in unpacked(channel, mask)
        ]
        assert found == parts


@pytest.mark.parametrize(("columns", "size", "counted"), [(2, 70, 70), (2, 128, 128), (1, 70, 64)])
def test_counting_bits_stays_within_the_cells_and_within_the_masks(columns: int, size: int, counted: int) -> None:
    memory = np.zeros(200, np.int64)
    add_masks(np.full((9, columns), (1 << 64) - 1, np.uint64), memory[:size])
    assert memory.tolist() == [9] * counted + [0] * (200 - counted)


def test_parts_that_cross_two_words_are_counted_like_single_reports() -> None:
    """Fourteen parts of eleven bits: some begin in one word and end in the next."""
    m = sv.mechanism("sampled", sv.Box(0, 1, 20), epsilon=2, inner="piecewise", count=14)
    assert m.channel.payload_bits == 14 * 11
    batch = m.privatize(np.random.default_rng(1).random((6, 20)), seed=1)
    ids = [tuple(map(int, words)) for words in batch.public]
    one_by_one = sum(report_cells(m, report, words) for report, words in zip(batch, ids, strict=True))
    assert np.array_equal(m.tally(batch).cells, one_by_one)
