"""Quantiles in rounds: the curve through all answers, where thresholds are placed, and intervals that hold."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.core.domain import Above
from sottovoce.core.round import Round
from sottovoce.estimate.evidence import Bounds
from sottovoce.protocols.play import State
from sottovoce.protocols.quantile.answers import ThresholdAnswers
from sottovoce.protocols.quantile.curve import ThresholdCurve
from sottovoce.protocols.quantile.ordered import likely_places, ratios
from sottovoce.protocols.quantile.placing import RoundSize, as_thresholds, next_places
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.protocols.quantile.sequence import _bets, gains, sequence
from sottovoce.protocols.simulate import rounds
from sottovoce.tally.tally import Tally
from sottovoce_experiments.quantiles.laws import QuantileLaw

UNIT = sv.Interval(0, 1)
RNG = np.random.default_rng(3)
SKEWED = np.round(RNG.beta(2, 6, 20_000), 6)


def expected_answers(below: dict[str, float], asked: int, epsilon: float = 1.0, domain: Any = UNIT) -> ThresholdAnswers:
    """Answers that are as often yes as they are expected to be."""
    tallies = []
    for threshold, share in below.items():
        mechanism = sv.mechanism("rr", Above(domain, threshold), epsilon=epsilon)
        keep = exp(epsilon) / (exp(epsilon) + 1)
        yes = round(asked * (1 - keep + (2 * keep - 1) * (1 - share)))
        tallies.append(Tally(mechanism, asked, np.array([asked - yes, yes])))
    return ThresholdAnswers.of(domain, tallies)


# --- the curve -------------------------------------------------------------------------------------------------------
def test_the_curve_goes_through_answers_without_noise() -> None:
    below = {"0.2": 0.05, "0.3": 0.3, "0.5": 0.6, "0.9": 0.62}
    curve = ThresholdCurve.of(expected_answers(below, 10_000_000))
    assert curve.places.tolist() == [0.0, 0.2, 0.3, 0.5, 0.9, 1.0]
    assert curve.heights == pytest.approx([0, 0.05, 0.3, 0.6, 0.62, 1], abs=2e-3)
    assert curve.place(0.45) == pytest.approx(0.4, abs=2e-3)
    assert (curve.place(0.0), curve.place(1.0)) == (0.0, pytest.approx(1.0))


def test_thresholds_next_to_a_quantile_share_their_answers_on_a_straight_curve() -> None:
    """Four thresholds on a straight line are worth nearly as much as all their answers at the quantile itself."""
    asked = 50_000
    answers = expected_answers({str(place): place for place in (0.47, 0.49, 0.51, 0.53)}, asked)
    least = float(np.sqrt(answers.variance(0.5) / (4 * asked)))
    assert least <= ThresholdCurve.of(answers).error(0.5) <= 1.25 * least


def test_a_bend_is_not_smoothed_away() -> None:
    below = {f"{place:.2f}": 0.5 * (place > 0.415) for place in np.arange(0.02, 1, 0.02)}
    curve = ThresholdCurve.of(expected_answers(below, 20_000))
    assert 0.4 <= curve.place(0.25) <= 0.42
    assert curve.bends()[curve.piece(0.25)] > 0.2  # most of the share may lie anywhere in the piece


def test_answers_of_several_rounds_are_added() -> None:
    one, two = expected_answers({"0.2": 0.2, "0.5": 0.5}, 100), expected_answers({"0.5": 0.5, "0.7": 0.7}, 50)
    both = ThresholdAnswers.together([one, two])
    assert (both.thresholds.tolist(), both.asked.tolist()) == ([0.2, 0.5, 0.7], [100, 150, 50])
    assert both.yes.sum() == one.yes.sum() + two.yes.sum()


# --- where thresholds are placed -------------------------------------------------------------------------------------
def test_the_next_thresholds_surround_the_quantile_and_come_closer() -> None:
    answers = expected_answers({f"{i / 16}": i / 16 for i in range(1, 16)}, 2_000)
    curve = ThresholdCurve.of(answers)
    wide = next_places(curve, 0.5, RoundSize(20_000, 100_000, last=False))
    more = ThresholdAnswers.together([answers, expected_answers({str(p): p for p in (0.45, 0.5, 0.55)}, 100_000)])
    near = next_places(ThresholdCurve.of(more), 0.5, RoundSize(200_000, 1_000_000, last=True))
    for places in (wide, near):
        assert places.min() < 0.5 < places.max()
    assert np.ptp(near) < np.ptp(wide)
    assert np.ptp(np.quantile(near, [0.25, 0.75])) < np.ptp(np.quantile(wide, [0.25, 0.75])) / 2


def test_a_piece_that_may_hide_a_heap_gets_more_thresholds_than_a_straight_curve_needs() -> None:
    """Half of all answers lie somewhere between 0.4 and 0.5; the number follows from share**2 * people / variance."""
    below = {"0.2": 0.1, "0.4": 0.25, "0.5": 0.75, "0.8": 0.9}
    curve = ThresholdCurve.of(expected_answers(below, 20_000))
    places = next_places(curve, 0.5, RoundSize(2_000, 100_000, last=True))
    assert len(places) == 15 and ((places > 0.4) & (places < 0.5)).sum() >= 10
    few = next_places(curve, 0.5, RoundSize(200, 100_000, last=True))
    assert len(few) < 6


@pytest.mark.parametrize(
    ("value", "level", "error"),
    [(0, 0.3, 0.0), (1, 0.3, 0.0), (1, 0.7, 0.0), (2, 0.7, 0.0), (0, 0.5, 0.2), (1, 0.5, 0.0), (2, 0.5, 0.2)],
)
def test_a_value_at_a_tie_is_a_quantile_of_all_shares_from_below_it_to_up_to_it(
    value: int, level: float, error: float
) -> None:
    """Shares 0.3, 0.4 and 0.3 of 0, 1 and 2: at 0.3 and 0.7 both neighbours are quantiles."""
    law = QuantileLaw(np.array([0, 0.3, 0.7, 1]), np.arange(4.0), ties=True)
    assert law.error(value, level) == pytest.approx(error)
    assert law.holds(Bounds(np.array([value]), np.array([value])), level) == (error == 0)


def test_an_estimate_a_hair_beside_a_heap_has_a_small_error_only_up_to_a_part_of_the_range() -> None:
    """40 % of all answers lie between 0.5 and 0.501; 30 % on either side of it."""
    law = QuantileLaw(np.array([0, 0.3, 0.7, 1]), np.array([0, 0.5, 0.501, 1]), ties=False)
    assert law.error(0.4999, 0.5) == pytest.approx(0.2, abs=1e-3)
    assert law.error(0.4999, 0.5, 1) == 0.0
    assert law.error(0.49, 0.5, 1) == pytest.approx(0.5 - 0.3 * (0.49 + 1 / 1024) / 0.5)


def test_thresholds_reach_all_places_that_the_likelihood_leaves_and_no_other() -> None:
    """Shares are the square of the place, so that the median is near 0.7; each threshold alone says little."""
    below = {f"{i / 32}": (i / 32) ** 2 for i in range(1, 32)}
    answers = expected_answers(below, 300)
    places, doubts = [0.0, *answers.thresholds.tolist(), 1.0], ratios(answers, 0.5)
    possible = np.flatnonzero(doubts <= 3.5**2)
    next_ones = next_places(ThresholdCurve.of(answers), 0.5, RoundSize(3_000, 100_000, last=True))
    assert places[possible[0]] <= next_ones.min() < 0.65 and 0.75 < next_ones.max() <= places[possible[-1] + 1]
    assert next_ones.min() > 0.3 and next_ones.max() < 0.95


def test_crowded_thresholds_draw_no_more_thresholds() -> None:
    """Shares are 0.49 from 0.3 to 0.4 and 0.9 at 0.75: the median lies anywhere between 0.4 and 0.75, or close to 0.4.

    The likelihood leaves twenty narrow pieces and a wide one, which has more of the thresholds than a third.
    """
    below = {f"{place:.3f}": 0.49 for place in np.arange(0.3, 0.4001, 0.005)} | {"0.75": 0.9}
    curve = ThresholdCurve.of(expected_answers(below, 3_000))
    places = next_places(curve, 0.5, RoundSize(60_000, 200_000, last=True))
    wide = ((places > 0.4) & (places < 0.75)).sum()
    assert wide >= 0.5 * len(places), places


def test_a_place_that_the_curve_rules_out_and_the_likelihood_does_not_is_asked_about() -> None:
    """Shares are 0.49 from 0.3 to 0.7, so the median may lie in any piece there; the curve reaches it near 0.71."""
    below = {f"{place:.2f}": 0.49 for place in np.arange(0.3, 0.71, 0.04)} | {"0.75": 0.9}
    answers = expected_answers(below, 4_000)
    doubts = ratios(answers, 0.5)
    assert doubts[-1] > 100 and (doubts[:-1] < 4).all()
    places = next_places(ThresholdCurve.of(answers), 0.5, RoundSize(40_000, 100_000, last=True))
    assert (places < 0.6).sum() >= 3 and (places > 0.7).sum() >= 3


def test_thresholds_have_few_digits_and_are_possible_answers_where_there_is_a_step() -> None:
    assert as_thresholds(UNIT, [0.123456, 0.387654], np.empty(0)) == [Decimal("0.12"), Decimal("0.4")]
    assert as_thresholds(UNIT, [0.123456], np.array([0.123456])) == [Decimal("0.123456")]
    half_hours = sv.Interval(0, 12, step="0.5")
    assert as_thresholds(half_hours, [0.1, 3.3, 3.6, 12.2], np.empty(0)) == [Decimal("3.5"), Decimal("12")]
    assert as_thresholds(sv.Integers(0, 9), [4.4, 4.6], np.empty(0)) == [Decimal(4), Decimal(5)]


def test_round_sizes_add_up_and_the_last_takes_all_who_are_left() -> None:
    for n in (300, 10_000, 10_000_000):
        for count in (2, 3, 5, 8):
            sizes = QuantileRounds(UNIT, ["0.5"], 1, n, count).sizes
            assert len(sizes) == count and sum(sizes) == n and min(sizes) > 0
            assert sizes[-1] >= 0.29 * n


# --- the sequence ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rate", [0.3, 0.5, 0.731])
def test_a_bet_is_fair_at_the_tested_rate_and_loses_below_it(rate: float) -> None:
    """Exact expectations over the binomial law."""
    for n in (1, 7, 60):
        counts = np.arange(n + 1.0)
        gain = np.exp(_bets(counts, n - counts, rate))
        assert binom.pmf(counts, n, rate) @ gain == pytest.approx(1, abs=1e-9)
        assert binom.pmf(counts, n, rate - 0.1) @ gain < 1
        assert binom.pmf(counts, n, min(1, rate + 0.2)) @ gain > 1


def test_a_bet_rarely_wins_at_any_time() -> None:
    """Exact probability that a bet reaches 20 within 300 answers, at the tested rate."""
    rate, alive, won = 0.6, np.array([1.0]), 0.0
    for n in range(1, 301):
        alive = np.concatenate([alive * (1 - rate), [0.0]]) + np.concatenate([[0.0], alive * rate])
        counts = np.arange(n + 1.0)
        reached = _bets(counts, n - counts, rate) >= np.log(20)
        won += alive[reached].sum()
        alive[reached] = 0
    assert 0.001 < won <= 0.05


def test_the_sequence_keeps_the_quantile_and_rules_out_the_rest() -> None:
    first = expected_answers({f"{i / 16}": i / 16 for i in range(1, 16)}, 4_000)
    second = expected_answers({str(p): p for p in (0.4, 0.45, 0.55, 0.6)}, 40_000)
    turns, gained = gains([first, second], 0.5)
    low, high = sequence([first, second], 0.5, 0.05)
    assert 0.4 <= low <= 0.5 <= high <= 0.6
    assert gained[np.searchsorted(turns, 0.5, side="right") - 1] < 0
    wide = sequence([first], 0.5, 0.05)
    assert wide[0] <= low and high <= wide[1]


def test_lost_bets_do_not_overflow() -> None:
    """A million answers that agree with the tested side are no evidence against it."""
    assert _bets(np.array([100_000.0]), np.array([900_000.0]), 0.5) < 0
    assert _bets(np.array([900_000.0]), np.array([100_000.0]), 0.5) > 1_000


# --- the protocol ----------------------------------------------------------------------------------------------------
def test_several_quantiles_are_found_in_the_same_rounds() -> None:
    shares = ["0.25", "0.5", "0.9"]
    estimate = sv.simulate(QuantileRounds(UNIT, shares, 2, len(SKEWED)), SKEWED, seed=1)["quantile"]
    truth = np.quantile(SKEWED, [0.25, 0.5, 0.9])
    assert np.abs(estimate.values - truth).max() < 0.03
    for method in ("likelihood", "anytime"):
        low, high = estimate.ci(0.999, method=method)
        assert (low <= truth).all() and (truth <= high).all()
    assert estimate.n == len(SKEWED) and next(source.mechanism.name for source in estimate.sources) == "rr"
    assert "0.25: 0.1" in estimate.explain() and estimate.labels == ["0.25", "0.5", "0.9"]
    assert (estimate.std_errors > 0).all()


def test_the_median_of_incomes_is_found_in_a_range_of_a_billion() -> None:
    incomes = np.exp(np.random.default_rng(2).normal(10, 1, 50_000))
    estimate = sv.simulate(QuantileRounds(sv.Interval(0, "1e9"), ["0.5"], 2, 50_000), incomes, seed=1)["quantile"]
    assert estimate.value == pytest.approx(np.median(incomes), rel=0.1)


@pytest.mark.parametrize("domain", [sv.Integers(0, 10), sv.Interval(0, 10, step="0.5"), sv.Interval(0, 10)])
def test_ties_at_a_quantile_are_kept_by_both_intervals(domain: Any) -> None:
    answers = np.array([3] * 2_000 + [7] * 6_000 + [9] * 2_000)
    estimate = sv.simulate(QuantileRounds(domain, ["0.5"], 2, len(answers)), answers, seed=5)["quantile"]
    for method in ("likelihood", "anytime"):
        (low,), (high,) = estimate.ci(method=method)
        assert low <= 7 <= high
    if domain.spacing is not None:
        assert estimate.value == 7


def test_a_gap_in_the_middle_is_a_median_too() -> None:
    """Nobody lies between 2 and 8: any place there has half of the answers on either side."""
    answers = np.concatenate([RNG.uniform(0, 2, 5_000), RNG.uniform(8, 10, 5_000)]).round(4)
    estimate = sv.simulate(QuantileRounds(sv.Interval(0, 10), ["0.5"], 2, 10_000), answers, seed=1)["quantile"]
    assert 1.8 < estimate.value < 8.2


def test_closing_early_says_so_and_keeps_the_truth() -> None:
    protocol = QuantileRounds(UNIT, ["0.5"], 1, len(SKEWED))
    for done, state in enumerate(rounds(protocol, SKEWED, seed=4), 1):
        estimate = state.closed()["quantile"]
        assert (estimate.missing is None) == state.is_over
        for method in ("likelihood", "anytime"):
            (low,), (high,) = estimate.ci(0.999, method=method)
            assert low <= np.median(SKEWED) <= high
        if done < protocol.rounds:
            assert f"{done} of 5 rounds" in str(estimate.missing)


def test_every_round_asks_about_thresholds_with_the_whole_budget() -> None:
    protocol = QuantileRounds(sv.Integers(0, 100), ["0.5"], 1, 5_000)
    first = State.first(protocol).stage
    assert isinstance(first, Round) and first.quota == protocol.sizes[0]
    assert {arm.mechanism.name for arm in first.arms} == {"rr"}
    assert {arm.mechanism.claimed for arm in first.arms} == {Decimal(1)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"domain": sv.Categories(["a", "b"])}, "'domain'"),
        ({"shares": ["0.5", "0.5"]}, "different shares"),
        ({"shares": ["1.5"]}, "'shares'"),
        ({"participants": 50}, "'participants'"),
        ({"rounds": 1}, "'rounds'"),
        ({"epsilon": 0}, "'epsilon'"),
    ],
)
def test_mistakes_are_named(wrong: dict[str, Any], said: str) -> None:
    given = {"domain": UNIT, "shares": ["0.5"], "epsilon": 1, "participants": 1_000} | wrong
    with pytest.raises(sv.ParameterError, match=said):
        QuantileRounds(**given)


# --- the interval by likelihood --------------------------------------------------------------------------------------
def test_the_likelihood_of_one_threshold_is_that_of_its_count() -> None:
    """Above the level the quantile cannot lie beyond the threshold, unless the share is the level itself."""
    answers = expected_answers({"0.4": 0.6}, 900)
    yes, rate, tested = answers.yes[0], answers.yes[0] / 900, exp(1) / (exp(1) + 1) * 0.5 + 0.5 / (exp(1) + 1)
    by_hand = 2 * (yes * np.log(rate / tested) + (900 - yes) * np.log((1 - rate) / (1 - tested)))
    assert ratios(answers, 0.5) == pytest.approx([0, by_hand])


def test_an_interval_misses_a_side_as_rarely_as_its_level_says() -> None:
    """Exact, over all counts of one threshold below which hardly more than the level lies."""
    n, below = 500, 0.5 + 1e-6
    counts, missed = np.arange(n + 1), 0.0
    template = expected_answers({"0.4": below}, n)
    rate = float(template.yes_rate(below))
    for count, chance in zip(counts.tolist(), binom.pmf(counts, n, rate).tolist(), strict=True):
        if chance > 1e-9:
            low, _ = likely_places(replace(template, yes=np.array([float(count)])), 0.5, 0.95)
            missed += chance * (low > 0)
    assert 0.035 < missed <= 0.05


def test_an_interval_reaches_a_heap_beside_a_flat_part_that_is_hardly_below_the_level() -> None:
    """Nine thresholds at 0.4875 and a jump to 0.593: nobody can tell whether the median lies in the jump."""
    below = {f"{place:.2f}": 0.4875 if place < 0.5 else 0.593 for place in np.arange(0.4, 0.6, 0.02)}
    low, high = likely_places(expected_answers(below, 1_000), 0.5, 0.95)
    assert low <= 0.42 and 0.5 <= high <= 0.54


def test_levels_beyond_all_shares_leave_the_ends() -> None:
    answers = expected_answers({"0.2": 0.3, "0.5": 0.4, "0.7": 0.6}, 100_000)
    assert likely_places(answers, 0.05, 0.95) == (0.0, 0.2)
    assert likely_places(answers, 0.95, 0.95) == (0.7, 1.0)
