"""Ids that come several times are always suspected, and few others."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.fast.repeats import SLOTS, RepeatedIds

pytestmark = pytest.mark.slow  # compiles its kernels


def ids(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(number.to_bytes(16, "little") for number in numbers), np.uint8).reshape(-1, 16)


@pytest.mark.parametrize("slots", [16, 1 << 20])
def test_every_id_that_comes_twice_is_suspected(slots: int) -> None:
    generator = np.random.default_rng(slots)
    numbers = [int(one) for one in generator.integers(0, 1 << 63, 40)]
    numbers = [*range(1 << 64, (1 << 64) + 40), *numbers]  # counted up and drawn
    again = generator.choice(80, 12)
    rows = ids(*numbers, *(numbers[place] for place in again))
    rows = rows[generator.permutation(len(rows))]
    seen = RepeatedIds(slots)
    for part in np.array_split(rows, 3):
        seen.mark(part)
    found = np.concatenate([seen.suspects(part) for part in np.array_split(rows, 5)])
    _, place, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    repeated = count[place.reshape(-1)] > 1
    assert found[repeated].all() and seen.same
    assert found.all() if slots == 16 else (found == repeated).all()


def test_slots_that_are_shared_are_as_rare_as_chance_makes_them() -> None:
    rows = np.random.default_rng(5).integers(0, 256, (20_000, 16), np.uint8)
    seen = RepeatedIds(1 << 20)
    seen.mark(rows)
    # A row shares its slot with another one with probability about n / slots: 380 rows, give or take 28.
    assert 240 < int(seen.suspects(rows).sum()) < 520
    assert SLOTS == 1 << 29


def test_passes_over_different_ids_are_noticed() -> None:
    for second in ([1, 2], [1, 2, 2], [1, 2, 4], []):
        seen = RepeatedIds(64)
        seen.mark(ids(1, 2, 3))
        assert seen.suspects(ids(*second)).shape == (len(second),)
        assert not seen.same
    seen = RepeatedIds(64)
    seen.mark(ids(1, 2, 3))
    seen.suspects(ids(3, 1))
    seen.suspects(ids(2))
    assert seen.same
