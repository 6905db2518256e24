"""The variance from sums of reports, where a table of a number and its square together would be too large."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.channel import Each
from sottovoce.core.exact import law
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.moments import Moments
from sottovoce.estimate.variance.evidence import from_both
from sottovoce.tally.tally import report_cells
from sottovoce.testing.statistics import ALPHA
from sottovoce.testing.variance import instance
from sottovoce_experiments.coverage.moments import moment_cells
from sottovoce_experiments.coverage.variance import draw, variance_of

RANGE = sv.Interval(-1, 1)
SPLIT = ("piecewise", "pm-sub", "scdf", "hybrid", "staircase")
LEVEL = 0.95
ANSWERS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def both(method: str, epsilon: Any = 2, domain: Any = RANGE) -> sv.Mechanism:
    """Counted by moments, whether or not a table would do."""
    found = sv.VarianceRounds(domain, epsilon, method="split-eps", mechanism=method).start().arms[0].mechanism
    return sv.Mechanism(found.name, found.question, found.channel, found.claimed, Moments(), domain=found.domain)


def small(method: str, epsilon: Any) -> sv.Mechanism:
    """The same mechanism through small channels that have the same nodes."""
    whole = both(method, epsilon)
    pairs = [one for one in whole.channel.miniatures() if isinstance(one, Each) and len(one.channels) == 2]
    return instance(whole, min(pairs, key=lambda one: one.inputs << one.payload_bits))


def counted(mechanism: sv.Mechanism, reports: tuple[int, ...]) -> sv.Tally:
    return sv.Tally(mechanism, len(reports), sum(report_cells(mechanism, report) for report in reports))


# --- exactly unbiased --------------------------------------------------------------------------------
@pytest.mark.parametrize(("method", "epsilon"), [("piecewise", 2), pytest.param("hybrid", 4, marks=pytest.mark.slow)])
def test_the_variance_of_two_participants_is_exactly_unbiased(method: str, epsilon: Any) -> None:
    """Over every pair of reports of two participants: E is mean(s) - (x - c)**2 + S**2 / n, whatever both told.

    Where s is the square of x - c that is S**2, the sample variance of the answers.
    """
    mechanism = small(method, epsilon)
    channel = mechanism.channel
    centre = Fraction(mechanism.domain.centre)
    codes = [(number, square) for number in ends(channel.channels[0]) for square in ends(channel.channels[1])]
    laws = {code: {report: p for (_, report), p in law(channel, code).items()} for code in codes}
    for first, second in [(codes[0], codes[-1]), (codes[1], codes[1])]:
        total = Fraction(0)
        for (one, p), (other, q) in product(laws[first].items(), laws[second].items()):
            total += p * q * from_both(counted(mechanism, (one, other))).exact
        numbers, squares = (Fraction(first[i]) + Fraction(second[i]) for i in (0, 1))
        spread = (Fraction(first[0]) - Fraction(second[0])) ** 2 / 2
        assert total == squares / 2 - (numbers / 2 - centre) ** 2 + spread / 2


def ends(channel: Any) -> list[Fraction]:
    rounding = channel.rounding
    return [Fraction(rounding.low), Fraction(rounding.high)]


@pytest.mark.parametrize(("method", "epsilon"), [("piecewise", 2), ("hybrid", 4)])
def test_moments_say_what_a_table_of_all_pairs_says(method: str, epsilon: Any, seed: int) -> None:
    sums = small(method, epsilon)
    table = sv.Mechanism(sums.name, sums.question, sums.channel, sums.claimed, CountJoint(), domain=sums.domain)
    reports = [report for report in range(1 << sums.channel.payload_bits) if sums.channel.contains(report)]
    picked = tuple(np.random.default_rng(seed).choice(reports, 40).tolist())
    spread, other = (from_both(counted(one, picked)) for one in (sums, table))
    (mean,), (other_mean,) = spread.also, other.also
    assert spread.exact == other.exact and spread.joint == other.joint
    assert spread.number.variance == other.number.variance and spread.square.variance == other.square.variance
    assert mean.values() == other_mean.values() and spread.ends == other.ends
    assert np.allclose(spread.variances("population"), other.variances("population"), rtol=1e-12)


@pytest.mark.parametrize("method", SPLIT)
def test_the_kernel_counts_by_the_definition(method: str, seed: int) -> None:
    mechanism = both(method, 4)
    batch = mechanism.privatize(np.random.default_rng(seed).uniform(-1, 1, 300), seed=seed)
    cells = sum(report_cells(mechanism, report) for report in batch)
    assert np.array_equal(mechanism.tally(batch).cells, cells)
    assert (cells >= 0).all() and cells[0] + cells[6::6].sum() == 300


# --- every mechanism for means -----------------------------------------------------------------------
@pytest.mark.parametrize("method", SPLIT)
def test_split_eps_works_with(method: str, seed: int) -> None:
    answers = np.random.default_rng(seed).uniform(-0.2, 0.9, 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.PoorIntervalWarning)
        found = sv.simulate(sv.VarianceRounds(RANGE, 4, method="split-eps", mechanism=method), answers, seed=seed)
        assert list(found) == ["mean", "variance", "sd"]
        for name, truth in (("mean", answers.mean()), ("variance", answers.var(ddof=1)), ("sd", answers.std())):
            low, high = found[name].ci(1 - ALPHA, method="hoeffding")
            assert low[0] <= truth <= high[0], f"alarm with probability {ALPHA}"
            low, high = found[name].ci(0.999999)
            assert low[0] <= truth <= high[0], "alarm with a probability of about one in a million"


@pytest.mark.parametrize("method", SPLIT)
@pytest.mark.parametrize("epsilon", ["0.1", 1, 8])
def test_sums_of_many_reports_fit_into_64_bits(method: str, epsilon: Any) -> None:
    found = sv.VarianceRounds(RANGE, epsilon, method="split-eps", mechanism=method).start().arms[0].mechanism
    most = found.statistic.limits(found.channel).most
    assert (1 << 63) // max(most if isinstance(most, tuple) else (most,)) > 10**9


def test_more_reports_than_64_bits_hold_are_refused() -> None:
    mechanism = both("piecewise")
    most = max(mechanism.statistic.limits(mechanism.channel).most)
    n = ((1 << 63) - 1) // most
    assert sv.Tally(mechanism, n, np.array([n, 0, 0, 0, 0, 0])).n == n
    with pytest.raises(sv.MismatchError, match=f"at most {n} reports"):
        sv.Tally(mechanism, n + 1, np.zeros(mechanism.cells, np.int64))


# --- coverage ----------------------------------------------------------------------------------------
def test_drawn_moments_have_the_law_of_the_reports(seed: int) -> None:
    mechanism = both("piecewise", 4)
    held = np.array([700, 0, 0, 0, 1300])
    rng = np.random.default_rng(seed)
    cells = np.array([moment_cells(mechanism, ANSWERS, held, rng) for _ in range(300)], float)
    drawn = mechanism.tally(mechanism.privatize(np.repeat(ANSWERS, held), seed=seed)).cells
    away = (drawn - cells.mean(axis=0))[1:] / cells.std(axis=0, ddof=1)[1:]
    assert (np.abs(away) < 6).all(), f"alarm with a probability below {ALPHA}"


@pytest.mark.slow
def test_the_interval_of_split_eps_with_piecewise_covers() -> None:
    """At 10,000 participants; the whole study has more runs. A right interval gives an alarm with ALPHA at most."""
    asked = sv.VarianceRounds(RANGE, 2, method="split-eps", mechanism="piecewise")
    weights, runs, n = np.array([16, 8, 4, 2, 1]) / 31, 400, 10_000
    rng, truth, held = np.random.default_rng(20_261_116), variance_of(ANSWERS, weights), 0
    for _ in range(runs):
        low, high = draw(asked, ANSWERS, rng.multinomial(n, weights), rng)["variance"].ci(LEVEL)
        held += bool(low[0] <= truth <= high[0])
    assert stats.binom.cdf(held, runs, 0.93) > ALPHA and stats.binom.sf(held - 1, runs, 0.97) > ALPHA
