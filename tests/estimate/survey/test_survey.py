"""Survey designs: exact by enumeration, and equal to plain estimates where there is no design."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.survey.design import Survey
from sottovoce.estimate.survey.units import Unit, Units
from sottovoce.fast.batch import Reports
from sottovoce.tally.tally import MAX_REPORTS, report_cells
from sottovoce.tally.weighted import MOST_WEIGHT, WeightedTally, fixed_point, weighted_tally
from tests.each import for_each

KEEP = 0.8  # of randomized response over two answers
NOISE = KEEP * (1 - KEEP) / (2 * KEEP - 1) ** 2


class KnownScores:
    """Scores of single reports, with the exact variance of their noise."""

    def __init__(self, scores, weights):
        self.scores, self.weights = np.array(scores, float), np.array(weights, float)

    def first(self):
        return np.array([self.weights @ self.scores / self.weights.sum()])

    def second(self):
        return np.array([self.weights**2 @ self.scores / (self.weights**2).sum()])

    def spread(self, rows, target):
        if target == "sample":
            return np.array([NOISE])
        squares = self.weights**2
        return np.array([squares @ self.scores**2 / squares.sum() - self.second()[0] ** 2])


def score(bit):
    return (bit - (1 - KEEP)) / (2 * KEEP - 1)


def chance(bit, answer):
    return KEEP if bit == answer else 1 - KEEP


def moments(designs):
    """Mean and variance of the estimate, and the mean of both estimated variances, over (probability, Units)."""
    rows = [
        (p, u.values()[0], u.covariance(None, "population")[0], u.covariance(None, "sample")[0]) for p, u in designs
    ]
    p, values, estimated, noise = np.array(rows).T
    assert p.sum() == pytest.approx(1)
    mean = p @ values
    return mean, p @ (values - mean) ** 2, p @ estimated, p @ noise


def reported(answers):
    """All reports of these answers, with their probabilities."""
    for bits in product((0, 1), repeat=len(answers)):
        yield float(np.prod([chance(bit, answer) for bit, answer in zip(bits, answers, strict=True)])), bits


STRATA = ((0, 1, 1), (0, 0, 0, 1))  # everyone of a small population
DRAWN = (2, 2)


def without_replacement():
    """All samples of all strata and all their reports, with equal chances within a stratum."""
    draws = [list(combinations(people, count)) for people, count in zip(STRATA, DRAWN, strict=True)]
    fractions = np.array([count / len(people) for people, count in zip(STRATA, DRAWN, strict=True)])
    for sample in product(*draws):
        for p, bits in reported([answer for stratum in sample for answer in stratum]):
            units, start = [], 0
            for h, (people, count) in enumerate(zip(STRATA, DRAWN, strict=True)):
                weight = len(people) / count
                known = KnownScores([score(bit) for bit in bits[start : start + count]], [weight] * count)
                units.append(Unit(h, 0, 0, count, len(people), count * weight**2, known))
                start += count
            yield p / (len(draws[0]) * len(draws[1])), Units(tuple(units), fractions, False)


def clusters():
    """Two of three clusters with replacement; everyone in a drawn cluster reports."""
    population = ((0, 1), (1, 1), (0, 0))
    for chosen in product(population, repeat=2):
        for p, bits in reported([answer for one in chosen for answer in one]):
            units = tuple(
                Unit(0, c, 0, 2, 2.0, 2.0, KnownScores([score(bit) for bit in bits[2 * c : 2 * c + 2]], [1, 1]))
                for c in range(2)
            )
            yield p / 9, Units(units, np.zeros(1), True)


def test_strata_without_replacement_are_exact():
    mean, variance, estimated, noise = moments(without_replacement())
    assert mean == pytest.approx(np.mean([answer for people in STRATA for answer in people]))
    assert estimated == pytest.approx(variance, rel=1e-12)
    sizes = np.array([len(people) for people in STRATA])
    assert noise == pytest.approx(((sizes / 7) ** 2 * NOISE / 2).sum())


def test_clusters_are_exact():
    mean, variance, estimated, _ = moments(clusters())
    assert mean == pytest.approx(0.5)
    assert estimated == pytest.approx(variance, rel=1e-12)


def test_calibrated_residuals_are_those_of_the_fit_of_each_cell():
    """Post-stratification: with one margin every cell has its own mean, and nothing between cells is left."""
    generator = np.random.default_rng(4)
    scores = [generator.normal(mean, 1, 50) for mean in (0, 100)]
    units = tuple(Unit(0, 0, k, 50, 50.0, 50.0, KnownScores(s, np.ones(50))) for k, s in enumerate(scores))
    calibrated = Units(units, np.zeros(1), False, np.eye(2)).covariance(None, "population")
    assert calibrated == pytest.approx([100 / 99 * sum(50 * s.var() for s in scores) / 100**2])
    plain = tuple(replace(unit, cell=0) for unit in units)
    assert Units(plain, np.zeros(1), False).covariance(None, "population") > 1000 * calibrated


GENERATOR = np.random.default_rng(8)
LETTERS = list(GENERATOR.choice(list("abcd"), 400))
NUMBERS = GENERATOR.uniform(0, 10, 400)
WHOLE = [int(number) for number in NUMBERS]
PAIRS = [("a" if x < 5 else "b", float(x)) for x in NUMBERS]
FOUR, LINE, TEN = sv.Categories(list("abcd")), sv.Interval(0, 10), sv.Integers(0, 9)
PAIR = sv.Pair(sv.Categories(["a", "b"]), LINE)
CASES = (
    *((name, FOUR, LETTERS) for name in ("grr", "oue", "subset", "olh", "she", "hrr", "the")),
    *((name, LINE, NUMBERS) for name in ("piecewise", "bernoulli", "laplace", "hybrid")),
    *((name, TEN, WHOLE) for name in ("square-wave-discrete", "haar", "laplace-histogram")),
    *((name, PAIR, PAIRS) for name in ("group-nprr", "group-piecewise")),
)


@for_each("name,domain,answers", CASES)
def test_equal_weights_give_the_plain_estimate(name, domain, answers):
    mechanism = sv.mechanism(name, domain, epsilon=4)
    reports = mechanism.privatize(answers, seed=3)
    plain = mechanism.estimate(mechanism.tally(reports))
    for survey in (Survey(), Survey(weights=[2.5] * 400)):
        weighted = survey.estimate(mechanism, reports)
        np.testing.assert_allclose(weighted.values, plain.values, rtol=1e-9, atol=1e-9)
        for target in ("population", "sample"):
            ours, usual = (one.evidence.variances(target) for one in (weighted, plain))
            np.testing.assert_allclose(ours, usual, rtol=0.005)
    assert weighted.n == 400
    assert weighted.simulated


@for_each("name,domain,answers", [case for case in CASES if case[0] in ("oue", "olh", "she", "group-nprr", "haar")])
def test_a_weighted_tally_counts_each_report_as_often_as_its_weight(name, domain, answers):
    mechanism = sv.mechanism(name, domain, epsilon=2)
    reports = mechanism.privatize(answers[:90], seed=3)
    weights = np.arange(1, 91)  # so many that their binary digits are counted
    both = weighted_tally(mechanism, reports, weights)
    ids = [(0, 0)] * 90 if reports.public is None else [tuple(map(int, row)) for row in reports.public]
    single = [report_cells(mechanism, report, words) for report, words in zip(reports, ids, strict=True)]
    for power, counted in ((1, both.weighted), (2, both.squared)):
        np.testing.assert_array_equal(
            counted.cells, sum(int(w) ** power * one for w, one in zip(weights, single, strict=True))
        )
        assert counted.n == (weights**power).sum()
    assert both.cubes == (weights**3).sum()
    halves = [weighted_tally(mechanism, reports[a:b], weights[a:b], units=1) for a, b in ((0, 40), (40, 90))]
    merged = halves[0] + halves[1]
    assert (merged.weighted, merged.squared, merged.cubes, merged.n) == (both.weighted, both.squared, both.cubes, 90)


def test_weights_are_rounded_to_units_that_fit():
    mechanism = sv.mechanism("grr", sv.Categories(["a", "b"]), epsilon=1)
    reports = mechanism.privatize(["a"] * 4, seed=1)
    tally = weighted_tally(mechanism, reports, [0.1, 1 / 3, 0.0, 2.0])
    assert tally.total == pytest.approx(2 + 1 / 3 + 0.1, rel=1e-6)
    assert tally.n == 4
    with pytest.raises(sv.MismatchError, match="units"):
        tally + weighted_tally(mechanism, reports, [1, 1, 1, 1])
    with pytest.raises(sv.MismatchError, match="No 1 weights"):
        WeightedTally(1, 1, tally.weighted, tally.squared, tally.cubes)
    for wrong in ([1, 2, 3], [1, 1, 1, -1], [1, 1, 1, np.nan], ["a"] * 4, None):
        with pytest.raises(sv.ParameterError, match="each of the 4 reports"):
            weighted_tally(mechanism, reports, wrong)
    with pytest.raises(sv.ParameterError, match="too large"):
        weighted_tally(mechanism, reports, [1e9] * 4, units=1)
    with pytest.raises(sv.ReportError):
        weighted_tally(mechanism, Reports(mechanism, np.array([0, 1, 2, 9], np.uint8)), [1] * 4)


def test_raking_meets_every_margin():
    sex, age = list("ffmmfmfm") * 50, list("yooyyooo") * 50
    margins = {"sex": (sex, {"f": 600, "m": 400}), "age": (age, {"y": 300, "o": 700})}
    survey = Survey().raked(margins)
    weights = np.array(survey.weights)
    for column, people in margins.values():
        for category, count in people.items():
            assert weights[np.array(column) == category].sum() == pytest.approx(count)
    mechanism = sv.mechanism("grr", sv.Categories(["a", "b"]), epsilon=2)
    reports = mechanism.privatize(["a" if one == "f" else "b" for one in sex], seed=1)
    estimate = survey.estimate(mechanism, reports)
    assert "calibrated" in estimate.explain()
    assert estimate.std_errors[0] < Survey(weights=weights).estimate(mechanism, reports).std_errors[0]


def test_refusals_of_margins():
    column = ["f", "m", "f"]
    for margins, words in (
        ({}, "at least one margin"),
        ({"sex": (column, {"f": 5, "m": 5, "x": 1})}, "Nobody of category 'x'"),
        ({"sex": (column, {"f": 5})}, "no number of people"),
        ({"sex": (column, {"f": 5, "m": 0})}, "more than zero"),
        ({"sex": (column, {"f": 5, "m": 5}), "age": (column, {"f": 5, "m": 6})}, "same population"),
        ({"sex": (column, {"f": 5, "m": 5}), "age": (["m", "f", "m"], {"f": 2, "m": 8})}, "No weights meet"),
        ({"sex": (column, {"f": 5, "m": "many"})}, "more than zero"),
        ({"sex": (column, [5, 5])}, "must be a pair"),
        ({"sex": ("fmf", {"f": 5, "m": 5})}, "a list with the category"),
        ({"sex": (["f", "m"], {"f": 5, "m": 5})}, "each of the 3 reports. Got 2"),
    ):
        with pytest.raises(sv.ParameterError, match=words):
            Survey(weights=[1, 1, 1]).raked(margins)
    with pytest.raises(sv.ParameterError, match="at least one margin"):
        Survey().raked({})


def test_refusals_of_designs():
    mechanism = sv.mechanism("grr", sv.Categories(["a", "b"]), epsilon=2)
    reports = mechanism.privatize(["a", "b"] * 5, seed=1)
    halves = ["x"] * 5 + ["y"] * 5
    for survey, words in (
        (Survey(weights=[1] * 9), "each of the 10 reports"),
        (Survey(weights=[0] + [1] * 9), "above zero"),
        (Survey(weights=np.ma.masked_array(np.ones(10), mask=[True] + [False] * 9)), "Masked arrays"),
        (Survey().raked({"sex": (["f", "m"], {"f": 5, "m": 5})}), "about 2 participants, and there are 10"),
        (Survey(strata=["x"] * 9), "stratum for each"),
        (Survey(strata=["x"] * 9 + ["y"]), "Stratum 'y' has a single participant"),
        (Survey(clusters=["x"] * 10), "single cluster"),
        (Survey(strata=[["x"]] * 10), "Each stratum of a survey must be a text or a number"),
        (Survey(strata=halves, people={"x": 10}), "name every stratum"),
        (Survey(strata=halves, people={"x": 4, "y": 10}), "Stratum 'x' has 5 reports, more than its 4"),
        (Survey(clusters=halves, people=100), "leave out 'people'"),
    ):
        with pytest.raises(sv.ParameterError, match=words):
            survey.estimate(mechanism, reports)
    with pytest.raises(sv.ParameterError, match="needs the reports themselves"):
        Survey().estimate(mechanism, mechanism.tally(reports))
    rows = sv.mechanism("d-bit-flip", sv.Integers(0, 7), epsilon=2, d=2)
    with pytest.raises(sv.ParameterError, match="cannot be weighted yet"):
        Survey().estimate(rows, rows.privatize([1] * 10, seed=1))


def test_a_correction_for_a_finite_population_never_touches_the_noise():
    mechanism = sv.mechanism("piecewise", sv.Interval(0, 1), epsilon=3)
    reports = mechanism.privatize(np.random.default_rng(1).uniform(0, 1, 500), seed=2)
    everyone = Survey(people=500).estimate(mechanism, reports)
    assert everyone.std_errors**2 == pytest.approx(everyone.evidence.variances("sample"))
    assert everyone.std_errors[0] < Survey(people=5000).estimate(mechanism, reports).std_errors[0]


def test_few_large_weights_and_few_clusters_are_doubted():
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=2)
    reports = mechanism.privatize([0, 1, 2, 3] * 250, seed=1)
    assert Survey().estimate(mechanism, reports).doubt() is None
    assert "large weights" in Survey(weights=[1000.0] * 5 + [1.0] * 995).estimate(mechanism, reports).doubt()
    wave = sv.mechanism("square-wave-discrete", sv.Integers(0, 3), epsilon=2)
    sent = wave.privatize([0, 1, 2, 3] * 250, seed=1)
    assert "clusters" in Survey(clusters=list(range(10)) * 100).estimate(wave, sent).doubt()


def test_units_of_uneven_weights_leave_room_for_the_sum_of_their_squares() -> None:
    """Of few weights the largest bounds the units, of many the sum of squares."""
    few, many = np.array([0.5, 0.25]), np.full(20_000, 0.5)
    assert fixed_point(few)[1] == 2 * MOST_WEIGHT
    scaled, units = fixed_point(many)
    assert units == int(np.sqrt(MAX_REPORTS / 4 / 5000))
    assert int(scaled @ scaled) <= MAX_REPORTS // 4
    assert fixed_point(np.zeros(3))[1] == fixed_point(np.ones(3))[1] == 1
    assert fixed_point(np.array([MOST_WEIGHT, 0.5]))[1] == 1
