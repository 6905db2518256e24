"""Estimates by group: unbiased and with the predicted covariance by enumeration of the law; intervals by simulation."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import Keyed
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.coins import SeededCoins
from sottovoce.core.domain import Select
from sottovoce.core.errors import NoIntervalError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import GroupMean
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.estimate.group_mean import contrasts
from sottovoce.estimate.group_mean import evidence as group
from sottovoce.estimate.group_mean import power as group_power
from sottovoce.estimate.group_mean.law import Totals, group_law
from sottovoce.estimate.group_mean.ratio import Ratios
from sottovoce.estimate.group_mean.truth import Crowd, square_line, tells_squares
from sottovoce.estimate.group_mean.within import group_frequencies
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.group import bernoulli, laplace, nprr, piecewise
from sottovoce.mechanisms.group.common import group_key
from sottovoce.mechanisms.mean import nprr as levels
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.studies import GROUPS
from sottovoce_experiments.coverage.group import cell, cohorts, draw_cells
from sottovoce_experiments.coverage.study import standard_error

pytestmark = pytest.mark.slow  # linear programs and simulations; the quick part has the contract

VALUE = sv.Interval(10, 60)
FOUR = sv.Pair(sv.Categories(list("abcd")), VALUE)
TWO = sv.Pair(sv.Categories(["f", "m"]), VALUE)


def tiny(key: str, *, uneven: bool = False) -> Mechanism:
    """Four groups and three levels; the neutral law can be lopsided, so that nothing hides behind symmetry."""
    inner = levels.build(VALUE, epsilon=Decimal("1.5"), k=2).channel
    neutral = (3 << 50, 1 << 50, 4 << 50) if uneven else (1 << 51, 1 << 52, 1 << 51)
    if key == "subset":  # of w = 2 and, for three supports at once, of w = 3
        channel = Keyed(group_key(4, Fraction(1, 2) + 1, key), inner, neutral)
        assert channel.key.w == 2
    elif key == "three":
        channel = Keyed(sv_subset(4, 3), inner, neutral)
    else:
        channel = Keyed(group_key(4, Fraction(5, 2), key), inner, neutral)
    return Mechanism("tiny", GroupMean(FOUR.group, FOUR.value), channel, Decimal(8), CountKeyed())


def sv_subset(k: int, w: int):
    from sottovoce.core.channel import Subset

    return Subset(k, w, int(0.9 * 2**53))


def single_reports(mechanism: Mechanism):
    """Every report with the sizes, sums and mean squares that it alone gives."""
    channel = mechanism.channel
    keys = range(outputs_of(channel.key) or 1 << channel.key.k)
    for key, within in product(filter(channel.key.contains, keys), range(channel.inner_outputs)):
        cells = np.zeros((4, channel.inner_outputs), np.int64)
        for g in range(4):
            cells[g, within] = channel.key.supports(key, g)
        totals = group.solve(mechanism, 1, cells.ravel())
        yield channel.join(key, within), np.concatenate([totals.sizes, totals.sums]), totals.read_squares


def enumerated(mechanism: Mechanism, person) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and mean outer product of what one participant adds to the estimates, over the exact law."""
    first, second, squares, mass = np.zeros(8), np.zeros((8, 8)), np.zeros(4), Fraction(0)
    for report, vector, read in single_reports(mechanism):
        exact = mechanism.channel.likelihood(report, person)
        mass += exact
        weight = float(exact)
        first += weight * vector
        second += weight * np.outer(vector, vector)
        squares += weight * read
    assert mass == 1
    return first, second, squares


# Eighths of a step of the grid, where rounding itself is exact.
PEOPLE = [(g, 10 + 25 * Fraction(place, 8)) for g, place in ((0, 0), (0, 16), (1, 3), (2, 13), (2, 8), (3, 10))]


def true_totals(mechanism: Mechanism) -> Totals:
    """The sums of the people above."""
    law = group_law(mechanism.channel)
    sizes, sums, read, squares = np.zeros((4, 4))
    for g, x in PEOPLE:
        away = x - law.centre
        mean, square = mechanism.channel.inner.moments(x)
        sizes[g] += 1
        sums[g] += float(away)
        squares[g] += float(away**2)
        read[g] += float(square - 2 * law.centre * mean + law.centre**2)
    return Totals(law, len(PEOPLE), sizes, sums, read, squares)


