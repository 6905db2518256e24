"""Intervals where the normal law is poor: rare buckets, directions on a circle, Gaussian answers of another shape."""

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.domain import Above
from sottovoce.estimate.distribution.circle.direction import _arc
from sottovoce.estimate.evidence import Functional
from sottovoce.estimate.gaussian.law import ArmCells, Likelihood, law
from sottovoce.estimate.gaussian.shape import common_laws, shape_of
from sottovoce.tally.laws import law_row
from sottovoce_experiments.coverage.gaussian import drawn

VALUES = sv.Integers(0, 31)


def test_shares_of_rare_buckets_are_covered_one_by_one_and_all_at_once() -> None:
    m = sv.mechanism("coded-wave", VALUES, epsilon=5)
    rows = np.array([law_row(m.channel, code) for code in range(32)])
    truth = np.where(np.arange(32) == 7, 0.98, 0.02 / 31)
    rng, held, plain, together = np.random.default_rng(1), np.zeros(32), np.zeros(32), 0
    for _ in range(60):
        found = m.estimate(sv.Tally(m, 230, rng.multinomial(230, truth @ rows / rows.sum(axis=1)[0]).astype(np.int64)))
        assert found.doubt() is None and found.default_method == "guarded"
        for method, count in (("guarded", held), ("normal", plain)):
            low, high = found.quiet_ci(method=method)
            count += (low <= truth) & (truth <= high)
        low, high = found.quiet_ci(simultaneous=True)
        together += bool(((low <= truth) & (truth <= high)).all())
    assert plain.min() / 60 < 0.85 < 0.88 < held.min() / 60 and together / 60 > 0.93
    assert "guarded interval holds" in (found.doubt(method="normal") or "")


def test_a_usual_study_has_normal_intervals_without_a_doubt() -> None:
    m = sv.mechanism("coded-wave", VALUES, epsilon=1)
    found = m.estimate(m.tally(m.privatize(np.random.default_rng(1).integers(0, 32, 10_000), seed=1)))
    assert found.default_method == "normal" and found.doubt() is None and found.cdf([3, 20]).doubt() is None


def test_a_region_of_directions_covers_with_any_length_of_the_mean_point() -> None:
    rng, covariance = np.random.default_rng(3), np.array([[1.0, 0.3], [0.3, 0.5]])
    root = np.linalg.cholesky(covariance)
    for length in (0.0, 0.5, 1.0, 2.0, 4.0):
        held = 0
        for point in np.array([length, 0.0]) + rng.standard_normal((600, 2)) @ root.T:
            arc = _arc(Functional(point, covariance), 0.95, 0.0)
            away = -math.atan2(point[1], point[0])
            held += arc is None or -arc[0] <= away <= arc[1]
        assert held / 600 > 0.93, length


def test_evenly_spread_times_tell_no_direction() -> None:
    m = sv.mechanism("square-wave", sv.Circle(24), epsilon=1, buckets=64)
    found = m.estimate(m.tally(m.privatize(np.linspace(0, 23.99, 700), seed=2))).mean()
    (low,), (high,) = found.ci()
    assert (low, high) == (0, 24) and "No direction can be told" in found.explain()


def test_answers_that_are_not_normal_are_refuted() -> None:
    protocol = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=1, epsilon=1, participants=20_000, rounds=1)
    rng = np.random.default_rng(4)
    skewed = sv.simulate(protocol, 19 + rng.exponential(size=20_000), seed=1)["mean"]
    assert "not normally distributed" in (skewed.doubt() or "") and "not normally distributed" in skewed.explain()
    many = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=1, epsilon=1, participants=500_000, rounds=1)
    assert "look normally distributed" in (drawn(many, 20, 1, 500_000, rng)["mean"].doubt() or "")


def test_a_skew_that_is_not_noticed_moves_the_mean_by_no_more_than_stated() -> None:
    """A gamma law of skewness 0.12: nearly every interval misses its mean, and every doubt says how far at most."""
    n, rng, held = 400_000, np.random.default_rng(4), 0
    protocol = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=1, epsilon=1, participants=n, rounds=1)
    arms, points = protocol.start().arms, stats.gamma(300).ppf((np.arange(500) + 0.5) / 500)
    answers, people = 20 + (points - points.mean()) / points.std(), sum(arm.weight for arm in arms)
    laws = [law(arm.mechanism, answers, 0.03).mean(axis=0) for arm in arms]
    for _ in range(5):
        cells = [rng.multinomial(n * arm.weight // people, each) for arm, each in zip(arms, laws, strict=True)]
        tallies = tuple(sv.Tally(arm.mechanism, int(c.sum()), c) for arm, c in zip(arms, cells, strict=True))
        found = protocol.advance([tallies])["mean"]
        (low,), (high,) = found.quiet_ci()
        unseen = found.evidence.shape.unseen  # type: ignore[attr-defined]
        held += low <= 20 <= high
        assert low - unseen <= 20 <= high + unseen and unseen < 0.1
        assert "normally distributed" in (found.doubt() or "")
    assert held <= 3


def test_gaussian_means_have_a_doubt_where_common_laws_may_go_unnoticed() -> None:
    """Normal and log-normal answers alike: the doubt does not come and go with the noise."""
    protocol = sv.GaussianMeanUnknownSigma(sv.Interval(-1000, 1000), "0.1", "100", epsilon=1, participants=20_000)
    rng = np.random.default_rng(4)
    for seed in range(3):
        for answers in (rng.normal(20, 1, 20_000), 19 + rng.lognormal(0, 0.7, 20_000)):
            found = sv.simulate(protocol, answers, seed=seed)["mean"]
            assert "normally distributed" in (found.doubt() or "")
    with pytest.warns(sv.PoorIntervalWarning, match="normally distributed"):
        found.ci()


def test_reports_with_two_values_tell_nothing_about_a_shape() -> None:
    """The fitted mean takes up all that one share can tell."""
    mechanism = sv.mechanism("grr", Above(sv.Interval(-10, 10), 0), epsilon=1)
    shape = shape_of(Likelihood((ArmCells(mechanism, np.array([600, 400])),), known=2.0), 1.0, 2.0)
    assert (shape.p_value, shape.unseen, shape.refuted) == (1.0, math.inf, False)
    assert shape.powers == dict.fromkeys(common_laws(), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), [("ages", 20_000), ("two groups", 5_000), ("incomes (log-normal)", 2_000)])
def test_the_power_of_the_shape_test_is_how_often_a_common_law_is_refuted(name: str, n: int) -> None:
    """100 drawn tallies: a share that differs from its probability by 0.25 has a probability below 1e-6."""
    arms = (
        sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=1, epsilon=1, participants=n, rounds=1).start().arms
    )
    people = sum(arm.weight for arm in arms)
    laws = [law(arm.mechanism, 20 + common_laws()[name], 0.05).mean(axis=0) for arm in arms]
    rng, powers, refuted = np.random.default_rng(5), [], 0
    for _ in range(100):
        tallies = zip(arms, laws, strict=True)
        likelihood = Likelihood(
            tuple(ArmCells(arm.mechanism, rng.multinomial(n * arm.weight // people, each)) for arm, each in tallies),
            known=1.0,
        )
        shape = shape_of(likelihood, *likelihood.climb(20.0, 1.0, (1.0, 1.0)))
        powers.append(shape.powers[name])
        refuted += shape.refuted
    assert 0.2 < np.mean(powers) < 0.9
    assert abs(np.mean(powers) - refuted / 100) < 0.25
