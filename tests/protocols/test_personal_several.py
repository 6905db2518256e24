"""Budgets of each participant, for vectors, groups and any sequence of budgets: unbiased, with intervals that cover."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.coins import SeededCoins
from sottovoce.core.question import Mean
from sottovoce.estimate.mean.combine import precision
from sottovoce.estimate.mean.sequence import SequenceEvidence, _numbers, sequence_mean
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.protocols.mean.personal_several import PersonalBudgetGroups, PersonalBudgetVector
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec

BOX = sv.Box(-1, 1, dimensions=3)
PEOPLE = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))
LEVELS = sv.Integers(0, 10)
TRUTH = np.array([2.8, 3.5, 5.6])


def vector_crowd(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    answers = np.where(rng.random((n, 3)) < 0.5, 0.5, rng.choice([-1.0, 0.0, 1.0], (n, 3)))  # half at one value
    return answers, rng.choice(2, n, p=[0.6, 0.4])


def group_crowd(n: int, seed: int) -> tuple[list[tuple[str, float]], np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])
    answers = np.where(rng.random(n) < 0.3, 0, np.select([groups == "a", groups == "b"], [4.0, 5.0], 8.0))
    return [(str(group), float(value)) for group, value in zip(groups, answers, strict=True)], rng.choice(2, n)


@pytest.mark.slow
def test_vectors_of_several_budgets_cover_and_gain() -> None:
    """80 runs of 3 coordinates: a true coverage of 95 % leaves [0.88, 0.995] with probability below 1e-5."""
    protocol = PersonalBudgetVector(BOX, [1, 4], method="duchi-linf")
    hits = {"means": 0, "everyone": 0}
    for run in range(80):
        answers, choices = vector_crowd(2000, run)
        found = sv.simulate(protocol, answers, seed=run, choices=choices)
        for name in hits:
            low, high = found[name].quiet_ci(0.95)
            hits[name] += int(((low <= 0.25) & (high >= 0.25)).sum())
    for count in hits.values():
        assert 0.88 * 240 <= count <= 0.995 * 240
    assert found["means"].std_errors.max() < 1.05 * found["epsilon 4"].std_errors.max()
    assert found["means"].std_errors.max() < found["everyone"].std_errors.max()
    assert "everyone" in (found["means"].doubt() or "") and found["means"].epsilon == pytest.approx(4)


def test_a_weighted_vector_is_the_weighted_sum_of_its_budgets() -> None:
    answers, choices = vector_crowd(3000, 1)
    found = sv.simulate(PersonalBudgetVector(BOX, [1, 4], method="duchi-linf"), answers, seed=1, choices=choices)
    parts = [found["epsilon 1"], found["epsilon 4"]]
    people = np.bincount(choices) / 3000
    assert found["everyone"].values == pytest.approx(
        sum(w * part.values for w, part in zip(people, parts, strict=True))
    )
    errors = sum((w * part.std_errors) ** 2 for w, part in zip(people, parts, strict=True))
    assert found["everyone"].std_errors ** 2 == pytest.approx(errors)
    assert found["everyone"].doubt() is None


@pytest.mark.slow
def test_groups_of_several_budgets_cover_and_gain() -> None:
    """60 runs of 3 groups: a true coverage of 95 % leaves [0.87, 0.995] with probability about 1e-5."""
    protocol = PersonalBudgetGroups(PEOPLE, [4, 6], method="group-bernoulli")
    hits = {"means": 0, "everyone": 0}
    for run in range(60):
        people, choices = group_crowd(3000, run)
        found = sv.simulate(protocol, people, seed=run, choices=choices)
        for name in hits:
            low, high = found[name].quiet_ci(0.95)
            hits[name] += int(((low <= TRUTH) & (high >= TRUTH)).sum())
    for count in hits.values():
        assert 0.87 * 180 <= count <= 0.995 * 180
    assert (found["means"].std_errors < found["epsilon 6"].std_errors * 1.02).all()


def test_groups_are_ratios_of_added_sums_and_sizes() -> None:
    people, choices = group_crowd(8000, 1)
    found = sv.simulate(PersonalBudgetGroups(PEOPLE, [2, 4]), people, seed=1, choices=choices)
    parts = [found["epsilon 2"].evidence, found["epsilon 4"].evidence]
    sizes = sum(part.totals.sizes for part in parts)
    sums = sum(part.totals.sums + part.centre * part.totals.sizes for part in parts)
    assert found["everyone"].values == pytest.approx(sums / sizes)
    assert np.diag(found["means"].covariance()) == pytest.approx(found["means"].std_errors ** 2)
    one = sv.simulate(PersonalBudgetGroups(PEOPLE, [4]), people, seed=1, choices=choices * 0)
    assert one["everyone"].values == pytest.approx(one["epsilon 4"].values)
    for ends, own in zip(one["everyone"].ci(), one["epsilon 4"].ci(), strict=True):
        assert ends == pytest.approx(own, rel=1e-3)


@pytest.mark.parametrize("protocol", [PersonalBudgetVector(BOX, ["1", "2"]), PersonalBudgetGroups(PEOPLE, ["1", "2"])])
def test_they_are_plain_data(protocol: object) -> None:
    assert protocol_from_spec(protocol_spec(protocol)) == protocol  # type: ignore[arg-type]


# --- any sequence of budgets ----------------------------------------------------------------------------------------
GRID = [(epsilon, k) for epsilon in ("0.3", "1.1", "4.7") for k in (1, 2, 5)]


def drawn(n: int, shares: np.ndarray, rng: np.random.Generator) -> SequenceEvidence:
    """Readings of n reports whose budgets and levels change from person to person."""
    which, answers, readings = rng.integers(0, len(GRID), n), rng.choice(11, n, p=shares), np.empty(n)
    for place, (numbers, rows, _) in enumerate(sequence_laws()):
        here = which == place
        reports = (rng.random(here.sum())[:, None] > rows.cumsum(axis=1)[answers[here]]).sum(axis=1)
        readings[here] = numbers[np.minimum(reports, len(numbers) - 1)]
    laws = np.array([law for _, _, law in sequence_laws()])
    return SequenceEvidence(readings, *laws[which].T, (0.0, 10.0), Mean(LEVELS))


@cache
def sequence_laws() -> list[tuple[np.ndarray, np.ndarray, tuple[float, float, float]]]:
    """Of each mechanism: readings, likelihoods of the reports by answer, and precision and range of a reading."""
    found = []
    for epsilon, k in GRID:
        law = sv.mechanism("nprr", LEVELS, epsilon=epsilon, k=k)
        numbers = _numbers(law)
        codes = [law.domain.encode(x) for x in range(11)]
        rows = np.array([[float(law.channel.likelihood(y, code)) for y in range(len(numbers))] for code in codes])
        found.append((numbers, rows, (precision(law, 1), float(numbers.min()), float(numbers.max()))))
    return found


def test_intervals_of_a_sequence_cover() -> None:
    """200 runs: a true coverage of 95 % leaves [0.88, 0.995] with probability below 1e-5."""
    rng, shares = np.random.default_rng(0), np.array([0.5, *[0.05] * 10])
    hits = dict.fromkeys((Method.NORMAL, Method.BETTING, Method.HOEFFDING), 0)
    for _ in range(200):
        evidence = drawn(400, shares, rng)
        for method in hits:
            low, high = evidence.interval(IntervalRequest(0.95, method))
            hits[method] += int(low[0] <= 2.75 <= high[0])
    assert 0.88 * 200 <= hits[Method.NORMAL] <= 199
    assert min(hits[Method.BETTING], hits[Method.HOEFFDING]) >= 190


def test_a_sequence_that_is_watched_misses_no_more_often() -> None:
    """The anytime interval at five times of one stream, 100 streams at 80 %: 40 misses are as rare as 1e-5."""
    rng, shares = np.random.default_rng(1), np.array([0.5, *[0.05] * 10])
    missed = 0
    for _ in range(100):
        whole, out = drawn(320, shares, rng), False
        for n in (20, 40, 80, 160, 320):
            part = SequenceEvidence(
                *(getattr(whole, name)[:n] for name in ("readings", "precisions", "lows", "highs")),
                (0.0, 10.0),
                Mean(LEVELS),
            )
            low, high = part.interval(IntervalRequest(0.8, Method.ANYTIME))
            out |= not low[0] <= 2.75 <= high[0]
        missed += out
    assert missed < 40


def test_messages_of_a_sequence_are_weighted_by_their_precision() -> None:
    laws = [sv.mechanism("nprr", LEVELS, epsilon=epsilon, k=k) for epsilon, k in GRID]
    answers = zip(laws, range(len(laws)), strict=True)
    pairs = [(law, law.randomize(value, SeededCoins(value))) for law, value in answers]
    found = sequence_mean(pairs)
    weights = np.array([precision(law, 1) for law, _ in pairs])
    read = [law.estimate(law.tally([message])).value for law, message in pairs]
    assert found.value == pytest.approx(np.average(read, weights=weights))
    assert found.n == len(pairs) and found.epsilon == pytest.approx(4.7, rel=1e-6)
    assert "has nothing to do with the answer" in (found.doubt() or "")


def test_a_sequence_refuses_what_it_cannot_count() -> None:
    law = sv.mechanism("nprr", LEVELS, epsilon=1, k=2)
    message = law.randomize(3)
    with pytest.raises(sv.ParameterError, match="same id"):
        sequence_mean([(law, message), (law, message)])
    with pytest.raises(sv.ParameterError, match="at least one report"):
        sequence_mean([])
    with pytest.raises(sv.ParameterError, match="one domain"):
        sequence_mean([(law, message), (sv.mechanism("nprr", sv.Integers(0, 5), epsilon=1), message)])
    with pytest.raises(sv.ParameterError, match="read as numbers"):
        sequence_mean([(sv.mechanism("grr", LEVELS, epsilon=1), message)])
    with pytest.raises(sv.ReportError):
        sequence_mean([(law, message[:-1])])