KEYS = ("grr", "subset", "three", "unary")


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_unbiased_and_covariance_exact(key: str, uneven: bool) -> None:
    mechanism = tiny(key, uneven=uneven)
    truth = true_totals(mechanism)
    n, every = len(PEOPLE), np.arange(4)
    given, together, mean, read = np.zeros((8, 8)), np.zeros((8, 8)), np.zeros(8), np.zeros(4)
    for person in PEOPLE:
        first, second, squares = enumerated(mechanism, person)
        given += second - np.outer(first, first)
        together += second
        mean += first
        read += squares
    assert np.allclose(mean, np.concatenate([truth.sizes, truth.sums]), rtol=1e-9, atol=1e-9)
    assert np.allclose(read, truth.read_squares, rtol=1e-9, atol=1e-7)
    assert np.allclose(truth.covariance("sample").full(every), given, rtol=1e-9, atol=1e-7)
    # n people, each drawn from these: the population's covariance.
    assert np.allclose(
        truth.covariance("population").full(every), together - np.outer(mean, mean) / n, rtol=1e-9, atol=1e-7
    )


@pytest.mark.parametrize("key", KEYS)
def test_unbiased_in_fractions(key: str) -> None:
    """The same estimator in exact numbers: no rounding can hide a bias."""
    channel = tiny(key, uneven=True).channel
    own, other = channel.key.rates()
    both = channel.key.pair()[0]
    centre = group_law(channel).centre
    (scale,) = channel.inner.scales()
    keys = [y for y in range(outputs_of(channel.key) or 1 << channel.key.k) if channel.key.contains(y)]
    for k, x in PEOPLE[:4]:
        counts, sums = [Fraction(0)] * 4, [Fraction(0)] * 4
        for report, within in product(keys, range(3)):
            weight = channel.likelihood(channel.join(report, within), (k, x))
            for g in range(4):
                if channel.key.supports(report, g):
                    counts[g] += weight
                    sums[g] += weight * (scale.read(within) - centre)
        whole = sum(sums) / (own + 3 * both)
        assert [(count - other) / (own - other) for count in counts] == [int(g == k) for g in range(4)]
        assert [(s - both * whole) / (own - both) for s in sums] == [(x - centre) * (g == k) for g in range(4)]


def test_key_law_agrees_with_the_node() -> None:
    for key in KEYS:
        law, node = group_law(tiny(key).channel).key, tiny(key).channel.key
        assert law.both == float(node.pair()[0])
        assert law.all_three + law.without == pytest.approx(float(node.pair()[1]), rel=1e-14)


# --- a drawn tally ---------------------------------------------------------------------------------
def drawn(mechanism: Mechanism, shares, priors, n: int, seed: int = 1) -> sv.Estimate:
    crowd = Crowd.of(mechanism.domain, shares, priors)
    rng = np.random.default_rng(seed)
    people = list(cohorts(mechanism, crowd, rng.multinomial(n, crowd.shares), fixed=False))
    cells = draw_cells(mechanism.channel, people, rng)
    return mechanism.estimate(Tally(mechanism, n, cells.ravel()))


@pytest.mark.parametrize("build", [laplace.build, bernoulli.build, nprr.build, piecewise.build])
@pytest.mark.parametrize("key", ["grr", "subset", "unary"])
def test_estimates_near_the_truth(build, key: str) -> None:
    mechanism = build(FOUR, epsilon=3, value_epsilon=2, key=key)
    priors = [Prior.uniform(10 + 5 * g, 40 + 5 * g) for g in range(4)]
    shares = [0.4, 0.3, 0.2, 0.1]
    est = drawn(mechanism, shares, priors, 60_000)
    assert est.estimable.all()
    for view, truth in (
        (est.shares, shares),
        (est.sizes, [60_000 * s for s in shares]),
        (est.means, [p.mean for p in priors]),
        (est.sums, [60_000 * s * p.mean for s, p in zip(shares, priors, strict=True)]),
    ):
        assert (np.abs(view.values - truth) < 5 * view.std_errors).all()
        low, high = view.ci(0.999999)
        assert (low < truth).all() and (truth < high).all()
        low, high = view.ci(0.9, target="sample")
        assert (high - low <= (lambda a, b: b - a)(*view.ci(0.9)) * 1.05).all()
    exact = mechanism.variance((shares, priors), 60_000)
    assert np.allclose(est.std_errors**2, exact, rtol=0.15)
    assert np.allclose(np.diag(est.covariance()), est.std_errors**2)
    assert np.allclose(np.diag(est.sums.covariance()), est.sums.std_errors**2)
    assert np.allclose(np.diag(est.shares.covariance()), est.shares.std_errors**2, rtol=1e-6)


