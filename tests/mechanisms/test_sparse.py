"""Sparse vectors: exact laws, exact privacy with a private choice of the slot, unbiased means, batches."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import comb, exp, pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import FINE, UNIT, odds, units
from sottovoce.core.channel import Block, Channel, Hints, Place, SignedSets, Signs, Subset, Then
from sottovoce.core.channel.facets import dimensions_of, rounding_of, slots_of
from sottovoce.core.channel.vector.place import signed_rows
from sottovoce.core.channel.vector.signs import pattern, patterns, score
from sottovoce.core.coins import TapeCoins
from sottovoce.core.domain import Domain, domain_from_spec
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency, VectorMean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.vector_mean.sparse import from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.kernels.base import Draws, empty_reports, sampler
from sottovoce.fast.numbers import batch_codes, scalar_code
from sottovoce.fast.slots import slot_rows
from sottovoce.fast.words import WordStream
from sottovoce.mechanisms.vector import linf
from sottovoce.mechanisms.vector.sparse import best_hints, best_rows, best_signs, rows, square
from sottovoce.testing import check_mechanism
from sottovoce.testing.codes import codes_of
from sottovoce.testing.sparse import cells_of, check_small_sparse
from tests.each import for_each

E1 = odds(Decimal(1))
SHORT = 8


def vectors(dimensions: int, most: int, bound: Any = "0.5") -> Domain:
    return sv.Sparse(dimensions, most, bound)


def small_channels() -> dict[str, Channel]:
    found: dict[str, Channel] = {}
    for size, most in ((2, 1), (2, 2), (3, 1), (3, 2), (3, 3)):
        domain = sv.Sparse(size, most, "0.5")
        for groups in range(1, size + 1):
            found[f"rows {size} {most} {groups}"] = Then(Place(domain), signed_rows(size, groups, Fraction(3)))
        for w in range(1, size + 1):
            found[f"subset {size} {most} {w}"] = Then(Place(domain), Subset(2 * size, w, UNIT // 4 * 3))
        for least in range(1, most + 1):
            found[f"signs {size} {most} {least}"] = Signs.of_ratio(domain, least, Fraction(5, 2))
    for size, most in ((2, 1), (2, 2), (3, 1)):
        domain = sv.Sparse(size, most, "0.5")
        found[f"hints {size} {most} even"] = Hints.of_ratio(domain, UNIT // 8, Fraction(5))
        found[f"hints {size} {most} uneven"] = Hints(domain, UNIT // 8, (UNIT // 3, UNIT // 7)[:most])
    return found


SMALL = small_channels()


def some(*kinds: str) -> list[Any]:
    """Small channels of these kinds; those with most outcomes are slow."""
    chosen = [name for name in SMALL if name.split()[0] in kinds]
    quick = [name for name in chosen if name.split()[1] == "2" and name != "hints 2 2 even"]
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in chosen]


# --- the domain --------------------------------------------------------------------------------------------------
def test_an_answer_is_a_mapping_or_pairs_and_zeros_may_be_written() -> None:
    domain = sv.Sparse(10, 2, "1.5")
    code = ((3, Fraction(-3, 2)), (7, Fraction(1, 10)))
    for value in (
        {7: 0.1, 3: -1.5},
        [(7, 0.1), (3, Decimal("-1.5"))],
        ([3, -1.5], [7, 0.1], [0, 0.0], [9, 0]),
        {np.int64(3): np.float64(-1.5), 7: Fraction(1, 10), 0: -0.0},
    ):
        assert domain.encode(value) == code
    assert domain.encode({}) == domain.encode([]) == domain.encode({4: 0}) == ()
    assert list(domain.labels()) == list(range(10))
    assert domain_from_spec(domain.spec()) == domain
    assert domain.spec() == {"kind": "sparse", "dimensions": 10, "most": 2, "bound": "1.5"}


@for_each(
    "value",
    [
        {10: 1}, {-1: 1}, {0: 1.6}, {0: float("nan")}, {0: True}, {"0": 1}, {0.5: 1}, {0: 1, 1: 1, 2: 1}, {0: "1"},
        [(0, 1), (0, 1)], [(0, 1), (0, 0)], [(0,)], [0, 1], 0, None, "ab", [(0, 1, 2)], {0: None}, np.zeros(10), {1, 2},
    ],
)  # fmt: skip
def test_everything_else_is_refused_before_a_coin_is_drawn(value: Any) -> None:
    domain = sv.Sparse(10, 2, "1.5")
    with pytest.raises(sv.DomainError, match="at most 2 of them nonzero"):
        domain.encode(value)
    with pytest.raises(sv.DomainError):
        sv.mechanism("sparse", domain, epsilon=1).randomize(value, TapeCoins(b""))


@pytest.mark.parametrize(
    "arguments", [(1, 1), (10, 0), (10, 11), (10, 2, 0), (10, 2, -1), (10, 2.0), ((1 << 20) + 1, 1)]
)
def test_a_domain_has_sensible_numbers(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(sv.ParameterError):
        sv.Sparse(*arguments)


# --- the law -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", some("signs", "hints", "rows", "subset"))
def test_enumerated_law_and_ratio_are_the_closed_forms(name: str) -> None:
    channel = SMALL[name]
    laws = {}
    for code in codes_of(channel):  # ends, zeros, and numbers between
        laws[code] = {report: weight for (_, report), weight in law(channel, code).items()}  # type: ignore[arg-type]
        assert sum(laws[code].values()) == 1
        assert all(weight == channel.likelihood(report, code) for report, weight in laws[code].items())
    corners = [laws[code] for code in channel.codes()]
    assert len(corners) == channel.inputs
    assert worst_ratio(corners) == worst_ratio(list(laws.values())) == channel.ratio()


def reference_place(domain: Any, code: Any) -> dict[int, Fraction]:
    """Places and signs, by filling empty slots in every way, written down apart from the node."""
    held = dict(code)
    free = [place for place in range(domain.dimensions) if place not in held]
    total: dict[int, Fraction] = {}
    for place, number in held.items():
        plus = Fraction(round((1 + number / Fraction(domain.bound)) / 2 * 2**32), 2**32)
        for report, share in ((2 * place, plus), (2 * place + 1, 1 - plus)):
            total[report] = total.get(report, Fraction(0)) + share / domain.most
    for place in free:
        for report in (2 * place, 2 * place + 1):
            share = Fraction(domain.most - len(held), 2 * len(free) * domain.most)
            total[report] = total.get(report, Fraction(0)) + share
    return {report: share for report, share in total.items() if share}


@pytest.mark.parametrize(("size", "most"), [(2, 1), (2, 2), (4, 3)])
def test_a_place_is_one_slot_with_its_sign(size: int, most: int) -> None:
    channel = Place(sv.Sparse(size, most, "0.5"))
    for code in codes_of(channel):
        drawn = {report: weight for (_, report), weight in law(channel, code).items()}  # type: ignore[arg-type]
        assert drawn == reference_place(channel.vectors, code)
    with pytest.raises(sv.PrivacyError, match="infinite"):
        channel.ratio()


def reference_signs(channel: Signs, code: Any) -> dict[int, Fraction]:
    """Every rounding, every pattern of slots and every sign beside the entries."""
    size, most = channel.dimensions, channel.most
    likely = [a for a in product((0, 1), repeat=most) if sum(a) >= channel.least]
    rest = [a for a in product((0, 1), repeat=most) if sum(a) < channel.least]
    total: dict[int, Fraction] = {}
    for agreeing in (*likely, *rest):
        inside = agreeing in likely
        weight = units(channel.inside) / len(likely) if inside else (1 - units(channel.inside)) / len(rest)
        for signs in product((0, 1), repeat=size):
            share = weight
            for place in range(size):
                if place not in dict(code):
                    share /= 2
            for slot, (place, number) in enumerate(code):
                plus = Fraction(round((1 + number / Fraction(channel.bound)) / 2 * 2**32), 2**32)
                share *= plus if signs[place] == agreeing[slot] else 1 - plus
            report = sum(sign << place for place, sign in enumerate(signs))
            total[report] = total.get(report, Fraction(0)) + share
    return {report: share for report, share in total.items() if share}


@pytest.mark.parametrize("name", some("signs"))
def test_signs_are_what_they_say(name: str) -> None:
    channel = SMALL[name]
    assert isinstance(channel, Signs)
    for code in codes_of(channel):
        drawn = {report: weight for (_, report), weight in law(channel, code).items()}  # type: ignore[arg-type]
        assert drawn == reference_signs(channel, code)


def test_one_sparse_is_the_published_mechanism() -> None:
    """The entry's sign with e/(e+1), all others fair, so B = bound (e+1)/(e-1)."""
    mechanism = sv.mechanism("one-sparse", sv.Sparse(3, 1, 2), epsilon=1)
    p = exp(1) / (exp(1) + 1)
    for (_, report), weight in law(mechanism.channel, ((1, Fraction(2)),)).items():  # type: ignore[arg-type]
        assert float(weight) == pytest.approx((p if report >> 1 & 1 else 1 - p) / 4, rel=1e-12)
    assert float(score(mechanism.channel).scale) == pytest.approx(2 * (exp(1) + 1) / (exp(1) - 1), rel=1e-12)
    for weight in law(mechanism.channel, ()).values():  # type: ignore[arg-type]
        assert weight == Fraction(1, 8)


