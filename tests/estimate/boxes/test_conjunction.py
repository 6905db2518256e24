"""The conjunctive estimator: products of scores, against the enumerated law."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.boxes.measures import measured_tally
from sottovoce.estimate.request import Target
from sottovoce.protocols.boxes.conjunction import conjunction
from sottovoce.tally.tally import Tally
from sottovoce.testing import check_mechanism
from tests.each import for_each

PAIR = sv.Record({"age": sv.Integers(0, 2), "sex": sv.Categories(["f", "m"])})
WIDE = sv.Record({"age": sv.Integers(0, 7), "income": sv.Interval(0, 80), "sex": sv.Categories(["f", "m"])})
N = 1 << 40


def rates(mechanism: Mechanism, code: tuple[int, ...]) -> np.ndarray:
    """The probability of each cell of the tally for one code."""
    found = np.zeros(mechanism.cells)
    for (_, report), chance in law(mechanism.channel, code).items():
        for cell, times in mechanism.statistic.add(mechanism.channel, report):
            found[cell] += float(chance) * times
    return found


@for_each("oracle", ["coded-wave", "haar", "grr"])
def test_boxes_are_unbiased_and_have_the_variance_of_the_law(oracle: str, seed: int) -> None:
    mechanism = conjunction(PAIR, epsilon=2, oracles={"age": oracle, "sex": "grr"})
    check_mechanism(mechanism)
    assert sv.audit(mechanism).ok and Mechanism.from_spec(mechanism.spec()) == mechanism
    shares = np.random.default_rng(seed).dirichlet(np.ones(6)).reshape(3, 2)
    laws = {code: rates(mechanism, code) for code in product(range(3), range(2))}
    together = sum(shares[code] * one for code, one in laws.items())
    evidence = mechanism.estimate(Tally(mechanism, N, np.rint(N * together).astype(np.int64))).evidence
    scores = np.array(
        [
            mechanism.estimate(Tally(mechanism, 1, row)).evidence.values()
            for row in np.eye(mechanism.cells, dtype=np.int64)
        ]
    )
    box = evidence.boxes([{"age": (1, 2), "sex": "m"}])
    for answer in (box, evidence.boxes([{"age": (0, 1)}])):
        row = answer.weights[0]
        assert answer.values()[0] == pytest.approx(float(row @ shares.ravel()), abs=1e-6)
        score = scores @ row
        for code, one in laws.items():
            assert float(one @ score) == pytest.approx(row.reshape(3, 2)[code], abs=1e-9)
        square, inside = float(together @ score**2), float(row @ shares.ravel())
        assert answer.variances(Target.POPULATION)[0] * N == pytest.approx(square - inside**2, rel=1e-5)
        assert answer.variances(Target.SAMPLE)[0] * N == pytest.approx(square - inside, rel=1e-5)


def test_fields_that_a_box_does_not_limit_add_no_noise() -> None:
    both, alone = conjunction(PAIR, epsilon=2), sv.mechanism("coded-wave", PAIR.fields[0][1], epsilon=1, buckets=3)
    people = [{"age": i % 3, "sex": "fm"[i % 2]} for i in range(6000)]
    ours = both.estimate(both.tally(both.privatize(people, seed=1))).range(age=(0, 1))
    wave = alone.estimate(alone.tally(alone.privatize([i % 3 for i in range(6000)], seed=1)))
    theirs = wave.range(0, 1)
    assert ours.std_errors == pytest.approx(theirs.std_errors, rel=0.1)


def test_reports_of_people_give_boxes_and_counts_of_a_public_measure() -> None:
    mechanism = conjunction(WIDE, epsilon=6, buckets=4, oracles={"sex": "grr"})
    people = [{"age": i % 8, "income": 10.0 * (i % 8) + 5, "sex": "fm"[i % 2]} for i in range(20_000)]
    reports = mechanism.privatize(people, seed=2)
    estimate = mechanism.estimate(mechanism.tally(reports))
    for box, truth in (({"age": (0, 3), "income": (0, 40)}, 0.5), ({"age": (0, 3), "sex": "f"}, 0.25)):
        (low,), (high,) = estimate.range(**box).ci(0.9999)
        assert low <= truth <= high and high - low < 0.3
    queries = measured_tally(mechanism, reports, [i % 2 for i in range(20_000)], low=0, high=1).queries()
    (low,), (high,) = queries.sum(sex="m").ci(0.9999)
    assert low <= 10_000 <= high
    few = mechanism.estimate(mechanism.tally(mechanism.privatize(people[:50], seed=1)))
    assert "too few reports" in str(few.range(sex="f").doubt())


@for_each("wrong", ["names", "combinations", "cells"])
def test_mistakes_have_one_sentence(wrong: str) -> None:
    many = sv.Record({f"f{i}": sv.Integers(0, 15) for i in range(3)})
    calls = {
        "names": (lambda: conjunction(PAIR, epsilon=1, oracles={"town": "grr"}), "'oracles'"),
        "combinations": (lambda: conjunction(PAIR, epsilon=1, oracles={"age": "oue"}), "counted by outputs"),
        "cells": (lambda: conjunction(many, epsilon=1, buckets=64), "at most 1,048,576 combinations"),
    }
    call, said = calls[wrong]
    with pytest.raises(sv.ParameterError, match=said):
        call()