def test_scalar_sampler_feeds_the_same_estimate() -> None:
    mechanism = nprr.build(TWO, epsilon=4, value_epsilon=4)
    coins = SeededCoins(7)
    cells = np.zeros((2, mechanism.channel.inner_outputs), np.int64)
    people = [("f", 20.0), ("m", 50.0)] * 1500
    for person in people:
        _, report = mechanism.draw(mechanism.domain.encode(person), coins)
        key, within = mechanism.channel.split(report)
        cells[key, within] += 1
    est = mechanism.estimate(Tally(mechanism, len(people), cells.ravel()))
    assert np.abs(est.values - [20, 50]).max() < 5 * est.std_errors.max()
    assert est.difference("m", "f").p_value < 1e-6


def test_small_groups_cannot_be_told() -> None:
    mechanism = piecewise.build(FOUR, epsilon=1, value_epsilon=1)
    est = drawn(mechanism, [0.7, 0.298, 0.001, 0.001], None, 3_000)
    assert est.estimable[0] and not est.estimable[2:].any()
    assert np.isnan(est.values[2:]).all()
    low, high = est.ci(0.95)
    assert (low[2:] == 10).all() and (high[2:] == 60).all()
    assert "is not estimable" in est.explain()
    assert list(est.to_frame()["note"])[-1] == "is not estimable"
    with pytest.raises(NoIntervalError, match="is not estimable"):
        est.difference("a", "d")
    assert est.all_pairs().not_estimable[-1] == "d"


def test_fieller_solves_its_inequality() -> None:
    ratios = Ratios(*(np.array([v]) for v in (30.0, 10.0, 4.0, 0.5, 1.5)))
    for end in ratios.fieller(0.95):
        gap = (30 - end * 10) ** 2 - 1.959963984540054**2 * ratios.residual(end)
        assert abs(gap[0]) < 1e-9
    none = Ratios(*(np.array([v]) for v in (3.0, 1.0, 4.0, 0.5, 1.5)))
    assert np.isinf(none.fieller(0.95).low[0]) and np.isnan(none.values()[0])


def test_projection_only_by_name() -> None:
    mechanism = bernoulli.build(TWO, epsilon=0.5)
    est = drawn(mechanism, [0.5, 0.5], [Prior([60], [1])] * 2, 4_000, seed=8)
    assert (est.ci(0.95).high[est.estimable] > 60).any()
    projected = est.means.project("range")
    assert projected.ci(0.95).high.max() <= 60
    assert est.shares.project("simplex").values.sum() == pytest.approx(1)
    for view, name in ((est.means, "simplex"), (est.sums, "range")):
        with pytest.raises(sv.ParameterError):
            view.project(name)


# --- differences -----------------------------------------------------------------------------------
def test_pairs_equality_and_corrections() -> None:
    mechanism = piecewise.build(FOUR, epsilon=4, value_epsilon=3)
    priors = [Prior.uniform(10, 40)] * 3 + [Prior.uniform(30, 60)]
    est = drawn(mechanism, None, priors, 100_000)
    test = est.test_equality()
    assert test.degrees == 3 and test.p_value < 1e-9 and "degrees of freedom" in test.explain()
    pairs = est.all_pairs(0.95, correction="holm")
    assert len(pairs.values) == 6 and list(pairs.to_frame().columns)[2] == "difference"
    plain = est.all_pairs(0.95, correction="bonferroni")
    assert (pairs.adjusted <= plain.adjusted + 1e-15).all() and (pairs.adjusted >= pairs.p_values).all()
    assert (plain.adjusted == np.minimum(1, 6 * plain.p_values)).all()
    assert {h for h, p in zip(pairs.others, pairs.adjusted, strict=True) if p < 1e-6} == {"d"}
    one = est.difference("a", "d")
    place = [*zip(pairs.groups, pairs.others, strict=True)].index(("a", "d"))
    assert (one.value, one.std_error) == pytest.approx((pairs.values[place], pairs.std_errors[place]))
    assert np.allclose(one.ci(method="fieller"), one.ci(method="delta"), atol=0.1 * one.std_error)
    spread = est.covariance()
    assert one.std_error**2 == pytest.approx(spread[0, 0] + spread[3, 3] - 2 * spread[0, 3])
    assert "less that of group" in one.explain()


