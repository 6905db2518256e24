"""Mean mechanisms against the papers: laws, exact means, and variances that the grid changes by less than 1 %."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import acos, cos, exp, expm1, log, pi, sqrt

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, within
from sottovoce.core.channel import Subset
from sottovoce.core.exact import law
from sottovoce.estimate.mean.moments import profile
from sottovoce.mechanisms.mean.hybrid import THRESHOLD
from sottovoce.mechanisms.mean.staircase import centre
from sottovoce.mechanisms.mean.three_output import _neutral, worst_case
from tests.each import for_each

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
NUMBERS = [Fraction(place, 7) for place in range(-7, 8)]
BOX = sv.Interval(-1, 1)


# --- the papers' variances on [-1, 1], written from their laws ------------------------------------------------------
def bernoulli(x: float, epsilon: float) -> float:
    bound = (exp(epsilon) + 1) / expm1(epsilon)
    return bound**2 - x**2


def piecewise(x: float, epsilon: float) -> float:
    t = exp(epsilon / 2)
    return x**2 / (t - 1) + (t + 3) / (3 * (t - 1) ** 2)


def wide_piecewise(x: float, epsilon: float) -> float:
    """Zhao et al., from the density: likely in [l, r], e**epsilon times less so elsewhere in [-c, c]."""
    e, t = exp(epsilon), exp(epsilon / 3)
    c = (e + t) * (t + 1) / (t * (e - 1))
    left = (e + t) * (x * t - 1) / (t * (e - 1))
    right = (e + t) * (x * t + 1) / (t * (e - 1))
    likely = t * (e - 1) / (2 * (t + e) ** 2) * e
    assert likely * (right - left) + likely / e * (2 * c - right + left) == pytest.approx(1)
    return likely / 3 * (right**3 - left**3) * (1 - 1 / e) + likely / e / 3 * 2 * c**3 - x**2


def hybrid(x: float, epsilon: float) -> float:
    if epsilon <= THRESHOLD:
        return bernoulli(x, epsilon)
    return -expm1(-epsilon / 2) * piecewise(x, epsilon) + exp(-epsilon / 2) * bernoulli(x, epsilon)


def laplace(x: float, epsilon: float) -> float:
    return 8 / epsilon**2


def stepped(half: float, epsilon: float) -> float:
    """Variance of a density that is constant on [-half, half], and e**-epsilon times less on each further length 2."""
    mass, second = 2 * half, 2 * half**3 / 3
    for band in range(1, int(40 / epsilon) + 2):
        a, b = half + 2 * (band - 1), half + 2 * band
        mass += 2 * exp(-band * epsilon) * (b - a)
        second += 2 * exp(-band * epsilon) * (b**3 - a**3) / 3
    return second / mass


def scdf(x: float, epsilon: float) -> float:
    half = 2 * (1 - exp(-epsilon) - epsilon * exp(-epsilon)) / (epsilon * (1 - exp(-epsilon)))
    return stepped(half, epsilon)


def staircase(x: float, epsilon: float) -> float:
    return least_stepped(epsilon)


@cache
def least_stepped(epsilon: float) -> float:
    """The least over all widths, found by search instead of the formula."""
    return min(stepped(2 * place / 800, epsilon) for place in range(1, 401))


def three_output(x: float, epsilon: float) -> float:
    e = exp(epsilon)
    a = _neutral(e)
    c = (e + 1) / ((e - 1) * (1 - a / e))
    return c**2 * (1 - a + (a - a / e) * abs(x)) - x**2


PUBLISHED = {
    "bernoulli": bernoulli,
    "piecewise": piecewise,
    "pm-sub": wide_piecewise,
    "hybrid": hybrid,
    "laplace": laplace,
    "scdf": scdf,
    "staircase": staircase,
    "three-output": three_output,
}


@for_each("epsilon", EPSILONS)
@for_each("name", PUBLISHED)
def test_the_grid_costs_less_than_one_percent_of_the_variance(name: str, epsilon: str) -> None:
    channel = sv.mechanism(name, BOX, epsilon=epsilon).channel
    tables = name in ("bernoulli", "three-output")  # no grid beyond the published one
    for x in NUMBERS:
        first, second = channel.moments(x)
        expected = PUBLISHED[name](float(x), float(epsilon))
        assert float(second - first**2) == pytest.approx(expected, rel=1e-8 if tables else 0.01)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        pytest.param(name, epsilon, marks=[] if epsilon in quick and name != "n-output" else pytest.mark.slow)
        for name in sv.names(sv.Mean)
        for quick in [("1",) if name == "designed" else ("0.01", "1", "20")]
        for epsilon in ("0.01", *EPSILONS, "20")
        if (name, epsilon) != ("bernoulli-memo", "20")  # a memo needs a larger epsilon, and there is none
    ],
)
def test_readings_are_exactly_unbiased_on_the_grid(name: str, epsilon: str) -> None:
    mechanism = sv.mechanism(name, sv.Interval(2, 12), epsilon=epsilon)
    channel = mechanism.channel
    points = list(channel.codes()) if channel.inputs < 70 else [channel.codes()[i] for i in (0, 1, 7, -2, -1)]
    noisy = name in ("laplace", "scdf", "staircase")
    for x in [*points, *(a + channel.rounding.step * Fraction(5, 16) for a in points[:-1])]:
        bias = channel.moments(x)[0] - x
        assert abs(bias) < Fraction(10, 10**9) if noisy else bias == 0
    assert within(mechanism.ratio, mechanism.claimed) and mechanism.epsilon >= float(epsilon) - 1e-6


# --- the Bernoulli family -------------------------------------------------------------------------------------------
def upper_end(name: str, x: Fraction, epsilon: str, **options: int) -> Fraction:
    channel = sv.mechanism(name, BOX, epsilon=epsilon, **options).channel
    return sum(p for (_, report), p in law(channel, x).items() if report)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("x", [Fraction(-1), Fraction(-3, 8), Fraction(0), Fraction(1, 16), Fraction(1)])
def test_proposition_1_of_the_sok_all_names_are_one_law(x: Fraction, epsilon: str) -> None:
    """Duchi et al., Nguyen et al., Ding et al. and Waudby-Smith et al. (one step) write the same probability."""
    e, v = exp(float(epsilon)), float(x)
    duchi = 0.5 + v / 2 * (e - 1) / (e + 1)
    harmony = (v * (e - 1) + e + 1) / (2 * e + 2)  # survey Eq. (36) with its numerators put right
    ding = 1 / (e + 1) + (v + 1) / 2 * (e - 1) / (e + 1)
    nonparametric = (v + 1) / 2 * e / (e + 1) + (1 - v) / 2 / (e + 1)
    assert duchi == pytest.approx(harmony) == pytest.approx(ding) == pytest.approx(nonparametric)
    shipped = upper_end("bernoulli", x, epsilon)
    assert float(shipped) == pytest.approx(duchi, rel=1e-12)
    assert upper_end("duchi", x, epsilon) == upper_end("harmony", x, epsilon) == upper_end("1bit-mean", x, epsilon)
    assert upper_end("nprr", x, epsilon, k=1) == upper_end("duchi", x, epsilon) == shipped


@pytest.mark.parametrize(("epsilon", "k"), [("0.5", 1), ("2", 2), ("2", 5), ("6", 20)])
def test_nprr_has_the_law_and_variance_of_the_paper(epsilon: str, k: int) -> None:
    channel = sv.mechanism("nprr", sv.Interval(0, 1), epsilon=epsilon, k=k).channel
    e = exp(float(epsilon))
    rate = (e - 1) / (e + k)  # with this probability the rounded level is told, else any of the k + 1
    for x in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)):
        below = int(x * k)
        up = x * k - below
        rounded = {below: 1 - up, below + 1: up}
        for (_, report), p in law(channel, x).items():
            expected = rate * float(rounded.get(report, 0)) + (1 - rate) / (k + 1)
            assert float(p) == pytest.approx(expected, rel=1e-9)


def test_nprr_takes_more_levels_for_larger_budgets() -> None:
    levels = [sv.mechanism("nprr", BOX, epsilon=epsilon).channel.rounding.steps for epsilon in EPSILONS]
    assert levels[:3] == [1, 1, 1] and sorted(levels) == levels and levels[-1] > 8


# --- three outputs --------------------------------------------------------------------------------------------------
def test_the_neutral_probability_is_that_of_the_paper() -> None:
    """The closed form of Zhao et al. between ln 2 and ln((3 + sqrt 65) / 2), and its ends."""
    assert _neutral(exp(0.69)) == 0
    for epsilon in (0.75, 1.0, 1.3, 1.6):
        e = exp(epsilon)
        d0 = e**4 + 14 * e**3 + 50 * e**2 - 2 * e + 25
        d1 = -2 * e**6 - 42 * e**5 - 270 * e**4 - 404 * e**3 - 918 * e**2 + 30 * e - 250
        a = -(-(e**2) - 4 * e - 5 + 2 * sqrt(d0) * cos(pi / 3 + acos(-d1 / (2 * d0**1.5)) / 3)) / 6
        assert _neutral(e) == pytest.approx(a, abs=1e-6)
    for epsilon in (log((3 + sqrt(65)) / 2) + 0.01, 3.0, 8.0):
        e = exp(epsilon)
        assert _neutral(e) == pytest.approx(e / (e + 2), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.8, 1.2, 2.0, 5.0])
def test_the_worst_case_of_three_outputs_is_least(epsilon: float) -> None:
    e = exp(epsilon)
    grid = [place / 2000 * e / (e + 2) for place in range(2001)]
    assert worst_case(e, _neutral(e)) <= min(worst_case(e, a) for a in grid) * (1 + 1e-9)
    channel = sv.mechanism("three-output", BOX, epsilon=epsilon).channel
    tried = [channel.moments(Fraction(i, 400)) for i in range(401)]
    assert max(float(b - a**2) for a, b in tried) == pytest.approx(worst_case(e, _neutral(e)), rel=1e-4)


# --- errata ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_erratum_15_the_printed_steps_have_too_much_mass(epsilon: float) -> None:
    scdf_half = 2 / epsilon - 2 / expm1(epsilon)
    stair_half = 2 / (1 + exp(epsilon / 2))
    centres = {
        scdf_half: epsilon / 4,
        stair_half: (1 - exp(-epsilon)) / (2 * stair_half + 4 * exp(-epsilon) - 2 * stair_half * exp(-epsilon)),
    }
    for half, height in centres.items():
        outer = sum(4 * height * exp(-i * epsilon) for i in range(4000))
        assert 2 * half * height + outer * exp(-epsilon) == pytest.approx(1)  # steps that begin one factor lower
        assert 2 * half * height + outer == pytest.approx(1 + 4 * height)  # 1.5 at epsilon 0.5, 5 at 4 (SCDF)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_erratum_15_the_width_for_the_variance_is_not_that_for_the_mean_absolute_noise(epsilon: float) -> None:
    best, printed = stepped(2 * centre(epsilon), epsilon), stepped(2 / (1 + exp(epsilon / 2)), epsilon)
    assert best <= min(stepped(2 * place / 500, epsilon) for place in range(1, 500)) * (1 + 1e-9)
    assert printed > best
    if epsilon == 8:
        assert printed / best > 1.1


@for_each("name", ("bernoulli", "piecewise", "three-output", "nprr"))
def test_the_worst_case_is_that_of_an_answer(name: str) -> None:
    """Whole numbers are answers, and what lies between them is none; of a range all numbers are."""
    whole, wide = (sv.mechanism(name, domain, epsilon=2) for domain in (sv.Integers(0, 5), sv.Interval(0, 5)))
    assert whole.worst_case_variance() == pytest.approx(max(whole.variance(x, 1) for x in range(6)), rel=1e-12)
    dense = np.asarray(wide.variance(np.linspace(0, 5, 4001), 1))
    assert dense.max() <= wide.worst_case_variance() <= dense.max() * (1 + 1e-4)


def test_the_hybrid_threshold_and_its_flat_variance() -> None:
    assert pytest.approx(0.61, abs=0.005) == THRESHOLD
    assert bernoulli(0, 0.6) < -expm1(-0.3) * piecewise(0, 0.6) + exp(-0.3) * bernoulli(0, 0.6)
    channel = sv.mechanism("hybrid", BOX, epsilon=2).channel
    variances = [float(b - a**2) for a, b in map(channel.moments, NUMBERS)]
    assert max(variances) / min(variances) < 1.002
    assert len(sv.mechanism("hybrid", BOX, epsilon="0.6").channel.scales()) == 1


@pytest.mark.parametrize("name", ["laplace", "scdf", "staircase"])
def test_noise_for_a_tiny_budget_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(sv.ParameterError, match="larger epsilon"):
        sv.mechanism(name, BOX, epsilon="0.0001")


def test_reports_that_were_not_rounded_first_have_no_grid() -> None:
    with pytest.raises(sv.ParameterError, match="a subset channel are not numbers that were rounded first"):
        profile(Subset(4, 2, UNIT // 4 * 3))
