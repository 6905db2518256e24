"""The likelihood decoder against exact laws, closed forms and a convex solver."""

from __future__ import annotations

import dataclasses
import warnings
from fractions import Fraction
from itertools import pairwise
from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Block, Chain, Channel, HadamardSets, HashMap, Public, Subset, Table
from sottovoce.core.coins import SeededCoins
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.registry import names
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.sums import Sums
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Counted, Floats
from sottovoce.estimate.frequency import likelihood
from sottovoce.estimate.frequency import mixture as shapes
from sottovoce.estimate.frequency.likelihood import levels, of_reports
from sottovoce.estimate.frequency.maximise import NotConvergedWarning, certificate, em_step, maximise
from sottovoce.estimate.frequency.mixture import Dense
from sottovoce.fast.batch import Reports

HALF = UNIT // 2
# Rows of hashes are fitted jointly: they have no likelihood of shares, and the lasso decodes them.
ROWS = ("basic-rappor", "one-time-rappor", "rappor", "o-rr", "o-rappor", "cms", "hcms", "pcs")
ORACLES = [name for name in names(Frequency) if name not in ROWS]


def build(name: str, k: int = 5, epsilon: float = 1.0) -> Mechanism:
    """A registered mechanism with k codes, or two where it takes no more."""
    try:
        return sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon)
    except sv.ParameterError:
        return sv.mechanism(name, sv.Integers(0, 1), epsilon=epsilon)


def answers(mechanism: Mechanism, n: int, seed: int) -> Reports:
    """Reports of a crowd in which small codes are common, and the largest is never held."""
    values = np.random.default_rng(seed).geometric(0.4, n) - 1
    reports: Reports = mechanism.privatize(np.minimum(values, mechanism.channel.inputs - 2), seed=seed)
    return reports


def mixture(mechanism: Mechanism, data: Any) -> shapes.Mixture:
    """The likelihood operator of a tally or of reports."""
    if isinstance(data, Reports) and isinstance(mechanism.statistic, (CountSupports, CountAsked, Sums)):
        return likelihood.mixture(Counted(mechanism, len(data), np.empty(0, np.int64), data))
    tally = mechanism.tally(data) if isinstance(data, Reports) else data
    found: shapes.Mixture = mechanism.estimate(tally).evidence.likelihood()
    return found


def exact_law(channel: Channel, reports: Reports) -> Floats:
    """The likelihood of each report and code from the channel itself, each row divided by its largest entry."""
    public = np.zeros((len(reports), 2), np.uint64) if reports.public is None else reports.public
    rows = []
    for report, words in zip(reports, public.tolist(), strict=True):
        row = [channel.likelihood(report, code, tuple(words)) for code in range(channel.inputs)]
        rows.append([float(value / max(row)) for value in row])
    return np.array(rows)