@settings(max_examples=40)
@given(most=st.integers(1, 12), data=st.data())
def test_patterns_are_numbered_without_gaps(most: int, data: Any) -> None:
    least = data.draw(st.integers(0, most))
    many, few = patterns(most, least)
    assert many + few == 1 << most
    index = data.draw(st.integers(0, many - 1))
    assert pattern(index, least, most).bit_count() >= least
    if most <= 6:
        assert len({pattern(i, least, most) for i in range(many)}) == many
        assert sorted(pattern(i, 0, most).bit_count() for i in range(few)) == sorted(
            mask.bit_count() for mask in range(1 << most) if mask.bit_count() < least
        )


@pytest.mark.parametrize(("size", "groups"), [(2, 1), (5, 1), (5, 2), (7, 3), (4, 4)])
def test_signed_rows_are_halves_of_one_group(size: int, groups: int) -> None:
    sets = signed_rows(size, groups, Fraction(3)).sets
    assert isinstance(sets, SignedSets)
    for code in range(sets.codes):
        members = {y for y in range(sets.outputs) if sets.member(code, y)}
        assert members == {sets.output(code, index, True) for index in range(sets.size)}
        others = [sets.output(code, index, False) for index in range(sets.outputs - sets.size)]
        assert sorted(others) == sorted(set(range(sets.outputs)) - members)
        opposite = {y for y in range(sets.outputs) if sets.member(code ^ 1, y)}
        group = code // 2 % groups
        assert members | opposite == set(range(group * sets.order, (group + 1) * sets.order))
        for other in range(sets.codes):
            if other // 2 != code // 2:
                common = sum(sets.member(other, y) for y in members)
                assert common == (sets.size // 2 if other // 2 % groups == group else 0)


# --- privacy -----------------------------------------------------------------------------------------------------
QUICK = {("signs", "1"), ("hadamard", "1"), ("grr", "4")}
AUDITS = [
    pytest.param(*case, marks=[] if case[:2] in ((2, 1), (3, 2)) and case[2:] in QUICK else pytest.mark.slow)
    for case in product((2, 3), (1, 2), ("signs", "hints", "hadamard", "grr", None), ("0.5", "1", "4"))
]


@pytest.mark.parametrize(("size", "most", "oracle", "epsilon"), AUDITS)
def test_the_audit_enumerates_small_mechanisms(size: int, most: int, oracle: str | None, epsilon: str) -> None:
    mechanism = sv.mechanism("sparse", vectors(size, most), epsilon=epsilon, oracle=oracle)
    certificate = sv.audit(mechanism)
    assert certificate.ok, str(certificate)
    if not isinstance(mechanism.channel, Hints):  # of which three places have too many outcomes
        assert certificate.how == "enumerated"
    assert float(epsilon) - 1e-12 < certificate.epsilon <= float(epsilon)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_the_private_slot_is_worth_budget(most: int) -> None:
    """Of most slots one can match in randomized response: R = 1 + most (e - 1), against R = e without that."""
    domain = sv.Sparse(6, most)
    channel = rows(domain, 6, E1)
    assert isinstance(channel.second, Block)
    assert float(channel.second.ratio()) == pytest.approx(1 + most * (exp(1) - 1), rel=1e-12)
    assert float(channel.ratio()) == pytest.approx(exp(1), rel=1e-12) and channel.ratio() <= E1
    same = Then(Place(domain), Subset(12, 1, channel.second.inside))  # the same law under another name
    assert same.ratio() == channel.ratio()
    naive = Then(Place(domain), signed_rows(6, 6, E1))
    assert square(naive) >= square(channel)
    share = (exp(1) - 1) / 12
    gain = (1 + share) ** 2 * most**2 / (1 + most * share) ** 2  # nearly most**2 where 2 d is large beside most (e - 1)
    assert float(square(naive) / square(channel)) == pytest.approx(gain, rel=1e-9)


@pytest.mark.parametrize(("w", "together"), [(1, 1), (2, 2), (5, 3), (40, 3)])
def test_a_subset_of_codes_supports_as_many_places_as_it_has_codes(w: int, together: int) -> None:
    """Too large to be enumerated: `together` of three slots can match, R = (together r + 3 - together) / 3."""
    first, second = Place(sv.Sparse(40, 3)), Subset(80, w, UNIT // 4 * 3)
    assert first.ratio_before(second) == (together * second.ratio() + 3 - together) / 3
    larger = Subset(80, 41, UNIT // 4 * 3)  # which supports both signs of a place
    assert first.ratio_before(larger) is None


@pytest.mark.slow
@pytest.mark.parametrize(("size", "shares"), [(3, (3, 7, 5)), (3, (9, 4, 5)), (4, (4, 9, 5, 6)), (4, (9, 9, 6, 8))])
def test_the_worst_agreement_of_hints_is_found(size: int, shares: tuple[int, ...]) -> None:
    """Shares far from those of chance, so that which entries agree matters: all reports against all full vectors."""
    channel = Hints(sv.Sparse(size, size), UNIT // 16, tuple(UNIT // share for share in shares))
    full = [code for code in channel.codes() if len(code) == size]
    worst = Fraction(1)
    for said in product((0, 1, 1 << channel.width), repeat=size):  # nothing, + or - of each place
        report = sum(sign << place for place, sign in enumerate(said))
        column = [channel.likelihood(report, code) for code in full]
        worst = max(worst, max(column) / min(column))
    assert worst == channel.ratio()


class OnePercent(Signs):
    """A sampler whose coin is 1 % off what the node says."""

    __slots__ = ()

    def sample(self, code: Any, coins: Any, public: Any = (0, 0)) -> int:
        return Signs(self.vectors, self.least, self.inside * 101 // 100).sample(code, coins, public)


class Uneven(Place):
    """Gives empty slots the first place a little too often: one in a hundred of them is not drawn anew."""

    __slots__ = ()

    def sample(self, code: Any, coins: Any, public: Any = (0, 0)) -> int:
        report = Place.sample(self, code, coins)
        return 0 if report > 1 and not code and coins.flip(UNIT // 100) else report


class Misread(Signs):
    """Reports that are read 1 % too small."""

    __slots__ = ()

    @property
    def keep(self) -> Fraction:
        return Signs.keep.fget(self) * Fraction(101, 100)  # type: ignore[attr-defined]


def test_one_percent_is_noticed() -> None:
    domain = sv.Sparse(3, 2, "0.5")
    honest = Signs.of_ratio(domain, 2, E1)
    crooked = OnePercent(domain, honest.least, honest.inside)
    certificate = sv.audit(crooked, epsilon=1)
    assert not certificate.ok and any("closed form of the ratio" in problem for problem in certificate.problems)
    second = signed_rows(3, 1, E1)
    assert not sv.audit(Then(Uneven(domain), second), epsilon=1).ok
    assert sv.audit(Then(Place(domain), second), epsilon=1).ok
    wrong = Mechanism("wrong", VectorMean(domain), Misread(domain, honest.least, honest.inside), Decimal(20), Sums())
    with pytest.raises(AssertionError, match="biased"):
        check_small_sparse(wrong)


# --- estimates ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", some("signs", "hints", "rows"))
def test_every_place_is_unbiased_with_the_predicted_variance(name: str) -> None:
    channel = SMALL[name]
    slots = slots_of(channel)
    assert slots is not None
    statistic = CountOutputs() if isinstance(channel, Then) else Sums()
    check_small_sparse(Mechanism("small", VectorMean(slots.vectors), channel, Decimal(20), statistic))


@pytest.mark.parametrize("oracle", ["signs", "hints", "hadamard", "grr"])
def test_the_variance_of_a_crowd_is_that_of_its_members(oracle: str) -> None:
    """By brute force over the laws of all members, for both targets."""
    mechanism = sv.mechanism("sparse", sv.Sparse(5, 2), epsilon=1, oracle=oracle)
    crowd = [{0: 1}, {0: -0.5, 3: 1}, {}, {4: 0.25}]
    reports = range(mechanism.cells if oracle in ("hadamard", "grr") else 32)
    if oracle == "hints":  # + or - or nothing at each of five places
        ways = product((0, 1, 1 << 64), repeat=5)
        reports = [sum(sign << place for place, sign in enumerate(way)) for way in ways]  # type: ignore[assignment]
    first, second, own = np.zeros(5), np.zeros(5), np.zeros(5)
    for answer in crowd:
        mean, mean_square = np.zeros(5), np.zeros(5)
        code = mechanism.domain.encode(answer)
        for report in reports:
            weight = mechanism.channel.likelihood(report, code)
            read = from_cells(mechanism, 1, cells_of(mechanism, report)).values()
            mean += float(weight) * read
            mean_square += float(weight) * read**2
        first += mean / 4
        second += mean_square / 4
        own += (mean_square - mean**2) / 4
    assert mechanism.variance(crowd, 10) == pytest.approx((second - first**2) / 10, rel=1e-9)
    assert mechanism.variance(crowd, 10, target="sample") == pytest.approx(own / 10, rel=1e-9)


def simulated(mechanism: Mechanism, answers: Any, seed: int) -> tuple[Any, Any]:
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=seed)))
    return estimate, estimate.values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "most", "epsilon"), [("signs", 3, 1), ("hints", 3, 3), ("hadamard", 2, 2), ("grr", 3, 4)]
)
def test_intervals_cover(oracle: str, most: int, epsilon: int) -> None:
    """n = 10**4, 20 places, 160 runs: 3200 intervals; the rate of 95 % is known to 0.4 % (places nearly independent).

    Members are drawn anew in each run for the population, and are the same in all runs for the sample.
    """
    size, n, runs = 20, 10_000, 160
    mechanism = sv.mechanism("sparse", sv.Sparse(size, most), epsilon=epsilon, oracle=oracle)
    rng = np.random.default_rng(5)

    def crowd() -> Any:
        table = np.zeros((n, size))
        for _ in range(most):
            chosen = (rng.random(n) ** 2 * size).astype(int)
            table[np.arange(n), chosen] = rng.choice([-1.0, 0.25, 0.5, 1.0], n)
        return table

    # E[x_j] by one very large crowd is itself uncertain; the law of the last writer is computed instead.
    chances = np.diff(np.sqrt(np.arange(size + 1) / size))
    truth = (1 - (1 - chances) ** most) * np.mean([-1.0, 0.25, 0.5, 1.0])
    fixed = crowd()
    covered = {"population": 0, "sample": 0, "hoeffding": 0, "bernstein": 0, "joint": 0}
    for run in range(runs):
        estimate, _ = simulated(mechanism, crowd(), 2 * run)
        low, high = estimate.ci(0.95)
        covered["population"] += int(((low <= truth) & (truth <= high)).sum())
        estimate, _ = simulated(mechanism, fixed, 2 * run + 1)
        held = fixed.mean(axis=0)
        for name, method in (("sample", "normal"), ("hoeffding", "hoeffding"), ("bernstein", "bernstein")):
            low, high = estimate.ci(0.95, method=method, target="sample")
            covered[name] += int(((low <= held) & (held <= high)).sum())
        low, high = estimate.ci(0.95, target="sample", simultaneous=True)
        covered["joint"] += int(((low <= held) & (held <= high)).all())
    share = {name: count / runs / size for name, count in covered.items()}
    assert 0.93 <= share["population"] <= 0.97, share
    assert 0.93 <= share["sample"] <= (0.97 if epsilon < 3 else 0.99), share  # a bound: 1 % too wide at small noise
    assert share["hoeffding"] >= 0.95 and share["bernstein"] >= 0.95
    assert covered["joint"] / runs >= 0.91


def test_an_estimate_says_what_it_is_about() -> None:
    mechanism = sv.mechanism("sparse", sv.Sparse(50, 2, 3), epsilon=2)
    answers = [{7: 3, 9: -3}]
    estimate, values = simulated(mechanism, np.tile(np.eye(50)[7] * 3 - np.eye(50)[9] * 3, (20_000, 1)), 3)
    errors = np.sqrt(mechanism.variance(answers[0], 20_000))
    assert np.abs(values - np.eye(50)[7] * 3 + np.eye(50)[9] * 3).max() < 5 * errors.max()  # 50 places: 3e-5
    assert estimate.std_errors == pytest.approx(errors, rel=0.05)
    assert list(estimate.labels) == list(range(50))
    clipped = estimate.project("range")
    assert clipped.values.max() <= 3 and clipped.ci().high.max() <= 3
    low, high = estimate.ci(0.9)
    assert (high - low) / 2 == pytest.approx(deviate(0.9) * estimate.std_errors)
    assert estimate.to_frame().shape == (50, 6)
    with pytest.raises(sv.ParameterError, match="range"):
        estimate.project("simplex")
    few, _ = simulated(mechanism, answers * 20, 3)
    with pytest.warns(UserWarning, match="Bernstein"):
        few.ci()


def test_a_single_report_has_an_estimate() -> None:
    mechanism = sv.mechanism("sparse", sv.Sparse(4, 1), epsilon=1)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([{}], seed=1)))
    assert np.isfinite(estimate.values).all() and (estimate.std_errors > 0).all()


