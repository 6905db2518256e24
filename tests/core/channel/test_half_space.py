"""The l_inf mechanism for vectors: law, privacy, mean and variance, exactly, odd and even; kernels; errata; large d."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import comb, exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv
from sottovoce.core.arithmetic.rational import FINE, UNIT, loss, odds, units
from sottovoce.core.channel import HalfSpace, Rounding, channel_from_spec
from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.channel.vector.half_space import TRIES, half_vectors, surplus
from sottovoce.core.coins import SeededCoins, TapeCoins
from sottovoce.core.errors import MismatchError, ParameterError, PrivacyError, ReportError, SpecError
from sottovoce.core.exact import law_of, worst_ratio
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.parts import CountParts
from sottovoce.fast.batch import checked, draw
from sottovoce.fast.kernels.base import Draws, empty_reports, sampler
from sottovoce.fast.numbers import scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.mechanisms.vector import linf
from sottovoce.tally.tally import report_cells
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each
from tests.museum.tables import half_spaces

SHORT = 8  # bits of a coin in tests: rejection really happens
RANGES = [(-1, 1), (0, "0.3"), ("-7.5", 12)]
THIRD = 0x5A827999  # a place between the ends, of 2**32


def grids(dimensions: int, *, mixed: bool = False) -> tuple[Rounding, ...]:
    return tuple(Rounding(*RANGES[place % 3 if mixed else 0], 1) for place in range(dimensions))


def box(dimensions: int, epsilon: Any = 1) -> Mechanism:
    return linf.build(sv.Box(-1, 1, dimensions), epsilon=epsilon)


def half_space(mechanism: Mechanism) -> HalfSpace:
    assert isinstance(mechanism.channel, HalfSpace)
    return mechanism.channel


def law(channel: HalfSpace, code: Any) -> dict[int, Fraction]:
    return law_of(lambda coins: channel.sample(code, coins))


def inner_codes(channel: HalfSpace) -> list[tuple[Fraction, ...]]:
    """Vectors off the corners: all coordinates between their ends, and one, and all but one."""
    places = [(THIRD * (2 * at + 1)) % (1 << 32) for at in range(channel.dimensions)]
    between = [grid.number(place) for grid, place in zip(channel.grids, places, strict=True)]
    corner = next(iter(channel.codes()))
    return [tuple(between), (*corner[:-1], between[-1]), (corner[0], *between[1:])]


# --- the law, exactly ----------------------------------------------------------------------------------------------
@for_each("dimensions", range(1, 13))
def test_counts_of_vectors_are_those_of_all_vectors(dimensions: int) -> None:
    """With v = (1, ..., 1): how many have a positive sum, and the sum of these sums, are counted one by one."""
    sums = [2 * signs.bit_count() - dimensions for signs in range(1 << dimensions)]
    positive = [total for total in sums if total > 0]
    assert half_vectors(dimensions) == len(positive)
    assert surplus(dimensions) * dimensions == sum(positive)


@pytest.mark.parametrize("dimensions", [31, 32, 100, 101, 1000, 1001])
def test_counts_of_large_vectors_are_binomial_sums(dimensions: int) -> None:
    agreeing = range(dimensions // 2 + 1, dimensions + 1)
    assert half_vectors(dimensions) == sum(comb(dimensions, a) for a in agreeing)
    assert surplus(dimensions) * dimensions == sum(comb(dimensions, a) * (2 * a - dimensions) for a in agreeing)


@settings(max_examples=8)
@given(dimensions=st.integers(1, 4), inside=st.integers(1, UNIT - 1), mixed=st.booleans())
def test_closed_forms_are_those_of_the_enumerated_sampler(dimensions: int, inside: int, mixed: bool) -> None:
    channel = HalfSpace(grids(dimensions, mixed=mixed), inside)
    corners = {code: law(channel, code) for code in channel.codes()}
    assert len(corners) == channel.inputs == 1 << dimensions
    found = {**corners, **{code: law(channel, code) for code in inner_codes(channel)}}
    for code, one in found.items():
        assert sum(one.values()) == 1 and len(one) == 1 << dimensions
        assert all(channel.contains(report) and p == channel.likelihood(report, code) for report, p in one.items())
    assert channel.ratio() == worst_ratio(list(corners.values())) == worst_ratio(list(found.values()))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, *(pytest.param(d, marks=pytest.mark.slow) for d in (5, 6))])
def test_the_enumerated_loss_of_small_vectors_is_the_budget(dimensions: int, epsilon: str) -> None:
    """All corners, and some vectors between, odd and even: every probability of every report in Fractions."""
    channel = half_space(box(dimensions, epsilon))
    laws = [law(channel, code) for code in channel.codes()]
    between = inner_codes(channel)
    laws += [law(channel, code) for code in (between if dimensions < 5 else between[1:2])]
    ratio = worst_ratio(laws)
    assert ratio == channel.ratio() and ratio is not None and ratio <= odds(Decimal(epsilon))
    assert 0 <= Decimal(epsilon) - loss(ratio) < Decimal("1e-8")


@pytest.mark.parametrize("dimensions", [5, 6])
def test_a_report_has_one_of_two_probabilities(dimensions: int) -> None:
    """Erratum 6: e**epsilon on the side of the answer, 1 for all others, ties among them."""
    channel = half_space(box(dimensions))
    one = law(channel, (Fraction(1),) * dimensions)
    inside = {p for report, p in one.items() if 2 * report.bit_count() > dimensions}
    others = {p for report, p in one.items() if 2 * report.bit_count() <= dimensions}
    assert len(inside) == len(others) == 1
    assert float(inside.pop() / others.pop()) == pytest.approx(exp(1), abs=1e-12)
    count = half_vectors(dimensions)
    positive = sum(p for report, p in one.items() if 2 * report.bit_count() > dimensions)
    assert float(positive) == pytest.approx(exp(1) * count / (exp(1) * count + 2**dimensions - count), abs=1e-12)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mixed", [False, True])
def test_reports_are_read_without_bias_and_with_the_known_variance(dimensions: int, mixed: bool) -> None:
    """Mean and mean square of what each coordinate reads, over the enumerated law, in Fractions."""
    channel = HalfSpace(grids(dimensions, mixed=mixed), half_space(box(dimensions)).inside)
    (scale,) = channel.part_scales()
    b_squared = 1 / scale.slope**2
    for code in (*channel.codes(), *inner_codes(channel)[: 1 if dimensions == 5 else 3]):
        one = law(channel, code)
        for at, grid in enumerate(channel.grids):
            place = Fraction(grid.position(code[at]), 1 << 32)  # in steps: 0 is the lower end, 1 the upper
            read = {0: scale.read(0), 1: scale.read(1)}
            first, second = (sum(p * read[report >> at & 1] ** power for report, p in one.items()) for power in (1, 2))
            assert first == place
            x = 2 * place - 1
            assert 4 * (second - first**2) == b_squared - x**2
            if place in (0, 1):
                assert channel.part_moments(int(place)) == (first, second)


@pytest.mark.parametrize("dimensions", [1, 2, 5, 32, 33, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_reading_has_the_published_constant(dimensions: int, epsilon: float) -> None:
    """Survey, Eq. (34): our weights are integers, so it agrees to many digits."""
    ((_, _, slope),) = half_space(box(dimensions, epsilon)).part_scales()
    e, d = Fraction(exp(epsilon)), dimensions
    if d % 2:
        published = (2**d + 2 ** (d - 1) * (e - 1)) / (comb(d - 1, (d - 1) // 2) * (e - 1))
    else:
        published = (2**d + (2 ** (d - 1) - Fraction(comb(d, d // 2), 2)) * (e - 1)) / (comb(d - 1, d // 2) * (e - 1))
    assert float(1 / slope) == pytest.approx(float(published), rel=1e-12)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 64, 1001, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "20"])
def test_no_budget_is_exceeded_or_wasted(dimensions: int, epsilon: str) -> None:
    channel = HalfSpace.of_ratio(grids(1) * dimensions, odds(Decimal(epsilon)))
    assert channel.ratio() <= odds(Decimal(epsilon))
    assert Decimal(epsilon) - loss(channel.ratio()) < Decimal("1e-6")
    if channel.inside < UNIT - 1:
        assert HalfSpace(channel.grids, channel.inside + 1).ratio() > odds(Decimal(epsilon))  # the largest weight


def test_one_number_is_randomized_response() -> None:
    found, bernoulli = box(1), sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=1)
    for number in (Fraction(-1), Fraction(1, 3), Fraction(1)):
        for report in (0, 1):
            ours, theirs = found.channel.likelihood(report, (number,)), bernoulli.channel.likelihood(report, number)
            assert abs(ours - theirs) < Fraction(4, UNIT)


@pytest.mark.parametrize("dimensions", [9, 40])
def test_the_likelihood_of_many_uncertain_numbers_is_a_tail_of_their_sum(dimensions: int, seed: int) -> None:
    """Against a convolution in floats, over coordinates that agree or not."""
    channel, rng = half_space(box(dimensions)), np.random.default_rng(seed)
    code = tuple(Fraction(number).limit_denominator(1000) for number in rng.uniform(-1, 1, dimensions).tolist())
    report = int(rng.integers(0, 1 << dimensions))
    law_of_agreements = np.ones(1)
    for at, number in enumerate(code):
        agrees = float(1 + number) / 2 if report >> at & 1 else float(1 - number) / 2
        law_of_agreements = np.convolve(law_of_agreements, [1 - agrees, agrees])
    sided = law_of_agreements[dimensions // 2 + 1 :].sum()
    inside = float(units(channel.inside))
    expected = (1 - inside) / 2.0**dimensions + inside * sided / half_vectors(dimensions)
    assert float(channel.likelihood(report, code)) == pytest.approx(expected, rel=1e-6)


# --- the audit -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_the_audit_enumerates_small_vectors(dimensions: int) -> None:
    found = sv.audit(box(dimensions))
    assert found.ok and found.exact and found.how == "enumerated", str(found)
    assert found.epsilon == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    "dimensions",
    [32, *(pytest.param(d, marks=pytest.mark.slow) for d in (6, 1000)), pytest.param(10_000, marks=pytest.mark.long)],
)
def test_the_audit_proves_the_closed_form_of_large_ones(dimensions: int) -> None:
    found = sv.audit(box(dimensions))
    assert found.ok and found.exact and "proven on 4 enumerated instances" in found.how, str(found)


class Heavy(HalfSpace):
    """Draws from the half space one time in a hundred too often."""

    __slots__ = ()

    def sample(self, code: Any, coins: Any, public: Any = (0, 0)) -> int:
        return HalfSpace(self.grids, self.inside + self.inside // 100).sample(code, coins, public)


class Tied(HalfSpace):
    """Takes ties for the side of the answer."""

    __slots__ = ()

    def _untied(self, signs: int) -> bool:
        return True


class Rounder(HalfSpace):
    """Rounds a number up one time in a hundred too often."""

    __slots__ = ()

    def _positions(self, code: Any) -> list[int]:
        read = HalfSpace._positions(self, code)
        return [place + place // 100 if place < 1 << 31 else place for place in read]

    def likelihood(self, report: int, code: Any, public: Any = (0, 0)) -> Fraction:
        return HalfSpace(self.grids, self.inside).likelihood(report, code)


@pytest.mark.parametrize("dimensions", [2, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wrong", [Heavy, Tied, Rounder])
def test_an_error_of_one_percent_is_found(wrong: type[HalfSpace], dimensions: int) -> None:
    channel = wrong(grids(dimensions), half_space(box(dimensions)).inside)
    found = sv.audit(channel, epsilon=1)
    assert not found.ok and any("closed form" in problem for problem in found.problems)


def test_a_weight_that_is_one_percent_too_large_is_refused() -> None:
    right = half_space(box(32))
    wrong = HalfSpace(right.grids, right.inside + right.inside // 100)
    with pytest.raises(PrivacyError, match="more than the 1 it claims"):
        Mechanism("duchi-linf", VectorMean(sv.Box(-1, 1, 32)), wrong, Decimal(1), CountParts())


# --- errata: where ties go -------------------------------------------------------------------------------------------
def mean_sign(channel: Any, dimensions: int) -> float:
    """E[t_j v_j] of a table of masks."""
    return sum(float(channel.likelihood(t, 0)) * (1 - 2 * (t & 1)) for t in range(1 << dimensions))


@pytest.mark.parametrize(
    ("dimensions", "epsilon"), [(2, 1.0), (2, 2.0), *(pytest.param(d, 1.0, marks=pytest.mark.slow) for d in (4, 6))]
)
def test_published_ties_exceed_the_budget_or_bias(dimensions: int, epsilon: float) -> None:
    half, ties = half_vectors(dimensions), comb(dimensions, dimensions // 2)
    losses = {
        "both": log(1 + exp(epsilon)),
        "near": abs(epsilon - log((half + ties) / half)),
        "far": epsilon + log((half + ties) / half),
    }
    ours = box(dimensions, epsilon)
    ((_, _, slope),) = half_space(ours).part_scales()
    for where, lost in losses.items():
        published = half_spaces(str(epsilon), dimensions, ties=where)
        found = sv.audit(published, epsilon=epsilon)
        assert found.epsilon == pytest.approx(lost, abs=1e-8)
        assert found.ok == (lost < epsilon)
        read = mean_sign(published, dimensions) / float(slope)  # with B of Eq. (34), as published
        assert abs(read - 1) > 0.04
    assert sv.audit(half_space(ours), epsilon=epsilon).ok
    e = exp(epsilon)
    right = (e - 1) * surplus(dimensions) / (e * half + half + ties)
    assert float(slope) == pytest.approx(right, rel=1e-9)


def test_the_loss_of_ties_on_both_sides_is_131() -> None:
    assert sv.audit(half_spaces("1", 4, ties="both"), epsilon=1).epsilon == pytest.approx(1.3133, abs=1e-4)


def test_ties_on_the_near_side_turn_a_pair_of_numbers_round() -> None:
    """The survey's text for d = 2: three vectors share e/(e+1), one has 1/(e+1): the opposite is likelier than each."""
    assert mean_sign(half_spaces("1", 2, ties="near"), 2) == pytest.approx(-0.0253, abs=1e-4)


