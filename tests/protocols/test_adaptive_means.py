"""Adaptive means of several numbers: the one-dimensional protocol of each number, with its share of the budget."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.mean.sequential import SequentialMeanEvidence
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce.protocols.mean.belief import belief_error, believed, published_belief, variance_error
from sottovoce.protocols.mean.several import AdaptiveMeansRounds
from sottovoce.protocols.play import replay
from sottovoce.protocols.simulate import rounds
from sottovoce.tally.laws import law_row
from sottovoce.testing.statistics import ALPHA

RECORD = sv.Record({"sleep": sv.Interval(0, 14), "cups": sv.Integers(0, 9), "mood": sv.Interval(-1, 1)})
SMALL = AdaptiveMeansRounds(RECORD, 4, 4500, count=2, inputs=5)


def people(n: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    columns = np.clip(rng.normal(7, 0.8, n), 0, 14), rng.binomial(9, 0.1, n), rng.uniform(-1, 1, n)
    return [{"sleep": float(a), "cups": int(b), "mood": float(c)} for a, b, c in zip(*columns, strict=True)]


@pytest.fixture(scope="module")
def played() -> tuple[Any, list[dict[str, Any]]]:
    answers = people(4500, 1)
    return list(rounds(SMALL, answers, seed=1))[-1], answers


def test_each_field_has_the_estimate_of_its_own_protocol(played: Any) -> None:
    """The reports about a field, counted as if nothing else had been asked, give the same mean."""
    last, _ = played
    result = SMALL.advance(last.history)
    assert list(result) == ["means", "sleep", "cups", "mood"]
    for name, part in SMALL.parts.items():
        assert part.epsilon == Decimal(2) and part.participants == 3000
        own = SMALL._by_field(last.history)[name]
        alone = part.advance(own)["mean"]
        assert result[name].value == alone.value
        assert result[name].notes == alone.notes
        assert np.array_equal(result[name].ci().low, alone.ci().low)
        asked = sum(tally.n for (tally,) in own)
        assert asked == pytest.approx(3000, abs=5 * math.sqrt(1000)) and alone.n == asked
    assert isinstance(result["cups"].evidence, SequentialMeanEvidence)  # a narrow law: round two was adapted
    assert np.array_equal(result["means"].values, [result[name].value for name in SMALL.parts])


def test_all_means_are_covered_at_once(played: Any) -> None:
    last, answers = played
    means = SMALL.advance(last.history)["means"]
    truth = np.array([np.mean([person[name] for person in answers]) for name in SMALL.parts])
    single, joint = means.ci(), means.ci(simultaneous=True)
    assert ((joint.low < single.low) & (single.high < joint.high)).all()
    for target in ("population", "sample"):
        low, high = means.ci(1 - ALPHA, target=target, simultaneous=True)
        assert ((low <= truth) & (truth <= high)).all(), f"alarm with probability {ALPHA}"
    assert means.n == 4500 and means.epsilon <= 4


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_numbers_of_one_report_share_the_budget(count: int) -> None:
    """Algorithm 6 as published gives each of k numbers the whole budget, and spends k times as much."""
    protocol = AdaptiveMeansRounds(RECORD, 3, 4500, count=count, inputs=3)
    arms = protocol.start().arms
    assert len(arms) == (1 if count == 3 else 3)
    for arm in arms[:1]:
        assert sv.audit(arm.mechanism).ok
        loss = math.log(math.prod(_largest_ratio(channel) for channel in arm.mechanism.channel.channels))
        assert 2.999 < loss <= 3
    published = [sv.mechanism("designed", sv.Interval(-1, 1), epsilon=3, inputs=3).channel] * count
    assert math.log(math.prod(map(_largest_ratio, published))) == pytest.approx(3 * count, abs=1e-3)


def _largest_ratio(channel: Any) -> float:
    rows = np.array([law_row(channel, point) for point in range(3)])
    seen = rows[:, rows.max(axis=0) > 0]
    return float((seen.max(axis=0) / seen.min(axis=0)).max())


def test_how_many_numbers_a_person_reports_follows_from_the_budget() -> None:
    counts = {eps: AdaptiveMeansRounds(RECORD, eps, 4500).count for eps in (1, 4, 7, 8, 20)}
    assert counts == {1: 1, 4: 1, 7: 1, 8: 2, 20: 3}


def test_stopping_and_closing_early(played: Any) -> None:
    last, answers = played
    state = resume(checkpoint(next(rounds(SMALL, answers, seed=1))))
    assert state.protocol == SMALL
    again = sv.simulate(state.protocol, answers, seed=1, state=state)
    assert again["sleep"].value == SMALL.advance(last.history)["sleep"].value
    first = last.history[:1]
    closed = SMALL.advance(first, closing=True)
    assert "Closed early" in closed["sleep"].missing and closed["sleep"].n < 3000
    silent = SMALL.advance([(*none_of(first[0][:1]), first[0][1], *none_of(first[0][2:]))], closing=True)
    assert set(silent) == {"means", "cups", "mood"} and "no estimates for sleep" in silent["means"].missing
    with pytest.raises(sv.ReportError):
        replay(SMALL, (*last.history, last.history[0]))


def none_of(tallies: Any) -> tuple[Any, ...]:
    return tuple(type(tally)(tally.mechanism, 0, 0 * tally.cells) for tally in tallies)


def test_a_field_without_reports_in_round_one_begins_later(played: Any) -> None:
    last, _ = played
    (_, cups_mood, *_) = tallies = last.history[0]
    late = ((none_of(tallies[:1])[0], cups_mood, *none_of(tallies[2:])),)
    stage = SMALL.advance(late)
    first, second = (dict(zip(SMALL._windows(), one.arms, strict=True)) for one in (SMALL.start(), stage))
    sleeps = [arms["sleep", "cups"].mechanism.channel.channels[0] for arms in (first, second)]
    assert sleeps[0] == sleeps[1]


@pytest.mark.parametrize("first", ["designed", "square-wave"])
def test_vectors_are_read_like_records_of_the_same_numbers(first: str) -> None:
    """A `Box` and a record get the same reports from the same coins, so the same means and intervals."""
    rng = np.random.default_rng(7)
    vectors = np.round(np.clip(rng.normal([0.2, -0.5, 0.7], 0.1, (3000, 3)), -1, 1), 3)
    records = [dict(zip("abc", map(float, row), strict=True)) for row in vectors]
    record = sv.Record({name: sv.Interval(-1, 1) for name in "abc"})
    about: Any = {"epsilon": 4, "participants": 3000, "count": 2, "inputs": 5, "first": first}
    box = AdaptiveMeansRounds(sv.Box(-1, 1, dimensions=3), **about)
    one = sv.simulate(box, vectors, seed=3)
    other = sv.simulate(AdaptiveMeansRounds(record, **about), records, seed=3)
    assert list(one) == ["means", "0", "1", "2"]
    assert np.array_equal(one["means"].values, other["means"].values)
    assert np.array_equal(one["means"].ci(simultaneous=True).low, other["means"].ci(simultaneous=True).low)
    low, high = one["means"].ci(1 - ALPHA, simultaneous=True)
    assert ((low <= vectors.mean(axis=0)) & (vectors.mean(axis=0) <= high)).all(), f"alarm with probability {ALPHA}"
    for arm in box.start().arms:
        assert Mechanism.from_spec(arm.mechanism.spec()) == arm.mechanism
        sent = arm.mechanism.privatize(vectors[:50].tolist(), seed=1)
        assert np.array_equal(sent.payload, arm.mechanism.privatize(vectors[:50], seed=1).payload)


def test_a_square_wave_closed_early_gives_laws_and_no_means() -> None:
    protocol = AdaptiveMeansRounds(sv.Box(0, 1, dimensions=2), 4, 3000, first="square-wave", inputs=5)
    state = next(rounds(protocol, np.full((3000, 2), 0.25), seed=1))
    closed = protocol.advance(state.history, closing=True)
    assert set(closed) == {"0", "1"} and "Closed early" in closed["0"].missing


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"domain": sv.Interval(0, 1)}, "record of numbers"),
        ({"domain": sv.Record({"a": sv.Categories(["x", "y"])})}, "record of numbers"),
        ({"count": 4}, "count"),
        ({"epsilon": 0}, "epsilon"),
        ({"participants": 0}, "participants"),
        ({"first": "other"}, "first"),
        ({"split": 2}, "split"),
    ],
)
def test_bad_input_gets_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said) as caught:
        AdaptiveMeansRounds(**{"domain": RECORD, "epsilon": 1, "participants": 10_000, **given})
    assert "\n" not in str(caught.value)


# --- other first rounds -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("first", "decoding"),
    [("grr", "published"), ("laplace", "likelihood"), ("laplace", "published"), ("square-wave", "likelihood")],
)
def test_published_first_rounds(first: str, decoding: str, seed: int) -> None:
    answers = np.clip(np.random.default_rng(seed).normal(7, 0.8, 5000), 0, 14)
    protocol = AdaptiveMeanRounds(sv.Interval(0, 14), 4, 5000, first=first, decoding=decoding, inputs=9)
    found = sv.simulate(protocol, answers, seed=seed)
    assert (found["first"].n, found["second"].n) == (200, 4800)
    assert found["mean"].n == (4800 if first == "square-wave" else 5000)
    low, high = found["mean"].ci(1 - ALPHA)
    assert low[0] <= 7 <= high[0], f"alarm with probability {ALPHA}"
    state = resume(checkpoint(next(rounds(protocol, answers, seed=seed))))
    assert state.protocol == protocol
    closed = protocol.advance(state.history, closing=True)
    assert ("first" if first == "square-wave" else "mean") in closed


def test_a_decoding_needs_its_first_round() -> None:
    for first in ("designed", "square-wave"):
        with pytest.raises(sv.ParameterError, match="decoding"):
            AdaptiveMeanRounds(sv.Interval(0, 14), 4, 5000, first=first, decoding="published")


def test_the_published_decodings_are_inversion_and_counting() -> None:
    mechanism = sv.mechanism("nprr", sv.Interval(0, 8), epsilon=2, k=4)
    keep = math.exp(2) / (math.exp(2) + 4)
    other = (1 - keep) / 4
    cells = np.array([700, 100, 150, 40, 10])
    inverted = np.maximum((cells / 1000 - other) / (keep - other), 0)
    belief = published_belief(sv.Tally(mechanism, 1000, cells), 17)
    assert belief.values == (0, 2, 4, 6, 8)
    assert belief.weights == pytest.approx(inverted / inverted.sum(), abs=1e-5) and belief.weights[-1] == 0
    noisy = sv.mechanism("laplace", sv.Interval(0, 8), epsilon=2)
    outputs = len(noisy.tally(noisy.privatize([1.0], seed=1)).cells)
    reads = np.array(
        [noisy.estimate(sv.Tally(noisy, 1, np.eye(outputs, dtype=np.int64)[place])).value for place in range(outputs)]
    )
    cells = np.random.default_rng(1).integers(0, 9, outputs)
    belief = published_belief(sv.Tally(noisy, int(cells.sum()), cells), 5)
    inside = [cells[np.round(reads / 2) == place].sum() for place in range(5)]
    assert belief.weights == pytest.approx(np.array(inside) / sum(inside), abs=1e-5)


# --- claim 3 ----------------------------------------------------------------------------------------
def test_the_corrected_claim_bounds_every_variance_and_the_published_one_does_not() -> None:
    """All beliefs whose shares are off by psi up or down, as far as they sum to one, against all 0-1 variances."""
    published_fails = 0
    truth = np.array([0.1, 0.2, 0.2, 0.5])
    for signs in itertools.product((-1, 0, 1), repeat=4):
        off = np.array(signs) * truth
        for psi in (0.05, 0.3, 0.8):
            up, down = off.clip(0).sum(), -off.clip(None, 0).sum()
            scale = psi * np.where(off > 0, min(1, down / up) if up else 0, min(1, up / down) if down else 0)
            belief = truth + off * scale
            assert belief.sum() == pytest.approx(1)
            error = belief_error(sv.Prior(range(4), truth), sv.Prior(range(4), belief))
            assert error <= psi + 1e-9
            least, most = variance_error(error)
            for variances in itertools.product((0.001, 1.0), repeat=4):
                true, promised = truth @ variances, belief @ variances
                assert abs(promised - true) / true <= error + 1e-9
                assert least - 1e-9 <= true / promised <= most + 1e-9
                published_fails += abs(promised - true) / true > min(psi / (1 + psi), psi / (1 - psi)) + 1e-9
    assert published_fails > 100


def test_the_bound_is_reached_and_beliefs_may_be_wrong_everywhere() -> None:
    assert variance_error(0) == (1, 1)
    assert variance_error(0.25) == (0.8, pytest.approx(4 / 3))
    assert variance_error(1.5)[1] == math.inf
    truth, belief = sv.Prior([0, 1], [0.5, 0.5]), sv.Prior([0, 1], [0.75, 0.25])
    assert belief_error(truth, belief) == 0.5 and belief_error(truth, truth) == 0
    assert belief_error(sv.Prior([0], [1]), belief) == math.inf
    with pytest.raises(sv.ParameterError, match="not negative"):
        variance_error(-1)


def test_a_design_keeps_the_promise_within_the_bound() -> None:
    """A designed channel, promised by a belief of round one and paid by the truth on its grid."""
    domain, truth = sv.Interval(0, 1), sv.Prior(np.linspace(0, 1, 5), [0.1, 0.3, 0.3, 0.2, 0.1])
    one = sv.mechanism("designed", domain, epsilon=3, inputs=5)
    rows = np.array([law_row(one.channel, point) for point in range(5)])
    cells = np.round(truth.weights @ rows * 2000).astype(np.int64)
    belief = believed(sv.Tally(one, int(cells.sum()), cells), 5, between=True)
    design = sv.mechanism("designed", domain, epsilon=3, objective="prior", prior=belief, inputs=5)
    low, high = variance_error(belief_error(truth, belief))
    assert low < design.average_variance(truth) / design.average_variance(belief) < high < 3
