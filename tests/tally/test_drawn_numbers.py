"""Simulated tallies of every mechanism are those that were written down (`python -m tests.tally.test_drawn_numbers`).

That they have the law of counted reports is what `test_counts.py` shows. Here they are kept, so that no change goes
unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.tally.counts import simulate_cells, simulate_counts
from tests.estimate.numbers import ANSWERS, names

FILE = Path(__file__).parent / "golden" / "drawn.json"
FAMILIES = ("frequency", "mean", "distribution", "group")


def sums(cells: Any) -> list[int]:
    """Three sums that change with every cell."""
    places = np.arange(1, np.size(cells) + 1)
    numbers = np.asarray(cells).ravel()
    return [int(numbers.sum()), int(numbers @ places), int(numbers @ (places * places % 101))]


def drawn(mechanism: sv.Mechanism) -> list[Any]:
    """One tally, and the cells of two, each drawn together or cell by cell."""
    held = 5 + 40 * np.arange(mechanism.channel.inputs) % 97
    calls: list[Callable[[], Any]] = [
        lambda: simulate_counts(mechanism, held, seed=3).cells,
        lambda: simulate_cells(mechanism, held, runs=2, seed=4),
        lambda: simulate_cells(mechanism, held, runs=2, seed=4, joint=False),
    ]
    numbers: list[Any] = []
    for call in calls:
        try:
            numbers.append(sums(call()))
        except sv.SottovoceError as problem:
            numbers.append(type(problem).__name__)
    return numbers


def of_family(family: str) -> dict[str, Any]:
    """The numbers of every mechanism of a family that can be simulated by its counts."""
    found: dict[str, Any] = {}
    for name in names(family):
        options: dict[str, Any] = {"participants": 211} if name in ("binned", "laplace-histogram") else {}
        try:
            found[name] = drawn(sv.mechanism(name, ANSWERS[family][0], epsilon="1.3", **options))
        except sv.SottovoceError as problem:
            found[name] = type(problem).__name__
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_tallies_are_those_that_were_written_down(family: str) -> None:
    kept, now = json.loads(FILE.read_text(encoding="utf-8"))[family], of_family(family)
    changed = [name for name in kept if now.get(name) != kept[name]]
    assert not changed, f"{changed}: if that is meant: python -m tests.tally.test_drawn_numbers"


if __name__ == "__main__":
    rows = (f"{json.dumps(family)}: {json.dumps(of_family(family))}" for family in FAMILIES)
    FILE.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")
