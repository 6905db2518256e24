"""The decoder `bayes`: its priors, modes and evidence against exact mathematics, then its distance from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from threadpoolctl import threadpool_info

import sottovoce as sv
from sottovoce.estimate.decoders.bayes import _together
from sottovoce.estimate.distribution.bayes import modes
from sottovoce.estimate.distribution.bayes.condense import (
    LOSS,
    Condensed,
    _information,
    condensed,
    evenly,
    split_where_mass_is,
)
from sottovoce.estimate.distribution.bayes.modes import NEAR, Posterior, Smooth, smooth
from sottovoce.estimate.distribution.bayes.walks import FEW_WALKS, WALKS, Walk, waves
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.frequency.maximise import NotConvergedWarning
from sottovoce.estimate.frequency.mixture import Dense
from sottovoce_experiments.distribution.decoders import distances, simulated

BENDS = sorted({walk.bend for walk in WALKS})


def wave(epsilon: float = 1.0, buckets: int = 32, domain: sv.Interval | sv.Circle | None = None) -> sv.Mechanism:
    return sv.mechanism("square-wave-discrete", domain or sv.Interval(0, 1), epsilon=epsilon, buckets=buckets)


def law_of(mechanism: sv.Mechanism) -> np.ndarray:
    blank = np.zeros(mechanism.statistic.cells(mechanism.channel), np.int64)
    return from_cells(mechanism, 0, blank).transition.matrix


def evidence_of(mechanism: sv.Mechanism, truth: np.ndarray, n: int, seed: int) -> tuple[OutputsEvidence, np.ndarray]:
    sample, cells = simulated(law_of(mechanism), truth / truth.sum(), np.random.default_rng(seed), n)
    return from_cells(mechanism, n, cells), sample


def small(counts: np.ndarray | None = None, buckets: int = 12) -> Condensed:
    law = law_of(wave(buckets=buckets))
    given = np.linspace(50, 150, len(law)) if counts is None else counts
    return Condensed(law, given, np.arange(buckets), np.linspace(1, 2, buckets))


# --- priors ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_waves_are_those_of_a_random_walk(order: int, circular: bool) -> None:
    found = waves(24, order, circular)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(23)) and np.allclose(found.vectors.sum(axis=0), 0)
    curved = found.variances[0 if circular else order - 1 :]
    assert np.isclose(curved.sum(), 24)
    walk = found.vectors[:, -len(curved) :] @ np.random.default_rng(1).standard_normal(len(curved))
    steps = walk
    for _ in range(order):
        steps = steps - np.roll(steps, 1) if circular else np.diff(steps)
    # The prior sees the squared steps only: its exponent is proportional to their sum.
    exponents = (found.vectors[:, -len(curved) :].T @ walk) ** 2 / curved
    ends = found.vectors[:, -1]
    first = ends
    for _ in range(order):
        first = first - np.roll(first, 1) if circular else np.diff(first)
    assert np.isclose(exponents.sum() / (steps @ steps), 1 / curved[-1] / (first @ first))
    covariance = found.vectors * found.variances @ found.vectors.T
    if circular:
        assert np.allclose(np.roll(covariance, (1, 1), (0, 1)), covariance)
    else:
        assert np.allclose(covariance[::-1, ::-1], covariance)


def test_slow_waves_are_exact_for_many_buckets() -> None:
    """Those of a circle are cosines and sines; their rates are known, and tiny for order three."""
    found = waves(256, 3, True)
    rates = (2 * np.sin(np.pi * np.arange(1, 4) / 256)) ** 6
    assert np.allclose(found.variances[[0, 2, 4]] / found.variances[0], rates[0] / rates, rtol=1e-6)
    line = waves(256, 3, False).vectors
    assert np.allclose(line.T @ line, np.eye(255), atol=1e-8)
    assert np.abs(np.diff(line[:, :2], n=3, axis=0)).max() < 1e-9  # a slope and a parabola


def test_fast_waves_of_slight_noise_are_left_out_and_hardly_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = waves(64, 2, False)
    slight, strong = Walk(2, 0.3, 0.0, 0.0), Walk(2, 1.0, 0.0, 0.0)
    monkeypatch.setattr("sottovoce.estimate.distribution.bayes.walks.FEWEST", 24)
    assert len(slight.deviations(basis, 0.5)) == 24 and len(strong.deviations(basis, 0.5)) == 63
    rough = slight.deviations(basis, 50.0)  # a walk that moves along faster waves too
    assert 24 < len(rough) <= 63 and np.isclose(rough[-1] ** 2, 2500 * basis.variances[len(rough) - 1] + 0.09)
    evidence, _ = evidence_of(wave(buckets=64), two_hills(64), 50_000, 12)
    posterior = Posterior(condensed(evidence.likelihood(), np.ones(64)), False)
    few = posterior.mode(slight, 1.0, np.zeros(64), -np.inf)
    monkeypatch.setattr("sottovoce.estimate.distribution.bayes.walks.FEWEST", 64)
    every = posterior.mode(slight, 1.0, np.zeros(64), -np.inf)
    assert abs(few.evidence - every.evidence) < 0.3
    assert np.abs(np.cumsum(few.shares - every.shares)).mean() < 4e-4


@pytest.mark.parametrize("bend", BENDS)
def test_bends_are_undone_and_their_slopes_are_right(bend: float) -> None:
    family = Walk(1, 0.3, bend, 0.0)
    walk = np.random.default_rng(2).uniform(-2, 2, 40)
    walk -= walk.mean()
    logs, slope = family.bent(walk)
    assert np.allclose(family.straightened(logs + 7), walk, atol=1e-6)
    assert np.allclose((family.bent(walk + 1e-6)[0] - family.bent(walk - 1e-6)[0]) / 2e-6, slope, rtol=1e-5)
    if bend > 0:  # beyond its tangent a bend is straight
        far = np.array([4.5, 5.5, 6.5]) / bend
        assert np.ptp(np.diff(family.bent(far)[0])) < 1e-9 and np.ptp(family.bent(far)[1]) == 0


# --- the posterior --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("family", WALKS, ids=str)
def test_gradient_and_curvature_are_those_of_the_posterior(family: Walk) -> None:
    given = small()
    posterior = Posterior(given, False)
    directions, _ = posterior.along(family, 0.5, np.zeros(12))
    place = np.random.default_rng(3).normal(0, 0.5, directions.shape[1])
    here = posterior.at(family, directions, place)
    # Where counts are as expected, steps of Gauss and Newton use the exact second derivatives.
    expected = Posterior(given._replace(counts=1e4 * here.outputs), False)
    for one in (posterior, expected):
        here = one.at(family, directions, place)
        gradient, factor = one.bowl(here, directions, place)

        def slope(step: np.ndarray, one: Posterior = one) -> np.ndarray:
            return one.bowl(one.at(family, directions, place + step), directions, place + step)[0]

        for index in (0, 3, len(place) - 1):
            step = 1e-5 * np.eye(len(place))[index]
            up, down = (one.at(family, directions, place + sign * step).value for sign in (1, -1))
            assert np.isclose((up - down) / 2e-5, gradient[index], rtol=1e-4, atol=1e-2)
            if one is expected:
                second = (slope(-step) - slope(step)) / 2e-5
                assert np.allclose(second, (factor @ factor.T)[index], rtol=1e-4, atol=1e-2 * np.abs(second).max())


def test_evidence_is_the_integral_over_the_prior() -> None:
    """With two buckets the walk has one direction, and the integral is a number."""
    law = np.array([[0.7, 0.35], [0.3, 0.65]])
    for counts in ([600.0, 400.0], [520.0, 480.0], [400.0, 600.0]):
        given = Condensed(law, np.array(counts), np.arange(2), np.ones(2))
        for family in (Walk(1, 0.3, 0.0, 0.0), Walk(1, 0.3, -0.8, 2.0), Walk(1, 0.3, 0.3, 0.0)):
            posterior = Posterior(given, False)
            directions, _ = posterior.along(family, 1.0, np.zeros(2))
            mode = posterior.mode(family, 1.0, np.zeros(2), -np.inf)

            def height(z: float, mode: float = mode.evidence, directions: np.ndarray = directions) -> float:
                return float(np.exp(posterior.at(family, directions, np.array([z])).value - mode))  # noqa: B023

            whole = scipy.integrate.quad(height, -12, 12, limit=400)[0] / np.sqrt(2 * np.pi)
            assert abs(np.log(whole) - family.penalty) < 0.1


@pytest.mark.parametrize("family", FEW_WALKS, ids=str)
def test_no_walk_near_a_mode_is_more_likely(family: Walk) -> None:
    posterior = Posterior(small(), False)
    mode = posterior.mode(family, 1.0, np.zeros(12), -np.inf)
    assert np.isfinite(mode.evidence) and np.isclose(mode.shares.sum(), 1)
    directions, place = posterior.along(family, 1.0, mode.walk)
    best = posterior.at(family, directions, place).value
    rng = np.random.default_rng(5)
    for length in (0.01, 0.1, 1.0):
        for _ in range(20):
            step = rng.normal(0, length, len(place))
            assert posterior.at(family, directions, place + step).value < best + NEAR


# --- a likelihood of moderate size ----------------------------------------------------------------------------------
def test_outputs_are_put_together_where_that_loses_little() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=64)
    law = law_of(method)
    counts = np.arange(len(law), dtype=np.float64)
    given = condensed(Dense(law, counts), np.ones(64))
    assert len(given.law) < len(law) / 8 and np.allclose(given.law.sum(axis=0), 1)
    assert given.counts.sum() == counts.sum()
    assert _information(law) * (1 - LOSS) <= _information(given.law) <= _information(law) * (1 + 1e-9)
    # Rows that are no whole law of a report stay apart.
    twice = condensed(Dense(np.concatenate([law, law]), np.concatenate([counts, counts])), np.ones(64))
    assert len(twice.law) == 2 * np.count_nonzero(counts)


def test_many_buckets_are_put_together_and_spread_again() -> None:
    law = np.random.default_rng(6).dirichlet(np.ones(40), 1000).T
    widths = np.random.default_rng(7).uniform(1, 2, 1000)
    given = condensed(Dense(law, np.ones(40)), widths)
    shares = np.random.default_rng(8).dirichlet(np.ones(256))
    spread = given.spread(shares, widths)
    assert given.law.shape[1] == 256 and np.isclose(spread.sum(), 1) and np.allclose(law @ spread, given.law @ shares)
    assert np.allclose(np.add.reduceat(spread, given.first), shares)


@pytest.mark.parametrize("buckets", [300, 1000, 4096])
def test_parts_are_small_where_mass_is(buckets: int) -> None:
    shares = np.full(buckets, 0.2 / buckets)
    spikes = [3, buckets // 2, buckets - 1]
    shares[spikes] += 0.8 / 3
    first = split_where_mass_is(shares)
    assert len(first) == 256 and first[0] == 0 and (np.diff(first) > 0).all() and first[-1] < buckets
    sizes = np.diff(np.append(first, buckets))
    alone = first[sizes == 1]
    assert {*spikes} <= {*alone.tolist()} and sizes.max() <= -(-buckets // 64)


def test_one_matrix_of_information_is_near_enough_to_all_explanations(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, sample = evidence_of(wave(buckets=48), np.exp(-(np.linspace(-2, 3, 48) ** 2)), 50_000, 9)
    exact = sv.decoder("bayes").decode(evidence).values
    monkeypatch.setattr(modes, "MANY_ROWS", 0)
    near = sv.decoder("bayes").decode(evidence).values
    assert np.abs(np.cumsum(near - exact)).max() < 0.1 * np.abs(np.cumsum(exact - sample)).max()


@pytest.mark.slow
def test_spikes_among_a_thousand_buckets_keep_their_bucket() -> None:
    method = sv.mechanism("coded-wave", sv.Integers(0, 1023), epsilon=2, buckets=1024, workload="ranges")
    truth = np.full(1024, 0.2 / 1024)
    spikes = np.array([101, 350, 351, 900])
    truth[spikes] += 0.2
    n = 200_000
    rates = from_cells(method, 0, np.zeros(4096, np.int64)).transition.forward(truth)
    cells = np.random.default_rng(4).multinomial(n, rates / rates.sum())
    found = sv.decoder("bayes").decode(from_cells(method, n, cells)).values
    assert np.abs(found[spikes] - truth[spikes]).max() < 0.03
    assert np.abs(np.cumsum(found - truth)).max() < 0.02


# --- the decoder ----------------------------------------------------------------------------------------------------
def test_the_same_tally_gives_the_same_shares() -> None:
    evidence, _ = evidence_of(wave(), np.exp(-(np.linspace(-2, 3, 32) ** 2)), 20_000, 1)
    first, again = (sv.decoder("bayes").decode(evidence) for _ in range(2))
    assert np.array_equal(first.values, again.values) and first.fit == again.fit
    assert first.values.min() >= 0 and np.isclose(first.values.sum(), 1)
    assert first.fit is not None and 0 < first.fit.gap < 0.1


def test_mirrored_reports_give_mirrored_shares() -> None:
    """No round number lies on an edge inside, which belongs to the bucket on its right."""
    method = wave(buckets=31, domain=sv.Interval(-1, 1))
    evidence, _ = evidence_of(method, np.exp(-(np.linspace(-2, 3, 31) ** 2)), 20_000, 2)
    mirrored = from_cells(method, evidence.n, evidence.cells[::-1].copy())
    one, two = (sv.decoder("bayes").decode(each).values for each in (evidence, mirrored))
    # Searches start at other places, and end where a step would gain less than NEAR.
    assert np.abs(np.cumsum(one - two[::-1])).max() < 2e-3 < np.abs(np.cumsum(one - two)).max()


def test_a_circle_has_no_seam() -> None:
    method = wave(buckets=30, domain=sv.Circle(24))
    hours = np.arange(30)
    truth = np.exp(3 * np.cos(2 * np.pi * (hours - 1) / 30))
    evidence, _ = evidence_of(method, truth, 20_000, 3)
    turned = from_cells(method, evidence.n, np.roll(evidence.cells, 11))
    one, two = (sv.decoder("bayes").decode(each).values for each in (evidence, turned))
    assert np.abs(np.cumsum(np.roll(one, 11) - two)).max() < 2e-3


def test_values_come_with_the_intervals_of_the_unbiased_ones() -> None:
    evidence, _ = evidence_of(wave(buckets=16), np.ones(16), 20_000, 4)
    method = evidence.counted.mechanism  # type: ignore[union-attr]
    tally = sv.Tally(method, evidence.n, evidence.cells)
    plain, found = method.estimate(tally), method.estimate(tally, decoder="bayes")
    assert np.array_equal(found.std_errors, plain.std_errors) and found.quality.endswith("(bayes)")
    low, high = plain.ci()
    inside = found.ci()
    assert (inside.low <= np.clip(low, 0, 1) + 1e-12).all() and (inside.high >= np.clip(high, 0, 1) - 1e-12).all()
    assert found.decoder.spec() == {"name": "bayes", "fast": False}
    assert np.array_equal(plain.curve().values, found.values)
    assert found.curve() is found
    axes = plain.plot()
    assert np.allclose(axes.lines[0].get_ydata()[1:], np.cumsum(found.values)) and "curve by bayes" in axes.get_title()


def test_other_laws_have_a_likelihood_too() -> None:
    numbers = sv.Integers(0, 19)
    method = sv.mechanism("grr", numbers, epsilon=1)
    values = np.random.default_rng(9).binomial(19, 0.4, 30_000)
    tally = method.tally(method.privatize(values, seed=1))
    truth = np.bincount(values, minlength=20) / len(values)
    found = method.estimate(tally, question=sv.Distribution(numbers), decoder="bayes")
    plain = method.estimate(tally, question=sv.Distribution(numbers))
    assert np.abs(np.cumsum(found.values - truth)).mean() < np.abs(np.cumsum(plain.values - truth)).mean()
    with pytest.raises(sv.ParameterError, match="needs"):
        method.estimate(tally, decoder="bayes")
    with pytest.raises(sv.ParameterError, match="true or false"):
        sv.decoder("bayes", fast=1)


def test_two_tallies_say_more_than_one() -> None:
    truth = np.exp(-(np.linspace(-3, 3, 24) ** 2))
    both = [evidence_of(wave(epsilon, 24), truth, 5_000, 5) for epsilon in (0.5, 4.0)]
    laws = np.concatenate([one.transition.matrix for one, _ in both])
    cells = np.concatenate([one.cells for one, _ in both]).astype(np.float64)
    together = smooth(condensed(Dense(laws, cells), np.ones(24)), False, FEW_WALKS).shares
    first = sv.decoder("bayes", fast=True).decode(both[0][0]).values
    errors = [np.abs(np.cumsum(shares - truth / truth.sum())).mean() for shares in (together, first)]
    assert errors[0] < errors[1]


def test_em_stands_in_where_no_mode_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, _ = evidence_of(wave(buckets=16), np.ones(16), 5_000, 6)
    expected = sv.decoder("em").decode(evidence)
    with monkeypatch.context() as patch:
        patch.setattr(modes, "NEAR", -1.0)
        with pytest.warns(NotConvergedWarning, match=r"no mode was found.* decoder em"):
            found = sv.decoder("bayes").decode(evidence)
    assert np.array_equal(found.values, expected.values) and found.fit == expected.fit
    monkeypatch.setattr("sottovoce.estimate.distribution.bayes.condense.MAX_ENTRIES", 100)
    with pytest.warns(NotConvergedWarning, match="too large"):
        assert np.array_equal(sv.decoder("bayes").decode(evidence).values, expected.values)


# --- the distance from the truth ------------------------------------------------------------------------------------
def falling(buckets: int) -> np.ndarray:
    return np.exp(-np.arange(buckets) / 3) + 1e-3


def lone_spike(buckets: int) -> np.ndarray:
    truth = np.exp(-np.arange(buckets) / 6) + 1e-4
    truth[[0, buckets // 2]] += 3.0, 0.5
    return truth


def two_hills(buckets: int) -> np.ndarray:
    at = (np.arange(buckets) + 0.5) / buckets
    return np.exp(-(((at - 0.3) / 0.1) ** 2) / 2) + np.exp(-(((at - 0.7) / 0.12) ** 2) / 2)


def ripples(buckets: int) -> np.ndarray:
    return np.random.default_rng(0).gamma(40, 1 / 40, buckets)


@pytest.mark.slow
def test_it_is_closer_than_the_better_of_em_and_ems() -> None:
    """Distributions that no prior was chosen on; `sottovoce reproduce distribution-decoders` has real ones.

    A lone spike on an empty background is left to EM: every prior here smears it a little.
    """
    method = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=128)
    law, rng = law_of(method), np.random.default_rng(11)
    means = []
    for made in (falling, two_hills, ripples, lone_spike):
        truth = made(128) / made(128).sum()
        runs = []
        for _ in range(4):
            sample, cells = simulated(law, truth, rng, 50_000)
            runs.append(distances(from_cells(method, 50_000, cells), sample))
        means.append(np.mean(runs, axis=0))
    table = np.array(means)
    better = table[:, :2].min(axis=1)
    for column in (2, 3):  # bayes, and its fast form
        assert table[:3, column].mean() < 0.85 * better[:3].mean() and (table[:3, column] < 1.1 * better[:3]).all()
        assert table[3, column] < 1.4 * better[3]
    # EM and EMS each fail where the other is good.
    assert table[0, 1] > 2 * table[0, 0] and table[2, 0] > 1.3 * table[2, 1]


def test_small_matrices_are_computed_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several wait for each other; before and after, there are as many as ever."""
    seen: list[set[int]] = []

    def threads() -> set[int]:
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    def counted(*given: Any) -> Smooth:
        seen.append(threads())
        return smooth(*given)

    monkeypatch.setattr("sottovoce.estimate.decoders.bayes.smooth", counted)
    m = wave(buckets=8)
    before = threads()
    m.estimate(m.tally(m.privatize([0.2, 0.7] * 50, seed=1)), decoder="bayes")
    assert seen == [{1}]
    assert threads() == before


