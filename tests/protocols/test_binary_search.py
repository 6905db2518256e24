"""Noisy binary search: it halves, its promise holds, and minimum and maximum say which share they stand for."""

from __future__ import annotations

from math import log, tanh
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above
from sottovoce.protocols.play import play
from sottovoce.protocols.quantile.binary_search import QuantileBinarySearch
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.protocols.simulate import rounds
from sottovoce_experiments.quantiles.laws import QuantileLaw
from sottovoce_experiments.quantiles.search import drawn

UNIT = sv.Interval(0, 1)
EVEN = np.linspace(0, 1, 40_000)


def error_of(protocol: Any, law: QuantileLaw, seed: int) -> float:
    rng, people = np.random.default_rng(seed), protocol.participants
    sizes = getattr(protocol, "sizes", (people // protocol.rounds,) * protocol.rounds)
    last = play(protocol, lambda stage, number: drawn(law, stage, sizes[number - 1], rng))
    share = float(protocol.question.shares[0])
    return law.error(last.estimates["quantile"].value, share)


def test_each_round_asks_about_the_middle_of_what_is_left() -> None:
    protocol = QuantileBinarySearch(UNIT, "0.3", 4, len(EVEN), rounds=5)
    stages = [protocol.start(), *(state.round for state in rounds(protocol, EVEN, seed=1) if not state.is_over)]
    views = [stage.arms[0].mechanism.domain for stage in stages]
    asked = [float(view.threshold) for view in views if isinstance(view, Above)]
    assert asked == [0.5, 0.25, 0.38, 0.32, 0.285]
    estimate = sv.simulate(protocol, EVEN, seed=1)["quantile"]
    assert estimate.value == pytest.approx(0.3, abs=0.03)
    assert "a wrong turn is not undone" in estimate.explain()


def test_the_number_of_people_for_an_error_keeps_its_promise() -> None:
    """Hoeffding for each round, with the probability of a wrong turn divided among them."""
    protocol = QuantileBinarySearch.for_error(UNIT, "0.5", 1, 0.05, parts=64)
    assert protocol.rounds == 6
    each = log(2 * 6 / 0.05) / (2 * tanh(0.5) ** 2 * 0.05**2)
    assert protocol.participants == pytest.approx(6 * each, abs=6)
    law = QuantileLaw(np.linspace(0, 1, 9) ** 2, np.linspace(0, 1, 9), ties=False)
    assert max(error_of(protocol, law, seed) for seed in range(40)) < 0.05 + 2 / 64


def test_rounds_with_a_curve_are_more_precise() -> None:
    law = QuantileLaw(np.linspace(0, 1, 65) ** 1.5, np.linspace(0, 1, 65), ties=False)
    halving, curve = (
        np.mean([error_of(protocol, law, seed) ** 2 for seed in range(40)])
        for protocol in (QuantileBinarySearch(UNIT, "0.5", 1, 20_000), QuantileRounds(UNIT, ["0.5"], 1, 20_000))
    )
    assert curve < halving / 1.5


def test_a_minimum_is_the_quantile_of_the_smallest_visible_share() -> None:
    least = QuantileBinarySearch.minimum(UNIT, 2, 40_000, 8)
    most = QuantileBinarySearch.minimum(UNIT, 2, 40_000, 8, largest=True)
    visible = QuantileBinarySearch.visible_share(2, 40_000, 8)
    assert float(least.share) == pytest.approx(visible, abs=1e-6) and least.share + most.share == 1
    assert sv.simulate(least, EVEN, seed=1)["quantile"].value < 2.5 * visible
    assert sv.simulate(most, EVEN, seed=1)["quantile"].value > 1 - 2.5 * visible
    with pytest.raises(sv.ParameterError, match="'participants'"):
        QuantileBinarySearch.minimum(UNIT, 1, 100)


def test_whole_numbers_end_the_search_at_one_of_them() -> None:
    protocol = QuantileBinarySearch(sv.Integers(0, 7), "0.5", 3, 9_000, rounds=9)
    estimate = sv.simulate(protocol, np.arange(9_000) % 7, seed=2)["quantile"]
    assert estimate.value == 3 and estimate.n == 3_000  # three halvings are enough


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"domain": sv.Categories(["a", "b"])}, "'domain'"),
        ({"rounds": 0}, "'rounds'"),
        ({"participants": 3}, "'participants'"),
    ],
)
def test_mistakes_are_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        QuantileBinarySearch(**({"domain": UNIT, "share": "0.5", "epsilon": 1, "participants": 1_000} | wrong))
