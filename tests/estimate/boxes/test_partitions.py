"""HIO, AHEAD, HDG and TDG: unbiased for every box that their parts tell, with exact variances, and as published."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import Subset
from sottovoce.core.domain import Integers, Level, Merged, Record, Select
from sottovoce.core.domain.places import base_of, places_of
from sottovoce.core.exact import law
from sottovoce.core.round import Protocol
from sottovoce.estimate.boxes.copula import FieldLine, joined
from sottovoce.estimate.boxes.grids import all_inside, consistent, pair_table
from sottovoce.estimate.boxes.partitions import PartReading, over, partition_boxes
from sottovoce.estimate.boxes.tree import AdaptiveTree
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.joint.residuals import ContrastVariance
from sottovoce.estimate.request import Target
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.arms import coarse
from sottovoce.protocols.boxes.copula import CopulaRounds
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.boxes.hio import HIO
from sottovoce.tally.tally import Tally
from tests.each import for_each

PAIR = sv.Record({"age": sv.Integers(0, 4), "sex": sv.Categories(["f", "m", "x"])})
THREE = sv.Record({name: sv.Integers(0, 3) for name in ("a", "b", "c")})


def expected_tally(mechanism: Any, shares: np.ndarray, base: Any, n: int) -> Tally:
    """The tally whose counts are their expectations, for these shares of the cells of a base grid."""
    chosen: Any = base_of(mechanism.domain)
    names = [name for name, _ in base.parts]
    shape = [field.size for _, field in base.parts]
    kept = shares.reshape(shape).sum(axis=tuple(i for i, name in enumerate(names) if name not in chosen.names)).ravel()
    own, other = two_rates(mechanism.channel)
    held = np.bincount(places_of(mechanism.domain), kept)
    cells = np.rint(n * (other + (own - other) * held)).astype(np.int64)
    if isinstance(mechanism.channel, Subset):
        cells[0] += n * mechanism.channel.w - int(cells.sum())
    return Tally(mechanism, n, cells)


@for_each("view", ["select", "level", "merged", "merged cells"])
def test_the_places_of_cells_are_the_codes_of_their_answers(view: str) -> None:
    record = Record({"a": Integers(3, 8), "b": sv.Categories(["x", "y"])})
    levels = Record({"a": Level(Integers(3, 8), 2, 2), "b": sv.Categories(["x", "y"])})
    merged = Record({"a": Merged(Integers(3, 8), (1, 1, 0, 2, 2, 0)), "b": sv.Categories(["x", "y"])})
    views = {
        "select": Select(record, ["b", "a"]),
        "level": Select(levels, ["a", "b"]),
        "merged": Select(merged, ["a"]),
        "merged cells": Merged(Select(record, ["a", "b"]), (0, 1, 2, 0, 1, 2, 3, 3, 3, 3, 0, 1)),
    }
    domain: Any = views[view]
    base: Any = base_of(domain)
    fields = {"a": range(3, 9), "b": ["x", "y"]}
    cells = [dict(zip(base.names, cell, strict=True)) for cell in product(*(fields[name] for name in base.names))]
    answers = [{"a": 3, "b": "x", **cell} for cell in cells]
    assert list(places_of(domain)) == [domain.encode(answer) for answer in answers]


def protocols() -> dict[str, Protocol]:
    return {
        "hio": HIO(PAIR, 1, branching=2),
        "hio, categorical": HIO(PAIR, 1, branching=3, categorical=["sex"], oracle="subset"),
        "hdg": HDG(PAIR, 1, 1000, parts=(8, 2)),
        "tdg": HDG(PAIR, 1, 1000, lines=False, parts=(8, 2)),
    }


@for_each("name", list(protocols()))
def test_boxes_are_unbiased_where_parts_tell_them(name: str, seed: int) -> None:
    """From expected counts every box has its true share, and its inner and outer part the shares of their parts."""
    protocol: Any = protocols()[name]
    shares = np.random.default_rng(seed).dirichlet(np.ones(15))
    tallies = [expected_tally(arm.mechanism, shares, protocol.base, 1 << 40) for arm in protocol.start().arms]
    evidence = protocol.advance([tuple(tallies)])["boxes"].evidence
    labels = ["f", "m", "x"]
    known = 0
    for (low, high), (first, last) in product(
        combinations_with_replacement(range(5), 2), combinations_with_replacement(range(3), 2)
    ):
        answer = evidence.boxes([{"age": (low, high), "sex": (labels[first], labels[last])}])
        for row in (answer.inner, answer.outer):
            told = evidence.functional(row).values[0]
            assert told == pytest.approx(float(shares @ row[0]), abs=1e-6)
        known += answer.known
    assert known == 90 if name.startswith("hio") else 0 < known < 90


def test_variances_are_those_of_the_enumerated_law(seed: int) -> None:
    """One report of each arm: the variance of the score of a box, over the law of the reports."""
    protocol = HIO(sv.Record({"age": sv.Integers(0, 3), "sex": sv.Categories(["f", "m"])}), 1, branching=2)
    shares = np.random.default_rng(seed).dirichlet(np.ones(8))
    n = 1 << 40
    tallies = [expected_tally(arm.mechanism, shares, protocol.base, n) for arm in protocol.start().arms]
    evidence = partition_boxes(protocol.question, protocol.base, tallies, everybody=True)
    row = evidence.boxes([{"age": (1, 2), "sex": "m"}]).weights
    solved = evidence._solved(row)[0]
    totals = {Target.POPULATION: 0.0, Target.SAMPLE: 0.0}
    for arm, reading in zip(protocol.start().arms, evidence.readings, strict=True):
        own = np.bincount(reading.parts, shares)
        weights = reading.weight * (reading.matrix @ solved)
        low, high = (float(rate) for rate in (0.5, 1 / (np.exp(1.0) + 1)))
        first = second = within = 0.0
        for code, share in enumerate(own):
            mean = square = 0.0
            for (_, report), chance in law(arm.mechanism.channel, code).items():
                supports = np.array([report >> place & 1 for place in range(len(own))])
                scores = (supports - high) / (low - high)
                score = float(weights @ (scores + (1 - scores.sum()) / len(own)))
                mean += float(chance) * score
                square += float(chance) * score**2
            first, second, within = first + share * mean, second + share * square, within + share * (square - mean**2)
        totals[Target.POPULATION] += (second - first**2) / n
        totals[Target.SAMPLE] += within / n
    for target, total in totals.items():
        assert evidence.spreads(row, target)[0] == pytest.approx(total, rel=1e-5)
        full = np.diag(evidence.covariance(target))
        assert evidence.variances(target) == pytest.approx(full, rel=1e-7)
        alone = partition_boxes(protocol.question, protocol.base, tallies[-1:], everybody=True)
        assert alone.variances(target) == pytest.approx(np.diag(alone.covariance(target)), rel=1e-7)
        parts_of_all = partition_boxes(protocol.question, protocol.base, tallies)  # coins chose who was asked what
        assert parts_of_all.spreads(row, target)[0] == pytest.approx(totals[Target.POPULATION], rel=1e-5)


@pytest.mark.slow
def test_intervals_cover(seed: int) -> None:
    """Boxes of 60 crowds; the bounds are five standard errors of a coverage of 95 %."""
    from sottovoce_experiments.boxes.played import played

    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(15) / 3)
    for protocol in (HIO(PAIR, 2, branching=2), AHEAD(PAIR, 2, 3000)):
        covered = []
        for _ in range(60):
            estimate = played(protocol, shares, 3000, rng)
            for low, high in ((1, 3), (0, 2)):
                (least,), (most,) = estimate.range(age=(low, high), sex=("f", "m")).quiet_ci()
                covered.append(least <= float(shares.reshape(5, 3)[low : high + 1, :2].sum()) <= most)
        assert np.mean(covered) > 0.95 - 5 * (0.05 * 0.95 / 60) ** 0.5


# --- AHEAD ----------------------------------------------------------------------------------------------------------
def test_the_tree_splits_large_parts_and_keeps_sums() -> None:
    tree = AdaptiveTree.after((4, 4), [(np.array([0.9, 0.1, 0.0, 0.0]), 1e-4)])
    assert [part.spans for part in tree.parts][:4] == [((i, i + 1), (j, j + 1)) for i in (0, 1) for j in (0, 1)]
    assert len(tree.parts) == 10 and sorted(set(tree.places().tolist())) == list(range(10))
    even = np.full(10, 0.05)
    even[:4] = [0.7, 0.1, 0.0, 0.0]
    done = AdaptiveTree.after((4, 4), [(np.array([0.9, 0.1, 0.0, 0.0]), 1e-4), (even, 1e-4)], last=True)
    found = done.shares()
    assert found.sum() == pytest.approx(1) and found.min() >= 0


def test_parts_without_answers_are_not_split() -> None:
    """Half of the answers at one value, others at both ends: as many parts as the answers need."""
    people = [{"x": value} for value in [20] * 4000 + [0] * 2000 + [63] * 2000]
    protocol = AHEAD(sv.Record({"x": sv.Integers(0, 63)}), 4, len(people))
    estimate = sv.simulate(protocol, people, seed=2)["boxes"]
    assert len(estimate.evidence.readings[0].shares) < 24
    decoded = estimate.decoded("fitted")
    assert decoded.range(x=20).value == pytest.approx(0.5, abs=0.05)
    assert decoded.range(x=0).value == pytest.approx(0.25, abs=0.05)
    assert decoded.values.min() >= 0 and decoded.values.sum() == pytest.approx(1)


@for_each("name", ["hio", "ahead"])
def test_boxes_over_three_fields_have_unbiased_intervals(name: str) -> None:
    people = [{"a": i % 4, "b": i // 4 % 4, "c": i % 4} for i in range(16_000)]
    protocol: Any = HIO(THREE, 4) if name == "hio" else AHEAD(THREE, 4, len(people))
    estimate = sv.simulate(protocol, people, seed=4)["boxes"]
    (low,), (high,) = estimate.range(a=(0, 1), b=(0, 1), c=(0, 1)).quiet_ci(0.9999)
    assert low <= 0.25 <= high and high - low < 0.3


# --- HDG ------------------------------------------------------------------------------------------------------------
def test_granularities_are_the_published_ones() -> None:
    """By hand: six fields, 10**6 people, epsilon 1: 21 groups, g1 = 20.1, g2 = 3.7; 15 without lines."""
    six = sv.Record({name: sv.Integers(0, 63) for name in "abcdef"})
    assert HDG(six, 1, 1_000_000).granularity == (16, 4)
    assert HDG(six, 1, 1_000_000, lines=False).granularity == (4, 4)
    assert len(HDG(six, 1, 1_000_000).start().arms) == 21


def test_consistent_grids_agree_and_tables_follow_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(64)).reshape(8, 8)
    noise = rng.normal(0, 0.01, (4, 2))
    coarse_grid = truth.reshape(4, 2, 2, 4).sum(axis=(1, 3))
    lines = {("a",): truth.sum(axis=1), ("b",): truth.sum(axis=0)}
    sizes = {"a": 8, "b": 8}
    tables = consistent({**lines, ("a", "b"): coarse_grid + noise - noise.mean()}, sizes)
    assert all(table.min() >= 0 and table.sum() == pytest.approx(1) for table in tables.values())
    both = tables["a",].reshape(4, 2).sum(axis=1), tables["a", "b"].sum(axis=1)
    assert np.abs(both[0] - both[1]).max() < 0.01
    exact = {**lines, ("a", "b"): coarse_grid}
    table = pair_table(exact, ("a", "b"), sizes)
    assert table.sum(axis=1) == pytest.approx(exact["a",], abs=1e-5)
    assert table.reshape(4, 2, 2, 4).sum(axis=(1, 3)) == pytest.approx(coarse_grid, abs=1e-5)


def test_conditions_of_independent_fields_multiply() -> None:
    inside = [0.5, 0.2, 0.9]
    pairs = {(i, j): inside[i] * inside[j] for i in range(3) for j in range(i + 1, 3)}
    assert all_inside(inside, pairs) == pytest.approx(0.09, abs=1e-5)
    assert all_inside([0.4, 0.4, 0.4], dict.fromkeys(pairs, 0.4)) == pytest.approx(0.4, abs=1e-4)


def test_boxes_of_three_fields_have_intervals_that_hold_for_any_distribution() -> None:
    people = [{"a": i % 4, "b": i % 4, "c": (i % 4) ^ (i % 3 == 0)} for i in range(40_000)]
    estimate = sv.simulate(HDG(THREE, 4, 40_000, parts=(4, 4)), people, seed=3)["boxes"]
    box = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
    found = estimate.range(**box)
    (low,), (high,) = found.ci()
    truth = float(np.mean([one["a"] < 2 and one["b"] < 2 and one["c"] < 2 for one in people]))
    assert low <= truth <= high and low > 0.4 and high < 0.6
    assert estimate.decoded("fitted").range(**box).value == pytest.approx(truth, abs=0.05)
    with pytest.raises(sv.ParameterError, match="two fields"):
        estimate.outside(**box)


# --- copulas ---------------------------------------------------------------------------------------------------------
@for_each("correlation", [-0.7, 0.0, 0.6])
def test_a_normal_copula_is_found_from_exact_coarse_shares(correlation: float) -> None:
    """The bivariate normal law on a fine grid, against its own cells; and a table of no normal law, block by block."""
    middles = (np.arange(32) - 15.5) / 5
    x, y = middles[:, None], middles
    table = np.exp(-(x**2 + y**2 - 2 * correlation * x * y) / (2 * (1 - correlation**2)))
    table /= table.sum()
    first, second = table.sum(axis=1), table.sum(axis=0)
    parts = np.minimum((np.cumsum(first) * 4).astype(int), 3)
    own = (parts[:, None] * 4 + parts).ravel()
    coarse = np.bincount(own, table.ravel())
    reading = PartReading(("a", "b"), (4, 4), own, coarse, 1e12, ContrastVariance(1.0, 1.0), 1e6)
    found = joined(first, second, cast(Any, SimpleNamespace(readings=[reading])))
    assert np.abs(found - table).sum() < 0.02
    assert found.sum(axis=1) == pytest.approx(first, abs=1e-6)
    crossed = coarse.copy()
    crossed[[0, 5]], crossed[[1, 4]] = crossed[[0, 5]] + 0.004, crossed[[1, 4]] - 0.004
    odd = joined(first, second, cast(Any, SimpleNamespace(readings=[replace(reading, shares=crossed)])))
    assert np.abs(np.bincount(own, odd.ravel()) - crossed).max() < 1e-4


def test_a_margin_meets_coarse_shares_by_the_errors_of_both() -> None:
    """By hand: half of an unbiased variance of 0.02, against 0.03 of the coarse shares: a quarter of the way."""
    spread = np.array([[1.0, -1.0], [-1.0, 1.0]])
    evidence = SimpleNamespace(functional=lambda rows: SimpleNamespace(covariance=0.02 * spread))
    line = FieldLine(np.array([0.1, 0.3, 0.6]), cast(Any, evidence))
    parts, coarse = np.array([0, 0, 1]), np.array([0.8, 0.2])
    found = line.meeting(parts, coarse, 0.03 * spread)
    assert found == pytest.approx([0.125, 0.375, 0.5])
    assert FieldLine(line.shares, None).meeting(parts, coarse, spread) == pytest.approx([0.2, 0.6, 0.2])
    negative = FieldLine(line.shares, None).meeting(parts, np.array([1.01, -0.01]), spread)
    assert negative.min() > 0 and negative.sum() == pytest.approx(1)


def test_margins_use_the_tables_of_all_pairs() -> None:
    """Few reports about single fields: the shares of coarse parts come from the pairs."""
    people = [{"a": value, "b": value, "c": 3 - value} for value in (0, 0, 0, 1, 2, 3) for _ in range(4000)]
    protocol = CopulaRounds(THREE, 4, len(people), ranks=4, first="0.002")
    evidence = sv.simulate(protocol, people, seed=2)["boxes"].evidence
    for name, truth in (("a", [0.5, 1 / 6, 1 / 6, 1 / 6]), ("c", [1 / 6, 1 / 6, 1 / 6, 0.5])):
        assert evidence.margin(name) == pytest.approx(truth, abs=0.02)
        assert np.abs(evidence.lines[name].shares - truth).max() > 0.02


@for_each("rounds", [1, 2])
def test_copulas_find_shares_that_are_heaped_and_at_both_ends(rounds: int) -> None:
    values = [0, 0, 0, 10, 10, 20, 30, 31]
    people = [{"a": values[i % 8], "b": values[(i + i // 8 % 2) % 8], "c": values[i // 64 % 8]} for i in range(24_000)]
    record = sv.Record({name: sv.Integers(0, 31) for name in ("a", "b", "c")})
    protocol = CopulaRounds(record, 4, len(people), ranks=3, rounds=rounds)
    estimate = sv.simulate(protocol, people, seed=5)["boxes"].decoded("fitted")
    for box in ({"a": 0}, {"a": (0, 9), "b": (0, 9)}, {"a": (0, 15), "b": (0, 15), "c": (0, 15)}):
        inside = [all(_within(one[name], limits) for name, limits in box.items()) for one in people]
        assert estimate.range(**box).value == pytest.approx(float(np.mean(inside)), abs=0.06)
    (low,), (high,) = estimate.range(a=(0, 9), b=(0, 9)).ci()
    assert low <= float(np.mean([one["a"] < 10 and one["b"] < 10 for one in people])) <= high


def _within(value: int, limits: Any) -> bool:
    low, high = limits if isinstance(limits, tuple) else (limits, limits)
    return bool(low <= value <= high)


@for_each("pair", [(8, 4), (5, 2), (3, 4), (16, 3), (64, 8)])
def test_coarse_fields_have_groups_of_equal_width(pair: tuple[int, int]) -> None:
    size, groups = pair
    field = coarse(sv.Integers(0, size - 1), groups)
    width = -(-size // min(groups, size))
    assert list(places_of(field)) == [code // width for code in range(size)]


def test_few_reports_are_doubted() -> None:
    people = [{"age": 1, "sex": "f"}, {"age": 3, "sex": "m"}] * 30
    estimate = sv.simulate(HIO(PAIR, 1, branching=2), people, seed=1)["boxes"]
    assert "too few reports" in str(estimate.range(age=(0, 2)).doubt())


@for_each("wrong", ["oracle", "categorical", "arms", "fields", "parts"])
def test_mistakes_have_one_sentence(wrong: str) -> None:
    many = sv.Record({f"f{i}": sv.Integers(0, 3) for i in range(12)})
    calls: dict[str, Any] = {
        "oracle": lambda: HIO(PAIR, 1, oracle="grr"),
        "categorical": lambda: HIO(PAIR, 1, categorical=["town"]),
        "arms": lambda: HIO(many, 1, branching=2, buckets=2),
        "fields": lambda: HDG(sv.Record({"a": sv.Integers(0, 3)}), 1, 1000),
        "parts": lambda: HDG(PAIR, 1, 1000, parts=(1, 2)),
    }
    with pytest.raises(sv.ParameterError):
        calls[wrong]()


def test_over_repeats_the_parts_of_a_field() -> None:
    from sottovoce.estimate.boxes.grid import Grid

    grid = Grid.of(Select(PAIR, ["age", "sex"]))
    assert over(grid, ("sex",), np.array([0, 1, 1])).tolist() == [0, 1, 1] * 5
