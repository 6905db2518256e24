"""How often intervals for one place of sparse vectors cover, drawn from the exact law of what reports say of it.

Of n reports some speak for +, some for - and the others not at all. For the population they are a multinomial with the
mean rates of the crowd; for the sample those who hold the place and those who do not are drawn apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.vector.signs import score
from sottovoce.core.domain import Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.vector.sparse import Places
from sottovoce.experiments.coverage.mean import MeanCoverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIMENSIONS = 1000
CROWDS = {
    "nobody": (0.0, 0.0),
    "1 % hold 1": (0.01, 1.0),
    "a third holds -0.5": (1 / 3, -0.5),
    "all hold 1": (1.0, 1.0),
}
CASES = (("signs", 1), ("signs", 5), ("hints", 3), ("hadamard", 1), ("hadamard", 3), ("grr", 3))
METHODS = ("normal", "bernstein", "hoeffding")
SIZES = (10_000, 100_000)
RUNS = 20_000
SEED = 20_250_118


def rates(mechanism: Mechanism, held: bool, number: float) -> Floats:
    """How often a report says +, - or nothing of a place that its sender holds with this number, or does not.

    All other entries of the sender stand in other groups, and its slots are full.
    """
    known, domain = score(mechanism.channel), mechanism.domain
    if not isinstance(domain, Sparse):
        raise TypeError("Coverage is of sparse vectors here.")
    slots = 1 if isinstance(mechanism.statistic, Sums) else domain.most
    share = 1 / slots if held else 0.0  # of reports that are about this place
    hit = float(known.hit_other) + float(known.hit_own - known.hit_other) * share
    score_mean = number / float(known.scale) if held else 0.0
    return np.array([(hit + score_mean) / 2, (hit - score_mean) / 2, 1 - hit])


def rows(epsilon: float = 1.0, sizes: tuple[int, ...] = SIZES, runs: int = RUNS) -> list[MeanCoverage]:
    """The table: one row for each oracle, crowd, method and target."""
    found = []
    rng = np.random.default_rng(SEED)
    for oracle, most in CASES:
        mechanism = build("sparse", Sparse(DIMENSIONS, most), epsilon=epsilon, oracle=oracle)
        for n in sizes:
            for crowd, (share, number) in CROWDS.items():
                for target in ("population", "sample"):
                    plus, minus = _counts(mechanism, n, share, number, target, runs, rng)
                    places = Places(plus, minus, n, float(score(mechanism.channel).scale), 1.0)
                    truth = round(share * n) * number / n if target == "sample" else share * number
                    for method in METHODS:
                        low, high = places.interval(0.95, method, target)
                        covered = float(((low <= truth) & (truth <= high)).mean())
                        name = f"sparse, {oracle}, {most}"
                        found.append(MeanCoverage(name, epsilon, n, crowd, method, target, covered, runs))
    return found


def _counts(
    mechanism: Mechanism, n: int, share: float, number: float, target: str, runs: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    own, other = rates(mechanism, True, number), rates(mechanism, False, 0.0)
    if target == "population":
        drawn = rng.multinomial(n, share * own + (1 - share) * other, runs)
    else:
        holders = round(share * n)
        drawn = rng.multinomial(holders, own, runs) + rng.multinomial(n - holders, other, runs)
    return drawn[:, 0], drawn[:, 1]


def markdown(found: Sequence[MeanCoverage]) -> str:
    """The rows as a section of a documentation page."""
    kinds = [(method, target) for target in ("population", "sample") for method in METHODS]
    lines = [
        "",
        "## Means of sparse vectors",
        "",
        f"One place of {DIMENSIONS:,}, drawn from the exact law of what reports say of it, {RUNS:,} runs a cell; the"
        " number behind an oracle is how many entries a vector may have. Percentages; columns are method and target.",
        "",
        "| mechanism | epsilon | n | who holds the place | " + " | ".join(f"{m}, {t}" for m, t in kinds) + " |",
        "|---" * (4 + len(kinds)) + "|",
    ]
    for start in range(0, len(found), len(kinds)):
        group, first = found[start : start + len(kinds)], found[start]
        cells = " | ".join(f"{100 * row.coverage:.2f}" for row in group)
        lines.append(f"| {first.mechanism} | {first.epsilon:g} | {first.n} | {first.crowd} | {cells} |")
    return "\n".join(lines) + "\n"
