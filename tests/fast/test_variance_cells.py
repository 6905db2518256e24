"""Squares of distances in batches, and joint cells of a number and its square."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import Each, Rounding
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.domain import Powers, Square
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.estimate.mean.evidence import evidence
from sottovoce.estimate.variance.evidence import from_both
from sottovoce.estimate.variance.same_reports import from_outputs, readings
from sottovoce.fast.numbers import batch_codes, encode_numbers
from sottovoce.protocols.variance.rounds import VarianceRounds

UNIT_RANGE = sv.Interval(0, 1)


# --- squares of many numbers ----------------------------------------------------------------------------------------
SQUARES = [
    (Square(UNIT_RANGE, "0.5"), 1),
    (Square(sv.Interval(-3, "7.7"), "1.234567"), 1024),
    (Square(sv.Interval(100, 101), "100.4"), 65_536),
    (Square(sv.Interval(0, 10**6), "333333.25"), 32),
    (Square(sv.Interval("-0.001", "0.002"), 5), 1024),
    (Square(sv.Interval(-(10**30), 10**30), 0), 7),
]


@pytest.mark.parametrize(("view", "steps"), SQUARES, ids=lambda value: str(value)[:30])
def test_a_batch_of_squares_is_read_as_the_scalar_sampler_does(view: Square, steps: int) -> None:
    rng = np.random.default_rng(1)
    rounding = Rounding(view.image.low, view.image.high, steps)
    low, high = float(view.of.low), float(view.of.high)
    plain = np.append(rng.uniform(low, high, 500), [low, high])
    coarse = np.clip(plain.round(2), low, high)
    whole = np.clip(np.rint(plain), math.ceil(low), math.floor(high))
    for values in (plain, coarse, plain.tolist(), whole):
        expected = [rounding.position(view.encode(value)) for value in np.asarray(values).tolist()]
        assert encode_numbers(view, rounding, values).tolist() == expected
    if high < 1 << 40:
        integers = whole.astype(np.int64)
        assert encode_numbers(view, rounding, integers).tolist() == encode_numbers(view, rounding, whole).tolist()
    with pytest.raises(sv.DomainError, match="1 of 2 answers lie outside the domain, the first at position 1"):
        encode_numbers(view, rounding, np.array([low, np.nextafter(high, np.inf)]))
    mixed = [view.of.low, Fraction(view.of.high)]
    assert encode_numbers(view, rounding, mixed).tolist() == [rounding.position(view.encode(value)) for value in mixed]
    assert encode_numbers(view, rounding, iter(mixed)).tolist() == encode_numbers(view, rounding, mixed).tolist()


@pytest.mark.parametrize("domain", [sv.Integers(-3, 9), sv.Integers(0, 10**6)])
def test_squares_of_whole_numbers(domain: sv.Integers) -> None:
    view = Square(domain, "2.5")
    rounding = Rounding(view.image.low, view.image.high, 33)
    values = np.random.default_rng(2).integers(domain.low, domain.high, 300, endpoint=True)
    expected = [rounding.position((Fraction(value) - Fraction(5, 2)) ** 2) for value in values.tolist()]
    assert encode_numbers(view, rounding, values).tolist() == expected
    assert encode_numbers(view, rounding, values.tolist()).tolist() == expected
    with pytest.raises(sv.DomainError, match="1 of 2"):
        encode_numbers(view, rounding, [domain.low, domain.high + 1])


def test_the_square_of_a_distance_need_not_hold_its_centre() -> None:
    assert Square(sv.Interval(1, 3), 5).image == sv.Interval(4, 16)
    assert Square(sv.Integers(1, 3), "1.5").image == sv.Interval(0, "2.25")
    assert Square(sv.Integers(1, 3), 2).encode(3) == 1
    restored = sv.Mechanism.from_spec(sv.mechanism("hybrid", Square(sv.Integers(1, 3), 2), epsilon=1).spec())
    assert restored.domain == Square(sv.Integers(1, 3), 2)


# --- joint cells ----------------------------------------------------------------------------------------------------
def both_of(domain: Any = UNIT_RANGE, mechanism: str = "nprr", epsilon: Any = 6) -> sv.Mechanism:
    return (
        VarianceRounds(domain, epsilon, method="split-eps", mechanism=mechanism, share="0.5").start().arms[0].mechanism
    )


def test_joint_cells_count_each_combination() -> None:
    both = both_of()
    assert isinstance(both.channel, Each) and both.cells == math.prod(
        outputs_of(part) for part in both.channel.channels
    )
    values = np.random.default_rng(3).uniform(0, 1, 400)
    reports = both.privatize(values, seed=5)
    cells = np.zeros(both.cells, np.int64)
    for report in reports:
        first, second = both.channel.split(report)
        cells[first * outputs_of(both.channel.channels[1]) + second] += 1
    tally = both.tally(reports)
    assert np.array_equal(tally.cells, cells)
    assert tally == both.tally(reports, threads=1) == both.tally(reports[:100]) + both.tally(reports[100:])
    assert sv.Tally.from_bytes(tally.to_bytes()) == tally
    messages = [both.randomize(value) for value in (0, 0.5, Fraction(1, 3))]
    assert both.tally(messages).n == 3 and both.tally([]).n == 0
    assert batch_codes(both, []).shape == (0, 2)
    assert np.array_equal(batch_codes(both, iter(values.tolist())), batch_codes(both, values))
    for wrong in (1.5, -0.1, "1", None, True):
        with pytest.raises(sv.DomainError):
            both.randomize(wrong)
        with pytest.raises(sv.DomainError):
            both.privatize([0.5, wrong])


def test_a_joint_mechanism_spends_its_budget_and_estimates_a_variance() -> None:
    both = both_of(epsilon=2, mechanism="bernoulli")
    assert 1.999999 < both.epsilon <= 2 and sv.audit(both).ok
    assert sv.Mechanism.from_spec(both.spec()) == both
    values = np.repeat([0.0, 1.0], 5000)
    found = both.estimate(both.tally(both.privatize(values, seed=1)))
    assert abs(found.value - 0.25) < 6 * found.std_errors[0] and found.n == 10_000
    with pytest.raises(sv.ParameterError, match="predicted_error"):
        both.variance(0.5, 10)


def sample_covariance(pairs: list[tuple[Fraction, Fraction]]) -> Fraction:
    n = len(pairs)
    left, right = (sum(values, Fraction(0)) / n for values in zip(*pairs, strict=True))
    return sum(((a - left) * (b - right) for a, b in pairs), Fraction(0)) / (n - 1)


@pytest.mark.parametrize("domain", [UNIT_RANGE, sv.Integers(3, 6)])
def test_the_covariance_of_both_readings_is_that_of_the_reports_one_by_one(domain: Any) -> None:
    both = both_of(domain)
    low, high = float(domain.low), float(domain.high)
    values = np.random.default_rng(6).uniform(low, high, 7)
    reports = both.privatize(values if domain is UNIT_RANGE else np.rint(values).astype(int), seed=8)
    channels, origin = both.channel.channels, domain.numbers.origin
    ((number,), (square,)) = (part.scales() for part in channels)
    pairs = [(number.read(first) + origin, square.read(second)) for first, second in map(both.channel.split, reports)]
    spread = from_both(both.tally(reports))
    assert spread.joint == sample_covariance(pairs) != 0
    assert spread.number.variance == sample_covariance([(a, a) for a, _ in pairs])
    assert spread.square.variance == sample_covariance([(b, b) for _, b in pairs])


def test_the_covariance_of_two_readings_of_one_report() -> None:
    levels = VarianceRounds(sv.Integers(3, 6), 2, method="same-reports").start().arms[0].mechanism
    reports = levels.privatize([3, 4, 4, 6, 5, 6, 6], seed=2)
    read = readings(levels)
    pairs = [(read.number[report], read.square[report]) for report in reports]
    spread = from_outputs(evidence(levels, levels.tally(reports)))
    assert spread.joint == sample_covariance(pairs) != 0
    assert spread.square.variance == sample_covariance([(b, b) for _, b in pairs])


def test_joint_cells_are_refused_where_they_do_not_fit() -> None:
    both = both_of()
    number = both.channel.channels[0]
    with pytest.raises(sv.SpecError, match="side by side"):
        sv.Mechanism("x", sv.Mean(UNIT_RANGE), number, Decimal(6), CountJoint())
    fine = sv.mechanism("piecewise", UNIT_RANGE, epsilon=1).channel
    asked, view = sv.Variance(UNIT_RANGE), Powers(UNIT_RANGE, "0.5")
    wide = sv.mechanism("piecewise", view.square, epsilon=1).channel
    with pytest.raises(sv.SpecError, match=r"at most 2\*\*20"):
        sv.Mechanism("x", asked, Each((fine, wide)), Decimal(2), CountJoint(), domain=view)
    with pytest.raises(sv.MismatchError):
        sv.Mechanism("x", asked, both.channel, Decimal(6), CountJoint(), domain=Powers(UNIT_RANGE, 0))
    record = sv.Record({"a": UNIT_RANGE, "b": sv.Interval(0, "0.25")})
    with pytest.raises(sv.MismatchError, match="does not answer"):
        sv.Mechanism("x", asked, both.channel, Decimal(6), CountJoint(), domain=record)
