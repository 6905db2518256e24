"""Channels designed for a workload: what is minimised, what bounds it, and that it is what ships."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Block, ListedSets, ShiftSets
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.domain import Domain
from sottovoce.core.exact import law
from sottovoce.core.workload import BY_NAME
from sottovoce.design.bound import bound
from sottovoce.design.coded import CircleWave, coded_bits
from sottovoce.design.descent import Cost, best_share, descend
from sottovoce.design.distribution import table_design, usual_cells, usual_patterns, wave_design
from sottovoce.design.listed import _Table, listed_bits
from sottovoce.design.projection import project_columns
from sottovoce.estimate.distribution.queries import Queries, queries
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.linear import DenseDecode
from sottovoce.estimate.distribution.readings.shifts import CircleDecode, ShiftDecode
from sottovoce.estimate.distribution.readings.transition import DenseTransition, ShiftTransition, transition_of
from sottovoce.estimate.request import Target
from sottovoce.tally.laws import law_row
from sottovoce.testing import check_mechanism
from tests.each import for_each

Floats = NDArray[np.float64]
NAMES = ("designed-distribution", "coded-wave")


def wave(epsilon: str, bins: int, name: str = "cdf", *, circular: bool = False, patterns: int | None = None) -> Any:
    cells = usual_cells(bins, Decimal(epsilon), name, circular=circular)
    number = patterns or usual_patterns(cells)
    return wave_design(epsilon, bins, name, circular=circular, cells=cells, patterns=number)


# --- workloads ---------------------------------------------------------------------------------------------------
def listed(name: str, n: int, circular: bool) -> Floats:
    """The queries one by one."""
    if circular and name != "histogram" and name != "mean":
        arcs = [[(start + step) % n for step in range(length)] for start in range(n) for length in range(1, n)]
        return np.array([[float(bin_ in arc) for bin_ in range(n)] for arc in arcs])
    if circular and name == "mean":
        angles = 2 * np.pi * np.arange(n) / n
        return np.array([np.cos(angles), np.sin(angles)])
    centres = np.array([(2 * i + 1) / n - 1 for i in range(n)])
    ends = [(i, j) for i in range(n) for j in range(i, n) if j - i < n - 1]
    return {
        "cdf": np.array([[float(bin_ <= end) for bin_ in range(n)] for end in range(n - 1)]),
        "quantiles": np.array([[float(bin_ <= end) for bin_ in range(n)] for end in range(n - 1)]),
        "ranges": np.array([[float(i <= bin_ <= j) for bin_ in range(n)] for i, j in ends]),
        "histogram": np.eye(n),
        "mean": centres[None, :],
        "moments": np.array([centres, centres**2]),
    }[name]


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("name", ["cdf", "quantiles", "ranges", "histogram", "mean", "moments"])
def test_a_workload_has_the_gram_matrix_of_its_queries(name: str, n: int, circular: bool) -> None:
    if circular and name == "moments":
        with pytest.raises(sv.ParameterError, match="one of cdf, quantiles, ranges, histogram, mean"):
            queries(name, n, circular=True)
        return
    rows, found = listed(name, n, circular), queries(name, n, circular=circular)
    assert np.abs(found.gram - rows.T @ rows).max() < 1e-9
    assert found.count == len(rows)


def test_every_workload_of_the_question_has_designs() -> None:
    for name in BY_NAME:
        assert all(queries(name, 5, circular=circular).bins == 5 for circular in (False, True))


# --- the lower bound ---------------------------------------------------------------------------------------------
def variance(rows: Floats, wanted: Queries, prior: Floats) -> float:
    """Of a channel given by its law, one row for each output, by the definition: the mean over the prior."""
    weight = rows @ prior
    information = (rows / weight[:, None]).T @ rows
    decode = np.linalg.solve(information, (rows / weight[:, None]).T)  # shares from rates
    root = np.linalg.cholesky(wanted.gram + 1e-13 * np.eye(len(prior))).T
    scores = root @ decode
    each = [(scores**2 @ law_of_code).sum() - (root[:, code] ** 2).sum() for code, law_of_code in enumerate(rows.T)]
    return float(prior @ each) / wanted.count


def best_of_all(wanted: Queries, e: float, prior: Floats) -> float:
    """Every row of ones and e's, with the best weights: a convex program."""
    n = wanted.bins
    rows = np.array([row for row in product((1.0, e), repeat=n) if len(set(row)) == 2])

    def value(logits: Floats) -> float:
        # The columns must sum to one: rows are scaled so that on average they do, and the rest is penalised.
        law_ = rows * np.exp(logits - logits.max())[:, None]
        law_ = law_ / law_.sum(axis=0).mean()
        information = (law_ / (law_ @ prior)[:, None]).T @ law_
        total = np.trace(np.linalg.solve(information, wanted.gram)) - prior @ np.diag(wanted.gram)
        return float(total / wanted.count + 1e4 * ((law_.sum(axis=0) - 1) ** 2).sum())

    starts = [np.zeros(len(rows)), np.random.default_rng(0).normal(size=len(rows))]
    return min(minimize(value, start, method="BFGS", options={"maxiter": 400}).fun for start in starts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "circular", "epsilon", "slack"),
    [
        ("cdf", 2, False, 1.0, 1e-3),
        ("cdf", 3, False, 0.5, 0.07),
        ("cdf", 4, False, 1.0, 0.12),
        ("histogram", 4, False, 1.0, 1e-3),
        ("ranges", 3, True, 1.0, 1e-3),
    ],
)
def test_no_channel_is_below_the_bound(name: str, n: int, circular: bool, epsilon: float, slack: float) -> None:
    wanted, even = queries(name, n, circular=circular), np.full(n, 1 / n)
    least, best = bound(wanted, epsilon), best_of_all(wanted, float(np.exp(epsilon)), even)
    assert least <= best * (1 + 1e-4)
    assert best <= least * (1 + slack)  # and it is not far below; for histograms and arcs some channel reaches it
    design = table_design(str(epsilon), n, name, circular=circular, outputs=64)
    assert best * (1 - 1e-3) <= design.variance <= 1.05 * best


