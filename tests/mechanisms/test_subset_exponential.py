"""Subset exponential mechanisms: their law enumerated, what they promise for one step, circles, and their sizes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.exact import law
from sottovoce.study.workloads import error_of
from sottovoce.testing import check_mechanism

NAME = "subset-exponential"


def weights(codes: int, w: int, step: float) -> np.ndarray:
    """Weights of all sets for all answers, as the paper has them."""
    return np.array(
        [
            [math.exp(-step * min(abs(x - y) for y in one)) for one in combinations(range(codes), w)]
            for x in range(codes)
        ]
    )


@pytest.mark.parametrize(("codes", "w", "epsilon"), [(5, 1, 1.0), (5, 2, 0.5), (6, 3, 2.0), (7, 2, 4.0)])
def test_sets_have_the_published_probabilities(codes: int, w: int, epsilon: float) -> None:
    m = sv.mechanism(NAME, sv.Integers(1, codes), epsilon=epsilon, w=w)
    step = epsilon / (codes - w)
    raw = weights(codes, w, step)
    totals = raw.sum(axis=1)
    whole = max(
        (math.exp(step * abs(x - y)) * max(totals[x], totals[y]) - min(totals[x], totals[y]))
        / (math.exp(step * abs(x - y)) - 1)
        for x in range(codes)
        for y in range(x)
    )
    for code in range(codes):
        found = [float(p) for (_, _), p in sorted(law(m.channel, code).items())]
        assert found[:-1] == pytest.approx(raw[code] / whole, rel=1e-9)
        assert found[-1] == pytest.approx(1 - totals[code] / whole, rel=1e-9)


@pytest.mark.parametrize("domain", [sv.Integers(1, 6), sv.Circle(7)])
def test_near_answers_are_told_apart_less(domain: sv.Domain) -> None:
    m = sv.mechanism(NAME, domain, epsilon=2, w=2, buckets=7 if domain.circular else None)
    codes, rows = m.channel.inputs, m.channel.rows
    farthest = 3 if domain.circular else 4
    for x in range(codes):
        for y in range(codes):
            apart = min(abs(x - y), codes - abs(x - y)) if domain.circular else abs(x - y)
            worst = max(Fraction(own, its) for own, its in zip(rows[x], rows[y], strict=True))
            assert float(worst) <= math.exp(2 / farthest * apart) * (1 + 1e-12)
    assert float(m.channel.ratio()) == pytest.approx(math.exp(2), rel=1e-9)
    assert m.channel.outputs == math.comb(codes, 2) + (not domain.circular)


@pytest.mark.parametrize("domain", [sv.Integers(1, 2), sv.Categories(list("abc")), sv.Interval(0, 1), sv.Circle(24)])
@pytest.mark.parametrize("epsilon", ["0.01", "1", pytest.param("8", marks=pytest.mark.slow)])
def test_the_contract_holds(domain: sv.Domain, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism("sem", domain, epsilon=epsilon), seed=seed % 1000)


@pytest.mark.parametrize(("codes", "epsilon"), [(5, 0.5), (5, 4), (7, 2), (8, 1), (9, 4)])
def test_the_usual_size_of_sets_has_nearly_the_least_variance(codes: int, epsilon: float) -> None:
    domain = sv.Integers(1, codes)
    question = sv.Distribution(domain)
    errors = [
        error_of(sv.mechanism(NAME, domain, epsilon=epsilon, w=w), question) ** 2 for w in range(1, codes // 2 + 1)
    ]
    assert error_of(sv.mechanism(NAME, domain, epsilon=epsilon), question) ** 2 <= 1.15 * min(errors)


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(sv.ParameterError, match="'w' parameter of subset-exponential"):
        sv.mechanism(NAME, sv.Integers(1, 5), epsilon=1, w=3)
    with pytest.raises(sv.ParameterError, match="must be at most 1024"):
        sv.mechanism(NAME, sv.Integers(1, 40), epsilon=1, w=3)
    with pytest.raises(sv.ParameterError, match="'buckets' parameter"):
        sv.mechanism(NAME, sv.Interval(0, 1), epsilon=1, buckets=65)
    for tiny in ("1e-13", "1e-15"):
        with pytest.raises(sv.ParameterError, match="cannot express it"):
            sv.mechanism(NAME, sv.Circle(9), epsilon=tiny, buckets=9)
