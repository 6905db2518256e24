"""The range queries of an overview table, with measured errors, in one and two dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sottovoce.core.domain import Integers, Record
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.arms import CellsProtocol
from sottovoce.protocols.boxes.conjunction import conjunction
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.boxes.hio import HIO
from sottovoce.tally.counts import simulate_counts
from sottovoce.tally.tally import Tally
from sottovoce_experiments.boxes.compared import PAGE
from sottovoce_experiments.boxes.compared import squared_error as error_of_boxes
from sottovoce_experiments.boxes.played import SEEDS, in_blocks, played
from sottovoce_experiments.distribution.range_decoders import squared_error as error_of_ranges
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.page import Row as PageRow
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EPSILON, PEOPLE, RUNS = 1.0, 100_000, 10
SIZES = {1: 256, 2: 32}  # buckets along each axis
LAWS = ("smooth", "spiky")


@dataclass(frozen=True, slots=True)
class RangeMethod:
    """A method of the overview: who published it, the dimensions that it is for, and how it is asked and read."""

    reference: str
    dimensions: tuple[int, ...]
    build: Callable[[Record, int], Any]  # a mechanism or a protocol, for a record and its number of buckets
    decoder: str = "linear"


def of_one(name: str, **options: Any) -> Callable[[Record, int], Any]:
    """A mechanism for the distribution of the first field."""
    return lambda record, size: mechanism(name, record.fields[0][1], epsilon=EPSILON, buckets=size, **options)


METHODS: dict[str, RangeMethod] = {
    "hierarchy, 4 children": RangeMethod("Cormode et al. 2019", (1,), of_one("hierarchy")),
    "Haar": RangeMethod("Cormode et al. 2019", (1,), of_one("haar")),
    "HIO": RangeMethod("Wang et al. 2019", (1, 2), lambda record, size: HIO(record, EPSILON, size)),
    "conjunctive estimator": RangeMethod(
        "Wang et al. 2019", (2,), lambda record, size: conjunction(record, epsilon=EPSILON, buckets=size)
    ),
    "square wave, EMS": RangeMethod("Li et al. 2020", (1,), of_one("square-wave-discrete"), "ems"),
    "HDG": RangeMethod("Yang et al. 2020", (2,), lambda record, size: HDG(record, EPSILON, PEOPLE), "fitted"),
    "AHEAD": RangeMethod("Du et al. 2021", (1, 2), lambda record, size: AHEAD(record, EPSILON, PEOPLE, size), "fitted"),
    "coded wave": RangeMethod("ours", (1,), of_one("coded-wave", workload="ranges")),
    "coded wave, bayes": RangeMethod("ours", (1,), of_one("coded-wave", workload="ranges"), "bayes"),
    "torus wave": RangeMethod(
        "ours", (2,), lambda record, size: mechanism("torus-wave", record, epsilon=EPSILON, buckets=size)
    ),
    "torus wave, grid-prior": RangeMethod(
        "ours", (2,), lambda record, size: mechanism("torus-wave", record, epsilon=EPSILON, buckets=size), "grid-prior"
    ),
}


def shares(law: str, dimensions: int) -> Floats:
    """A bell, or three values that half of the people share; two fields have correlation 0.6."""
    size = SIZES[dimensions]
    middles = (np.arange(size) + 0.5) / size
    if dimensions == 1:
        found = stats.beta(5, 2).pdf(middles)
        places: Any = ([size // 5, size // 2, 4 * size // 5],)
    else:
        grid = np.stack(np.meshgrid(6 * middles - 3, 6 * middles - 3, indexing="ij"), axis=-1)
        found = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]]).pdf(grid)
        places = ([size // 5, size // 2, 4 * size // 5], [size // 2, size // 2, size // 5])
    found = found / found.sum()
    if law == "spiky":
        found = found / 2
        found[places] += 1 / 6
    return np.asarray(found, np.float64)


def errors(method: RangeMethod, dimensions: int, law: str, runs: int, rng: np.random.Generator) -> list[float]:
    """n times the mean squared error of all ranges, or boxes, in each run."""
    size, truth = SIZES[dimensions], shares(law, dimensions)
    asked = method.build(Record({name: Integers(0, size - 1) for name in "ab"[:dimensions]}), size)
    found = []
    for _ in range(runs):
        if isinstance(asked, CellsProtocol | HDG):
            told = in_blocks(truth, Grid.of(asked.base).shape)
            estimate = played(asked, told.ravel(), PEOPLE, rng)
            values = finest(estimate.decoded(method.decoder) if method.decoder != "linear" else estimate, size)
        else:
            held = rng.multinomial(PEOPLE, truth.ravel())
            values = asked.estimate(counted(asked, held, size, rng), decoder=method.decoder).values
        wrong = error_of_ranges if dimensions == 1 else error_of_boxes
        found.append(PEOPLE * wrong(values.reshape(truth.shape), truth))
    return found


def counted(asked: Mechanism, held: Ints, size: int, rng: np.random.Generator) -> Tally:
    """The tally of people of whom so many are in each cell; reports about both fields are drawn one by one."""
    seed = int(rng.integers(SEEDS))
    if not isinstance(asked.statistic, CountJoint):
        return simulate_counts(asked, held, seed=seed)
    cells = np.repeat(np.arange(len(held)), held).tolist()
    people = [{"a": cell // size, "b": cell % size} for cell in cells]
    return asked.tally(asked.privatize(people, seed=seed))


def finest(estimate: Any, size: int) -> Floats:
    """The shares of single cells, spread evenly inside the parts of a coarser grid."""
    shape = estimate.evidence.buckets.shape
    values = np.asarray(estimate.values, np.float64).reshape(shape)
    for axis, parts in enumerate(shape):
        values = np.repeat(values, size // parts, axis=axis) / (size // parts)
    return values


LINES = {f"{name}, {d} D": (name, d) for d in SIZES for name, one in METHODS.items() if d in one.dimensions}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The errors of a method on both laws."""
    name, dimensions = LINES[point["method"]]
    row: Row = {"reference": METHODS[name].reference}
    for law in LAWS:
        each = errors(METHODS[name], dimensions, law, runs, np.random.default_rng(seed))
        row |= {law: float(np.mean(each)), f"{law} error": float(np.std(each) / max(runs - 1, 1) ** 0.5)}
    return [row]