def test_holm_by_hand() -> None:
    adjusted = contrasts.adjust(np.array([0.01, 0.04, 0.03, 0.005]), "holm")
    assert np.allclose(adjusted, [0.03, 0.06, 0.06, 0.02])


def test_power_and_participants_agree() -> None:
    mechanism = piecewise.build(FOUR, epsilon=2, value_epsilon=1.5)
    for power in (0.3, 0.5, 0.8, 0.95):
        n = group_power.participants_for(mechanism, 5, power=power).participants
        reached = group_power.power_of_difference(mechanism, 5, n=n)
        assert reached >= power - 1e-9
        assert reached < power + 0.01 or n < 30_000  # else more were asked for only so that groups are estimable
    assert group_power.power_of_difference(mechanism, 5, n=100, groups=("a", "d")) < 0.2


def test_power_from_an_estimate() -> None:
    mechanism = bernoulli.build(TWO, epsilon=2)
    est = drawn(mechanism, None, None, 50_000)
    before = group_power.power_of_difference(mechanism, 1, n=50_000)
    assert est.power(1, "f", "m") == pytest.approx(before, abs=0.03)
    assert est.power(1, "f", "m", participants=500_000) > 0.9


@pytest.mark.parametrize("key", ["grr", "subset", "unary"])
def test_few_reports_tell_nothing_and_break_nothing(key: str) -> None:
    mechanism = nprr.build(FOUR, epsilon=1, value_epsilon=1, key=key)
    cells = np.zeros((4, mechanism.channel.inner_outputs), np.int64)
    cells[0, 0] = 1
    est = mechanism.estimate(Tally(mechanism, 1, cells.ravel()))
    assert not est.estimable.any() and (est.ci().low == 10).all() and (est.ci(target="sample").high == 60).all()
    assert np.isnan(est.covariance()).all() and len(est.all_pairs().values) == 0
    assert est.to_frame()["note"].eq("is not estimable").all() and "0 of 4" in est.explain()
    with pytest.raises(NoIntervalError):
        est.test_equality()


# --- spread and joint shares -------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["grr", "subset", "unary"])
def test_group_variances(key: str) -> None:
    mechanism = piecewise.build(FOUR, epsilon=4, value_epsilon=3, key=key)
    priors = [Prior.uniform(10, 60), Prior.uniform(30, 40), Prior([10, 60], [1, 1]), Prior.uniform(20, 60)]
    est = drawn(mechanism, None, priors, 400_000)
    truth = [prior.variance for prior in priors]
    spread = est.variances
    assert (np.abs(spread.values - truth) < 5 * spread.std_errors + spread.evidence.bias).all()
    assert spread.std_errors.max() < 30
    low, high = spread.ci(0.999999)
    assert (low <= truth).all() and (truth <= high).all()


def test_one_bit_tells_no_spread() -> None:
    mechanism = bernoulli.build(TWO, epsilon=1)
    assert not tells_squares(mechanism.channel)
    with pytest.raises(NoIntervalError, match="do not determine the spread"):
        _ = drawn(mechanism, None, None, 1000).variances


@pytest.mark.parametrize("build", [laplace.build, bernoulli.build, nprr.build, piecewise.build])
def test_square_line_is_a_bound(build) -> None:
    channel = build(TWO, epsilon=2, value_epsilon=2).channel
    line, centre = square_line(channel), group_law(channel).centre
    for x in np.linspace(10, 60, 203):
        mean, square = map(float, channel.inner.moments(Fraction(float(x))))
        read, away = square - 2 * float(centre) * mean + float(centre) ** 2, float(x) - float(centre)
        rest = away**2 - line.slope * read - line.tilt * away - line.least
        assert -1e-6 <= rest <= line.width + 1e-6


def test_group_frequencies() -> None:
    record = sv.Record({"sex": sv.Categories(["f", "m"]), "type": sv.Categories(["lark", "owl", "neither"])})
    mechanism = sv.mechanism("grr", Select(record, ["sex", "type"]), epsilon=3)
    rng = np.random.default_rng(5)
    people = [{"sex": "fm"[s], "type": ["lark", "owl", "neither"][t]} for s, t in rng.integers(0, (2, 3), (30_000, 2))]
    found = group_frequencies(mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=3))))
    assert found.labels[4] == ("m", "owl") and np.allclose(found.values.reshape(2, 3).sum(axis=1), 1)
    assert (np.abs(found.values - 1 / 3) < 5 * found.std_errors).all()
    assert len(found.to_frame()) == 6
    with pytest.raises(sv.ParameterError, match="two selected fields"):
        group_frequencies(3)


