"""The largest values, and values above a threshold: ranks, the procedures, and how often they are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from tests.each import for_each

LETTERS = sv.Categories(list("abcdefghij"))
TRUTH = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.03, 0.01, 0.01])


def test_ranks_are_those_of_the_intervals() -> None:
    m = sv.mechanism("grr", LETTERS, epsilon=2)
    people = np.repeat(LETTERS.values, (TRUTH * 20_000).astype(int))
    shares = m.estimate(m.tally(m.privatize(people, seed=1)))
    top = shares.top(3, 0.95)
    low, high = shares.ci(0.95, simultaneous=True)
    for place in range(10):
        others = np.delete(np.arange(10), place)
        assert top.first[place] == 1 + int((low[others] > high[place]).sum())
        assert top.last[place] == 1 + int((high[others] >= low[place]).sum())
    assert top.items == ["a", "b", "c"] and top.certain == ["a", "b", "c"] == top.possible
    assert shares.top(4).certain == ["a", "b", "c"] and {"d", "e"} <= set(shares.top(4).possible)
    assert list(top.to_frame()["certain"]) == [True] * 3
    assert shares.top(10).certain == shares.top(10).items


def test_values_above_a_threshold_are_those_of_holm_and_of_benjamini_and_hochberg() -> None:
    """One-sided p-values follow from the shipped intervals, and both procedures are written out again."""
    m = sv.mechanism("grr", LETTERS, epsilon=1)
    people = np.repeat(LETTERS.values, (TRUTH * 8_000).astype(int))
    shares = m.estimate(m.tally(m.privatize(people, seed=2)))
    for threshold in (0.02, 0.05, 0.09):
        ps = np.array([_p_value(shares, place, threshold) for place in range(10)])
        order = np.argsort(ps)
        steps = ps[order] <= 0.05 / (10 - np.arange(10))
        holm = order[: 10 if steps.all() else int(np.argmin(steps))]
        below = np.flatnonzero(ps[order] <= 0.05 * np.arange(1, 11) / 10)
        bh = order[: below.max() + 1] if len(below) else order[:0]
        assert set(shares.above(threshold)) == {LETTERS.values[place] for place in holm}
        assert set(shares.above(threshold, control="discoveries")) == {LETTERS.values[place] for place in bh}


def _p_value(shares: sv.Estimate, place: int, threshold: float) -> float:
    """The smallest one-sided error at which the lower end exceeds the threshold."""
    low, high = 1e-9, 0.5
    for _ in range(40):
        middle = (low * high) ** 0.5
        ends = shares.quiet_ci(1 - 2 * min(middle, 0.49))
        low, high = (low, middle) if ends[0][place] > threshold else (middle, high)
    return high


@pytest.mark.slow
def test_errors_are_as_rare_as_promised() -> None:
    """Half of the shares lie at the threshold: the worst case of the family, and a true null for discoveries."""
    shares = np.array([0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    rng, m = np.random.default_rng(5), sv.mechanism("grr", sv.Integers(0, 7), epsilon=2)
    family = ranks = 0
    false: list[float] = []
    for run in range(300):
        answers = rng.choice(8, 4_000, p=shares)
        found = m.estimate(m.tally(m.privatize(answers, seed=run)))
        family += any(label >= 2 for label in found.above(0.1))
        discovered = found.above(0.1, control="discoveries")
        false.append(sum(label >= 2 for label in discovered) / max(1, len(discovered)))
        top = found.top(2)
        ranks += not set(top.certain) <= {0, 1} or not {0, 1} <= set(top.possible)
    # 300 runs at 5 %: mean 15, standard deviation 3.8; the family's true rate is a little below 5 %.
    assert family <= 28 and ranks <= 28
    assert 0.005 < np.mean(false) <= 0.06  # six of eight nulls: 3.75 % expected


def test_sketches_and_sets_have_largest_values_too() -> None:
    words = [f"word {place}" for place in range(40)]
    m = sv.mechanism("cms", sv.Text(), epsilon=3)
    answers = ["word 3"] * 3_000 + ["word 5"] * 2_000 + [words[place % 40] for place in range(3_000)]
    found = m.estimate(m.tally(m.privatize(answers, seed=1)), candidates=words)
    assert found.above(0.1) == ["word 3", "word 5"] == found.top(2).certain
    assert found.above(0.1, among=1 << 40) == ["word 3", "word 5"]


@for_each(
    "call",
    [
        lambda one: one.top(0),
        lambda one: one.top(11),
        lambda one: one.top(2, level=1),
        lambda one: one.top(2, among=3),
        lambda one: one.above(0.1, control="hope"),
        lambda one: one.above(0.1, level=2),
        lambda one: one.above(0.1, among=3),
    ],
)
def test_wrong_arguments_are_refused(call: object) -> None:
    m = sv.mechanism("grr", LETTERS, epsilon=1)
    with pytest.raises(ParameterError):
        call(m.estimate(m.tally(m.privatize(["a", "b"] * 50, seed=1))))  # type: ignore[operator]
