"""How often intervals for shares cover, computed from the law of the counts. No simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.request import Target
from sottovoce.testing.coverage import coverage
from sottovoce_experiments.coverage.declared.studies import SHARE_KINDS
from sottovoce_experiments.coverage.study import Coverage


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The share of the first code; all others are held equally often."""
    mechanism = build(point["mechanism"], Integers(0, point["k"] - 1), epsilon=point["epsilon"])
    return [
        Coverage(
            of="share",
            method=method,
            target=target,
            coverage=coverage(mechanism, point["n"], point["share"], method, Target(target)),
            runs=None,
        )
        for method, target in SHARE_KINDS
    ]
