"""The adaptive mean: never worse than one round, unbiased, covered, and plain about whether it adapted."""

from __future__ import annotations

import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import Then
from sottovoce.estimate.mean.noise import average_noise, noise_table
from sottovoce.estimate.mean.sequential import SequentialMeanEvidence, two_rounds
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.adaptive import LEAST_EPSILON, AdaptiveMeanRounds
from sottovoce.protocols.mean.belief import CAUTION, PLACES, STEPS, believed, needed_gain, spread
from sottovoce.protocols.play import replay
from sottovoce.protocols.simulate import play_round, rounds
from sottovoce.tally.laws import law_at, law_row
from sottovoce.testing.statistics import ALPHA
from sottovoce_experiments.coverage.adaptive import (
    RANGE,
    Run,
    SecondRounds,
    bias,
    coverages,
    drawn,
    error,
    first_rounds,
    hostile,
    laws,
    one_round_error,
    report_law,
)
from sottovoce_experiments.coverage.declared.rounds import ROUNDS_KINDS
from tests.each import for_each

DOCS = Path(__file__).resolve().parents[2] / "docs"
LAWS = {**laws(), **hostile()}


def narrow(n: int, seed: int) -> np.ndarray:
    """Hours of sleep: of the range from 0 to 14 only a small part is used."""
    return np.clip(np.random.default_rng(seed).normal(7, 0.8, n), 0, 14)


SLEEP = sv.Interval(0, 14)
QUICK = sv.AdaptiveMeanRounds(SLEEP, 3, 6000, inputs=17)


# --- two rounds -------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", ["designed", "grr"])
def test_it_runs_in_a_simulation_and_says_that_it_adapted(first: str, seed: int) -> None:
    answers = narrow(6000, seed)
    protocol = sv.AdaptiveMeanRounds(SLEEP, 3, 6000, first=first, inputs=17)
    found = sv.simulate(protocol, answers, seed=seed)
    mean = found["mean"]
    assert list(found) == ["mean", "first", "second"]
    assert (found["first"].n, found["second"].n) == (protocol.asked_first, 6000 - protocol.asked_first)
    assert isinstance(mean, sv.Estimate) and len(mean.sources) == 2 and mean.n == 6000
    (decision,) = mean.notes
    assert mean.explain().endswith(decision) and decision.startswith("Adapted: ")
    for target, truth in (("population", 7.0), ("sample", answers.mean())):
        for method in ("normal", "hoeffding"):
            low, high = mean.ci(1 - ALPHA, target=target, method=method)
            assert low[0] <= truth <= high[0], f"alarm with probability {ALPHA}"
    assert mean.epsilon <= 3 and mean.value == pytest.approx(answers.mean(), abs=0.5)


@pytest.mark.parametrize("domain", [sv.Integers(0, 9), sv.Integers(-40, 400), sv.Interval("0.1", "0.7")])
def test_any_domain_of_numbers_will_do(domain: Any, seed: int) -> None:
    low, high, origin = (float(end) for end in domain.numbers)
    answers = np.full(3000, low + origin + 0.75 * (high - low))
    answers = answers.astype(int) if isinstance(domain, sv.Integers) else answers
    inputs = None if domain.size == 10 else 9
    mean = sv.simulate(sv.AdaptiveMeanRounds(domain, 4, 3000, inputs=inputs), answers, seed=seed)["mean"]
    left, right = mean.ci(1 - ALPHA)
    assert mean.notes[0].startswith("Adapted: ") and left[0] <= answers[0] <= right[0], (
        f"alarm with probability {ALPHA}"
    )
    one = sv.mechanism("designed", domain, epsilon=4, inputs=inputs)
    assert mean.std_errors[0] < 0.9 * math.sqrt(one.variance(float(answers[0]), 3000))


def test_stopping_saving_and_going_on_changes_nothing(seed: int) -> None:
    answers = narrow(6000, seed)
    straight = sv.simulate(QUICK, answers, seed=seed)
    first = next(rounds(QUICK, answers, seed=seed))
    state = resume(checkpoint(first))
    assert state.protocol == QUICK and hash(state.protocol) == hash(QUICK)
    assert state.stage == QUICK.advance(first.history)
    again = sv.simulate(state.protocol, answers, seed=seed, state=state)
    for name, estimate in straight.items():
        assert again[name].sources == estimate.sources
        assert np.array_equal(again[name].values, estimate.values)
        assert np.array_equal(again[name].ci().low, estimate.ci().low)
    assert again["mean"].notes == straight["mean"].notes


