"""Tests of equal means with permuted labels, and intervals given that a group is shown, simulated at count level.

Each run permutes the labels of the groups among the same participants, so that all means are equal, and draws reports.
Groups may be barely estimable: a test that does not exist in a run is left out of its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.comparison.multiple import adjust
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group_mean.contrasts import equality
from sottovoce.estimate.group_mean.equal_means import PairTests
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce_experiments.coverage.crowds import PermutedCrowd, crowd_of
from sottovoce_experiments.coverage.declared.studies import FEWEST, HOLM
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GIVEN_SHOWN = "given shown"
LEVELS = {0.95: 0.05, 0.99: 0.01}  # and what a test at each may reject


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The results of each run; p-values are NaN if there is no test."""

    equality: Floats
    pairs: Floats
    holm: Floats
    shown: NDArray[np.bool_]
    means: NDArray[np.bool_]
    sizes: NDArray[np.bool_]
    errors: Floats


def simulate(crowd: PermutedCrowd, runs: int, rng: np.random.Generator) -> Runs:
    """Runs with permuted labels."""
    groups = len(crowd.counts)
    above, below = np.triu_indices(groups, 1)
    found = Runs(
        equality=np.full(runs, np.nan),
        pairs=np.full((runs, len(above)), np.nan),
        holm=np.full(runs, np.nan),
        shown=np.zeros((runs, groups), bool),
        means=np.zeros((runs, groups), bool),
        sizes=np.zeros((runs, groups), bool),
        errors=np.zeros((runs, groups)),
    )
    for run, estimate in enumerate(crowd.estimates(runs, rng)):
        found.shown[run] = estimate.estimable
        ratios = estimate.ratios(Target.POPULATION)
        found.errors[run] = np.sqrt(ratios.bottom_variance)
        if not estimate.estimable.any():
            continue
        scores = ratios.scores(np.array(crowd.mean - estimate.centre), ratios.margins)
        found.means[run] = np.abs(scores) <= deviate(LEVEL)  # as the interval, but faster
        low, high = estimate.sizes.interval(IntervalRequest(LEVEL, Method.SHOWN))
        found.sizes[run] = (low <= crowd.counts) & (crowd.counts <= high)
        found.equality[run] = equality(estimate).p_value
        places = np.flatnonzero(estimate.estimable[above] & estimate.estimable[below])
        if len(places):
            p_values = _pairs(estimate, crowd.mean, above[places], below[places])
            found.pairs[run, places], found.holm[run] = p_values, adjust(p_values, "holm").min()
    return found


def _pairs(estimate: GroupMeansEvidence, mean: float, rows: Ints, columns: Ints) -> Floats:
    """The p-values of `all_pairs` below the largest level; others are one.

    The statistic is the least over all means: if that at the true mean is small already, the others are skipped.
    """
    ratios, blocks = estimate.ratios(Target.POPULATION), estimate.blocks(Target.POPULATION)
    middle = np.full(len(rows), mean - estimate.centre)
    at_truth = PairTests.of(ratios, blocks, rows, columns).squared_scores(middle, middle)
    large = np.flatnonzero(at_truth >= deviate(1 - max(LEVELS.values())) ** 2)
    found = np.ones(len(rows))
    if len(large):
        means = estimate.values()
        values = means[rows[large]] - means[columns[large]]
        found[large] = PairTests.of(ratios, blocks, rows[large], columns[large]).p_values(values)
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Tests at both levels, and intervals of the group that is covered least often, of those shown often enough."""
    crowd = crowd_of(point)
    found = simulate(crowd, runs, np.random.default_rng(seed))
    tests = {"equality": found.equality, "pair": found.pairs, HOLM: found.holm}
    rows = [_test(of, p_values, level) for of, p_values in tests.items() for level in LEVELS]
    # The pair that is rejected most often at 5 %.
    pairs = [_test("worst pair", p_values, 0.95) for p_values in found.pairs.T]
    judged = [(one.coverage, one) for one in pairs if one.coverage is not None]
    rows.append(min(judged, key=lambda pair: pair[0])[1] if judged else _test("worst pair", np.array([]), 0.95))
    rows += [_least(of, held, found.shown) for of, held in (("mean", found.means), ("size", found.sizes))]
    # Of the smallest group: expected size over its standard error.
    support = float((crowd.counts / found.errors.mean(axis=0)).min())
    return [
        replace(row, numbers={"support": support, "permutations": runs, "shown": _shown(row, runs)}) for row in rows
    ]


def _shown(row: Coverage, runs: int) -> float | None:
    return row.runs / runs if row.method == GIVEN_SHOWN and row.runs else None


def _test(of: str, p_values: Floats, level: float) -> Coverage:
    """How often a test does not reject, among the runs in which there is one."""
    found = p_values[~np.isnan(p_values)]
    kept = float((found >= LEVELS[level]).mean()) if len(found) >= FEWEST else None
    return Coverage(of=of, method="test", level=level, coverage=kept, runs=len(found))


def _least(of: str, held: NDArray[np.bool_], shown: NDArray[np.bool_]) -> Coverage:
    """The least coverage of a group given that it is shown."""
    times = shown.sum(axis=0)
    often = np.flatnonzero(times >= min(FEWEST, len(shown)))
    if not len(often):
        return Coverage(of=of, method=GIVEN_SHOWN, coverage=None, runs=None)
    shares = (held & shown).sum(axis=0)[often] / times[often]
    worst = int(shares.argmin())
    return Coverage(of=of, method=GIVEN_SHOWN, coverage=float(shares[worst]), runs=int(times[often[worst]]))
