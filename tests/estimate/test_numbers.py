"""The numbers of every estimate are those that were written down (`tests/estimate/numbers.py`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.estimate import further_numbers as further
from tests.estimate.numbers import ANSWERS, FILE, of_family

NEAR, SMALL = 1e-4, 1e-7  # decoders stop when they are this near; smaller numbers are differences of larger ones


def differs(new: Any, old: Any) -> bool:
    if not isinstance(new, list) or not isinstance(old, list) or len(new) != len(old):
        return bool(new != old)
    return any(
        left != right if isinstance(left, str) or isinstance(right, str) else left != pytest.approx(right, NEAR, SMALL)
        for left, right in zip(new, old, strict=True)
    )


@pytest.mark.parametrize("family", ANSWERS)
def test_estimates_are_those_that_were_written_down(family: str) -> None:
    kept, now = json.loads(FILE.read_text(encoding="utf-8"))[family], of_family(family)
    assert kept.keys() <= now.keys()
    for name in kept:
        check_unchanged(name, kept[name], now[name], "numbers")


@pytest.mark.parametrize("family", further.FAMILIES)
def test_what_else_estimates_say_is_what_was_written_down(family: str) -> None:
    kept = json.loads(further.FILE.read_text(encoding="utf-8"))[family]
    check_unchanged(family, kept, further.of_further(family), "further_numbers")


def check_unchanged(name: str, kept: dict[str, Any], now: dict[str, Any], module: str) -> None:
    """Fail with the numbers that are not those of the file."""
    changed = [f"{name}, {key}: {old} -> {now.get(key)}" for key, old in kept.items() if differs(now.get(key), old)]
    assert not changed, "\n".join(sorted(changed)[:20]) + f"\nIf that is meant: python -m tests.estimate.{module}"
