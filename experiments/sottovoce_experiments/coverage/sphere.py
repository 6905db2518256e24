"""How often intervals for the mean of vectors of a ball cover, simulated through the shipped sampler and tally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.domain import Ball
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.vector_mean.ball import from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce_experiments.coverage.declared.rounds import AT_ONCE, BALLS_HELD
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]

CROWD_SEED = 20_250_118


def crowd(dimensions: int) -> Floats:
    """The vectors that participants hold, equally many each: of all lengths, most of them on one side."""
    rng = np.random.default_rng([CROWD_SEED, dimensions])
    vectors = rng.normal(size=(BALLS_HELD, dimensions)) / np.sqrt(dimensions) + np.eye(1, dimensions)
    lengths = np.linspace(0.3, 1, BALLS_HELD)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None] * lengths[:, None])


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """One mechanism, with a ball of radius 1."""
    build = late.load(f"mechanisms.vector.{point['mechanism'].replace('-', '_')}:build")
    mechanism = build(Ball(1, point["dimensions"]), epsilon=point["epsilon"])
    return coverages(mechanism, point["n"], point["target"], runs, seed)


def coverages(mechanism: Mechanism, n: int, target: str, runs: int, seed: int) -> list[Coverage]:
    """The mean over coordinates and runs, and the share of runs where all hold at once."""
    dimensions = dimensions_of(mechanism.channel) or 0
    vectors = crowd(dimensions)
    truth = vectors.mean(axis=0)
    rng = np.random.default_rng(seed)
    stream = WordStream.seeded(mechanism.words, seed)
    single = joint = 0
    for _ in range(runs):
        who = rng.integers(0, BALLS_HELD, n) if target == "population" else np.arange(n) % BALLS_HELD
        batch = draw(mechanism, vectors[who], stream)
        stream = stream.after(n)
        found = from_cells(mechanism, n, mechanism.tally(batch).cells)
        held = truth if target == "population" else vectors[who].mean(axis=0)
        for each in (LEVEL, 1 - (1 - LEVEL) / dimensions):
            low, high = found.normal(IntervalRequest(each, target=Target(target)))
            inside = (low <= held) & (held <= high)
            if each == LEVEL:
                single += int(inside.sum())
            else:
                joint += bool(inside.all())
    return [
        Coverage(method="normal", target=target, coverage=single / (runs * dimensions), runs=runs),
        Coverage(of=AT_ONCE, method="normal", target=target, coverage=joint / runs, runs=runs),
    ]
