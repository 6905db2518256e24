"""Every registered mechanism keeps the contract, small and large, at low and high budgets."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.core.registry import fits
from sottovoce.testing import check_mechanism

QUICK = {(3, "1"), (65, "3")}
CASES = [
    pytest.param(name, size, epsilon, marks=[] if (size, epsilon) in QUICK else pytest.mark.slow)
    for name in sv.names()
    for size in (2, 3, 7, 16, 65, 300)
    for epsilon in ("0.1", "1", "3", "8")
    if fits(name, sv.Integers(0, size - 1))
]


@pytest.mark.parametrize(("name", "size", "epsilon"), CASES)
def test_registered_mechanisms_keep_the_contract(name: str, size: int, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Integers(-3, size - 4), epsilon=epsilon), seed=seed % 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", sv.names())
def test_texts_are_answers_too(name: str, seed: int) -> None:
    answers = ["lark", "owl", "neither", "it depends"]
    domain = sv.Categories(answers[:2] if name == "rr" else answers)
    check_mechanism(sv.mechanism(name, domain, epsilon=1.0), seed=seed % 1000)


def test_every_mechanism_is_asked_something() -> None:
    assert {case.values[0] for case in CASES} == set(sv.names())
