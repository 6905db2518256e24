"""Rankings: answers as pairs, mean places, orders, and what is refused."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.rankings import in_order
from sottovoce.testing import check_mechanism

WAYS = ["bus", "car", "bike", "train"]


def test_each_order_has_a_code_with_a_bit_for_each_pair() -> None:
    domain = sv.Ranking(WAYS)
    codes = {domain.encode(list(order)) for order in permutations(WAYS)}
    assert len(codes) == 24 and max(codes) == domain.encode(WAYS) == 2**6 - 1
    code = domain.encode(["train", "bus", "bike", "car"])
    said = [str(pair) for place, pair in enumerate(domain.labels()) if code >> place & 1]
    assert said == ["bus before car", "bus before bike"]
    assert domain.typed("train > bus>bike > car") == ["train", "bus", "bike", "car"]
    assert Mechanism.from_spec(sv.mechanism("options", domain, epsilon=1).spec()).domain == domain


@pytest.mark.parametrize("answer", [WAYS[:3], [*WAYS, "bus"], ["bus", "bus", "bike", "car"], "bus", None, {*WAYS}])
def test_other_answers_are_refused_without_being_repeated(answer: Any) -> None:
    with pytest.raises(sv.DomainError, match="all 4 items of the question in order") as problem:
        sv.Ranking(WAYS).encode(answer)
    assert "bus" not in str(problem.value)


@pytest.mark.parametrize("items", [["a", "b"], ["a", "b", "a"], ["a>b", "c", "d"], ["a ", "b", "c"], range(91), "abc"])
def test_lists_that_cannot_be_ranked_are_refused(items: Any) -> None:
    with pytest.raises(sv.ParameterError):
        sv.Ranking(items)


@pytest.mark.slow
def test_mechanisms_of_rankings_keep_the_contract(seed: int) -> None:
    check_mechanism(sv.mechanism("options", sv.Ranking(WAYS), epsilon=2), seed=seed % 1000, reports=2000)


def test_mean_places_and_the_order_of_a_crowd() -> None:
    rng = np.random.default_rng(3)
    utility = rng.gumbel(size=(20_000, 4)) - 0.8 * np.arange(4)
    people = [[WAYS[item] for item in order] for order in np.argsort(-utility, axis=1)]
    best = sv.plan(sv.SetShares(sv.Ranking(WAYS)), epsilon=2, participants=len(people)).best
    estimate = best.mechanism.estimate(best.mechanism.tally(best.mechanism.privatize(people, seed=5)))
    truth = 1 + np.argsort(np.argsort(-utility, axis=1), axis=1).mean(axis=0)
    low, high = estimate.places.ci(0.999)
    assert ((low < truth) & (truth < high)).all()
    assert estimate.places.values.sum() == pytest.approx(1 + 2 + 3 + 4)  # each place is taken once
    assert estimate.order() == estimate.order(method="kwiksort", seed=1) == WAYS
    with pytest.raises(sv.ParameterError, match="borda"):
        estimate.order(method="copeland")


def test_mean_places_of_few_reports_are_doubted() -> None:
    """A pair that nearly all people order alike: with a large epsilon and few reports they held 83 %."""
    for epsilon, poor in ((8, True), (1, False)):
        mechanism = sv.mechanism("options", sv.Ranking(WAYS), epsilon=epsilon)
        places = mechanism.estimate(mechanism.tally(mechanism.privatize([WAYS] * 900, seed=1))).places
        assert (places.doubt() is not None) == poor == ("mean places are poor" in str(places.doubt()))


@pytest.mark.slow
def test_errors_of_mean_places_are_those_of_drawn_reports() -> None:
    mechanism = sv.mechanism("options", sv.Ranking(WAYS), epsilon=2, asked=2)
    people = [WAYS] * 300 + [WAYS[::-1]] * 200
    draws = [mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=seed))) for seed in range(120)]
    spread = np.var([one.places.values for one in draws], axis=0)
    said = np.mean([one.places.evidence.variances(Target.SAMPLE) for one in draws[:5]], axis=0)
    assert (spread < 1.35 * said).all() and (said < 1.6 * spread).all()  # any correlation of pairs is allowed for


def test_ticked_boxes_have_no_order() -> None:
    mechanism = sv.mechanism("mask", sv.Sets(WAYS, 2), epsilon=2)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([["bus"], []], seed=1)))
    with pytest.raises(sv.ParameterError, match="rankings"):
        estimate.order()


def test_sorting_around_pivots_looks_at_single_pairs_only() -> None:
    """A cycle of three items has no order: every pivot gives another one. Mean places are those of all pairs."""
    cycle = np.array([0.9, 0.2, 0.9])  # 0 before 1, 1 before 2, 2 before 0
    orders = {tuple(in_order(3, cycle, "kwiksort", seed)) for seed in range(20)}
    assert orders == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    assert in_order(3, cycle, "borda", 0) == [0, 1, 2]
