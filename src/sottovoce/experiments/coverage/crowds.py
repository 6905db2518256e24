"""Crowds whose labels are permuted: invented ones, and real ones where SOTTOVOCE_DATA names a folder of data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.group.evidence import GroupMeansEvidence, from_cells
from sottovoce.estimate.group.truth import keyed_channel
from sottovoce.experiments.coverage.group import Cohort, draw_cells, law_at_value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DATA_VARIABLE = "SOTTOVOCE_DATA"
SHARES = {
    "2 unequal": (0.95, 0.05),
    "4 unequal": (0.7, 0.2, 0.092, 0.008),
    "8 equal": (0.125,) * 8,
    "8 unequal": (0.4, 0.25, 0.15, 0.08, 0.06, 0.03, 0.022, 0.008),
}
VALUES = {"low": ((-0.9, -0.6, 0.5), (3, 2, 1)), "high": ((0.6, 0.8, 1.0), (1, 1, 1))}  # of -1 to 1, and their weights
FILES = {"race": "diabetes_130_hospitals.parquet", "occupation": "adult.parquet"}
RANGES = {"days_in_hospital": (1, 14), "education_num": (1, 16)}


class Cell(NamedTuple):
    """One line of the table before it is computed. Real groups and values are columns of a file, without n."""

    method: str
    key: str
    epsilon: float
    n: int | None
    groups: str
    values: str

    @property
    def real(self) -> bool:
        """Whether the line needs a file."""
        return self.groups in FILES


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
    Cell("group-nprr", "grr", 1.5, 3_000, "4 unequal", "high"),
    Cell("group-bernoulli", "grr", 3.0, 3_000, "2 unequal", "low"),
    Cell("group-bernoulli", "subset", 0.75, 3_000, "8 equal", "high"),
    Cell("group-nprr", "subset", 1.5, 6_000, "8 unequal", "low"),
    Cell("group-bernoulli", "subset", 1.5, 20_000, "4 unequal", "high"),
    Cell("group-nprr", "grr", 0.75, None, "race", "days_in_hospital"),
    Cell("group-nprr", "grr", 3.0, None, "race", "days_in_hospital"),
    Cell("group-nprr", "grr", 1.5, None, "occupation", "education_num"),
    Cell("group-bernoulli", "grr", 3.0, None, "occupation", "education_num"),
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

    def estimates(self, runs: int, rng: np.random.Generator) -> Iterator[GroupMeansEvidence]:
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


def folder() -> Path | None:
    """Where the files of real answers are, if that is said."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def crowd_of(cell: Cell) -> Crowded:
    """The crowd of a cell."""
    if cell.real:
        labels, counts, values, held = _read(cell)
        ends = RANGES[cell.values]
    else:
        shares, (values, weights) = SHARES[cell.groups], VALUES[cell.values]
        labels, n, ends = [f"g{place}" for place in range(len(shares))], cell.n or 0, (-1, 1)
        counts, held = _dealt(n, shares), _dealt(n, np.array(weights) / sum(weights))
    domain = Pair(Categories(labels), Interval(*ends))
    return Crowded(build(cell.method, domain, epsilon=cell.epsilon, key=cell.key), counts, values, held)


def _read(cell: Cell) -> tuple[list[str], Ints, tuple[float, ...], Ints]:
    """Labels and values of a file, and how many rows have each."""
    import pandas as pd

    place = folder()
    if place is None:
        raise FileNotFoundError(f"{DATA_VARIABLE} names no folder of data.")
    table = pd.read_parquet(place / FILES[cell.groups], columns=[cell.groups, cell.values])
    groups, numbers = (table[name].value_counts().sort_index() for name in (cell.groups, cell.values))
    counts, held = (part.to_numpy(np.int64) for part in (groups, numbers))
    return [str(label) for label in groups.index], counts, tuple(float(value) for value in numbers.index), held


def _dealt(n: int, shares: Sequence[float] | Floats) -> Ints:
    return np.diff(np.rint(n * np.cumsum([0.0, *shares]))).astype(np.int64)
