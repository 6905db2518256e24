"""One question over time: guarantees that are enumerated, series of the right people, designs."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.accounting.sequences import fresh_loss, sequence_loss
from sottovoce.study.repeats.over_time import OverTime

YES_NO = sv.Frequency(sv.Categories(["yes", "no"]))
RR = sv.mechanism("rr", sv.Categories(["yes", "no"]), epsilon=1)


@pytest.mark.parametrize(
    ("guarantee", "window", "span", "times"),
    [
        ("report", None, 1, 1),
        ("window", 2, 2, 1),
        ("sequence", None, 4, 1),
        ("window", 2, 4, 2),
        ("report", None, 4, 4),
    ],
)
def test_the_guarantee_is_the_enumerated_loss(guarantee, window, span, times):
    """Over all pairs of histories that differ within the span: epsilon times the reports that a person sends in it."""
    asked = OverTime.of(RR, waves=4, guarantee=guarantee, window=window)
    assert asked.loss(span) == pytest.approx(times * RR.epsilon, abs=1e-9)
    assert asked.loss(span) <= times * 1.0
    assert asked.lifetime == asked.repeat.answers and asked.loss() <= asked.lifetime


@pytest.mark.slow
def test_every_kind_of_question_has_a_series():
    rng = np.random.default_rng(1)
    numbers = [3 + wave + rng.normal(size=3_000).clip(-2, 2) for wave in range(4)]
    groups = [[("a", 0.2 + 0.1 * wave), ("b", 0.8)] * 1_500 for wave in range(4)]
    for question, answers, shape in (
        (YES_NO, [["yes", "no", "no"] * 1_000] * 4, (4, 2)),
        (sv.Mean(sv.Interval(0, 10)), numbers, (4, 1)),
        (sv.Distribution(sv.Interval(0, 10)), numbers, (4, 64)),
        (sv.GroupMean(sv.Categories(["a", "b"]), sv.Interval(0, 1)), groups, (4, 2)),
    ):
        asked = OverTime.of(question, epsilon=2, waves=4, guarantee="window", window=2)
        series = asked.simulate(answers, seed=2)
        assert series.values.shape == shape and series.simulated
        assert series.people == "same" and series.window == 2 and series.epochs == (1, 2, 3, 4)
        truth = {(4, 1): 1.0}.get(shape)
        if truth is not None:
            low, high = series.trend().ci(0.9999)
            assert low[0] < truth < high[0]


def test_people_answer_in_their_turns_only():
    waves = [["yes"] * 2_000] * 12
    for guarantee, window, people in (("report", None, 2_000), ("window", 4, 500), ("sequence", None, 167)):
        series = OverTime.of(RR, waves=12, guarantee=guarantee, window=window).simulate(waves, seed=3)
        reports = [one.n for one in series.estimates]
        assert abs(np.mean(reports) - people) < 1 and sum(reports) == pytest.approx(12 * people, abs=12)
        assert series.people == ("different" if guarantee == "sequence" else "same")
    again = OverTime.of(RR, waves=12, guarantee="window", window=4).simulate(waves, seed=3)
    other = OverTime.of(RR, waves=12, guarantee="window", window=4).simulate(waves, seed=3)
    assert np.array_equal(again.values, other.values)


def test_a_memo_claims_an_unchanged_value_and_nothing_more():
    memo = sv.mechanism("basic-rappor", sv.Categories(["yes", "no"]), epsilon=1)
    for guarantee, window in (("window", 2), ("sequence", None)):
        with pytest.raises(sv.ParameterError, match="no guarantee for a window or a sequence"):
            OverTime.of(memo, waves=4, guarantee=guarantee, window=window)
    asked = OverTime.of(memo, waves=4, guarantee="report")
    said = asked.explain()
    assert "unchanged value together lose at most epsilon 2" in said and "protects each report by itself" in said
    assert asked.lifetime == 4 * fresh_loss(memo) and sequence_loss(memo, 4) <= asked.lifetime
    assert f"{math.ceil(100 * asked.lifetime) / 100:.2f}" in said
    # A person whose answer stays shows the memo again and again: the noise of all waves together stays too.
    series = asked.simulate([["yes"] * 300] * 4, seed=4, changed=0.0)
    fresh = series.contrast([-1, 0, 0, 1], "change", target="sample").std_errors
    assert (fresh < series.difference(4, 1).std_errors + 1e-12).all() and series.people == "same"


def test_designs_with_one_loss_are_beside_each_other():
    asked = OverTime.of(sv.Frequency(sv.Integers(1, 20)), epsilon=1, waves=20, guarantee="sequence")
    frame = asked.designs(100_000, prior="rare").set_index("design")
    people, budget = frame.loc["divide people"], frame.loc["divide epsilon"]
    assert people["people in a wave"] == 5_000 and budget["epsilon"] == pytest.approx(0.05)
    # Dividing participants costs a factor w in variance, dividing the budget about w squared.
    assert 15 < (budget["wave"] / people["wave"]) ** 2 < 25
    assert people["change"] == pytest.approx(math.sqrt(2) * people["wave"], rel=1e-6)


def test_what_is_said_and_refused():
    asked = OverTime.of(YES_NO, epsilon=1, waves=12, guarantee="window", window=4)
    said = asked.explain()
    assert "any 4 waves in a row" in said and "at most 3 reports in 12 waves" in said and "95.3 %" in said
    assert "each report by itself" in OverTime.of(RR, waves=3, guarantee="report").explain()
    tallies = [RR.tally(RR.privatize(["yes"] * 10, seed=wave)) for wave in range(3)]
    assert asked.repeat.guarantee == "window" and repr(asked) == "OverTime(grr, 12 waves, guarantee='window')"
    with pytest.raises(sv.ParameterError, match="numbered from 1 to 3"):
        OverTime.of(RR, waves=3, guarantee="report").series({4: tallies[0], 1: tallies[1]})
    for options, words in (
        ({"guarantee": "week"}, "Choose what epsilon protects"),
        ({"guarantee": "window"}, "A window belongs"),
        ({"guarantee": "report", "window": 2}, "A window belongs"),
        ({"guarantee": "window", "window": 12}, "fewer than all"),
    ):
        with pytest.raises(sv.ParameterError, match=words):
            OverTime.of(RR, waves=12, **options)
    with pytest.raises(sv.ParameterError, match="epsilon already"):
        OverTime.of(RR, waves=3, guarantee="report", epsilon=1)
    with pytest.raises(sv.ParameterError, match="each of 3 waves"):
        OverTime.of(RR, waves=3, guarantee="report").simulate([["yes"], ["no"]], seed=1)