def test_no_random_channel_is_below_the_bound() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 4))
        name = str(rng.choice(["cdf", "ranges", "histogram", "moments"]))
        prior = rng.dirichlet(np.ones(n)) if rng.random() < 0.7 else None
        shares = np.full(n, 1 / n) if prior is None else prior
        size = int(rng.integers(1, 2 * n))
        sets = np.array([rng.permutation(4 * n) < size for _ in range(n)])
        law_ = np.where(sets, np.exp(epsilon), 1).T / (4 * n + (np.exp(epsilon) - 1) * size)
        if np.linalg.matrix_rank(law_, 1e-6) == n:
            wanted = queries(name, n)
            assert variance(law_, wanted, shares) >= bound(wanted, epsilon, prior) * (1 - 1e-6) - 1e-9


def test_the_bound_is_the_formula_where_no_direction_is_capped() -> None:
    n, epsilon, gram = 64, 1.0, queries("cdf", 64).gram
    centre = np.eye(n) - 1 / n
    roots = np.sqrt(np.linalg.eigvalsh(centre @ gram @ centre).clip(0)).sum()
    e = np.exp(epsilon)
    formula = (gram.sum() / n + roots**2 * 4 * e / (e - 1) ** 2 - np.trace(gram)) / (n * (n - 1))
    assert formula == pytest.approx(9.176, abs=1e-3)
    # A whole number of bins is likelier in each report, which raises the bound a little.
    assert formula <= bound(queries("cdf", 64), epsilon) <= formula * 1.0002
    assert bound(queries("cdf", 64), epsilon, np.full(n, 1 / n)) == pytest.approx(formula)


def test_randomized_response_reaches_the_bound_of_two_bins() -> None:
    wanted, e = queries("cdf", 2), np.e
    response = np.array([[e, 1], [1, e]]) / (e + 1)
    assert variance(response, wanted, np.full(2, 0.5)) == pytest.approx(bound(wanted, 1.0))
    assert bound(wanted, 1.0) == pytest.approx(e / (e - 1) ** 2)


def test_a_bound_is_never_negative() -> None:
    for epsilon in (0.01, 1, 4, 8, 20):
        assert all(bound(queries(name, 9), epsilon) >= 0 for name in ("cdf", "histogram", "mean"))


