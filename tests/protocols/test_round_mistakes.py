"""What an independent look at the intervals and plans of rounds, ranges and vectors found, so that it stays found."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.core.round import Round
from sottovoce.estimate.request import IntervalRequest
from sottovoce.estimate.vector_mean.evidence import from_cells
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.ranges.clamped import ClampedMeanRound
from sottovoce.protocols.ranges.results import range_estimates
from sottovoce.study.planners.vector_mean import mean_coordinate_variance
from sottovoce.tally.laws import law_at
from sottovoce.tally.tally import Tally

WIDE = sv.Interval(0, 10**6)


def _report_law(mechanism: sv.Mechanism, answers: list[float], shares: list[float]) -> np.ndarray:
    rows = np.array([law_at(mechanism.channel, mechanism.domain.encode(answer)) for answer in answers])
    mixed = np.asarray(shares) @ rows
    return np.asarray(mixed / mixed.sum())


def _last_rounds(epsilon: int, participants: int, rare: float, runs: int) -> tuple[list[dict], float]:
    """Last rounds of a search that has found [0, 10], with few answers far above it; and the true mean."""
    left = participants - sv.RangeSearchMean(WIDE, epsilon, participants).opening.searchers
    last = ClampedMeanRound(WIDE, epsilon, 0, 10, left).start()
    answers, shares = [2.0, 8.0, 9e5], [(1 - rare) / 2, (1 - rare) / 2, rare]
    laws = [_report_law(arm.mechanism, answers, shares) for arm in last.arms]
    weights = np.array([arm.weight for arm in last.arms]) / last.weight
    rng = np.random.default_rng(20_250_711)
    results = []
    for _ in range(runs):
        people = rng.multinomial(int(0.8 * participants), weights)
        tallies = [
            Tally(arm.mechanism, int(n), rng.multinomial(n, law))
            for arm, n, law in zip(last.arms, people, laws, strict=True)
        ]
        results.append(dict(range_estimates(WIDE, tallies, participants - int(people.sum()))))
    return results, float(np.dot(answers, shares))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "participants", "rare"), [(8, 3000, 0.01), (8, 20_000, 0.001), (4, 3000, 0.001)])
def test_the_interval_of_the_mean_counts_tails_that_nobody_has_reported(
    epsilon: int, participants: int, rare: float
) -> None:
    """Normal limits of the bits about the tails covered 41 %, 43 % and 70 % here: no bit, no variance, no width.

    At 95 % coverage fewer than 130 of 150 have a probability below 1e-5; seeded.
    """
    results, mean = _last_rounds(epsilon, participants, rare, 150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the cautious interval needs no warning
        for target in ("population", "sample"):
            ends = [result["mean"].ci(target=target) for result in results]
            assert sum(low[0] <= mean <= high[0] for low, high in ends) >= 130


def test_the_warning_of_a_corrected_mean_names_an_interval_that_exists() -> None:
    results, _ = _last_rounds(8, 3000, 0.001, 1)
    for name in ("corrected", "clipping"):
        with pytest.warns(sv.PoorIntervalWarning, match="The interval of the result named mean holds"):
            results[0][name].ci()


@pytest.mark.slow
def test_shares_beyond_a_range_have_a_covariance() -> None:
    answers = np.random.default_rng(1).normal(0, 1, 4000)
    range_ = sv.simulate(sv.RangeSearchMean(sv.Interval(-1000, 1000), 2, 4000), answers, seed=3)["range"]
    assert len(range_.values) == 2
    for target in ("population", "sample"):
        assert np.array_equal(range_.covariance(target=target), np.diag(range_.evidence.variances(target)))


def test_a_range_that_cuts_nothing_has_empty_intervals() -> None:
    answers = np.random.default_rng(0).uniform(0, 1, 3000)
    range_ = sv.simulate(sv.RangeSearchMean(sv.Interval(0, 1), 4, 3000), answers, seed=1)["range"]
    assert len(range_.values) == 0
    assert [len(end) for end in range_.ci(simultaneous=True)] == [0, 0]


# --- plans -----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_error_of_the_sequential_variance_counts_that_the_centre_is_missed() -> None:
    """Taking the centre for the mean itself promised 9 to 18 % less error than there is.

    1500 runs know the error to 1.8 %, so 8 % is more than four of its standard errors; seeded.
    """
    protocol = sv.VarianceRounds(sv.Interval(-1, 1), 1, method="sequential", mechanism="bernoulli", first=131)
    n, runs, rng = 300, 1500, np.random.default_rng(20_250_712)
    promised = protocol.predicted_error(n, sv.Prior([-1.0, 1.0], [0.5, 0.5]))
    number = protocol.start().arms[0].mechanism
    law = {}
    errors = []
    for _ in range(runs):
        first = Tally(number, 131, rng.multinomial(131, _report_law(number, [-1.0, 1.0], [0.5, 0.5])))
        following = protocol.advance(((first,),))
        assert isinstance(following, Round)
        square = following.arms[0].mechanism
        if square not in law:
            law[square] = _report_law(square, [-1.0, 1.0], [0.5, 0.5])
        second = Tally(square, n - 131, rng.multinomial(n - 131, law[square]))
        estimates = protocol.advance(((first,), (second,)))
        assert not isinstance(estimates, Round)
        errors.append(estimates["variance"].value - 1)
    assert 0.9 < np.sqrt(np.mean(np.square(errors))) / promised < 1.08


@pytest.mark.slow
@pytest.mark.parametrize("name", ["priv-unit", "duchi-l2"])
def test_the_plan_of_a_ball_counts_the_spread_of_directions(name: str) -> None:
    """Without it the error at epsilon 6 in 8 dimensions was 1.37 times what priv-unit was promised.

    400 runs of 8 coordinates know the error to 1.3 %; seeded.
    """
    domain = sv.Ball(3, 8)
    mechanism = sv.mechanism(name, domain, epsilon=6)
    rng = np.random.default_rng(20_250_713)
    vectors = rng.normal(size=(20_000, 8))
    vectors *= 3 * (1 - 1e-9) / np.linalg.norm(vectors, axis=1, keepdims=True)
    errors = []
    for run, part in enumerate(np.split(vectors, 400)):
        errors.append(mechanism.estimate(mechanism.tally(mechanism.privatize(part, seed=run))).values)
    measured = np.mean(np.square(errors))
    assert measured == pytest.approx(mean_coordinate_variance(mechanism, None, 50), rel=0.12)


# --- few reports -----------------------------------------------------------------------------------
@pytest.mark.slow
def test_intervals_for_many_coordinates_know_how_few_reports_speak_of_each() -> None:
    """With normal quantiles 100 coordinates of about 50 bits each were all inside in 84 % of 1000 runs.

    At 95 % the share of 1000 runs has a standard error of 0.7 %; seeded.
    """
    mechanism = sv.mechanism("split-n", sv.Box(-1, 1, 100), epsilon=1, inner="bernoulli")
    law = _report_law(sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=1), [-1.0, 1.0], [0.5, 0.5])
    rng, n = np.random.default_rng(20_250_714), 5000
    inside = 0
    for _ in range(1000):
        reports = rng.multinomial(n, np.full(100, 1 / 100))
        cells = rng.multinomial(reports, law)
        low, high = from_cells(mechanism, n, cells.ravel()).interval(IntervalRequest(1 - 0.05 / 100, "normal"))
        inside += bool(((low <= 0) & (high >= 0)).all())
    assert 0.92 < inside / 1000 < 0.985


@pytest.mark.parametrize("epsilon", [1, 2, 4, 8])
@pytest.mark.parametrize("rounds", [1, 2])
def test_no_scale_is_left_without_reports(rounds: int, epsilon: int) -> None:
    """With five reports expected at each of ten scales, one in ten means was looked for at a wrong place."""
    protocol = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), 1, epsilon, 2000, rounds=rounds)
    start = protocol.start()
    asked = start.quota or 2000
    scales = [arm.weight / start.weight for arm in start.arms if arm.name.startswith("scale")]
    assert len(scales) == 10
    assert sum((1 - share) ** asked for share in scales) < 1e-5


# --- whole numbers that all have a point of the grid ---------------------------------------------------------------
@pytest.mark.parametrize("domain", [sv.Integers(0, 1), sv.Integers(10**6, 10**6 + 5)], ids=repr)
def test_the_noise_of_whole_numbers_counts_no_rounding(domain: sv.Integers) -> None:
    """Nobody holds a number between two of them; for the sample that made standard errors up to 16 times too large."""
    mechanism = sv.mechanism("designed", domain, epsilon=8)
    answers = np.random.default_rng(3).integers(domain.low, domain.high + 1, 40_000)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=3)))
    truth = mechanism.variance(sv.Prior.of(answers), len(answers), target="sample") ** 0.5
    assert 0.97 * truth <= estimate.evidence.variances("sample")[0] ** 0.5 <= 1.3 * truth
    box = sv.Record({"a": domain, "b": domain})
    both = sv.mechanism("split-epsilon", box, epsilon=16)
    frame = pd.DataFrame({"a": answers, "b": answers})
    found = both.estimate(both.tally(both.privatize(frame, seed=4)))
    assert (np.abs(found.values - answers.mean()) <= 6 * np.sqrt(found.evidence.variances("sample"))).all()


def test_a_table_of_vectors_is_simulated_like_an_array() -> None:
    box = sv.mechanism("split-n", sv.Box(0, 1, 2), epsilon=1, inner="bernoulli")
    rows = np.random.default_rng(1).random((300, 2))
    table = sv.simulate(AskEveryone(box), pd.DataFrame(rows), seed=1)["answer"]
    assert np.array_equal(table.values, sv.simulate(AskEveryone(box), rows, seed=1)["answer"].values)


def test_gaussian_digits_of_too_few_are_refused() -> None:
    wide = sv.Interval(-1000, 1000)
    for build in (
        lambda n: sv.GaussianMeanKnownSigma(wide, 1, 1, n, rounds=1),
        lambda n: sv.GaussianMeanUnknownSigma(wide, 1, 2, 1, n),
        lambda n: sv.GaussianMeanUnknownSigma(wide, 1, 2, 1, n, rounds=1),
    ):
        with pytest.raises(sv.ParameterError, match=r"needs at least \d+ participants"):
            build(100)
        assert build(20_000).participants == 20_000


def test_vectors_of_a_ball_warn_where_the_rare_side_of_the_cap_is_not_seen() -> None:
    mechanism = sv.mechanism("priv-unit", sv.Ball(1, 2), epsilon=8)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(np.tile([1.0, 0.0], (200, 1)), seed=1)))
    with pytest.warns(sv.PoorIntervalWarning):
        estimate.ci()
