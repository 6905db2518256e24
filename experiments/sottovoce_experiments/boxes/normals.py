"""Boxes of two of five correlated normal numbers: copulas in two rounds and in one, and HDG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_normal, norm

from sottovoce.core.domain import Integers, Record, Select
from sottovoce.core.round import Protocol
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.protocols.boxes.copula import CopulaRounds
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.play import State
from sottovoce_experiments.boxes.compared import PAGE
from sottovoce_experiments.boxes.played import in_blocks, tallies
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
FIELDS, BINS, REACH = 5, 256, 4.0  # bins from -4 to 4 standard deviations
CORRELATION, EPSILON, PARTICIPANTS = 0.6, 0.8, 1_000_000
PRIPL_TREE = 7.1e-4  # of its authors' code in this setting, measured outside this command
WIDE = 0.5  # of the range of a field, as in the queries of PriPL-Tree
RUNS = 10
METHODS = ("copula, two rounds", "copula, one round", "HDG")
TARGETS = dict(zip(METHODS, (2e-4, 7e-4, None), strict=True))
NAMES = tuple("abcde")
RECORD = Record({name: Integers(0, BINS - 1) for name in NAMES})


def table() -> Floats:
    """The shares of the cells of two of the fields, from the density in the middle of each cell."""
    edges = np.linspace(-REACH, REACH, BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    law = multivariate_normal([0, 0], [[1, CORRELATION], [CORRELATION, 1]])
    found = law.pdf(np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1))
    lines = np.diff(norm.cdf(edges))
    for _ in range(50):
        found *= (lines / found.sum(axis=1))[:, None]
        found *= lines / found.sum(axis=0)
    return np.asarray(found / found.sum())


def protocol(method: str) -> Protocol:
    """The protocol of a method."""
    if method == "HDG":
        return HDG(RECORD, EPSILON, PARTICIPANTS)
    return CopulaRounds(RECORD, EPSILON, PARTICIPANTS, rounds=2 if "two" in method else 1)


def estimated(asked: Any, pair: Floats, rng: np.random.Generator) -> Any:
    """The estimate from participants any two of whose numbers have the same law."""
    state, left = State.first(asked), PARTICIPANTS
    line = pair.sum(axis=1)
    while not state.is_over:
        count = left if state.round.quota is None else state.round.quota
        left -= count
        weights = np.array([arm.weight for arm in state.round.arms], float)
        found: list[Any] = []
        for arm, own in zip(state.round.arms, rng.multinomial(count, weights / weights.sum()), strict=True):
            view: Any = arm.mechanism.domain  # `Select`
            names = view.names
            grid = Grid.of(Select(asked.base.of, names))
            shares = in_blocks(line if len(names) == 1 else pair, grid.shape).ravel()
            found += tallies([arm], grid, shares, int(own), rng)
        state = state.after(tuple(found))
    return state.estimates["boxes"].decoded("fitted")


def errors(estimate: Any, pair: Floats) -> list[float]:
    """Mean squared errors of the shares of boxes that are half as wide as both ranges, for each pair of fields."""
    found = []
    for names in combinations(NAMES, 2):
        spans = estimate.evidence.spans[names]
        shape = estimate.evidence.pairs[names].buckets.shape
        own = estimate.values[spans].reshape(shape)
        fine = np.repeat(np.repeat(own, BINS // shape[0], axis=0), BINS // shape[1], axis=1)
        wrong = fine / (BINS // shape[0]) / (BINS // shape[1]) - pair
        sums = np.pad(wrong.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        wide = int(WIDE * BINS)
        boxes = sums[wide:, wide:] - sums[:-wide, wide:] - sums[wide:, :-wide] + sums[:-wide, :-wide]
        found.append(float((boxes**2).mean()))
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean over runs and pairs."""
    pair, asked, rng = table(), protocol(point["method"]), np.random.default_rng(seed)
    each = [float(np.mean(errors(estimated(asked, pair, rng), pair))) for _ in range(runs)]
    spread = float(np.std(each) / max(len(each) - 1, 1) ** 0.5)
    return [{"error": float(np.mean(each)), "spread": spread, "target": TARGETS[point["method"]]}]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Errors beside the targets."""
    return [
        f"{row['method']}: mean squared error {row['error']:.2e} +- {row['spread']:.1e}"
        + (f" (target {row['target']:.0e})." if row["target"] else ".")
        for row in rows
    ]


EXPERIMENT = Experiment(
    id="boxes-normals",
    title="Boxes of two of five correlated normal numbers: copulas and HDG",
    metric="mean squared error of shares of boxes",
    methods=METHODS,
    grid=(("method", METHODS),),
    quick=(("method", METHODS[-1:]),),
    runs=RUNS,
    quick_runs=1,
    cell=cell,
    figure=Picture("method", "error", dots=True, crosses="target"),
    columns=("method", "error", "spread", "target"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Five correlated numbers",
        text=f"{FIELDS} normal numbers with correlation {CORRELATION:g} in {BINS} buckets each, {PARTICIPANTS:,}"
        f" participants, epsilon {EPSILON:g}. Mean squared error of the shares of all boxes of two fields that are half"
        f" as wide as both ranges, over all pairs; means of {RUNS} runs with standard errors. The code of the"
        f" authors of PriPL-Tree has {PRIPL_TREE:.1e} in this setting.",
        lead=("method",),
        columns=(
            PageColumn("mean squared error", "error", ".2e"),
            PageColumn("standard error", "spread", ".1e"),
            PageColumn("target", "target", ".0e", missing="-"),
        ),
    ),
)