# --- the descent -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mirrored", [False, True])
def test_slopes_are_differences_of_costs(mirrored: bool) -> None:
    rng = np.random.default_rng(3)
    prior = np.array([0.1, 0.2, 0.4, 0.2, 0.1]) if mirrored else rng.dirichlet(np.ones(5))
    price = Cost(queries("cdf", 5), 3.0, prior)
    t, way = rng.random((12, 5)), rng.normal(size=(12, 5))
    _, slopes = price(t, 0.05, mirrored=mirrored)
    ahead, behind = (price(t + step * way, 0.05, mirrored=mirrored)[0] for step in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx((slopes * way).sum(), rel=1e-6)
    both = np.concatenate([t, t[:, ::-1]]) if mirrored else t
    assert price.value(both, 0.05) == pytest.approx(price(t, 0.05, mirrored=mirrored)[0])


def test_the_cost_is_the_variance_of_the_decoder() -> None:
    rng = np.random.default_rng(4)
    wanted, prior = queries("histogram", 4), rng.dirichlet(np.ones(4))
    sets = np.array([rng.permutation(16) < 5 for _ in range(4)]).T.astype(float)
    price, weight = Cost(wanted, 3.0, prior), 1 / (16 + 2 * 5)
    cost = price.value(sets, weight) - prior @ np.diag(wanted.gram)
    assert cost / 4 == pytest.approx(variance(weight * (1 + 2 * sets), wanted, prior))


@pytest.mark.parametrize("total", [1.0, 7.0, 19.0])
def test_the_projection_is_the_nearest_point(total: float) -> None:
    rng = np.random.default_rng(8)
    for scale in (0.01, 1.0, 1e3):
        given = scale * rng.normal(size=(20, 6))
        found = given.copy()
        project_columns(found, total)
        assert np.abs(found.sum(axis=0) - total).max() < 1e-8
        assert found.min() >= 0 and found.max() <= 1
        # Optimality: no other point of the set lies on the other side of the plane through it.
        for _ in range(20):
            other = rng.random((20, 6))
            project_columns(other, total)
            assert (((given - found) * (other - found)).sum(axis=0) <= 1e-6 * scale + 1e-9).all()


def test_a_descent_lowers_the_cost_and_ends_at_bits() -> None:
    price = Cost(queries("cdf", 16), np.e, np.full(16, 1 / 16))
    search = _Table(price, 96, 26, True)
    start = search.project(search.walks(0))
    found, cost = descend(search, search.walks(0), 300)
    assert cost < 0.2 * search.cost(start)[0]
    assert ((found < 1e-6) | (found > 1 - 1e-6)).mean() > 0.95
    bits = search.bits(found)
    assert (bits.sum(axis=0) == 26).all()
    assert (np.sort(bits, axis=0) == np.sort(bits[:, ::-1], axis=0)).all()
    assert price.value(bits, search.weight) < 1.02 * cost


def test_the_best_share_is_the_lowest_point_of_a_parabola() -> None:
    assert best_share(0.02, lambda share: (np.log(share) - np.log(0.1)) ** 2) == pytest.approx(0.1)
    assert best_share(0.3, lambda share: share) == 0.3


# --- what ships --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("domain", "epsilon"),
    [
        (sv.Integers(0, 1), "8"),
        (sv.Integers(-3, 3), "1"),
        (sv.Categories(["low", "middle", "high"]), "0.1"),
        pytest.param(sv.Interval(0, 14), "1", marks=pytest.mark.slow),
        pytest.param(sv.Circle(24), "0.5", marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_designs_keep_the_contract(name: str, domain: Domain, epsilon: str) -> None:
    check_mechanism(sv.mechanism(name, domain, epsilon=epsilon))


@pytest.mark.parametrize("name", NAMES)
def test_the_decoder_of_the_shipped_integers_is_exactly_unbiased(name: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 5), epsilon="1")
    rows = [[p for _, p in sorted(law(m.channel, code, NO_WORDS).items())] for code in range(6)]
    assert max(max(column) / min(column) for column in zip(*rows, strict=True)) <= odds(Decimal(1))
    assert all(sum(row) == 1 for row in rows)
    # The decoder in exact arithmetic, from the enumerated law: scores whose mean is the share itself.
    weight = [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]
    gram = [[sum(a * b / w for a, b, w in zip(one, two, weight, strict=True)) for two in rows] for one in rows]
    inverse = _inverse(gram)
    exact = [[sum(row[k] * rows[k][y] / weight[y] for k in range(6)) for y in range(len(weight))] for row in inverse]
    for target, scores in enumerate(exact):
        for code, row in enumerate(rows):
            assert sum(p * score for p, score in zip(row, scores, strict=True)) == (target == code)
    shipped = linear_decode(m.channel, 6).scores(np.eye(6))
    assert np.abs(shipped - np.array(exact, float)).max() < 1e-10


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    n = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]


def test_the_variance_of_a_design_is_that_of_its_mechanism() -> None:
    design = table_design("1", 6, outputs=32)
    assert isinstance(design.channel.sets, ListedSets)
    rows = np.array([law_row(design.channel, code) for code in range(6)]).T
    assert design.variance == pytest.approx(variance(rows, design.wanted, design.prior))
    m = sv.mechanism("designed-distribution", sv.Integers(0, 5), epsilon="1")
    assert m.channel == design.channel
    share = [m.variance(np.eye(6)[code], 1, target="sample") for code in range(6)]
    histogram = table_design("1", 6, "histogram", outputs=32)
    m = sv.mechanism("designed-distribution", sv.Integers(0, 5), epsilon="1", workload="histogram")
    better = [m.variance(np.eye(6)[code], 1, target="sample") for code in range(6)]
    assert np.mean(better) == pytest.approx(histogram.variance)
    assert np.mean(better) < np.mean(share)


def test_a_design_is_found_again() -> None:
    first = sv.mechanism("coded-wave", sv.Integers(0, 9), epsilon="1.5")
    assert sv.mechanism("coded-wave", sv.Integers(10, 19), epsilon="1.5").channel == first.channel
    assert sv.Mechanism.from_spec(first.spec()).fingerprint == first.fingerprint
    price = Cost(queries("cdf", 10), float(odds(Decimal("1.5"))), np.full(10, 0.1))
    again = coded_bits(price, 13, 8)
    sets = first.channel.sets  # type: ignore[attr-defined]
    assert isinstance(sets, ShiftSets)
    assert ["".join(str(int(bit)) for bit in row) for row in again] == list(sets.patterns)


def test_a_prior_lowers_the_error_where_answers_are() -> None:
    domain, belief = sv.Interval(0, 16), sv.Prior.normal(4, 1, 0, 16)
    plain, told = (
        sv.mechanism("designed-distribution", domain, epsilon=1, buckets=16, outputs=64, **options)
        for options in ({}, {"prior": belief})
    )
    edges = np.linspace(0, 16, 17)
    shares = np.histogram(belief.values, edges, weights=belief.weights)[0]
    laws = [np.array([law_row(m.channel, code) for code in range(16)]).T for m in (plain, told)]
    wanted = queries("cdf", 16)
    assert variance(laws[1], wanted, shares) < 0.97 * variance(laws[0], wanted, shares)
    assert variance(laws[1], wanted, shares) > bound(wanted, 1.0, shares)


@pytest.mark.parametrize("codes", [5, 8])
def test_products_by_fourier_transforms_are_those_of_the_matrix(codes: int) -> None:
    channel = Block(ShiftSets(codes, ("11010000", "10000011")), 3 * UNIT // 4)
    found = transition_of(channel, codes)
    assert isinstance(found, ShiftTransition)
    matrix = np.array([[float(channel.likelihood(y, code)) for code in range(codes)] for y in range(16)])
    dense, rng = DenseTransition(matrix), np.random.default_rng(1)
    shares, ratios = rng.dirichlet(np.ones(codes)), rng.random(16)
    assert np.abs(found.forward(shares) - dense.forward(shares)).max() < 1e-15
    assert np.abs(found.backward(ratios) - dense.backward(ratios)).max() < 1e-14
    if codes == 8:
        halves = transition_of(channel, 4)
        assert np.abs(halves.matrix - matrix.reshape(16, 4, 2).mean(axis=2)).max() < 1e-15
        assert np.abs(halves.backward(ratios) - ratios @ halves.matrix).max() < 1e-14


# --- how good they are -------------------------------------------------------------------------------------------
TABLES = {"0.5": 43.0, "1": 10.0, "2": 2.02}
WAVES = {"0.5": 45.5, "1": 10.7, "2": 2.12}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [pytest.param("0.5", marks=pytest.mark.long), "1", "2"])
def test_designs_of_64_bins_are_near_the_bound(epsilon: str) -> None:
    table = table_design(epsilon, 64, outputs=256)
    assert table.bound < table.variance < TABLES[epsilon]
    found = wave(epsilon, 64)
    assert found.bound < found.variance < WAVES[epsilon]
    assert found.channel.sets.outputs <= 400


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [pytest.param("0.5", marks=pytest.mark.long), "1", "2"])
def test_four_patterns_on_a_circle_are_within_two_percent_of_the_bound(epsilon: str) -> None:
    found = wave(epsilon, 64, circular=True, patterns=4)
    assert found.bound < found.variance < 1.02 * found.bound


