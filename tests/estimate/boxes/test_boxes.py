"""Boxes over several fields: waves around the circle of all cells, their exact errors, unions and complements."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.optimize import minimize

import sottovoce as sv
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.boxes.evidence import from_cells
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.queries import BoxQueries
from sottovoce.estimate.boxes.smooth import GridNoise, deviations, fitted
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.request import Target
from sottovoce.mechanisms.distribution.grid_common import grid_of
from sottovoce.testing import check_mechanism

PERSON = sv.Record({"age": sv.Integers(0, 7), "income": sv.Interval(0, 100), "sex": sv.Categories(["f", "m"])})
PAIR = sv.Record({"age": sv.Integers(0, 5), "sex": sv.Categories(["f", "m", "x"])})


@pytest.fixture(scope="module")
def wave() -> Mechanism:
    return sv.mechanism("torus-wave", PAIR, epsilon=1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", pytest.param("4", marks=pytest.mark.slow)])
def test_torus_waves_keep_the_contract(epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism("torus-wave", PAIR, epsilon=epsilon), seed=seed % 1000)


def test_the_audit_uses_the_whole_budget(wave: Mechanism) -> None:
    assert sv.audit(wave).ok and wave.epsilon == pytest.approx(1, abs=1e-12)


def test_the_specification_gives_the_mechanism_back() -> None:
    m = sv.mechanism("torus-wave", PERSON, epsilon=1, buckets=4)
    again = Mechanism.from_spec(m.spec())
    assert again == m and again.fingerprint == m.fingerprint and again.question == sv.Boxes(PERSON, 4)


@pytest.mark.parametrize("shares", [[0.1] * 10, [0.1] * 18, [2.0, -1.0, *[0.0] * 16]])
def test_the_variance_needs_a_share_for_each_cell(wave: Mechanism, shares: list[float]) -> None:
    with pytest.raises(sv.ParameterError, match="18 shares that sum to 1, one a cell"):
        wave.variance(shares, n=100)
    assert (wave.variance([1.0, *[0.0] * 17], n=100) > 0).all()


def test_the_mean_variance_is_that_of_all_boxes(wave: Mechanism) -> None:
    """Against scores of the whole law, box by box."""
    shape, even = (6, 3), np.full(18, 1 / 18)
    law = transition_of(wave.channel, 18).matrix
    weighted = law.T / law.mean(axis=1)
    scores = np.linalg.solve(weighted @ law, weighted)
    ends = [list(combinations_with_replacement(range(size), 2)) for size in shape]
    total, count = {Target.POPULATION: 0.0, Target.SAMPLE: 0.0}, 0
    for a, b in ends[0]:
        for c, d in ends[1]:
            row = np.zeros(shape)
            row[a : b + 1, c : d + 1] = 1
            score = row.ravel() @ scores
            square = float(score**2 @ law @ even)
            share = float(row.sum()) / 18
            total[Target.POPULATION] += square - share**2
            total[Target.SAMPLE] += square - share
            count += 1
    wanted = BoxQueries.over(shape)
    assert wanted.count == count - 1
    for target, expected in total.items():
        assert wanted.mean_variance(wave.channel, target) == pytest.approx(expected / wanted.count, rel=1e-9)


def test_a_wave_over_a_grid_is_better_than_one_over_a_line() -> None:
    square = sv.Record({"a": sv.Integers(0, 7), "b": sv.Integers(0, 7)})
    boxes = sv.mechanism("torus-wave", square, epsilon=1)
    line = sv.mechanism("coded-wave", sv.Integers(0, 63), epsilon=1, workload="ranges")
    wanted = BoxQueries.over((8, 8))
    errors = [wanted.mean_variance(one.channel, Target.POPULATION) for one in (boxes, line)]
    assert errors[0] < 0.8 * errors[1]


def test_boxes_unions_and_complements_agree(wave: Mechanism) -> None:
    people = [{"age": age, "sex": sex} for age in range(6) for sex in "fmx" for _ in range(20 * (age + 1))]
    estimate = wave.estimate(wave.tally(wave.privatize(people, seed=1)))
    table = estimate.values.reshape(6, 3)
    assert estimate.range(age=(1, 3), sex="m").value == pytest.approx(table[1:4, 1].sum())
    assert estimate.range(age=(1, 3)).value == pytest.approx(table[1:4].sum())
    both = estimate.range({"age": (0, 2)}, {"sex": ("m", "x")})
    assert both.value == pytest.approx(table[:3].sum() + table[3:, 1:].sum())
    rest = estimate.outside({"age": (0, 2)}, {"sex": ("m", "x")})
    assert rest.value == pytest.approx(1 - both.value) and rest.std_errors == pytest.approx(both.std_errors)
    for end, other in zip(rest.ci(), reversed(both.ci()), strict=True):
        assert end == pytest.approx(1 - other)
    assert both.labels == ["age 0 to 2 or sex m to x"] and rest.labels == ["not (age 0 to 2 or sex m to x)"]
    assert estimate.answer(sv.Boxes(PAIR)).values == pytest.approx(estimate.values)


def test_the_error_of_a_box_is_that_of_its_score(wave: Mechanism) -> None:
    cells = np.random.default_rng(3).multinomial(4000, np.full(wave.cells, 1 / wave.cells))
    evidence = from_cells(wave, 4000, cells)
    box = evidence.boxes([{"age": (2, 4), "sex": ("f", "m")}])
    scores = evidence.decode.scores(box.weights)[0]
    rates = (cells + 4 * evidence.transition.uniform) / 4004
    assert box.values()[0] == pytest.approx(scores @ cells / 4000)
    assert box.variances(Target.POPULATION)[0] == pytest.approx((scores**2 @ rates - (scores @ rates) ** 2) / 4000)


def test_ends_inside_a_cell_widen_the_interval() -> None:
    """Answers may share one number, such as a round one at the edge of a cell: both ends are included."""
    record = sv.Record({"x": sv.Interval(0, 4), "y": sv.Interval(0, 4)})
    grid = Grid.of(grid_of("a test", record, 4, 16)[1])
    on_edges = grid.union([{"x": (1, 2), "y": (0, 4)}])
    assert on_edges.parts.reshape(4, 4)[:, 0].tolist() == [0, 1, 0, 0]
    assert on_edges.inner.reshape(4, 4)[:, 0].tolist() == [0, 1, 0, 0]
    assert on_edges.outer.reshape(4, 4)[:, 0].tolist() == [0, 1, 1, 0]  # an answer of exactly 2 lies in the next cell
    inside = grid.union([{"x": ("0.5", "1.5"), "y": ("0.5", 4)}])
    assert inside.parts.reshape(4, 4)[0, 0] == pytest.approx(0.25) and inside.inner.sum() == 0
    assert inside.outer.reshape(4, 4)[:2].all() and not inside.outer.reshape(4, 4)[2:].any()


@pytest.mark.parametrize("second", [{"x": (1, 3)}, {"x": ("1.5", 4), "y": (0, "2.5")}, {"y": ("0.25", "0.75")}])
def test_a_union_has_the_volume_that_its_boxes_cover(second: dict[str, object]) -> None:
    record = sv.Record({"x": sv.Interval(0, 4), "y": sv.Interval(0, 4)})
    grid = Grid.of(grid_of("a test", record, 4, 16)[1])
    boxes = [{"x": ("0.5", 2), "y": (0, "1.5")}, second]
    weights = grid.union(boxes)
    points = (np.arange(400) + 0.5) / 100
    inside = np.zeros((400, 400), bool)
    for box in boxes:
        (a, b), (c, d) = (tuple(map(float, box.get(name, (0, 4)))) for name in ("x", "y"))  # type: ignore[arg-type]
        inside |= np.outer((points > a) & (points < b), (points > c) & (points < d))
    expected = inside.reshape(4, 100, 4, 100).mean(axis=(1, 3))
    assert weights.parts.reshape(4, 4) == pytest.approx(expected)
    assert (weights.inner <= weights.parts).all() and (weights.parts <= weights.outer).all()
    rest = weights.complement()
    assert (rest.inner <= rest.parts).all() and (rest.parts <= rest.outer).all()


def test_two_boxes_that_meet_inside_a_cell_cover_it() -> None:
    record = sv.Record({"x": sv.Interval(0, 4), "y": sv.Interval(0, 4)})
    grid = Grid.of(grid_of("a test", record, 4, 16)[1])
    weights = grid.union([{"x": (0, "1.5")}, {"x": ("1.5", 4)}])
    assert (weights.inner == 1).all() and (weights.parts == 1).all()


def test_heaped_answers_are_covered(seed: int) -> None:
    """Half of the people give one round number that is the edge of a cell; the interval holds the share of the box."""
    record = sv.Record({"x": sv.Interval(0, 8), "y": sv.Integers(0, 3)})
    m = sv.mechanism("torus-wave", record, epsilon=2, buckets=8)
    people = [{"x": 4.0, "y": 1}] * 3000 + [{"x": 0.7, "y": 2}] * 3000
    estimate = m.estimate(m.tally(m.privatize(people, seed=seed % 1000)))
    low, high = estimate.range(x=(0, 4)).ci(0.999)
    assert low[0] <= 1 <= high[0] + 1e-9 and low[0] < 0.6  # up to 4 is everybody, below 4 is half of them
    low, high = estimate.range(x=(4, 8)).ci(0.999)
    assert low[0] <= 0.5 <= high[0]


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"weight": (1, 2)}, "age, sex only"),
        ({"age": (3, 2)}, "must not be before"),
        ({"age": (0, 9)}, "values of the domain"),
        ({"age": (1, 2, 3)}, "a pair"),
    ],
)
def test_wrong_boxes_are_refused(wave: Mechanism, limits: dict[str, object], problem: str) -> None:
    evidence = from_cells(wave, 10, np.zeros(wave.cells, np.int64))
    with pytest.raises(sv.ParameterError, match=problem):
        evidence.boxes([limits])


def test_wrong_questions_are_refused(wave: Mechanism) -> None:
    with pytest.raises(sv.ParameterError, match="'bearing' of boxes must be an Interval"):
        sv.Boxes(sv.Record({"bearing": sv.Circle(360)}))
    with pytest.raises(sv.ParameterError, match="a Record"):
        sv.Boxes(sv.Integers(0, 3))  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="at most 16,384"):
        sv.mechanism("torus-wave", PERSON, epsilon=1, buckets=2048)
    estimate = wave.estimate(wave.tally(wave.privatize([{"age": 1, "sex": "f"}] * 100, seed=1)))
    for call in (estimate.range, estimate.outside):
        with pytest.raises(sv.ParameterError, match="Give one box by the names of its fields"):
            call()
        with pytest.raises(sv.ParameterError, match="Give one box by the names of its fields"):
            call({"age": 1}, sex="f")


def test_a_plan_finds_the_wave_with_its_exact_error() -> None:
    plan = sv.plan(sv.Boxes(PAIR), epsilon=1, participants=10_000)
    exact = BoxQueries.over((6, 3)).mean_variance(plan.best.mechanism.channel, Target.POPULATION)
    assert plan.best.method == "torus-wave" and plan.best.std_error == pytest.approx((exact / 10_000) ** 0.5)


def test_the_map_shows_two_fields(wave: Mechanism) -> None:
    people = [{"age": age, "sex": sex} for age in range(6) for sex in "fmx" for _ in range(20 * (age + 1))]
    estimate = wave.estimate(wave.tally(wave.privatize(people, seed=1)))
    axes = estimate.plot()
    assert axes.get_xlabel() == "sex" and axes.get_ylabel() == "age"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["f", "m", "x"]
    assert "map by" in axes.get_title()


def test_the_prior_of_a_grid_gives_possible_shares_that_are_closer(wave: Mechanism) -> None:
    record = sv.Record({"a": sv.Integers(0, 15), "b": sv.Integers(0, 15)})
    m = sv.mechanism("torus-wave", record, epsilon=1)
    places = np.exp(-(np.subtract.outer(np.arange(16), np.arange(16)) ** 2) / 8)
    truth = places / places.sum()
    rates = transition_of(m.channel, 256).forward(truth.ravel())
    index, errors = np.arange(16), []
    ranges = (np.minimum.outer(index, index) + 1.0) * (16 - np.maximum.outer(index, index))
    for seed in range(5):
        evidence = from_cells(m, 50_000, np.random.default_rng(seed).multinomial(50_000, rates / rates.sum()))
        fitted = sv.decoder("grid-prior").decode(evidence).values
        assert fitted.min() >= 0 and fitted.sum() == pytest.approx(1)
        wrong = [one.reshape(16, 16) - truth for one in (fitted, evidence.values())]
        errors.append([float((one * (ranges @ one @ ranges)).sum()) for one in wrong])  # of all boxes
    ours, unbiased = np.mean(errors, axis=0)
    assert ours < 0.65 * unbiased  # measured 0.52


def test_a_decoded_box_keeps_the_interval_of_the_unbiased_share(wave: Mechanism) -> None:
    people = [{"age": age, "sex": sex} for age in range(6) for sex in "fmx" for _ in range(20 * (age + 1))]
    estimate = wave.estimate(wave.tally(wave.privatize(people, seed=1)))
    fitted = estimate.decoded("grid-prior")
    box = fitted.range(age=(0, 2))
    assert box.value == pytest.approx(fitted.values.reshape(6, 3)[:3].sum())
    assert box.std_errors == pytest.approx(estimate.range(age=(0, 2)).std_errors)
    grr = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    tally = grr.tally(grr.privatize([0, 1] * 50, seed=1))
    with pytest.raises(sv.ParameterError, match="needs"):
        grr.estimate(tally, decoder="grid-prior")


def test_the_prior_of_a_grid_keeps_nearly_everybody_in_one_cell() -> None:
    """Logarithms reach a spike beside empty cells: the error of boxes is far below that of the unbiased shares."""
    m = sv.mechanism("torus-wave", sv.Record({"a": sv.Integers(0, 15), "b": sv.Integers(0, 15)}), epsilon=1)
    truth = np.full((16, 16), 1e-4 / 256)
    truth[0, 0] += 0.9
    truth[0, 1] += 0.0999
    rates = transition_of(m.channel, 256).forward(truth.ravel())
    evidence = from_cells(m, 50_000, np.random.default_rng(1).multinomial(50_000, rates / rates.sum()))
    shares = (sv.decoder("grid-prior").decode(evidence).values, evidence.values())
    ours, unbiased = (float(((one - truth.ravel()) ** 2).sum()) for one in shares)
    assert ours < 0.01 * unbiased


def test_information_of_a_grid_is_a_product() -> None:
    noise = GridNoise((8, 8), np.full(33, 4.0))
    assert noise.times(np.eye(64)[5]) == pytest.approx(4 * np.eye(64)[5])


def test_coefficients_have_the_spread_over_their_frequency() -> None:
    """The prior by hand: cosines of the middles of cells, of norm one, each with its own standard deviation."""
    found = deviations((4, 2), 1.5)
    assert found[0, 0] == 0
    assert found[3, 1] == pytest.approx(1.5 * (8 / (1 + 9 + 1)) ** 0.5) and found[0, 1] == pytest.approx(1.5 * 2)


def test_the_fit_is_the_posterior_mode() -> None:
    """Against a search over all logarithms with the prior written out as a matrix."""
    values, information = np.array([0.6, 0.3, 0.15, -0.05, 0.02, -0.02]), 200.0
    noise = GridNoise((3, 2), np.full(4, information))
    middles = (np.arange(3) + 0.5) * np.pi / 3, (np.arange(2) + 0.5) * np.pi / 2
    rows, deviation = [], []
    for i in range(3):
        for j in range(2):
            wave = np.multiply.outer(np.cos(i * middles[0]), np.cos(j * middles[1])).ravel()
            rows.append(wave / np.linalg.norm(wave))
            deviation.append(0.8 * (6 / (1 + i * i + j * j)) ** 0.5)
    basis, precision = np.array(rows[1:]), 1 / np.array(deviation[1:]) ** 2

    def loss(coefficients: np.ndarray) -> float:
        shares = np.exp(coefficients @ basis)
        shares /= shares.sum()
        return float(information * ((shares - values) ** 2).sum() + precision @ coefficients**2) / 2

    best = minimize(loss, np.zeros(5), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 9000})
    shares = np.exp(best.x @ basis)
    assert fitted(values, noise, 0.8, 200) == pytest.approx(shares / shares.sum(), abs=1e-4)
