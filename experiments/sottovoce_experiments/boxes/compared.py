"""Shares of boxes from torus waves beside HIO and AHEAD, on real maps and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Record
from sottovoce.core.registry import mechanism
from sottovoce.estimate.boxes.evidence import from_cells
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.partitions import partition_boxes
from sottovoce.estimate.boxes.queries import BoxQueries
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.request import Target
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.hio import HIO
from sottovoce_experiments.boxes.played import played, tallies
from sottovoce_experiments.boxes.published import hio_variance
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import MAPS

Floats = NDArray[np.float64]
RUNS = 20
SIZE, PARTICIPANTS = 64, 1_000_000
EPSILONS = (0.5, 1.0, 2.0)
UNBIASED = 0.42  # targets: of the unbiased shares over HIO, and of decoded ones over AHEAD
DECODED = dict(zip(EPSILONS, (0.70, 0.60, 0.60), strict=True))
# The prior was chosen on the first half; relatives, such as both ends of the same trips, are in the same half.
TUNED = ("ADULT-2D", "BJ-CABS-E", "BJ-CABS-S", "GOWALLA", "LC-2D")
REPORTED = ("MD-SAL-2D", "SF-CABS-E", "SF-CABS-S", "STROKE", "TWITTER")
METHODS = ("HIO", "unbiased", "AHEAD", "grid-prior")
PAGE = Page(
    "results/boxes.md",
    "# Boxes, measured\n\n"
    "Written by `sottovoce reproduce range-boxes --pages docs`; `boxes-authors`, `boxes-coverage`, `boxes-normals`"
    " and\n"
    "`sok-table-8-ranges` likewise. How to ask for boxes is on the page [Boxes](../guides/boxes.md).\n",
)


@lru_cache(maxsize=16)
def shares(name: str, size: int) -> Floats:
    """The shares of a square grid, from a histogram of 256 x 256 cells."""
    table = pq.read_table(data_file(MAPS.file), filters=[("dataset", "=", name)])
    counts = np.zeros((256, 256))
    np.add.at(counts, (table["row"].to_numpy(), table["col"].to_numpy()), table["count"].to_numpy())
    coarse = counts.reshape(size, 256 // size, size, 256 // size).sum(axis=(1, 3))
    return np.asarray(coarse / coarse.sum())


def squared_error(found: Floats, truth: Floats) -> float:
    """The mean squared error of the shares of all boxes of adjacent cells."""
    size = len(truth)
    index = np.arange(size)
    ranges = (np.minimum.outer(index, index) + 1.0) * (size - np.maximum.outer(index, index))
    wrong = found - truth
    return float((wrong * (ranges @ wrong @ ranges)).sum() / (size * (size + 1) / 2) ** 2)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """All methods ask the same number of participants, drawn from the same shares."""
    size, n, epsilon = point["buckets"], PARTICIPANTS, point["epsilon"]
    square = Record({"a": Integers(0, size - 1), "b": Integers(0, size - 1)})
    method = mechanism("torus-wave", square, epsilon=epsilon, buckets=size)
    rng, truth, prior = np.random.default_rng(seed), shares(point["data"], size), decoder("grid-prior")
    rates = from_cells(method, 1, np.zeros(method.cells, np.int64)).transition.forward(truth.ravel())
    tree, adaptive = HIO(square, epsilon, size), AHEAD(square, epsilon, n, size)
    table = []
    for _ in range(runs):
        evidence = from_cells(method, n, rng.multinomial(n, rates / rates.sum()))
        own = (evidence.values(), prior.decode(evidence).values)
        unbiased, decoded = (one.reshape(truth.shape) for one in own)
        asked = tallies(tree.start().arms, Grid.of(tree.base), truth.ravel(), n, rng)
        rivals = (
            partition_boxes(tree.question, tree.base, asked).values(),
            played(adaptive, truth.ravel(), n, rng).decoded("fitted").values,
        )
        first, third = (one.reshape(truth.shape) for one in rivals)
        found = (first, unbiased, third, decoded)
        table.append([n * squared_error(one, truth) for one in found])
    errors = np.array(table)
    means = dict(zip(METHODS, errors.mean(axis=0).tolist(), strict=True))
    exact = BoxQueries.over((size, size)).mean_variance(method.channel, Target.SAMPLE) / hio_variance(size, epsilon)
    linear, ratio = _ratio(errors[:, 1], errors[:, 0]), _ratio(errors[:, 3], errors[:, 2])
    names = ("linear", "linear error", "ratio", "ratio error")
    return [{**means, "exact": exact, **dict(zip(names, (*linear, *ratio), strict=True))}]


def _ratio(own: Floats, other: Floats) -> tuple[float, float]:
    """The ratio of two means, and the standard error of its logarithm."""
    parts = own / own.mean() - other / other.mean()
    return float(own.mean() / other.mean()), float(parts.std() / np.sqrt(max(len(own) - 1, 1)))


def mean_ratio(rows: Sequence[PageRow], name: str) -> tuple[float, float]:
    """The geometric mean of a ratio over all data, and its standard error."""
    ratio = float(np.exp(np.mean([np.log(row[name]) for row in rows])))
    return ratio, ratio * float(np.sqrt(np.sum([row[f"{name} error"] ** 2 for row in rows]))) / len(rows)


def summary(rows: Sequence[PageRow]) -> list[str]:
    """Geometric means beside the targets."""
    said = []
    for epsilon in EPSILONS:
        own = [row for row in rows if row["epsilon"] == epsilon]
        if own:
            linear, decoded = mean_ratio(own, "linear"), mean_ratio(own, "ratio")
            said.append(
                f"Epsilon {epsilon:g}: unbiased over HIO {linear[0]:.3f} +- {linear[1]:.3f} (exact"
                f" {own[0]['exact']:.3f}, target {UNBIASED:g}); grid-prior over AHEAD {decoded[0]:.3f} +-"
                f" {decoded[1]:.3f} (target {DECODED[epsilon]:g})."
            )
    return said


def text(rows: Sequence[PageRow]) -> str:
    """What is compared, and its means."""
    lines = "\n".join(f"- {line}" for line in summary(rows))
    return (
        f"n times the mean squared error of the shares of all boxes over {SIZE} x {SIZE} cells, {PARTICIPANTS:,}"
        f" participants. HIO has least squares over all pairs of levels, AHEAD four children. `torus-wave` is read"
        f" without bias, and by the decoder `grid-prior`. Means of {RUNS} runs, in which all methods have as many"
        " participants, on data that nothing was chosen on. *Exact* is the ratio of the variances from noise, by"
        f" formulas. Errors are relative standard errors of the ratios. Geometric means over all data:\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="range-boxes",
    title="Boxes over two fields from torus waves, beside HIO and AHEAD",
    metric="n times the mean squared error of the shares of all boxes",
    data=REPORTED,
    methods=METHODS,
    grid=(("buckets", (SIZE,)), ("epsilon", EPSILONS), ("data", REPORTED)),
    quick=(("buckets", (SIZE,)), ("epsilon", (1.0,)), ("data", REPORTED[:1])),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "ratio", "data", dots=True, guide=1.0, log="xy"),
    columns=("buckets", "epsilon", "data", *METHODS, "exact", "linear", "linear error", "ratio", "ratio error"),
    summary=summary,
    needs=(MAPS.file,),
    section=Section(
        page=PAGE,
        heading="## Beside HIO and AHEAD",
        text=text,
        lead=("epsilon", "data"),
        columns=(
            *(PageColumn(name, name, ".3g") for name in METHODS),
            PageColumn("unbiased / HIO", "linear", ".2f"),
            PageColumn("error", "linear error", ".2f"),
            PageColumn("grid-prior / AHEAD", "ratio", ".2f"),
            PageColumn("error", "ratio error", ".2f"),
        ),
    ),
)
