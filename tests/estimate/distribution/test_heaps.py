"""Heaped answers in the decoder `bayes`: their laws exactly, their posteriors, and what the average makes of them."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.bayes.condense import condensed
from sottovoce.estimate.distribution.bayes.heaps import HeapPosterior, heaps, round_steps
from sottovoce.estimate.distribution.bayes.walks import Walk
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce_experiments.distribution.decoders import with_and_without_heaps

Array = np.ndarray


def expected(method: sv.Mechanism, numbers: Array, shares: Array, n: int = 100_000) -> tuple[OutputsEvidence, Array]:
    """The expected counts of answers at these numbers, rounded, and the shares of the buckets."""
    blank = from_cells(method, n, np.zeros(method.cells, np.int64))
    places = np.interp(numbers, blank.edges, np.arange(len(blank.edges)))
    law = blank.likelihood().points(places + 1e-9)
    buckets = np.minimum((places + 1e-9).astype(int), len(blank.buckets) - 1)
    cells = np.rint(n * law @ shares).astype(np.int64)
    return from_cells(method, n, cells), np.bincount(buckets, shares, len(blank.buckets))


def distance(one: Array, two: Array) -> float:
    return float(np.abs(np.cumsum(one - two)).mean())


def bell(at: Array, centre: float, width: float) -> Array:
    found = np.exp(-(((at - centre) / width) ** 2) / 2)
    return np.asarray(found / found.sum())


# --- the law of an answer at a point --------------------------------------------------------------------------------
@pytest.mark.parametrize("domain", [sv.Interval(0, 1), sv.Circle(1)], ids=["line", "circle"])
def test_an_even_spread_of_points_is_the_law_of_a_bucket(domain: sv.Interval | sv.Circle) -> None:
    method = sv.mechanism("square-wave", domain, epsilon=1, buckets=16)
    evidence = from_cells(method, 0, np.zeros(method.cells, np.int64))
    mixture = evidence.likelihood()
    ends = mixture.points(np.linspace(3, 4, 65))
    even = (ends[:, 1:] + ends[:, :-1]).mean(axis=1) / 2  # between points of the grid laws are linear
    assert np.allclose(even, evidence.transition.matrix[:, 3])
    assert np.allclose(mixture.points(np.linspace(0, 16, 7)).sum(axis=0), 1)


def test_a_point_has_the_law_of_its_bucket_where_answers_are_put_into_buckets_first() -> None:
    for name in ("square-wave-discrete", "coded-wave"):
        method = sv.mechanism(name, sv.Interval(0, 1), epsilon=1, buckets=8)
        evidence = from_cells(method, 0, np.zeros(method.cells, np.int64))
        found = evidence.likelihood().points(np.array([0.0, 2.4, 2.9, 8.0]))
        assert np.allclose(found, evidence.transition.matrix[:, [0, 2, 2, 7]])


def test_reports_of_one_answer_have_the_law_of_its_point() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 10), epsilon=2, buckets=16)
    tally = method.tally(method.privatize(np.full(400_000, 3.7), seed=1))
    law = from_cells(method, 0, tally.cells).likelihood().points(np.array([3.7 * 1.6]))[:, 0]
    wide = np.arange(0, len(law), 25)  # sums of 25 outputs
    counts, rates = np.add.reduceat(tally.cells, wide), np.add.reduceat(law, wide)
    assert np.abs((counts / 4e5 - rates) / np.sqrt(rates / 4e5)).max() < 5  # 1 false alarm in 30,000


# --- which steps ----------------------------------------------------------------------------------------------------
def test_steps_are_round_and_have_a_moderate_number_of_multiples() -> None:
    assert dict(round_steps(0, 100, 262)) == {
        10: (5, 10, 50, 100),
        5: (2, 10, 20),
        1: (5, 10, 50, 100),
        0.5: (2, 10, 20),
    }
    assert [step for step, _ in round_steps(0, 100, 262, 1.0)] == [10, 5, 1]
    assert [step for step, _ in round_steps(0, 100, 50)] == [10, 5]
    assert {15, 30, 60} < {step for step, _ in round_steps(0, 1440, 262)}
    assert [step for step, _ in round_steps(0, 100, 262, 2.5)] == [10, 5]


def test_only_numbers_on_a_line_have_heaps() -> None:
    counts = {}
    for name, domain in (
        ("circle", sv.Circle(24)),
        ("categories", sv.Categories([f"{place}" for place in range(30)])),
        ("whole", sv.Integers(0, 99)),
        ("step", sv.Interval(0, 100, step=5)),
        ("fine", sv.Interval(0, 100)),
    ):
        buckets = 100 if name in ("circle", "fine") else None
        method = sv.mechanism("square-wave-discrete", domain, epsilon=1, buckets=buckets)
        evidence = from_cells(method, 100, np.full(method.cells, 1))
        mixture = evidence.likelihood()
        given = condensed(mixture, evidence.buckets.widths)
        counts[name] = [len(one.heap.ends) - 1 for one in heaps(given, mixture, evidence.buckets)]
    assert counts == {
        "circle": [],
        "categories": [],
        "whole": [100, 10, 20, 100],
        "step": [21, 11, 21],
        "fine": [100, 11, 21, 101],
    }


# --- posteriors -----------------------------------------------------------------------------------------------------
def posteriors() -> list[HeapPosterior]:
    method = sv.mechanism("square-wave", sv.Interval(0, 20), epsilon=1, buckets=32)
    evidence, _ = expected(method, np.arange(21.0), bell(np.arange(21), 8, 4), 5_000)
    mixture = evidence.likelihood()
    return list(heaps(condensed(mixture, evidence.buckets.widths), mixture, evidence.buckets))


def test_the_gradient_is_that_of_the_posterior_with_effects() -> None:
    for posterior in posteriors():
        family = Walk(2, 0.3, 0.3, 0.0)
        walk = np.zeros(posterior.length + posterior.heap.effects.shape[1])
        directions, start = posterior.along(family, 0.5, walk)
        place = start + np.random.default_rng(1).normal(0, 0.3, len(start))
        gradient, _ = posterior.bowl(posterior.at(family, directions, place), directions, place)
        for index in (0, len(place) - 1):
            step = 1e-5 * np.eye(len(place))[index]
            up, down = (posterior.at(family, directions, place + sign * step).value for sign in (1, -1))
            assert np.isclose((up - down) / 2e-5, gradient[index], rtol=1e-4, atol=1e-2)


def test_a_search_goes_on_where_another_ended() -> None:
    for posterior in posteriors():
        family = Walk(2, 0.3, 0.0, 0.0)
        directions, start = posterior.along(family, 1.25, np.zeros(posterior.length + posterior.heap.effects.shape[1]))
        place = np.random.default_rng(2).normal(0, 1, len(start))
        again, back = posterior.along(family, 1.25, posterior.walk(directions, place))
        assert np.allclose(back, place) and np.array_equal(again, directions)


# --- the average ----------------------------------------------------------------------------------------------------
def test_a_lattice_is_found_and_its_gaps_stay_empty() -> None:
    """From expected counts, so that nothing depends on a seed."""
    method = sv.mechanism("square-wave", sv.Interval(0, 100), epsilon=2, buckets=256)
    numbers = np.arange(0.0, 101, 5)
    evidence, truth = expected(method, numbers, bell(numbers, 40, 15))
    both, alone = with_and_without_heaps(evidence)
    assert distance(both, truth) < 0.5 * distance(alone, truth)
    assert both[truth == 0].sum() < 0.02 < alone[truth == 0].sum()


def test_round_numbers_stand_out_among_all_whole_ones() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 60), epsilon=3, buckets=128)
    numbers = np.arange(61.0)
    shares = bell(numbers, 30, 12) * np.where(numbers % 5 == 0, 8, 1)
    evidence, truth = expected(method, numbers, shares / shares.sum())
    both, alone = with_and_without_heaps(evidence)
    assert distance(both, truth) < 0.5 * distance(alone, truth)


def test_atoms_at_both_ends_are_found() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=2, buckets=128)
    numbers = np.concatenate([[0.0, 1.0], (np.arange(2_000) + 0.5) / 2_000])
    shares = np.concatenate([[0.25, 0.15], 0.6 * bell(numbers[2:], 0.5, 0.2)])
    evidence, truth = expected(method, numbers, shares)
    both, alone = with_and_without_heaps(evidence)
    assert distance(both, truth) < 0.5 * distance(alone, truth)
    assert np.abs(both[[0, -1]] - truth[[0, -1]]).max() < 0.01


@pytest.mark.parametrize("epsilon", [1, 2])
def test_a_smooth_law_stays_smooth(epsilon: int) -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=epsilon, buckets=128)
    numbers = (np.arange(4_000) + 0.5) / 4_000
    evidence, truth = expected(method, numbers, bell(numbers, 0.45, 0.15))
    both, alone = with_and_without_heaps(evidence)
    assert distance(both, truth) < 1.02 * distance(alone, truth) + 1e-5
    assert np.abs(np.diff(both, 2)).max() < 0.01 * truth.max()  # a spike would show


def test_both_are_those_of_the_decoder_and_the_same_again() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 30), epsilon=1, buckets=32)
    answers = np.random.default_rng(3).integers(0, 31, 20_000)
    tally = method.tally(method.privatize(answers, seed=3))
    evidence = from_cells(method, tally.n, tally.cells)
    first, again = (sv.decoder("bayes").decode(evidence) for _ in range(2))
    assert np.array_equal(first.values, again.values) and first.fit == again.fit
    assert np.array_equal(with_and_without_heaps(evidence)[0], first.values)
    assert first.values.min() >= 0 and np.isclose(first.values.sum(), 1)


def test_more_numbers_than_parts_are_decoded_each() -> None:
    """Buckets are put together to parts; a lattice keeps them apart."""
    method = sv.mechanism("square-wave", sv.Interval(0, 600, step=1), epsilon=4)
    numbers = np.arange(601.0)
    shares = np.where(numbers % 10 == 0, bell(numbers, 250, 90), 0)
    evidence, truth = expected(method, numbers, shares / shares.sum())
    found = sv.decoder("bayes").decode(evidence).values
    assert len(found) == 601 and found[truth == 0].sum() < 0.05
