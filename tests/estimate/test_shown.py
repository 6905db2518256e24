"""Groups that are shown because their estimates are large: laws given that, and tests that agree with intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import sottovoce as sv
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.group_mean import power as group_power
from sottovoce.estimate.group_mean.contrasts import all_pairs, difference, equality
from sottovoce.estimate.group_mean.equal_means import least_over
from sottovoce.estimate.group_mean.evidence import from_cells
from sottovoce.estimate.group_mean.power import participants_for
from sottovoce.estimate.group_mean.ratio import Ratios, Shown, shown_by_size
from sottovoce.estimate.group_mean.shown import POWER, score_given_shown
from sottovoce.estimate.group_mean.shown_shares import lowest_share
from sottovoce.estimate.group_mean.truth import Crowd
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.mechanisms.group import bernoulli, nprr
from sottovoce.testing.statistics import ALPHA
from sottovoce_experiments.coverage.crowds import crowd_of
from sottovoce_experiments.coverage.group import cohorts, draw_cells
from sottovoce_experiments.coverage.shown import cell

HALF = sv.Interval(-1, 1)
PAIR = {"mechanism": "group-bernoulli", "key": "grr", "n": 1_500, "groups": "2 unequal", "values": "high"}


def groups_of(count: int) -> sv.Pair:
    return sv.Pair(sv.Categories([f"g{place}" for place in range(count)]), HALF)


# --- laws --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.8])
@pytest.mark.parametrize("margin", [0.01, 0.5, 2.0])
def test_the_tail_given_shown_is_the_integral(correlation: float, margin: float) -> None:
    """Over true sizes, by SciPy's truncated normal law; a score keeps its tail."""

    ends = (-8.0, min(4.5 + margin, 8))
    places = np.linspace(*ends, 121)
    start = places - margin
    weights = stats.norm.pdf(places) / stats.norm.sf(start) * stats.truncnorm.var(start, np.inf) ** POWER
    whole = integrate.simpson(weights, x=places)
    for score in (-2.0, 0.0, 1.96, 4.5):
        tails = stats.norm.sf((score - correlation * places) / np.sqrt(1 - correlation**2))
        truth = integrate.simpson(weights * tails, x=places) / whole
        found = score_given_shown(*(np.array([v]) for v in (score, correlation, margin)))[0]
        assert stats.norm.sf(found) == pytest.approx(truth, rel=2e-3)


def rejections(correlation: float, start: float, level: float) -> float:
    """How often a normal score is rejected given that its group is shown: computed, not simulated."""
    tails = (np.arange(60) + 0.5) / 60 * stats.norm.sf(start)
    x = stats.norm.isf(tails)
    scores = np.linspace(-9, 9, 181)
    given = score_given_shown(np.tile(scores[:, None], len(x)), np.full((181, 60), correlation), x - start)
    ends = [np.array([np.interp(side * deviate(level), one, scores) for one in given.T]) for side in (-1, 1)]
    low, high = ((end - correlation * x) / np.sqrt(1 - correlation**2) for end in ends)
    return float((stats.norm.cdf(low) + stats.norm.sf(high)).mean())


@pytest.mark.parametrize("correlation", [-0.3, 0.45, 0.6])
def test_scores_are_rejected_as_often_as_they_should_whatever_the_true_size_is(correlation: float) -> None:
    """Exact but for normality, for groups that are shown in nearly all, half and 4 % of all studies, and in 1 %."""
    for start in (-3.0, -1.0, 0.0, 1.0, 1.75):
        assert 0.0355 < rejections(correlation, start, 0.95) < 0.06
        assert 0.0068 < rejections(correlation, start, 0.99) < 0.014
    assert rejections(correlation, 2.326, 0.95) < 0.075