@pytest.mark.long
def test_more_bins_take_seconds() -> None:
    found = wave_design("1", 128, cells=176, patterns=2)
    assert found.bound < found.variance < 14.2


@pytest.mark.slow
def test_even_a_sharp_budget_or_a_faint_one_has_a_design() -> None:
    for epsilon in ("0.01", "20"):
        for found in (table_design(epsilon, 12, outputs=48), wave(epsilon, 12)):
            assert found.bound <= found.variance < np.inf


# --- what is refused ---------------------------------------------------------------------------------------------
@for_each(
    "name,domain,options,sentence",
    [
        ("designed-distribution", sv.Integers(0, 9), {"workload": "mode"}, "workload"),
        ("designed-distribution", sv.Integers(0, 9), {"buckets": 11}, "buckets"),
        ("designed-distribution", sv.Interval(0, 9), {"buckets": 257}, "buckets"),
        ("designed-distribution", sv.Integers(0, 9), {"outputs": 9}, "outputs"),
        ("designed-distribution", sv.Interval(0, 9), {"prior": [1, 2]}, "prior"),
        ("designed-distribution", sv.Interval(0, 9), {"prior": sv.Prior.uniform(0, 10)}, "outside the domain"),
        ("coded-wave", sv.Integers(0, 9), {"cells": 9}, "cells"),
        ("coded-wave", sv.Circle(9), {"cells": 80}, "cells"),
        ("coded-wave", sv.Integers(0, 9), {"patterns": 0}, "patterns"),
        ("coded-wave", sv.Interval(0, 9), {"buckets": 5000}, "buckets"),
        ("coded-wave", sv.Box(0, 1, 2), {}, "domain"),
    ],
)
def test_other_parameters_are_refused(name: str, domain: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        sv.mechanism(name, domain, epsilon=1, **options)


def test_an_odd_number_of_outputs_has_no_mirror_images() -> None:
    price = Cost(queries("cdf", 3), np.e, np.full(3, 1 / 3))
    bits = listed_bits(price, 9, mirrored=False)
    assert bits.shape == (9, 3)
    assert len(set(bits.sum(axis=0))) == 1


# --- waves of many buckets ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["cdf", "ranges", "histogram", "mean", "moments"])
def test_the_spectrum_is_that_of_all_queries_without_jumps(name: str) -> None:
    bins, cells = 7, 10
    beyond = np.arange(1, cells - bins + 1) / (cells - bins + 1)
    rows = np.array([[*row, *(row[-1] + (row[0] - row[-1]) * beyond)] for row in listed(name, bins, False)])
    found, wanted = queries(name, bins), (np.abs(np.fft.rfft(rows)) ** 2).sum(axis=0) / cells
    assert np.abs(found.spectrum(cells) - found.spare - wanted)[1:].max() < 1e-9 * wanted.max()


@pytest.mark.parametrize("cells", [9, 12])
def test_the_slopes_on_a_circle_are_differences_of_costs(cells: int) -> None:
    price = Cost(queries("cdf", 8), 3.0, np.full(8, 1 / 8))
    search = CircleWave(price, cells, 2, 7, queries("cdf", 8).spectrum(cells))
    rng = np.random.default_rng(6)
    t, way = search.project(rng.random(2 * cells)), rng.normal(size=2 * cells)
    ahead, behind = (search.cost(t + step * way)[0] for step in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(float(search.cost(t)[1] @ way), rel=1e-5)
    assert search.value(t) == search.cost(t)[0]


def test_the_cost_on_a_circle_is_the_variance_on_it() -> None:
    wanted = queries("ranges", 12, circular=True)
    price, bits = Cost(wanted, 3.0, np.full(12, 1 / 12)), np.array([1.0, 1, 0, 1] + [0] * 8 + [1, 0, 1, 0, 1] + [0] * 7)
    wave_ = CircleWave(price, 12, 2, 6, wanted.spectrum(12))
    known = wanted.gram.sum() / 12**2  # of the sum of all shares, which a report says nothing about
    assert wave_.value(bits) + known == pytest.approx(wave_.on_line(bits))


@pytest.mark.parametrize(("cells", "reading"), [(24, CircleDecode), (30, ShiftDecode)])
def test_scores_by_fourier_transforms_are_those_of_least_variance(cells: int, reading: Any) -> None:
    channel = wave_design("1", 24, cells=cells, patterns=3).channel
    transition = transition_of(channel, 24)
    found, dense, rng = reading(transition), DenseDecode(transition), np.random.default_rng(2)
    rates, weights = rng.dirichlet(np.ones(transition.outputs)), rng.normal(size=(40, 24))
    assert np.abs(found.scores(weights) - dense.scores(weights)).max() < 1e-8
    assert np.abs(found.values(rates) - dense.values(rates)).max() < 1e-8
    assert found.squares(rates) == pytest.approx(dense.squares(rates), rel=1e-5)
    for target in Target:
        assert found.spreads(weights, rates, target) == pytest.approx(dense.spreads(weights, rates, target), rel=1e-5)
    assert isinstance(linear_decode(channel, 24), CircleDecode if cells == 24 else DenseDecode)


@pytest.mark.parametrize("reading", [CircleDecode, ShiftDecode])
def test_reports_that_tell_too_little_are_refused(reading: Any) -> None:
    channel = Block(ShiftSets(6, ("110110",)), 3 * UNIT // 4)  # a pattern with a period
    with pytest.raises(sv.ParameterError, match="do not determine the shares of 6 buckets"):
        reading(transition_of(channel, 6))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "ratio", "most"), [("0.5", 1.10, 172), ("1", 1.12, 41), ("2", 1.17, 8.4)])
def test_ranges_of_many_buckets_are_near_the_bound(epsilon: str, ratio: float, most: float) -> None:
    middle, large = wave(epsilon, 256, "ranges"), wave(epsilon, 1024, "ranges")
    assert middle.bound < middle.variance < ratio * middle.bound
    assert large.variance < most


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["ranges", "cdf"])
def test_a_thousand_buckets_have_unbiased_shares_and_intervals(workload: str) -> None:
    m = sv.mechanism("coded-wave", sv.Integers(0, 1023), epsilon=1, buckets=1024, workload=workload)
    decode, transition = linear_decode(m.channel, 1024), transition_of(m.channel, 1024)
    shares = np.random.default_rng(1).dirichlet(np.ones(1024))
    assert np.abs(decode.values(transition.forward(shares)) - shares).max() < 1e-9
    found = m.estimate(m.tally(m.privatize(np.arange(50_000) % 512, seed=3))).range(0, 511)
    low, high = found.ci()
    assert low[0] < 1 <= high[0] + 0.05
    assert isinstance(decode, CircleDecode if workload == "ranges" else ShiftDecode)


def test_only_cumulative_shares_are_replaced_around_a_circle() -> None:
    for workload in BY_NAME.values():
        assert workload.ranked(circular=False) is workload
        assert workload.ranked(circular=True) is (BY_NAME["histogram"] if workload.is_cumulative else workload)
    assert {one.is_cumulative for one in BY_NAME.values()} == {True, False}
