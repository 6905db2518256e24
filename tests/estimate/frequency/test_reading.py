"""A value is the mean of a score of each report: its errors follow from the scores, whatever shape they have."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.errors import NoCovarianceError
from sottovoce.estimate.frequency import supports
from sottovoce.estimate.reading import CodeReading, MatrixReading

SCORES = np.array([[2.0, -0.5, -0.5], [-0.5, 2.0, -0.5], [-0.5, -0.5, 2.0]])
LAW = np.linalg.inv(SCORES)  # of an output, one column for each code
SHARES = np.array([0.5, 0.3, 0.2])
WEIGHTS = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])


def test_errors_of_a_matrix_are_those_of_its_scores() -> None:
    reading, rates = MatrixReading(SCORES), LAW @ SHARES
    assert reading.values(rates) == pytest.approx(SHARES)
    scores = WEIGHTS @ SCORES
    spread = scores @ np.diag(rates) @ scores.T - np.outer(scores @ rates, scores @ rates)
    given = scores @ LAW  # the mean score of each answer
    noise = scores @ np.diag(rates) @ scores.T - (given * SHARES) @ given.T
    for target, expected in (("population", spread), ("sample", noise)):
        assert np.allclose(reading.covariance(WEIGHTS, rates, target), expected)
        assert np.allclose(reading.spreads(WEIGHTS, rates, target), np.diag(expected))
        assert np.allclose(reading.variances(rates, target), np.diag(reading.covariance(np.eye(3), rates, target)))
    least, most, reports = reading.contributions(WEIGHTS, 10)
    assert least == pytest.approx([-2.5, 1]) and most == pytest.approx([2.5, 1]) and (reports == 10).all()
    assert reading.reach(WEIGHTS[0]) == pytest.approx(5)


def test_errors_of_bits_are_those_of_two_coins() -> None:
    reading, rates = CodeReading.of_rates(0.75, 0.25), 0.25 + 0.5 * SHARES
    assert reading.values(rates) == pytest.approx(SHARES)
    assert reading.variances(rates, "population") == pytest.approx(rates * (1 - rates) / 0.25)
    assert reading.variances(rates, "sample") == pytest.approx(np.full(3, 0.1875 / 0.25))
    second = (rates * 0.75**2 + (1 - rates) * 0.25**2) / 0.25  # a bit is read as 3/2 or -1/2
    assert reading.squares(rates) == pytest.approx(second)
    least, most = reading.ends(WEIGHTS)
    assert least == pytest.approx([-2, -1.5]) and most == pytest.approx([2, 4.5])
    assert reading.reach(WEIGHTS[1]) == pytest.approx(6)


def test_a_contrast_of_shares_is_one_line() -> None:
    m = sv.mechanism("grr", sv.Categories(["a", "b", "c"]), epsilon=1)
    found = m.estimate(m.tally(m.privatize(["a", "b", "a", "c"] * 100, seed=1))).evidence
    contrast = found.functional(np.array([1.0, -1.0, 0.0]))
    covariance = found.covariance("population")
    assert contrast.values == pytest.approx(found.values()[0] - found.values()[1])
    assert contrast.errors**2 == pytest.approx(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])


@pytest.mark.parametrize("name", ["split-attributes", "fake-attributes"])
def test_sums_over_one_attribute_have_errors_and_those_over_two_have_none(name: str) -> None:
    m = sv.mechanism(name, sv.Record({"a": sv.Categories(["x", "y", "z"]), "b": sv.Integers(0, 1)}), epsilon=2)
    people = [{"a": "xyz"[i % 3], "b": i % 2} for i in range(300)]
    found = m.estimate(m.tally(m.privatize(people, seed=1))).evidence
    single = found.functional(np.array([0.0, 0, 0, 1, 0]))
    assert single.values == pytest.approx(found.values()[3])
    assert single.errors**2 == pytest.approx(found.variances("population")[3])
    if name == "split-attributes":
        contrast = found.functional(np.array([1.0, -1, 0, 0, 0]), "sample")
        own = found.also[0].covariance("sample")
        assert contrast.covariance == pytest.approx(own[0, 0] + own[1, 1] - 2 * own[0, 1])
    with pytest.raises(NoCovarianceError):
        found.functional(np.array([1.0, 0, 0, 1, 0]))


def test_one_coordinate_of_a_vector_needs_no_covariance() -> None:
    m = sv.mechanism("duchi-linf", sv.Box(-1, 1, 3), epsilon=2)
    found = m.estimate(m.tally(m.privatize(np.tile([0.5, -0.5, 0.0], (200, 1)), seed=1))).evidence
    double = found.functional(np.array([[0.0, 2, 0], [0.0, -1, 0]]), "sample")
    variance = found.variances("sample")[1]
    assert np.allclose(double.covariance, variance * np.array([[4, -2], [-2, 1]]))
    with pytest.raises(NoCovarianceError):
        found.functional(np.array([1.0, -1, 0]))


@pytest.mark.parametrize("name", ["hadamard", "projective"])
def test_sets_without_a_transform_are_counted_output_by_output(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = sv.mechanism(name, sv.Integers(0, 4), epsilon=1)
    tally = m.tally(m.privatize([0, 1, 2, 3, 4, 0, 0, 1] * 60, seed=1))
    fast = m.estimate(tally)
    monkeypatch.setattr(supports, "COUNTS", {})
    assert (m.estimate(tally).evidence.counts == fast.evidence.counts).all()


@pytest.mark.parametrize("name", ["o-rr", "hcms", "flh"])
def test_covariances_from_counts_of_each_function_sum_their_scores(name: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 4), epsilon=2)
    found = m.estimate(m.tally(m.privatize([0, 1, 2, 3, 4, 0, 0, 1] * 60, seed=1))).evidence
    scores = found.cell_scores(m, np.arange(5))
    assert scores @ found.counted.cells / found.n == pytest.approx(found.values())
    own = np.diag((scores**2 * found.counted.cells / found.n).sum(axis=1, keepdims=True).ravel())
    assert np.diag(found.second_moments()) == pytest.approx(np.diag(own))
    some = m.estimate(m.tally(m.privatize([0, 1, 2, 3, 4, 0, 0, 1] * 60, seed=1)), candidates=[3, 0]).evidence
    assert np.allclose(some.second_moments(), found.second_moments()[np.ix_([3, 0], [3, 0])])
