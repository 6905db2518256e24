"""Counts, sums and averages of a public measure over boxes: unbiased, exact variances, intervals that cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.boxes.evidence import from_cells
from sottovoce.estimate.boxes.measures import MeasuredTally, measured_tally
from sottovoce.estimate.request import Target

PERSON = sv.Record({"age": sv.Integers(0, 3), "sex": sv.Categories(["f", "m"])})
BOX: dict[str, Any] = {"age": (1, 2), "sex": "m"}


@pytest.fixture(scope="module")
def wave() -> Any:
    return sv.mechanism("torus-wave", PERSON, epsilon=1)


def crowd(n: int, rng: np.random.Generator) -> tuple[list[dict[str, Any]], np.ndarray, np.ndarray]:
    """People, their measures, heaped and higher inside the box, and who is in the box."""
    ages, men = rng.integers(0, 4, n), rng.random(n) < 0.4
    inside = (ages >= 1) & (ages <= 2) & men
    measures = np.where(rng.random(n) < 0.5, 10, rng.integers(0, 50, n)) + 30 * inside
    return [{"age": int(a), "sex": "m" if m else "f"} for a, m in zip(ages, men, strict=True)], measures, inside


def test_estimates_have_the_variance_of_the_law(wave: Any, seed: int) -> None:
    """The exact variance, from the law of one report, beside the estimated one; both targets."""
    rng = np.random.default_rng(seed)
    people, measures, inside = crowd(40_000, rng)
    queries = measured_tally(wave, wave.privatize(people, seed=seed), measures, low=0, high=100).queries()
    outputs = wave.cells
    score = np.array(  # of each report for the box, from the unbiased decoder
        [from_cells(wave, 1, np.eye(outputs, dtype=np.int64)[y]).boxes([BOX]).values()[0] for y in range(outputs)]
    )
    transition = from_cells(wave, 1, np.zeros(outputs, np.int64)).transition
    squares = np.array([transition.forward(row) @ score**2 for row in np.eye(8)])
    member = np.array([0, 0, 0, 1, 0, 1, 0, 0])
    cells = np.array([2 * one["age"] + (one["sex"] == "m") for one in people])
    each = (squares - member)[cells]  # the score of a member has mean one
    for name, weights in (("count", np.ones(len(people))), ("sum", measures.astype(float))):
        exact = float((weights**2 * each).sum())
        told = getattr(queries, name)(**BOX)
        assert told.evidence.variances(Target.SAMPLE)[0] == pytest.approx(exact, rel=0.02)
        spread = float((weights**2 * inside).sum() - (weights * inside).sum() ** 2 / len(people))
        assert told.evidence.variances(Target.POPULATION)[0] == pytest.approx(exact + spread, rel=0.02)
        assert abs(told.value - float((weights * inside).sum())) < 5 * exact**0.5


@pytest.mark.slow
def test_intervals_cover(wave: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs, hits = 60, np.zeros(3)
    for run in range(runs):
        people, measures, inside = crowd(3_000, rng)
        reports = wave.privatize(people, seed=1000 * seed + run)
        queries = measured_tally(wave, reports, measures, low=0, high=100).queries()
        truth = (inside.sum(), measures[inside].sum(), measures[inside].mean())
        for place, (name, true) in enumerate(zip(("count", "sum", "average"), truth, strict=True)):
            low, high = getattr(queries, name)(**BOX).quiet_ci(0.95, target="sample")
            hits[place] += low[0] <= true <= high[0]
    assert (hits >= runs * 0.95 - 5 * (runs * 0.95 * 0.05) ** 0.5).all()


def test_tallies_of_batches_add_up_to_that_of_all(wave: Any) -> None:
    people, measures, _ = crowd(400, np.random.default_rng(3))
    first, second = (wave.privatize(part, seed=place) for place, part in enumerate((people[:150], people[150:])))
    parts = [
        measured_tally(wave, batch, part, low=0, high=100)
        for batch, part in ((first, measures[:150]), (second, measures[150:]))
    ]
    both: MeasuredTally = parts[0] + parts[1]
    assert both.plain.n == 400 and both.weighted.total == measures.sum()
    assert (both.plain.cells == parts[0].plain.cells + parts[1].plain.cells).all()
    with pytest.raises(sv.SottovoceError, match="different ranges"):
        both + measured_tally(wave, first, measures[:150], low=0, high=101)


def test_the_range_of_a_measure_shifts_sums_alone(wave: Any) -> None:
    """Measures below zero are counted from `low`: sums and averages move with the measure."""
    people, measures, _ = crowd(2_000, np.random.default_rng(4))
    reports = wave.privatize(people, seed=5)
    usual = measured_tally(wave, reports, measures, low=0, high=100).queries()
    moved = measured_tally(wave, reports, measures - 40, low=-40, high=60).queries()
    assert moved.count(**BOX).value == pytest.approx(usual.count(**BOX).value)
    assert moved.sum(**BOX).value == pytest.approx(usual.sum(**BOX).value - 40 * usual.count(**BOX).value)
    assert moved.average(**BOX).value == pytest.approx(usual.average(**BOX).value - 40)
    for own, other in zip(moved.average(**BOX).ci(), usual.average(**BOX).ci(), strict=True):
        assert own == pytest.approx(other - 40)


def test_people_in_cells_that_a_box_cuts_may_have_any_measure() -> None:
    """Everybody at the same number inside a cell: the interval holds whether the box reaches them or not."""
    record = sv.Record({"income": sv.Interval(0, 8), "sex": sv.Categories(["f", "m"])})
    m = sv.mechanism("torus-wave", record, epsilon=4, buckets=4)
    people = [{"income": 2.5, "sex": "f"}, {"income": 7, "sex": "f"}] * 4_000
    queries = measured_tally(m, m.privatize(people, seed=1), [8, 2] * 4_000, low=0, high=10).queries()
    for limit, count, total in ((2.4, 0, 0), (2.6, 4_000, 32_000)):
        for name, true in (("count", count), ("sum", total)):
            low, high = getattr(queries, name)(income=(0, limit)).ci(target="sample")
            assert low[0] <= true <= high[0]
    low, high = queries.average(income=(0, 2.6)).ci(target="sample")
    assert low[0] <= 8 <= high[0]


def test_wrong_measures_are_refused(wave: Any) -> None:
    reports = wave.privatize([{"age": 1, "sex": "f"}] * 3, seed=1)
    for measure, low, high in (([1, 2], 0, 5), ([1, 2, 9], 0, 5), ([1, 2, 3], 5, 0)):
        with pytest.raises(sv.ParameterError):
            measured_tally(wave, reports, measure, low=low, high=high)
    grr = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    with pytest.raises(sv.ParameterError, match="mechanism for boxes"):
        measured_tally(grr, grr.privatize([1], seed=1), [1], low=0, high=5)
    with pytest.raises(sv.ParameterError, match="Give one box"):
        measured_tally(wave, reports, [1, 2, 3], low=0, high=5).queries().sum()


@pytest.mark.parametrize(
    "measures", [["secret"] * 20, [1j] * 20, "s" * 20, [float("nan")] * 20, [101] * 20, [[1]] * 20]
)
def test_measures_that_are_no_numbers_are_refused_without_being_repeated(wave: Any, measures: Any) -> None:
    reports = wave.privatize([{"age": 1, "sex": "m"}] * 20, seed=1)
    with pytest.raises(sv.ParameterError) as refused:
        measured_tally(wave, reports, measures, low=0, high=100)
    assert "secret" not in str(refused.value)
