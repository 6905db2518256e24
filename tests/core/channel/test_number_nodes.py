"""The nodes of numeric mechanisms: every closed form against the enumerated sampler, on random small instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    Bits,
    Chain,
    Channel,
    Each,
    Keyed,
    Mix,
    Noise,
    PoolMap,
    Public,
    Rounding,
    Subset,
    Table,
    Then,
    Window,
    channel_from_spec,
)
from sottovoce.core.channel.facets import Numeric, facet, readings, rounding_of
from sottovoce.core.coins import SeededCoins
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.question import Frequency, Mean
from sottovoce.core.statistic.outputs import CountOutputs
from tests.each import for_each


@st.composite
def weights(draw: Any, count: int, falling: bool = False) -> tuple[int, ...]:
    """Positive integers that sum to 2**53."""
    rough = draw(st.lists(st.integers(1, 1000), min_size=count, max_size=count))
    if falling:
        rough = sorted(rough, reverse=True)
    later = [UNIT * weight // (sum(rough) + 1) for weight in rough[1:]]
    return (UNIT - sum(later), *later)


@st.composite
def windows(draw: Any, k: int | None = None) -> Window:
    k = k or draw(st.integers(2, 6))
    stride, width = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    outputs = (k - 1) * stride + width
    return Window(k, stride, width, draw(st.integers(UNIT * width // outputs + 1, UNIT - 1)))


@st.composite
def noises(draw: Any, steps: int | None = None) -> Noise:
    steps = steps or draw(st.integers(1, 4))
    length = draw(st.integers(1, steps))
    first = (UNIT - (length - 1) * (UNIT // length), *([UNIT // length] * (length - 1)))
    cycle = (UNIT - (steps - 1) * (UNIT // steps), *([UNIT // steps] * (steps - 1)))
    fall = draw(st.integers(2 * steps, 40))
    bands = [UNIT // fall**j // 2 for j in range(1, draw(st.integers(3, 5)))]
    return Noise(steps, first, cycle, (UNIT - sum(bands), *bands))


@st.composite
def mixes(draw: Any) -> Mix:
    k = draw(st.integers(2, 5))
    coin = Then(Rounding(0, k - 1, 1), Subset(2, 1, draw(st.integers(UNIT // 2 + 1, UNIT - 1))))
    parts = (draw(windows(k)), coin, draw(noises(k - 1)))[: draw(st.integers(2, 3))]
    return Mix(draw(weights(len(parts))), parts)


@st.composite
def rounded(draw: Any) -> Then:
    second = draw(st.one_of(windows(), noises(), mixes()))
    low, high = draw(st.sampled_from([(-1, 1), ("0", "0.3"), ("-7.5", "12")]))
    return Then(Rounding(low, high, second.inputs - 1), second)


@st.composite
def sides(draw: Any) -> Each:
    parts = draw(st.lists(st.one_of(windows(3), noises(1)), min_size=1, max_size=2))
    return Each(tuple(parts))


NODES = {"window": windows(), "noise": noises(), "mix": mixes(), "rounded": rounded(), "each": sides()}


def codes_of(channel: Channel) -> list[Any]:
    """All codes, and for numbers some between the grid points."""
    codes = list(channel.codes())
    if rounding_of(channel) is not None:
        codes += [a + (b - a) * Fraction(3, 8) for a, b in pairwise(codes)]
    return codes


def laws(channel: Channel) -> dict[Any, dict[int, Fraction]]:
    return {code: {report: p for (_, report), p in law(channel, code).items()} for code in codes_of(channel)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NODES)
@settings(max_examples=40)
@given(data=st.data())
def test_closed_forms_are_those_of_the_enumerated_sampler(kind: str, data: Any) -> None:
    channel = data.draw(NODES[kind])
    found = laws(channel)
    for code, one in found.items():
        assert sum(one.values()) == 1
        assert all(channel.contains(report) and p == channel.likelihood(report, code) for report, p in one.items())
        assert len(one) == len(next(iter(found.values())))
    assert channel.ratio() == worst_ratio(list(found.values()))
    if kind == "each":
        return
    scales = channel.scales()
    assert scales is not None
    read = list(readings(scales, channel.outputs))
    for code, one in found.items():
        enumerated = tuple(sum(p * read[report] ** power for report, p in one.items()) for power in (1, 2))
        assert channel.moments(code) == enumerated
        bias = enumerated[0] - code
        assert bias == 0 or kind in ("noise", "mix", "rounded")  # clamped noise of few bands is biased


@pytest.mark.parametrize("kind", NODES)
@settings(max_examples=20)
@given(data=st.data())
def test_specifications_and_miniatures(kind: str, data: Any) -> None:
    channel = data.draw(NODES[kind])
    assert channel_from_spec(channel.spec()) == channel
    for small in channel.miniatures():
        assert small.ratio() >= 1
        assert len(list(small.codes())) == small.inputs


@pytest.mark.parametrize(("width", "inside"), [(3, UNIT // 2), (1, UNIT // 3)])
def test_windows_and_subsets_have_linear_means_and_are_unbiased(width: int, inside: int) -> None:
    channel = Window(5, 2, width, inside + UNIT // 4)
    subset = Subset(5, 1, inside)
    for node in (channel, subset):
        assert [node.moments(code)[0] for code in range(5)] == [0, 1, 2, 3, 4]


def test_a_table_is_read_where_its_mean_is_exactly_linear() -> None:
    q = UNIT // 4
    straight = Table([(2 * q, q, q), (q, 2 * q, q), (q, q, 2 * q)])
    assert [straight.moments(code)[0] for code in range(3)] == [0, 1, 2]
    bent = Table([(2 * q, q, q), (q, 2 * q, q), (q, q - 1, 2 * q + 1)])
    assert facet(bent, Numeric) is None


def test_rounding_is_exactly_unbiased_on_its_own_positions_and_reads_others_to_the_nearest() -> None:
    rounding = Rounding("0.1", "0.4", 3)
    for position in (0, 1, 2**31, 2**32 - 1, 2**32, 3 * 2**32):
        number = rounding.number(position)
        assert rounding.position(number) == position
        mean = sum(p * (Fraction("0.1") + report * rounding.step) for (_, report), p in law(rounding, number).items())
        assert mean == number
    assert rounding.position(Fraction("0.25")) == 3 * 2**31
    assert abs(rounding.number(rounding.position(Fraction(1, 3))) - Fraction(1, 3)) <= rounding.step / 2**33
    with pytest.raises(sv.PrivacyError, match="infinite"):
        rounding.ratio()


@for_each(
    "build,sentence",
    [
        (lambda: Rounding(1, 1, 4), "above low"),
        (lambda: Rounding(0, 1, 0), "steps"),
        (lambda: Window(5, 1, 3, UNIT // 8), "independent of the code"),
        (lambda: Window(1, 1, 3, UNIT // 2), "'k'"),
        (lambda: Window(5, 0, 3, UNIT // 2), "'stride'"),
        (lambda: Window(5, 1.0, 3, UNIT // 2), "'stride'"),  # type: ignore[arg-type]
        (lambda: Window(5, 1, 0, UNIT // 2), "'width'"),
        (lambda: Window(5, 1, 3, UNIT), "'inside'"),
        (lambda: Window(1 << 13, 1 << 12, 3, UNIT // 2), "'outputs'"),
        (lambda: Noise(2, (UNIT,), (UNIT // 2, UNIT // 2), (UNIT // 2, UNIT // 2)), "at least three"),
        (lambda: Noise(1, (UNIT,), (UNIT,), (UNIT // 4, UNIT // 2, UNIT // 4)), "not be likelier"),
        (lambda: Noise(1, (UNIT,), (UNIT,), (UNIT // 2, UNIT // 2, UNIT // 4)), "sum to"),
        (lambda: Mix((UNIT // 2, UNIT // 2), (Subset(2, 1, UNIT - 9), Subset(3, 1, UNIT - 9))), "same codes"),
        (lambda: Mix((UNIT,), (Subset(2, 1, UNIT - 9),)), "two or more"),
        (lambda: Mix((UNIT // 2, UNIT // 2), (Subset(5, 2, UNIT - 9), Subset(5, 1, UNIT - 9))), "numbered outputs"),
        (lambda: Each(()), "From 1 to"),
    ],
)
def test_bad_parameters_get_one_sentence(build: Any, sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        build()


def test_a_mechanism_of_numbers_fits_its_domain_only() -> None:
    channel = sv.mechanism("piecewise", sv.Interval(0, 1), epsilon=1).channel
    for domain in (sv.Interval(0, 2), sv.Integers(0, 9)):
        with pytest.raises(sv.MismatchError, match="does not fit"):
            sv.Mechanism("piecewise", Mean(domain), channel, 1, CountOutputs())
    with pytest.raises(sv.MismatchError, match="does not fit"):
        sv.Mechanism("piecewise", Frequency(sv.Categories(["a", "b"])), channel, 1, CountOutputs())
    with pytest.raises(sv.ParameterError, match="domain of numbers"):
        Mean(sv.Categories(["a", "b"]))
    with pytest.raises(sv.ParameterError, match="domain of numbers"):
        sv.mechanism("piecewise", sv.Categories(["a", "b"]), epsilon=1)


def test_each_side_by_side_fits_a_record() -> None:
    domain = sv.Record({"age": sv.Integers(0, 9), "height": sv.Interval(0, 2)})
    parts = [sv.mechanism("bernoulli", field, epsilon="0.5").channel for _, field in domain.fields]
    coins = SeededCoins(1)
    channel = Each(tuple(parts))
    code = domain.encode({"age": 3, "height": 1.7})
    coins.begin(channel.words)
    assert channel.contains(channel.sample(code, coins))
    assert channel.ratio() == parts[0].ratio() * parts[1].ratio()
    with pytest.raises(sv.MismatchError, match="side by side"):
        sv.Mechanism("each", Frequency(sv.Record({"age": sv.Integers(0, 9)})), channel, 1, CountOutputs())


# --- specifications that would tell ---------------------------------------------------------------------------------
SUB = Subset(5, 1, UNIT // 2)
FOUR = Subset(4, 1, UNIT - 9)
AGAIN = Then(Rounding(-10, -5, 4), SUB)


@for_each(
    "build",
    [
        lambda: Then(Rounding(0, 4, 4), AGAIN),
        lambda: Then(SUB, AGAIN),
        lambda: Chain(SUB, AGAIN),
        lambda: Public(PoolMap(5, 5, 1), AGAIN),
        lambda: Mix(
            (UNIT // 2, UNIT // 2),
            (Then(Bits(2, UNIT - 9, 9, "mask", 1), Subset(4, 1, UNIT - 9)), Subset(4, 1, UNIT - 9)),
        ),
        lambda: Then(Subset(2, 1, UNIT - 9), Each((Subset(2, 1, UNIT - 9),))),
        lambda: Then(Subset(4, 1, UNIT - 9), KEYED),
        lambda: Mix((UNIT // 2, UNIT // 2), (KEYED, KEYED)),
        lambda: Keyed(Subset(2, 1, UNIT - 9), KEYED, (UNIT // 4,) * 4),
        lambda: Keyed(Subset(2, 1, UNIT - 9), Chain(Subset(2, 1, UNIT - 9), Subset(2, 1, UNIT - 9)), (UNIT // 2,) * 2),
    ],
)
def test_a_channel_whose_codes_are_no_indices_follows_on_no_other(build: Any) -> None:
    """Such a report could lie outside the alphabet, or fail for some answers only: either tells the answer."""
    with pytest.raises(sv.ParameterError):
        build()


KEYED = Keyed(Subset(2, 1, UNIT - 9), Subset(2, 1, UNIT - 9), (UNIT // 2, UNIT // 2))


def test_a_number_outside_the_range_is_not_rounded() -> None:
    with pytest.raises(ValueError, match="outside the range"):
        Rounding(0, 1, 4).sample(Fraction(3, 2), SeededCoins(1))