def test_rounds_are_weighted_by_participants_over_predicted_variance(seed: int) -> None:
    answers = narrow(6000, seed)
    (first,) = play_round(QUICK.start(), answers[: QUICK.asked_first], seed=seed)
    found = QUICK.decision(first)
    (second,) = play_round(QUICK.advance([(first,)]), answers[QUICK.asked_first :], seed=seed + 1)
    result = QUICK.advance([(first,), (second,)])
    precision = np.array([tally.n / spread(tally.mechanism, found.belief) for tally in (first, second)])
    evidence = result["mean"].evidence
    assert isinstance(evidence, SequentialMeanEvidence)
    assert evidence.weights == pytest.approx(precision / precision.sum())
    values = [result["first"].value, result["second"].value]
    assert result["mean"].value == pytest.approx(np.dot(evidence.weights, values))
    errors = [result["first"].std_errors[0], result["second"].std_errors[0]]
    assert result["mean"].std_errors[0] == pytest.approx(math.hypot(*(evidence.weights * errors)))
    assert result["mean"].std_errors[0] < min(errors)
    assert 0 < evidence.heterogeneity <= 1


def test_given_round_one_the_second_is_exactly_unbiased(seed: int) -> None:
    (first,) = play_round(QUICK.start(), narrow(QUICK.asked_first, seed), seed=seed)
    chosen = QUICK.decision(first).mechanism
    assert chosen != QUICK.one_round()
    assert all(chosen.channel.moments(Fraction(code, 10))[0] == Fraction(code, 10) for code in range(0, 141, 35))
    assert chosen.epsilon <= 3
    assert sv.audit(chosen).ok


# --- one round --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("epsilon", "n", "because"), [("0.5", 50_000, "epsilon 0.5"), (2, 999, "999 participants")])
def test_where_adapting_cannot_pay_there_is_one_round_which_says_so(epsilon: Any, n: int, because: str) -> None:
    protocol = sv.AdaptiveMeanRounds(SLEEP, epsilon, n, inputs=9)
    assert protocol.start().quota is None and protocol.asked_first == n
    answers = np.full(n, 3.5)
    found = sv.simulate(protocol, answers, seed=1)
    (tallies,) = next(rounds(protocol, answers, seed=1)).history
    assert list(found) == ["mean"] and len(found["mean"].sources) == 1
    assert found["mean"].value == protocol.one_round().estimate(tallies[0]).value
    assert because in found["mean"].notes[0] and found["mean"].explain().endswith(found["mean"].notes[0])
    with pytest.raises(sv.ReportError):
        replay(protocol, (tallies, tallies))


@pytest.mark.parametrize(("epsilon", "n"), [(1, 4000), (3, 1000)])
def test_evenly_spread_answers_fall_back_to_what_one_round_would_have_given(epsilon: int, n: int) -> None:
    protocol = sv.AdaptiveMeanRounds(SLEEP, epsilon, n, inputs=9)
    answers = np.linspace(0, 14, n)
    found = sv.simulate(protocol, answers, seed=1)
    history = list(rounds(protocol, answers, seed=1))[-1].history
    ((first,), (second,)) = history
    assert first.mechanism == second.mechanism == protocol.one_round()
    assert found["mean"].notes[0].startswith("Fell back: ")
    assert found["mean"].value == protocol.one_round().estimate(first + second).value
    assert found["mean"].evidence.methods == found["first"].evidence.methods  # all intervals of one round


def test_a_promise_must_be_the_larger_the_fewer_made_it() -> None:
    assert needed_gain(100) > 0.08 > needed_gain(400) > 0.02 > needed_gain(2000) > needed_gain(100_000) > 0.005


