"""Distributions from several tallies: other waves, other budgets."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.combine import CombinedDistribution
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.tally.tally import Tally

DOMAIN, BUCKETS = sv.Interval(0, 1), 16
SHARES = np.random.default_rng(1).dirichlet(np.ones(BUCKETS))
WAVES = ("square-wave-discrete", "coded-wave")


def mechanisms(budgets: tuple[float, ...] = (1.0, 2.0)) -> list[sv.Mechanism]:
    return [
        sv.mechanism(name, DOMAIN, epsilon=epsilon, buckets=BUCKETS)
        for name, epsilon in zip(WAVES, budgets, strict=True)
    ]


def drawn(method: sv.Mechanism, n: int, seed: int, shares: np.ndarray = SHARES) -> Tally:
    rates = transition_of(method.channel, BUCKETS).matrix @ shares
    return Tally(method, n, np.random.default_rng(seed).multinomial(n, rates / rates.sum()))


def whole(n: tuple[int, int] = (3_000, 7_000)) -> sv.Estimate:
    return sv.combine(
        [drawn(method, count, seed) for seed, (method, count) in enumerate(zip(mechanisms(), n, strict=True))],
        people="different",
    )


def test_shares_are_those_of_one_channel_that_sends_either_wave() -> None:
    """Three tenths of the participants send one wave: a law of stacked outputs, whose best scores are solved anew."""
    found = whole()
    parts = found.evidence.parts  # type: ignore[attr-defined]
    stacked = np.concatenate([0.3 * parts[0].transition.matrix, 0.7 * parts[1].transition.matrix])
    even = stacked.mean(axis=1)
    scores = np.linalg.solve(stacked.T / even @ stacked, stacked.T / even)
    rates = np.concatenate([part.cells for part in parts]) / found.n
    assert found.values == pytest.approx(scores @ rates, abs=1e-9)
    # Its variance there, from the law; numbers of each wave are fixed, so that chance does not choose between them.
    truth = np.full(BUCKETS, 1 / BUCKETS)
    inner = sum(
        share * (own @ part.transition.matrix @ truth) ** 2
        for share, part, own in zip((0.3, 0.7), parts, np.split(scores, [len(parts[0].cells)], axis=1), strict=True)
    )
    least = (scores**2 @ even - inner) / found.n
    exact = sum(
        np.diag(part.decode.covariance(own, part.transition.forward(truth), "population", truth)) / part.n
        for part, own in zip(parts, found.evidence.weights, strict=True)  # type: ignore[attr-defined]
    )
    assert exact == pytest.approx(least, rel=1e-9)


def test_shares_are_unbiased_for_every_distribution() -> None:
    found = whole().evidence
    assert isinstance(found, CombinedDistribution)
    mean = sum(
        own @ part.decode.values(part.transition.forward(SHARES))
        for part, own in zip(found.parts, found.weights, strict=True)
    )
    assert mean == pytest.approx(SHARES, abs=1e-9)


def test_errors_are_smaller_than_those_of_each_tally() -> None:
    found = whole((5_000, 5_000))
    places = ["0.25", "0.5", "0.75"]
    for method, count in zip(mechanisms(), (5_000, 5_000), strict=True):
        alone = method.estimate(drawn(method, count, 3))
        assert (found.cdf(places).std_errors < alone.cdf(places).std_errors).all()
    assert found.band().half.max() < alone.band().half.max()
    assert found.n == 10_000


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "sample"])
def test_intervals_cover(target: str) -> None:
    """Of two cumulative shares in 300 crowds each: a standard error of 0.9 points."""
    heights, held, methods = np.cumsum(SHARES)[[5, 11]], [], mechanisms()
    rng = np.random.default_rng(7)
    for _ in range(300):
        tallies, sampled = [], []
        for method in methods:
            answered = rng.multinomial(4_000, SHARES)
            tallies.append(sv.simulate_counts(method, answered, seed=int(rng.integers(1 << 62))))
            sampled.append(answered / 4_000)
        found = sv.combine(tallies, people="different")
        truth = heights
        if target == "sample":
            weights = found.evidence.weights  # type: ignore[attr-defined]
            truth = np.cumsum(sum(own @ part for own, part in zip(weights, sampled, strict=True)))[[5, 11]]
        low, high = found.cdf([6 / 16, 12 / 16]).ci(0.95, target=target)
        held += [low <= truth, truth <= high]
    covered = np.logical_and(*(np.array(held).reshape(300, 2, 2).transpose(1, 0, 2))).mean()
    assert 0.92 < covered < 0.98


def test_one_likelihood_of_all_reports_is_decoded() -> None:
    tallies = [drawn(method, 50_000, seed) for seed, method in enumerate(mechanisms())]
    for name in ("em", "ems", "bayes"):
        together = sv.combine(tallies, decoder=name)
        assert together.values.min() >= 0
        assert together.values.sum() == pytest.approx(1)
    parts = [method.estimate(one, decoder="em") for method, one in zip(mechanisms(), tallies, strict=True)]
    likely = sv.combine(tallies, decoder="em").evidence.likelihood()
    found = sv.combine(tallies, decoder=sv.decoder("em", tolerance=1e-9)).values
    assert all(likely.value(found) >= likely.value(one.values) for one in parts)
    assert sv.combine(tallies).curve().quality == sv.combine(tallies, decoder="bayes").quality


def test_another_question_is_answered_from_all_of_them() -> None:
    found = whole((50_000, 50_000))
    middles = (np.arange(BUCKETS) + 0.5) / BUCKETS
    low, high = found.mean().ci()
    assert low[0] < middles @ SHARES < high[0]
    low, high = found.variance().ci()
    assert low[0] < middles**2 @ SHARES - (middles @ SHARES) ** 2 + 1 / (12 * BUCKETS**2) < high[0]
    assert found.median().values == pytest.approx(np.searchsorted(np.cumsum(SHARES), 0.5) / BUCKETS, abs=2 / BUCKETS)


def test_tallies_of_other_populations_are_told_apart() -> None:
    methods = mechanisms()
    same = sv.combine([drawn(method, 50_000, 5 + seed) for seed, method in enumerate(methods)])
    assert same.heterogeneity == same.evidence.heterogeneity > 1e-3
    other = sv.combine([drawn(methods[0], 50_000, 1), drawn(methods[1], 50_000, 2, SHARES[::-1])])
    assert other.heterogeneity == other.evidence.heterogeneity < 1e-6


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("square-wave", {"buckets": BUCKETS}, "put answers into buckets first"),
        ("laplace-histogram", {"buckets": BUCKETS}, "counted one by one"),
        ("coded-wave", {"buckets": 8}, "the same distribution in the same buckets"),
    ],
)
def test_what_cannot_be_combined_is_said(name: str, options: dict[str, int], sentence: str) -> None:
    other = sv.mechanism(name, DOMAIN, epsilon=1, **options)
    reports = other.privatize(np.linspace(0, 1, 100), seed=1)
    with pytest.raises(sv.ParameterError, match=sentence):
        sv.combine([drawn(mechanisms()[0], 100, 1), other.tally(reports)])


def test_a_mixed_wave_is_read_like_both_tallies() -> None:
    """Its law is that of stacked outputs; given the coins its likelihood is that of both waves."""
    mixed = sv.mechanism("mixed-wave", DOMAIN, epsilon=1, buckets=BUCKETS)
    waves = mechanisms((1.0, 1.0))
    tallies = [drawn(method, count, seed) for seed, (method, count) in enumerate(zip(waves, (400, 600), strict=True))]
    both = sv.combine(tallies)
    found = mixed.estimate(Tally(mixed, 1_000, np.concatenate([one.cells for one in tallies])))
    transition, parts = found.evidence.transition, both.evidence.parts  # type: ignore[attr-defined]
    stacked = np.concatenate([part.transition.matrix for part in parts]) / 2
    assert transition.matrix == pytest.approx(stacked, abs=1e-15)
    rng = np.random.default_rng(3)
    ratios = rng.random(len(stacked))
    assert transition.backward(ratios) == pytest.approx(ratios @ stacked)
    some, other = rng.dirichlet(np.ones(BUCKETS), 2)
    gains = [one.evidence.likelihood().value(some) - one.evidence.likelihood().value(other) for one in (found, both)]
    assert gains[0] == pytest.approx(gains[1])
    for decoder in ("em", "ems", "bayes"):
        assert found.decoded(decoder).values == pytest.approx(both.decoded(decoder).values, abs=1e-9)
