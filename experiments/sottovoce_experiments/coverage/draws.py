"""Sums over reports drawn from a law, without storing the reports: for simulations of coverage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.round import Round
from sottovoce.fast.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def _aliases(law):
    """Walker's alias tables: each output keeps a share of its cell and gives the rest to one other."""
    size = len(law)
    kept, other = law * size, np.arange(size)
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    few = many = 0
    for place in range(size):
        if kept[place] < 1.0:
            small[few] = place
            few += 1
        else:
            large[many] = place
            many += 1
    while few and many:
        few -= 1
        poor, rich = small[few], large[many - 1]
        other[poor] = rich
        kept[rich] -= 1.0 - kept[poor]
        if kept[rich] < 1.0:
            many -= 1
            small[few] = rich
            few += 1
    while few:  # left over by rounding only
        few -= 1
        kept[small[few]] = 1.0
    return kept, other


@compiled
def _add(rng, kept, other, features, n, out):
    size = len(kept)
    for _ in range(n):
        place = rng.random() * size
        output = int(place)
        if place - output >= kept[output]:
            output = other[output]
        for feature in range(len(out)):
            out[feature] += features[output, feature]


@compiled
def _runs(rng, law, features, steps, out):
    kept, other = _aliases(law)
    for run in range(out.shape[0]):
        total = np.zeros(features.shape[1])
        for step in range(len(steps)):
            _add(rng, kept, other, features, steps[step], total)
            out[run, step] += total


def add_sums(law: Floats, features: Floats, steps: Ints, out: Floats, rng: np.random.Generator) -> None:
    """Add, for each run, the features of all reports up to each step: out[run, step, feature]."""
    _runs(rng, law, np.ascontiguousarray(features), np.asarray(steps, np.int64), out)


def arm_shares(stage: Round) -> Floats:
    """The probability of each arm for a participant."""
    return np.array([arm.weight for arm in stage.arms]) / stage.weight