def test_ways_to_put_buckets_together_are_averaged_by_their_evidence() -> None:
    """By hand: the second way has three times the evidence of the first; without any evidence there is no mean."""
    halves = Condensed(np.ones((1, 2)), np.ones(1), np.array([0, 2]), np.array([2.0, 2.0]))
    uneven = Condensed(np.ones((1, 2)), np.ones(1), np.array([0, 1]), np.array([1.0, 3.0]))
    first, second = Smooth(np.array([0.8, 0.2]), 1, 0.0, -5.0), Smooth(np.array([0.4, 0.6]), 1, 0.0, -5.0 + np.log(3))
    found = _together([(halves, first), (uneven, second)], np.ones(4))
    assert found == pytest.approx([0.4, 0.25, 0.175, 0.175])
    assert _together([(halves, Smooth(None, 1))], np.ones(4)) is None


def test_equal_parts_have_the_rows_of_the_adaptive_ones() -> None:
    method = sv.mechanism("coded-wave", sv.Integers(0, 511), epsilon=2, buckets=512, workload="ranges")
    people = np.random.default_rng(1).binomial(511, 0.5, 2_000)
    evidence: Any = method.estimate(method.tally(method.privatize(people.tolist(), seed=1))).evidence
    mixture, widths = evidence.likelihood(), np.ones(512)
    given = condensed(mixture, widths)
    even = evenly(mixture, widths, given)
    assert even.first.tolist() == list(range(0, 512, 2)) and (even.sizes == 2).all()
    assert even.counts is given.counts and len(even.law) == len(given.law)
    whole = np.full(512, 1 / 512)
    assert even.law @ np.full(256, 1 / 256) == pytest.approx(given.read(mixture.apply(whole)))
