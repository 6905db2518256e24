"""Small formulas of estimates, compared with what can be computed by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Subset
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoders.base_cut import CUT, base_cut
from sottovoce.estimate.distribution.answers import _slack_of_variance
from sottovoce.estimate.distribution.buckets import even_buckets
from sottovoce.estimate.distribution.hierarchy import HierarchyEvidence
from sottovoce.estimate.distribution.quantiles.invert import best_window
from sottovoce.estimate.frequency.asked import mean_inverse
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.design import RowCounts
from sottovoce.estimate.frequency.intervals.misses import SHARES, normal_sample_excess
from sottovoce.estimate.frequency.intervals.score_sums import upper_tail
from sottovoce.estimate.group_mean.law import key_law
from sottovoce.estimate.group_mean.ratio import Ratios
from sottovoce.estimate.mean.single import ReadMean
from sottovoce.estimate.prior import expected_answers
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.estimate.variance.spread import DeviationEvidence
from sottovoce.tally.tally import Tally


def test_the_variance_of_a_ratio_where_the_truth_is_known() -> None:
    one = np.ones(1)
    ratios = Ratios(top=3 * one, bottom=0.5 * one, top_variance=2 * one, bottom_variance=0.25 * one, mixed=0.1 * one)
    assert ratios.variances_at_truth()[0] == pytest.approx((2 - 2 * 6 * 0.1 + 36 * 0.25) / 0.25)


def test_two_groups_have_no_third_one() -> None:
    """With two codes a set of two holds both, so nothing is left for a third group."""
    law = key_law(Subset(2, 1, 3 * UNIT // 4))
    assert (law.own, law.other, law.both, law.all_three, law.without) == pytest.approx((0.75, 0.25, 0, 0, 0))
    assert Subset(2, 1, 3 * UNIT // 4).pair() == (0, 0)


def test_the_mean_inverse_of_how_many_are_asked() -> None:
    for n, part in ((5, 0.3), (400, 0.02), (10**6, 1e-5), (10**11, 1e-10), (10**12, 0.2)):
        if n * part < 1_000:
            numbers = np.arange(1, min(n, 2_000) + 1)
            exact = float((stats.binom.pmf(numbers, n, part) / numbers).sum())
        else:
            exact = (1 + (1 - part) / (n * part)) / (n * part)
        assert mean_inverse(n, part) == pytest.approx(exact, rel=1e-9)


def test_values_at_the_threshold_are_cut() -> None:
    errors = np.array([0.1, 0.1])
    threshold = -stats.norm.ppf(CUT / 2) * 0.1
    kept = base_cut(np.array([threshold, threshold * 1.001]), errors)
    assert kept == pytest.approx([0, threshold * 1.001])


def test_answers_anywhere_in_a_bucket_move_a_variance() -> None:
    """With buckets of width 1/2 an answer is up to 1/4 from the middle, and the spread is 4."""

    class Source:
        buckets = even_buckets(sv.Interval(0, 8), 16)

    assert _slack_of_variance(Source(), np.array([1.0, 5.0])) == pytest.approx(2 * 2 * 0.25 + 0.25**2)  # type: ignore[arg-type]


def test_windows_near_an_end_lie_inside() -> None:
    """An edge at the end has a known height and no error: a window with it would promise too much."""
    seen: list[np.ndarray] = []

    def spreads(rows: np.ndarray) -> np.ndarray:
        seen.append(rows)
        return np.ones(len(rows))

    for heights, part in ((np.linspace(1, 1, 65), 1e-9), (np.r_[np.zeros(64), 1.0], 1 - 1e-9)):
        best_window(np.r_[0.0, heights[1:]], spreads, part, 0.95)
    first, last = seen
    assert (first[:, 0] == 1).all() and (last[:, -1] == 0).all()


def test_answers_expected_of_whole_numbers_are_these_numbers() -> None:
    assert expected_answers(sv.Integers(2, 5)).values == (2, 3, 4, 5)


def test_standard_deviations_below_one() -> None:
    class Spread:
        def values(self) -> np.ndarray:
            return np.array([0.25, -0.1])

    assert DeviationEvidence(Spread()).values() == pytest.approx([0.5, 0])  # type: ignore[arg-type]


def test_intervals_of_combined_shares_move_with_the_estimate() -> None:
    """A share that is estimated below zero is shown as zero, with an upper end that is moved as far."""
    methods = [mechanism("grr", sv.Integers(0, 3), epsilon=epsilon) for epsilon in (1, 2)]
    tallies = [Tally(one, 1_000, np.array([500, 300, 150, 50])) for one in methods]
    estimate = sv.combine(tallies)
    evidence = estimate.evidence
    request = IntervalRequest(0.95, Method.WILSON)
    _, high = evidence.interval(request)
    below = int(np.argmin(estimate.values))
    assert estimate.values[below] < 0
    assert evidence.inside(request).high[below] == pytest.approx(high[below] - estimate.values[below])


def test_one_report_may_have_the_noise_of_any_answer() -> None:
    """Without a sample variance the largest noise of any answer counts."""
    method = mechanism("piecewise", sv.Interval(0, 1), epsilon=1)
    evidence = method.estimate(method.tally(method.privatize([0.3], seed=1))).evidence
    assert isinstance(evidence, ReadMean) and evidence.sums.variance is None
    by_answer = evidence.grid.squares(evidence.centre - evidence.origin)
    assert evidence.noise == by_answer.max() > by_answer.min()


def test_the_tail_of_scores_at_its_largest_value() -> None:
    """All of three scores are +1 with probability ((0.5 + 0.25) / 2)**3."""
    law = np.array([3]), np.array([0.5]), np.array([0.25])
    assert [upper_tail(least, *law) for least in (3, 4)] == pytest.approx([0.375**3, 0])


def test_the_worst_miss_rate_of_samples_is_that_of_all_counts() -> None:
    n, own, other, z = 37, 0.7, 0.2, stats.norm.ppf(0.975)
    free = other * (1 - other) / (n * (own - other) ** 2)
    linear = (own * (1 - own) - other * (1 - other)) / (n * (own - other) ** 2)
    missed = []
    for share in SHARES[::4]:
        held = round(n * share)
        law = np.convolve(
            stats.binom.pmf(np.arange(held + 1), held, own), stats.binom.pmf(np.arange(n - held + 1), n - held, other)
        )
        values = (np.arange(n + 1) / n - other) / (own - other)
        wrong = (values - held / n) ** 2 > z**2 * (free + linear * np.clip(values, 0, 1))
        missed.append(float(law[wrong].sum()))
    assert normal_sample_excess(n, own, other, 0.95) == pytest.approx(max(missed) / 0.05, rel=1e-6)


def test_score_intervals_of_contrasts_solve_their_equation() -> None:
    n, total, hits, slope, z = 200, np.array([30.0, -50.0]), np.array([90.0, 120.0]), 0.4, stats.norm.ppf(0.975)
    part = SimpleNamespace(n=n, hits=hits, slope=slope, _totals=lambda: total)
    rate = (hits + z**2 / 2) / (n + z**2)
    for end in ContrastsEvidence.wilson(part, 0.95):  # type: ignore[arg-type]
        score = end * slope
        assert (total / n - score) ** 2 == pytest.approx(z**2 * (rate - score**2) / n)


def test_parts_of_rows_of_hashes() -> None:
    table = np.array([[1.0, 3.0, 5.0, 7.0]])
    rows = SimpleNamespace(signed=False, blocks=2, length=2, exclusive=True, counts=table)
    assert RowCounts.mean_square(rows, table) == 2  # type: ignore[arg-type]  # each is one from the mean of its block
    assert RowCounts.noise.func(rows) is table


def test_a_level_with_one_report() -> None:
    level = SimpleNamespace(gather=lambda own: own, other=0.25, slope=0.5)
    part = SimpleNamespace(_by_branch=lambda: [(level, np.array([1.0, 0.0]))])
    assert HierarchyEvidence.levels(part)[0] == pytest.approx([1.5, -0.5])  # type: ignore[arg-type]


def test_a_distribution_has_the_question_of_its_mechanism() -> None:
    method = mechanism("binned", sv.Integers(0, 3), epsilon=1)
    assert (
        method.estimate(method.tally(method.privatize([0, 1, 2, 3] * 9, seed=1))).evidence.question == method.question
    )
