"""Budgets chosen by participants: unbiased, more precise than the best single budget, and honest about who chose."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.coins import SeededCoins
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.play import State
from sottovoce.protocols.shares.personal import PersonalBudgetShares
from sottovoce.protocols.simulate import play_round

DOMAIN = sv.Interval(0, 10)


def crowd(n: int, seed: int, dependent: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    choices = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    answers = rng.uniform(2, 6, n) + (2.0 * choices if dependent else 0)
    return np.clip(answers, 0, 10), choices


def test_the_weights_are_participants_over_variance() -> None:
    protocol = PersonalBudgetMean(DOMAIN, [0.5, 1, 4], method="piecewise")
    answers, choices = crowd(6000, 1)
    found = sv.simulate(protocol, answers, seed=1, choices=choices)
    arms = protocol.start().arms
    even = sv.Prior.uniform(0, 10)
    expected = np.bincount(choices) / [arm.mechanism.average_variance(even) + even.variance for arm in arms]
    assert found["mean"].evidence.weights == pytest.approx(expected / expected.sum())
    assert found["everyone"].evidence.weights == pytest.approx(np.bincount(choices) / 6000)
    parts = [found[arm.name].value for arm in arms]
    assert found["mean"].value == pytest.approx(np.dot(found["mean"].evidence.weights, parts))
    assert found["mean"].std_errors[0] < 1.1 * min(found[arm.name].std_errors[0] for arm in arms)
    assert found["mean"].n == 6000 and found["mean"].epsilon == pytest.approx(4)


@pytest.mark.parametrize(
    "method",
    [pytest.param("bernoulli", marks=pytest.mark.slow), pytest.param("designed", marks=pytest.mark.long)],
)
def test_the_interval_of_the_combined_mean_covers(method: str) -> None:
    """300 runs: a true coverage of 95 % leaves [90, 99] % with probability below 1e-6."""
    protocol = PersonalBudgetMean(DOMAIN, ["0.5", "1", "4"], method=method)
    hits = {"mean": 0, "everyone": 0}
    for run in range(300):
        answers, choices = crowd(3000, run)
        found = sv.simulate(protocol, answers, seed=run, choices=choices)
        for name in hits:
            low, high = found[name].quiet_ci(0.95)
            hits[name] += low[0] <= 4 <= high[0]
    for count in hits.values():
        assert 0.88 * 300 <= count <= 299


def test_where_the_choice_tells_only_everyone_is_right_and_the_difference_is_seen() -> None:
    protocol = PersonalBudgetMean(DOMAIN, [1, 2, 4], method="piecewise")
    answers, choices = crowd(40_000, 3, dependent=True)
    found = sv.simulate(protocol, answers, seed=3, choices=choices)
    low, high = found["everyone"].ci(1 - 1e-6, target="sample")
    assert low[0] <= answers.mean() <= high[0]
    assert found["mean"].evidence.heterogeneity < 1e-6
    answers, choices = crowd(40_000, 3)
    assert sv.simulate(protocol, answers, seed=3, choices=choices)["mean"].evidence.heterogeneity > 1e-6


def test_a_history_is_saved_and_gone_on_with() -> None:
    protocol = PersonalBudgetMean(DOMAIN, [1, 2])
    answers, choices = crowd(500, 4)
    tallies = play_round(protocol.start(), answers, seed=4, choices=choices % 2)
    again = resume(checkpoint(State.first(protocol).after(tallies)))
    assert again.estimates["mean"].value == protocol.advance([tallies])["mean"].value


def test_hoeffding_is_wider_and_two_sided() -> None:
    protocol = PersonalBudgetMean(DOMAIN, [1, 2], method="bernoulli")
    answers, choices = crowd(500, 5)
    found = sv.simulate(protocol, answers, seed=5, choices=choices % 2)["mean"]
    low, high = found.quiet_ci(0.95, method="hoeffding")
    left, right = found.quiet_ci(0.95)
    assert low[0] < left[0] < right[0] < high[0]
    assert (low + high)[0] / 2 == pytest.approx(found.value)


def test_bad_input_gets_one_sentence() -> None:
    protocol = PersonalBudgetMean(DOMAIN, [1, 2])
    with pytest.raises(sv.ParameterError, match="choices"):
        sv.simulate(protocol, [1.0, 2.0], seed=1)
    with pytest.raises(sv.ParameterError, match="from 0 to 1"):
        sv.simulate(protocol, [1.0, 2.0], seed=1, choices=[0, 2])
    with pytest.raises(sv.ParameterError, match="choose their arm"):
        protocol.start().assign(SeededCoins(1))
    with pytest.raises(sv.ParameterError, match="at least one budget"):
        PersonalBudgetMean(DOMAIN, [])
    with pytest.raises(sv.ParameterError, match="method"):
        PersonalBudgetMean(DOMAIN, [1], method="grr")


def test_the_combined_mean_is_not_less_precise_than_everyone() -> None:
    """With large budgets sampling is most of the error, and noise alone would weigh the larger budget too much."""
    protocol = PersonalBudgetMean(sv.Interval(-1, 1), ["4", "8"], method="pm-sub")
    rng = np.random.default_rng(0)
    found = sv.simulate(protocol, rng.uniform(-1, 1, 4000), seed=1, choices=rng.integers(0, 2, 4000))
    assert found["mean"].std_errors[0] <= found["everyone"].std_errors[0] * 1.01


def test_where_no_noise_is_seen_the_budgets_agree_or_not() -> None:
    protocol = PersonalBudgetMean(sv.Integers(0, 1), ["8", "16"], method="bernoulli")
    same = sv.simulate(protocol, [1] * 20, seed=1, choices=[0, 1] * 10)
    assert same["mean"].evidence.heterogeneity in (0.0, 1.0)


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_estimates_that_assume_independent_choices_say_so() -> None:
    """By design: reports show a choice that depends on the answer in few runs only, and then intervals miss."""
    for protocol, name, answers in (
        (PersonalBudgetMean(DOMAIN, [1, 2], method="bernoulli"), "mean", [3.0] * 4000),
        (PersonalBudgetShares(sv.Integers(0, 3), [1, 2]), "shares", [0, 1, 2, 3] * 1000),
    ):
        found = sv.simulate(protocol, answers, seed=5, choices=[0, 1] * 2000)
        for one in (found[name], found[name].project("range" if name == "mean" else "simplex")):
            assert "estimate named everyone holds for any choices" in (one.doubt() or "")
        with pytest.warns(sv.PoorIntervalWarning, match="the choice has nothing to do with the answer"):
            found[name].ci()
        assert found["everyone"].doubt() is None and "everyone" in found[name].explain()


# --- shares ----------------------------------------------------------------------------------------------------------
FOUR = sv.Integers(0, 3)


def shares_crowd(n: int, seed: int, dependent: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    choices = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    answers = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    return (np.where(choices == 2, 3, answers) if dependent else answers), choices


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
@pytest.mark.parametrize("method", ["subset", "hadamard"])
def test_shares_of_chosen_budgets_are_weighted_by_their_laws(method: str) -> None:
    protocol = PersonalBudgetShares(FOUR, [0.5, 1, 4], method=method)
    answers, choices = shares_crowd(6000, 1)
    found = sv.simulate(protocol, answers, seed=1, choices=choices)
    arms = protocol.start().arms
    n = np.bincount(choices)
    laws = [arm.mechanism.variance(np.full(4, 0.25), 1).mean() for arm in arms]
    precision = n / laws
    assert found["shares"].evidence.weights[:, 0] == pytest.approx(precision / np.sum(precision), abs=0.03)
    assert found["everyone"].evidence.weights[:, 0] == pytest.approx(n / 6000)
    assert found["shares"].epsilon == pytest.approx(4) and protocol.epsilon == 4
    assert (found["shares"].std_errors < 1.02 * found["epsilon 4"].std_errors).all()
    for name in ("shares", "everyone"):
        low, high = found[name].ci(0.999)
        assert ((low <= [0.4, 0.3, 0.2, 0.1]) & (high >= [0.4, 0.3, 0.2, 0.1])).all()
    assert found["shares"].evidence.heterogeneity > 1e-6


def test_where_the_budget_depends_on_the_answer_only_everyone_is_right() -> None:
    protocol = PersonalBudgetShares(FOUR, [1, 2, 4])
    answers, choices = shares_crowd(40_000, 3, dependent=True)
    found = sv.simulate(protocol, answers, seed=3, choices=choices)
    truth = np.bincount(answers, minlength=4) / len(answers)
    low, high = found["everyone"].ci(0.999, target="sample")
    assert ((low <= truth) & (truth <= high)).all()
    low, high = found["shares"].quiet_ci(0.999)
    assert not low[3] <= truth[3] <= high[3]
    assert found["shares"].evidence.heterogeneity < 1e-6


def test_personal_shares_are_saved_and_bad_ones_refused() -> None:
    protocol = PersonalBudgetShares(FOUR, [1, 2])
    answers, choices = shares_crowd(500, 4)
    tallies = play_round(protocol.start(), answers, seed=4, choices=choices % 2)
    again = resume(checkpoint(State.first(protocol).after(tallies)))
    assert np.array_equal(again.estimates["shares"].values, protocol.advance([tallies])["shares"].values)
    for wrong in ({"epsilons": []}, {"epsilons": [1], "method": "laplace"}):
        with pytest.raises(sv.ParameterError):
            PersonalBudgetShares(FOUR, **wrong)
