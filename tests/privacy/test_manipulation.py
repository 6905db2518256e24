"""How far fake reports move estimates: exactly, against all reports that there are, for every mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.manipulation import what_if
from sottovoce.tally.tally import Tally

SIZE = 4
DOMAINS = {
    sv.Frequency: sv.Integers(0, SIZE - 1),
    sv.Mean: sv.Interval(0, 10),
    sv.VectorMean: sv.Box(-1, 3, 2),
    sv.Distribution: sv.Interval(0, 1),
}
SHORT = ("grr", "oue", "olh", "hadamard", "the", "distortion", "bernoulli", "hybrid", "sampled", "square-wave")
NAMES = [
    pytest.param(question, name, marks=() if name == "grr" else pytest.mark.slow if name in SHORT else pytest.mark.long)
    for question in DOMAINS
    for name in sv.names(question)
]
IDS = 40
MOST_OUTPUTS = 5000


def instance(question: type, name: str) -> Mechanism:
    try:
        return sv.mechanism(name, DOMAINS[question], epsilon=1)
    except sv.SottovoceError:
        pytest.skip("takes another domain")


def single(mechanism: Mechanism) -> list[Tally]:
    """Tallies of one report each: every report, under some ids."""
    channel = mechanism.channel
    outputs = outputs_of(channel) or 1 << channel.payload_bits
    if outputs > MOST_OUTPUTS:
        pytest.skip("too many reports to try all of them")
    generator = np.random.default_rng(1)
    words = [NO_WORDS]
    if channel.publics:
        drawn = [tuple(map(int, generator.integers(0, 1 << 63, 2))) for _ in range(40 * IDS)]
        words = [pair for pair in drawn if channel.accepts(pair)][:IDS]
    found = []
    for public in words:
        for report in range(outputs):
            if channel.contains(report):
                cells = np.zeros(mechanism.cells, np.int64)
                for cell, amount in mechanism.statistic.add(channel, report, public):
                    cells[cell] += amount
                found.append(Tally(mechanism, 1, cells))
    return found


@pytest.mark.parametrize(("question", "name"), NAMES)
def test_the_extremes_are_those_of_all_reports(question: type, name: str) -> None:
    """Each report alone is an estimate; the largest and the least of these are what the evidence says."""
    mechanism = instance(question, name)
    tallies = single(mechanism)
    read = load(f"estimate.{mechanism.question.room}.evidence:evidence")
    stated = read(mechanism, tallies[0]).contributions()
    if stated is None:
        pytest.skip("no mean of one number from each report")
    with np.errstate(all="ignore"):
        alone = np.array([read(mechanism, tally).values() for tally in tallies])
    least, most = np.nanmin(alone, axis=0), np.nanmax(alone, axis=0)
    np.testing.assert_allclose(stated.least, least, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stated.most, most, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "hadamard", "subset"])
def test_fakes_among_honest_reports_move_as_far_as_stated_and_no_farther(name: str) -> None:
    domain, m, n = sv.Integers(0, 9), 60, 2000
    mechanism = sv.mechanism(name, domain, epsilon=1)
    honest = mechanism.privatize(np.arange(n - m) % 10, seed=1)
    clean = mechanism.tally(honest)
    target, without = 3, mechanism.estimate(clean).values
    moved = {}
    # The attack: of many reports those that support the target, and those that do not.
    pool = mechanism.privatize(np.full(60, target), seed=2)
    scores = np.array([mechanism.estimate(mechanism.tally(pool[i : i + 1])).values[target] for i in range(60)])
    for word, place in (("up", int(scores.argmax())), ("down", int(scores.argmin()))):
        fake = mechanism.tally(pool[place : place + 1])
        whole = clean
        for _ in range(m):
            whole = whole + fake
        found = what_if(mechanism.estimate(whole), fakes=m)
        assert (found.low <= without + 1e-9).all() and (without <= found.high + 1e-9).all()
        ends = found.low if word == "up" else found.high
        moved[word] = abs(ends[target] - without[target])
        assert found.share == m / n
    assert max(moved.values()) < 1e-9  # both ends are reached


def test_half_of_the_reports_of_one_coordinate_are_a_quarter_of_all() -> None:
    """Fakes that choose their ids all count for one coordinate; issued ids spread them."""
    mechanism = next(
        sv.mechanism(name, DOMAINS[sv.VectorMean], epsilon=1)
        for name in sv.names(sv.VectorMean)
        if name.startswith("sampled")
    )
    values = np.tile([[0.5, 1.0]], (2000, 1))
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=1)))
    reports = estimate.evidence.contributions().reports
    assert reports.sum() == 2000
    free, issued = what_if(estimate, 0.25), what_if(estimate, 0.25, issued=True)
    np.testing.assert_allclose(free.shares, 500 / reports)
    assert (issued.shares == 0.25).all() and (issued.moves < free.moves).all()
    assert np.isinf(what_if(estimate, 0.6).moves).all()


def test_questions_of_a_study_share_its_reports() -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(np.arange(1000) % 4, seed=1)))
    alone, study = what_if(estimate, 0.01), what_if(estimate, 0.01, of=4000)
    assert alone.shares[0] == 0.01 and study.shares[0] == 0.04
    assert (what_if(estimate, 0.01, of=4000, issued=True).moves == alone.moves).all()
    assert (what_if(estimate, 0.3, of=4000).moves == np.inf).all()
    assert alone.text().startswith("With 1 % fake reports every share moves by at most 0.0")
    assert "can be anything" in what_if(estimate, 1.0).text()
    assert list(alone.to_frame()["label"]) == ["0", "1", "2", "3"]
    assert (what_if(estimate, 0).moves == 0).all()
    rates = mechanism.channel.rates()  # type: ignore[attr-defined]
    p, q, values = float(rates.own), float(rates.other), estimate.values
    down = values - (values - 0.01 * (1 - q) / (p - q)) / 0.99  # all fakes said this value
    up = (values + 0.01 * q / (p - q)) / 0.99 - values  # none of them did
    np.testing.assert_allclose(alone.moves, np.maximum(down, up))
    assert (down > 1.5 * up).all()


def test_refusals() -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(np.arange(1000) % 4, seed=1)))
    for bad in ({}, {"share": 0.1, "fakes": 3}, {"share": 1.1}, {"share": True}, {"fakes": 1001}, {"fakes": -1},
                {"share": 0.1, "of": 999}):  # fmt: skip
        with pytest.raises(ParameterError):
            what_if(estimate, **bad)
    groups = sv.GroupMean(sv.Categories(["f", "m"]), sv.Interval(0, 1))
    name = sv.names(sv.GroupMean)[0]
    other = sv.mechanism(name, groups.domain, epsilon=1)
    pairs = [("f", 0.5), ("m", 0.2)] * 500
    with pytest.raises(ParameterError, match="no mean of one number"):
        what_if(other.estimate(other.tally(other.privatize(pairs, seed=1))), 0.1)
