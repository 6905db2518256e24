"""Bins, hierarchies and Haar coefficients keep the contract."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.mechanisms.distribution.tree_common import node_block, range_shares, share_variance
from sottovoce.study.workloads import error_of
from sottovoce.testing import check_mechanism

DOMAINS: dict[str, tuple[Domain, dict[str, Any]]] = {
    "two": (sv.Integers(0, 1), {}),
    "whole": (sv.Integers(18, 24), {}),
    "named": (sv.Categories(["never", "rarely", "often", "always"]), {}),
    "range": (sv.Interval(-1, 3), {"buckets": 64}),
    "circle": (sv.Circle(24), {"buckets": 24}),
}
QUICK = (("whole", "1"), ("named", "4"))


@pytest.mark.parametrize("name", ["hierarchy", "haar", "binned"])
@pytest.mark.parametrize(
    ("domain", "epsilon"),
    [
        *(pytest.param(*case) for case in QUICK),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("two", "0.1"), ("range", "0.5"), ("range", "3"), ("circle", "1"))
        ),
    ],
)
def test_trees_keep_the_contract(name: str, domain: str, epsilon: str, seed: int) -> None:
    held, options = DOMAINS[domain]
    check_mechanism(sv.mechanism(name, held, epsilon=epsilon, **options), seed=seed % 1000)


@pytest.mark.parametrize("branching", [2, 3, 7])
def test_any_branching_keeps_the_contract(branching: int, seed: int) -> None:
    check_mechanism(sv.mechanism("hierarchy", sv.Integers(1, 7), epsilon=2, branching=branching), seed=seed % 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "epsilon", "buckets"), [("whole", "1", None), ("named", "4", None), ("range", "2", 5)]
)
def test_the_laplace_histogram_keeps_the_contract(domain: str, epsilon: str, buckets: int | None, seed: int) -> None:
    held, _ = DOMAINS[domain]
    check_mechanism(sv.mechanism("laplace-histogram", held, epsilon=epsilon, buckets=buckets), seed=seed % 1000)


def test_the_laplace_histogram_is_projected_onto_distributions() -> None:
    mechanism = sv.mechanism("laplace-histogram", sv.Interval(0, 1), epsilon=2)
    answers = np.random.default_rng(1).beta(5, 2, 20_000)
    tally = mechanism.tally(mechanism.privatize(answers, seed=2))
    found, moved = mechanism.estimate(tally), mechanism.estimate(tally, decoder="simplex")
    assert found.values.sum() == pytest.approx(1, abs=1e-9)
    assert moved.values.min() == 0 and moved.values.sum() == pytest.approx(1, abs=1e-12)
    for answer, truth in ((found.cdf(0.5), (answers <= 0.5).mean()), (found.mean(), answers.mean())):
        assert abs(answer.value - truth) < 5 * answer.std_errors[0] + 0.01  # and what bins cannot see


def test_trees_refuse_what_they_cannot_ask() -> None:
    for name in ("hierarchy", "haar", "binned"):
        with pytest.raises(
            ParameterError, match="must be an Interval, Integers, Categories in their order, or a Circle"
        ):
            sv.mechanism(name, sv.Box(0, 1, 2), epsilon=1)
    for name in ("hierarchy", "binned"):
        with pytest.raises(ParameterError, match=rf"'buckets' parameter of {name} must be an integer in \[2, 2048\]"):
            sv.mechanism(name, sv.Interval(0, 1), epsilon=1, buckets=2049)
    with pytest.raises(ParameterError, match="'participants' parameter of binned"):
        sv.mechanism("binned", sv.Interval(0, 1), epsilon=1, participants=0)


# --- shares of levels --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("codes", "widths"), [(16, (4, 1)), (8, (4, 2, 1)), (11, (9, 3, 1))])
def test_shares_of_levels_follow_the_nodes_of_an_average_range(codes: int, widths: tuple[int, ...]) -> None:
    blocks = [node_block(odds(Decimal(1)), codes, width) for width in widths]
    used = np.zeros(len(widths))
    for start in range(codes):
        for end in range(start + 1, codes + 1):
            for level, width in enumerate(widths):
                above = codes if level == 0 else widths[level - 1]
                for node in range(0, codes, width):
                    parent = node - node % above
                    inside = start <= node and min(node + width, codes) <= end
                    used[level] += inside and not (start <= parent and min(parent + above, codes) <= end)
    expected = np.sqrt(used * [share_variance(block) for block in blocks])
    assert range_shares(blocks, widths, codes) == pytest.approx(expected)


@pytest.mark.parametrize("branching", [2, 4])
def test_shares_for_ranges_lower_their_error(branching: int) -> None:
    domain = sv.Integers(0, 63)
    question, options = sv.Distribution(domain, "ranges"), {"epsilon": 1, "branching": branching}
    equal, better = (sv.mechanism("hierarchy", domain, shares=kind, **options) for kind in ("equal", "ranges"))
    assert error_of(better, question) < 0.97 * error_of(equal, question)
    assert sum(better.channel.weights) == sum(equal.channel.weights)  # type: ignore[attr-defined]
    check_mechanism(sv.mechanism("hierarchy", sv.Integers(0, 8), epsilon=1, branching=2, shares="ranges"))
    with pytest.raises(sv.ParameterError, match="one of equal, ranges"):
        sv.mechanism("hierarchy", domain, epsilon=1, shares="cdf")
