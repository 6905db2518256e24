"""Estimates by group against first principles: laws of keys by enumeration, errors by moving single reports."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Channel, Keyed, Subset
from sottovoce.core.channel.facets import Supporting, need, outputs_of
from sottovoce.core.domain import Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import GroupMean
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.group_mean import evidence as group
from sottovoce.estimate.group_mean import power as group_power
from sottovoce.estimate.group_mean.equal_means import PairTests
from sottovoce.estimate.group_mean.law import key_law
from sottovoce.estimate.group_mean.ratio import Ratios, Shown
from sottovoce.estimate.group_mean.shown_shares import lowest_share
from sottovoce.estimate.group_mean.truth import Crowd, square_line
from sottovoce.estimate.group_mean.views import GroupSharesEvidence
from sottovoce.estimate.group_mean.within import group_frequencies
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning
from sottovoce.mechanisms.mean import nprr

PAIR = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(10, 60))
KEYS = [
    Subset(4, 1, UNIT // 2),
    Subset(5, 2, UNIT // 4 * 3),
    Subset(4, 3, UNIT // 8 * 7),
    Bits(3, UNIT // 2, UNIT // 4),
]


@pytest.mark.parametrize("key", KEYS)
def test_how_often_a_key_supports_several_groups_at_once(key: Channel) -> None:
    """Of a holder of group 0: group 0 and group 1; also group 2; groups 1 and 2 without group 0."""
    masks = (sum(1 << g for g in chosen) for w in range(5) for chosen in combinations(range(key.inputs), w))
    reports = range(key.inputs) if outputs_of(key) else [mask for mask in masks if key.contains(mask)]

    def chance(*wanted: tuple[int, bool]) -> float:
        fitting = (r for r in reports if all(need(key, Supporting).supports(r, group) is yes for group, yes in wanted))
        return float(sum((key.likelihood(r, 0) for r in fitting), Fraction(0)))

    law, yes, no = key_law(key), True, False
    assert (law.own, law.other) == pytest.approx((chance((0, yes)), chance((1, yes))), rel=1e-14)
    assert law.both == pytest.approx(chance((0, yes), (1, yes)), rel=1e-14)
    assert law.all_three == pytest.approx(chance((0, yes), (1, yes), (2, yes)), rel=1e-14)
    assert law.without == pytest.approx(chance((0, no), (1, yes), (2, yes)), rel=1e-14)


def test_the_square_of_a_number_that_is_sent_as_one_bit() -> None:
    """Only the two ends are told apart: about the middle, squares lie between 0 and 25**2, whatever is read."""
    line = square_line(sv.mechanism("group-bernoulli", PAIR, epsilon=1).channel)
    assert (line.slope, line.tilt, line.least, line.width) == pytest.approx((0, 0, 0, 625), abs=1e-9)


@pytest.mark.parametrize("neutral", [(1, 1, 1, 1, 1, 3), (2, 1, 1, 1, 2, 1)])
def test_the_error_of_a_variance_within_a_group_is_that_of_moving_single_reports(neutral: tuple[int, ...]) -> None:
    """An estimate that depends on shares of cells only has the variance: sum of cells x (its slope by that cell)**2."""
    inner = nprr.build(PAIR.value, epsilon=Decimal("1.5"), k=5).channel
    keyed = Keyed(Subset(2, 1, UNIT // 4 * 3), inner, tuple(part << 50 for part in neutral))
    mechanism = Mechanism("x", GroupMean(PAIR.group, PAIR.value), keyed, Decimal(8), CountKeyed())
    cells = np.array([9, 5, 2, 4, 6, 8, 3, 8, 4, 7, 7, 2]) * 10**7
    found = group.from_cells(mechanism, int(cells.sum()), cells).within
    total, few = np.zeros(2), 10**4
    for place, count in enumerate(cells):
        moved = np.zeros_like(cells)
        moved[place] = few
        more, less = (group.from_cells(mechanism, int(at.sum()), at).within for at in (cells + moved, cells - moved))
        total += count * ((more.values() - less.values()) / (2 * few)) ** 2
    assert np.allclose(found.variances("population"), total, rtol=2e-6)


def test_participants_are_whole_where_showing_the_groups_decides() -> None:
    """A difference of the whole range is found with fewer participants than it takes to show both groups."""
    m = sv.mechanism("group-bernoulli", PAIR, epsilon=1)
    least = float(Crowd.of(m.domain, None, None).needed(m).max())
    assert least % 1 > 0
    assert group_power.participants_for(m, 50.0, power=0.1).participants == math.ceil(least)


# --- intervals ------------------------------------------------------------------------------------------------------
def test_intervals_of_means_warn_where_rare_reports_are_too_few_and_only_there(monkeypatch) -> None:
    m = sv.mechanism("group-bernoulli", PAIR, epsilon=4)
    cells = np.array([[400, 300], [350, 450]])
    means = m.estimate(sv.Tally(m, 1500, cells.ravel())).means
    assert means.estimable.all() and not means.evidence.normal_is_poor().any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usual = means.ci()
    monkeypatch.setattr(group, "steadiness", lambda *_: np.array([30 / 1500, 29 / 1500]))
    means = m.estimate(sv.Tally(m, 1500, cells.ravel())).means
    with pytest.warns(PoorIntervalWarning, match="1 of 2 groups"):
        doubtful = means.ci()
    assert np.array_equal(usual.low, doubtful.low) and np.array_equal(usual.high, doubtful.high)


@pytest.mark.parametrize("target", ["population", "sample"])
def test_the_lower_end_of_a_shown_share_leaves_half_of_the_error_below(target: str) -> None:
    supports = SupportsEvidence(np.array([60, 40]), 100, 0.7, 0.3)
    view = GroupSharesEvidence(
        SimpleNamespace(n=100, supports=supports, least=np.array([50, 50]), estimable=np.array([True, False]))
    )
    found, usual = view.interval(IntervalRequest(0.9, "shown", target)), supports.exact(0.9, target)
    first = replace(supports, counts=supports.counts[:1])
    limit = lowest_share(first, np.array([50]), 0.05, target, usual.low[:1])
    assert limit[0] < usual.low[0]
    assert np.allclose(found.low, [limit[0], usual.low[1]], rtol=1e-12)
    assert np.allclose(found.high, usual.high, rtol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_the_ends_of_an_interval_of_a_difference_are_rejected_at_its_level(level: float) -> None:
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1)), epsilon=4)
    estimate = m.estimate(sv.Tally(m, 9000, np.array([2000, 1000, 1500, 1500, 900, 2100]))).evidence
    pairs = PairTests.of(
        estimate.ratios("population"), estimate.blocks("population"), np.array([0, 0, 1]), np.array([1, 2, 2])
    )
    means = estimate.values()
    differences = means[[0, 0, 1]] - means[[1, 2, 2]]
    low, high = pairs.intervals(differences, level)
    assert (low < differences).all() and (differences < high).all() and (np.abs([low, high]) < pairs.limit).all()
    for ends in (low, high):
        assert np.allclose(pairs.p_values_at(ends), 1 - level, rtol=1e-5)
    assert np.allclose(pairs.p_values_at(differences), 1, atol=1e-3)
    # The largest p-value that is found is below 1 by what a search leaves: even then an interval holds its difference.
    assert np.allclose(pairs.intervals(differences, 1e-9), differences, atol=1e-3)


# --- ratios ---------------------------------------------------------------------------------------------------------
def ratios(bottom_variance: float, *, shown: bool) -> Ratios:
    one = np.ones(2)
    rule = Shown(one, np.array([True, True]), (-1.0, 3.0)) if shown else None
    return Ratios(np.array([2.0, 6.0]), 2 * one, 0 * one, 0 * one, bottom_variance * one, rule)


def test_which_ratios_are_tried() -> None:
    assert ratios(1.0, shown=True).rule.reach == (-5.0, 7.0)
    with pytest.raises(TypeError, match="have no limits"):
        _ = ratios(1.0, shown=False).rule


@pytest.mark.parametrize("margin", [math.inf, 2.0])
def test_the_score_of_a_ratio_without_any_error_is_zero_or_beyond_all_bounds(margin: float) -> None:
    """2 / 2 and 6 / 2 without noise: of the hypothesis 1 the first is right and the second is wrong for sure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = ratios(0.0, shown=True).scores(np.ones(2), np.full(2, margin))
    assert abs(score[0]) < 1e-9 and score[1] > 1e9


