"""Reports of wrong groups, means in their right order, and the frequency oracle that Algorithm 3 comes to."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import sottovoce as sv
from sottovoce.core import exact
from sottovoce.core.arithmetic.rational import UNIT, floor_unit
from sottovoce.core.channel import Keyed, Subset
from sottovoce.core.channel.compose.keyed import neutral_law, odds_left
from sottovoce.estimate.group_mean.power import group_error_ratio, order_probability, participants_for_order
from sottovoce.testing.statistics import check_rate
from tests.each import for_each

PAIR = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))


@for_each("name,key", [(name, key) for name in ("group-nprr", "group-bernoulli") for key in ("grr", "subset", "unary")])
def test_the_group_error_ratio_is_that_of_the_enumerated_law(name, key):
    """Reports that do not support the group: of randomized response those that name another one."""
    mechanism = sv.mechanism(name, PAIR, epsilon=1, key=key)
    channel = mechanism.channel.key
    law = exact.law(channel, 1)
    missed = sum((p for (_, report), p in law.items() if not channel.supports(report, 1)), Fraction(0))
    assert group_error_ratio(mechanism) == missed


def test_no_group_no_ratio():
    with pytest.raises(sv.ParameterError, match="does not ask for groups"):
        group_error_ratio(sv.mechanism("grr", sv.Categories(["a", "b"]), epsilon=1))


def test_order_before_a_survey():
    mechanism = sv.mechanism("group-nprr", PAIR, epsilon=3)
    n = participants_for_order(mechanism, 1, probability=0.99)
    assert order_probability(mechanism, 1, n=n) == pytest.approx(0.99, abs=1e-3)
    assert order_probability(mechanism, 0.001, n=10) == pytest.approx(0.5, abs=1e-2)
    with pytest.raises(sv.ParameterError, match="probability"):
        participants_for_order(mechanism, 1, probability=0.5)


def test_order_of_an_estimate():
    """With a flat prior the sign is right with one less half the two-sided p-value."""
    mechanism = sv.mechanism("group-nprr", PAIR, epsilon=3)
    answers = [("a", 4.0), ("b", 5.0), ("c", 6.0)] * 1500
    difference = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=1))).difference("b", "a")
    assert difference.order_probability == 1 - difference.p_value / 2
    assert difference.order_probability == pytest.approx(ndtr(abs(difference.value) / difference.std_error), abs=0.01)


@pytest.mark.slow
def test_the_order_is_right_as_often_as_planned():
    mechanism, runs, n = sv.mechanism("group-nprr", PAIR, epsilon=3), 400, 1500
    generator = np.random.default_rng(3)
    priors = [sv.Prior.of([4.0, 5.0]), sv.Prior.of([4.3, 5.3]), sv.Prior.of([5.0])]
    planned = order_probability(mechanism, 0.3, n=n, priors=priors)
    right = 0
    for run in range(runs):
        groups = generator.integers(0, 3, n)
        spread = np.where(groups == 2, 5.0, 4 + 0.3 * groups + generator.integers(0, 2, n))
        answers = list(zip(np.array(["a", "b", "c"])[groups].tolist(), spread.tolist(), strict=True))
        totals = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=run))).evidence.totals
        means = totals.sums / totals.sizes
        right += means[1] > means[0]
    assert 0.6 < planned < 0.9
    check_rate("means in their right order", int(right), runs, planned)


@for_each("groups,values,epsilon", [(2, 2, 1.0), (3, 2, 0.5), (2, 4, 2.0), (3, 3, 4.0)])
def test_a_keyed_frequency_oracle_with_the_whole_budget_is_randomized_response_over_pairs(groups, values, epsilon):
    """Algorithm 3 with randomized response for the value: so shares within groups need no mechanism of their own."""
    e = Fraction(np.exp(epsilon)).limit_denominator(1 << 20)
    inner = Subset(values, 1, floor_unit(e / (e + values - 1)))
    neutral = neutral_law(inner)
    left = odds_left(e, inner, neutral)
    keyed = Keyed(Subset(groups, 1, floor_unit(left / (left + groups - 1))), inner, neutral)
    pairs = groups * values
    keep = float(e / (e + pairs - 1))
    for code in keyed.codes():
        own = code[0] * values + code[1]
        for report in range(pairs):
            expected = keep if report == own else (1 - keep) / (pairs - 1)
            assert float(keyed.likelihood(report, code)) == pytest.approx(expected, abs=64 / UNIT * e)
