"""Tallies drawn from their law are tallies of reports, in law; and their variance is the predicted one."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.arithmetic.field import dot
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    Bits,
    Block,
    Channel,
    Mix,
    Noise,
    PoolMap,
    Public,
    Rounding,
    Subset,
    Table,
    Then,
    Window,
)
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.vector.place import signed_rows
from sottovoce.core.errors import TooLargeError
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.count import count_cells
from sottovoce.tally.counts import _draw, simulate_cells, simulate_held
from sottovoce.tally.laws import law_at, law_row
from sottovoce.tally.set_draws import REPORTS_PER_CELL, add_members
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each

ROWS = ("one-time-rappor", "rappor", "o-rr", "o-rappor", "cms", "hcms", "pcs")  # drawn one participant at a time
ORACLES = [name for name in sv.names(sv.Frequency) if name != "rr"]  # which takes two categories only
HASHED = ("olh", "blh", "slh", "rlh", "rws", "d-bit-flip", "d-bit-flip-memo")
JOINT = [name for name in ORACLES if name not in HASHED]
MEANS = sv.names(sv.Mean)


def crowd(k: int, n: int) -> np.ndarray:
    """Few holders of few codes, and many who hold none of these."""
    histogram = np.zeros(k, int)
    histogram[: min(4, k)] = [n * 2 // 5, n // 10, n // 100, 0][: min(4, k)]
    histogram[-1] += n - histogram.sum()
    return histogram


def laws_differ(a: np.ndarray, b: np.ndarray, seed: int) -> bool:
    """Whether scores in one of eight random directions refute that two samples of tallies have one law."""
    directions = np.random.default_rng(seed).normal(size=(a.shape[1], 8))
    return any(stats.ks_2samp(a @ one, b @ one).pvalue < ALPHA / 8 for one in directions.T)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("name", JOINT)
def test_drawn_tallies_are_counted_reports_in_law(name: str, epsilon: float, seed: int) -> None:
    """Two samples of whole tallies, compared along random directions, which by Cramér and Wold fix the joint law."""
    m = sv.mechanism(name, sv.Integers(0, 5), epsilon=epsilon)
    histogram, runs = np.array([7, 4, 0, 3, 0, 1]), 1500
    drawn = simulate_cells(m, histogram, runs=runs, seed=seed)
    codes = np.tile(np.repeat(np.arange(6), histogram), runs).astype(np.uint32)
    reports = draw(m, codes, WordStream.seeded(m.words, seed))
    n = int(histogram.sum())
    counted = np.array([count_cells(reports[i * n : (i + 1) * n], threads=1) for i in range(runs)])
    assert not laws_differ(drawn, counted, seed), f"alarm with probability {ALPHA} if the laws are equal"


def test_the_comparison_of_laws_has_power(seed: int) -> None:
    """A probability of keeping that is 30 % too large is noticed."""
    m, other = (sv.mechanism("grr", sv.Integers(0, 5), epsilon=e) for e in (1.0, 1.43))
    histogram = np.array([7, 4, 0, 3, 0, 1])
    a, b = (simulate_cells(x, histogram, runs=1500, seed=seed) for x in (m, other))
    assert laws_differ(a, b, seed)


SAME_LAW = ("distortion", "compression", "shist", "urr", "urap")  # as another line


# The prediction itself is proven over the law by the contract; here it is that of drawn tallies, small and large.
@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((16, 0.5), (16, 3.0), (256, 1.0))),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((16, 1.0), (256, 0.5), (256, 3.0))),
    ],
)
@pytest.mark.parametrize("name", [name for name in ORACLES if name not in (*ROWS, *SAME_LAW)])
def test_measured_variance_is_the_predicted_one(name: str, k: int, epsilon: float, seed: int) -> None:
    check_variance(name, k, epsilon, seed)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "rappor" else pytest.mark.long) for n in ROWS]
)
def test_measured_variance_of_rows_is_the_predicted_one(name: str, seed: int) -> None:
    check_variance(name, 16, 3.0, seed)


def check_variance(name: str, k: int, epsilon: float, seed: int) -> None:
    """Averaged over the values: within 3 %, where the standard error is below one percent."""
    m = sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon)
    n, runs, block = 10_000, 4000 if k == 16 else 1000, 500  # values are nearly independent, so few need more runs
    if name in ROWS or name == "she":
        runs = min(runs, 2000)  # each draws and reads all rows, or hundreds of outputs of each bin
    histogram = crowd(k, n)
    joint = name not in (*HASHED, "subset") or isinstance(m.statistic, CountOutputs)
    total, square = np.zeros(k), np.zeros(k)
    for part in range(runs // block):
        cells = simulate_cells(m, histogram, runs=block, seed=seed + part, joint=joint)
        values = np.array([from_cells(m, n, row).values() for row in cells]) - histogram / n
        total += values.sum(axis=0)
        square += (values**2).sum(axis=0)
    measured = square / runs - (total / runs) ** 2
    predicted = m.variance(histogram / n, n, target="sample")
    assert measured.mean() == pytest.approx(predicted.mean(), rel=0.03)
    # Unbiased: no value's mean is more than six standard errors off.
    assert (np.abs(total / runs) < 6 * np.sqrt(predicted / runs)).all()


@pytest.mark.slow
def test_ten_million_participants_are_one_draw() -> None:
    for name in ORACLES:
        m = sv.mechanism(name, sv.Integers(0, 127), epsilon=1.0)
        tally = sv.simulate_counts(m, crowd(128, 10**7), seed=1, joint=name not in (*HASHED, "subset"))
        assert tally.n == 10**7
        assert np.abs(m.estimate(tally).values[0] - 0.4) < 0.01


def test_what_has_no_tractable_joint_law_says_so() -> None:
    m = sv.mechanism("olh", sv.Integers(0, 5), epsilon=1.0)
    with pytest.raises(sv.ParameterError, match="joint=False"):
        sv.simulate_counts(m, [1, 2, 3, 0, 0, 0], seed=0)
    for encoding, ones in (("mask", 2), ("optional", 1)):
        with pytest.raises(sv.ParameterError, match="for one-hot encodings only"):
            _draw(Bits(4, UNIT // 2, UNIT // 4, encoding, ones), np.ones((1, 4), int), np.random.default_rng(0))
    large = sv.mechanism("subset", sv.Integers(0, 4095), epsilon=0.5)
    with pytest.raises(TooLargeError, match="joint=False"):
        sv.simulate_counts(large, np.ones(4096, int), seed=0)


@for_each("name", JOINT)
def test_a_drawn_tally_is_estimated_with_the_predicted_errors(name: str) -> None:
    """Six standard errors: a false alarm in about 10**8 tries for each share. Errors are known within a few percent."""
    m, shares, n = sv.mechanism(name, sv.Integers(0, 3), epsilon=4), np.array([0.5, 0.3, 0.2, 0.0]), 200_000
    found, predicted = m.estimate(sv.simulate_counts(m, (shares * n).astype(int), seed=1)), m.variance(shares, n)
    assert (np.abs(found.values - shares) < 6 * np.sqrt(predicted)).all()
    assert found.std_errors**2 == pytest.approx(predicted, rel=0.05)
    assert found.evidence.variances("sample") == pytest.approx(m.variance(shares, n, target="sample"), rel=0.05)


@pytest.mark.parametrize("name", ["o-rr", "cms"])
def test_a_tally_of_texts_is_drawn_from_their_holders(name: str) -> None:
    m = sv.mechanism(name, sv.Text(), epsilon=4)
    tally = simulate_held(m, {"owl": 6000, "lark": 4000, "cat": 0}, seed=1)
    assert tally.n == 10_000 and tally.simulated
    found = m.estimate(tally, candidates=["lark", "owl", "dog"])
    assert (np.abs(found.values - [0.4, 0.6, 0]) < 6 * found.std_errors).all() and (found.std_errors < 0.03).all()
    for other in ("grr", "olh"):
        with pytest.raises(sv.ParameterError, match="each public function is counted by itself"):
            simulate_held(sv.mechanism(other, sv.Integers(0, 3), epsilon=1), {0: 5}, seed=1)


@pytest.mark.parametrize("wrong", [[1, 2], [1.5] * 6, [-1, 0, 0, 0, 0, 7], "abc"])
def test_wrong_histograms_are_refused(wrong: object) -> None:
    m = sv.mechanism("grr", sv.Integers(0, 5), epsilon=1.0)
    with pytest.raises(sv.ParameterError, match="histogram"):
        sv.simulate_counts(m, wrong, seed=0)


# --- numbers -----------------------------------------------------------------------------------------------------
THIRD = UNIT // 3
NODES: dict[str, Channel] = {
    "window": Window(4, 2, 3, UNIT // 2),
    "noise": Noise(3, (UNIT // 2, UNIT - UNIT // 2), (THIRD + 2, THIRD, THIRD), (UNIT // 2, UNIT // 4, UNIT // 4)),
    "table": Table([[THIRD, 0, UNIT - THIRD], [UNIT - 2, 0, 2], [UNIT // 2, 0, UNIT // 2], [UNIT - THIRD, 0, THIRD]]),
    "mix": Mix(
        (UNIT // 4, UNIT // 2, UNIT // 4),
        (
            Window(4, 1, 2, UNIT // 4 * 3),
            Then(Rounding(0, 3, 2), Subset(3, 1, UNIT // 2)),
            Then(Rounding(0, 3, 1), Table([[UNIT // 8, UNIT // 8 * 7], [UNIT // 2, UNIT // 2]])),
        ),
    ),
    "rounding": Rounding("0.1", "0.4", 3),
    "then": Then(Rounding("0.1", "0.4", 3), Window(4, 2, 3, UNIT // 2)),
    "then table": Then(Table([[THIRD, 0, UNIT - THIRD]] * 4), Subset(3, 1, UNIT // 2)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "n-output" else []) for name in (*NODES, *MEANS)]
)
def test_rows_of_floats_are_the_exact_law(name: str) -> None:
    """Of a node itself and of its small instances, and of the small instances of every mechanism for means."""
    if name in NODES:
        check_rows_of_floats(NODES[name])
    named = [NODES[name]] if name in NODES else [mean_channel(name, epsilon) for epsilon in ("0.5", "4")]
    for small in (miniature for channel in named for miniature in channel.miniatures()):
        if small.inputs <= 8:
            check_rows_of_floats(small)


def mean_channel(name: str, epsilon: str) -> Channel:
    return sv.mechanism(name, sv.Interval("-0.1", 3), epsilon=epsilon).channel


def check_rows_of_floats(channel: Channel) -> None:
    codes = list(channel.codes())
    for place, code in enumerate(codes):
        exact = [float(channel.likelihood(y, code)) if channel.contains(y) else 0.0 for y in range(outputs_of(channel))]
        assert law_row(channel, place) == pytest.approx(exact, rel=1e-13, abs=0)
        assert law_at(channel, code) == pytest.approx(exact, rel=1e-13, abs=0)
    if rounding_of(channel) is not None:
        between = (2 * codes[0] + codes[1]) / 3
        exact = [
            float(channel.likelihood(y, between)) if channel.contains(y) else 0.0 for y in range(outputs_of(channel))
        ]
        assert law_at(channel, between) == pytest.approx(exact, rel=1e-13, abs=0)


@for_each("name", MEANS)
def test_rows_of_whole_mechanisms_sum_to_one(name: str) -> None:
    channel = sv.mechanism(name, sv.Interval(0, 1), epsilon=1).channel
    for code in (0, channel.inputs // 3, channel.inputs - 1):
        row = law_row(channel, code)
        assert row.shape == (channel.outputs,) and row.sum() == pytest.approx(1, abs=1e-13)
        for y in (0, 1, channel.outputs // 2, channel.outputs - 1):
            assert row[y] == pytest.approx(float(channel.likelihood(y, channel.codes()[code])), rel=1e-13, abs=0)


def laws_of(channel: Channel) -> np.ndarray:
    """The probability of each cell of a tally, one row for each code."""
    if not isinstance(channel, Public):
        return np.array([law_row(channel, code) for code in range(channel.inputs)])
    chosen, inner = channel.map, channel.inner
    rows = np.zeros((chosen.k, chosen.seeds, chosen.g))
    for code in range(chosen.k):
        for seed in range(chosen.seeds):
            rows[code, seed] = law_row(inner, dot(seed, code, chosen.g, chosen.digits)) / chosen.seeds
    return rows.reshape(chosen.k, -1)


def moments_differ(drawn: np.ndarray, channel: Channel, held: np.ndarray) -> bool:
    """Whether means or covariances of cells, along 16 random directions, refute the law of independent participants.

    A score of a whole tally is a sum of scores of reports, so its mean and variance are known from the rows of the law.
    """
    runs = len(drawn)
    laws = laws_of(channel)
    for direction in np.random.default_rng(5).normal(size=(16, laws.shape[1])):
        scores, means = drawn @ direction, laws @ direction
        mean, variance = held @ means, held @ (laws @ direction**2 - means**2)
        if stats.norm.sf(abs(scores.mean() - mean) / np.sqrt(variance / runs)) < ALPHA / 64:
            return True
        spread = ((scores - mean) ** 2).sum() / variance  # many participants: the score is normal
        if min(stats.chi2.cdf(spread, runs), stats.chi2.sf(spread, runs)) < ALPHA / 64:
            return True
    return False


@pytest.mark.parametrize("kind", NODES)
def test_cells_of_numbers_have_the_moments_of_their_law(kind: str, seed: int) -> None:
    channel, held = NODES[kind], np.array([3000, 0, 710, 1290])
    drawn = _draw(channel, np.broadcast_to(held, (2000, 4)), np.random.default_rng(seed))
    assert (drawn.sum(axis=1) == held.sum()).all()
    if kind == "rounding":
        assert (drawn == held).all()
        return
    assert not moments_differ(drawn, channel, held), f"alarm with probability {ALPHA} if the laws are equal"


def test_the_comparison_of_moments_has_power(seed: int) -> None:
    """Rows that are 30 % off are noticed."""
    held = np.array([300, 0, 71, 129])
    for right, wrong in (
        (Window(4, 2, 3, UNIT // 2), Window(4, 2, 3, UNIT // 20 * 13)),
        (
            Mix((THIRD, UNIT - THIRD), (NODES["window"],) * 2),
            Mix((UNIT // 10 * 4, UNIT - UNIT // 10 * 4), (NODES["window"],) * 2),
        ),
    ):
        drawn = _draw(right, np.broadcast_to(held, (2000, 4)), np.random.default_rng(seed))
        assert moments_differ(drawn, wrong, held)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_drawn_tallies_of_numbers_are_counted_reports_in_law(name: str, seed: int) -> None:
    m = sv.mechanism(name, sv.Interval(0, 10), epsilon=2)
    histogram, runs = np.zeros(m.channel.inputs, int), 800
    histogram[[0, len(histogram) // 2, -1]] += [9, 4, 3]
    drawn = simulate_cells(m, histogram, runs=runs, seed=seed)
    codes = np.tile(np.repeat(np.arange(len(histogram)), histogram), runs).astype(np.uint64) << np.uint64(32)
    reports = draw(m, codes, WordStream.seeded(m.words, seed))
    n = int(histogram.sum())
    counted = np.array([count_cells(reports[i * n : (i + 1) * n], threads=1) for i in range(runs)])
    assert not laws_differ(drawn, counted, seed), f"alarm with probability {ALPHA} if the laws are equal"


def test_ten_million_numbers_are_one_draw() -> None:
    for name in MEANS:
        m = sv.mechanism(name, sv.Interval(0, 1), epsilon=1.0)
        histogram = crowd(m.channel.inputs, 10**7)
        tally = sv.simulate_counts(m, histogram, seed=1)
        assert tally.n == 10**7 and tally.cells.sum() == 10**7


# --- sets of outputs ---------------------------------------------------------------------------------------------
SETS = [("hadamard", 0.5), ("hadamard", 3.0), ("flh", 0.5), ("flh", 1.0), ("flh", 3.0), ("hrr", 1.0)]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("name", "epsilon"), SETS)
def test_reports_from_the_set_of_a_code_are_in_it_and_uniform(name: str, epsilon: float, many: bool, seed: int) -> None:
    """Report by report and by a multinomial: cells outside the set stay empty, and the others are equally likely."""
    channel = sv.mechanism(name, sv.Integers(0, 10), epsilon=epsilon).channel
    rng = np.random.default_rng(seed)
    for code in range(channel.inputs):
        if isinstance(channel, Block):
            members = sorted(channel.sets.output(code, index, True) for index in range(channel.sets.size))
            outputs, of = channel.outputs, channel.sets
        else:
            assert isinstance(channel, Public) and isinstance(channel.map, PoolMap)
            of, outputs = channel.map, channel.map.seeds * channel.map.g
            members = [seed * of.g + dot(seed, code, of.g, of.digits) for seed in range(of.seeds)]
        runs = 40 if many else 160
        each = len(members) * REPORTS_PER_CELL * (4 if many else 1)
        reports = np.zeros((runs, channel.inputs), np.int64)
        reports[:, code] = each
        cells = np.zeros((runs, outputs), np.int64)
        add_members(of, cells, reports, rng)
        assert (cells.sum(axis=1) == each).all() and np.flatnonzero(cells.any(axis=0)).tolist() == members
        found = cells[:, members].sum(axis=0)
        assert stats.chisquare(found).pvalue > ALPHA / 200, f"alarm with probability {ALPHA} for all codes together"


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_cells_of_signed_rows_have_the_law_of_their_channel(groups: int, seed: int) -> None:
    """Each of six codes alone, 200,000 times: a cell that is 30 % off is refuted for sure."""
    channel = signed_rows(3, groups, Fraction(5))
    for code in range(channel.inputs):
        held = np.zeros((1, channel.inputs), np.int64)
        held[0, code] = 200_000
        cells = _draw(channel, held, np.random.default_rng(seed + code))[0]
        law = np.array([float(channel.likelihood(y, code)) for y in range(channel.outputs)])
        assert cells.sum() == 200_000
        assert stats.chisquare(cells, 200_000 * law).pvalue > ALPHA / 20, (
            f"alarm with probability {ALPHA} for all codes"
        )


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize(("name", "epsilon"), SETS)
def test_cells_of_sets_have_the_moments_of_their_law(name: str, epsilon: float, size: int, seed: int) -> None:
    channel = sv.mechanism(name, sv.Integers(0, 5), epsilon=epsilon).channel
    held = np.array([300, 0, 71, 129, 0, 400]) * size
    drawn = _draw(channel, np.broadcast_to(held, (1000, 6)), np.random.default_rng(seed))
    assert (drawn.sum(axis=1) == held.sum()).all()
    assert not moments_differ(drawn, channel, held), f"alarm with probability {ALPHA} if the laws are equal"
    same_maps = {"g": channel.map.g} if name == "flh" else {}
    wrong = sv.mechanism(name, sv.Integers(0, 5), epsilon=1.3 * epsilon, **same_maps)
    assert moments_differ(drawn, wrong.channel, held), "a budget that is 30 % off is noticed"


@pytest.mark.parametrize(("name", "epsilon"), [("hadamard", 1.0), ("hadamard", 3.0), ("flh", 1.0), ("flh", 3.0)])
def test_tallies_of_very_many_codes_are_drawn_in_seconds(name: str, epsilon: float) -> None:
    k, n = 13_929, 200_000
    m = sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon)
    histogram = np.bincount(np.random.default_rng(1).integers(0, k, n), minlength=k)
    start = time.process_time()
    tally = sv.simulate_counts(m, histogram, seed=1)
    assert time.process_time() - start < 8, "one kernel is compiled, then it takes milliseconds"
    assert tally.cells.sum() == n
    if (name, epsilon) == ("flh", 3.0):
        return  # decoding more than six million cells takes longer than drawing them
    values = m.estimate(tally).values
    error = np.sqrt(((values - histogram / n) ** 2).mean() / m.variance(histogram / n, n, target="sample").mean())
    assert error == pytest.approx(1, abs=0.1)