@pytest.mark.parametrize(("target", "n"), [("population", 900), ("sample", 150)])
def test_lower_limits_hold_given_that_a_group_is_shown(target: str, n: int) -> None:
    """Exact: all counts from the threshold on, with their probabilities. The usual limit does not hold there."""
    own, other, alpha = 0.5, 0.2, 0.025
    least = int(n * other + 3.5 * np.sqrt(n * other * (1 - other)))
    counts = np.arange(least, min(n, least + 130))
    supports = SupportsEvidence(counts, n, own, other)
    usual = supports.exact(0.95, target).low
    low = lowest_share(supports, np.full(len(counts), least), alpha, target, usual)
    assert (low <= usual + 1e-12).all() and (np.diff(low) >= -1e-9).all()
    worst = 0.0
    for held in np.arange(0, 0.5, 0.05 if target == "population" else 0.1):
        members = round(n * held)
        if target == "population":
            law = stats.binom.pmf(counts, n, other + members / n * (own - other))
        else:
            whole = np.convolve(
                stats.binom.pmf(np.arange(members + 1), members, own),
                stats.binom.pmf(np.arange(n - members + 1), n - members, other),
            )
            law = whole[counts]
        law = law / law.sum()
        assert law[low > members / n + 1e-9].sum() <= alpha + 1e-6
        worst = max(worst, law[usual > members / n + 1e-9].sum())
    assert worst > 0.5


@pytest.mark.parametrize("mean", [-0.6, 0.0, 0.8])
def test_mean_scores_hold_given_that_a_group_is_shown(mean: float) -> None:
    """Normal sums and sizes of a group that is shown in 3 % or 50 % of all studies: 94 % or more are covered.

    A right coverage of 94 % gives an alarm with probability below ALPHA. The usual score covers less than 88 % of the
    rarely shown group with a mean away from the centre.
    """
    rng = np.random.default_rng(17)
    spread = np.array([[1.0, 0.1 * mean], [0.1 * mean, 1.3]])  # of size and sum
    error = np.sqrt(spread[0, 0])
    one = Ratios(*(np.array([v]) for v in (0.0, 9.0, spread[1, 1], spread[0, 1], spread[0, 0])))
    least = float(shown_by_size(one, (-1.0, 1.0), np.array(0.0)).least[0])
    for chance in (0.03, 0.5):
        size = least - float(stats.norm.isf(chance)) * error
        drawn = rng.multivariate_normal([size, mean * size], spread, round(20_000 / chance))
        drawn = drawn[drawn[:, 0] > least]
        ones = np.ones(len(drawn))
        parts = (spread[1, 1] * ones, spread[0, 1] * ones, spread[0, 0] * ones)
        shown = Shown(least * ones, ones > 0, (-1.0, 1.0))
        ratios = Ratios(drawn[:, 1], drawn[:, 0], *parts, shown)
        held = np.abs(ratios.scores(np.array(mean), ratios.margins)) <= deviate(0.95)
        usual = np.abs(ratios.scores(np.array(mean), np.full(len(drawn), np.inf))) <= deviate(0.95)
        assert held.sum() >= stats.binom.ppf(ALPHA, len(held), 0.94), held.mean()
        if abs(mean) > 0.5 and chance < 0.1:
            assert usual.mean() < 0.88


def test_the_interval_of_a_shown_ratio_ends_where_its_score_does() -> None:
    """The first lower estimate is half an error above its threshold; that of the second is far above."""
    parts = (np.array(part) for part in ([2.0, 20.0], [4.0, 40.0], [1.3, 1.3], [0.1, 0.1], [1.0, 1.0]))
    ratios = Ratios(*parts, Shown(np.array([3.5, 3.5]), np.array([True, True]), (-1.0, 1.0)))
    for end, side in zip(ratios.fieller(0.9), (1, -1), strict=True):
        np.testing.assert_allclose(ratios.scores(end, ratios.margins), side * deviate(0.9), rtol=1e-5)
    usual = replace(ratios, shown=None).fieller(0.9)
    assert abs(ratios.fieller(0.9).high - usual.high)[0] > 0.01


# --- tests and intervals -------------------------------------------------------------------------------------
def test_least_over_finds_the_least() -> None:
    places = np.array([-0.731, 0.2, 1.99])
    found = least_over(lambda x: 5e4 * (x - places) ** 2 + 0.3 * np.sin(9 * (x - places)) ** 2 + 2, (-3.0, 3.0), (3,))
    assert np.allclose(found, 2, atol=1e-5)


def estimates(epsilon: float, n: int, shares: list[float], seeds: int, highest: float = 0.3) -> list:
    domain = groups_of(len(shares))
    mechanism = nprr.build(domain, epsilon=epsilon)
    crowd = Crowd.of(
        domain, shares, [Prior([m - 0.3, m + 0.3], [1, 1]) for m in np.linspace(-0.6, highest, len(shares))]
    )
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([7, seed])
        people = list(cohorts(mechanism, crowd, rng.multinomial(n, crowd.shares), fixed=False))
        found.append(from_cells(mechanism, n, draw_cells(mechanism.channel, people, rng).ravel()))
    return found