def test_for_odd_dimensions_the_published_form_is_ours() -> None:
    published, ours = half_spaces("1", 3, ties="both"), half_space(box(3))
    for at, code in enumerate(ours.codes()):
        mask = sum(1 << place for place, number in enumerate(code) if number == 1)
        for report in range(8):
            assert abs(published.likelihood(report, mask) - ours.likelihood(report, code)) < Fraction(1, 10**12), at


# --- words, kernels and tallies --------------------------------------------------------------------------------------
@pytest.mark.parametrize("dimensions", [1, 2, 7, 64, 65, 130])
def test_a_sampler_passes_exactly_its_span(dimensions: int, seed: int) -> None:
    channel = HalfSpace(grids(dimensions, mixed=True), UNIT // 2)
    assert channel.words == dimensions + 1 + (1 if dimensions % 2 else TRIES) * -(-dimensions // 64)
    for code in (*inner_codes(channel), next(iter(channel.codes()))):
        for number in range(20):
            coins = SeededCoins(seed, first_report=number)
            coins.begin(channel.words + 3)
            coins.seek(2)
            assert channel.contains(channel.sample(code, coins))
            assert coins.position == channel.words + 2


def some_positions(channel: HalfSpace, count: int, seed: int) -> np.ndarray[Any, Any]:
    found = np.random.default_rng(seed).integers(0, 1 << 32, (count, channel.dimensions), np.uint64, endpoint=True)
    found[: count // 4] = np.where(found[: count // 4] & 1, 1 << 32, 0)
    return found


def scalar(channel: HalfSpace, code: Any, stream: Any, report: int, bits: int) -> tuple[int, int]:
    """The report, and how many overflow words were read."""
    read = []

    def counted() -> Iterator[int]:
        for word in stream.overflow(report):
            read.append(word)
            yield word

    coins = TapeCoins(stream.rows(report, 1).tobytes(), counted(), bits=bits)
    coins.begin(channel.words)
    return channel.sample(scalar_code(channel, code), coins), len(read)


@pytest.mark.parametrize("bits", [FINE, SHORT])
@pytest.mark.parametrize(
    "dimensions", [65, *(pytest.param(d, marks=pytest.mark.slow) for d in (1, 2, 3, 8, 63, 64, 128, 130, 191))]
)
def test_batches_equal_the_scalar_sampler(dimensions: int, bits: int, seed: int) -> None:
    mechanism = Mechanism(
        *("test", VectorMean(sv.Box(-1, 1, dimensions)), HalfSpace(grids(dimensions), UNIT // 8 * 7), Decimal(20)),
        statistic=CountParts(),
        guarantee=IDEALISED,
    )
    channel, count = half_space(mechanism), 4000 if dimensions == 2 else 50
    codes, stream = some_positions(channel, count, seed), WordStream.seeded(mechanism.words, seed)
    expected = [scalar(channel, code, stream, row, bits) for row, code in enumerate(codes)]
    draws = Draws(stream.rows(0, count), None, np.zeros(count, np.uint8), bits)
    sampler(channel)(codes, draws, 0, empty_reports(channel, count))
    assert draws.redo.tolist() == [extra > 0 for _, extra in expected]
    assert any(draws.redo) == (dimensions == 2)  # eight ties in a row: 7/8 of 1 in 256
    for threads, chunk_bytes in ((1, 1 << 20), (3, 8 * mechanism.words * 7 + 5)):
        batch = draw(mechanism, codes, stream, threads=threads, chunk_bytes=chunk_bytes, bits=bits)
        assert batch.payload.shape == (count, -(-dimensions // 64))
        assert list(batch) == [report for report, _ in expected]
        assert [int.from_bytes(row.tobytes(), "little") for row in batch.payload] == list(batch)  # no spare bits
    counted = mechanism.tally(batch)
    cells = sum(report_cells(mechanism, report) for report in batch)
    assert (counted.cells == cells).all() and counted.cells.sum() == count * dimensions
    assert mechanism.tally([bytes(16) + row.tobytes() for row in batch.payloads()]) == counted


class Crafted:
    """Given words, and an overflow of fair signs."""

    simulated = True

    def __init__(self, table: np.ndarray[Any, Any]) -> None:
        self.table, self.words = table, table.shape[1]

    def rows(self, first: int, count: int) -> np.ndarray[Any, Any]:
        return self.table[first : first + count].copy()

    def chunks(self, first: int, last: int, size: int) -> Iterator[np.ndarray[Any, Any]]:
        for start in range(first, last, size):
            yield self.rows(start, min(size, last - start))

    def overflow(self, report: int) -> Iterator[int]:
        for number in range(10**6):
            yield 0x5555555555555555 if number < 2 * (report % 3) else (0x9E3779B97F4A7C15 * (number + 1)) % 2**64


@pytest.mark.parametrize("dimensions", [64, 128])
def test_signs_that_are_always_tied_read_the_overflow(dimensions: int) -> None:
    mechanism = Mechanism(
        "test",
        VectorMean(sv.Box(0, 1, dimensions)),
        HalfSpace((Rounding(0, 1, 1),) * dimensions, UNIT // 2),
        Decimal(20),
        CountParts(),
        guarantee=IDEALISED,
    )
    channel, blocks = half_space(mechanism), dimensions // 64
    rows = 2 * TRIES + 6
    table = WordStream.seeded(mechanism.words, 1).rows(0, rows).copy()
    table[:, dimensions] = np.where(np.arange(rows) % 4 == 3, 2**64 - 1, 0)  # three in four inside
    for row in range(rows):
        tied = min(row // 2, TRIES) * blocks
        table[row, dimensions + 1 : dimensions + 1 + tied] = 0x5555555555555555
    stream: Any = Crafted(table)
    codes = some_positions(channel, rows, 3)
    expected = [scalar(channel, code, stream, row, FINE) for row, code in enumerate(codes)]
    assert [extra > 0 for _, extra in expected] == [row // 2 >= TRIES and row % 4 != 3 for row in range(rows)]
    assert list(draw(mechanism, codes, stream, threads=1)) == [report for report, _ in expected]


def test_a_mask_with_spare_bits_is_no_report() -> None:
    mechanism = box(70)
    masks = np.zeros((3, 2), np.uint64)
    assert len(checked(mechanism, masks, None)) == 3
    masks[1, 1] = 1 << 6
    with pytest.raises(ReportError, match="Report 1 is invalid"):
        checked(mechanism, masks, None)


# --- plain data and refusals -----------------------------------------------------------------------------------------
def test_a_specification_names_a_shared_grid_once() -> None:
    mechanism = box(10_000)
    spec = mechanism.spec()
    assert len(str(spec)) < 500
    assert Mechanism.from_spec(spec).fingerprint == mechanism.fingerprint
    uneven = HalfSpace(grids(5, mixed=True), UNIT // 3)
    assert channel_from_spec(uneven.spec()) == uneven and len(uneven.spec()["grids"]) == 5


def test_miniatures_are_small_with_the_same_ratio() -> None:
    channel = half_space(box(1000))
    small = channel.miniatures()
    assert [dimensions_of(one) for one in small] == [1, 2, 3, 4]
    assert all(abs(one.ratio() - channel.ratio()) < Fraction(1, 10**12) for one in small)
    assert HalfSpace(grids(9), 1).miniatures()  # even where hardly anything is told


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: linf.build(sv.Interval(0, 1), epsilon=1), ParameterError, "vector of numbers"),
        (lambda: box(3, 0), ParameterError, "epsilon"),
        (lambda: box(3, "1e-20"), ParameterError, "raise epsilon"),
        (lambda: HalfSpace((), 5), ParameterError, "coordinates"),
        (lambda: HalfSpace((Rounding(0, 1, 2),), 5), ParameterError, "one step"),
        (lambda: HalfSpace(grids(2), UNIT), ParameterError, "inside"),
        (lambda: channel_from_spec({"node": "half-space", "grids": []}), SpecError, "inside"),
        (
            lambda: Mechanism("x", VectorMean(sv.Box(0, 1, 3)), HalfSpace(grids(3), 5), Decimal(1), CountParts()),
            MismatchError,
            "does not",
        ),
    ],
)
def test_bad_parameters_get_one_sentence(make: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()


def test_a_number_outside_its_range_is_not_rounded() -> None:
    with pytest.raises(ValueError, match="outside"):
        half_space(box(2)).sample((Fraction(0), Fraction(3, 2)), SeededCoins(0))


# --- errors fall, and many numbers at once ---------------------------------------------------------------------------
def squared_errors(mechanism: Mechanism, truth: np.ndarray[Any, Any], n: int, seed: int) -> np.ndarray[Any, Any]:
    """Of each coordinate, in multiples of its exact variance; everyone holds the same vector."""
    ((_, origin, slope),) = half_space(mechanism).part_scales()
    counted = mechanism.tally(mechanism.privatize(np.broadcast_to(truth, (n, len(truth))), seed=seed))
    read = (counted.cells[1::2] / n - float(origin)) / float(slope)
    variance = (1 / float(slope) ** 2 - truth**2) / 4 / n
    return np.asarray((read - (truth + 1) / 2) ** 2 / variance)


@pytest.mark.slow
def test_the_error_falls_with_the_root_of_the_number_of_reports(seed: int) -> None:
    """Contradicts the constant error of the SoK for d > 1. Each sum of squares is that of chi-square; ALPHA in all."""
    mechanism, truth = box(32), np.round(np.random.default_rng(seed).uniform(-1, 1, 32), 3)
    errors = {}
    for n, repeats in ((10**3, 30), (10**4, 20), (10**5, 6)):
        squares = np.concatenate([squared_errors(mechanism, truth, n, seed + turn) for turn in range(repeats)])
        low, high = stats.chi2.ppf([ALPHA / 6, 1 - ALPHA / 6], len(squares))
        assert low < squares.sum() < high
        errors[n] = sqrt(squares.mean() / n)  # in units of the deviation of one report
    for less, more in ((10**3, 10**4), (10**4, 10**5)):
        assert errors[less] / errors[more] == pytest.approx(sqrt(10), rel=0.25)


def test_ten_thousand_numbers_are_asked_at_once(seed: int) -> None:
    """200 reports; the sum of squared errors of the estimates is what their exact variance says, within ALPHA."""
    d, n = 10_000, 200
    mechanism, rng = box(d, 4), np.random.default_rng(seed)
    truth = np.round(rng.uniform(-1, 1, d), 3)
    found = mechanism.estimate(mechanism.tally(mechanism.privatize(np.broadcast_to(truth, (n, d)), seed=seed)))
    ((_, _, slope),) = half_space(mechanism).part_scales()
    squares = (found.values - truth) ** 2 / ((1 / float(slope) ** 2 - truth**2) / n)
    low, high = stats.chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], d)
    assert low < squares.sum() < high