# --- which oracle ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "10"])
@pytest.mark.parametrize(("size", "most"), [(2, 1), (9, 3), (30, 7), (24, 24)])
def test_no_number_of_groups_is_better(size: int, most: int, epsilon: str) -> None:
    domain, ratio = sv.Sparse(size, most), odds(Decimal(epsilon))
    least = min(square(rows(domain, groups, ratio)) for groups in range(1, size + 1))
    assert float(square(best_rows(domain, ratio)) / least) <= 1.01  # whole groups are uneven
    chosen = sv.mechanism("sparse", domain, epsilon=epsilon).channel
    ways = (best_rows(domain, ratio), best_signs(domain, ratio), best_hints(domain, ratio))
    assert chosen in ways and square(chosen) <= Fraction(21, 20) * min(map(square, ways))


@pytest.mark.parametrize("ratio", [Fraction(11, 2), Fraction(6), Fraction(10)])
def test_the_best_number_of_groups_lies_on_either_side_of_the_middle(ratio: Fraction) -> None:
    """Near (R - 1) / 2 = 2.25, 2.5 and 4.5: below, above and above it."""
    domain = sv.Sparse(60, 2)
    squares = {groups: square(rows(domain, groups, ratio)) for groups in range(1, 61)}
    best = best_rows(domain, ratio)
    assert square(best) == min(squares.values())
    assert best.second.sets.groups == {Fraction(11, 2): 2, Fraction(6): 3, Fraction(10): 5}[ratio]  # type: ignore[attr-defined]


