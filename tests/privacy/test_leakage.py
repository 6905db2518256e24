"""Leakage against closed forms of randomized response and hand-made beliefs; the attack against its blind limit."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.explain import explain
from sottovoce.privacy.leakage import MOST_CELLS, leakage, reidentify

FOUR = sv.Integers(0, 3)


def test_randomized_response_with_an_even_belief():
    m = sv.mechanism("grr", FOUR, epsilon=1)
    found = leakage(m)
    assert found.guess == pytest.approx(math.e / (math.e + 3), rel=1e-12)
    assert found.bits == found.capacity_bits == pytest.approx(math.log2(4 * math.e / (math.e + 3)), rel=1e-12)
    # Of all channels of this budget, this one tells most about four equally likely answers.
    assert found.guess == pytest.approx(float(explain(1, choices=4).guess_of_choices), rel=1e-12)
    assert leakage(sv.mechanism("subset", FOUR, epsilon=1)).guess <= found.guess


def test_a_strong_belief_learns_nothing_from_a_weak_report():
    m = sv.mechanism("rr", sv.Categories(["yes", "no"]), epsilon=1)
    assert leakage(m, [0.9, 0.1]).guess == pytest.approx(0.9)
    assert leakage(m, [0.9, 0.1]).bits == pytest.approx(0, abs=1e-12)
    found = leakage(m, [0.6, 0.4])
    keep = math.e / (1 + math.e)
    assert found.guess == pytest.approx(keep, rel=1e-12)  # 0.6 keep + 0.4 keep
    assert found.blind < found.guess < found.bound


def test_every_finite_mechanism_stays_below_its_epsilon():
    for name in ("grr", "subset", "oue", "hadamard"):
        for epsilon in (0.5, 3):
            m = sv.mechanism(name, FOUR, epsilon=epsilon)
            assert leakage(m).guess <= leakage(m).bound + 1e-12
            assert 2 ** leakage(m).capacity_bits <= math.exp(epsilon) + 1e-12


def test_beliefs_and_laws_that_are_refused():
    for wrong in ([0.5, 0.5], [0.5, 0.5, 0.5, -0.5], [0.25, 0.25, 0.25, 0.2], [0.25, 0.25, 0.25, 0.3]):
        with pytest.raises(sv.ParameterError, match="one probability for each of the 4 answers"):
            leakage(sv.mechanism("grr", FOUR, epsilon=1), wrong)
    eleven = sv.mechanism("oue", sv.Integers(0, 10), epsilon=1)  # 11 rows of 2**11 masks
    for m in (sv.mechanism("olh", FOUR, epsilon=1), eleven):
        with pytest.raises(sv.ParameterError, match="too many"):
            leakage(m)


def test_who_is_certain_learns_nothing():
    found = leakage(sv.mechanism("grr", FOUR, epsilon=1), [0, 1, 0, 0])
    assert (found.blind, found.guess, found.bits, found.bound) == (1, pytest.approx(1), pytest.approx(0, abs=1e-12), 1)


def test_reidentification_grows_with_attributes_and_stays_blind_without_any_signal():
    rng = np.random.default_rng(1)
    people = 300
    columns = [rng.integers(0, 8, people) for _ in range(4)]
    eight = sv.Integers(0, 7)
    weak = [sv.mechanism("grr", eight, epsilon="0.0001")] * 4
    strong = [sv.mechanism("grr", eight, epsilon=6)] * 4
    one = reidentify(strong[:1], columns[:1], seed=2)
    four = reidentify(strong, columns, seed=2)
    assert reidentify(weak, columns, seed=2).right == pytest.approx(1 / people, abs=0.02)
    # One of eight answers tells 300 people apart into groups of about 38.
    assert one.right == pytest.approx(8 / people, rel=0.5)
    assert four.right > 0.8
    assert four.epsilon == pytest.approx(24, rel=1e-6)
    assert "finds the right person" in four.text()
    with pytest.raises(sv.ParameterError, match="a column of answers for each"):
        reidentify(weak, columns[:2], seed=1)


def test_a_law_of_too_many_cells_is_refused_before_it_is_computed() -> None:
    many = math.isqrt(MOST_CELLS) + 1
    with pytest.raises(sv.ParameterError, match="too many to write their law down"):
        leakage(sv.mechanism("grr", sv.Integers(0, many - 1), epsilon=1))
