"""Covariances of epochs with the same people: memos by enumeration, bounds against every correlation."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel.facets import Memoised, need, rounding_of, stages_of
from sottovoce.core.exact import law_of
from sottovoce.estimate.series.covariance import memo_part, memo_variances, memos_alike, same_people, sampling_part
from sottovoce.estimate.series.series import Series

RAPPOR = sv.mechanism("basic-rappor", sv.Categories(["yes", "no"]), epsilon=1)
GRR = sv.mechanism("grr", sv.Categories(["yes", "no", "unsure"]), epsilon=1)


def score(report, place):
    """What a report adds to the share of a category."""
    from sottovoce.core.channel.facets import rates_of

    own, other = rates_of(RAPPOR.channel)
    return (Fraction(report >> place & 1) - other) / (own - other)


def enumerated(answers):
    """The covariance matrix of the scores of "yes" in two waves of one person, from the laws of both stages."""
    first, second = stages_of(RAPPOR.channel)
    memos = {code: law_of(lambda coins, code=code: first.sample(code, coins)) for code in (0, 1)}
    fresh = {
        memo: law_of(lambda coins, memo=memo: second.sample(memo, coins)) for law in memos.values() for memo in law
    }
    moments = np.zeros((2, 2), object)
    means = [Fraction(0), Fraction(0)]
    for kept in product(*(memos[code].items() for code in (0, 1))):
        chance = kept[0][1] * kept[1][1]
        reports = [fresh[kept[answer][0]].items() for answer in answers]
        for one in product(*reports):
            total = chance * one[0][1] * one[1][1]
            scores = [score(report, 0) for report, _ in one]
            for row in (0, 1):
                means[row] += total * scores[row]
                for column in (0, 1):
                    moments[row, column] += total * scores[row] * scores[column]
    return [[float(moments[r, c] - means[r] * means[c]) for c in (0, 1)] for r in (0, 1)]


def test_memos_share_the_noise_of_their_first_stage():
    """Unchanged: the covariance of two waves is the variance of the memo alone. Changed: it is zero."""
    crowd = {"yes": RAPPOR.estimate(sv.simulate_counts(RAPPOR, [10**9, 0], seed=1))}
    part = memo_variances(crowd["yes"])[0] * crowd["yes"].n
    unchanged, changed = enumerated((0, 0)), enumerated((0, 1))
    assert unchanged[0][1] == pytest.approx(part, rel=1e-4) and changed[0][1] == pytest.approx(0, abs=1e-12)
    noise = crowd["yes"].evidence.variances("sample")[0] * crowd["yes"].n
    assert unchanged[0][0] == pytest.approx(noise, rel=1e-4)
    assert part < noise


def test_a_difference_of_memo_waves_has_the_variance_of_those_who_changed():
    estimates = {wave: RAPPOR.estimate(sv.simulate_counts(RAPPOR, [3_000, 7_000], seed=wave)) for wave in (1, 2)}
    noise = np.array([one.evidence.variances("sample") for one in estimates.values()])
    memo = np.array([memo_variances(one) for one in estimates.values()])
    for share in (0.0, 0.1, 1.0):
        series = Series.of(estimates, people="same", changed=share)
        found = series.contrast([-1, 1], "change", target="sample").std_errors ** 2
        assert found == pytest.approx((noise - memo).sum(axis=0) + 2 * share * memo.mean(axis=0), rel=1e-3)
    cautious = Series.of(estimates, people="same").contrast([-1, 1], "change", target="sample")
    assert cautious.std_errors == pytest.approx(np.sqrt(noise.sum(axis=0)))
    level = Series.of(estimates, people="same").contrast([0.5, 0.5], "mean", target="sample").std_errors ** 2
    assert level == pytest.approx((noise - memo).sum(axis=0) / 4 + memo.mean(axis=0), rel=1e-3)


def two_waves(mechanism, answers, read):
    """The covariance of what is read from two reports of one person, over cohorts, points of rounding and memos."""
    first, second = stages_of(mechanism.channel)
    memoised, moments = need(mechanism.channel, Memoised), np.zeros(3, object)
    grid = rounding_of(mechanism.channel)
    cuts = (
        [Fraction(1)] if grid is None else [Fraction(place + 1, 8) for place in range(8)]
    )  # a point, drawn up to here
    for cohort, cut in product(range(mechanism.cohorts), cuts):
        weight = Fraction(1, mechanism.cohorts * len(cuts))
        codes = [memoised.mapped_in(cohort, mechanism.domain.encode(answer)) for answer in answers]
        if grid is not None:
            codes = [Fraction(grid.high if Fraction(code) / Fraction(grid.high) >= cut else grid.low) for code in codes]
        laws = [law_of(lambda coins, code=code: first.sample(code, coins)).items() for code in dict.fromkeys(codes)]
        for kept in product(*laws):
            memo = dict(zip(dict.fromkeys(codes), kept, strict=True))
            chance = weight * prod(probability for _, probability in kept)
            means = [
                sum(
                    read(cohort, report) * probability
                    for report, probability in law_of(lambda coins, m=memo[code][0]: second.sample(m, coins)).items()
                )
                for code in codes
            ]
            moments += np.array([means[0] * means[1], means[0], means[1]]) * chance
    return float(moments[0] - moments[1] * moments[2])


def test_memos_below_a_cohort_or_a_rounding_share_noise_too():
    """Exact covariances of two reports of one person, beside the part of the variance that series treat as shared."""
    loloha = sv.mechanism("loloha", sv.Integers(0, 2), epsilon=1, g=2)
    own, other = loloha.channel.rates()
    for held in (0, 1):  # the share of the code that is held, and of another

        def support(cohort, report):
            value = need(loloha.channel, Memoised).mapped_in(cohort, 0)
            return (Fraction(report == value) - other) / (own - other)

        crowd = loloha.estimate(sv.simulate_counts(loloha, [10**9 * (held == code) for code in range(3)], seed=1))
        part = memo_variances(crowd)[0] * crowd.n
        assert two_waves(loloha, (held, held), support) == pytest.approx(part, rel=1e-3)
        assert 0 <= two_waves(loloha, (held, 2), support) <= part
    number = sv.mechanism("bernoulli-memo", sv.Interval(0, 8), epsilon=1)
    (scale,) = number.channel.scales()
    crowd = number.estimate(number.tally(number.privatize(np.full(400_000, 3.0), seed=2)))
    part = memo_variances(crowd)[0] * crowd.n
    assert two_waves(number, (3, 3), lambda _, report: scale.read(report)) == pytest.approx(part, rel=0.02)
    assert 0 <= two_waves(number, (3, 5), lambda _, report: scale.read(report)) < part
    assert all(memos_alike(one) for one in (crowd, loloha.estimate(sv.simulate_counts(loloha, [5, 5, 5], seed=1))))


def test_unknown_changes_are_bounded_for_every_share():
    rng = np.random.default_rng(1)
    memos = rng.uniform(0.5, 2, (5, 3))
    shared = np.ones((5, 5), bool)
    for _ in range(100):
        row, moved = rng.normal(size=5), rng.uniform(0, 1, (5, 5))
        moved = (moved + moved.T) / 2
        np.fill_diagonal(moved, 0)
        exact = memo_part(row, memos, moved, shared)
        assert (exact <= memo_part(row, memos, None, shared) + 1e-12).all()
        assert (exact <= memo_part(row, memos, np.asarray(moved.max()), shared) + 1e-12).all()


def test_the_bound_of_sampling_holds_for_every_panel():
    """Exact variances of contrasts of random panels, whose people hold random histories."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        histories = rng.integers(0, 2, (20, 6)).astype(float)
        weights = rng.dirichlet(np.full(20, 0.3))
        row = rng.normal(size=6)
        row -= row.mean()
        mean = weights @ histories
        exact = weights @ ((histories - mean) @ row) ** 2 / 100
        sampling = ((weights @ histories**2 - mean**2) / 100)[:, None]
        moved = np.array([[weights @ (histories[:, s] != histories[:, t]) for t in range(6)] for s in range(6)])
        shared, reports = np.ones((6, 6), bool), np.full(6, 100.0)
        for changed in (None, moved, np.asarray(moved.max())):
            assert exact <= sampling_part(row, sampling, reports, changed, shared, share=True)[0] + 1e-12
    assert sampling_part(row, sampling, reports, moved, shared, share=True) <= sampling_part(
        row, sampling, reports, None, shared, share=True
    )