def test_signs_grow_with_the_number_of_entries_and_rows_with_its_square() -> None:
    """Small epsilon: pi/2 most against most**2, times ((e+1)/(e-1))**2; the former is the best possible rate."""
    ratio = odds(Decimal("0.1"))
    unit = float((ratio + 1) / (ratio - 1)) ** 2
    for most in (1, 5, 21, 45):
        signs = square(best_signs(sv.Sparse(10**6, most), ratio))
        exact = (2 ** (most - 1) / comb(most - 1, (most - 1) // 2)) ** 2  # a majority of an odd number
        assert float(signs) / unit == pytest.approx(exact, rel=0.02)
        if most > 1:
            assert exact == pytest.approx(pi / 2 * most, rel=0.1)
        assert float(square(best_rows(sv.Sparse(10**6, most), ratio))) / unit == pytest.approx(most**2, rel=1e-9)


def test_hints_pay_at_large_budgets() -> None:
    """The noise of the three at d = 1000; that of signs stays above bound**2, that of rows grows with most**2."""
    found = {}
    for epsilon, most in product((1, 2, 4), (1, 3, 10)):
        domain, ratio = sv.Sparse(1000, most), odds(Decimal(epsilon))
        ways = (best_signs(domain, ratio), best_hints(domain, ratio), best_rows(domain, ratio))
        known, q = score(ways[1]), ways[1].speak / UNIT
        odd, some = exp(epsilon) - 1, 1 - (1 - q) ** most
        beside = 2 * (1 + some * odd) ** 2 / (odd**2 * q * (1 - q) ** (2 * most - 2))  # of a place that nobody holds
        assert float(known.scale**2 * known.hit_other) == pytest.approx(beside, rel=1e-9)
        found[epsilon, most] = [round(float(square(way)), 2) for way in ways]
    assert found == {
        (1, 1): [4.68, 4.7, 4.68],
        (1, 3): [18.73, 22.2, 42.14],
        (1, 10): [60.73, 82.17, 468.27],
        (2, 1): [1.72, 1.25, 1.25],
        (2, 3): [5.07, 4.37, 11.28],
        (2, 10): [16.03, 15.37, 104.35],
        (4, 1): [1.08, 0.15, 0.15],
        (4, 3): [1.32, 0.47, 1.34],
        (4, 10): [4.35, 1.74, 2.24],
    }


def test_total_squared_error_against_other_ways() -> None:
    """d = 100, one entry, epsilon 1: total n E|error|**2 of reports of the vector of zeros."""
    zero: dict[int, int] = {}
    one = sv.Sparse(100, 1)
    total = {
        name: float(sv.mechanism(name, one, epsilon=1, **options).variance(zero).sum())
        for name, options in (("one-sparse", {}), ("sparse", {}))
    }
    published = 100 * ((exp(1) + 1) / (exp(1) - 1)) ** 2
    assert total["one-sparse"] == pytest.approx(published, rel=1e-9)
    assert total["sparse"] == pytest.approx(published, rel=1e-9)  # in 1 byte instead of 13
    reports = [sv.mechanism(name, one, epsilon=1).randomize({3: 1}) for name in total]
    assert [len(report) - 16 for report in reports] == [13, 1]
    two = {name: float(sv.mechanism(name, one, epsilon=3).variance(zero).sum()) for name in total}
    assert two["one-sparse"] / two["sparse"] == pytest.approx(2.9, abs=0.1)
    dense = linf.build(sv.Box(-1, 1, 100), epsilon=1)
    half = 2**99 - comb(100, 50) // 2  # erratum 6: ties are no agreement
    b = (exp(1) * half + 2**100 - half) / ((exp(1) - 1) * comb(99, 50))
    assert float(dense.variance([0.0] * 100).sum()) == pytest.approx(100 * b**2, rel=1e-9)
    assert 100 * b**2 / published == pytest.approx(146.5, abs=0.1)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(sv.ParameterError, match="one entry"):
        sv.mechanism("one-sparse", sv.Sparse(10, 2), epsilon=1)
    with pytest.raises(sv.ParameterError, match="few entries"):
        sv.mechanism("sparse", sv.Box(-1, 1, 3), epsilon=1)
    with pytest.raises(sv.ParameterError, match="one of signs, hints, hadamard, grr"):
        sv.mechanism("sparse", sv.Sparse(10, 2), epsilon=1, oracle="olh")
    with pytest.raises(sv.ParameterError, match="more than 48 entries"):
        sv.mechanism("sparse", sv.Sparse(100, 49), epsilon=1, oracle="signs")
    assert isinstance(sv.mechanism("sparse", sv.Sparse(100, 49), epsilon="0.1").channel, Then)
    channel = Signs.of_ratio(sv.Sparse(4, 2), 2, E1)
    with pytest.raises(sv.MismatchError, match="does not fit"):
        Mechanism("wrong", VectorMean(sv.Sparse(4, 1)), channel, Decimal(1), Sums())
    with pytest.raises(sv.MismatchError, match="no sparse vectors"):
        Mechanism("wrong", VectorMean(sv.Sparse(4, 1)), Subset(4, 1, UNIT // 2), Decimal(1), CountOutputs())
    with pytest.raises(sv.MismatchError):
        Mechanism("wrong", Frequency(sv.Integers(0, 3)), channel, Decimal(1), Sums())
    with pytest.raises(sv.ParameterError, match="independent of the code"):
        Signs(sv.Sparse(4, 2), 1, UNIT // 2)
    for wrong in ({1: 5}, [{0: 1, 1: 1, 2: 1}], 7):
        with pytest.raises(sv.ParameterError, match="vector of the domain"):
            sv.mechanism("sparse", sv.Sparse(4, 2), epsilon=1).variance(wrong)
    channel = Then(Place(sv.Sparse(3, 1)), Subset(6, 2, UNIT // 4 * 3))
    with pytest.raises(sv.ParameterError, match="not read as sparse"):
        score(channel)


# --- batches -----------------------------------------------------------------------------------------------------
@dataclass
class Bare:
    """A channel with the drawing of a mechanism."""

    channel: Channel
    words = Mechanism.words
    draw = Mechanism.draw
    _public = Mechanism._public
    _takes = Mechanism._takes


@st.composite
def sparse_channels(draw_from: Any) -> Channel:
    size = draw_from(st.sampled_from([2, 3, 7, 63, 64, 65, 100]))
    domain = sv.Sparse(size, draw_from(st.integers(1, min(size, 6))), "0.7")
    ratio = Fraction(draw_from(st.integers(2, 40)))
    kind = draw_from(st.sampled_from(["signs", "hints", "rows", "subset"]))
    if kind == "hints":
        return Hints.of_ratio(domain, draw_from(st.sampled_from([3, 1 << 46, 5 << 47, UNIT // 3])), ratio)
    if kind == "signs":
        return Signs.of_ratio(domain, draw_from(st.integers(1, domain.most)), ratio)
    if kind == "rows":
        return Then(Place(domain), signed_rows(size, draw_from(st.integers(1, size)), ratio))
    return Then(Place(domain), Subset(2 * size, 2, UNIT - 5))


def some_rows(channel: Channel, count: int, seed: int) -> np.ndarray[Any, Any]:
    slots, rng = slots_of(channel), np.random.default_rng(seed)
    assert slots is not None
    codes = []
    for _ in range(count):
        held = rng.permutation(slots.dimensions)[: rng.integers(0, slots.most + 1)]
        ends = (Fraction(7, 10), Fraction(-7, 10), Fraction(int(rng.integers(1, 700)), 1000))
        codes.append([(int(place), ends[rng.integers(3)]) for place in held])
    return slot_rows(slots, codes)


@settings(max_examples=40, deadline=None)
@given(channel=sparse_channels(), data=st.data())
def test_batches_equal_the_scalar_sampler(channel: Channel, data: Any) -> None:
    slots = slots_of(channel)
    assert slots is not None
    outcomes = 4 * slots.dimensions
    short = data.draw(st.sampled_from([FINE, SHORT] if outcomes <= 1 << SHORT else [FINE]))
    codes = some_rows(channel, 40, data.draw(st.integers(0, 99)))
    stream = WordStream.seeded(Bare(channel).words, data.draw(st.integers(0, 99)))
    batch = draw(Bare(channel), codes, stream, threads=2, chunk_bytes=8 * stream.words * 17, bits=short)  # type: ignore[arg-type]
    for place, report in enumerate(batch.payload):
        read: list[int] = []
        overflow = (read.append(word) or word for word in stream.overflow(place))  # type: ignore[func-returns-value]
        coins = TapeCoins(stream.rows(place, 1).tobytes(), overflow, bits=short)
        _, expected = Bare(channel).draw(scalar_code(channel, codes[place]), coins)
        found = int(report) if np.ndim(report) == 0 else int.from_bytes(report.astype("<u8").tobytes(), "little")
        assert found == expected


@pytest.mark.parametrize("name", ["signs", "hints", "rows"])
def test_short_coins_mark_exactly_the_reports_that_read_overflow(name: str) -> None:
    domain = sv.Sparse(31, 5, 1)
    channel = {
        "signs": Signs.of_ratio(domain, 4, E1),
        "hints": Hints.of_ratio(sv.Sparse(31, 7, 1), UNIT // 3, E1),
        "rows": Then(Place(domain), signed_rows(31, 3, E1)),
    }[name]
    codes = some_rows(channel, 500, 2)
    codes[codes != np.uint64((1 << 64) - 1)] &= ~np.uint64((1 << 32) - 1)  # ends that these vectors have
    stream = WordStream.seeded(Bare(channel).words, 2)
    draws = Draws(stream.rows(0, 500), None, np.zeros(500, np.uint8), SHORT)
    sampler(channel)(codes, draws, 0, empty_reports(channel, 500))
    marked = []
    for place in range(500):
        read: list[int] = []
        overflow = (read.append(word) or word for word in stream.overflow(place))  # type: ignore[func-returns-value]
        coins = TapeCoins(stream.rows(place, 1).tobytes(), overflow, bits=SHORT)
        Bare(channel).draw(scalar_code(channel, codes[place]), coins)
        marked.append(bool(read))
    assert draws.redo.tolist() == marked and any(marked) and not all(marked)


def test_tables_matrices_and_lists_are_the_same_answers() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    pandas = pytest.importorskip("pandas")
    mechanism = sv.mechanism("sparse", sv.Sparse(40, 3, "0.7"), epsilon=1)
    rng = np.random.default_rng(1)
    table = np.where(rng.random((300, 40)) < 0.03, rng.choice([0.7, -0.7, 0.1, -0.333, 1e-9], (300, 40)), 0.0)
    table[(table != 0).sum(axis=1) > 3] = 0
    answers = [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in table]
    expected = batch_codes(mechanism, answers)
    shuffled = scipy.csr_array(table)
    shuffled.indices[:2] = shuffled.indices[:2][::-1] if shuffled.indptr[1] >= 2 else shuffled.indices[:2]
    explicit = scipy.coo_array(table).tocsr()
    for values in (table, scipy.csr_array(table), scipy.coo_array(table), pandas.DataFrame(table), explicit,
                   [list(answer.items()) for answer in answers], (answer for answer in answers)):  # fmt: skip
        assert (batch_codes(mechanism, values) == expected).all()
    whole = np.zeros((4, 40), np.int64)
    assert (batch_codes(mechanism, whole) == batch_codes(mechanism, [{}] * 4)).all()
    assert batch_codes(mechanism, []).shape == (0, 3)
    assert batch_codes(mechanism, np.zeros((0, 40))).shape == (0, 3)
    zeros = scipy.csr_array((np.array([0.0, 0.5]), np.array([9, 3]), np.array([0, 2])), shape=(1, 40))
    assert (batch_codes(mechanism, zeros) == batch_codes(mechanism, [{3: 0.5}])).all()


def test_bad_rows_are_refused_with_their_number_and_the_first() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    mechanism = sv.mechanism("sparse", sv.Sparse(40, 3, "0.7"), epsilon=1)
    table = np.zeros((10, 40))
    table[4, :4] = 0.1
    table[6, 0] = 0.71
    table[7, 5] = np.nan
    answers = [{}] * 4 + [{0: 1}, {40: 0.1}, {0: 0.5}]
    twice = scipy.csr_array((np.array([0.1, 0.1, 0.2]), np.array([5, 5, 1]), np.array([0, 0, 2, 3])), shape=(3, 40))
    beyond = scipy.csr_array((np.array([0.1]), np.array([5]), np.array([0, 1])), shape=(1, 40))
    beyond.indices[0] = 40
    for values, message in (
        (table, "3 of 10 .* the first at position 4"),
        (answers, "2 of 7 .* the first at position 4"),
        (twice, "1 of 3 .* the first at position 1"),
        (beyond, "1 of 1 .* the first at position 0"),
        (np.full((2, 40), True), "2 of 2"),
        (np.zeros((3, 39)), "rows of 40 numbers"),
        (np.zeros((3, 40, 1)), "rows of 40 numbers"),
        ({0: 1}, "not as one value"),
        ("text", "not as one value"),
        (7, "not as one value"),
        (np.ma.masked_array(np.zeros((1, 40)), mask=True), "mask"),
    ):
        with pytest.raises(sv.DomainError, match=message):
            mechanism.privatize(values)


def test_what_says_both_signs_of_a_place_is_no_report() -> None:
    mechanism = sv.mechanism("sparse", sv.Sparse(70, 2), epsilon=3, oracle="hints")
    channel = mechanism.channel
    assert isinstance(channel, Hints)
    message = mechanism.randomize({3: 1})
    assert len(message) - 16 == 25 and mechanism.tally([message]).n == 1
    good = 1 << 3 | 1 << channel.width + 69
    for report, wrong in (
        (good, False),
        (good | 1 << 69, True),
        (good | 1 << 70, True),
        (1 << channel.width + 70, True),
    ):
        assert channel.contains(report) != wrong
        payload = message[:16] + report.to_bytes(25, "little")
        if wrong:
            with pytest.raises(sv.ReportError, match="Report 0 is invalid"):
                mechanism.tally([payload])
        else:
            assert np.flatnonzero(mechanism.tally([payload]).cells).tolist() == [3, 139]


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["signs", "hints", "hadamard"])
def test_ten_thousand_dimensions(oracle: str) -> None:
    """All hold 1 at place 9999 and half of them -0.5 at place 5000; all 10**4 errors are below 6 deviations."""
    size, n = 10_000, 20_000
    mechanism = sv.mechanism("sparse", sv.Sparse(size, 2), epsilon=2, oracle=oracle)
    answers = [{9999: 1.0}, {9999: 1.0, 5000: -0.5}] * (n // 2)
    estimate, values = simulated(mechanism, answers, 1)
    truth = np.zeros(size)
    truth[9999], truth[5000] = 1.0, -0.25
    z = (values - truth) / np.sqrt(mechanism.variance(answers[:2], n))
    assert np.abs(z).max() < 6  # false alarms below 2e-5; seeded
    assert 0.95 < z.std() < 1.05
    assert np.argmax(values) == 9999 and abs(z[5000]) < 5
    assert estimate.n == n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "most", "epsilon", "oracle"),
    [("one-sparse", 70, 1, "2", None), ("sparse", 3, 2, "1", "hadamard"), ("sparse", 50, 3, "1", None),
     ("sparse", 50, 3, "3", "grr"), ("sparse", 300, 4, "0.5", "hadamard"),
     ("sparse", 300, 4, "3", "hints")],
)  # fmt: skip
def test_the_contract_holds(name: str, size: int, most: int, epsilon: str, oracle: str | None, seed: int) -> None:
    options = {} if oracle is None else {"oracle": oracle}
    check_mechanism(sv.mechanism(name, sv.Sparse(size, most, "1.5"), epsilon=epsilon, **options), seed=seed % 1000)


def test_a_specification_is_all_of_it() -> None:
    for oracle in ("signs", "hints", "hadamard", "grr"):
        mechanism = sv.mechanism("sparse", sv.Sparse(12, 3, "0.1"), epsilon=1, oracle=oracle)
        again = Mechanism.from_spec(mechanism.spec())
        assert again == mechanism and again.fingerprint == mechanism.fingerprint
        assert again.question == sv.VectorMean(again.domain)
        assert dimensions_of(again.channel) == 12 and rounding_of(again.channel) is None
