"""Guards that few answers reach: limits of sizes, thresholds at the very number, replies that say half of it."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import sottovoce as sv
from scripts import meaning
from sottovoce.client.transport import REFUSALS, Outcome, Reply, outcome
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Keyed, Subset, Table
from sottovoce.core.channel import closed_forms as forms
from sottovoce.core.channel.finite.sets import ProjectiveSets
from sottovoce.core.channel.numeric.noise import Noise
from sottovoce.core.domain.views import Select
from sottovoce.core.errors import TooLargeError
from sottovoce.core.exchange.wire import Batch
from sottovoce.estimate.comparison.compare import FARTHEST, _deviates
from sottovoce.estimate.distribution.readings import transition
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.frequency.intervals.binomials import exact_held
from sottovoce.estimate.show.tables import MOST_DECIMALS, decimals
from sottovoce.estimate.variance.same_reports import readings
from sottovoce.fast.balls import ball_codes
from sottovoce.privacy.accounting import exact_shuffle
from sottovoce.privacy.accounting.shuffling import smallest_epsilon
from sottovoce.tally.laws import law_row

RECORD = sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 1), "c": sv.Integers(0, 1)})
ORACLES = {  # the largest number of codes of each
    **dict.fromkeys(("loloha", "d-bit-flip-memo"), 1 << 10),
    **dict.fromkeys(("grr", "olh", "blh", "slh", "rlh", "distortion"), 1 << 24),
    **dict.fromkeys(("subset", "sue", "oue", "unary", "the", "d-bit-flip", "rue", "rws", "projective", "urr"), 1 << 20),
    **{"hadamard": 1 << 22, "rr": 2, "flh": 1 << 23, "hrr": 1 << 23, "shist": 1 << 23, "she": 1 << 14},
    **{"urap": 1 << 16, "compression": 1 << 16, "basic-rappor": 1 << 12, "one-time-rappor": 1 << 10, "rappor": 1 << 10},
}


# --- what a collector replies ---------------------------------------------------------------------------------
def test_the_fate_of_a_report_for_every_reply() -> None:
    """A reply that leaves a number out, says it twice, or as another type, accepts nothing."""
    refused = next(iter(REFUSALS))
    replies: list[tuple[Any, str]] = [
        ({"accepted": 1, "duplicates": 0}, "accepted"),
        ({"accepted": 0, "duplicates": 1}, "accepted"),
        ({"accepted": 1}, "accepted"),
        ({"duplicates": 1}, "accepted"),
        ({}, "queued"),
        ({"accepted": 0}, "queued"),
        ({"duplicates": 0}, "queued"),
        ({"accepted": 1, "duplicates": 1}, "queued"),
        ({"accepted": 2}, "queued"),
        ({"accepted": True}, "queued"),
        ({"accepted": 1.0}, "queued"),
        ({"accepted": "1"}, "queued"),
        ({"failed": [{"code": refused}]}, refused),
        ({"failed": [{"code": "never heard of"}]}, "refused"),
        ({"failed": [{"code": "epoch_in_future"}]}, "queued"),
        ({"failed": [{"code": 7}]}, "queued"),
        ({"failed": [{"code": refused}] * 2}, "queued"),
        ({"failed": {"code": refused}}, "queued"),
        ({"failed": ["conflict"]}, "queued"),
        ([], "queued"),
        (None, "queued"),
    ]
    for body, state in replies:
        assert outcome(Reply(200, json.dumps(body).encode())) == Outcome(state), body
    assert outcome(Reply(200, b"no JSON")) == Outcome("queued")
    for status, state in ((400, "invalid_batch"), (410, "study_closed"), (413, "too_large"), (422, "refused")):
        assert outcome(Reply(status, b"{}", 7.0)) == Outcome(state)
        assert outcome(Reply(status, b'{"code": "not_open"}', 7.0)) == Outcome("queued", 7.0)
    for status in (408, 429, 500, 503, 507, 302):
        assert outcome(Reply(status, b"", 3.0)) == Outcome("queued", 3.0)


def test_batches_in_longer_forms_are_refused() -> None:
    """Every head of a batch may be written with one byte more, which another reader would accept."""
    data = Batch(b"manifest", 3, 1, 0, bytes(range(16)), b"\x07").to_cbor()
    heads, place = [], 1
    while place < len(data):
        heads.append(place)
        place += 1 + (data[place] & 31 if data[place] >> 5 == 2 else 0)
    assert len(heads) == 14
    for head in heads:
        longer = bytes([data[head] & 0xE0 | 24, data[head] & 31])
        with pytest.raises(sv.ReportError, match="shortest"):
            Batch.from_cbor(data[:head] + longer + data[head + 1 :])
    with pytest.raises(sv.ReportError, match="cut off"):
        Batch.from_cbor(data[:-1])


# --- sizes ----------------------------------------------------------------------------------------------------
def test_what_is_too_large_is_said_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    law = Table([[UNIT // 2, UNIT // 2, 0], [0, UNIT // 2, UNIT // 2]])
    exact = forms.delta_by_law(law, Fraction(2))
    monkeypatch.setattr(forms, "MAX_PAIRED", 3 * 2**2)
    assert forms.delta_by_law(law, Fraction(2)) == exact
    monkeypatch.setattr(forms, "MAX_PAIRED", 3 * 2**2 - 1)
    with pytest.raises(TooLargeError, match="too large to enumerate"):
        forms.delta_by_law(law, Fraction(2))
    rows = np.array([[0.7, 0.3], [0.3, 0.7]])
    known = exact_shuffle.delta(rows, 3, 0.5)
    monkeypatch.setattr(exact_shuffle, "MAX_CELLS", 4)
    assert exact_shuffle.delta(rows, 3, 0.5) == known
    monkeypatch.setattr(exact_shuffle, "MAX_CELLS", 3)
    with pytest.raises(ValueError, match="few participants"):
        exact_shuffle.delta(rows, 3, 0.5)
    wave = sv.mechanism("square-wave-discrete", sv.Integers(0, 4), epsilon=1)
    found = wave.estimate(wave.tally(wave.privatize([1, 2, 3] * 9, seed=1))).evidence.transition  # type: ignore[attr-defined]
    size = found.buckets * found.outputs
    for most, refused in ((size, False), (size - 1, True)):
        monkeypatch.setattr(transition, "MAX_DENSE", most)
        found.__dict__.pop("matrix", None)
        if refused:
            with pytest.raises(TooLargeError, match="too large"):
                _ = found.matrix
        else:
            assert found.matrix.shape == (found.outputs, found.buckets)
    for digits in (21, 22):
        with pytest.raises(sv.ParameterError, match="'digits' parameter"):
            ProjectiveSets(4, 3, digits)
    with pytest.raises(sv.ParameterError, match="not numbered"):
        law_row(Subset(5, 2, UNIT // 2), 0)


def test_domains_that_an_oracle_cannot_hold_are_refused_with_its_limit() -> None:
    huge, limits = sv.Integers(0, 1 << 31), {}
    for name in sv.names(sv.Frequency):
        with pytest.raises(sv.SottovoceError) as refused:
            sv.mechanism(name, huge, epsilon=1, **({"participants": 9} if name == "shist" else {}))
        words = str(refused.value).split("from 2 to ")
        if len(words) > 1:
            limits[name] = int(words[1].split()[0])
    assert limits == ORACLES


def test_questions_about_no_domain_are_refused_with_a_sentence() -> None:
    for wrong in ("yes", None, 7, [1, 2]):
        for ask in (
            *(sv.Frequency, sv.Mean, sv.VectorMean, sv.Attributes, sv.Distribution, sv.Joint),
            *(lambda by: sv.GroupMean(by, sv.Interval(0, 1)), lambda value: sv.GroupMean(sv.Integers(0, 2), value)),
            *(lambda of: sv.Quantile(of, ["0.5"]), lambda of: sv.Range(of, 0, 1)),
        ):
            with pytest.raises(sv.SottovoceError):
                ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="'by' parameter of group-mean must be a domain with at least two"):
        sv.GroupMean(sv.Interval(0, 1), sv.Interval(0, 1))


# --- thresholds -----------------------------------------------------------------------------------------------
def test_deviates_are_the_roots_of_what_they_reach() -> None:
    """For one value by a root, for several by a grid: of a line both are exact, and far gaps are the farthest."""
    line = [Bounds(np.array([2.0]), np.array([3.0])), Bounds(np.array([2.0, 1.0]), np.array([3.0, 0.5]))]
    low, high = _deviates(lambda z: Bounds(z * line[0].low, z * line[0].high), np.array([1.0]), np.array([6.0]))
    assert (low[0], high[0]) == (pytest.approx(0.5, abs=1e-5), pytest.approx(2, abs=1e-5))
    low, high = _deviates(lambda z: Bounds(z * line[1].low, z * line[1].high), np.array([1.0, 2]), np.array([6.0, 1.0]))
    assert np.allclose([low, high], [[0.5, 2], [2, 2]], atol=1e-3)
    none, far = _deviates(lambda z: Bounds(z * line[0].low, z * line[0].high), np.array([-1.0]), np.array([1e9]))
    assert (none[0], far[0]) == (0.0, FARTHEST)


def test_the_smallest_epsilon_is_where_a_function_meets_its_delta() -> None:
    assert smallest_epsilon(lambda epsilon: 1 - epsilon / 4, 3.0, 0.5) == pytest.approx(2, abs=1e-9)
    assert smallest_epsilon(lambda epsilon: 1 - epsilon / 4, 3.0, 0.5) >= 2 - 1e-15
    assert smallest_epsilon(lambda epsilon: 1.0, 3.0, 0.5) == 3.0
    assert smallest_epsilon(lambda epsilon: 0.0, 3.0, 0.5) < 1e-9


# --- parts ----------------------------------------------------------------------------------------------------
def test_names_of_fields_are_all_known_and_differ() -> None:
    assert Select(RECORD, ["b", "a"]).size == 6
    for wrong in (["a", "z"], ["z", "a"], ["z"], [], ["a", "a"], ["a", "b", "a"]):
        with pytest.raises(sv.ParameterError, match="distinct names among a, b, c"):
            Select(RECORD, wrong)


def test_a_neutral_law_gives_weight_to_what_can_be_reported_only() -> None:
    key, inner = Subset(2, 1, UNIT // 2 + 1), Table([[UNIT // 2, UNIT // 2, 0], [UNIT // 4, UNIT - UNIT // 4, 0]])
    right = (UNIT // 2, UNIT // 2, 0)
    assert Keyed(key, inner, right).neutral == right
    for wrong in ((UNIT, 0, 0), (UNIT // 2, UNIT // 4, UNIT // 4), (0, 0, UNIT), (UNIT // 2, UNIT // 2), (1, 1, 0)):
        with pytest.raises(sv.ParameterError, match="The neutral law"):
            Keyed(key, inner, wrong)


def test_shorter_noise_keeps_its_sum_and_its_shape() -> None:
    for name in ("laplace", "staircase", "scdf"):
        channel = sv.mechanism(name, sv.Interval(0, 1), epsilon=1).channel
        noises = [part for part in (channel, *_parts(channel)) if isinstance(part, Noise)]
        assert noises
        for noise in noises:
            assert len(noise.miniatures()) >= 2
            for small in noise.miniatures():
                assert isinstance(small, Noise)
                assert sum(small.first) == sum(small.cycle) == UNIT and sum(small.bands) == sum(noise.bands)
                assert [*small.cycle] == sorted(small.cycle, reverse=True) and small.cycle[-1] > 0


def _parts(channel: Any) -> list[Any]:
    every = [getattr(channel, name) for name in ("first", "second", "inner", "of") if hasattr(channel, name)]
    return [part for one in every if hasattr(one, "kind") for part in (one, *_parts(one))]


def test_vectors_of_a_frame_are_those_of_its_rows() -> None:
    ball = sv.Ball(2, 3)
    rows = [[0.5, -0.25, 1.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.5]]
    expected = ball_codes(ball, rows)
    for same in (np.array(rows), pd.DataFrame(rows, columns=["x", "y", "z"]), [tuple(row) for row in rows]):
        assert np.array_equal(ball_codes(ball, same), expected)
    for wrong in ("abc", 7, np.ma.masked_array(rows, np.eye(3))):
        with pytest.raises(sv.DomainError):
            ball_codes(ball, wrong)


def test_a_variance_needs_reports_that_round_to_every_whole_number() -> None:
    numbers = sv.Integers(0, 4)
    assert len(readings(sv.mechanism("n-output", numbers, epsilon=1)).number) == 7
    for name, points in (("bernoulli", 2), ("three-output", 3), ("laplace", 9)):
        with pytest.raises(sv.ParameterError, match=f"has {points} points"):
            readings(sv.mechanism(name, numbers, epsilon=1))
    with pytest.raises(sv.ParameterError, match="needs a channel that rounds"):
        readings(sv.mechanism("grr", numbers, epsilon=1))
    with pytest.raises(sv.ParameterError, match="needs whole numbers"):
        readings(sv.mechanism("bernoulli", sv.Interval(0, 1), epsilon=1))


def test_points_of_a_number_are_so_many_that_every_cell_has_one() -> None:
    """Between a part of the limit and the limit, in steps of 1, 2, 5, 10 ... times the finest, with both ends."""
    for high, most, points in ((10, 1000, 0), (10, 1000, 300), (7, 40, 900), (10, 1000, 10**9), (3, 20, 0)):
        domain = sv.Interval(0, high)
        found = list(meaning._points(domain, most, points))
        limit = max(min(most, meaning.MOST_POINTS), min(points, 4 * meaning.MOST_TRIED - 100))
        assert limit / 2.5 <= len(found) - 1 <= limit, (high, most, points)
        assert found[0] == 0 and found[-1] == high and found == sorted(found)
        step = Fraction(found[1] - found[0]) / meaning.FINE
        assert str(step).rstrip("0") in ("1", "2", "5")
    assert list(meaning._points(sv.Interval(0, 4, step=1), 1000, 0)) == [0, 1, 2, 3, 4]
    assert list(meaning._points(sv.Integers(0, 9), 5, 0)) == [0, 2, 4, 6, 8, 9]


def test_vectors_outside_their_box_are_refused_by_row() -> None:
    """Below, above, and not a number; an end of the box that no float is belongs to it."""
    box = sv.Box(-1, "0.1", 2)
    mechanism = sv.mechanism("duchi-linf", box, epsilon=1)
    assert len(mechanism.privatize(np.array([[-1.0, 0.1], [0.0, 0.05]]), seed=1)) == 2
    for wrong in (-1.001, 0.1001, np.nan, np.inf, -np.inf):
        for place in (0, 1):
            rows = np.zeros((3, 2))
            rows[1, place] = wrong
            with pytest.raises(sv.DomainError, match="1 of 3"):
                mechanism.privatize(rows, seed=1)


def test_a_mechanism_that_keeps_a_memo_shows_both_budgets() -> None:
    memo = sv.mechanism("basic-rappor", sv.Integers(0, 2), epsilon=1, epsilon_forever=2)
    assert "epsilon=1, epsilon_forever=2" in repr(memo)
    assert "epsilon_forever" not in repr(sv.mechanism("grr", sv.Integers(0, 2), epsilon=1))


def test_shares_and_sizes_of_groups_are_decoded_in_their_unit() -> None:
    groups = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 1))
    mechanism = sv.mechanism("group-bernoulli", groups, epsilon=2)
    answers = [("aab"[place % 3], 0.5) for place in range(300)]
    found = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=3)))
    means = found.evidence.by_group
    assert means is not None
    for name in ("norm-sub", "base-cut"):
        decoder = sv.decoder(name)
        shares, sizes = means.shares.decoded(decoder).values, means.sizes.decoded(decoder).values
        assert np.allclose(sizes, 300 * shares) and shares.min() >= 0
        assert shares.sum() == pytest.approx(1) if name == "norm-sub" else shares.max() <= 1


def test_exact_limits_of_holders_are_those_of_brute_force() -> None:
    """Every count of every small crowd, by sums of the convolved binomial laws."""
    for own, other, level in ((0.7, 0.2, 0.9), (0.55, 0.45, 0.5), (1.0, 0.25, 0.95)):
        alpha = (1 - level) / 2
        for n in range(8):
            laws = [
                np.convolve(binom.pmf(range(h + 1), h, own), binom.pmf(range(n - h + 1), n - h, other))
                for h in range(n + 1)
            ]
            counts = np.arange(n + 1)
            low, high = exact_held(counts, np.full(n + 1, n), own, other, level)
            for count in counts:
                above = [h for h in range(n + 1) if laws[h][count:].sum() > alpha]
                below = [h for h in range(n + 1) if laws[h][: count + 1].sum() > alpha]
                if above and below and above[0] <= below[-1]:
                    assert (low[count], high[count]) == (above[0], below[-1]), (own, n, count)
                else:
                    assert low[count] == high[count], (own, n, count)


def test_numbers_are_printed_with_two_digits_of_the_smallest_error() -> None:
    for errors, places in (
        *(([0.5], 2), ([0.1], 2), ([0.099], 3), ([1.0], 1), ([9.9], 1), ([10.0], 0), ([12345.0], 0), ([0.0012], 4)),
        *(
            ([3.0, 0.02], 3),
            ([0.0, 0.3], 2),
            ([math.inf, math.nan, 0.3], 2),
            ([], 4),
            ([0.0], 4),
            ([1e-30], MOST_DECIMALS),
        ),
    ):
        assert decimals(errors) == places, errors


def test_values_drawn_from_an_estimate_are_answers_of_its_domain() -> None:
    for domain, step in ((sv.Interval(0, 3, step="0.5"), 0.5), (sv.Integers(2, 9), 1)):
        mechanism = sv.mechanism("square-wave-discrete", domain, epsilon=3)
        found = mechanism.estimate(mechanism.tally(mechanism.privatize([2, 2, 3] * 200, seed=1)))
        drawn = np.asarray(found.sample(500, seed=2), float)
        assert len({*drawn}) > 3 and np.allclose(drawn / step, np.rint(drawn / step))
        assert float(domain.low) <= drawn.min() and drawn.max() <= float(domain.high)