def summary(rows: Sequence[PageRow]) -> list[str]:
    """The best method of each law."""
    said = []
    for dimensions in SIZES:
        for law in LAWS:
            own = [row for row in rows if LINES[row["method"]][1] == dimensions]
            if own:
                best = min(own, key=lambda row: float(row[law]))
                said.append(f"{law}: {best['method']} has the least error, {best[law]:.3g}.")
    return said


EXPERIMENT = Experiment(
    id="sok-table-8-ranges",
    title="SoK, Table 8: range queries with measured errors",
    paper="SoK: Descriptive Statistics under Local Differential Privacy, PoPETs 2025, Table 8",
    metric="n times the mean squared error of all ranges, or boxes",
    data=("Beta(5, 2) and normal numbers, also with three values that half of the people share",),
    methods=tuple(METHODS),
    grid=(("method", tuple(LINES)),),
    quick=(("method", ("HDG, 2 D", "AHEAD, 2 D")),),
    runs=RUNS,
    quick_runs=2,
    cell=cell,
    figure=Picture("method", tuple(LAWS), dots=True),
    columns=("method", "reference", *(f"{law}{end}" for law in LAWS for end in ("", " error"))),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## The methods of an overview",
        text="The range queries of Table 8 of the overview of descriptive statistics, with measured errors."
        f" n times the mean squared error of all ranges of {SIZES[1]} buckets, or of all boxes over {SIZES[2]} x"
        f" {SIZES[2]} cells, epsilon {EPSILON:g}, {PEOPLE:,} people, {RUNS} runs a line with standard errors. *Smooth*"
        " is Beta(5, 2), or two normal numbers with correlation 0.6; *spiky* has three values that half of the people"
        " share.",
        lead=("method",),
        columns=(
            PageColumn("published by", "reference"),
            PageColumn("smooth", "smooth", ".3g"),
            PageColumn("error", "smooth error", ".2g"),
            PageColumn("spiky", "spiky", ".3g"),
            PageColumn("error", "spiky error", ".2g"),
        ),
    ),
)
