"""Vectors whose coordinates are randomized one by one: exact laws, unbiased means, intervals, the number of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Rounding, SampledCoordinates, Subset, Table
from sottovoce.core.coins import TapeCoins
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.parts import CountParts
from sottovoce.design.sampled import best_count
from sottovoce.fast.batch import draw
from sottovoce.fast.kernels.vector.sampled import first_coordinates, refused_starts
from sottovoce.fast.numbers import scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.testing import check_mechanism

INNERS = ["designed", "bernoulli", "piecewise", "hybrid", "nprr"]
CASES = [
    pytest.param(name, inner, dimensions, epsilon, marks=[] if quick else pytest.mark.slow)
    for name, inner, dimensions, epsilon, quick in (
        ("sampled", "designed", 7, "1", False),
        ("sampled", "designed", 3, "6", False),
        ("sampled", "bernoulli", 40, "2", True),
        ("split-n", "hybrid", 2, "1", False),
        ("split-n", "piecewise", 1, "3", False),
        ("split-epsilon", "nprr", 3, "4", False),
        ("split-epsilon", "laplace", 2, "2", False),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "inner", "dimensions", "epsilon"), CASES)
def test_coordinates_keep_the_contract(name: str, inner: str, dimensions: int, epsilon: str, seed: int) -> None:
    domain = sv.Box(0, "0.3", dimensions)
    check_mechanism(sv.mechanism(name, domain, epsilon=epsilon, inner=inner), seed=seed % 1000)


# --- the node ----------------------------------------------------------------------------------------------
def some(dimensions: int, count: int, *, keep: int = 3 * UNIT // 4, bits: int = 2) -> SampledCoordinates:
    return SampledCoordinates((Rounding(0, 1, 1),) * dimensions, Subset(2, 1, keep), count, bits)


@pytest.mark.parametrize(("dimensions", "count"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 3)])
def test_every_coordinate_is_chosen_by_the_same_share_of_ids(dimensions: int, count: int) -> None:
    channel = some(dimensions, count)
    ids = [(a, b) for a in range(4) for b in range(4) if channel.accepts((a, b))]
    assert ids and len(ids) % dimensions == 0
    chosen = [0] * dimensions
    for words in ids:
        places = [place for place, _ in channel.parts_of(0, words)]
        assert len(set(places)) == count
        for place in places:
            chosen[place] += 1
    assert set(chosen) == {len(ids) * count // dimensions}


def test_the_ratio_is_that_of_all_chosen_coordinates_together() -> None:
    one = Fraction(3)
    assert [some(3, count).ratio() for count in (1, 2, 3)] == [one, one**2, one**3]
    for count in (1, 2, 3):
        channel = some(3, count)
        laws = [law(channel, code) for code in channel.codes()]
        worst = max(
            max(column) / min(column) for column in zip(*([each[k] for k in laws[0]] for each in laws), strict=True)
        )
        assert worst == channel.ratio()


def test_a_vector_between_grid_points_is_a_mixture_of_its_neighbours() -> None:
    channel = SampledCoordinates(
        (Rounding(0, 2, 2), Rounding(-5, 5, 2)), Table([[UNIT // 2, UNIT // 4, UNIT // 4]] * 3), 2, 2
    )
    low, high = law(channel, (Fraction(1), Fraction(0))), law(channel, (Fraction(2), Fraction(0)))
    between = law(channel, (Fraction(5, 4), Fraction(0)))
    assert between == {key: Fraction(3, 4) * low[key] + Fraction(1, 4) * high[key] for key in low}


def test_the_kernel_chooses_and_refuses_like_the_scalar() -> None:
    channel = SampledCoordinates((Rounding(0, 1, 1),) * 7, Subset(2, 1, 3 * UNIT // 4), 3)
    words = WordStream.seeded(2, 5).rows(0, 300)
    words[:3, 0] = [(1 << 64) - 1, 0, ((1 << 53) - (1 << 53) % 7) << 11]
    first, refused = first_coordinates(channel, words, 300), refused_starts(channel, words)
    for row in range(300):
        public = int(words[row, 0]), int(words[row, 1])
        assert channel.first(public) == first[row] and channel.accepts(public) is not bool(refused[row])
    assert refused[:3].tolist() == [True, False, True]


@pytest.mark.parametrize(("count", "bits"), [(1, 8), (3, 8), (7, 8), (3, 53)])
def test_batches_are_the_scalar_reports_even_with_coins_that_are_often_rejected(count: int, bits: int) -> None:
    channel = SampledCoordinates((Rounding(0, 1, 5), *(Rounding(-3, 2, 5),) * 6), Subset(6, 1, 3 * UNIT // 4), count)
    domain = sv.Record({"a": sv.Interval(0, 1), **{name: sv.Interval(-3, 2) for name in "bcdefg"}})
    mechanism = Mechanism("some", VectorMean(domain), channel, Decimal(20), CountParts())
    codes = np.arange(2100, dtype=np.uint64).reshape(300, 7) * 0x9E3779B97 % (5 << 32)
    stream = WordStream.seeded(mechanism.words, 9)
    batch = draw(mechanism, codes, stream, bits=bits, chunk_bytes=1 << 10)
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place), bits=bits)
        assert mechanism.draw(scalar_code(channel, codes[place]), coins)[1] == report


@pytest.mark.parametrize(
    ("grids", "inner", "count", "sentence"),
    [
        ((), Subset(2, 1, 3 * UNIT // 4), 1, "from 1 to"),
        ((Rounding(0, 1, 1), Rounding(0, 1, 2)), Subset(2, 1, 3 * UNIT // 4), 1, "same number of steps"),
        ((Rounding(0, 1, 2),), Subset(2, 1, 3 * UNIT // 4), 1, "every point"),
        ((Rounding(0, 1, 1),), Subset(2, 1, 3 * UNIT // 4), 2, "count"),
        ((Rounding(0, 1, 3),), Subset(4, 2, 3 * UNIT // 4), 1, "numbered"),
    ],
)
def test_parts_that_do_not_fit_are_refused(grids: Any, inner: Any, count: int, sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        SampledCoordinates(grids, inner, count)


def test_a_mechanism_needs_a_vector_of_the_same_ranges() -> None:
    mechanism = sv.mechanism("split-n", sv.Box(0, 1, 3), epsilon=1, inner="bernoulli")
    for domain in (sv.Box(0, 1, 2), sv.Box(0, 2, 3), sv.Interval(0, 1), sv.Integers(0, 7)):
        asked = sv.Mean(domain) if domain.numbers else VectorMean(domain)
        with pytest.raises(sv.MismatchError):
            Mechanism("split-n", asked, mechanism.channel, Decimal(1), CountParts())
    for domain in (sv.Interval(0, 1), sv.Categories(["a", "b"]), sv.Record({"a": sv.Categories(["x", "y"])})):
        with pytest.raises(sv.ParameterError, match="Box, or a record"):
            sv.mechanism("sampled", domain, epsilon=1)
    with pytest.raises(sv.ParameterError, match="inner"):
        sv.mechanism("sampled", sv.Box(0, 1, 3), epsilon=1, inner="grr")
    with pytest.raises(sv.ParameterError, match="several"):
        mechanism.worst_case_variance()


# --- answers -------------------------------------------------------------------------------------------------
def test_the_same_vectors_in_any_form_are_the_same_reports() -> None:
    mechanism = sv.mechanism("sampled", sv.Box(-1, 1, 3), epsilon=1, inner="bernoulli", count=2)
    rows = np.round(np.random.default_rng(1).uniform(-1, 1, (50, 3)), 3)
    forms = [rows, rows.tolist(), pd.DataFrame(rows), [tuple(map(Decimal, map(str, row))) for row in rows], list(rows)]
    expected = list(mechanism.privatize(rows, seed=3))
    for form in forms:
        assert list(mechanism.privatize(form, seed=3)) == expected
    whole = mechanism.privatize(np.array([[1, 0, -1]] * 4), seed=3)
    assert list(whole) == list(mechanism.privatize([[1.0, 0.0, -1.0]] * 4, seed=3))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.array([[0.0, 0.0], [0.0, 1.5]]), "1 of 2 answers .* position 1"),
        (np.array([[0.0, np.nan], [0.0, 0.5]]), "1 of 2 answers .* position 0"),
        ([[0.0, 0.0], [0.0]], "1 of 2 answers .* position 1"),
        ([[0.0, "x"], [0.0, 0.5], [1, 2]], "2 of 3 answers .* position 0"),
        (np.zeros((4, 3)), "rows of 2 numbers"),
        (np.zeros(4), "rows of 2 numbers"),
        ("ab", "not as one value"),
    ],
)
def test_vectors_outside_are_refused_and_counted(rows: Any, sentence: str) -> None:
    mechanism = sv.mechanism("split-epsilon", sv.Box(-1, 1, 2), epsilon=1, inner="bernoulli")
    with pytest.raises(sv.DomainError, match=sentence):
        mechanism.privatize(rows)


def test_records_of_different_ranges_are_read_in_their_own_numbers() -> None:
    person = sv.Record({"hours": sv.Interval(0, 24), "age": sv.Integers(18, 97), "score": sv.Interval(-1, 1)})
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"score": rng.uniform(-1, 1, 30_000), "age": rng.integers(18, 60, 30_000), "hours": rng.normal(7, 1, 30_000)}
    )
    mechanism = sv.mechanism("sampled", person, epsilon=4)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(table, seed=2)))
    assert list(estimate.labels) == ["hours", "age", "score"]
    truth = table[list(estimate.labels)].mean().to_numpy()
    low, high = estimate.ci(1 - 1e-6, target="sample")
    assert ((low <= truth) & (truth <= high)).all() and (high - low < np.array([24, 79, 2]) / 4).all()
    some_rows = table.head(20)
    listed = some_rows.to_dict("records")
    assert list(mechanism.privatize(listed, seed=5)) == list(mechanism.privatize(some_rows, seed=5))
    with pytest.raises(sv.DomainError, match=r"has the columns hours, age, score and no others\. Got 2 columns"):
        mechanism.privatize(table[["age", "hours"]])
    again = Mechanism.from_spec(mechanism.spec())
    assert again == mechanism and again.fingerprint == mechanism.fingerprint


def test_many_coordinates_are_quick_and_small() -> None:
    mechanism = sv.mechanism("split-n", sv.Box(-1, 1, 10_000), epsilon=1, inner="bernoulli")
    assert len(mechanism.spec()["channel"]["grids"]) == 1
    assert len(mechanism.randomize([0.25] * 10_000)) == 17
    rows = np.full((500, 10_000), 0.5)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(rows, seed=1)))
    asked = np.isfinite(estimate.std_errors)
    assert 0 < asked.sum() <= 500 and np.isnan(estimate.values[~asked]).all()


# --- estimates ------------------------------------------------------------------------------------------------
def crowd(n: int, dimensions: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(np.linspace(-0.8, 0.8, dimensions), 0.3, (n, dimensions)), -1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inner"), [("sampled", "designed"), ("split-n", "hybrid"), ("split-epsilon", "bernoulli")]
)
def test_intervals_cover_alone_and_all_at_once(name: str, inner: str, seed: int) -> None:
    """400 runs of 4 coordinates: a true 95 % lies outside 92.3 to 97.7 once in a million such tests."""
    mechanism = sv.mechanism(name, sv.Box(-1, 1, 4), epsilon=2, inner=inner)
    rng = np.random.default_rng(seed)
    runs, n, centre = 400, 4_000, np.linspace(-0.8, 0.8, 4)
    alone = {"population": 0, "sample": 0}
    joint, errors, predicted = 0, [], []
    for run in range(runs):
        answers = rng.beta(2, 2, (n, 4)) * 0.4 + (centre - 0.2)
        answers = np.clip(answers, -1, 1)
        truth = np.clip(centre, -1, 1)
        estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=seed * 1000 + run)))
        for target, mean in (("population", truth), ("sample", answers.mean(axis=0))):
            low, high = estimate.ci(target=target)
            alone[target] += int(((low <= mean) & (mean <= high)).sum())
        low, high = estimate.ci(simultaneous=True)
        joint += bool(((low <= truth) & (truth <= high)).all())
        errors.append(estimate.values - truth)
        predicted.append(estimate.std_errors)
    assert 0.923 <= alone["population"] / (4 * runs) <= 0.977
    assert 0.923 <= alone["sample"] / (4 * runs) <= 0.99  # one bit cannot tell the spread of answers from noise
    assert joint / runs >= 0.91
    ratio = np.std(errors, axis=0) / np.mean(predicted, axis=0)
    assert np.abs(ratio - 1).max() < 0.18


def test_predicted_variance_counts_reports_spread_and_who_is_missing() -> None:
    mechanism = sv.mechanism("split-n", sv.Box(-1, 1, 4), epsilon=1, inner="bernoulli")
    e = np.exp(1)
    bound = ((e + 1) / (e - 1)) ** 2
    held = np.array([-1, -0.5, 0, 1])
    assert mechanism.variance(held, 1000) == pytest.approx(4 * (bound - held**2) / 1000, rel=1e-9)
    belief = sv.Prior([-0.5, 0.5], [1, 1])
    assert mechanism.variance(belief, 1000) == pytest.approx(4 * bound / 1000, rel=1e-9)
    assert mechanism.variance([belief] * 4, 1000, target="sample") == pytest.approx(
        4 * (bound - 0.25) / 1000 + 0.25 * (4 - 1) / 1000, rel=1e-9
    )
    for wrong in ([0, 0], [0, 0, 0, 2], "x" * 4):
        with pytest.raises((sv.ParameterError, ValueError)):
            mechanism.variance(wrong, 1000)


def test_a_projection_moves_each_coordinate_into_its_range() -> None:
    mechanism = sv.mechanism("split-n", sv.Box(-1, 1, 3), epsilon="0.1", inner="bernoulli")
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(np.full((900, 3), 0.99), seed=2)))
    inside = estimate.project("range")
    assert np.abs(inside.values).max() <= 1 < np.abs(estimate.values).max()
    low, high = inside.ci()
    assert low.min() >= -1 and high.max() <= 1
    with pytest.raises(sv.ParameterError, match="Known here: linear, range"):
        estimate.project("simplex")
    frame = estimate.to_frame(method="hoeffding")
    assert (frame.high - frame.low > 0).all() and "coordinate" in estimate.explain()
    with pytest.raises(sv.SottovoceError, match="covariance"):
        estimate.covariance()


# --- how many coordinates ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("epsilon", "published"), [("1", 1), ("4", 1), ("5", 2), ("8", 3)])
def test_the_number_of_coordinates_is_the_best_of_all(epsilon: str, published: int) -> None:
    """Erratum 8: for the piecewise mechanism k is max(1, min(d, floor(eps / 2.5))), not floor(2 eps / 3)."""
    even = sv.Prior.uniform(-1, 1)

    def error(count: int) -> float:
        mechanism = sv.mechanism("sampled", sv.Box(-1, 1, 6), epsilon=epsilon, inner="piecewise", count=count)
        return float(mechanism.variance(even, 1000).mean())

    best = best_count(Decimal(epsilon), 6, "piecewise")
    errors = {count: error(count) for count in range(1, 7)}
    assert errors[best] == min(errors.values())
    assert errors[best] <= errors[published]
    misprint = max(1, min(6, int(2 * float(epsilon) / 3)))
    assert errors[misprint] >= errors[best]


@pytest.mark.slow
def test_the_designed_channel_beats_every_other_in_each_way() -> None:
    even = sv.Prior.uniform(-1, 1)
    for epsilon in (1, 4, 8):
        for name in ("sampled", "split-n", "split-epsilon"):
            errors = {
                inner: sv.mechanism(name, sv.Box(-1, 1, 4), epsilon=epsilon, inner=inner).variance(even, 1000).mean()
                for inner in INNERS
            }
            assert errors["designed"] <= min(errors.values()) * 1.03, (epsilon, name, errors)
