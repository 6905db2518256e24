"""Blocks over the nodes of one level: the sets are what they say, kernels and draws follow them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel import Block, Mix, NodeSets, PoolSets, Subset, channel_from_spec
from sottovoce.core.errors import ParameterError
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.tally.counts import simulate_cells
from tests.each import for_each

SETS = {
    "nodes": NodeSets(5, 1),
    "nodes of three, the last one of two": NodeSets(5, 3),
    "bits": PoolSets(6, 1, 2, 3),
    "three values": PoolSets(7, 2, 3, 2),
    "a binary field": PoolSets(5, 1, 4, 2),
    "more values than nodes": PoolSets(4, 1, 5, 1),
    "differences": PoolSets(8, 1, 2, 3, 1),
    "differences, ragged": PoolSets(7, 2, 2, 2, 1),
    "one difference": PoolSets(3, 2, 2, 1, 1),
}


@for_each("name", SETS)
def test_the_outputs_of_a_set_are_its_members(name: str) -> None:
    sets = SETS[name]
    for code in range(sets.codes):
        members = {y for y in range(sets.outputs) if sets.member(code, y)}
        assert members == {sets.output(code, index, True) for index in range(sets.size)}
        assert len(members) == sets.size
        others = [sets.output(code, index, False) for index in range(sets.outputs - sets.size)]
        assert sorted(others) == sorted({*range(sets.outputs)} - members)
        assert members == {y for y in range(sets.outputs) if sets.member(code // sets.width * sets.width, y)}


@for_each("name", SETS)
def test_the_law_is_the_likelihood_and_the_ratio_is_reached(name: str) -> None:
    sets = SETS[name]
    channel = Block(sets, UNIT * 9 // 10)
    laws = [law(channel, code) for code in range(sets.codes)]
    for code, one in enumerate(laws):
        assert sum(one.values()) == 1
        assert all(p == channel.likelihood(report, code) for (_, report), p in one.items())
    worst = max(one[y] / other[y] for one in laws for other in laws for y in one)
    assert worst == channel.ratio()
    assert channel_from_spec(channel.spec()) == channel


def test_two_nodes_share_one_output_in_g_and_siblings_of_differences_none() -> None:
    for name in ("bits", "three values", "a binary field"):
        sets = SETS[name]
        assert isinstance(sets, PoolSets)
        for one, other in combinations(range(sets.nodes), 2):
            both = sum(
                sets.member(one * sets.width, y) and sets.member(other * sets.width, y) for y in range(sets.outputs)
            )
            assert both * sets.g == sets.size
    sets = SETS["differences"]
    for one, other in combinations(range(8), 2):
        both = sum(sets.member(one, y) and sets.member(other, y) for y in range(sets.outputs))
        assert both == (0 if one ^ other == 1 else sets.size // 2)


@pytest.mark.parametrize("name", ["nodes", "bits", "a binary field"])
def test_rates_are_those_of_the_law(name: str) -> None:
    sets = SETS[name]
    channel = Block(sets, UNIT * 7 // 10)
    rates = channel.rates()
    assert rates is not None
    for code, other in ((0, 1), (3, 1)):
        one = law(channel, code)
        assert sum(p for (_, y), p in one.items() if sets.member(code, y)) == rates[0] == units(channel.inside)
        assert sum(p for (_, y), p in one.items() if sets.member(other, y)) == rates[1]
    assert Block(SETS["differences"], UNIT * 7 // 10).rates() is None
    assert Block(SETS["three values"], UNIT * 7 // 10).rates() is None


def test_nodes_of_one_code_are_randomized_response() -> None:
    keep = UNIT * 2 // 3
    ours, plain = Block(NodeSets(5, 1), keep), Subset(5, 1, keep)
    assert all(ours.likelihood(y, c) == plain.likelihood(y, c) for y in range(5) for c in range(5))


@pytest.mark.parametrize("name", SETS)
def test_drawn_tallies_have_the_law(name: str) -> None:
    """Chi-square of 200,000 drawn reports; 1e-6 is the false-alarm rate, and a share that is 5 % off is noticed."""
    from scipy.stats import chi2

    sets = SETS[name]
    channel = Mix((UNIT // 4, UNIT - UNIT // 4), (Block(sets, UNIT * 9 // 10), Subset(sets.codes, 1, UNIT * 9 // 10)))
    mechanism = Mechanism("x", sv.Frequency(sv.Integers(0, sets.codes - 1)), channel, 20, CountOutputs())  # type: ignore[arg-type]
    held = np.full(sets.codes, 200_000 // sets.codes)
    (cells,) = simulate_cells(mechanism, held, runs=1, seed=5)
    rates = np.array([np.mean([float(channel.likelihood(y, c)) for c in range(sets.codes)]) for y in range(len(cells))])
    expected = rates * held.sum()
    assert cells.sum() == held.sum()
    statistic = float(((cells - expected) ** 2 / expected).sum())
    assert statistic < chi2.isf(1e-6, len(cells) - 1)


def test_sets_that_do_not_fit_are_refused() -> None:
    for make in (
        lambda: NodeSets(4, 4),
        lambda: PoolSets(9, 1, 2, 3),
        lambda: PoolSets(9, 1, 6, 3),
        lambda: PoolSets(9, 1, 3, 2, 1),
        lambda: PoolSets(9, 1, 3, 20),
    ):
        with pytest.raises(ParameterError):
            make()
