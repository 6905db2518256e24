"""What the further oracles are: special cases, names, and their variances in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from tests.each import for_each
from tests.mechanisms.rare import rare_variance

DOMAIN = sv.Integers(0, 49)


def rare(name: str, epsilon: float, **options: object) -> float:
    return rare_variance(sv.mechanism(name, DOMAIN, epsilon=epsilon, **options))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_variances_of_rare_values_are_those_of_the_papers(epsilon: float) -> None:
    e = math.exp(epsilon)
    half = math.exp(epsilon / 2)
    assert rare("grr", epsilon) == pytest.approx((50 - 2 + e) / (e - 1) ** 2, rel=1e-9)
    assert rare("sue", epsilon) == pytest.approx(half / (half - 1) ** 2, rel=1e-9)
    assert rare("oue", epsilon) == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-9)
    for name in ("blh", "hrr"):
        assert rare(name, epsilon) == pytest.approx((e + 1) ** 2 / (e - 1) ** 2, rel=1e-9)
    # Local hashing to g values: (e + g - 1)**2 / ((e - 1)**2 (g - 1)), from the papers.
    for name in ("olh", "slh", "flh"):
        g = sv.mechanism(name, DOMAIN, epsilon=epsilon).channel.map.g  # type: ignore[attr-defined]
        assert rare(name, epsilon) == pytest.approx((e + g - 1) ** 2 / ((e - 1) ** 2 * (g - 1)), rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_rare_value_among_equally_common_ones_has_the_predicted_variance(epsilon: float) -> None:
    """Also where the sets of several values are the same, which is a contrast of two sets."""
    truth = np.array([0.0, *[1 / 49] * 49])
    for name in ("grr", "subset", "oue", "hadamard", "projective", "hrr", "she"):
        m = sv.mechanism(name, DOMAIN, epsilon=epsilon)
        assert rare(name, epsilon) == pytest.approx(m.variance(truth, 1, target="sample")[0], rel=1e-9)
    sets = sv.mechanism("hadamard", DOMAIN, epsilon=3.0).channel.sets  # type: ignore[attr-defined]
    assert 1 < sets.groups < sets.codes, "the contrast is among the cases"


@pytest.mark.parametrize(("name", "rule"), [("olh", 1.0), ("slh", 0.5)])
def test_hash_ranges_follow_their_rules(name: str, rule: float) -> None:
    for epsilon in (0.5, 1.0, 3.0, 5.0):
        g = sv.mechanism(name, DOMAIN, epsilon=epsilon).channel.map.g  # type: ignore[attr-defined]
        assert g == max(2, round(math.exp(rule * epsilon) + 1))


def test_the_pool_loses_little_against_free_hashing() -> None:
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0):
        assert rare("flh", epsilon) <= 1.03 * rare("olh", epsilon)


def test_unary_covers_its_special_cases() -> None:
    same = sv.mechanism("unary", DOMAIN, epsilon=2.0).channel
    assert same == sv.mechanism("oue", DOMAIN, epsilon=2.0).channel
    p = math.e / (math.e + 1)
    symmetric = sv.mechanism("unary", DOMAIN, epsilon=2.0, p=p).channel.rates()
    assert symmetric is not None and float(symmetric[1]) == pytest.approx(1 - p, rel=1e-12)
    wasteful = sv.mechanism("unary", DOMAIN, epsilon=2.0, p=0.7, q=0.4)
    assert wasteful.epsilon == pytest.approx(math.log(0.7 * 0.6 / (0.4 * 0.3)), rel=1e-9)


@pytest.mark.parametrize("options", [{"p": 0}, {"p": 1}, {"p": "x"}, {"q": 0.01}, {"q": 0.5}, {"q": 0.6}, {"p": True}])
def test_unary_refuses_what_epsilon_forbids(options: dict[str, object]) -> None:
    with pytest.raises(sv.ParameterError, match="parameter of unary"):
        sv.mechanism("unary", DOMAIN, epsilon=1.0, **options)


def test_randomized_response_has_two_answers() -> None:
    m = sv.mechanism("rr", sv.Categories(["no", "yes"]), epsilon=1.0)
    assert float(m.channel.rates()[0]) == pytest.approx(math.e / (math.e + 1), rel=1e-12)  # type: ignore[index]
    with pytest.raises(sv.ParameterError, match="2 to 2 codes"):
        sv.mechanism("rr", DOMAIN, epsilon=1.0)


def test_the_plan_prefers_the_pool_for_many_candidates() -> None:
    few = sv.plan(sv.Frequency(sv.Integers(0, 999)), epsilon=1.0, participants=10_000)
    many = sv.plan(sv.Frequency(sv.Integers(0, 9999)), epsilon=1.0, participants=10_000)
    order = [option.mechanism.name for option in many.options]
    assert order.index("flh") < order.index("olh")
    assert few.best.mechanism.name in ("olh", "flh", "subset")


@for_each("name", sv.names())
def test_docstrings_have_the_five_slots(name: str) -> None:
    from sottovoce.core.registry import builder

    text = builder(name).__doc__ or ""
    places = [text.find(f"\n    {slot}:") for slot in ("Law", "Privacy", "Estimator", "Cost", "Reference")]
    assert -1 not in places and places == sorted(places)


def test_estimates_of_all_oracles_agree(seed: int) -> None:
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    values = np.repeat(np.arange(4), (truth * 40_000).astype(int))
    for name in sv.names(sv.Frequency):
        if name == "rr":
            continue
        m = sv.mechanism(name, sv.Integers(0, 3), epsilon=2.0)
        estimate = m.estimate(m.tally(m.privatize(values, seed=seed)))
        # Six standard errors: a false alarm in about 10**8 tries for each of 44 shares.
        assert (np.abs(estimate.values - truth) < 6 * estimate.std_errors).all(), name
