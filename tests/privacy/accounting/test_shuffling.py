"""Bounds of shuffling against the exact loss of every small crowd."""

import math
import time

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.accounting import bounds, clones, exact_shuffle
from sottovoce.privacy.accounting.shuffling import shuffled, smallest_epsilon

LOCAL = (0.4, 1.0, 2.0, 4.0)


def randomized_response(local, choices):
    odds = math.exp(local)
    return (np.ones((choices, choices)) + (odds - 1) * np.eye(choices)) / (odds + choices - 1)


def claimed(local, n):
    """Delta by every claimed numeric bound that knows the local budget only."""
    return [bounds.clones(local, n).delta, bounds.blanket(local, n)]


@pytest.mark.parametrize("local", LOCAL)
def test_bounds_are_not_below_the_exact_loss_of_yes_and_no(local):
    odds = math.exp(local)
    for n in (2, 3, 10, 50):
        exact = exact_shuffle.YesNo(n, odds / (odds + 1))
        for share in (0.05, 0.3, 0.7, 0.95):
            for bound in [*claimed(local, n), bounds.blanket(local, n, 2 / (odds + 1))]:
                assert bound(share * local) >= exact.delta(share * local) / (1 + 2e-9)


@pytest.mark.parametrize(("choices", "sizes"), [(3, (2, 5, 20)), (4, (2, 8))])
def test_bounds_are_not_below_the_exact_loss_of_k_ary_randomized_response(choices, sizes):
    for local in (1.0, 2.0):
        law = randomized_response(local, choices)
        for n in sizes:
            for epsilon in (0.1 * local, 0.5 * local):
                exact = exact_shuffle.delta(law, n, epsilon)
                assert all(bound(epsilon) >= exact for bound in claimed(local, n))


def test_fifty_people_and_three_values_in_the_worst_crowds():
    local, n, epsilon = 1.0, 50, 0.5
    law = randomized_response(local, 3)
    for crowd in ((0, 0, 49), (1, 0, 48), (16, 16, 17), (49, 0, 0), (0, 25, 24)):
        others = np.zeros((n + 1, n + 1))
        others[0, 0] = 1
        for answer, count in enumerate(crowd):
            for _ in range(count):
                others = exact_shuffle.joined(others, law[answer])
        first, second = (exact_shuffle.joined(others, law[answer]) for answer in (0, 1))
        exact = np.maximum(first - math.exp(epsilon) * second, 0).sum()
        assert all(bound(epsilon) >= exact for bound in claimed(local, n))


def test_two_enumerations_agree_on_yes_and_no():
    odds = math.exp(1.5)
    law = randomized_response(1.5, 2)
    for n in (1, 2, 7):
        found = exact_shuffle.YesNo(n, odds / (odds + 1)).delta(0.4)
        assert found == pytest.approx(exact_shuffle.delta(law, n, 0.4), rel=1e-8)


def test_tokens_equal_a_sum_over_all_outcomes():
    tokens = bounds.Tokens(12, 0.37, 0.6, 0.15)
    others = np.zeros((13, 13))
    others[0, 0] = 1
    for _ in range(11):
        others = exact_shuffle.joined(others, np.array([0.185, 0.185, 0.63]))
    first = exact_shuffle.joined(others, np.array([0.6, 0.15, 0.25]))
    second = exact_shuffle.joined(others, np.array([0.15, 0.6, 0.25]))
    for epsilon in (0.0, 0.2, 0.8, 1.3):
        whole = np.maximum(first - math.exp(epsilon) * second, 0).sum()
        assert tokens.delta(epsilon) == pytest.approx(whole, rel=2e-9, abs=1e-15)


def test_the_totals_that_are_summed_reach_as_far_as_bernstein_says():
    """Further from the mean than r lies at most exp(-r**2 / 2 / (variance + r / 3)) on each side."""
    log = math.log(2e25)
    for n, clone in ((40_001, 0.25), *((others + 1, 0.01) for others in range(100, 3000, 100))):
        mean = (n - 1) * clone
        totals = bounds.Tokens(n, clone, 0.6, 0.15)._likely_totals()
        for reach in (mean - totals[0], totals[-1] - 1 - mean):
            if reach != mean:  # no total is below zero
                enough = [r**2 / 2 / (mean * (1 - clone) + r / 3) >= log for r in (reach - 1, reach)]
                assert enough == [False, True]
    few = bounds.Tokens(12, 0.37, 0.6, 0.15)._likely_totals()
    assert few.tolist() == list(range(13))