@pytest.mark.parametrize(("ends", "most"), [((10, 60), (0, 60)), ((-60, -10), (-60, 0)), ((-3, 4), (-3, 4))])
def test_sums_lie_between_those_of_nobody_and_everybody(ends: tuple[int, int], most: tuple[int, int]) -> None:
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Categories(["f", "m"]), sv.Interval(*ends)), epsilon=2)
    found = m.estimate(m.tally(m.privatize([("f", ends[0]), ("m", ends[1])] * 20, seed=1)))
    assert found.sums.evidence.limits == pytest.approx(tuple(40 * end for end in most))


def test_intervals_of_shares_within_groups_are_those_of_their_method() -> None:
    record = sv.Record({"sex": sv.Categories(["f", "m"]), "type": sv.Categories(["lark", "owl"])})
    m = sv.mechanism("grr", Select(record, ["sex", "type"]), epsilon=3)
    people = [{"sex": "fm"[i % 2], "type": ["lark", "owl"][i % 5 < 2]} for i in range(2000)]
    found = group_frequencies(m.estimate(m.tally(m.privatize(people, seed=3))))
    low, high = found.ci(0.95, method="delta")
    assert np.allclose((high - low) / 2, 1.959964 * found.std_errors, rtol=1e-5)
    assert np.allclose((high + low) / 2, found.values, rtol=1e-9)  # others lean to one side
    assert (np.abs(np.mean(found.ci(0.95, method="fieller"), axis=0) - found.values) > 1e-7).all()


