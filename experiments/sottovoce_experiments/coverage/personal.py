"""How often intervals cover where budgets differ from person to person, and of what several numbers give together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Box, Categories, Integers, Interval, Pair, Record
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.mean.combine import precision
from sottovoce.estimate.mean.moments import numbers_of
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.estimate.mean.sequence import SequenceEvidence
from sottovoce.estimate.personal_tags import PersonalTags
from sottovoce.estimate.vector_mean.pairs import coordinate_pairs
from sottovoce.protocols.mean.personal_several import PersonalBudgetGroups, PersonalBudgetVector
from sottovoce.protocols.shares.attributes import SampledAttributes
from sottovoce.protocols.simulate import simulate
from sottovoce.tally.laws import law_at, law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.rounds import PERSONAL_TIMES
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
# What one run gives: for each name the two ends, the truth, and whether the interval has a doubt.
Found = dict[str, tuple[Any, Any, Any, bool]]
BOX = Box(-1, 1, dimensions=3)
PEOPLE = Pair(Categories(["a", "b", "c"]), Interval(0, 10))
MEANS = {"a": 4.0, "b": 5.0, "c": 8.0}
ZERO = 0.3  # of the people hold 0, whatever their group
PLACES = PersonalTags(Categories(["park", "street", "shop", "clinic"]), ["home", "work"], sensitive=["clinic"])
TAG_LAWS = {"home": {"street": 0.75, "park": 0.25}, "work": {"shop": 1.0}}
HELD = (0.3, 0.1, 0.2, 0.1, 0.2, 0.1)
PERSON = Record(
    {
        "smokes": Categories(["no", "yes"]),
        "cups": Integers(0, 9),
        "sleep": Interval(0, 14),
        "town": Categories(["x", "y", "z"]),
    }
)


def _ends(estimate: Estimate) -> tuple[Any, Any, bool]:
    low, high = estimate.quiet_ci(LEVEL)
    return low, high, estimate.doubt(LEVEL) is not None


def _vector(n: int, rng: np.random.Generator) -> Floats:
    """Half of each number at one value, the others anywhere; means are 0.25."""
    return np.where(rng.random((n, 3)) < 0.5, 0.5, rng.choice([-1.0, 0.0, 1.0], (n, 3)))


def vector_of_budgets(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """The budget, or four times as much, as people choose; the choice has nothing to do with the answers."""
    protocol = PersonalBudgetVector(BOX, [epsilon, 4 * epsilon], method="duchi-linf")
    choices = rng.choice(2, n, p=[0.6, 0.4])
    found = simulate(protocol, _vector(n, rng), seed=int(rng.integers(1 << 62)), choices=choices)
    return {name: _truth(found[name], np.full(3, 0.25)) for name in ("means", "everyone")}


def groups_of_budgets(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Means by private group, with the same two budgets."""
    protocol = PersonalBudgetGroups(PEOPLE, [epsilon, 4 * epsilon], method="group-nprr")
    groups = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])
    values = np.where(rng.random(n) < ZERO, 0.0, [MEANS[group] for group in groups])
    people = list(zip(groups.tolist(), values.tolist(), strict=True))
    found = simulate(protocol, people, seed=int(rng.integers(1 << 62)), choices=rng.choice(2, n))
    truth = (1 - ZERO) * np.array(list(MEANS.values()))
    return {name: _truth(found[name], truth) for name in ("means", "everyone")}


def _truth(estimate: Estimate, truth: Any) -> tuple[Any, Any, Any, bool]:
    low, high, doubt = _ends(estimate)
    return low, high, truth, doubt


@cache
def _sequence_laws(epsilon: float) -> list[tuple[Floats, Floats, tuple[float, float, float]]]:
    """Of each mechanism of a sequence: readings, their laws by answer, and precision and range of a reading."""
    found = []
    for budget in (epsilon / 3, epsilon, 4 * epsilon):
        for k in (1, 2, 5):
            law = build("nprr", Integers(0, 10), epsilon=budget, k=k)
            scales, ends = scale_of(law.channel, numbers_of(law).origin)
            numbers = numbers_at(scales, ends, np.arange(ends[-1]))
            rows = np.array([law_at(law.channel, law.domain.encode(x)) for x in range(11)])
            found.append((numbers, rows, (precision(law, 1), float(numbers.min()), float(numbers.max()))))
    return found


