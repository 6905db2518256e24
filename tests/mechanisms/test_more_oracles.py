"""Histogram encoding, d-bit flip, re-optimised oracles, wheels, projective geometry: what only they promise."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, ceil_unit, floor_unit, odds, units
from sottovoce.core.channel import ArcSets, Bits, Block, Histogram, MultiplierMap, ProjectiveSets, Public, Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.exact import law
from sottovoce.core.guarantee import PURE, UtilityOptimised
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.frequency import projective as decoding
from sottovoce.mechanisms.frequency.common import average_variance
from sottovoce.mechanisms.frequency.she import bin_noise
from sottovoce.mechanisms.frequency.shist import rows
from sottovoce.testing.coverage import coverage
from tests.mechanisms.rare import rare_variance


def made(name: str, k: int, epsilon: object = 1, **options: object) -> Mechanism:
    return sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon, **options)


def rates(mechanism: Mechanism) -> Rates:
    found = rates_of(mechanism.channel)
    assert isinstance(found, Rates)
    return found


# --- histogram encoding ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
def test_summation_has_the_variance_of_laplace_noise(epsilon: float) -> None:
    m = made("she", 20, epsilon)
    assert rare_variance(m) == pytest.approx(8 / epsilon**2, rel=0.002)
    for share in (0, 0.3):  # the same for every value
        truth = np.array([share, *[(1 - share) / 19] * 19])
        assert m.variance(truth, 1, target="sample")[0] == pytest.approx(8 / epsilon**2, rel=0.002)


def test_the_published_scale_of_histogram_encoding_is_the_wrong_way_round() -> None:
    """Lap(epsilon / 2) at epsilon 1 is the noise of epsilon 4."""
    wrong = Histogram(5, bin_noise("wrong", Decimal(4), 1))
    certificate = sv.audit(wrong, epsilon=1)
    assert not certificate.ok and certificate.epsilon == pytest.approx(4, abs=1e-6)
    with pytest.raises(sv.PrivacyError, match="more than the 1 it claims"):
        Mechanism("wrong", Frequency(sv.Integers(0, 4)), wrong, Decimal(1), Sums())


@pytest.mark.parametrize("epsilon", ["1", pytest.param("0.3", marks=pytest.mark.slow), "3"])
def test_thresholds_are_tails_of_the_noise_and_the_best_of_them(epsilon: str) -> None:
    m = made("the", 9, epsilon)
    assert m.unused is not None and m.epsilon < float(epsilon) - 1e-3 and sv.audit(m).ok
    noise = bin_noise("the", Decimal(epsilon), 16)
    pairs = []
    for first in range(noise.limit + 2, noise.limit + noise.steps + 2):
        tails = [sum(noise.likelihood(y, code) for y in range(first, noise.outputs)) for code in (noise.steps, 0)]
        pairs.append((floor_unit(tails[0]), ceil_unit(tails[1])))
    channel = m.channel
    assert isinstance(channel, Bits) and (channel.p, channel.q) in pairs
    variances = [float(units(q) * (1 - units(q)) / (units(p) - units(q)) ** 2) for p, q in pairs]
    assert min(variances) == pytest.approx(rare_variance(m), rel=1e-9)
    # In closed form for continuous noise, at the threshold between 0 and 1 with the least variance.
    e = float(epsilon)
    grid = np.linspace(0.01, 1, 2000)
    above, below = 1 - np.exp(e * (grid - 1) / 2) / 2, np.exp(-e * grid / 2) / 2
    assert min(below * (1 - below) / (above - below) ** 2) == pytest.approx(rare_variance(m), rel=0.01)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_of_sums_cover_by_their_law(level: float) -> None:
    m = made("she", 16, 1)
    for n, share in product((40, 2000), (0, 0.1, 0.6)):
        for target in ("population", "sample"):
            assert coverage(m, n, share, "exact", target, level) >= level
            assert coverage(m, n, share, "normal", target, level) == pytest.approx(level, abs=0.006)
        assert coverage(m, n, share, "wilson", "population", level) == pytest.approx(level, abs=0.004)


# --- re-optimised -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("k", "epsilon"), [(2, "1"), (5, "0.5"), (10, "3"), (1000, "6")])
def test_unary_encoding_is_optimal_on_average(k: int, epsilon: str) -> None:
    m, e = made("rue", k, epsilon), float(odds(Decimal(epsilon)))
    own, other = map(float, rates(m))
    h = math.sqrt((k - 1 + 1 / e) / (k - 1 + e))
    assert own == pytest.approx(1 / (1 + h), rel=1e-12) and other == pytest.approx(1 / (1 + h * e), rel=1e-12)
    best = float(average_variance(rates(m), k))
    for near in (own * 0.99, own * 1.01):
        there = Rates(Fraction(near), Fraction(near / (near + e * (1 - near))))
        assert float(average_variance(there, k)) > best
    for name in ("sue", "oue"):
        assert float(average_variance(rates(made(name, k, epsilon)), k)) >= best * (1 - 1e-12)
    shares = np.full(k, 1 / k)
    assert float(m.variance(shares, 1, target="sample").mean()) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("k", "epsilon"), [(3, "2"), (10, "3"), (200, "4"), (50, "0.5")])
def test_hashing_has_the_number_of_values_that_is_optimal_on_average(k: int, epsilon: str) -> None:
    def error(g: int) -> float:
        return float(average_variance(rates(made("olh", k, epsilon, g=g)), k))

    chosen = made("rlh", k, epsilon).channel
    assert isinstance(chosen, Public)
    assert chosen.map.outputs == min(range(2, 200), key=error)


@pytest.mark.parametrize(("k", "epsilon"), [(5, "1"), (6, "1"), (12, "0.5"), (12, "3")])
def test_every_pair_on_a_wheel_is_supported_alike(k: int, epsilon: str) -> None:
    m = made("rws", k, epsilon)
    channel = m.channel
    assert isinstance(channel, Public) and isinstance(channel.inner, Block)
    order, inner = channel.map.outputs, channel.inner
    assert isinstance(inner.sets, ArcSets) and order in (5, 7, 13)
    for first, second in combinations(range(k), 2):
        total = Fraction(0)
        for multiple in range(1, order):
            here, there = multiple * first % order, multiple * second % order
            supported = (y for y in range(order) if inner.sets.member(there, y))
            total += sum(inner.likelihood(y, here) for y in supported)
        assert total / (order - 1) == rates(m).other
    e, multiples = odds(m.claimed), MultiplierMap(k, order)
    errors = {
        size: average_variance(multiples.rates_of_sets(e * size / (e * size + order - size), size), k)
        for size in range(1, order)
    }
    assert inner.sets.size == min(errors, key=errors.__getitem__)


@pytest.mark.parametrize(("bits", "largest", "too_large"), [(2, 5, 7), (4, 17, 19), (64, 16777213, 16777259)])
def test_there_are_no_more_multiples_than_words_and_than_2_to_the_24(bits: int, largest: int, too_large: int) -> None:
    """The largest prime with so few multiples, and the next one."""
    assert MultiplierMap(2, largest, bits).outputs == largest
    with pytest.raises(sv.ParameterError, match=r"^The 'order' parameter of multiplier"):
        MultiplierMap(2, too_large, bits)


# --- projective geometry ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("order", "digits"), [(2, 2), (2, 4), (3, 3), (5, 3), (7, 2)])
def test_hyperplanes(order: int, digits: int) -> None:
    points = (order**digits - 1) // (order - 1)
    sets = ProjectiveSets(points, order, digits)
    assert sets.outputs == points
    members = [{y for y in range(points) if sets.member(code, y)} for code in range(points)]
    for code, own in enumerate(members):
        assert len(own) == sets.size
        assert {sets.output(code, index, True) for index in range(sets.size)} == own
        assert {sets.output(code, index, False) for index in range(points - sets.size)} == set(range(points)) - own
    assert {len(one & other) for one, other in combinations(members, 2)} == {sets.common}
    cells = np.random.default_rng(order).integers(0, 10**6, points)
    expected = [cells[sorted(own)].sum() for own in members]
    assert decoding.hyperplane_counts(sets, cells).tolist() == expected


def test_large_fields_are_counted_point_by_point(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = ProjectiveSets(20, 5, 3)
    cells = np.random.default_rng(1).integers(0, 100, sets.outputs)
    by_transform = decoding.hyperplane_counts(sets, cells)
    monkeypatch.setattr(decoding, "MAX_TRANSFORM", 1)
    assert decoding.hyperplane_counts(sets, cells).tolist() == by_transform.tolist()


def test_a_million_codes_have_nearly_the_error_of_subset_selection() -> None:
    m = made("projective", 1_000_000, 1)
    e = math.e
    best = 4 * e / (e - 1) ** 2  # of subset selection and OUE, for many codes
    assert 1 - 1e-3 < rare_variance(m) / best < 1.05
    assert m.cells < 4_000_000


# --- few buckets, matrices, distortion --------------------------------------------------------------------------------
@pytest.mark.parametrize("asked", [1, 2, 5])
def test_each_bucket_is_asked_about_equally_often(asked: int) -> None:
    m = made("d-bit-flip", 5, 1, d=asked)
    e = math.e if asked == 1 else math.exp(0.5)
    own, other = map(float, rates(m))
    assert own == pytest.approx(asked / 5 * e / (e + 1), rel=1e-12)
    assert other == pytest.approx(asked / 5 / (e + 1), rel=1e-12)
    with pytest.raises(sv.ParameterError, match=r"must be an integer in \[1, 5\]"):
        made("d-bit-flip", 5, 1, d=6)


def test_a_device_answers_about_its_buckets_alone() -> None:
    m = made("d-bit-flip", 6, 2, d=2)
    channel = m.channel
    assert isinstance(channel, Public)
    words = (3 << 11, 0)  # the number 3: buckets 3 and 4
    laws = [law(channel.inner, channel.mapped(code, words)) for code in range(6)]
    assert laws[0] == laws[1] == laws[2] == laws[5] != laws[3] != laws[4]


def test_rows_of_the_matrix() -> None:
    """m = ln(k+1) ln(2/beta) / delta**2 with delta = sqrt(ln(2k/beta) / (epsilon**2 n))."""
    k, epsilon, n, beta = 100, 0.5, 50_000, 0.05
    delta = math.sqrt(math.log(2 * k / beta) / (epsilon**2 * n))
    expected = math.log(k + 1) * math.log(2 / beta) / delta**2
    assert rows(k, Decimal("0.5"), n, beta) == math.ceil(expected)
    m = made("shist", k, "0.5", participants=n)
    assert m.cells == 2 * 2 ** math.ceil(math.log2(expected))
    channel = m.channel
    assert isinstance(channel, Public)
    chosen = channel.map
    signs = np.array([[1 - 2 * chosen.value(row, code) for code in (0, 7, 99)] for row in range(chosen.seeds)])  # type: ignore[attr-defined]
    assert (signs.T @ signs == chosen.seeds * np.eye(3)).all()  # type: ignore[attr-defined]
    with pytest.raises(sv.ParameterError, match="at most 2\\*\\*23 rows"):
        made("shist", k, 20, participants=10**6)
    with pytest.raises(sv.ParameterError, match=r"a number in \(0, 1\)"):
        made("shist", k, 1, beta=1)


def test_distortion_and_epsilon() -> None:
    m = made("distortion", 8, 1)
    changed = float(1 - rates(m).own)
    assert changed == pytest.approx(7 / (math.e + 7), rel=1e-12)
    given = made("distortion", 8, 3, distortion="0.5")
    assert given.epsilon == pytest.approx(math.log(7), abs=1e-9) and given.unused is not None
    assert rates(given).own == Fraction(1, 2)
    assert given.channel.likelihood(0, 1) == Fraction(1, 14)
    for wrong in ("0.2", "0.875", 1, -1, "much"):
        with pytest.raises(sv.ParameterError, match="'distortion' parameter"):
            made("distortion", 8, 3, distortion=wrong)


@pytest.mark.parametrize(("k", "epsilon"), [(4, "0.5"), (5, "1"), (6, "2")])
def test_dummies_around_a_value_are_subset_selection(k: int, epsilon: str) -> None:
    """S2M of Sei and Ohsuga 2017: s different values, the true one among them with probability p, the others dummies.

    Dummies are drawn one after another from the values that are left, each equally likely. The law of the set is that
    of subset selection with the same p and s.
    """
    m = made("s2m", k, epsilon)
    size, p = m.channel.w, Fraction(m.channel.keep, UNIT)  # type: ignore[attr-defined]

    def drawn(values: frozenset[int], wanted: int) -> dict[frozenset[int], Fraction]:
        if not wanted:
            return {frozenset(): Fraction(1)}
        found: dict[frozenset[int], Fraction] = {}
        for value in values:
            for rest, chance in drawn(values - {value}, wanted - 1).items():
                found[rest | {value}] = found.get(rest | {value}, Fraction(0)) + chance / len(values)
        return found

    for true in range(k):
        others = frozenset(range(k)) - {true}
        expected = {dummies | {true}: p * chance for dummies, chance in drawn(others, size - 1).items()}
        expected |= {dummies: (1 - p) * chance for dummies, chance in drawn(others, size).items()}
        for chosen, chance in expected.items():
            report = min(chosen) if size == 1 else sum(1 << value for value in chosen)
            assert m.channel.likelihood(report, true) == chance
        assert len(expected) == math.comb(k, size) and sum(expected.values()) == 1


def test_other_names() -> None:
    assert made("orthogonal-matrix", 6, 1).fingerprint == made("hrr", 6, 1).fingerprint
    assert made("S2M", 6, 1).channel == made("subset", 6, 1).channel  # with a decoder of its own


# --- utility-optimised ------------------------------------------------------------------------------------------------
ILLNESSES = sv.Categories(["hiv", "cold", "flu", "none"])


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_only_sensitive_answers_are_protected(name: str) -> None:
    m = sv.mechanism(name, ILLNESSES, epsilon=1, sensitive=["flu", "hiv"])
    assert str(m.guarantee) == "utility_optimised(0,2)"
    certificate = sv.audit(m)
    assert certificate.ok and certificate.epsilon == pytest.approx(1, abs=1e-9) and "protected" in certificate.how
    with pytest.raises(sv.PrivacyError, match="infinite"):
        m.channel.ratio()
    for guarantee in (PURE, UtilityOptimised(frozenset({0, 1, 2}))):  # a cold is revealed
        with pytest.raises(sv.PrivacyError, match="infinite"):
            Mechanism(m.name, m.question, m.channel, m.claimed, m.statistic, guarantee=guarantee)
    with pytest.raises(sv.PrivacyError, match="utility_optimised"):
        sv.Client(m)
    assert len(sv.Client(m, accept=("utility_optimised",)).report("cold")) == 17
    pure = sv.mechanism(name, ILLNESSES, epsilon=1, sensitive=["hiv", "cold", "flu", "none"])
    assert pure.guarantee.is_pure and pure == sv.mechanism(name, ILLNESSES, epsilon=1)


def test_utility_optimised_laws_by_hand() -> None:
    e = math.e
    urr = sv.mechanism("urr", ILLNESSES, epsilon=1, sensitive=["hiv", "flu"])
    q = 1 / (e + 1)
    expected = [[e * q, 0, q, 0], [q, 1 - 2 * q, q, 0], [q, 0, e * q, 0], [q, 0, q, 1 - 2 * q]]
    found = [[float(urr.channel.likelihood(y, code)) for y in range(4)] for code in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    urap = sv.mechanism("urap", ILLNESSES, epsilon=1, sensitive=["hiv", "flu"])
    p = math.sqrt(e) / (math.sqrt(e) + 1)
    bits = urap.channel
    assert isinstance(bits, Bits) and isinstance(bits.p, tuple) and isinstance(bits.q, tuple)
    np.testing.assert_allclose(np.array(bits.p) / UNIT, [p, p * (1 - 1 / e), p, p * (1 - 1 / e)], rtol=1e-12)
    np.testing.assert_allclose(np.array(bits.q) / UNIT, [1 - p, 0, 1 - p, 0], rtol=1e-12)
    assert not bits.contains(0b1010) and bits.contains(0b0111)


def test_more_than_the_budget_allows_is_refused() -> None:
    """One percent more of a revealed bit, or less noise on a sensitive one."""
    m = sv.mechanism("urap", ILLNESSES, epsilon=1, sensitive=["hiv", "flu"])
    bits = m.channel
    assert isinstance(bits, Bits) and isinstance(bits.p, tuple) and isinstance(bits.q, tuple)
    louder = Bits(4, (bits.p[0], bits.p[1] * 101 // 100, *bits.p[2:]), bits.q)
    quieter = Bits(4, bits.p, (bits.q[0] * 99 // 100, *bits.q[1:]))
    for channel in (louder, quieter):
        with pytest.raises(sv.PrivacyError, match="more than the 1 it claims"):
            Mechanism(m.name, m.question, channel, m.claimed, m.statistic, guarantee=m.guarantee)


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_common_answers_that_are_not_sensitive_are_known_well(name: str) -> None:
    m = sv.mechanism(name, ILLNESSES, epsilon=1, sensitive=["hiv"])
    answers = ["hiv"] * 500 + ["cold"] * 3000 + ["flu"] * 1500 + ["none"] * 5000
    reports = m.privatize(answers, seed=3)
    estimate = m.estimate(m.tally(reports))
    assert (np.abs(estimate.values - [0.05, 0.3, 0.15, 0.5]) < 5 * estimate.std_errors).all()
    plain = made("grr", 4, 1).variance([0.05, 0.3, 0.15, 0.5], 10_000)
    assert (m.variance([0.05, 0.3, 0.15, 0.5], 10_000)[1:] < plain[1:] / 2).all()
    low, high = estimate.ci(0.99)
    assert (low <= estimate.values).all() and (estimate.values <= high).all()
    decoded = m.estimate(reports, decoder="em").values
    assert decoded.sum() == pytest.approx(1) and np.abs(decoded - [0.05, 0.3, 0.15, 0.5]).max() < 0.05


def test_sensitive_answers_are_checked() -> None:
    for wrong in ("hiv", 3, []):
        with pytest.raises(sv.ParameterError, match="'sensitive' parameter"):
            sv.mechanism("urr", ILLNESSES, epsilon=1, sensitive=wrong)
    with pytest.raises(sv.DomainError):
        sv.mechanism("urap", ILLNESSES, epsilon=1, sensitive=["measles"])


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
def test_a_single_protected_answer_has_standard_errors(epsilon: str) -> None:
    """Holders always send it, so that the variance at a share of one is zero; it was rounded to less."""
    m = sv.mechanism("urr", sv.Integers(0, 2), epsilon=epsilon, sensitive=[0])
    found = m.estimate(m.tally(m.privatize([0, 0], seed=1)))
    assert np.isfinite(found.std_errors).all()
    low, high = found.ci()
    assert low[0] < 1 <= high[0]
