"""Tests of equal means where labels are permuted, and intervals given that a group is shown, simulated at count level.

In each run the labels of the groups are dealt out anew among the same participants, so that all means are equal, and
reports are drawn. Groups may be barely estimable: a test that does not exist in a run is left out of its share.
`python -m sottovoce.estimate.coverage_shown` prints the table; with `--write FILE` it replaces that part of a page.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.contrasts import adjust
from sottovoce.estimate.coverage_group import Cohort, draw_cells, law_at_value
from sottovoce.estimate.equal_means import PairTests
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group import GroupEstimate, from_cells
from sottovoce.estimate.group_truth import keyed_channel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RUNS = 5_000
SEED = 20_261_116
PAIRS_IN = 4  # pairs, which take longest, are compared in one of so many runs
FEWEST = 200  # runs in which a test exists, or a group is shown, for its share to be printed
SHARES = {
    "2 unequal": (0.95, 0.05),
    "4 unequal": (0.7, 0.2, 0.092, 0.008),
    "8 equal": (0.125,) * 8,
    "8 unequal": (0.4, 0.25, 0.15, 0.08, 0.06, 0.03, 0.022, 0.008),
}
VALUES = {"low": ((-0.9, -0.6, 0.5), (3, 2, 1)), "high": ((0.6, 0.8, 1.0), (1, 1, 1))}  # of -1 to 1, and their weights


class Cell(NamedTuple):
    """One line of the table before it is computed."""

    method: str
    key: str
    epsilon: float
    n: int
    shares: str
    values: str


CELLS = (
    Cell("group-bernoulli", "grr", 0.75, 1_500, "2 unequal", "high"),
    Cell("group-nprr", "grr", 0.75, 6_000, "4 unequal", "low"),
    Cell("group-piecewise", "grr", 1.5, 1_500, "2 unequal", "high"),
    Cell("group-laplace", "grr", 1.5, 6_000, "4 unequal", "low"),
    Cell("group-bernoulli", "grr", 1.5, 6_000, "8 unequal", "high"),
    Cell("group-nprr", "grr", 1.5, 20_000, "2 unequal", "low"),
    Cell("group-designed", "grr", 1.5, 20_000, "8 equal", "high"),
    Cell("group-nprr", "unary", 3.0, 1_500, "4 unequal", "high"),
    Cell("group-nprr", "grr", 3.0, 20_000, "8 unequal", "high"),
)


@dataclass(frozen=True, slots=True)
class Crowded:
    """A crowd whose labels can be permuted: how many have each label, how many hold each value."""

    mechanism: Mechanism
    counts: Ints
    values: tuple[float, ...]
    held: Ints

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Of all participants, and so the expected mean of each group."""
        return float(np.dot(self.values, self.held) / self.held.sum())

    def estimates(self, runs: int, rng: np.random.Generator) -> Iterator[GroupEstimate]:
        """From permuted labels."""
        channel = keyed_channel(self.mechanism)
        laws = [law_at_value(self.mechanism, value) for value in self.values]
        for _ in range(runs):
            left, people = self.held, []
            for group, count in enumerate(self.counts.tolist()):
                dealt = rng.multivariate_hypergeometric(left, count, method="marginals")
                left = left - dealt
                people += [Cohort(group, int(size), law) for size, law in zip(dealt, laws, strict=True) if size]
            yield from_cells(self.mechanism, self.n, draw_cells(channel, people, rng).ravel())


@dataclass(frozen=True, slots=True)
class ShownRow:
    """Shares of runs: rejections at 5 % and 1 %, and coverage of 95 % intervals given that a group is shown."""

    method: str
    key: str
    epsilon: float
    n: int
    shares: str
    values: str
    runs: int
    support: float  # of the smallest group: expected size over its standard error
    tests: int  # runs with a test of equality
    equality: tuple[float, float]
    families: int  # runs with pairs
    holm: tuple[float, float]
    least_mean: float  # coverage of the group that is covered least often, of those shown often enough
    least_share: float
    seldom: float  # how often that group of the least coverage of means is shown


def crowd_of(cell: Cell) -> Crowded:
    """The crowd of a cell."""
    shares, (values, weights) = SHARES[cell.shares], VALUES[cell.values]
    domain = Pair(Categories([f"g{place}" for place in range(len(shares))]), Interval(-1, 1))
    mechanism = build(cell.method, domain, epsilon=cell.epsilon, key=cell.key)
    return Crowded(mechanism, _dealt(cell.n, shares), values, _dealt(cell.n, np.array(weights) / sum(weights)))


def _dealt(n: int, shares: Sequence[float] | Floats) -> Ints:
    return np.diff(np.rint(n * np.cumsum([0.0, *shares]))).astype(np.int64)