def test_a_window_lets_only_epochs_a_window_apart_be_correlated():
    shared = same_people(np.array([1.0, 2, 3, 5, 9]), 4)
    assert [list(np.flatnonzero(row)) for row in shared] == [[0, 3, 4], [1], [2], [0, 3, 4], [0, 3, 4]]
    estimates = {wave: GRR.estimate(sv.simulate_counts(GRR, [4_000, 4_000, 2_000], seed=wave)) for wave in range(1, 9)}
    errors = [Series.of(estimates, people="same", window=window).trend().std_errors for window in (1, 2, 4)]
    apart = Series.of(estimates, people="different").trend().std_errors
    assert (errors[0] > errors[1]).all() and (errors[1] > errors[2]).all() and (errors[2] > apart).all()
    assert Series.of(estimates, people="same", window=4).difference(3, 2).std_errors == pytest.approx(
        Series.of(estimates, people="different").contrast([0, -1, 1, 0, 0, 0, 0, 0], "x").std_errors
    )


def test_refusals():
    estimates = {wave: GRR.estimate(sv.simulate_counts(GRR, [40, 40, 20], seed=wave)) for wave in (1, 2, 3)}
    named = dict(zip("abc", estimates.values(), strict=True))
    words = sv.mechanism("rappor", sv.Categories(["a", "b", "c"]), epsilon=1)
    memos = [words.estimate(sv.simulate_counts(words, [50, 50, 50], seed=seed)) for seed in (1, 2)]
    for call, said in (
        (lambda: Series.of(estimates, people="same", changed=1.5), "from 0 to 1"),
        (lambda: Series.of(estimates, people="same", changed=np.zeros((2, 2))), "square matrix"),
        (lambda: Series.of(estimates, people="different", window=2), "people='same'"),
        (lambda: Series.of(named, people="same", window=2), "whole numbers"),
        (lambda: Series.of(memos, people="same"), "share its noise"),
    ):
        with pytest.raises(sv.ParameterError, match=said):
            call()
    kept = [RAPPOR.estimate(sv.simulate_counts(RAPPOR, [50, 50], seed=seed)) for seed in (1, 2)]
    with pytest.raises(sv.ParameterError, match="not smoothed"):
        Series.of(kept, people="same").smooth()