@pytest.mark.slow
def test_p_values_are_below_alpha_just_where_intervals_leave_out_zero() -> None:
    checked = 0
    for estimate in estimates(2.0, 3_000, [0.6, 0.2, 0.14, 0.06], 3):
        pairs = all_pairs(estimate, 0.95, "holm", Target.POPULATION)
        for level in (0.5, 0.95, 1 - 1e-5):
            low, high = pairs.tests.intervals(pairs.values, level)
            assert ((pairs.p_values < 1 - level) == ((low > 0) | (high < 0))).all()
            assert (np.maximum(np.abs(low), np.abs(high)) <= 6).all()
            checked += len(low)
        if len(pairs.values):
            one = difference(estimate, pairs.groups[0], pairs.others[0])
            assert one.p_value == pytest.approx(pairs.p_values[0], rel=1e-9)
            # At its own level the interval ends at zero.
            edge = one.ci(1 - one.p_value)
            assert min(abs(edge[0]), abs(edge[1])) < 1e-5 * (edge[1] - edge[0]) + 1e-6
            assert one.holds(one.value) and not one.holds(one.ci(0.95)[1] + 0.01, 0.95)
    assert checked >= 9


def test_two_groups_have_one_test() -> None:
    """Where both sizes are certain, the difference and the equality of two groups are one hypothesis and one test."""
    for estimate in estimates(3.0, 20_000, [0.6, 0.4], 2, highest=-0.56):
        one, both = difference(estimate, "g0", "g1"), equality(estimate)
        assert 1e-6 < one.p_value < 0.9 and both.p_value == pytest.approx(one.p_value, rel=1e-3)
        assert both.statistic == pytest.approx((one.value / one.std_error) ** 2, rel=0.05)


def test_small_groups_are_tested_but_not_shown() -> None:
    (estimate,) = estimates(1.5, 1_500, [0.9, 0.09, 0.01], 1)
    assert not estimate.estimable[2]
    assert equality(estimate).degrees == 2


# --- permuted labels, count by count ---------------------------------------------------------------------------
@pytest.mark.slow
def test_permuted_labels_are_rejected_as_often_as_they_should() -> None:
    """800 runs: a rate from 4 to 6 % gives an alarm with probability below ALPHA, one of 13 % nearly always."""
    runs = 800
    at_five, at_one = (row for row in cell({**PAIR, "epsilon": 1.5}, runs, 1) if row.of == "equality")
    assert at_five.runs == at_one.runs == runs and at_five.coverage and at_one.coverage
    rejected = round((1 - at_five.coverage) * runs)
    assert stats.binom.ppf(ALPHA, runs, 0.04) <= rejected <= stats.binom.isf(ALPHA, runs, 0.06)
    assert round((1 - at_one.coverage) * runs) <= stats.binom.isf(ALPHA, runs, 0.014)


@pytest.mark.slow
def test_shown_means_and_sizes_cover_count_by_count() -> None:
    crowd = crowd_of({**PAIR, "epsilon": 3.0})
    shown = means = sizes = usual = 0
    for estimate in crowd.estimates(900, np.random.default_rng(3)):
        if estimate.estimable[1]:
            low, high = estimate.interval(IntervalRequest(0.95, "fieller"))
            shown += 1
            means += low[1] <= crowd.mean <= high[1]
            low, high = estimate.sizes.interval(IntervalRequest(0.95, "shown"))
            sizes += low[1] <= crowd.counts[1] <= high[1]
            low, high = estimate.sizes.interval(IntervalRequest(0.95, "normal"))
            usual += low[1] <= crowd.counts[1] <= high[1]
    assert 40 < shown < 600
    for held in (means, sizes):
        assert held >= stats.binom.ppf(ALPHA, shown, 0.93)
    assert usual < sizes


# --- before the study --------------------------------------------------------------------------------------------
def test_participants_depend_on_shares_and_the_result_says_so() -> None:
    mechanism = bernoulli.build(groups_of(4), epsilon=2)
    equal = participants_for(mechanism, 0.4)
    skewed = participants_for(mechanism, 0.4, shares=[0.6, 0.08, 0.3, 0.02])
    assert skewed.participants > 3 * equal.participants and int(equal) == equal.participants
    assert "equally large (no shares were given)" in equal.explain()
    assert "0.6, 0.08, 0.3, 0.02" in skewed.explain() and "spread evenly" in skewed.explain()
    assert equal.shares == (0.25,) * 4 and equal.equal_shares and not skewed.equal_shares