@pytest.mark.slow
def test_below_the_least_epsilon_no_knowledge_of_the_answers_saves_more_than_the_sentence_says() -> None:
    """Least variance at each single point: no law can average below it, whatever is known of it."""
    usual = sv.mechanism("designed", RANGE, epsilon=LEAST_EPSILON)
    for point in np.linspace(0, 1, 9):
        known = sv.Prior([point], [1])
        best = sv.mechanism("designed", RANGE, epsilon=LEAST_EPSILON, objective="prior", prior=known)
        assert 0.02 < 1 - best.average_variance(known) / usual.average_variance(known) < 0.032


# --- the belief -------------------------------------------------------------------------------------
def test_the_belief_is_what_the_likelihood_steps_and_the_caution_say(seed: int) -> None:
    protocol = sv.AdaptiveMeanRounds(SLEEP, 2, 4000, inputs=9)
    mechanism = protocol.one_round()
    (tally,) = play_round(protocol.start(), narrow(500, seed), seed=seed)
    rows = np.array([law_row(mechanism.channel, point) for point in range(9)])
    shares = np.full(9, 1 / 9)
    for _ in range(STEPS):  # the textbook: each report is shared among its possible answers
        posterior = shares[:, None] * rows
        posterior = posterior / np.where(posterior.sum(axis=0) > 0, posterior.sum(axis=0), 1)
        shares = posterior @ tally.cells / tally.n
    even = np.array([1, *[2] * 7, 1]) / 16
    expected = (tally.n * shares + CAUTION * even) / (tally.n + CAUTION)
    belief = believed(tally, 9, between=True)
    assert belief.values == pytest.approx(np.linspace(0, 14, 9))
    assert belief.weights == pytest.approx(expected, abs=2 * 10.0**-PLACES)
    assert min(belief.weights) > 0
    assert belief.mean == pytest.approx(7, abs=0.5) and belief.variance < 6


def test_numbers_in_bins_are_believed_where_they_are(seed: int) -> None:
    """A square wave puts whole numbers of a wide range into bins; the belief has them on the grid of the design."""
    numbers = np.random.default_rng(seed).poisson(40_000, 4_000) + 1_000
    protocol = AdaptiveMeanRounds(sv.Integers(1_000, 101_000), 4, 4_000, first="square-wave")
    asked = protocol.start().arms[0].mechanism
    assert asked.domain.numbers is None
    belief = protocol.decision(asked.tally(asked.privatize(numbers, seed=seed))).belief
    assert belief.values[0] == 1_000 and belief.values[-1] == 101_000
    assert belief.mean == pytest.approx(41_000, rel=0.05)
    mean = sv.simulate(protocol, numbers, seed=seed)["mean"]
    assert mean.ci(0.9999).low[0] < numbers.mean() < mean.ci(0.9999).high[0]