@pytest.mark.parametrize("person", [(0, Fraction(10)), (0, Fraction(35)), (1, Fraction(60))])
def test_sizes_sums_and_read_squares_of_one_report_are_unbiased(person: tuple[int, Fraction]) -> None:
    m = sv.mechanism("group-nprr", PAIR, epsilon=2)
    channel, found = m.channel, np.zeros((3, 2))
    for key, within in product(range(2), range(channel.inner_outputs)):
        cells = np.zeros((2, channel.inner_outputs), np.int64)
        cells[key, within] = 1
        totals = group.solve(m, 1, cells.ravel())
        weight = float(channel.likelihood(channel.join(key, within), person))
        found += weight * np.array([totals.sizes, totals.sums, totals.read_squares])
    away, (mean, square) = person[1] - 35, channel.inner.moments(person[1])
    own = [1, away, square - 70 * mean + 35**2]  # numbers are read from the middle on
    assert np.allclose(found[:, person[0]], np.array(own, float), rtol=1e-9, atol=1e-9)
    assert np.allclose(found[:, 1 - person[0]], 0, atol=1e-7)


def test_a_mean_is_shown_from_the_fewest_supports_that_estimate_its_size_above_the_least() -> None:
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1)), epsilon=4)
    found = m.estimate(sv.Tally(m, 9000, np.array([2000, 1000, 1500, 1500, 900, 2100]))).evidence
    key, needed = found.totals.law.key, found._shown.least
    assert (key.sizes(found.least.astype(float), found.n) > needed).all()
    assert (key.sizes(found.least - 1.0, found.n) <= needed).all()


def test_the_lowest_number_of_holders_that_explains_a_shown_group() -> None:
    """By the laws of all numbers of holders."""
    n, own, other, count, least, alpha = 40, 0.75, 0.25, 22, 18, 0.1
    supports = SupportsEvidence(np.array([count]), n, own, other, None)

    def chance(held: int) -> float:
        law = np.convolve(binom.pmf(range(held + 1), held, own), binom.pmf(range(n - held + 1), n - held, other))
        return law[count:].sum() / law[least:].sum()

    usual = supports.exact(1 - 2 * alpha, "sample").low
    lowest = next(held for held in range(n) if chance(held) >= alpha)
    assert 0 < lowest < round(n * usual[0])
    assert lowest_share(supports, np.array([least]), alpha, "sample", usual) == pytest.approx([lowest / n])


def test_a_difference_is_held_by_the_interval_of_its_method() -> None:
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1)), epsilon=4)
    found = m.estimate(sv.Tally(m, 9000, np.array([2000, 1000, 1500, 1500, 900, 2100]))).difference(0, 2)
    ends = {method: found.ci(0.9, method=method) for method in ("delta", "fieller")}
    assert abs(ends["delta"][0] - ends["fieller"][0]) > 5e-6
    for method, (low, high) in ends.items():
        inside = (low + 1e-7, (low + high) / 2, high - 1e-7)
        assert all(found.holds(value, 0.9, method=method) for value in inside)
        assert not any(found.holds(value, 0.9, method=method) for value in (low - 1e-7, high + 1e-7))


def test_a_sum_of_squares_is_at_least_that_of_equal_values() -> None:
    m = sv.mechanism("group-bernoulli", PAIR, epsilon=4)
    found = group.solve(m, 6000, np.array([100, 2900, 1500, 1500]))
    bound = square_line(m.channel).bound(found.read_squares, found.sums, found.sizes)
    equal = found.sums**2 / found.sizes
    assert (found.squares >= equal * (1 - 1e-12)).all() and (equal > bound).any()
    assert np.allclose(found.squares, np.maximum(bound, equal), rtol=1e-12)


def test_a_contrast_of_groups_is_a_functional() -> None:
    """The difference of two means, with its standard error; a group that is not estimable has weight zero."""
    domain = sv.Pair(sv.Categories(["a", "b", "rare"]), sv.Interval(0, 10))
    m = sv.mechanism("group-bernoulli", domain, epsilon=3)
    people = [("a", 2), ("b", 7)] * 3000 + [("rare", 5)]
    means = m.estimate(m.tally(m.privatize(people, seed=1)))
    assert means.estimable.tolist() == [True, True, False]
    for target in ("population", "sample"):
        contrast, pair = means.evidence.functional([1, -1, 0], target), means.difference("a", "b", target=target)
        assert contrast.values == pytest.approx([pair.value]) and contrast.errors == pytest.approx([pair.std_error])
