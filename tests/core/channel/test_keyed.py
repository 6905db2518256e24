"""The keyed node: closed forms against the enumerated sampler; the published group mechanisms' exact losses."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from math import exp, log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, float_up, floor_unit, loss, odds
from sottovoce.core.channel import Bits, Keyed, Rounding, Subset, Table, Then, Window, channel_from_spec
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.closed_forms import extremes, extremes_by_law
from sottovoce.core.channel.compose.keyed import neutral_law, spread
from sottovoce.core.coins import TapeCoins
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.question import GroupMean, Mean
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.fast.batch import checked, draw
from sottovoce.fast.numbers import batch_codes, scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.laws import law_row
from tests.core.channel.test_number_nodes import mixes, noises, windows

pytestmark = pytest.mark.slow  # the quick part has the contract

KEYS = {
    "one": lambda k, share: Subset(k, 1, UNIT * 2 // (k + 1) + share),
    "subset": lambda k, share: Subset(k + 1, 2, UNIT * 3 // (k + 2) + share // 8),
    "bits": lambda k, share: Bits(k, UNIT // 2 + share, UNIT // 4),
}


@st.composite
def inners(draw: Any) -> Channel:
    second = draw(st.one_of(windows(3), noises(1), mixes().filter(lambda mix: mix.outputs <= 16)))
    return Then(Rounding(-1, 1, second.inputs - 1), second)


@pytest.mark.parametrize("kind", KEYS)
@settings(max_examples=15)
@given(data=st.data())
def test_closed_forms_are_those_of_the_enumerated_sampler(kind: str, data: Any) -> None:
    key = KEYS[kind](data.draw(st.integers(2, 3)), data.draw(st.integers(1, UNIT // 8)))
    inner = data.draw(inners())
    channel = Keyed(key, inner, neutral_law(inner))
    found = {code: {report: p for (_, report), p in law(channel, code).items()} for code in channel.codes()}
    for code, one in found.items():
        assert sum(one.values()) == 1
        assert all(channel.contains(report) and p == channel.likelihood(report, code) for report, p in one.items())
    assert channel.ratio() == worst_ratio(list(found.values()))
    assert channel_from_spec(channel.spec()) == channel
    assert all(channel.join(*channel.split(report)) == report for report in next(iter(found.values())))


@settings(max_examples=60)
@given(channel=st.one_of(windows(), noises(), mixes()))
def test_extremes_are_those_of_the_whole_law(channel: Channel) -> None:
    assert extremes(channel) == extremes_by_law(channel)


def test_extremes_of_tables_and_subsets() -> None:
    q = UNIT // 4
    for channel in (Table([(2 * q, q, q), (q, q, 2 * q)]), Subset(4, 1, UNIT // 2)):
        assert extremes(channel) == extremes_by_law(channel)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_the_sums_of_largest_likelihoods_are_those_of_the_closed_forms(epsilon: str) -> None:
    """METHODS, erratum 2: S of NPRR, of the piecewise mechanism and of Laplace noise."""
    e = float(epsilon)
    box = sv.Interval(-1, 1)
    nprr = sv.mechanism("nprr", box, epsilon=epsilon, k=5).channel
    assert float(spread(nprr)) == pytest.approx(6 * exp(e) / (exp(e) + 5))
    piecewise = sv.mechanism("piecewise", box, epsilon=epsilon).channel
    assert float(spread(piecewise)) == pytest.approx(exp(e / 2), rel=0.005)
    laplace = sv.mechanism("laplace", box, epsilon=epsilon).channel
    assert 0.94 * (1 + e / 2) < float(spread(laplace)) <= 1 + e / 2  # a grid has less of a peak


@pytest.mark.parametrize(("epsilon", "k", "true"), [("1", 2, 1.4528), ("4", 2, 6.9374), ("4", 8, 5.9395)])
def test_erratum_1_uniform_on_the_grid_keeps_the_claim_and_the_perturbed_zero_does_not(
    epsilon: str, k: int, true: float
) -> None:
    """The published group NPRR perturbs the value 0 where the group changed; the corrected one is uniform."""
    e = odds(sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=epsilon).claimed)
    inner = Then(Rounding(-1, 1, k), Subset(k + 1, 1, floor_unit(e / (e + k))))
    share = e / ((k + 1) * e / (e + k))
    key = Subset(2, 1, floor_unit(share / (share + 1)))
    uniform = tuple(UNIT // (k + 1) + (y < UNIT % (k + 1)) for y in range(k + 1))
    fixed = Keyed(key, inner, uniform)
    assert float_up(loss(fixed.ratio())) == pytest.approx(float(epsilon), abs=1e-9)
    zero = [int(UNIT * inner.likelihood(y, Fraction(0))) for y in range(k + 1)]
    published = Keyed(key, inner, (zero[0] + UNIT - sum(zero), *zero[1:]))
    assert float_up(loss(published.ratio())) == pytest.approx(true, abs=1e-4)
    assert true == pytest.approx(2 * float(epsilon) - log((k + 1) * float(e) / (float(e) + k)), abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_erratum_2_a_uniform_neutral_law_halves_what_piecewise_spends(epsilon: float) -> None:
    inner = sv.mechanism("piecewise", sv.Interval(-1, 1), epsilon=epsilon).channel
    e1 = exp(epsilon / 2)
    channel = Keyed(Subset(2, 1, floor_unit(Fraction(e1) / (1 + Fraction(e1)))), inner, neutral_law(inner))
    assert float(loss(channel.ratio())) == pytest.approx(epsilon, abs=0.005)  # max(eps2, eps1 + eps2 / 2)


def test_bad_parameters_get_one_sentence() -> None:
    inner = Then(Rounding(0, 1, 1), Subset(2, 1, UNIT - 9))
    with pytest.raises(sv.ParameterError, match="neutral law"):
        Keyed(Subset(2, 1, UNIT - 9), inner, (UNIT, 0))
    with pytest.raises(sv.ParameterError, match="neutral law"):
        Keyed(Subset(2, 1, UNIT - 9), inner, (UNIT // 2, UNIT // 4))
    with pytest.raises(sv.ParameterError, match="key of a keyed"):
        Keyed(Window(2, 1, 1, UNIT - 9), inner, (UNIT // 2, UNIT // 2))
    with pytest.raises(sv.ParameterError, match="numbered outputs"):
        Keyed(Subset(2, 1, UNIT - 9), Bits(2, UNIT - 9, 9), (UNIT // 2, UNIT // 2))


def test_pairs_refuse_what_is_no_pair() -> None:
    domain = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(0, 100))
    assert domain.encode(("m", 30)) == (1, 30)
    for wrong in domain.foreign():
        with pytest.raises(sv.DomainError):
            domain.encode(wrong)
    with pytest.raises(sv.ParameterError, match="finitely many"):
        sv.Pair(sv.Interval(0, 1), sv.Interval(0, 1))


def test_a_mechanism_of_pairs_fits_pairs_only() -> None:
    inner = Then(Rounding(0, 100, 1), Subset(2, 1, floor_unit(Fraction(2, 3))))
    channel = Keyed(Subset(2, 1, floor_unit(Fraction(3, 5))), inner, neutral_law(inner))
    domain = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(0, 100))
    mechanism = sv.Mechanism("group", GroupMean(domain.group, domain.value), channel, 1, CountKeyed())
    assert mechanism.domain == domain and mechanism.cells == 4
    assert sv.Mechanism.from_spec(mechanism.spec()) == mechanism
    assert sv.audit(mechanism).ok
    with pytest.raises(sv.MismatchError):
        sv.Mechanism("group", GroupMean(domain.group, sv.Interval(0, 10)), channel, 1, CountKeyed())
    with pytest.raises(sv.SpecError, match="keyed"):
        sv.Mechanism("mean", Mean(domain.value), inner, 1, CountKeyed())


# --- batches --------------------------------------------------------------------------------------------------------
def group_mechanism(name: str, key: str, groups: int = 5, epsilon: str = "2") -> sv.Mechanism:
    domain = sv.Pair(sv.Integers(0, groups - 1), sv.Interval(0, 10))
    build = import_module(f"sottovoce.mechanisms.group.{name}").build
    return build(domain, epsilon=epsilon, key=key, value_epsilon=epsilon)


# A coin of eight bits has fewer outcomes than the draws of some.
COINS = [(name, bits) for name in ("bernoulli", "nprr") for bits in (53, 8)] + [("piecewise", 53), ("laplace", 53)]


@pytest.mark.parametrize(("name", "bits"), COINS)
@pytest.mark.parametrize("groups", [2, 5, 70])
@pytest.mark.parametrize("key", ["grr", "subset", "unary"])
def test_batches_equal_the_scalar_sampler(name: str, key: str, groups: int, bits: int) -> None:
    mechanism = group_mechanism(name, key, groups)
    rng = np.random.default_rng(groups)
    codes = batch_codes(mechanism, (rng.integers(0, groups, 60), rng.uniform(0, 10, 60)))
    stream = WordStream.seeded(mechanism.words, 3)
    batch = draw(mechanism, codes, stream, threads=2, chunk_bytes=8 * mechanism.words * 7, bits=bits)
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place), bits=bits)
        assert mechanism.draw(scalar_code(mechanism.channel, codes[place]), coins)[1] == report
    expected = np.zeros((groups, mechanism.channel.inner_outputs), np.int64)
    for report in batch:
        sent, within = mechanism.channel.split(report)
        for group in range(groups):
            expected[group, within] += mechanism.channel.key.supports(sent, group)
    tally = mechanism.tally(batch)
    assert np.array_equal(tally.cells, expected.ravel())
    messages = [bytes(16) + row.tobytes() for row in batch.payloads()]
    assert mechanism.tally(messages) == tally


def test_pairs_come_as_columns_a_table_or_one_by_one() -> None:
    mechanism = group_mechanism("bernoulli", "grr", 3)
    groups, values = [0, 2, 1, 1], [0.5, 10, 3, 7.25]
    columns = batch_codes(mechanism, (np.array(groups), np.array(values)))
    table = batch_codes(mechanism, pd.DataFrame({"group": groups, "value": values}))
    assert np.array_equal(columns, table)
    assert np.array_equal(columns, batch_codes(mechanism, list(zip(groups, values, strict=True))))
    for wrong in ([(0, 1.0), 3], [(0, 1.0), (7, 1.0)], (groups, values[:-1]), (groups, [0.5, 11, 3, 7])):
        with pytest.raises(sv.DomainError):
            batch_codes(mechanism, wrong)


def test_reports_that_no_device_sends_are_refused() -> None:
    for key in ("grr", "subset", "unary"):
        mechanism = group_mechanism("nprr", key, 5)
        batch = mechanism.privatize(([0, 1, 2], [1.0, 2.0, 3.0]), seed=1)
        wrong = batch.payload.copy()
        if batch.payload.ndim == 1:
            wrong = wrong.astype(np.uint32)
            wrong[1] = mechanism.channel.outputs
        else:
            wrong[1, 0] = (1 << 64) - 1
        with pytest.raises(sv.ReportError, match="Report 1 is invalid"):
            checked(mechanism, wrong, None)


@pytest.mark.parametrize("name", ["bernoulli", "piecewise"])
def test_simulated_counts_have_the_law_of_the_reports(name: str) -> None:
    """Every cell is within five standard errors in its mean over 400 runs; of a few hundred cells none is by chance."""
    mechanism = group_mechanism(name, "grr", 3)
    points = mechanism.channel.inner.inputs
    held = np.zeros((3, points), np.int64)
    held[0, 0], held[1, points // 2], held[2, -1] = 500, 300, 40
    cells = simulate_cells(mechanism, held.ravel(), runs=400, seed=1)
    law = sum(held.ravel()[code] * law_row(mechanism.channel, int(code)) for code in np.flatnonzero(held.ravel()))
    assert law.sum() == pytest.approx(840) and (cells.sum(axis=1) == 840).all()
    merged, expected = cells.reshape(400, 3, -1).sum(axis=2), law.reshape(3, -1).sum(axis=1)
    assert (np.abs(merged.mean(axis=0) - expected) < 5 * np.sqrt(expected / 400)).all()
    reading = np.arange(mechanism.channel.inner_outputs)
    sums, means = cells.reshape(400, 3, -1) @ reading, law.reshape(3, -1) @ reading
    assert (np.abs(sums.mean(axis=0) - means) < 5 * sums.std(axis=0) / 20).all()


def test_tallies_that_no_reports_make_are_refused() -> None:
    unary, subset = group_mechanism("bernoulli", "unary", 5), group_mechanism("bernoulli", "subset", 70)
    with pytest.raises(sv.MismatchError, match="A group of this tally"):
        sv.Tally(unary, 5, np.full(unary.cells, 5))
    with pytest.raises(sv.MismatchError, match="for each of its 5 reports"):
        sv.Tally(subset, 5, np.zeros(subset.cells, np.int64))
    assert sv.Tally.empty(subset).n == 0


def test_two_tuples_may_be_pairs_or_columns_and_are_refused() -> None:
    mechanism = group_mechanism("bernoulli", "grr", 5)
    for wrong in (((1, 2), (3, 4)), None, 5, "ab"):
        with pytest.raises(sv.DomainError):
            batch_codes(mechanism, wrong)


@pytest.mark.parametrize("name", ["group-bernoulli", "group-nprr", "group-piecewise", "group-laplace"])
def test_tiny_budgets_leave_nothing_for_a_group(name: str) -> None:
    with pytest.raises(sv.ParameterError):
        sv.mechanism(name, sv.Pair(sv.Integers(0, 1), sv.Interval(0, 1)), epsilon="1e-7")
    with pytest.raises(sv.ParameterError, match="'value_epsilon'"):
        sv.mechanism(name, sv.Pair(sv.Integers(0, 1), sv.Interval(0, 1)), epsilon=1, value_epsilon="x")
