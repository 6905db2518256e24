"""`sv.compare` over every pair of kinds of questions: a comparison, or one sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import QUESTIONS, Density, WithinGroups
from sottovoce.estimate.comparison.test import Test
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.boxes.hio import HIO
from sottovoce.protocols.quantile.gradient import QuantileGradient
from tests.each import for_each

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
LINE, SEX, CLOCK = sv.Integers(0, 7), sv.Categories(["f", "m"]), sv.Circle(24)
RECORD = sv.Record({"a": SEX, "b": sv.Categories(["x", "y", "z"])})
PEOPLE = [{"a": "f", "b": "x"}, {"a": "m", "b": "y"}, {"a": "m", "b": "z"}]
PAIRS = [("f", 1), ("m", 5), ("f", 2), ("m", 6)]


def estimated(mechanism: sv.Mechanism, answers: list[Any], seed: int, question: Any = None) -> sv.Estimate:
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers * 400, seed=seed)))
    return estimate if question is None else estimate.answer(question)


def read(question: Any) -> Callable[[int], sv.Estimate]:
    """A question that is answered from the reports of a distribution."""
    return lambda seed: estimated(sv.mechanism("haar", LINE, epsilon=3), [1, 2, 5, 6], seed, question)


KINDS: dict[str, Callable[[int], sv.Estimate]] = {
    "frequency": lambda seed: estimated(sv.mechanism("grr", SEX, epsilon=2), ["f", "m"], seed),
    "mean": lambda seed: estimated(sv.mechanism("bernoulli", sv.Interval(0, 7), epsilon=2), [1, 2, 5], seed),
    "variance": read(sv.Variance(LINE)),
    "group-mean": lambda seed: estimated(
        sv.mechanism("group-bernoulli", sv.GroupMean(SEX, LINE).domain, epsilon=3), PAIRS, seed
    ),
    "within-groups": lambda seed: estimated(
        sv.plan(WithinGroups(SEX, sv.Frequency(LINE)), epsilon=4, participants=4000, methods=["binned"]).best.mechanism,
        PAIRS,
        seed,
    ),
    "vector-mean": lambda seed: estimated(
        sv.mechanism("duchi-linf", sv.Box(0, 1, 2), epsilon=2), [[0, 1], [1, 1]], seed
    ),
    "attributes": lambda seed: estimated(sv.mechanism("split-attributes", RECORD, epsilon=3), PEOPLE, seed),
    "joint": lambda seed: sv.simulate(sv.TableViews(RECORD, sv.Joint(RECORD).tables, 3), PEOPLE * 400, seed=seed)[
        "tables"
    ],
    "distribution": read(None),
    "cdf": read(sv.Cdf(LINE, (2, 5))),
    "range": read(sv.Range(LINE, 2, 5)),
    "quantile": read(sv.Quantile(LINE, ("0.5",))),
    "density": read(Density(LINE)),
    "circular-mean": lambda seed: estimated(
        sv.mechanism("square-wave", CLOCK, epsilon=3, buckets=12), [3.0, 4.0], seed, sv.CircularMean(CLOCK)
    ),
}
KINDS["half-sets"] = lambda seed: estimated(sv.mechanism("half-sets", LINE, epsilon=3), [1, 2, 5, 6], seed)
KINDS["set-shares"] = lambda seed: estimated(
    sv.mechanism("mask", sv.Sets(range(4), 2), epsilon=3), [[0], [], [1, 3]], seed
)
KINDS["key-means"] = lambda seed: estimated(
    sv.mechanism("key-mask", sv.KeyValue(range(4), LINE, 2), epsilon=4), [{0: 1}, {}, {1: 5, 3: 2}, {1: 6}], seed
)
KINDS["frequent-words"] = lambda seed: estimated(
    sv.mechanism("fragments", sv.Words("abcd", 3), epsilon=4), ["a", "bc", "bc"], seed
)
KINDS["boxes"] = lambda seed: estimated(sv.mechanism("torus-wave", RECORD, epsilon=3), PEOPLE, seed)
NO_DIFFERENCE = {"circular-mean"}
RANKS = [["bus", "car", "bike"], ["car", "bus", "bike"], ["bike", "car", "bus"]]


def asked_for_items(name: str, domain: Any, answers: list[Any]) -> Callable[[int], Any]:
    """An estimate of items or of rankings."""
    return lambda seed: estimated(sv.mechanism(name, domain, epsilon=3), answers, seed)


def played(protocol: Any, answers: list[Any], name: str) -> Callable[[int], Any]:
    """One of the results of a protocol."""
    return lambda seed: sv.simulate(protocol, answers * 400, seed=seed)[name]


RANKINGS = asked_for_items("mask", sv.Ranking(["bus", "car", "bike"]), RANKS)
KINDS["mean-places"] = lambda seed: RANKINGS(seed).places
FURTHER: dict[str, Callable[[int], Any]] = {  # other evidence about the same kinds
    "rankings": RANKINGS,
    "rankings in cells": asked_for_items("cells", sv.Ranking(["bus", "car", "bike"]), RANKS),
    "any sets": asked_for_items("options", sv.Sets(range(4), 4), [[0], [], [1, 3]]),
    "sizes of sets": lambda seed: asked_for_items("mask", sv.Sets(range(4), 2), [[0], [1, 3]])(seed).sizes,
    "boxes of HIO": played(HIO(RECORD, 3, branching=2), PEOPLE, "boxes"),
    "boxes of HDG": played(HDG(RECORD, 3, 1200), PEOPLE, "boxes"),
    "boxes of AHEAD": played(AHEAD(RECORD, 3, 1200), PEOPLE, "boxes"),
    "adaptive mean": played(sv.AdaptiveMeanRounds(sv.Interval(0, 7), 2, 800), [1, 6], "mean"),
    "quantile by gradient": played(
        QuantileGradient(sv.Interval(0, 7), "0.5", 2, 1200, rounds=6), [1, 2, 5], "quantile"
    ),
}


@for_each("name", FURTHER)
def test_further_evidence_is_compared_with_itself_alone(name: str) -> None:
    comparison = sv.compare(FURTHER[name](1), FURTHER[name](2))
    low, high = comparison.ci()
    known = np.isfinite(comparison.values)
    assert known.any() and ((low <= comparison.values) & (comparison.values <= high))[known].all()
    assert np.median(comparison.p_values[known]) > 0.001 and 0 <= comparison.overall().p_value <= 1
    with pytest.raises(ParameterError, match=r"compare needs two estimates of the same .*\.$"):
        sv.compare(FURTHER[name](1), KINDS["within-groups"](2))


def test_waves_of_a_repeated_study_and_the_same_people_are_told_apart() -> None:
    """Waves of new people are compared; of the same people the two answers are not independent."""
    first, second = KINDS["frequency"](1), KINDS["frequency"](2)
    assert sv.compare(second, first, people="different").p_values[0] > 0.001
    with pytest.raises(ParameterError, match="same people"):
        sv.compare(second, first, people="same")


def test_equally_many_values_with_other_labels_are_refused() -> None:
    first, second = (
        estimated(sv.mechanism("grr", sv.Integers(low, low + 2), epsilon=2), [low, low + 1], 1) for low in (0, 5)
    )
    with pytest.raises(ParameterError, match="with other labels; state the categories"):
        sv.compare(first, second)


def test_every_pair_of_kinds_is_compared_or_refused_in_a_sentence() -> None:
    assert {*KINDS} == {*QUESTIONS}
    estimates = {kind: (make(1), make(2)) for kind, make in KINDS.items()}
    for first, second in product(KINDS, KINDS):
        a, b = estimates[first][0], estimates[second][1]
        if first == second and first not in NO_DIFFERENCE:
            comparison = sv.compare(a, b)
            known = np.isfinite(comparison.values)
            low, high = comparison.ci()
            assert known.any() and (low <= comparison.values)[known].all() and (comparison.values <= high)[known].all()
            p_values = comparison.p_values[known]
            assert ((p_values >= 0) & (p_values <= 1)).all() and np.median(p_values) > 0.001, first
            overall = comparison.overall()
            assert 0 <= overall.p_value <= 1 and overall.effect is not None and overall.valid_given, first
            continue
        with pytest.raises(ParameterError) as refused:
            sv.compare(a, b)
        said = str(refused.value)
        assert said.endswith(".") and len(said) < 400, (first, second)


def test_groups_make_the_same_result() -> None:
    """A difference of groups, all pairs and the test of equality give a `Test`; p-values and intervals agree."""
    groups = KINDS["group-mean"](3)
    difference, pairs = groups.difference("m", "f"), groups.all_pairs()
    one, (other,), equal = difference.test(), pairs.all_tests(), groups.test_equality()
    assert all(isinstance(found, Test) for found in (one, other, equal))
    assert one.p_value == difference.p_value and one.effect is not None and one.effect.value == difference.value
    assert (one.effect.low, one.effect.high) == difference.ci() and one.n == groups.n and one.simulated
    assert other.p_value == pytest.approx(pairs.adjusted[0]) and "adjusted for 1 pair" in other.valid_given
    assert one.statistic == pytest.approx(-other.statistic)
    assert "Groups m and f have the same number." in one.explain()
    assert equal.effect is not None and equal.effect.value == pytest.approx(abs(difference.value))


def test_combining_two_arms_says_that_they_are_added() -> None:
    m = sv.mechanism("grr", SEX, epsilon=2)
    old, new = (m.tally(m.privatize(answers * 100, seed=1)) for answers in (["f", "m"], ["f", "f"]))
    both = sv.combine([old, new], people="different")
    assert "were added" in both.explain() and "use sv.compare" in both.explain()
    other = sv.mechanism("grr", SEX, epsilon=1)
    apart = sv.combine([old, other.tally(other.privatize(["f", "m"] * 50, seed=2))], people="different")
    assert "were added" not in apart.explain()