def convex_optimum(law: Floats, counts: Floats) -> tuple[float, Floats]:
    """The largest log-likelihood per report, and where it is, by a conic solver."""
    shares = cvxpy.Variable(law.shape[1], nonneg=True)
    value = (counts / counts.sum()) @ cvxpy.log(law @ shares)
    problem = cvxpy.Problem(cvxpy.Maximize(value), [cvxpy.sum(shares) == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    found = simplex(np.asarray(shares.value))
    return Dense(law, counts).value(found), found


def random_shares(codes: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(codes, 0.7))


# --- the law -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("k", [2, 5, 9])
def test_the_likelihood_is_that_of_the_channel(name: str, k: int, seed: int) -> None:
    mechanism = build(name, k)
    reports = answers(mechanism, 150, seed)
    exact = Dense(exact_law(mechanism.channel, reports), np.ones(150))
    fast = mixture(mechanism, reports)
    assert fast.n == 150
    here, there = (random_shares(mechanism.channel.inputs, seed + i) for i in (0, 1))
    assert fast.value(here) - fast.value(there) == pytest.approx(exact.value(here) - exact.value(there), abs=1e-12)
    np.testing.assert_allclose(fast.slope(here).gradient, exact.slope(here).gradient, rtol=1e-11)


UNEVEN = (HALF, HALF + HALF // 2, HALF), (HALF // 4, HALF // 2, HALF // 3)
SUPPORTING = {
    "subset": Subset(5, 2, 6 * UNIT // 10),
    "bits": Bits(4, HALF, HALF // 3),
    "uneven bits": Bits(3, *UNEVEN),
    "bits of which one code sets none": Bits(4, HALF, HALF // 3, "optional"),
    "uneven, optional": Bits(3, *UNEVEN, "optional"),
    "chain": Chain(Bits(3, 3 * HALF // 2, HALF // 2), Bits(3, 3 * HALF // 2, HALF // 3, "mask", 0)),
}


@pytest.mark.parametrize("channel", SUPPORTING.values(), ids=SUPPORTING)
def test_a_report_has_one_likelihood_where_it_supports_and_one_where_not(channel: Channel) -> None:
    low, high = levels(channel)
    for report in filter(channel.contains, range(1 << channel.payload_bits)):
        law = [channel.likelihood(report, code) for code in channel.codes()]
        claimed = [high[v] if report >> v & 1 else low[v] for v in channel.codes()]
        np.testing.assert_allclose(claimed / claimed[0], [float(Fraction(x, law[0])) for x in law], rtol=1e-14)


@pytest.mark.parametrize("inner", [Subset(4, 2, 7 * UNIT // 10), Bits(4, HALF, HALF // 3)], ids=["subset", "bits"])
def test_hashed_masks(inner: Channel, seed: int) -> None:
    mechanism = Mechanism("sketch", Frequency(sv.Integers(0, 10)), Public(HashMap(11, 4), inner), "3", CountSupports())  # type: ignore[arg-type]
    reports = answers(mechanism, 80, seed)
    exact, fast = Dense(exact_law(mechanism.channel, reports), np.ones(80)), mixture(mechanism, reports)
    shares = random_shares(11, seed)
    np.testing.assert_allclose(fast.slope(shares).gradient, exact.slope(shares).gradient, rtol=1e-11)


@pytest.mark.parametrize("sets", [HadamardSets(5, 8, 1), HadamardSets(11, 4, 4), HadamardSets(6, 4, 2)])
def test_the_fast_transform_is_the_dense_law(sets: HadamardSets, seed: int) -> None:
    channel = Block(sets, 7 * UNIT // 10)
    mechanism = Mechanism("hadamard", Frequency(sv.Integers(0, sets.codes - 1)), channel, "5", CountOutputs())  # type: ignore[arg-type]
    tally = mechanism.tally(answers(mechanism, 40, seed))  # few, so that some outputs are not seen
    rows = [[float(channel.likelihood(y, v)) for v in channel.codes()] for y in np.flatnonzero(tally.cells)]
    dense = Dense(np.array(rows), tally.cells[tally.cells > 0].astype(float))
    shares = random_shares(sets.codes, seed)
    np.testing.assert_allclose(mixture(mechanism, tally).slope(shares).gradient, dense.slope(shares).gradient)


@pytest.mark.parametrize(("k", "g", "n"), [(300, 3, 2000), (60, 4, 2000), (25, 5, 40), (8, 2, 300)])
def test_the_digits_of_a_pool_are_its_dense_law(k: int, g: int, n: int, seed: int) -> None:
    mechanism = sv.mechanism("flh", sv.Integers(0, k - 1), epsilon=1, g=g)
    reports = answers(mechanism, n, seed)
    cells, channel = mechanism.tally(reports).cells, mechanism.channel
    pool = shapes.Pool(cells.astype(float), channel.map, 1.0, float(channel.ratio()))
    masks = of_reports(channel, reports)
    shares = random_shares(k, seed)
    np.testing.assert_allclose(pool.slope(shares).gradient, masks.slope(shares).gradient, rtol=1e-11)
    assert isinstance(mixture(mechanism, reports), shapes.Pool if k == 300 else shapes.Masks)


def test_reports_behind_a_pool_of_hadamard_sets_have_their_own_likelihood(seed: int) -> None:
    mechanism = sv.mechanism("hcms", sv.Integers(0, 8), epsilon=2)
    cells = mechanism.tally(answers(mechanism, 200, seed)).cells
    chosen, inner = mechanism.channel.map, mechanism.channel.inner
    seen = [divmod(int(cell), inner.outputs) for cell in np.flatnonzero(cells)]
    rows = [[float(inner.likelihood(y, chosen.value(s, v))) for v in range(9)] for s, y in seen]
    dense = Dense(np.array(rows), cells[cells > 0].astype(float))
    shares = random_shares(9, seed)
    gradient = mixture(mechanism, mechanism.tally(answers(mechanism, 200, seed))).slope(shares).gradient
    np.testing.assert_allclose(gradient, dense.slope(shares).gradient)


def test_threads_and_collapsed_rows_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = build("oue", 40)
    reports = answers(mechanism, 3000, seed)
    monkeypatch.setattr(shapes, "CHUNK", 256)
    one = mixture(mechanism, reports)
    monkeypatch.setattr(shapes, "SMALL", 0)
    many = mixture(mechanism, reports)
    shares = random_shares(40, seed)
    assert np.array_equal(one.slope(shares).gradient, many.slope(shares).gradient)
    assert len(one.counts) <= 3000 and one.counts.sum() == 3000
    few = mixture(build("oue", 4), answers(build("oue", 4), 3000, seed))
    assert len(few.counts) <= 16 and few.n == 3000


# --- the optimum -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "k", "n"),
    [
        *((name, 5, 400) for name in ORACLES),
        *(pytest.param(name, 64, 600, marks=pytest.mark.slow) for name in ("hadamard", "olh")),
    ],
)
def test_the_decoder_reaches_the_convex_optimum(name: str, k: int, n: int, seed: int) -> None:
    mechanism = build(name, k)
    reports = answers(mechanism, n, seed)
    law, kinds = np.unique(exact_law(mechanism.channel, reports), axis=0, return_counts=True)
    best, _ = convex_optimum(law, kinds.astype(float))
    decoded = mechanism.estimate(reports, decoder="em")
    found = Dense(law, kinds.astype(float)).value(decoded.values)
    assert best - 1e-6 < found < best + 1e-6
    assert found > best - 1e-9  # the certificate says so, whatever the solver's own tolerance is
    assert 0 <= decoded.fit.gap < 1e-9


@pytest.mark.parametrize("statistic", ["outputs", "seeds"])
def test_a_tally_that_determines_the_likelihood_decodes_like_its_reports(statistic: str, seed: int) -> None:
    for mechanism in map(build, ORACLES):
        if mechanism.statistic.kind == statistic:
            reports = answers(mechanism, 500, seed)
            np.testing.assert_array_equal(
                mechanism.estimate(mechanism.tally(reports), decoder="em").values,
                mechanism.estimate(reports, decoder="em").values,
            )


def test_randomized_response_has_a_closed_form(seed: int) -> None:
    """max sum c log(1 + (R - 1) f): by its multipliers f = max(0, t c - 1 / (R - 1)) for the t that gives sum one."""
    mechanism = build("grr", 30)
    tally = mechanism.tally(answers(mechanism, 20_000, seed))
    counts, lift = np.sort(tally.cells)[::-1], 1 / (float(mechanism.ratio) - 1)
    scales = (1 + lift * np.arange(1, 31)) / np.cumsum(counts)
    scale = scales[np.flatnonzero(scales * counts > lift)[-1]]
    expected = np.maximum(scale * tally.cells - lift, 0)
    decoded = mechanism.estimate(tally, decoder="em")
    assert (expected == 0).any() and expected.sum() == pytest.approx(1)
    np.testing.assert_allclose(decoded.values, expected, atol=1e-7)


def test_the_decoder_uses_the_true_law(seed: int) -> None:
    """Power: one per cent more or less on a probability moves the optimum, far beyond the accuracy of the decoder."""
    for name, field in (("grr", "keep"), ("oue", "p"), ("subset", "keep")):
        mechanism = build(name, 8, epsilon=1.0)
        reports = answers(mechanism, 5000, seed)
        right = mechanism.estimate(reports, decoder="em").values
        for change in (0.99, 1.01):
            moved = round(getattr(mechanism.channel, field) * change)
            channel = dataclasses.replace(mechanism.channel, **{field: moved})  # type: ignore[type-var]
            wrong = dataclasses.replace(mechanism, channel=channel, claimed="2")
            values = wrong.estimate(Reports(wrong, reports.payload), decoder="em").values
            assert np.abs(values - right).max() > 1e-3, (name, change)


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_the_certificate_bounds_what_is_missing(case: int) -> None:
    rng = np.random.default_rng(case)
    codes, rows = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    problem = Dense(rng.uniform(0.2, 1, (rows, codes)), rng.integers(1, 50, rows).astype(float))
    shares, fit = maximise(problem, tolerance=1e-11)
    best = problem.value(shares)
    assert certificate(problem.slope(shares)) == fit.gap < 1e-11
    for weight in (1.0, 0.1, 1e-3, 1e-5):
        other = (1 - weight) * shares + weight * rng.dirichlet(np.full(codes, 0.5))
        assert certificate(problem.slope(other)) >= best - problem.value(other) - 1e-14


def test_the_certificate_is_no_larger_than_it_must_be() -> None:
    """Two codes that each alone explains one of two reports: at f = (1, 0) the bound is close where R is near one."""
    problem = Dense(np.array([[1.0, 1.01], [1.01, 1.0]]), np.array([1.0, 3.0]))
    best = problem.value(maximise(problem)[0])
    start = np.array([0.5, 0.5])
    missing, bound = best - problem.value(start), certificate(problem.slope(start))
    assert missing <= bound < 1.01 * missing


def wave(k: int, width: int, epsilon: float) -> Mechanism:
    """Neighbouring codes with nearly the same law, as in a square wave: an ill-conditioned table."""
    plain = np.ones((k, k + width - 1))
    for code in range(k):
        plain[code, code : code + width] = np.exp(epsilon)
    weights = np.floor(plain / plain.sum(axis=1, keepdims=True) * UNIT).astype(int)
    weights[:, 0] += UNIT - weights.sum(axis=1)
    claimed = str(epsilon + 0.01)
    return Mechanism("wave", Frequency(sv.Integers(0, k - 1)), Table(weights.tolist()), claimed, CountOutputs())  # type: ignore[arg-type]


CLIMBS = {
    **{f"{name}, epsilon {e}": build(name, 12, e) for name in ("grr", "oue", "olh", "hadamard") for e in (1.0, 6.0)},
    "wave": wave(24, 17, 3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", CLIMBS.values(), ids=CLIMBS)
def test_steps_never_lower_the_likelihood(mechanism: Mechanism, seed: int) -> None:
    problem = mixture(mechanism, answers(mechanism, 2000, seed))
    shares, plain = np.full(problem.codes, 1 / problem.codes), []
    for _ in range(400):
        slope = problem.slope(shares)
        plain.append(slope.value)
        shares = em_step(shares, slope)
    assert min(b - a for a, b in pairwise(plain)) > -1e-14
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        values = [problem.value(maximise(problem, max_iterations=steps)[0]) for steps in range(40)]
    assert min(b - a for a, b in pairwise(values)) > -1e-14
    # EM climbs to the same top, from below, and is about there after hundreds of steps.
    best = problem.value(maximise(problem)[0])
    assert best - 1e-4 < plain[-1] < best + 1e-12


def test_an_ill_conditioned_table_is_certified_too(seed: int) -> None:
    mechanism = wave(24, 17, 1.0)
    tally = mechanism.tally(answers(mechanism, 3000, seed))
    decoded = mechanism.estimate(tally, decoder="em")
    law = np.array(mechanism.channel.rows, float).T / UNIT  # type: ignore[attr-defined]
    best, _ = convex_optimum(law, tally.cells.astype(float))
    assert decoded.fit.gap < 1e-9
    assert mixture(mechanism, tally).value(decoded.values) == pytest.approx(best, abs=1e-6)


# --- what the decoder returns ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ORACLES)
def test_intervals_are_those_of_the_unbiased_estimate(name: str, seed: int) -> None:
    mechanism = build(name, 6)
    reports = answers(mechanism, 800, seed)
    unbiased = mechanism.estimate(mechanism.tally(reports))
    decoded = mechanism.estimate(reports, decoder="em")
    assert isinstance(decoded, Estimate) and decoded.decoder.name == "em" and decoded.fit.iterations > 0
    assert unbiased.decoder.name == "linear" and unbiased.fit is None
    np.testing.assert_array_equal(unbiased.values, decoded.evidence.values())  # the unbiased one stays primary
    np.testing.assert_array_equal(unbiased.std_errors, decoded.std_errors)
    for target in ("population", "sample"):
        low, high = unbiased.ci(0.9, method="bounded", target=target)
        np.testing.assert_array_equal(decoded.ci(0.9, target=target).low, np.minimum(low, decoded.values))
        np.testing.assert_array_equal(decoded.ci(0.9, target=target).high, np.maximum(high, decoded.values))
        whole = unbiased.ci(0.9, target=target)
        assert (low <= np.clip(whole.low, 0, 1)).all() and (high >= np.clip(whole.high, 0, 1)).all()
    assert "largest likelihood" in decoded.explain()
    assert decoded.project("simplex").fit is None


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("k", [2, 7])
def test_degenerate_batches(name: str, k: int, seed: int) -> None:
    mechanism = build(name, k)
    single = answers(mechanism, 1, seed)
    public = None if single.public is None else np.repeat(single.public, 50, axis=0)
    alike = Reports(mechanism, np.repeat(single.payload, 50, axis=0), public)
    one, many = mechanism.estimate(single, decoder="em"), mechanism.estimate(alike, decoder="em")
    np.testing.assert_allclose(one.values, many.values, atol=1e-12)
    assert one.values.sum() == pytest.approx(1) and one.values.min() >= 0
    law = exact_law(mechanism.channel, single)[0]
    assert law @ one.values == pytest.approx(law.max(), rel=1e-8)  # all weight where the report is likeliest


def test_messages_are_decoded() -> None:
    mechanism = build("olh", 4)
    messages = [mechanism.randomize(i % 3, SeededCoins(i)) for i in range(60)]
    assert mechanism.estimate(messages, decoder="em").n == 60


def test_counts_of_supports_are_refused(seed: int) -> None:
    for name in ("oue", "olh"):
        mechanism = build(name)
        with pytest.raises(sv.ParameterError, match="decode the reports themselves"):
            mechanism.estimate(mechanism.tally(answers(mechanism, 50, seed)), decoder="em")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "magic"}, "Known: tolerance, max_iterations"),
        ({"tolerance": 0}, "'tolerance'"),
        ({"tolerance": True}, "'tolerance'"),
        ({"max_iterations": -1}, "'max_iterations'"),
    ],
)
def test_wrong_parameters(arguments: dict[str, Any], said: str, seed: int) -> None:
    mechanism = build("grr")
    with pytest.raises(sv.ParameterError, match=said):
        mechanism.estimate(answers(mechanism, 50, seed), decoder=sv.decoder("em", **arguments))


def test_foreign_empty_and_unfinished(seed: int) -> None:
    mechanism = build("grr")
    reports = answers(mechanism, 500, seed)
    with pytest.raises(sv.MismatchError, match="epsilon"):
        build("grr", epsilon=2).estimate(reports, decoder="em")
    with pytest.raises(sv.ParameterError, match="at least one report"):
        mechanism.estimate(reports[:0], decoder="em")
    with pytest.warns(NotConvergedWarning, match="1 iterations") as caught:
        unfinished = mechanism.estimate(reports, decoder=sv.decoder("em", max_iterations=1))
    assert unfinished.fit.gap > 1e-9 and caught[0].filename == __file__
    with pytest.raises(sv.ParameterError, match="impossible"):
        maximise(Dense(np.zeros((1, 2)), np.ones(1)))
