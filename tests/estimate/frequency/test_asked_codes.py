"""Bits about some codes only: the estimate divides by how many were asked, and is exact given that number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from scripts.fuzz.brute import report_cells
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.estimate.frequency.asked import AskedEvidence, asked_rates, chance_of_any, mean_inverse
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.request import IntervalRequest
from sottovoce.tally.counts import simulate_cells
from sottovoce.testing.coverage import asked_law, coverage
from sottovoce.testing.frequency import instance


def made(k: int, d: int, epsilon: object = 1) -> Mechanism:
    return sv.mechanism("d-bit-flip", sv.Integers(0, k - 1), epsilon=epsilon, d=d)


def crowds(own: Fraction, other: Fraction, part: Fraction, n: int, held: int) -> Iterator[tuple[int, int, Fraction]]:
    """Bits set, bits asked for and the probability of both: each participant by itself, holders first."""
    law_of = {rate: ((0, 0, 1 - part), (0, 1, part * (1 - rate)), (1, 1, part * rate)) for rate in (own, other)}
    for outcome in product(*(law_of[own if one < held else other] for one in range(n))):
        yield sum(o[0] for o in outcome), sum(o[1] for o in outcome), math.prod(o[2] for o in outcome)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (2, 2), (4, 2), (4, 3), (3, 5)])
def test_the_estimate_is_unbiased_and_its_variance_exact_for_any_number_of_participants(n: int, d: int) -> None:
    """Also where nobody may be asked: over the whole law of what is counted, for every number of holders."""
    m = made(5, d, 2)
    _, rates = asked_bits(m.channel)
    part = Fraction(d, 5)
    for held in range(n + 1):
        mean = square = 0.0
        for count, asked, probability in crowds(*rates, part, n, held):
            found = AskedEvidence(np.array([count]), np.array([asked]), n, *map(float, (*rates, part)))
            mean += float(probability) * found.values()[0]
            square += float(probability) * found.values()[0] ** 2
        assert mean == pytest.approx(held / n, abs=1e-12)
        shares = np.array([held / n, 1 - held / n, 0, 0, 0])
        assert square - mean**2 == pytest.approx(m.variance(shares, n, target="sample")[0], rel=1e-9)


def test_the_variance_for_the_population_adds_the_spread_of_the_sample() -> None:
    """The law of total variance over how many of four participants hold the code."""
    m, n, share = made(5, 2, 2), 4, 0.3
    shares = np.array([share, 1 - share, 0, 0, 0])
    within = sum(
        math.comb(n, held) * share**held * (1 - share) ** (n - held)
        * m.variance(np.array([held / n, 1 - held / n, 0, 0, 0]), n, target="sample")[0]
        for held in range(n + 1)
    )  # fmt: skip
    assert m.variance(shares, n)[0] == pytest.approx(within + share * (1 - share) / n, rel=1e-12)


def test_small_devices_are_counted_like_the_definition() -> None:
    """Cells of the enumerated reports of a small instance: bits of the codes from the public first one on."""
    small = min(made(6, 2).channel.miniatures(), key=lambda one: one.inputs)
    m = instance(made(6, 2), small)
    assert isinstance(m.statistic, CountAsked) and m.cells == 2 * small.inputs
    chosen, _ = asked_bits(small)
    seen = set()
    for words, report in law(small, 0):
        counts, asked = report_cells(m, report, words).reshape(2, -1)
        first = chosen.choice.of(words)
        window = {(first + place) % small.inputs for place in range(chosen.asked)}
        assert set(np.flatnonzero(asked)) == window and set(np.flatnonzero(counts)) <= window
        assert counts.sum() == report.bit_count()
        seen.add(first)
    assert seen == set(range(small.inputs))


@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_the_kernel_counts_windows_around_the_circle(d: int) -> None:
    m = made(20, d)
    reports = m.privatize(np.arange(3_000) % 20, seed=4)
    counts, asked = m.tally(reports).cells.reshape(2, -1)
    chosen, _ = asked_bits(m.channel)
    expected = np.zeros(20, int)
    for first in (chosen.choice.of((int(a), int(b))) for a, b in reports.public):
        expected[(first + np.arange(d)) % 20] += 1
    assert (asked == expected).all() and (counts <= asked).all() and asked.sum() == 3_000 * d


def test_a_mean_of_one_over_a_number_is_summed() -> None:
    for n, part in ((7, 0.3), (40, 0.9)):
        pairs = [(j, math.comb(n, j) * part**j * (1 - part) ** (n - j)) for j in range(1, n + 1)]
        assert mean_inverse(n, part) == pytest.approx(sum(p / j for j, p in pairs), rel=1e-12)
        assert chance_of_any(n, part) == pytest.approx(sum(p for _, p in pairs), rel=1e-12)
    assert mean_inverse(12, 1.0) == pytest.approx(1 / 12) and chance_of_any(12, 1.0) == 1
    assert mean_inverse(10**30, 0.5) == pytest.approx(2e-30, rel=1e-15, abs=0)  # too many numbers for a sum
    near = 2 * 10**10 + 1_000, 0.5  # on both sides of where the series begins
    assert mean_inverse(4 * 10**10, 0.5) * 2 * 10**10 == pytest.approx(mean_inverse(*near) * near[0] / 2, rel=1e-9)


def test_it_has_less_variance_than_the_published_estimator() -> None:
    """Which divides by n d / k: k / (n d) times the sum of (bit - q) / (p - q) over bits that were asked for."""
    m, n = made(16, 4, 3), 100_000
    chosen, rates = asked_bits(m.channel)
    own, other, part = float(rates.own), float(rates.other), chosen.asked / chosen.k
    slope = own - other
    for share in (0.0, 0.01, 0.3, 0.9):
        shares = np.array([share, *[(1 - share) / 15] * 15])
        rate = other + share * slope
        published = ((rate * (1 - 2 * other) + other**2) / (part * slope**2) - share**2) / n
        ours = m.variance(shares, n)[0]
        assert published - ours == pytest.approx(share**2 * (1 / part - 1) / n, abs=published * 2 / (n * part))


def test_exact_intervals_hold_for_each_number_that_is_asked() -> None:
    """Of a part of a small crowd, every number of holders: no miss more likely than promised."""
    n, own, other, level = 9, 0.9, 0.1, 0.9
    for asked, held in product(range(n), range(n + 1)):
        covered = 0.0
        for holders in range(max(0, asked - (n - held)), min(held, asked) + 1):
            ways = math.comb(held, holders) * math.comb(n - held, asked - holders) / math.comb(n, asked)
            for one, two in product(range(holders + 1), range(asked - holders + 1)):
                found = AskedEvidence(np.array([one + two]), np.array([asked]), n, own, other, 0.5)
                low, high = found.exact(level, "sample")
                probability = math.comb(holders, one) * own**one * (1 - own) ** (holders - one)
                rest = asked - holders
                probability *= math.comb(rest, two) * other**two * (1 - other) ** (rest - two)
                covered += ways * probability * bool(low[0] - 1e-12 <= held / n <= high[0] + 1e-12)
        assert covered >= level, (asked, held, covered)


def test_the_law_of_pairs_is_that_of_a_crowd() -> None:
    own, other, part, n, held = Fraction(4, 5), Fraction(1, 5), Fraction(1, 2), 5, 2
    expected: dict[tuple[int, int], float] = {}
    for count, asked, probability in crowds(own, other, part, n, held):
        key = count, asked - count
        expected[key] = expected.get(key, 0.0) + float(probability)
    ups, downs, probabilities = asked_law((0.8, 0.2, 0.5), n, held, "sample")
    found = dict(zip(zip(ups.tolist(), downs.tolist(), strict=True), probabilities, strict=True))
    for key, probability in expected.items():
        assert found.get(key, 0.0) == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_cover_by_the_law(level: float) -> None:
    m = made(16, 8, 3)
    for share, target in product((0.0, 0.01, 0.3), ("population", "sample")):
        assert coverage(m, 1_000, share, "exact", target, level) >= level
        assert coverage(m, 1_000, share, "normal", target, level) >= level - 0.01
    assert coverage(m, 1_000, 0.3, "wilson", "population", level) >= level - 0.01


def test_given_how_many_were_asked_it_is_symmetric_unary_encoding() -> None:
    """So that what is published about the coverage of `sue` is true of it too."""
    m = made(1024, 8, 3)
    rates = sv.mechanism("sue", sv.Integers(0, 1023), epsilon=3).channel.rates()
    own, other, part = asked_rates(m)
    assert (own, other, part) == (*map(float, rates), 8 / 1024)
    asked, n = 781, 100_000
    counts = np.arange(asked + 1)
    here = AskedEvidence(counts, np.full(asked + 1, asked), n, own, other, part)
    there = SupportsEvidence(counts, asked, own, other)
    for level, method in product((0.9, 0.99), ("exact", "wilson", "normal")):
        for ours, theirs in zip(
            here.interval(IntervalRequest(level, method)), there.interval(IntervalRequest(level, method)), strict=True
        ):
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
        if method != "exact":
            assert here.excess(IntervalRequest(level, method)) == pytest.approx(
                there.excess(IntervalRequest(level, method))
            )


def test_drawn_cells_have_the_law_of_one_code() -> None:
    m = made(12, 5, 2)
    held = np.array([400, 600, *[0] * 10])
    drawn = simulate_cells(m, held, runs=4_000, seed=3, joint=False).reshape(4_000, 2, 12)
    own, other = map(float, asked_bits(m.channel)[1])
    part = 5 / 12
    for code, holders in ((0, 400), (1, 600), (5, 0)):
        counts, asked = drawn[:, 0, code], drawn[:, 1, code]
        assert (counts <= asked).all()
        spread = math.sqrt(1_000 * part * (1 - part) / 4_000)
        assert asked.mean() == pytest.approx(1_000 * part, abs=5 * spread)
        mean = part * (holders * own + (1_000 - holders) * other)
        assert counts.mean() == pytest.approx(mean, abs=5 * math.sqrt(mean / 4_000))
    pairs = [np.corrcoef(drawn[:, 1, a], drawn[:, 1, b])[0, 1] for a, b in combinations(range(4), 2)]
    assert np.abs(pairs).max() < 0.1, "each code by itself"


def test_codes_that_nobody_was_asked_about_have_the_widest_interval() -> None:
    m = made(64, 2)
    found = m.estimate(m.tally(m.privatize([3] * 20, seed=1)))
    asked = found.evidence.counted.cells[64:]
    low, high = found.ci()
    nobody = asked == 0
    assert nobody.any() and (found.values[nobody] == 0).all() and np.isfinite(found.std_errors).all()
    assert (low[nobody] <= 0).all() and (high[nobody] >= 1).all()
    assert (low <= found.values).all() and (found.values <= high).all()
    with pytest.warns(sv.PoorIntervalWarning):
        wilson = found.ci(method="wilson")
    assert (wilson.low[nobody] <= 0).all() and (wilson.high[nobody] >= 1).all()
