"""Variances and intervals of tallies small enough to compute them by hand, from first principles."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, PoolMap, Public, Rates, SampledCoordinates, Subset, Table
from sottovoce.core.errors import NoCovarianceError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.combine import pooled
from sottovoce.estimate.comparison.multiple import adjust
from sottovoce.estimate.evidence import Bounds, deviate, most_excess
from sottovoce.estimate.frequency import laws
from sottovoce.estimate.frequency.base import moved_inside
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.evidence import from_cells as shares_from_cells
from sottovoce.estimate.frequency.intervals.binomials import exact_held
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.frequency.matrix import MatrixEvidence
from sottovoce.estimate.frequency.supports import SupportsEvidence, clopper_pearson, wilson_score
from sottovoce.estimate.mean.betting import _crossing
from sottovoce.estimate.mean.single import bernstein
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.vector_mean.coordinates import CoordinatesEvidence
from sottovoce.estimate.vector_mean.evidence import from_cells
from sottovoce.tally.tally import Tally

NEAR = {"rtol": 1e-9, "atol": 1e-12}


# --- all intervals at once ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("method", ["exact", "normal", "wilson"])
def test_intervals_at_once_share_the_error_among_all_values(size: int, method: str) -> None:
    m = sv.mechanism("grr", sv.Integers(0, size - 1), epsilon=1)
    estimate = m.estimate(Tally(m, 600 * size, np.full(size, 600)))
    together = estimate.ci(0.95, method=method, simultaneous=True)
    alone = estimate.ci(1 - 0.05 / size, method=method)
    assert np.allclose(together.low, alone.low, **NEAR) and np.allclose(together.high, alone.high, **NEAR)


def test_intervals_of_groups_at_once_share_the_error_among_all_groups() -> None:
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(1, 3), sv.Interval(0, 1)), epsilon=4)
    chance = np.random.default_rng(5)
    answers = list(zip(chance.integers(1, 4, 3000).tolist(), chance.random(3000).tolist(), strict=True))
    estimate = m.estimate(m.tally(m.privatize(answers, seed=3)))
    together, alone = estimate.ci(0.94, simultaneous=True), estimate.ci(0.98)
    assert np.allclose(together.low, alone.low, **NEAR) and np.allclose(together.high, alone.high, **NEAR)
    pairs = estimate.all_pairs(0.94, correction="bonferroni")
    assert len(pairs.values) == 3
    for place, pair in enumerate(zip(pairs.groups, pairs.others, strict=True)):
        one = estimate.difference(*pair).ci(1 - 0.06 / 3)
        assert np.allclose([bound[place] for bound in pairs.ci()], one, **NEAR)


def test_adjusted_p_values() -> None:
    p = np.array([0.02, 0.001, 0.03, 0.5])
    assert np.allclose(adjust(p, "bonferroni"), [0.08, 0.004, 0.12, 1], **NEAR)
    assert np.allclose(adjust(p, "holm"), [0.06, 0.004, 0.06, 0.5], **NEAR)  # 3 x 0.02 = 2 x 0.03


# --- sampled coordinates --------------------------------------------------------------------------------------------
def test_a_sampled_coordinate_is_as_uncertain_as_its_own_reports() -> None:
    """Reports 0 and 1 of a bit that is kept with p: read as (report - q) / (p - q) on a range of length 10."""
    m = sv.mechanism("sampled", sv.Box(-5, 5, 4), epsilon=1, inner="bernoulli")
    assert isinstance(m.channel, SampledCoordinates) and m.channel.count == 1 and isinstance(m.channel.inner, Subset)
    p = m.channel.inner.keep / UNIT
    slope, n = 2 * p - 1, 40
    zeros, ones = np.array([6, 1, 9, 2]), np.array([4, 7, 9, 2])
    found = from_cells(m, n, np.column_stack([zeros, ones]).ravel())
    counts = zeros + ones
    share = ones / counts
    assert np.allclose(found.values(), -5 + 10 * (share - (1 - p)) / slope, **NEAR)
    spreads = 100 * share * (1 - share) * counts / (counts - 1) / slope**2
    assert np.allclose(found.variances("population"), spreads / counts, **NEAR)
    assert np.allclose(found.interval(IntervalRequest(0.9, "hoeffding")).high - found.values(),
                       10 / slope * np.sqrt(math.log(2 / 0.1) / (2 * counts)), **NEAR)  # fmt: skip


def test_among_these_participants_a_coordinate_lacks_those_who_did_not_speak_of_it() -> None:
    """A variance of 9 from noise and of 4 between answers: 9 / count, and 4 / count less 4 / n (finite population)."""
    counts = np.array([5, 20, 1])
    found = CoordinatesEvidence(
        20, counts, np.zeros(3), np.full(3, 13.0), np.full(3, 9.0), np.full(3, 500.0), np.full(3, -19.5),
        np.full(3, 40.0), np.zeros(3), np.ones(3), 0.1,
    )  # fmt: skip
    assert np.allclose(found.variances("population"), 13 / counts, **NEAR)
    assert np.allclose(found.variances("sample"), 9 / counts + 4 * (1 / counts - 1 / 20), **NEAR)
    assert np.allclose(
        found.interval(IntervalRequest(0.9, "normal", Target.SAMPLE)),
        found.normal(IntervalRequest(0.9, target=Target.SAMPLE)),
        **NEAR,
    )
    high = 40 * np.sqrt(math.log(20) / (2 * counts))
    assert np.allclose(found.interval(IntervalRequest(0.9, "hoeffding", Target.SAMPLE)), [-high, high], **NEAR)


@pytest.mark.parametrize("count", [1, 2])
def test_the_predicted_variance_counts_the_reports_of_one_coordinate(count: int) -> None:
    m = sv.mechanism("sampled", sv.Box(-5, 5, 6), epsilon=1, inner="bernoulli", count=count)
    assert isinstance(m.channel, SampledCoordinates) and isinstance(m.channel.inner, Subset)
    p = Fraction(m.channel.inner.keep, UNIT)
    one = 100 * p * (1 - p) / (2 * p - 1) ** 2  # an answer at an end is not rounded
    assert np.allclose(m.variance([-5.0] * 6, 300), float(one) / (300 * count / 6), **NEAR)


# --- shares ---------------------------------------------------------------------------------------------------------
def test_quantiles_and_tails_of_binomials() -> None:
    assert deviate(0.95) == pytest.approx(1.959963984540054, rel=1e-12)
    low, high = clopper_pearson(np.array([0, 3, 10]), 10, 0.9)
    assert np.allclose(low, [0, beta.ppf(0.05, 3, 8), beta.ppf(0.05, 10, 1)], **NEAR)
    assert np.allclose(high, [beta.ppf(0.95, 1, 10), beta.ppf(0.95, 4, 7), 1], **NEAR)
    low, high = wilson_score(np.array([3]), 10, 0.95)
    z = 1.959963984540054
    for end in (low[0], high[0]):  # where the score test just rejects
        assert abs(0.3 - end) == pytest.approx(z * math.sqrt(end * (1 - end) / 10), rel=1e-9)


@pytest.mark.parametrize("n", [1, 7, 12])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_exact_interval_of_holders_is_the_inverted_test(n: int, level: float) -> None:
    """Bin(h, p) + Bin(n - h, q): h is kept where neither tail of the count is below half of the error."""
    p, q = 0.7, 0.2
    alpha = (1 - level) / 2
    low, high = exact_held(np.arange(n + 1), np.full(n + 1, n), p, q, level)
    for count in range(n + 1):
        kept = []
        for held in range(n + 1):
            law = np.convolve(binom.pmf(range(held + 1), held, p), binom.pmf(range(n - held + 1), n - held, q))
            if law[count:].sum() > alpha and law[: count + 1].sum() > alpha:
                kept.append(held)
        nearest = 0 if count < n * q else n  # where the count is too small or too large for anybody's holding
        assert (low[count], high[count]) == ((kept[0], kept[-1]) if kept else (nearest, nearest))


LAW = np.array([[2.0, 1.0], [1.0, 2.0]]) / 3  # its inverse is the matrix below


def test_shares_read_through_a_matrix() -> None:
    """Of 100 reports 30 and 70, read as (2, -1) and (-1, 2): means -0.1 and 1.1, mean squares 1.9 and 3.1."""
    found = MatrixEvidence(np.array([30, 70]), 100, np.array([[2.0, -1.0], [-1.0, 2.0]]), LAW)
    assert np.allclose(found.values(), [-0.1, 1.1], **NEAR)
    assert np.allclose(found.variances("population"), [(1.9 - 0.01) / 100, (3.1 - 1.21) / 100], **NEAR)
    assert np.allclose(found.variances("sample"), [1.9 / 100, (3.1 - 1) / 100], **NEAR)  # a share of a crowd is no more


def test_intervals_of_moved_estimates_keep_their_reach() -> None:
    """Of readings -0.1 and 1.1 plus or minus 0.2, the first moves up by 0.1 and the second down by 0.1."""
    found = MatrixEvidence(np.array([30, 70]), 100, np.array([[2.0, -1.0], [-1.0, 2.0]]), LAW)
    low, high = moved_inside(found, Bounds(found.values() - 0.2, found.values() + 0.2))
    assert np.allclose(low, [0, 0.8], **NEAR) and np.allclose(high, [0.2, 1], **NEAR)
    low, high = moved_inside(found, Bounds(np.array([-0.9, 1.2]), np.array([-0.2, 1.9])))  # all beyond the range
    assert np.allclose(low, [0, 1], **NEAR) and np.allclose(high, [0, 1], **NEAR)


def test_only_numbered_outputs_have_a_law_as_a_matrix() -> None:
    for channel in (Bits(3, UNIT // 2, UNIT // 4), Public(PoolMap(4, 2, 2), Subset(2, 1, UNIT - 9))):
        with pytest.raises(TypeError, match=f"a {channel.kind} channel are not numbered"):
            output_law(channel)
    assert np.allclose(output_law(Subset(3, 1, UNIT // 2)), [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])


def test_how_often_an_interval_may_miss_without_a_warning() -> None:
    """A third more often than promised, and by one percent more: whichever is less."""
    assert most_excess(0.99) == pytest.approx(4 / 3) and most_excess(0.97) == pytest.approx(4 / 3)
    assert most_excess(0.95) == pytest.approx(1.2) and most_excess(0.5) == pytest.approx(1.02)


def test_a_share_that_no_report_speaks_against_has_the_error_of_the_nearest_shares() -> None:
    """Codes 0 and 1 are mirror images, so reports of output 0 alone are read alike for both: 7/11, 7/11, -3/11.

    All reports are read as one number, which shows no variance. The nearest shares are a half, a half and none.
    """
    law = np.array([[26.0, 5.0, 1.0], [26.0, 1.0, 5.0], [4.0, 14.0, 14.0]]) / 32
    inverse = np.linalg.inv(law).T
    read, nearest = inverse[:, 0], np.array([0.5, 0.5, 0.0])
    assert np.allclose(read * 11, [7, 7, -3], **NEAR)
    found = MatrixEvidence(np.array([50, 0, 0]), 50, inverse, law)
    outputs = (law[0] + law[1]) / 2
    whole = inverse**2 @ outputs - (inverse @ outputs) ** 2  # of a report of a participant drawn at random
    assert np.allclose(found.variances("population"), whole / 50, rtol=1e-9)
    given = [inverse**2 @ row - (inverse @ row) ** 2 for row in law]  # of a report of a holder of each code
    expected = nearest @ given / 50
    seen = read**2 - np.clip(read, 0, 1)
    assert np.allclose(found.variances("sample"), np.where(seen > 0, seen / 50, expected), rtol=1e-9)


@pytest.mark.parametrize("target", ["population", "sample"])
def test_the_predicted_variance_of_a_table_is_that_of_its_reports(target: str) -> None:
    """Of one participant drawn from the shares; or of one who holds a code, on average over the shares."""
    rows = [[4, 3, 1], [1, 4, 3], [3, 2, 3]]
    table = Table([[part * UNIT // 8 for part in row] for row in rows])
    m = Mechanism("x", Frequency(sv.Integers(0, 2)), table, Decimal(3), CountOutputs())
    law, shares = np.array(rows) / 8, np.array([0.5, 0.3, 0.2])
    inverse = np.linalg.inv(law).T
    given = np.array([inverse**2 @ row - (inverse @ row) ** 2 for row in law])
    between = shares - shares**2 if target == "population" else 0
    assert np.allclose(m.variance(shares, 40, target=target), (shares @ given + between) / 40, **NEAR)


def test_covariances_without_a_closed_form_are_refused() -> None:
    uneven = Bits(3, (UNIT // 2, UNIT // 4 * 3, UNIT // 8 * 5), UNIT // 4)
    m = Mechanism("x", Frequency(sv.Integers(0, 2)), uneven, Decimal(4), CountSupports())
    with pytest.raises(NoCovarianceError, match="no closed form"):
        shares_from_cells(m, 10, np.array([5, 5, 5])).second_moments()


def test_covariances_of_a_pool_are_computed_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    m = Mechanism(
        "x", Frequency(sv.Integers(0, 8)), Public(PoolMap(9, 3, 2), Subset(3, 1, UNIT // 2)), Decimal(2), CountSeeds()
    )
    cells = np.ones(m.cells, np.int64)
    for most, allowed in ((9 * m.cells, True), (9 * m.cells - 1, False)):
        monkeypatch.setattr(laws, "MAX_SCORES", most)
        if allowed:
            assert shares_from_cells(m, m.cells, cells).second_moments().shape == (9, 9)
        else:
            with pytest.raises(TooLargeError, match=f"from {m.cells} cells"):
                shares_from_cells(m, m.cells, cells).second_moments()


def test_among_these_participants_a_support_has_the_variance_of_two_coins() -> None:
    """Rates 1/2 and 1/10: 30 of 100 supports are a share of a half; 0 are none; 60 are all of them."""
    found = SupportsEvidence(np.array([30, 0, 60]), 100, 0.5, 0.1)
    each = np.array([(0.25 + 0.09) / 2, 0.09, 0.25])
    assert np.allclose(found.variances("sample"), each / 100 / 0.16, **NEAR)
    assert np.allclose(found.variances("population"), np.array([0.21, 0.09, 0.25]) / 100 / 0.16, **NEAR)


def test_the_bernstein_interval_of_one_report_is_as_wide_as_its_range() -> None:
    assert bernstein(7.0, 0.0, 1, 0.9) == 7.0
    confidence = math.log(40)  # a twentieth of error on each side
    assert bernstein(7.0, 0.5, 2, 0.9) == pytest.approx(math.sqrt(confidence / 2) + 49 * confidence / 3, rel=1e-12)


@pytest.mark.parametrize("shares", ["a lot", [0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.4, 0.0], None])
def test_a_variance_is_predicted_for_shares_of_all_values(shares: object) -> None:
    with pytest.raises(sv.ParameterError, match="3 shares that sum to 1"):
        sv.mechanism("grr", sv.Integers(0, 2), epsilon=1).variance(shares)


@pytest.mark.parametrize("name", ["grr", "hadamard", "oue"])
def test_a_variance_is_predicted_for_a_known_target(name: str) -> None:
    with pytest.raises(sv.ParameterError, match="'target'"):
        sv.mechanism(name, sv.Integers(0, 2), epsilon=1).variance([0.2, 0.3, 0.5], target="nobody")


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "subset", "hrr"])
def test_shares_and_their_variances_from_the_rates(name: str) -> None:
    """(count / n - q) / (p - q), with the variance of a count of n independent reports that support a value or not."""
    m = sv.mechanism(name, sv.Integers(0, 3), epsilon=1)
    rates = m.channel.rates()
    if not isinstance(rates, Rates):
        pytest.skip("The supports of this mechanism are contrasts.")
    p, q, n = float(rates.own), float(rates.other), 1000
    chance = np.random.default_rng(2)
    tally = m.tally(m.privatize(chance.integers(0, 4, n), seed=1))
    estimate = m.estimate(tally)
    supports = estimate.values * (p - q) + q  # of the reports, for each value
    assert np.allclose(supports * n, np.round(supports * n), atol=1e-6)
    assert np.allclose(estimate.std_errors**2, supports * (1 - supports) / n / (p - q) ** 2, **NEAR)
    low, high = estimate.ci(0.9)
    ends = clopper_pearson(np.round(supports * n), n, 0.9)
    assert np.allclose(low, (ends[0] - q) / (p - q), **NEAR) and np.allclose(high, (ends[1] - q) / (p - q), **NEAR)


def test_the_warning_counts_the_values_whose_normal_interval_is_poor() -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 5), epsilon=4)  # in groups, with hits of their own
    found = m.estimate(m.tally(m.privatize([0, 1, 2, 3, 4, 5] * 100, seed=1))).evidence
    assert isinstance(found, ContrastsEvidence)
    for poor in (1, 5, 6):
        few = replace(found, hits=np.array([59] * poor + [60] * (6 - poor)))
        assert str(few.warning()).startswith(f"The normal interval is poor for {poor} of 6 values")
    assert replace(found, hits=np.full(6, 60)).warning() is None


@pytest.mark.parametrize("weights", [[1, 0], [2, -1], [-1, -2], [1], [1, 2, 3], []])
def test_means_are_combined_with_a_positive_weight_for_each(weights: list[int]) -> None:
    m = sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=1)
    means = [m.estimate(m.tally(m.privatize([1.0] * n, seed=n))) for n in (30, 50)]
    assert pooled(means, [1, 3]).values == pytest.approx([(means[0].values[0] + 3 * means[1].values[0]) / 4])
    with pytest.raises(sv.ParameterError, match="a positive weight for each"):
        pooled(means, weights)


def test_estimates_outside_are_moved_to_the_nearest_count_inside() -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 5), epsilon=4)
    found = m.estimate(m.tally(m.privatize([0, 1, 2, 3, 4, 5] * 100, seed=1))).evidence
    assert isinstance(found, ContrastsEvidence)
    above, below = replace(found, plus=found.hits, n=300).moved()[1], replace(found, plus=0 * found.hits).moved()[0]
    assert (above.values() <= 1).all() and (replace(above, plus=above.plus + 1).values() > 1).any()
    assert (below.values() >= 0).all() and (replace(below, plus=below.plus - 1).values() < 0).all()


def test_one_report_moves_a_sum_of_contrasts_by_two_scores_at_most() -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 5), epsilon=4)
    found = m.estimate(m.tally(m.privatize([0, 1, 2, 3, 4, 5] * 100, seed=1))).evidence
    assert isinstance(found, ContrastsEvidence)
    weights = np.array([1.0, -2.0, 0.0, 0.5, 0.0, 3.0])
    assert found.reach_of(weights) == pytest.approx(2 * 6.5 / found.slope, rel=1e-12)


def test_where_the_capital_of_a_bet_falls_below_the_threshold() -> None:
    assert _crossing(lambda m: 1 - m, 0.0, 1.0) == 1.0  # the end itself still holds
    assert _crossing(lambda m: 2 - m, 0.0, 1.0) == 1.0 and _crossing(lambda m: -1 - m, 0.0, 1.0) == 0.0
    assert 0.5 - 1e-11 < _crossing(lambda m: 0.5 - m, 0.0, 1.0) <= 0.5
