"""Every registered mechanism keeps the contract, small and large, at low and high budgets."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.testing import check_mechanism


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "8"])
@pytest.mark.parametrize("size", [2, 3, 7, 16, 65, 300])
@pytest.mark.parametrize("name", sv.names())
def test_registered_mechanisms_keep_the_contract(name: str, size: int, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Integers(-3, size - 4), epsilon=epsilon), seed=seed % 1000)


@pytest.mark.parametrize("name", sv.names())
def test_texts_are_answers_too(name: str, seed: int) -> None:
    domain = sv.Categories(["lark", "owl", "neither", "it depends"])
    check_mechanism(sv.mechanism(name, domain, epsilon=1.0), seed=seed % 1000)