def sequence(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Each report has a budget and a number of levels of its own, drawn from nine; half of the answers are 0."""
    laws = _sequence_laws(epsilon)
    which, shares = rng.integers(0, len(laws), n), np.array([0.5, *[0.05] * 10])
    answers, readings = rng.choice(11, n, p=shares), np.empty(n)
    for place, (numbers, rows, _) in enumerate(laws):
        here = which == place
        reports = (rng.random(here.sum())[:, None] > rows.cumsum(axis=1)[answers[here]]).sum(axis=1)
        readings[here] = numbers[np.minimum(reports, len(numbers) - 1)]
    precisions, lows, highs = np.array([law for _, _, law in laws])[which].T
    question = Mean(Integers(0, 10))
    evidence = SequenceEvidence(readings, precisions, lows, highs, (0.0, 10.0), question)
    return {"mean": _truth(Estimate.of(question, evidence, ()), np.array([2.75]))}


def with_delta(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Three numbers with (epsilon, 10^-6): one bit for each chosen number."""
    asked = build("sampled", BOX, epsilon=epsilon, delta="0.000001")
    found = asked.estimate(asked.tally(asked.privatize(_vector(n, rng), seed=int(rng.integers(1 << 62)))))
    return {"means": _truth(found, np.full(3, 0.25))}


def covariances(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Three numbers that go together: the second follows the first, the third goes the other way."""
    asked = build("sampled", Box(0, 10, dimensions=3), epsilon=epsilon, count=2, inner="nprr")
    first = np.where(rng.random(n) < 0.5, 0.0, rng.integers(1, 11, n))
    answers = np.stack([first, np.clip(first + rng.integers(0, 3, n), 0, 10), 10 - first], axis=1)
    pairs = coordinate_pairs(asked.privatize(answers, seed=int(rng.integers(1 << 62))))
    off = np.tril_indices(3, -1)
    half = deviate(LEVEL) * pairs.std_errors[off]
    return {"covariances": (pairs.answers[off] - half, pairs.answers[off] + half, _covariances()[off], False)}


@cache
def _covariances() -> Floats:
    """Covariances of the coordinates of an answer, summed over the law of the answers."""
    rows, weights = [], []
    for first in range(11):
        for more in range(3):
            rows.append([first, min(first + more, 10), 10 - first])
            weights.append((0.5 if first == 0 else 0.05) / 3)
    return np.asarray(np.cov(np.array(rows, float).T, aweights=weights, ddof=0))


def mixed_record(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Two of four fields of each person, numbers and categories mixed."""
    smokes, cups = rng.random(n) < 0.2, rng.choice(10, n, p=np.array([0.55, *[0.05] * 9]))
    sleep, town = rng.choice([5.0, 7.0, 7.5, 10.0], n), rng.choice(3, n, p=[0.7, 0.25, 0.05])
    people = [
        {"smokes": "yes" if s else "no", "cups": int(c), "sleep": float(h), "town": "xyz"[t]}
        for s, c, h, t in zip(smokes, cups, sleep, town, strict=True)
    ]
    found = simulate(SampledAttributes(PERSON, epsilon, 2), people, seed=int(rng.integers(1 << 62)))
    truths = {"smokes": [0.8, 0.2], "cups": [0.55, *[0.05] * 9], "sleep": [7.375], "town": [0.7, 0.25, 0.05]}
    return {name: _truth(found[name], np.array(truth)) for name, truth in truths.items()}


def tags(epsilon: float, n: int, rng: np.random.Generator) -> Found:
    """Answers behind personal tags, spread by the right laws."""
    asked = PLACES.mechanism(epsilon=epsilon)
    law = np.array(HELD) @ np.array([law_row(asked.channel, code) for code in range(len(HELD))])
    tally = Tally(asked, n, rng.multinomial(n, law / law.sum()))
    return {"shares": _truth(PLACES.spread(asked.estimate(tally), TAG_LAWS), np.array([0.35, 0.25, 0.3, 0.1]))}


CASES: dict[str, Callable[[float, int, np.random.Generator], Found]] = {
    "vector, budgets of one's own": vector_of_budgets,
    "groups, budgets of one's own": groups_of_budgets,
    "any sequence of budgets": sequence,
    "vector with a delta": with_delta,
    "covariances of numbers": covariances,
    "two of four mixed fields": mixed_record,
    "personal tags": tags,
}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whole simulations of one case: coverage of all its intervals together, and how many runs have a doubt."""
    rng, ask = np.random.default_rng(seed), CASES[point["asked"]]
    runs *= PERSONAL_TIMES[point["asked"]]
    held: dict[str, list[float]] = {}
    doubts: dict[str, list[bool]] = {}
    for _ in range(runs):
        for of, (low, high, truth, doubt) in ask(point["epsilon"], point["n"], rng).items():
            held.setdefault(of, []).append(float(np.mean((low <= truth) & (truth <= high))))
            doubts.setdefault(of, []).append(doubt)
    return [
        Coverage(
            of=of,
            method="default",
            coverage=float(np.mean(found)),
            runs=runs,
            numbers={"doubted": float(np.mean(doubts[of]))},
        )
        for of, found in held.items()
    ]
