"""Intervals where the normal law is poor: rare buckets, directions on a circle, Gaussian answers of another shape."""

import math

import numpy as np

import sottovoce as sv
from sottovoce.estimate.distribution.base import Functional
from sottovoce.estimate.distribution.circle.direction import _arc
from sottovoce.estimate.gaussian.shape import shape_of
from sottovoce.tally.laws import law_row

VALUES = sv.Integers(0, 31)


def test_shares_of_rare_buckets_are_covered_one_by_one_and_all_at_once() -> None:
    m = sv.mechanism("coded-wave", VALUES, epsilon=5)
    law = np.array([law_row(m.channel, code) for code in range(32)])
    truth = np.where(np.arange(32) == 7, 0.98, 0.02 / 31)
    rng, held, plain, together = np.random.default_rng(1), np.zeros(32), np.zeros(32), 0
    for _ in range(60):
        found = m.estimate(sv.Tally(m, 230, rng.multinomial(230, truth @ law / law.sum(axis=1)[0]).astype(np.int64)))
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
    protocol = sv.GaussianMeanKnownSigmaOneRound(sv.Interval(-1000, 1000), sigma=1, epsilon=1, participants=20_000)
    rng = np.random.default_rng(4)
    normal = sv.simulate(protocol, rng.normal(20, 1, 20_000), seed=1)["mean"]
    skewed = sv.simulate(protocol, 19 + rng.exponential(size=20_000), seed=1)["mean"]
    assert normal.doubt() is None
    assert "not normally distributed" in (skewed.doubt() or "") and "not normally distributed" in skewed.explain()
    own = normal.evidence
    assert shape_of(own.model, own.mean, own.deviation).told  # type: ignore[attr-defined]