@pytest.mark.slow
def test_the_promised_power_is_that_of_the_test() -> None:
    """300 runs: a power of 0.8 is refuted below 0.68 with a false-alarm rate below ALPHA; equal shares promise 0.8 too
    early."""
    domain, shares = groups_of(2), [0.88, 0.12]
    mechanism = bernoulli.build(domain, epsilon=2)
    priors = [Prior([-0.3, 0.7], [1, 1]), Prior([-0.7, 0.3], [1, 1])]
    needed = participants_for(mechanism, 0.4, shares=shares, priors=priors)
    assert group_power.power_of_difference(mechanism, 0.4, n=int(needed), shares=shares, priors=priors) >= 0.8
    crowd, rng, found = Crowd.of(domain, shares, priors), np.random.default_rng(11), 0
    for _ in range(300):
        people = list(cohorts(mechanism, crowd, rng.multinomial(int(needed), crowd.shares), fixed=False))
        estimate = from_cells(mechanism, int(needed), draw_cells(mechanism.channel, people, rng).ravel())
        found += bool(estimate.estimable.all()) and not difference(estimate, "g0", "g1").holds(0.0)
    assert found >= stats.binom.ppf(ALPHA, 300, 0.8)
    early = participants_for(mechanism, 0.4, priors=priors)
    assert group_power.power_of_difference(mechanism, 0.4, n=int(early), shares=shares, priors=priors) < 0.5


@pytest.mark.slow
def test_equal_shares_promise_a_fifth_of_the_participants_that_unequal_ones_take() -> None:
    """1,186 against 5,833 for a group of 10 %. 300 runs: a power of 0.8 is refuted below 0.68, false alarms below
    ALPHA."""
    domain, shares = groups_of(3), [0.6, 0.1, 0.3]
    mechanism = sv.mechanism("group-piecewise", domain, epsilon=2)
    priors = [Prior([-0.3, 0.7], [1, 1]), Prior([-0.7, 0.3], [1, 1]), Prior([-0.5, 0.5], [1, 1])]
    silent, needed = participants_for(mechanism, 0.4), participants_for(mechanism, 0.4, shares=shares)
    assert (int(silent), int(needed)) == (1_186, 5_833)
    assert silent.equal_shares and not needed.equal_shares
    enough = participants_for(mechanism, 0.4, shares=shares, priors=priors)
    found = []
    for n in (int(enough), int(silent)):
        crowd, rng, seen = Crowd.of(domain, shares, priors), np.random.default_rng(13), 0
        for _ in range(300):
            people = list(cohorts(mechanism, crowd, rng.multinomial(n, crowd.shares), fixed=False))
            estimate = from_cells(mechanism, n, draw_cells(mechanism.channel, people, rng).ravel())
            seen += bool(estimate.estimable[:2].all()) and not difference(estimate, "g0", "g1").holds(0.0)
        found.append(seen)
    assert found[0] >= stats.binom.ppf(ALPHA, 300, 0.8)
    assert found[1] < 90


# --- the table ---------------------------------------------------------------------------------------------------
def test_rows_are_of_the_runs_that_have_them() -> None:
    rows = {(row.of, row.level): row for row in cell({**PAIR, "epsilon": 1.5}, 3, 0)}
    assert len(rows) == 9
    # Three runs are too few to say how often a test rejects, but groups that are always shown are judged.
    assert all((row.coverage is None) == (row.method == "test") for row in rows.values())
    assert rows["mean", 0.95].numbers["shown"] == 1.0 and rows["equality", 0.95].runs == 3


@pytest.mark.parametrize("broken", ["folder", "rows"])
def test_real_answers_need_their_files(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    if broken == "rows":
        monkeypatch.setenv("SOTTOVOCE_DATA", str(tmp_path))
        few = {"race": ["a", "b", "a"], "days_in_hospital": [1, 2, 3]}
        pd.DataFrame(few).to_parquet(tmp_path / "diabetes_130_hospitals.parquet")
    point = {**PAIR, "epsilon": 3.0, "n": 101_766, "groups": "race", "values": "days_in_hospital"}
    said = {"folder": "in the folder", "rows": "must have 101766 rows"}[broken]
    with pytest.raises(sv.ParameterError, match=f"diabetes_130_hospitals.parquet {said}"):
        crowd_of(point)
