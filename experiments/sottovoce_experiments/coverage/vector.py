"""How often intervals for the means of vectors cover, one coordinate at a time and all at once: simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Box
from sottovoce.core.registry import mechanism as build
from sottovoce_experiments.coverage.declared.rounds import AT_ONCE
from sottovoce_experiments.coverage.study import Coverage

Floats = NDArray[np.float64]


def answers(n: int, dimensions: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Vectors around a different mean in each coordinate, some of it near the end of the range; and those means."""
    centres = np.linspace(-0.75, 0.9, dimensions)
    return centres + 0.2 * rng.beta(2, 2, (n, dimensions)) - 0.1, centres


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whole simulations."""
    dimensions, rng = point["dimensions"], np.random.default_rng(seed)
    mechanism = build(point["mechanism"], Box(-1, 1, dimensions), epsilon=point["epsilon"])
    alone = sample = joint = 0
    for _ in range(runs):
        values, truth = answers(point["n"], dimensions, rng)
        found = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=int(rng.integers(1 << 62)))))
        alone += int(_inside(found.ci(), truth).sum())
        sample += int(_inside(found.ci(target="sample"), values.mean(axis=0)).sum())
        joint += bool(_inside(found.ci(simultaneous=True), truth).all())
    method, all_means = found.default_method, runs * dimensions
    return [
        Coverage(method=method, coverage=alone / all_means, runs=runs),
        Coverage(method=method, target="sample", coverage=sample / all_means, runs=runs),
        Coverage(of=AT_ONCE, method=method, coverage=joint / runs, runs=runs),
    ]


def _inside(bounds: tuple[Floats, Floats], truth: Floats) -> NDArray[np.bool_]:
    return (bounds[0] <= truth) & (truth <= bounds[1])
