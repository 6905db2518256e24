"""Sets that are written down bit by bit: listed ones, and shifts of patterns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Block, ListedSets, ShiftSets, channel_from_spec
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.exact import law
from tests.each import for_each

LISTED = ListedSets(("1100", "0110", "0011", "1001", "1011", "0100"))
SETS = [
    LISTED,
    ListedSets(("10", "01", "00")),
    ShiftSets(3, ("1100", "1010")),
    ShiftSets(5, ("11010",)),
    ShiftSets(2, ("10000", "00000")),
]


@pytest.mark.parametrize("sets", SETS, ids=lambda sets: f"{sets.kind} {sets.codes}")
def test_the_enumerated_law_is_the_closed_form(sets: Any) -> None:
    channel = Block(sets, 2 * UNIT // 3)
    laws = [{y: p for (_, y), p in law(channel, code, NO_WORDS).items()} for code in range(sets.codes)]
    for code, found in enumerate(laws):
        assert sum(found.values()) == 1
        assert found == {y: channel.likelihood(y, code) for y in range(sets.outputs)}
        members = [y for y in range(sets.outputs) if sets.member(code, y)]
        assert len(members) == sets.size
        assert sorted(sets.output(code, index, True) for index in range(sets.size)) == members
        assert sum((found[y] for y in members), Fraction(0)) == Fraction(2 * UNIT // 3, UNIT)
    assert max(a[y] / b[y] for a, b in product(laws, laws) for y in a) == channel.ratio()


def test_shifts_are_the_patterns_moved_around_the_circle() -> None:
    sets = ShiftSets(4, ("110100", "100000"))
    bits = np.array([[sets.member(code, y) for code in range(4)] for y in range(12)], int)
    for number, pattern in enumerate(((1, 1, 0, 1, 0, 0), (1, 0, 0, 0, 0, 0))):
        for shift in range(6):
            assert bits[6 * number + shift].tolist() == np.roll(pattern, shift)[:4].tolist()
    assert (bits.sum(axis=0) == 4).all()


def test_one_block_of_ones_gives_the_arcs_of_a_square_wave() -> None:
    wave = sv.mechanism("square-wave-discrete", sv.Circle(24), epsilon=1, buckets=12).channel
    assert isinstance(wave, Block)
    pattern = "1" * wave.sets.size + "0" * (12 - wave.sets.size)
    ours = Block(ShiftSets(12, (pattern,)), wave.inside)
    theirs = np.array([[float(wave.likelihood(y, code)) for y in range(12)] for code in range(12)])
    found = np.array([[float(ours.likelihood(y, code)) for y in range(12)] for code in range(12)])
    assert sorted(map(tuple, theirs.T)) == sorted(map(tuple, found.T))


@pytest.mark.parametrize("sets", SETS[:3], ids=lambda sets: f"{sets.kind} {sets.codes}")
def test_a_specification_gives_them_back(sets: Any) -> None:
    channel = Block(sets, 2 * UNIT // 3)
    assert channel_from_spec(channel.spec()) == channel
    assert channel_from_spec(channel.spec()).likelihood(1, 1) == channel.likelihood(1, 1)


@for_each(
    "make,sentence",
    [
        (lambda: ListedSets(("10", "0")), "equally long texts of 0 and 1"),
        (lambda: ListedSets(("10", "0x")), "equally long texts of 0 and 1"),
        (lambda: ListedSets((10, 1)), "equally long texts of 0 and 1"),  # type: ignore[arg-type]
        (lambda: ListedSets(()), "equally long texts of 0 and 1"),
        (lambda: ListedSets(("10", "00")), "give every code as many outputs"),
        (lambda: ListedSets(("11", "00")), "not all the same"),
        (lambda: ListedSets(("01" * 1500, "10" * 1500) * 750), "at most 4194304 bits"),
        (lambda: ShiftSets(2, ("11", "00")), "a 0 and a 1 in at least one pattern"),
        (lambda: ShiftSets(5, ("1100",)), "codes"),
        (lambda: ShiftSets(1, ("1100",)), "codes"),
        (lambda: ShiftSets(2, ("1",)), "two or more bits"),
    ],
)
def test_sets_that_are_none_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        make()


@pytest.mark.parametrize("fields", [{"rows": "10"}, {"rows": [1, 0]}, {"rows": None}, {"patterns": ["10"]}])
def test_other_specifications_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(sv.SpecError):
        ListedSets.from_fields(fields)
    with pytest.raises(sv.SpecError):
        ShiftSets.from_fields({"codes": 2, **{("patterns" if key == "rows" else "x"): v for key, v in fields.items()}})
