"""Published parameters in place of epsilon: the law has exactly these, and the budget follows from the channel."""

import math
from fractions import Fraction

import pytest

import sottovoce as sv
from sottovoce.core import exact
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.facets import stages_of
from sottovoce.testing import check_mechanism
from tests.each import for_each

SIX = sv.Integers(0, 5)
ROUNDS = {"f": "0.5", "p": "0.75", "q": "0.5"}


def losses(f, p, q, h):
    """The formulas of the paper for one report and for all of one value, with p for a set bit."""
    own, other = f / 2 * (p + q) + (1 - f) * p, f / 2 * (p + q) + (1 - f) * q
    return h * math.log(own * (1 - other) / (other * (1 - own))), 2 * h * math.log((1 - f / 2) / (f / 2))


@for_each(
    "name,options,hashes",
    [("basic-rappor", {}, 1), ("rappor", {"hashes": 2}, 2), ("rappor", {"hashes": 1, "bits": 8, "cohorts": 4}, 1)],
)
def test_rappor_with_published_probabilities(name, options, hashes):
    mechanism = sv.mechanism(name, SIX, **ROUNDS, **options)
    once, forever = losses(0.5, 0.75, 0.5, hashes)
    assert mechanism.epsilon == pytest.approx(once, rel=1e-12)
    assert mechanism.epsilon_forever == pytest.approx(forever, rel=1e-12)
    assert 0 <= float(mechanism.claimed) - once < 2e-9
    memo, fresh = stages_of(mechanism.channel)
    assert (memo.p, memo.q, fresh.p, fresh.q) == (3 * UNIT // 4, UNIT // 4, 3 * UNIT // 4, UNIT // 2)


def test_one_time_rappor_with_a_published_f():
    mechanism = sv.mechanism("one-time-rappor", SIX, f="0.25", hashes=2)
    assert mechanism.epsilon == pytest.approx(losses(0.25, 0.9, 0.1, 2)[1], rel=1e-12)


@for_each("name", ["olh", "flh"])
def test_hashing_with_published_values_and_probability(name):
    """Kept with 2/3 among five hash values: the odds are 2/3 against 1/12, so 8."""
    mechanism = sv.mechanism(name, SIX, g=5, p="0.6666666666666666")
    assert mechanism.epsilon == pytest.approx(math.log(8), rel=1e-12)
    assert 0 <= float(mechanism.claimed) - mechanism.epsilon < 2e-9
    inner = mechanism.channel.inner
    assert (inner.k, inner.w, inner.keep) == (5, 1, round(Fraction("0.6666666666666666") * UNIT))


@for_each("threshold", ["0.5", "0.67", "1"])
def test_the_threshold_is_that_of_laplace_noise(threshold):
    """A bin holds 0 or 1 plus Lap(2 / epsilon); the grid of 1,024 steps moves a probability by less than 0.1 %."""
    mechanism = sv.mechanism("the", SIX, epsilon=2, threshold=threshold)
    at = float(threshold)
    assert mechanism.channel.p / UNIT == pytest.approx(1 - math.exp(at - 1) / 2, rel=1e-3)
    assert mechanism.channel.q / UNIT == pytest.approx(math.exp(-at) / 2, rel=1e-3)


@for_each("threshold", [0, "-0.5", "1.001", 2])
def test_thresholds_lie_within_a_bin(threshold):
    with pytest.raises(sv.ParameterError, match="'threshold' parameter of the"):
        sv.mechanism("the", SIX, epsilon=2, threshold=threshold)


def test_the_best_threshold_is_no_worse_than_a_published_one():
    def variance(mechanism):
        p, q = mechanism.channel.p / UNIT, mechanism.channel.q / UNIT
        return q * (1 - q) / (p - q) ** 2

    best = variance(sv.mechanism("the", SIX, epsilon=1))
    assert all(best <= variance(sv.mechanism("the", SIX, epsilon=1, threshold=t)) * 1.001 for t in ("0.4", "0.6", "1"))


def test_any_wave():
    """Weights 1, 2, 3, 2, 1 around each code, where the weight outside is 1."""
    wave = sv.mechanism("general-wave", SIX, wave=[1, 2, 3, 2, 1])
    law = {report: float(p) for (_, report), p in exact.law(wave.channel, 2).items()}
    total = 3 + 2 + 2 + 7  # ten outputs
    expected = [1, 1, 1, 2, 3, 2, 1, 1, 1, 1]
    assert [law[report] for report in range(10)] == pytest.approx([weight / total for weight in expected], abs=1e-15)
    assert wave.epsilon == pytest.approx(math.log(3)) and wave.epsilon <= float(wave.claimed)
    narrow = sv.mechanism("general-wave", sv.Integers(0, 19), epsilon=1, b="0.1", shape="1")
    assert narrow.channel.outputs == 24
    rates = sorted({Fraction(weight, UNIT) for weight in narrow.channel.rows[0]})
    assert float(rates[-1] / rates[0]) == pytest.approx(math.e)


@pytest.mark.slow
def test_the_contract_holds():
    for mechanism in (
        sv.mechanism("basic-rappor", sv.Integers(0, 2), **ROUNDS),
        sv.mechanism("one-time-rappor", sv.Integers(0, 2), f="0.5", hashes=1),
        sv.mechanism("general-wave", sv.Integers(0, 4), wave=["1", "1.5", "4", "2", "1.5"]),
        sv.mechanism("the", sv.Integers(0, 2), epsilon=1, threshold="0.75"),
        sv.mechanism("olh", sv.Integers(0, 2), g=3, p="0.7"),
    ):
        check_mechanism(mechanism)


@for_each(
    "name,options,words",
    [
        ("rappor", {"epsilon": 1, **ROUNDS}, "either epsilon or f, p and q"),
        ("rappor", {"f": "0.5", "p": "0.7"}, "Missing: q"),
        ("rappor", {"f": "0.5", "p": "0.5", "q": "0.75"}, "the other way round"),
        ("rappor", {**ROUNDS, "epsilon_forever": 3}, "either epsilon_forever or f, p and q"),
        ("basic-rappor", {**ROUNDS, "f": 0}, "in .0, 1."),
        ("one-time-rappor", {"f": "1e-9"}, "at most 20 is allowed"),
        ("one-time-rappor", {"f": "0.5", "epsilon": 1}, "either epsilon or f:"),
        ("the", {"epsilon": 1, "threshold": 2}, "'threshold' parameter of the"),
        ("general-wave", {"wave": [1, 2, 1], "epsilon": 1}, "either epsilon or wave"),
        ("general-wave", {"wave": [1, 2, 1], "b": "0.2"}, "either a wave or shape and b"),
        ("general-wave", {"wave": [1, 2]}, "an odd number of weights"),
        ("general-wave", {"wave": [1, 1, 1]}, "not all of them 1"),
        ("general-wave", {"epsilon": 1, "b": 2}, "'b' parameter of general-wave"),
        ("grr", {}, "'epsilon' parameter of grr"),
        ("olh", {"epsilon": 1, "g": 4, "p": "0.6"}, "either epsilon, or g and p"),
        ("flh", {"p": "0.6"}, "either epsilon, or g and p"),
        ("olh", {"g": 4, "p": "0.25"}, "above 1/4"),
        ("olh", {"g": 4, "p": 1}, "in .0, 1."),
    ],
)
def test_contradictions_are_refused(name, options, words):
    with pytest.raises(sv.ParameterError, match=words):
        sv.mechanism(name, SIX, **options)
