"""Clamped numbers: exact ends, the same in batches as one by one, and nothing but the wide domain's numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.channel import Rounding
from sottovoce.core.domain import Clamp, Domain, domain_from_spec
from sottovoce.fast.numbers import encode_numbers

WIDE = sv.Interval("-1e6", "1e6")
RANGES = [
    ("-1e6", "1e6"),
    (0, 100),
    ("0.1", "0.3"),
    ("0.1", "0.10000000000000002"),
    ("0.100000000000000001", "0.100000000000000002"),  # no float's decimal lies inside
    ("999999.5", "1e6"),
    ("0.3", "0.7"),
]
STEPS = (1, 32, 1000, (1 << 30) - 1)


def assert_same(domain: Domain, rounding: Rounding, batch: Any) -> None:
    """The same positions as one by one, or as many refused with the same first one."""
    listed = batch.tolist() if isinstance(batch, np.ndarray) else list(batch)
    codes: list[Any] = []
    for value in listed:
        try:
            codes.append(domain.encode(value))
        except sv.DomainError:
            codes.append(None)
    if None in codes:
        message = f"{codes.count(None)} of {len(codes)} .* the first at position {codes.index(None)}."
        with pytest.raises(sv.DomainError, match=message):
            encode_numbers(domain, rounding, batch)
    else:
        assert encode_numbers(domain, rounding, batch).tolist() == [rounding.position(code) for code in codes]


@pytest.mark.parametrize(
    ("value", "code"),
    [(-5, 0), (-0.0, 0), (0.05, "0.1"), (0.1, "0.1"), (0.2, "0.2"), (Decimal("0.3000000000000000001"), "0.3"), (7, 2)],
)
def test_a_number_moves_to_the_nearest_end(value: Any, code: Any) -> None:
    low, high = ("0.1", "0.3") if isinstance(code, str) else (0, 2)
    domain = Clamp(WIDE, low, high)
    assert domain.encode(value) == Fraction(code)
    assert isinstance(domain.encode(value), Fraction)


def test_integers_are_clamped_as_numbers() -> None:
    domain = Clamp(sv.Integers(-10, 90), 5, 20)
    assert [domain.encode(value) for value in (-10, 5, 7, 20, 90)] == [5, 5, 7, 20, 20]
    assert domain.numbers == (5, 20, 0)
    for refused in (91, 5.5, True, "5"):
        with pytest.raises(sv.DomainError):
            domain.encode(refused)


def test_what_the_wide_domain_refuses_is_not_clamped() -> None:
    domain = Clamp(sv.Interval(0, 10), 2, 3)
    for value in domain.foreign():
        with pytest.raises(sv.DomainError):
            domain.encode(value)
    for array in ([1.0, 10.5], [-0.1], [float("nan")], [float("inf")]):
        with pytest.raises(sv.DomainError, match="outside the domain"):
            encode_numbers(domain, Rounding(2, 3, 8), np.array(array))


@pytest.mark.parametrize(
    ("low", "high"), [(-1, 5), (5, 5), (6, 5), (2, 11), ("nan", 5), (True, 5)], ids=lambda end: str(end)
)
def test_ends_outside_the_wide_domain_are_refused(low: Any, high: Any) -> None:
    with pytest.raises(sv.ParameterError, match="of clamp must be"):
        Clamp(sv.Interval(0, 10), low, high)


def test_other_domains_are_refused() -> None:
    for of in (sv.Categories(["a", "b"]), Clamp(WIDE, 0, 1), None):
        with pytest.raises(sv.ParameterError, match="a domain of numbers"):
            Clamp(of, 0, 1)  # type: ignore[arg-type]


def test_a_specification_gives_the_domain_back() -> None:
    for domain in (Clamp(WIDE, "0.10", 30), Clamp(sv.Integers(0, 9), 2, 3)):
        assert domain_from_spec(domain.spec()) == domain
    assert Clamp(WIDE, "0.10", 30).spec()["low"] == "0.1"
    with pytest.raises(sv.SpecError):
        domain_from_spec({"kind": "clamp", "of": WIDE.spec(), "low": 0, "high": "1"})


# --- batches -----------------------------------------------------------------------------------------------------
FLOATS = st.one_of(
    st.floats(-1.2e6, 1.2e6),
    st.sampled_from(
        [
            float(np.nextafter(float(end), toward))
            for ends in RANGES
            for end in ends
            for toward in (-np.inf, float(end), np.inf)
        ]
    ),
    st.sampled_from([float("nan"), float("inf"), -0.0, 1e300]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=12), st.sampled_from(RANGES), st.sampled_from(STEPS))
@example([0.1, 0.10000000000000002, 0.3, 0.30000000000000004], ("0.1", "0.3"), 1000)
def test_floats_lie_where_the_scalar_puts_them(values: list[float], ends: tuple[Any, Any], steps: int) -> None:
    domain, rounding = Clamp(WIDE, *ends), Rounding(*ends, steps)
    assert_same(domain, rounding, np.array(values))
    assert_same(domain, rounding, values)
    with np.errstate(over="ignore"):
        short = np.array(values, np.float32)
    assert_same(domain, rounding, short)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-(1 << 62), 1 << 62) | st.integers(-200, 200), min_size=1, max_size=12),
    st.sampled_from([(-100, 100), ("0.5", "7.25"), ("0.2", "0.8"), ("-1e18", "1e18")]),
    st.sampled_from([sv.Interval("-1e19", "1e19"), sv.Interval("-1e18", "1e18"), sv.Integers(-200, 200)]),
    st.sampled_from([np.int64, np.int8, np.uint8, np.uint64]),
)
def test_whole_numbers_lie_where_the_scalar_puts_them(
    values: list[int], ends: tuple[Any, Any], of: Any, kind: type
) -> None:
    if isinstance(of, sv.Integers) and ends == ("-1e18", "1e18"):
        ends = (-200, 200)
    domain, rounding = Clamp(of, *ends), Rounding(*ends, 1000)
    kept = [value for value in values if np.iinfo(kind).min <= value <= np.iinfo(kind).max]
    assert_same(domain, rounding, np.array(kept, kind))
    assert_same(domain, rounding, values)


def test_other_batches_are_read_one_by_one() -> None:
    domain, rounding = Clamp(WIDE, 0, 1), Rounding(0, 1, 32)
    values = [Decimal("0.25"), 1, 0.5, Fraction(1, 3), -7]
    assert_same(domain, rounding, values)
    assert_same(domain, rounding, np.array(values, object))
    assert encode_numbers(domain, rounding, iter(values)).tolist() == encode_numbers(domain, rounding, values).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["designed", "bernoulli", "laplace"])
def test_every_kind_of_mechanism_takes_clamped_numbers(name: str) -> None:
    """The same reports as from answers that were clamped beforehand."""
    wide, narrow = (sv.mechanism(name, own, epsilon=1) for own in (Clamp(WIDE, -2, 3), sv.Interval(-2, 3)))
    answers = np.linspace(-9, 9, 1001)
    raw = wide.tally(wide.privatize(answers, seed=1))
    clamped = narrow.tally(narrow.privatize(np.clip(answers, -2, 3), seed=1))
    assert raw.cells.tolist() == clamped.cells.tolist()
    assert sv.audit(wide).ok
    assert sv.Mechanism.from_spec(wide.spec()) == wide