def test_bad_input_is_refused() -> None:
    mechanism = bernoulli.build(TWO, epsilon=1)
    est = drawn(mechanism, None, None, 20_000)
    for call in (
        lambda: est.ci(method="normal"),
        lambda: est.ci(1.5),
        lambda: est.ci(target="nobody"),
        lambda: est.covariance(target="nobody"),
        lambda: est.difference("f", "x"),
        lambda: est.difference("f", "f"),
        lambda: est.all_pairs(correction="none"),
        lambda: mechanism.variance(3),
        lambda: mechanism.variance(([0.5, 0.6], None)),
        lambda: group_power.power_of_difference(mechanism, -1, n=100),
        lambda: group_power.participants_for(mechanism, 1, power=2),
        lambda: mechanism.estimate(Tally.empty(mechanism)),
    ):
        with pytest.raises(sv.ParameterError):
            call()


# Every mechanism, two and eight groups, two kinds of keys, and the two targets in turn; the other points are long.
POINTS = [
    pytest.param(
        point,
        id=GROUPS.key(point),
        marks=pytest.mark.slow if chosen and place // 2 % 2 == place % 2 else pytest.mark.long,
    )
    for place, point in enumerate(GROUPS.points())
    for chosen in (point["groups"] == 2 or point["key"] == "subset",)
]


@pytest.mark.parametrize("point", POINTS)
def test_coverage_where_groups_are_estimable(point: dict[str, Any]) -> None:
    """94 to 97 %, but for three standard errors, as if all groups moved together."""
    runs = GROUPS.runs // 2  # all of them are run by `make coverage`
    rows = cell(point, runs, GROUPS.cell_seed(point, 0))
    assert {row.of for row in rows} == {"mean", "difference"}
    for row in rows:
        assert row.coverage is not None and 100 * row.coverage >= 94 - 3 * standard_error(runs), row
        conservative = row.numbers["marked"] == "sample+"
        assert conservative or 100 * row.coverage <= 97 + 3 * standard_error(runs), row


# --- where little noise is seen ---------------------------------------------------------------------------------------
def test_differences_of_no_seen_noise_are_refused_and_not_called_equal() -> None:
    domain = sv.Pair(sv.Categories(["a", "b"]), sv.Integers(0, 1))
    m = sv.mechanism("group-nprr", domain, epsilon=20)
    pairs = (np.array(["a", "b"] * 500), np.array([0, 1] * 500))
    estimate = m.estimate(m.tally(m.privatize(pairs, seed=1)))
    for question in (
        estimate.test_equality,
        estimate.all_pairs,
        lambda: estimate.difference("a", "b"),
        lambda: estimate.power(0.1, "a", "b"),
    ):
        with pytest.raises(NoIntervalError, match="too few noisy reports"):
            question()
    with pytest.warns(sv.PoorIntervalWarning, match="rare reports"):
        estimate.ci()


@pytest.mark.parametrize(("epsilon", "n"), [(8, 400), (10, 4000)])
def test_plans_do_not_promise_intervals_that_rare_noise_spoils(epsilon: int, n: int) -> None:
    domain = sv.Pair(sv.Categories(["a", "b"]), sv.Interval(0, 1))
    m = sv.mechanism("group-nprr", domain, epsilon=epsilon)
    crowd = Crowd.of(domain, None, [sv.Prior.of([0.25]), sv.Prior.of([0.75])])
    assert not crowd.estimable(m, n).any()
    assert crowd.estimable(m, 1000 * n).all()


def test_an_interval_as_long_as_the_range_is_none() -> None:
    domain = sv.Pair(sv.Categories(["a", "b", "c", "d"]), sv.Interval(0, 10))
    m = sv.mechanism("group-bernoulli", domain, epsilon=1, key="subset")
    rng = np.random.default_rng(5)
    for seed in range(20):
        groups = rng.choice(["a", "b", "c", "d"], 3000, p=[0.55, 0.25, 0.12, 0.08])
        estimate = m.estimate(m.tally(m.privatize((groups, rng.uniform(0, 10, 3000)), seed=seed)))
        low, high = estimate.ci()
        assert (high - low <= 10 + 1e-9).all()
        assert np.isnan(estimate.values[high - low >= 10]).all()
