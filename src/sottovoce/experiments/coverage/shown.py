"""Tests of equal means where labels are permuted, and intervals given that a group is shown, simulated at count level.

In each run the labels of the groups are dealt out anew among the same participants, so that all means are equal, and
reports are drawn. Groups may be barely estimable: a test that does not exist in a run is left out of its share.
`python -m sottovoce.experiments.coverage.shown` prints the table; with `--write FILE` it replaces that part of a page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group.contrasts import adjust
from sottovoce.estimate.group.equal_means import PairTests
from sottovoce.estimate.group.evidence import GroupMeansEvidence
from sottovoce.experiments.coverage.crowds import CELLS, DATA_VARIABLE, Cell, Crowded, crowd_of, folder
from sottovoce.experiments.coverage.group import replace_section

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RUNS, REAL_RUNS = 5_000, 2_000  # real crowds are large, and take longer
SEED = 20_261_116
FEWEST = 200  # runs in which a test exists, or a group is shown, for its share to be printed
LEVELS = (0.05, 0.01)


@dataclass(frozen=True, slots=True)
class ShownRow:
    """Shares of runs: rejections at 5 % and 1 %, and coverage of 95 % intervals given that a group is shown."""

    method: str
    key: str
    epsilon: float
    n: int
    groups: str
    values: str
    runs: int
    support: float  # of the smallest group: expected size over its standard error
    equality: tuple[float, float]
    tests: int  # runs with a test of equality
    single: tuple[float, float]  # of all pairs together, none adjusted
    most: float  # of the pair that is rejected most often at 5 %
    holm: tuple[float, float]
    families: int  # runs with pairs
    least_mean: float  # coverage of the group that is covered least often, of those shown often enough
    seldom: float  # how often that group is shown
    least_share: float


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """What is counted in each run; p-values are NaN where there is no test."""

    equality: Floats
    pairs: Floats
    holm: Floats
    shown: NDArray[np.bool_]
    means: NDArray[np.bool_]
    sizes: NDArray[np.bool_]
    errors: Floats


def simulate(crowd: Crowded, runs: int, rng: np.random.Generator) -> Runs:
    """So many permutations of the labels."""
    groups = len(crowd.counts)
    above, below = np.triu_indices(groups, 1)
    found = Runs(
        *(np.full(shape, np.nan) for shape in (runs, (runs, len(above)), runs)),
        *(np.zeros((runs, groups), bool) for _ in range(3)),
        np.zeros((runs, groups)),
    )
    for run, estimate in enumerate(crowd.estimates(runs, rng)):
        found.shown[run] = estimate.estimable
        ratios = estimate.ratios("population")
        found.errors[run] = np.sqrt(ratios.bottom_variance)
        if not estimate.estimable.any():
            continue
        scores = ratios.scores(np.array(crowd.mean - estimate.centre), ratios.margins)
        found.means[run] = np.abs(scores) <= deviate(0.95)  # as the interval, but faster
        low, high = estimate.sizes.interval(0.95, "shown", "population")
        found.sizes[run] = (low <= crowd.counts) & (crowd.counts <= high)
        found.equality[run] = estimate.test_equality("population").p_value
        places = np.flatnonzero(estimate.estimable[above] & estimate.estimable[below])
        if len(places):
            p_values = _pairs(estimate, crowd.mean, above[places], below[places])
            found.pairs[run, places], found.holm[run] = p_values, adjust(p_values, "holm").min()
    return found


def _pairs(estimate: GroupMeansEvidence, mean: float, rows: Ints, columns: Ints) -> Floats:
    """The p-values of `all_pairs` below the largest level; others are one.

    The statistic is the least over all means: where that at the true mean is small already, no more is asked.
    """
    ratios, blocks = estimate.ratios("population"), estimate.blocks("population")
    middle = np.full(len(rows), mean - estimate.centre)
    at_truth = PairTests.of(ratios, blocks, rows, columns).squared_scores(middle, middle)
    large = np.flatnonzero(at_truth >= deviate(1 - max(LEVELS)) ** 2)
    found = np.ones(len(rows))
    if len(large):
        means = estimate.values()
        values = means[rows[large]] - means[columns[large]]
        found[large] = PairTests.of(ratios, blocks, rows[large], columns[large]).p_values(values)
    return found


def row_of(cell: Cell, runs: int) -> ShownRow:
    """One line of the table. Its seed depends on the line alone, wherever it stands."""
    crowd = crowd_of(cell)
    found = simulate(crowd, runs, np.random.default_rng([SEED, crc32(repr(cell).encode())]))
    shown = found.shown.sum(axis=0)
    often = np.flatnonzero(shown >= min(FEWEST, runs))
    means, sizes = ((held & found.shown).sum(axis=0)[often] / shown[often] for held in (found.means, found.sizes))
    worst = int(means.argmin()) if len(often) else -1
    asked = (~np.isnan(found.pairs)).sum(axis=0)
    single = (found.pairs < LEVELS[0]).sum(axis=0)[asked >= FEWEST] / asked[asked >= FEWEST]
    return ShownRow(
        cell.method,
        cell.key,
        cell.epsilon,
        crowd.n,
        cell.groups,
        cell.values,
        runs,
        float((crowd.counts / found.errors.mean(axis=0)).min()),
        _rejected(found.equality),
        int((~np.isnan(found.equality)).sum()),
        _rejected(found.pairs),
        float(single.max()) if len(single) else float("nan"),
        _rejected(found.holm),
        int((~np.isnan(found.holm)).sum()),
        float(means[worst]) if len(often) else float("nan"),
        float(shown[often[worst]] / runs) if len(often) else float("nan"),
        float(sizes.min()) if len(often) else float("nan"),
    )


def rows() -> list[ShownRow]:
    """The whole table; half an hour. Lines of real answers need their files."""
    return [row_of(cell, runs_of(cell)) for cell in CELLS if folder() is not None or not cell.real]


def runs_of(cell: Cell) -> int:
    """How many permutations a line of the table is made of."""
    return REAL_RUNS if cell.real else RUNS


def _rejected(p_values: Floats) -> tuple[float, float]:
    found = p_values[~np.isnan(p_values)]
    if len(found) < FEWEST:
        return float("nan"), float("nan")
    return float((found < LEVELS[0]).mean()), float((found < LEVELS[1]).mean())


HEADING = "## Groups that are barely estimable"
TEXT = (
    "Labels are permuted among the participants, so that all means are equal. Values are from -1 to 1, or real ones:"
    " days in hospital by race, years of education by occupation. *support* is the expected size of the smallest group"
    " over its standard error. Rejections, in percent, at 5 % and at 1 %, of the runs in which the test exists: by the"
    " test of equality, by the differences of all pairs one by one (*pair*; *most* is the pair that is rejected most"
    f" often, of those in {FEWEST} runs or more), and by the least p-value of all pairs adjusted by Holm, which exists"
    " in *with pairs* runs. A standard error of 5,000 runs is 0.3 at 5 % and 0.14 at 1 %, of 2,000 runs 0.5 and 0.22,"
    " of 1,000 runs 0.7 and 0.3;"
    " *most* is the largest of up to 105 such numbers. Holm's correction takes no account of pairs sharing groups: for"
    " eight equal groups whose sizes are known it rejects in 3.8 % of all runs instead of 5 %. *mean* and *size* are"
    " the coverage of 95 % intervals given that a group is shown, of the group with the least, among those shown in"
    f" {FEWEST} runs or more; *shown* is how often the group with the least coverage of its mean is. The seed of a line"
    " depends on its first six columns only. By `python -m sottovoce.experiments.coverage.shown`."
)
WITHOUT = f"Lines of real answers are left out: {DATA_VARIABLE} names no folder of data."


def markdown(rows: Sequence[ShownRow]) -> str:
    """The part of the page about tests and groups that are shown."""
    lines = ["", HEADING, "", TEXT, ""]
    if not {row.groups for row in rows} & {cell.groups for cell in CELLS if cell.real}:
        lines += [WITHOUT, ""]
    lines += [
        "| mechanism | key | epsilon | n | groups | values | runs | support | equality 5 % | 1 % | pair 5 % | 1 % |"
        " most | with pairs | Holm 5 % | 1 % | mean | shown | size |",
        "|---" * 19 + "|",
    ]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(row: ShownRow) -> str:
    def percent(*numbers: float) -> str:
        return " | ".join("-" if np.isnan(number) else f"{100 * number:.1f}" for number in numbers)

    return (
        f"| {row.method} | {row.key} | {row.epsilon:g} | {row.n:,} | {row.groups} | {row.values} | {row.runs:,} |"
        f" {row.support:.1f} | {percent(*row.equality, *row.single, row.most)} | {row.families:,} |"
        f" {percent(*row.holm, row.least_mean, row.seldom, row.least_share)} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Tests of equal means under permuted labels, and shown groups.")
    parser.add_argument("--write", type=Path, help="replace this part of the page")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--runs", type=int, help="permutations; those of the page unless given")
    parser.add_argument("--cells", type=int, nargs="*", help="numbers of the lines to compute; all unless given")
    options = parser.parse_args(arguments)
    chosen = CELLS if options.cells is None else tuple(CELLS[place] for place in options.cells)
    found = []
    for cell in chosen:
        if cell.real and folder() is None:
            continue
        found.append(row_of(cell, options.runs or runs_of(cell)))
        print(json.dumps(asdict(found[-1])) if options.json else _line(found[-1]), flush=True)
    if options.write:
        replace_section(options.write, HEADING, markdown(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