def row_of(cell: Cell, runs: int, crowd: Crowded | None = None) -> ShownRow:
    """One line of the table."""
    crowd = crowd_of(cell) if crowd is None else crowd
    rng = np.random.default_rng([SEED, CELLS.index(cell) if cell in CELLS else len(CELLS)])
    equal: list[float] = []
    family: list[float] = []
    shown, means, shares, errors = (np.zeros((runs, len(crowd.counts))) for _ in range(4))
    for run, estimate in enumerate(crowd.estimates(runs, rng)):
        shown[run] = estimate.estimable
        ratios = estimate.ratios("population")
        scores = ratios.scores(np.array(crowd.mean - estimate.centre), ratios.starts)
        means[run] = np.abs(scores) <= deviate(0.95)  # as the interval, but faster
        errors[run] = np.sqrt(ratios.bottom_variance)
        low, high = estimate.sizes.ci() if estimate.estimable.any() else (crowd.counts, crowd.counts)
        shares[run] = (low <= crowd.counts) & (crowd.counts <= high)
        if estimate.estimable.any():
            equal.append(estimate.test_equality().p_value)
        if estimate.estimable.sum() > 1 and run * PAIRS_IN < runs:
            family.append(_least_adjusted(estimate))
    often = np.flatnonzero(shown.sum(axis=0) >= min(FEWEST, runs))
    covered = [(means * shown).sum(axis=0)[often] / shown.sum(axis=0)[often]]
    covered += [(shares * shown).sum(axis=0)[often] / shown.sum(axis=0)[often]]
    worst = often[covered[0].argmin()] if len(often) else 0
    return ShownRow(
        *cell,
        runs,
        float((crowd.counts / errors.mean(axis=0)).min()),
        len(equal),
        _rejected(equal),
        len(family),
        _rejected(family),
        *(float(part.min()) if len(often) else float("nan") for part in covered),
        float(shown[:, worst].mean()),
    )


def rows(runs: int = RUNS) -> list[ShownRow]:
    """The whole table; half an hour."""
    return [row_of(cell, runs) for cell in CELLS]


def _rejected(p_values: Sequence[float]) -> tuple[float, float]:
    found = np.array(p_values)
    if len(found) < FEWEST:
        return float("nan"), float("nan")
    return float((found < 0.05).mean()), float((found < 0.01).mean())


def _least_adjusted(estimate: GroupEstimate) -> float:
    """The least p-value of all pairs by Holm; where that at zero is large already, no more is asked."""
    shown = np.flatnonzero(estimate.estimable)
    above, below = np.triu_indices(len(shown), 1)
    tests = PairTests.of(estimate.ratios("population"), estimate.blocks("population"), shown[above], shown[below])
    at_zero = adjust(tests.p_values_at(np.zeros(len(tests))), "holm").min()
    return float(at_zero if at_zero > 0.05 else estimate.all_pairs().adjusted.min())


HEADING = "## Groups that are barely estimable"


def markdown(rows: Sequence[ShownRow]) -> str:
    """The part of the page about tests and groups that are shown."""
    lines = [
        "",
        HEADING,
        "",
        "Labels are permuted among the participants, so that all means are equal; values are from -1 to 1. *support*"
        " is the expected size of the smallest group over its standard error. Rejections, in percent, by the test of"
        " equality and by the least p-value of all pairs (Holm, in a quarter of the runs), at 5 % and at 1 %, of the"
        " runs in which the test exists; a standard error at 5 % of 5,000 runs is 0.3. *mean* and *size* are the"
        " coverage of 95 % intervals given that a group is shown, of the group with the least, among those shown in"
        f" {FEWEST} runs or more; *shown* is how often the group with the least coverage of its mean is. By"
        " `python -m sottovoce.estimate.coverage_shown`.",
        "",
        "| mechanism | key | epsilon | n | groups | values | runs | support | equality 5 % | 1 % | with pairs |"
        " Holm 5 % | 1 % | mean | shown | size |",
        "|---" * 16 + "|",
    ]
    for row in rows:
        numbers = (*row.equality, *row.holm, row.least_mean, row.seldom, row.least_share)
        cells = ["-" if np.isnan(number) else f"{100 * number:.1f}" for number in numbers]
        lines.append(
            f"| {row.method} | {row.key} | {row.epsilon:g} | {row.n:,} | {row.shares} | {row.values} |"
            f" {row.runs:,} | {row.support:.1f} | {cells[0]} | {cells[1]} | {row.families} | {cells[2]} |"
            f" {cells[3]} | {cells[4]} | {cells[5]} | {cells[6]} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Tests of equal means under permuted labels, and shown groups.")
    parser.add_argument("--write", type=Path, help="replace this part of the page")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--cells", type=int, nargs="*", help="numbers of the lines to compute; all unless given")
    options = parser.parse_args(arguments)
    chosen = CELLS if options.cells is None else tuple(CELLS[place] for place in options.cells)
    found = []
    for cell in chosen:
        found.append(row_of(cell, options.runs))
        print(json.dumps(asdict(found[-1])) if options.json else markdown(found[-1:]).splitlines()[-1], flush=True)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before = re.split(rf"\n{HEADING}\n", page)[0].rstrip("\n") + "\n"
        options.write.write_text(before + markdown(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
