"""Square and general waves: their width, their laws, circles, and the lemmas of their paper."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import ArcSets, Block, Channel, Then, Window
from sottovoce.core.channel.finite.block import nearest_arc
from sottovoce.core.coins import SeededCoins
from sottovoce.core.domain import Domain
from sottovoce.core.exact import law
from sottovoce.mechanisms.distribution.common import arc_share, bandwidth
from sottovoce.testing import check_mechanism

EPSILONS = ["0.01", "0.5", "1", "2", "5"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["square-wave", "square-wave-discrete", "general-wave"])
@pytest.mark.parametrize(("period", "epsilon"), [(7, "8"), (360, "0.1")])
def test_waves_around_a_circle_keep_the_contract(name: str, period: int, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Circle(period), epsilon=epsilon, buckets=21), seed=seed % 1000)


# --- how wide ---------------------------------------------------------------------------------------------------------
def information(b: float, epsilon: float) -> float:
    """The bound of the mutual information of a square wave, as the paper has it."""
    e = math.exp(epsilon)
    return math.log((2 * b + 1) / (2 * b * e + 1)) + 2 * b * epsilon * e / (2 * b * e + 1)


def arc_information(share: float, epsilon: float) -> float:
    """ln(1) less the entropy of a report on a circle of length 1: p inside the arc, q outside."""
    q = 1 / (share * math.exp(epsilon) + 1 - share)
    p = math.exp(epsilon) * q
    return share * p * math.log(p) + (1 - share) * q * math.log(q)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_width_has_the_largest_information(epsilon: str) -> None:
    for width, measure in ((bandwidth, information), (arc_share, arc_information)):
        best = float(width(Decimal(epsilon)))
        values = [measure(best * factor, float(epsilon)) for factor in (0.98, 0.999, 1, 1.001, 1.02)]
        assert max(values) == pytest.approx(values[2], rel=1e-9, abs=1e-15)
        assert values[0] < values[2] > values[4] or float(epsilon) < 0.1  # there the difference is lost in rounding


def test_the_widths_are_those_of_the_paper() -> None:
    e = math.e
    assert float(bandwidth(Decimal(1))) == pytest.approx(1 / (2 * e * (e - 2)), rel=1e-12)
    assert float(bandwidth(Decimal("1e-6"))) == pytest.approx(0.5, abs=1e-5)
    assert float(bandwidth(Decimal("1e-30"))) == 0.5 == float(arc_share(Decimal("1e-30")))
    for d, half in ((256, 65), (100, 25), (7, 1)):
        m = sv.mechanism("square-wave-discrete", sv.Integers(1, d), epsilon=1)
        assert isinstance(m.channel, Window) and (m.channel.width, m.channel.outputs) == (2 * half + 1, d + 2 * half)


def test_the_discrete_wave_has_the_published_probabilities() -> None:
    d, half, e = 7, 1, math.e
    m = sv.mechanism("square-wave-discrete", sv.Integers(0, d - 1), epsilon=1)
    p, q = e / ((2 * half + 1) * e + d - 1), 1 / ((2 * half + 1) * e + d - 1)
    for code in range(d):
        for (_, report), probability in law(m.channel, code).items():
            near = abs(report - half - code) <= half
            assert float(probability) == pytest.approx(p if near else q, rel=1e-12)


def test_the_continuous_wave_has_the_published_densities() -> None:
    m = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1)
    assert isinstance(m.channel, Then) and isinstance(m.channel.second, Window)
    window, steps, b = m.channel.second, m.channel.first.steps, float(bandwidth(Decimal(1)))
    assert window.width / steps / 2 == pytest.approx(b, rel=2e-3)
    high, low = (float(window.likelihood(y, 0)) * steps for y in (0, window.outputs - 1))
    assert low == pytest.approx(1 / (2 * b * math.e + 1), rel=2e-3) and high / low == pytest.approx(math.e)


@pytest.mark.parametrize("domain", [sv.Interval(0, 1), sv.Circle(24)])
def test_a_narrow_window_has_sixteen_steps_as_far_as_grids_are_refined(domain: Domain) -> None:
    """At epsilon 12 it would need 2**17 steps or more."""
    channel = sv.mechanism("square-wave", domain, epsilon=12).channel
    assert isinstance(channel, Then) and channel.first.steps == 2**14


# --- lemmas -----------------------------------------------------------------------------------------------------------
def moved(channel: Channel, first: int, second: int) -> Fraction:
    """The Wasserstein distance of the reports of two codes, from the enumerated law, in outputs."""
    outputs = channel.outputs  # type: ignore[attr-defined]
    rows = [{report: p for (_, report), p in law(channel, code).items()} for code in (first, second)]
    steps = [rows[0].get(y, Fraction(0)) - rows[1].get(y, Fraction(0)) for y in range(outputs)]
    return sum(map(abs, accumulate(steps)), Fraction(0))


def wave_distance(apart: Fraction, half_width: Fraction, low: Fraction) -> Fraction:
    """The Wasserstein distance of the reports of two answers that are `apart`, as parts of the range (lemma 5.4).

    It is apart (1 - (2 b + 1) low) for any wave on [-b, 1 + b], with b = `half_width` and the density `low` outside,
    since reports are moved by as much as the answer is, except for those of the uniform part. So of all waves with one
    width the square wave, which has the smallest `low`, separates answers best.
    """
    return apart * (1 - (2 * half_width + 1) * low)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
def test_the_distance_of_reports_is_that_of_the_lemma(epsilon: str) -> None:
    """Lemma 5.4, in units of one output: on d - 1 steps, with the least probability outside."""
    window = sv.mechanism("square-wave-discrete", sv.Integers(0, 8), epsilon=epsilon).channel
    assert isinstance(window, Window)
    half_width = Fraction(window.width, 2 * (window.k - 1))
    low = window.likelihood(window.outputs - 1, 0) * (window.k - 1)
    for first, second in ((0, 1), (2, 7), (0, 8)):
        apart = Fraction(second - first, window.k - 1)
        assert moved(window, first, second) == wave_distance(apart, half_width, low) * (window.k - 1)


@pytest.mark.parametrize("shape", ["0", "0.2", "0.5", "0.8"])
def test_general_waves_keep_the_lemma_and_the_square_wave_is_best(shape: str) -> None:
    square, other = (
        sv.mechanism("general-wave", sv.Integers(0, 30), epsilon=1, shape=one).channel for one in ("1", shape)
    )
    lows = []
    for wave in (square, other):
        low = min(min(row) for row in wave.rows)  # type: ignore[attr-defined]
        share = Fraction(low * wave.outputs, 1 << 53)  # type: ignore[attr-defined]
        assert float(moved(wave, 1, 6)) == pytest.approx(float(5 * (1 - share)), rel=1e-12)
        lows.append(share)
    assert lows[0] < lows[1]  # lemma 5.5, whose proof prints 1 where its first term is q (erratum 18)


def test_a_wave_of_shape_one_is_the_square_wave() -> None:
    wave, window = (
        sv.mechanism(name, sv.Integers(0, 8), epsilon="0.7", **options).channel
        for name, options in (("general-wave", {"shape": 1}), ("square-wave-discrete", {}))
    )
    for code in range(9):
        for y in range(window.outputs):  # type: ignore[attr-defined]
            assert float(wave.likelihood(y, code) / window.likelihood(y, code)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("domain", [sv.Interval(0, 1), sv.Circle(24), sv.Categories(list("abcdefgh"))])
def test_a_mixed_wave_is_either_wave_by_a_fair_coin(domain: Domain) -> None:
    size = {} if isinstance(domain, sv.Categories) else {"buckets": 8}
    names = ("square-wave-discrete", "coded-wave", "mixed-wave")
    square, coded, mixed = (sv.mechanism(name, domain, epsilon=1, **size) for name in names)
    for code in range(8):
        ways = [law(one.channel, code) for one in (square, coded)]
        start = square.channel.outputs  # type: ignore[attr-defined]
        halves = {report: p / 2 for report, p in ways[0].items()}
        halves |= {(public, start + report): p / 2 for (public, report), p in ways[1].items()}
        assert law(mixed.channel, code) == halves
    assert mixed.question == coded.question
    assert mixed.channel.ratio() == max(one.channel.ratio() for one in (square, coded))


def test_trapezoids_fall_in_a_straight_line() -> None:
    wave = sv.mechanism("general-wave", sv.Integers(0, 40), epsilon=1, shape="0.4").channel
    row = np.array(wave.rows[20], float)  # type: ignore[attr-defined]
    heights = (row / row.min() - 1) / (math.e - 1)
    half = (len(row) - 41) // 2
    top = heights.argmax()
    expected = [min(1.0, (1 - t / (half + 1)) / 0.6) for t in range(half + 2)]
    centre = 20 + half
    assert heights[centre : centre + half + 2] == pytest.approx(expected, abs=1e-9)
    assert heights[centre - half - 1 : centre + 1] == pytest.approx(expected[::-1], abs=1e-9) and top <= centre


# --- circles ----------------------------------------------------------------------------------------------------------
def test_a_circle_has_no_seam() -> None:
    """The law of a code is that of code 0, turned; the point after the last one is the first."""
    channel = Block(ArcSets(8, 7, 3), (1 << 53) * 3 // 4)
    rows = [[channel.likelihood(y, code) for y in range(7)] for code in range(8)]
    for code, row in enumerate(rows):
        assert row == [rows[0][(y - code) % 7] for y in range(7)]
    assert rows[7] == rows[0]
    m = sv.mechanism("square-wave", sv.Circle(24), epsilon=1)
    for seed in range(20):
        assert m.randomize(0, SeededCoins(seed)) == m.randomize(24.0, SeededCoins(seed))


def test_arcs_share_no_divisor_with_the_circle() -> None:
    for outputs in range(2, 40):
        for tenth in range(1, 10):
            size = nearest_arc(Fraction(tenth, 10), outputs)
            assert math.gcd(size, outputs) == 1 and 0 < size < outputs
    assert nearest_arc(Fraction(1, 2), 1024) in (511, 513)
    for name in ("square-wave", "square-wave-discrete"):
        for buckets in (7, 24, 96):
            m = sv.mechanism(name, sv.Circle(7), epsilon=2, buckets=buckets)
            assert m.variance(np.full(buckets, 1 / buckets), 1).max() < 1e6  # all shares are determined


def test_circles_are_refused_and_read_like_other_domains() -> None:
    for wrong in (-1, 0, "x", float("nan"), True, None):
        with pytest.raises(sv.ParameterError, match="The 'period' parameter of circle must be"):
            sv.Circle(wrong)  # type: ignore[arg-type]
    hours = sv.Circle("24")
    assert hours.encode(24) == hours.encode(0) == 0 and hours.encode(0.5) == Fraction(1, 2)
    for value in hours.foreign():
        with pytest.raises(sv.DomainError, match=r"An answer must be a number in \[0, 24\]"):
            hours.encode(value)
    assert sv.Circle.from_fields({"period": "24"}) == hours and hours.numbers is None and hours.size is None
    m = sv.mechanism("square-wave", hours, epsilon=1)
    with pytest.raises(sv.MismatchError, match="does not fit a circle with the period 12"):
        sv.Mechanism(m.name, sv.Distribution(sv.Circle(12)), m.channel, m.claimed, m.statistic)


def test_parameters_are_checked_in_one_sentence() -> None:
    for buckets in (1, 0, "8", 1.5, True, 1 << 20):
        with pytest.raises(sv.ParameterError, match=r"^The 'buckets' parameter of .* must be an integer in"):
            sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=buckets)
    with pytest.raises(sv.ParameterError, match="categories of square-wave-discrete are its buckets"):
        sv.mechanism("square-wave-discrete", sv.Categories(["a", "b", "c"]), epsilon=1, buckets=2)
    for shape in (-1, 2, "x"):
        with pytest.raises(sv.ParameterError, match=r"^The 'shape' parameter of general-wave must be a"):
            sv.mechanism("general-wave", sv.Interval(0, 1), epsilon=1, shape=shape)
    with pytest.raises(sv.ParameterError, match="The 'workload' parameter of distribution must be one of cdf, quant"):
        sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, workload="all")
