"""Many cases in one test: all of them are tried, and the one that fails is named."""

from __future__ import annotations

from inspect import signature

import pytest

from tests.each import for_each


def test_all_cases_are_tried_with_the_fixtures_that_are_left() -> None:
    seen = []

    @for_each("a", [1, 2])
    @for_each("b,c", [(3, 4), (5, 6)])
    def look(a: int, b: int, c: int, seed: int) -> None:
        seen.append((a, b, c, seed))

    assert list(signature(look).parameters) == ["seed"]
    look(seed=7)
    assert seen == [(1, 3, 4, 7), (1, 5, 6, 7), (2, 3, 4, 7), (2, 5, 6, 7)]


def test_the_case_that_fails_is_named() -> None:
    @for_each("n", [1, 2, 3])
    def look(n: int) -> None:
        assert n != 2

    with pytest.raises(AssertionError) as caught:
        look()
    assert caught.value.__notes__ == ["This was for {'n': 2}."]