@pytest.mark.parametrize(("local", "n"), [(0.1, 20_000), (1.0, 1_000_000), (4.0, 1_000_000)])
def test_a_sum_in_blocks_is_a_close_upper_bound(local, n, monkeypatch):
    tokens = bounds.clones(local, n)
    for sigmas in (0.5, 2, 5):
        epsilon = sigmas * local * math.exp(local / 2) / math.sqrt(n)
        with monkeypatch.context() as changed:
            changed.setattr(clones, "MOST_TOTALS", math.inf)
            each = tokens.delta(epsilon)
            changed.setattr(clones, "MOST_TOTALS", 0)
            blocks = tokens.delta(epsilon)
        assert each <= blocks <= each * (1 + 5e-4)


def test_a_sum_in_blocks_holds_for_a_person_without_a_token(monkeypatch):
    """The observer is told who has one, so the bound is looser."""
    tokens = bounds.Tokens(400, 0.37, 0.6, 0.15)
    each = [tokens.delta(epsilon) for epsilon in (0.0, 0.05, 0.2, 0.8)]
    monkeypatch.setattr(clones, "MOST_TOTALS", 0)
    assert all(tokens.delta(epsilon) >= one for epsilon, one in zip((0.0, 0.05, 0.2, 0.8), each, strict=True))


def test_a_trillion_people_take_seconds():
    """Listing all likely totals took minutes. The law is nearly normal, so delta follows from the size of the crowd."""
    start = time.process_time()
    found = [bounds.clones(1.0, n).delta(sigmas / math.sqrt(n)) for n in (10**8, 10**12) for sigmas in (3, 5)]
    assert time.process_time() - start < 5
    small, large = found[:2], found[2:]
    for one, other in zip(small, large, strict=True):
        assert 100 * other == pytest.approx(one, rel=1e-3)


@pytest.mark.slow
def test_the_largest_crowd_that_is_allowed():
    start = time.process_time()
    found = shuffled(0.01, participants=10**12, delta=1e-300)
    assert found.epsilon < 4e-7 and time.process_time() - start < 30


def test_a_blanket_promises_nothing_without_a_loss():
    for epsilon in (0.0, -0.1):
        assert bounds.blanket(1.0, 1000)(epsilon) == bounds.blanket(1.0, 1000, 0.5)(epsilon) == 1


def test_the_refinement_by_distance_lies_below_an_exact_loss():
    """Why it is not claimed: three values, 20 people of whom one shares the person's answer."""
    local, n, epsilon = 2.0, 20, 1.0
    odds = math.exp(local)
    refined = bounds.stronger_clones(local, n, (odds - 1) / (odds + 2)).delta(epsilon)
    exact = exact_shuffle.delta(randomized_response(local, 3), n, epsilon)
    assert 1.001 < exact / refined < 1.01


def test_the_best_bound_of_yes_and_no_is_exact():
    rr = sv.mechanism("rr", sv.Categories(["yes", "no"]), epsilon=1)
    for n in (5, 50):
        found = shuffled(rr, participants=n, delta=1e-3)
        exact = smallest_epsilon(exact_shuffle.YesNo(n, rr.channel.keep / 2**53).delta, rr.epsilon, 1e-3)
        assert exact <= found.epsilon <= 1.05 * exact
        assert found.method == ("exact" if n == 50 else found.method)
        assert found.claimed["clones"] > exact * 1.2 or n == 5


@pytest.mark.slow
def test_methods_agree_in_order_for_a_large_crowd():
    found = shuffled(1.0, participants=100_000, delta=1e-6)
    assert found.epsilon == found.claimed["clones"] < found.claimed["blanket"] < 1
    assert found.claimed["clones"] < found.claimed["clones, closed form"] < 1
    assert found.shown["stronger clones"] < found.epsilon
    assert math.isinf(found.claimed["erlingsson"])
    small = shuffled("0.4", participants=100_000, delta=1e-6)
    assert small.claimed["clones"] < small.claimed["erlingsson"] == 12 * 0.4 * math.sqrt(math.log(1e6) / 1e5)


@pytest.mark.slow
def test_a_billion_people_and_one_person():
    alone = shuffled(1, participants=1, delta=1e-6)
    assert 1 - 1e-5 < alone.epsilon <= 1
    assert shuffled(1, participants=1, delta=1e-12).claimed["blanket"] == 1
    delta = bounds.clones(1.0, 10**9).delta(2e-4)
    # Nearly normal: the tokens of half of the clones' number, shifted by the person's.
    assert 1e-12 < delta < 1e-3


def test_more_people_and_a_larger_epsilon_hide_better():
    deltas = [bounds.clones(2.0, n).delta(0.5) for n in (10, 100, 1000)]
    assert deltas == sorted(deltas, reverse=True)
    curve = [bounds.clones(2.0, 100).delta(epsilon) for epsilon in np.linspace(0, 2, 9)]
    assert curve == sorted(curve, reverse=True)


@pytest.mark.parametrize("wrong", [{"participants": 0, "delta": 0.1}, {"participants": 5, "delta": 0}])
def test_bad_parameters(wrong):
    with pytest.raises(sv.ParameterError, match="shuffling must be"):
        shuffled(1, **wrong)
