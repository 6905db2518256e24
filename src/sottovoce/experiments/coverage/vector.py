"""How often intervals for the means of vectors cover, one coordinate at a time and all at once: simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.domain import Box
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build

METHODS = ("sampled", "split-n", "split-epsilon", "duchi-linf")
CASES = ((4, 1.0), (4, 4.0), (16, 1.0))  # coordinates and budgets
PARTICIPANTS = 10_000
RUNS = 1_000
SEED = 20_261_116


@dataclass(frozen=True, slots=True)
class VectorCoverage:
    """Shares of intervals that hold: for the population, for the sample, and of runs in which all hold at once."""

    mechanism: str
    dimensions: int
    epsilon: float
    n: int
    population: float
    sample: float
    joint: float


def answers(n: int, dimensions: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Vectors around a different mean in each coordinate, some of it near the end of the range; and those means."""
    centres = np.linspace(-0.75, 0.9, dimensions)
    return centres + 0.2 * rng.beta(2, 2, (n, dimensions)) - 0.1, centres


def covered(mechanism: Mechanism, n: int, runs: int, rng: np.random.Generator) -> VectorCoverage:
    """One line of the table, from whole simulations."""
    dimensions = dimensions_of(mechanism.channel) or 0
    alone, sample, joint = 0, 0, 0
    for _ in range(runs):
        values, truth = answers(n, dimensions, rng)
        found = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=int(rng.integers(1 << 62)))))
        alone += _inside(found.ci(), truth).sum()
        sample += _inside(found.ci(target="sample"), values.mean(axis=0)).sum()
        joint += _inside(found.ci(simultaneous=True), truth).all()
    name, cells = mechanism.name, runs * dimensions
    return VectorCoverage(name, dimensions, float(mechanism.claimed), n, alone / cells, sample / cells, joint / runs)


def _inside(bounds: tuple[NDArray[np.float64], NDArray[np.float64]], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (bounds[0] <= truth) & (truth <= bounds[1])


def table(*, n: int = PARTICIPANTS, runs: int = RUNS) -> Iterator[VectorCoverage]:
    """Every line."""
    rng = np.random.default_rng(SEED)
    for name in METHODS:
        for dimensions, epsilon in CASES:
            yield covered(build(name, Box(-1, 1, dimensions), epsilon=epsilon), n, runs, rng)


def markdown(rows: Sequence[VectorCoverage]) -> str:
    """The lines as a section of a documentation page."""
    lines = [
        "",
        "## Means of vectors with a range for each number",
        "",
        f"Simulated, {RUNS:,} runs a line. Coordinates have different means, some near the end of the range. "
        "For the sample the spread of the answers is bounded, not known, so there the interval may cover more often.",
        "",
        "| mechanism | d | epsilon | n | population | sample | all at once |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        shares = " | ".join(f"{100 * share:.1f}" for share in (row.population, row.sample, row.joint))
        lines.append(f"| {row.mechanism} | {row.dimensions} | {row.epsilon:g} | {row.n} | {shares} |")
    return "\n".join(lines) + "\n"
