"""Signs of fake reports and what a report tells, of every mechanism, are those that were written down.

That honest reports rarely give them, and what a guess is worth, is what `test_alarms.py` and `test_leakage.py` show.
Here the numbers are kept, so that no change goes unnoticed: `python -m tests.privacy.test_kept_numbers` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.alarms import of_tally, spread, uniform
from sottovoce.privacy.leakage import leakage
from tests.estimate.numbers import ANSWERS, DIGITS, PEOPLE, names

FILE = Path(__file__).parent / "golden" / "numbers.json"
FAMILIES = ("frequency", "mean", "distribution", "group")
SMALL = 1e-12  # differences of larger numbers


def rounded(numbers: Any) -> list[Any]:
    return [float(f"{float(one):.{DIGITS}g}") for one in numbers]


def of_mechanism(family: str, name: str) -> dict[str, Any]:
    """Checks of an honest tally, of one that a few answers made, and the leakage of one report."""
    domain, answers = ANSWERS[family]
    options: dict[str, Any] = {"participants": PEOPLE} if name in ("binned", "laplace-histogram") else {}
    found: dict[str, Any] = {}
    try:
        mechanism = sv.mechanism(name, domain, epsilon="1.3", **options)
    except sv.SottovoceError as problem:
        return {"refused": type(problem).__name__}
    for kind, people in (("honest", answers[:PEOPLE]), ("one", [answers[0]] * PEOPLE)):
        tally = mechanism.tally(mechanism.privatize(people, seed=5, threads=1))
        checks = list(of_tally(tally))
        found[kind] = rounded(one.probability for one in checks)
        found[f"{kind} what"] = [f"{one.of} {one.where}" for one in checks][:3]
    try:
        told = leakage(mechanism)
        found["leakage"] = rounded((told.blind, told.guess, told.bits, told.capacity_bits, told.bound))
    except sv.SottovoceError as problem:
        found["leakage"] = type(problem).__name__
    return found


def of_counts() -> dict[str, Any]:
    """Checks of counts by themselves: even, uneven, empty and huge."""
    rows = {
        "even": [50] * 8, "uneven": [90, 10, 50, 50, 44, 61, 40, 55], "empty": [0] * 8, "one": [400, *[0] * 7],
        "huge": [10**6 + 900 * place for place in range(8)],
    }  # fmt: skip
    shares = np.arange(1, 9) / 36
    return {
        name: [
            *rounded(one.probability for one in uniform("counts", counts)),
            *rounded(one.probability for one in uniform("counts", counts, shares)),
            *rounded(one.probability for one in spread("counts", counts)),
        ]
        for name, counts in rows.items()
    }


def of_family(family: str) -> dict[str, Any]:
    return of_counts() if family == "counts" else {name: of_mechanism(family, name) for name in names(family)}


@pytest.mark.parametrize("family", [*FAMILIES, "counts"])
def test_signs_and_leakage_are_those_that_were_written_down(family: str) -> None:
    kept, now = json.loads(FILE.read_text(encoding="utf-8"))[family], of_family(family)
    changed = [name for name in kept if not same(now.get(name), kept[name])]
    assert not changed, f"{changed}: if that is meant: python -m tests.privacy.test_kept_numbers"


def same(new: Any, old: Any) -> bool:
    if isinstance(old, dict):
        return isinstance(new, dict) and new.keys() == old.keys() and all(same(new[key], old[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(new) == len(old) and all(map(same, new, old))
    return bool(new == old or (isinstance(old, float) and new == pytest.approx(old, 1e-4, SMALL)))


@pytest.mark.parametrize(
    "belief", ["x", [0.5, 0.5], [[0.5], [0.5]], [float("nan")] * 7, [2.0, -1.0, *[0.0] * 5], object()]
)
def test_what_is_no_belief_is_refused(belief: Any) -> None:
    with pytest.raises(sv.ParameterError, match="one probability for each of the 7 answers"):
        leakage(sv.mechanism("grr", sv.Integers(0, 6), epsilon=1), belief)


if __name__ == "__main__":
    rows = (f"{json.dumps(family)}: {json.dumps(of_family(family))}" for family in (*FAMILIES, "counts"))
    FILE.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")
