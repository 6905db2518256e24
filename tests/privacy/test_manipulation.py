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
from sottovoce.estimate.variance.evidence import from_arms, moments
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
    buckets = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1)
    found = buckets.estimate(buckets.tally(buckets.privatize(np.arange(1000) / 1000, seed=1)))
    with pytest.raises(ParameterError, match="not made of means of one number"):
        what_if(found.answer(sv.Quantile(sv.Interval(0, 1), ["0.5"])), 0.1)


# --- what is made of several means ----------------------------------------------------------------------------------
PAIRS = [("f", 0.5), ("m", 0.2), ("f", 0.9), ("x", 0.4)] * 700
GROUPS = sv.Pair(sv.Categories(["f", "m", "x"]), sv.Interval(0, 1))


def attacked(mechanism: Mechanism, clean: Tally, cells: list[tuple[int, int]], fakes: int) -> Tally:
    """With so many copies of one report."""
    added = np.zeros(mechanism.cells, np.int64)
    for cell, amount in cells:
        added[cell] += amount
    return Tally(mechanism, clean.n + fakes, clean.cells + fakes * added)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "group-bernoulli" else pytest.mark.slow)
        for name in sv.names(sv.GroupMean)
    ],
)
def test_means_of_groups_move_as_far_as_stated_and_no_farther(name: str) -> None:
    """Every report of the channel as the fake one: the mean without them lies inside, and at the ends for some."""
    mechanism = sv.mechanism(name, GROUPS, epsilon=2)
    channel = mechanism.channel
    clean, fakes = mechanism.tally(mechanism.privatize(PAIRS, seed=1)), 15
    without = mechanism.estimate(clean).values
    keys, inner = channel.key, channel.inner_outputs
    closest = np.full((2, 3), np.inf)
    for key in range(keys.outputs if hasattr(keys, "outputs") else 1 << keys.k):
        for report in (0, inner // 2, inner - 1):
            cells = [(group * inner + report, 1) for group in keys.codes() if keys.supports(key, group)]
            found = what_if(mechanism.estimate(attacked(mechanism, clean, cells, fakes)), fakes=fakes)
            assert (found.low <= without + 1e-9).all() and (without <= found.high + 1e-9).all()
            closest = np.minimum(closest, [without - found.low, found.high - without])
    assert closest.max() < 1e-9
    assert found.text().startswith("With ") and "every mean moves by at most 0." in found.text()
    assert np.isinf(what_if(found.estimate, 0.9).moves).all()
    assert (what_if(found.estimate, 0.0).moves < 1e-12).all()


def test_variances_are_held_by_the_bounds_of_both_means() -> None:
    domain = sv.Interval(0, 1)
    protocol = sv.VarianceRounds(domain, 2, method="split-n")
    number, square = (arm.mechanism for arm in protocol.start().arms)
    values, m = np.linspace(0.1, 0.6, 3000), 40
    parts = [one.tally(one.privatize(values, seed=seed)) for seed, one in enumerate((number, square))]
    clean = from_arms(*parts)
    tightest = np.inf
    for place, (low, high) in ((0, (0, -1)), (1, (0, -1))):
        for cell in (low, high):
            moved = list(parts)
            one = parts[place]
            moved[place] = attacked(one.mechanism, one, [(cell % one.mechanism.cells, 1)], m)
            estimate = moments(domain, from_arms(*moved), moved)["variance"]
            found = what_if(estimate, fakes=m)
            assert found.low[0] <= clean.values()[0] <= found.high[0]
            tightest = min(tightest, clean.values()[0] - found.low[0], found.high[0] - clean.values()[0])
            spread = what_if(moments(domain, from_arms(*moved), moved)["sd"], fakes=m)
            np.testing.assert_allclose(spread.high, np.sqrt(found.high))
    whole = found.high[0] - found.low[0]
    assert 0 < tightest < 0.35 * whole  # not much wider than what one of the two means alone can do


@pytest.mark.parametrize("issued", [False, True])
def test_combinations_are_moved_farthest_by_fakes_in_one_part(issued: bool) -> None:
    """All ways to divide the fake reports, with the same weights: none is worse than one part alone."""
    domain, m = sv.Integers(0, 3), 90
    pair = [sv.mechanism("grr", domain, epsilon=epsilon) for epsilon in ("0.5", "2")]
    tallies = [one.tally(one.privatize(np.arange(3000) % 4, seed=3)) for one in pair]
    whole = sv.combine(tallies)
    found = what_if(whole, fakes=m, issued=issued)
    weights, parts = whole.evidence.weights, whole.evidence.parts
    worst = np.full(4, np.inf)
    for first in [m // 2] if issued else range(m + 1):
        low = np.zeros(4)
        for count, weight, part in zip((first, m - first), weights, parts, strict=True):
            stated = part.contributions()
            share = count / part.n
            low += weight * (part.values() - share * stated.most) / (1 - share)
        worst = np.minimum(worst, low)
    np.testing.assert_allclose(found.low, worst)
    means = [sv.mechanism("piecewise", sv.Interval(0, 1), epsilon=epsilon) for epsilon in ("1", "2")]
    both = sv.combine([one.tally(one.privatize(np.linspace(0, 1, 500), seed=1)) for one in means])
    first, second = (what_if(both, 0.01, issued=one).moves[0] for one in (False, True))
    assert 0 < second < first


def test_cumulative_shares_are_means_of_scores() -> None:
    mechanism = sv.mechanism("square-wave-discrete", sv.Integers(0, 7), epsilon=1)
    clean = mechanism.tally(mechanism.privatize(np.arange(800) % 8, seed=1))
    question = sv.Cdf(sv.Integers(0, 7), [3])
    without, ends = mechanism.estimate(clean).answer(question).values, []
    for cell in range(mechanism.cells):
        found = what_if(mechanism.estimate(attacked(mechanism, clean, [(cell, 1)], 20)).answer(question), fakes=20)
        assert found.low[0] - 1e-9 <= without[0] <= found.high[0] + 1e-9
        ends += [without[0] - found.low[0], found.high[0] - without[0]]
    assert min(ends) < 1e-9


def test_the_sentence_speaks_of_one_number_or_of_every_share() -> None:
    one, several = (
        sv.mechanism("bernoulli", sv.Interval(0, 1), epsilon=1),
        sv.mechanism("grr", sv.Integers(0, 2), epsilon=1),
    )
    mean = one.estimate(one.tally(one.privatize([0.5] * 100, seed=1)))
    assert "reports the mean moves" in what_if(mean, 0.05).text()
    assert (
        "reports every share moves"
        in what_if(several.estimate(sv.simulate_counts(several, [9, 9, 9], seed=1)), 0.05).text()
    )
