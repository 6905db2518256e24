"""How often intervals for the mean of vectors of a ball cover, simulated through the shipped sampler and tally."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.domain import Ball
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.estimate import TARGETS
from sottovoce.estimate.vector.sphere import evidence
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream

Floats = NDArray[np.float64]

BUILDERS = {
    "duchi-l2": "mechanisms.vector.duchi_l2:build",
    "priv-unit": "mechanisms.vector.priv_unit:build",
    "priv-unit-g": "mechanisms.vector.priv_unit_g:build",
    "proj-unit": "mechanisms.vector.proj_unit:build",
}
CASES = ((8, 1.0), (64, 4.0))  # dimensions, epsilon
PARTICIPANTS = 1000
RUNS = 1000
HELD = 20  # different vectors in the crowd, of all lengths, most of them on one side
LEVEL = 0.95
SEED = 20_250_118


@dataclass(frozen=True, slots=True)
class BallCoverage:
    """One line: `coverage` is the mean over coordinates and runs, `joint` the share of runs where all hold at once."""

    mechanism: str
    dimensions: int
    epsilon: float
    n: int
    target: str
    runs: int
    coverage: float
    joint: float


def crowd(dimensions: int) -> Floats:
    """The vectors that participants hold, equally many each."""
    rng = np.random.default_rng([SEED, dimensions])
    vectors = rng.normal(size=(HELD, dimensions)) / np.sqrt(dimensions) + np.eye(1, dimensions)
    lengths = np.linspace(0.3, 1, HELD)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None] * lengths[:, None])


def coverage(mechanism: Mechanism, n: int, target: str, runs: int, seed: int = SEED) -> BallCoverage:
    """The line of one mechanism with a ball of radius 1."""
    dimensions = dimensions_of(mechanism.channel) or 0
    vectors = crowd(dimensions)
    truth = vectors.mean(axis=0)
    rng = np.random.default_rng([seed, dimensions])
    stream = WordStream.seeded(mechanism.words, seed)
    single = joint = 0
    for _ in range(runs):
        who = rng.integers(0, HELD, n) if target == "population" else np.arange(n) % HELD
        batch = draw(mechanism, vectors[who], stream)
        stream = stream.after(n)
        found = evidence(mechanism, n, mechanism.tally(batch).cells)
        held = truth if target == "population" else vectors[who].mean(axis=0)
        for each in (LEVEL, 1 - (1 - LEVEL) / dimensions):
            low, high = found.normal(each, target)
            inside = (low <= held) & (held <= high)
            if each == LEVEL:
                single += int(inside.sum())
            else:
                joint += bool(inside.all())
    epsilon = float(mechanism.claimed)
    return BallCoverage(
        mechanism.name, dimensions, epsilon, n, target, runs, single / (runs * dimensions), joint / runs
    )


def table(names: Sequence[str] = tuple(BUILDERS), *, n: int = PARTICIPANTS, runs: int = RUNS) -> Iterator[BallCoverage]:
    """Every line, each from words of its own: the same words give errors that are much alike."""
    for number, (name, (dimensions, epsilon), target) in enumerate(product(names, CASES, TARGETS)):
        mechanism = late.load(BUILDERS[name])(Ball(1, dimensions), epsilon=epsilon)
        yield coverage(mechanism, n, target, runs, SEED + number)


def markdown(rows: Sequence[BallCoverage]) -> str:
    """The lines as a section of a documentation page."""
    lines = [
        "",
        "## Means of vectors of a ball",
        "",
        f"Simulated. {HELD} vectors of lengths from 0.3 to 1 are held equally often. Percentages: the mean over"
        " coordinates, and how often all coordinates hold at once (Bonferroni).",
        "",
        "| mechanism | d | epsilon | n | target | runs | one by one | at once |",
        "|---" * 8 + "|",
    ]
    for row in rows:
        lines.append(
            f"| {row.mechanism} | {row.dimensions} | {row.epsilon:g} | {row.n} | {row.target} | {row.runs} |"
            f" {100 * row.coverage:.2f} | {100 * row.joint:.2f} |"
        )
    return "\n".join(lines) + "\n"