def test_a_last_bit_does_not_change_the_design(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines may add up in another order; a share is rounded before the program sees it."""
    (tally,) = play_round(QUICK.start(), narrow(QUICK.asked_first, seed), seed=seed)
    before = QUICK.decision(tally).mechanism.fingerprint
    from sottovoce.protocols.mean import belief as adaptive_belief

    step = adaptive_belief.em_step
    monkeypatch.setattr(adaptive_belief, "em_step", lambda *given: step(*given) * (1 + 1e-15))
    assert QUICK.decision(tally).mechanism.fingerprint == before


# --- the combined mean ------------------------------------------------------------------------------
def test_the_mean_of_the_participants_also_has_the_chance_of_who_was_asked_first(seed: int) -> None:
    """Hardly any noise (epsilon 20) and weights unlike the shares: that chance is all there is."""
    mechanism = sv.mechanism("nprr", sv.Integers(0, 8), epsilon=20, k=8)
    rng = np.random.default_rng(seed)
    away, predicted = [], []
    for run in range(300):
        asked = rng.permutation(np.repeat([0, 8], 500))
        parts = [
            mechanism.estimate(sv.Tally(mechanism, len(part), np.bincount(part, minlength=9)))
            for part in np.split(asked, [300])
        ]
        found = two_rounds(parts[0], parts[1], (0.25, 1.0))
        away.append(found.value - 4)
        if run < 10:
            predicted.append(found.evidence.variances("sample")[0])
    # The variance of 300 normal numbers is known to 8 %; five times that is exceeded with probability below 1e-6.
    assert np.var(away) == pytest.approx(np.mean(predicted), rel=0.41)
    assert np.mean(predicted) < found.evidence.variances("population")[0]


@pytest.mark.parametrize(("domain", "inputs"), [(sv.Interval(0, 10), 17), (sv.Integers(0, 12), 13)])
def test_the_noise_is_bounded_at_every_answer_and_close_to_the_truth(domain: Any, inputs: int) -> None:
    """The function of a report whose mean bounds the noise has at least the exact variance as its mean, anywhere."""
    belief = sv.Prior([2.0, 3.0, 4.0], [1, 2, 1])
    mechanism = sv.mechanism("designed", domain, epsilon=4, objective="prior", prior=belief, inputs=inputs)
    law, table = report_law(mechanism, belief), noise_table(mechanism)
    assert table is not None
    half = float(domain.high - domain.low) / 2
    upper = table.upper(np.round(law * 50_000)) * half**2
    codes = range(13) if domain.size else [Fraction(code, 40) for code in range(401)]
    for code in codes:
        assert law_at(mechanism.channel, code) @ upper >= mechanism.variance(float(code)) * (1 - 1e-9)
    truth = mechanism.average_variance(belief)
    cells = np.round(law * 50_000).astype(np.int64)
    mean = mechanism.estimate(sv.Tally(mechanism, int(cells.sum()), cells))
    assert 0.999 * truth <= average_noise(mean.evidence) <= 1.25 * truth  # counts are rounded
    assert average_noise(mean.evidence) < 0.85 * mean.evidence.noise  # of two moments about the middle of the range
    alone = sv.mechanism("nprr", sv.Interval(0, 1), epsilon=1, k=4)
    few = alone.estimate(sv.Tally(alone, 3, np.array([1, 1, 1, 0, 0]))).evidence
    assert average_noise(few) == few.noise


def test_a_small_first_round_is_no_reason_to_warn(seed: int) -> None:
    """Its variance may be hardly known, but it weighs little; where it weighs much, a warning says so."""
    mechanism = sv.mechanism("bernoulli", RANGE, epsilon=1)
    few, many = (mechanism.estimate(sv.Tally(mechanism, n, np.array([n - 5, 5]))) for n in (10, 5000))
    rare = mechanism.estimate(sv.Tally(mechanism, 5000, np.array([2500, 2500])))
    assert few.evidence.warning() and many.evidence.warning() and not rare.evidence.warning()
    assert two_rounds(few, rare, (1.0, 1.0)).evidence.warning() is None
    said = two_rounds(few, rare, (0.001, 1.0)).evidence.warning()
    assert said is not None and "10 reports" in said and "Hoeffding interval holds" in said


def test_the_hoeffding_interval_is_the_wider_one_for_both_targets(seed: int) -> None:
    mean = sv.simulate(QUICK, narrow(6000, seed), seed=seed)["mean"]
    for target in ("population", "sample"):
        low, high = mean.ci(target=target)
        left, right = mean.ci(target=target, method="hoeffding")
        assert left[0] < low[0] < high[0] < right[0]
        assert (left + right)[0] / 2 == pytest.approx(mean.value)
    with pytest.raises(sv.ParameterError, match="method"):
        mean.ci(method="betting")
    assert mean.project("range").notes == mean.notes


# --- what is refused --------------------------------------------------------------------------------
@for_each(
    "given,said",
    [
        ({"domain": sv.Categories(["a", "b"])}, "domain of numbers"),
        ({"domain": None}, "domain of numbers"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"participants": 0}, "participants"),
        ({"participants": 1e4}, "participants"),
        ({"split": 0}, "split"),
        ({"split": 1}, "split"),
        ({"split": "0.00001"}, "split"),
        ({"split": True}, "split"),
        ({"first": "piecewise"}, "designed, grr"),
        ({"inputs": 1}, "inputs"),
    ],
)
def test_bad_input_gets_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said) as caught:
        sv.AdaptiveMeanRounds(**{"domain": SLEEP, "epsilon": 1, "participants": 10_000, **given})
    assert "\n" not in str(caught.value)


def test_answers_outside_and_foreign_tallies_are_refused() -> None:
    with pytest.raises(sv.DomainError):
        sv.simulate(QUICK, np.full(6000, 15.0), seed=1)
    other = sv.AdaptiveMeanRounds(SLEEP, 2, 6000, inputs=17)
    (first,) = play_round(QUICK.start(), narrow(1000, 1), seed=1)
    with pytest.raises(sv.ParameterError):
        replay(other, [(first,)])
    with pytest.raises(sv.MismatchError):
        QUICK.advance([(first,), (first,)])


def test_the_split_is_as_asked_or_falls_with_the_root_of_all() -> None:
    sizes = {n: sv.AdaptiveMeanRounds(SLEEP, 2, n).asked_first for n in (1000, 10_000, 100_000, 10_000_000)}
    assert sizes == {1000: 190, 10_000: 600, 100_000: 1897, 10_000_000: 18974}
    assert sv.AdaptiveMeanRounds(SLEEP, "0.75", 1000).asked_first == 250
    assert sv.AdaptiveMeanRounds(SLEEP, 1, 10_000, first="grr").asked_first == 400
    forced = sv.AdaptiveMeanRounds(SLEEP, "0.1", 500, split=0.2, inputs=9)
    assert forced.asked_first == forced.start().quota == 100 and forced.one_round_because is None


# --- measured ---------------------------------------------------------------------------------------
def test_reports_are_drawn_from_their_law() -> None:
    """The law that the measurements draw from, against the exact mean and variance."""
    mechanism = sv.mechanism("designed", RANGE, epsilon=4, inputs=9)
    assert isinstance(mechanism.channel, Then)
    for law in LAWS.values():
        report = report_law(mechanism, law)
        cells = np.round(report * 10**12).astype(np.int64)
        read = mechanism.estimate(sv.Tally(mechanism, int(cells.sum()), cells))
        assert read.value == pytest.approx(law.mean, abs=1e-6)
        assert read.std_errors[0] ** 2 * read.n == pytest.approx(spread(mechanism, law), rel=1e-5)


def test_the_error_is_that_of_the_weighted_sum() -> None:
    """With a fixed weight: w**2 V_1 + (1 - w)**2 V_2, whatever the first means were."""
    runs = [Run(True, away, 0.2, 4.0, 1.0) for away in (-3.0, 0.5, 7.0)]
    assert error(runs) == (pytest.approx(0.04 * 4 + 0.64), pytest.approx(0, abs=1e-12))
    assert bias(runs) == (pytest.approx(0), pytest.approx(0))
    moved = [Run(True, 1.0, 0.3, 4.0, 1.0), Run(True, -1.0, 0.1, 4.0, 1.0)]
    assert bias(moved)[0] == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_it_is_never_worse_than_one_round_by_more_than_five_percent(epsilon: int, n: int, seed: int) -> None:
    """In variance, and in each first round: given that, the variance is exact. The page has many more first rounds."""
    for name, law in LAWS.items():
        protocol = sv.AdaptiveMeanRounds(RANGE, epsilon, n)
        usual = one_round_error(protocol, law)
        for run in first_rounds(protocol, law, 1, np.random.default_rng([seed, n])):
            found = run.weight**2 * run.first + (1 - run.weight) ** 2 * run.second
            assert found <= 1.05 * usual, name
            if name in ("exponential", "all 1", "N(0, 0.1^2)"):
                assert found <= {1: 0.96, 2: 0.93, 4: 0.75}[epsilon] * usual, name


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 4])
def test_the_published_first_round_keeps_to_five_percent_too(epsilon: int, seed: int) -> None:
    """Randomized response is noisier than one round, so few are asked through it; nothing is gained here."""
    protocol = sv.AdaptiveMeanRounds(RANGE, epsilon, 10_000, first="grr")
    (run,) = first_rounds(protocol, LAWS["uniform"], 1, np.random.default_rng(seed))
    found = run.weight**2 * run.first + (1 - run.weight) ** 2 * run.second
    assert 1.01 < found / one_round_error(protocol, LAWS["uniform"]) < 1.05


@pytest.mark.slow
def test_the_weights_hardly_bias_the_mean(seed: int) -> None:
    """Skewed answers, where the first weight could move with the first mean."""
    protocol = sv.AdaptiveMeanRounds(RANGE, 4, 10_000, inputs=17)
    runs = list(first_rounds(protocol, LAWS["exponential"], 150, np.random.default_rng(seed)))
    (square, _), (off, uncertain) = error(runs), bias(runs)
    assert abs(off) + 3 * uncertain < 0.05 * math.sqrt(square)


@pytest.mark.parametrize("law", ["exponential", "uniform"])
def test_measured_intervals_are_the_shipped_ones(law: str, seed: int) -> None:
    """One by one, where the protocol adapted and where it fell back."""
    protocol = sv.AdaptiveMeanRounds(RANGE, 4, 2000, inputs=17)
    rng = np.random.default_rng(seed)
    mechanism = protocol.one_round()
    first = sv.Tally(mechanism, protocol.asked_first, drawn(mechanism, LAWS[law], protocol.asked_first, 1, rng)[0])
    found, later = protocol.decision(first), 2000 - protocol.asked_first
    assert found.adapted == (law == "exponential")
    cells = drawn(found.mechanism, LAWS[law], later, 3, rng)
    measured = SecondRounds(first, found, cells, later).intervals()
    for place, row in enumerate(cells):
        mean = protocol.together(first, sv.Tally(found.mechanism, later, row), found)
        for (method, target), (middle, half) in measured.items():
            low, high = mean.ci(method=method, target=target)
            exact = 1e-9 if (method, target) != ("normal", "sample") else 1e-3  # the bound on the noise is a table
            expected = (middle[place] - half[place], middle[place] + half[place])
            assert expected == pytest.approx((low[0], high[0]), abs=exact * half[place])


@pytest.mark.slow
@pytest.mark.parametrize(("law", "epsilon"), [("exponential", 4), ("Beta(0.5, 0.5)", 2)])
def test_intervals_cover(law: str, epsilon: int, seed: int) -> None:
    """Each of 20 first rounds has 100 second ones, and hardly any part of the error: coverage is known to about 1 %."""
    protocol = sv.AdaptiveMeanRounds(RANGE, epsilon, 10_000, inputs=17)
    hits, adapted = coverages(protocol, LAWS[law], firsts=20, seconds=100, rng=np.random.default_rng(seed))
    found = dict(zip(ROUNDS_KINDS, hits.mean(axis=0), strict=True))
    assert adapted == 1 if law == "exponential" else adapted < 0.5
    assert 0.92 <= found["normal", "population"] <= 0.98
    assert found["normal", "sample"] >= 0.92
    assert min(found["hoeffding", target] for target in ("population", "sample")) >= 0.95


# --- the page ---------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_page_shows_what_the_command_writes() -> None:
    """One-round columns are exact; adaptive ones are measured again in a few first rounds."""
    generator = runpy.run_path(str(DOCS.parent / "scripts" / "generate_adaptive.py"))
    text = (DOCS / "methods/adaptive-mean.md").read_text(encoding="utf-8")
    assert generator["MARK"] in text
    for n in (10_000, 100_000):
        section = text.split(f"### {n:,} participants\n")[1].split("\n#")[0]
        head, _, *lines = (line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|"))
        assert head[2:-3] == generator["one_round_names"]() and len(lines) == 9
        for law, epsilon, *cells in lines:
            numbers = [float(cell.strip("*")) for cell in cells]
            exact = {name: math.sqrt(one / n) for name, one in generator["one_round"](LAWS[law], epsilon).items()}
            assert numbers[:-3] == pytest.approx([1000 * one for one in exact.values()], rel=2e-3)
            assert numbers[-3] / min(numbers[:-3]) == pytest.approx(numbers[-2], abs=2e-3)
            assert numbers[-3] / 1000 / exact["designed"] == pytest.approx(numbers[-1], abs=2e-3)
            assert numbers[-1] <= 1.005 and numbers[-2] <= 1.01
            if epsilon == "4" and n == 10_000:
                again = math.sqrt(error(generator["measured"](law, epsilon, n, runs=4))[0])
                assert 1000 * again == pytest.approx(numbers[-3], rel=0.03)
    hostility = [line for line in text.split("## Laws that it may get wrong")[1].splitlines() if " % | " in line]
    assert len(hostility) == 30
    for line in hostility:
        *_, ratio, off = line.strip("| ").split(" | ")
        assert float(ratio) <= 1.025 and abs(float(off)) < 0.05
