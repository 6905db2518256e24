"""Crowds whose labels are permuted: simulated ones, and real ones if SOTTOVOCE_DATA names a folder of data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence, from_cells
from sottovoce.estimate.group_mean.truth import keyed_channel
from sottovoce_experiments.coverage.declared.studies import FILES
from sottovoce_experiments.coverage.group import Cohort, draw_cells, law_at_value
from sottovoce_experiments.runner import data_file

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHARES = {
    "2 unequal": (0.95, 0.05),
    "4 unequal": (0.7, 0.2, 0.092, 0.008),
    "8 equal": (0.125,) * 8,
    "8 unequal": (0.4, 0.25, 0.15, 0.08, 0.06, 0.03, 0.022, 0.008),
}
VALUES = {"low": ((-0.9, -0.6, 0.5), (3, 2, 1)), "high": ((0.6, 0.8, 1.0), (1, 1, 1))}  # of -1 to 1, and their weights
RANGES = {"days_in_hospital": (1, 14), "education_num": (1, 16)}


@dataclass(frozen=True, slots=True)
class PermutedCrowd:
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


def crowd_of(point: Mapping[str, Any]) -> PermutedCrowd:
    """The crowd of a cell: simulated, or the rows of a file with groups and values as columns."""
    if point["groups"] in FILES:
        labels, counts, values, held = _read(point["groups"], point["values"])
        ends = RANGES[point["values"]]
    else:
        shares, (values, weights) = SHARES[point["groups"]], VALUES[point["values"]]
        labels, ends = [f"g{place}" for place in range(len(shares))], (-1, 1)
        counts, held = _dealt(point["n"], shares), _dealt(point["n"], np.array(weights) / sum(weights))
    if counts.sum() != point["n"]:
        raise ParameterError(f"The file {FILES[point['groups']]} must have {point['n']} rows. Got {counts.sum()}.")
    domain = Pair(Categories(labels), Interval(*ends))
    mechanism = build(point["mechanism"], domain, epsilon=point["epsilon"], key=point["key"])
    return PermutedCrowd(mechanism, counts, values, held)


def _read(group: str, value: str) -> tuple[list[str], Ints, tuple[float, ...], Ints]:
    """Labels and values of a file, and how many rows have each."""
    import pandas as pd

    table = pd.read_parquet(data_file(FILES[group]), columns=[group, value])
    groups, numbers = (table[name].value_counts().sort_index() for name in (group, value))
    counts, held = (np.asarray(part, np.int64) for part in (groups, numbers))
    return [str(label) for label in groups.index], counts, tuple(float(value) for value in numbers.index), held


def _dealt(n: int, shares: Sequence[float] | Floats) -> Ints:
    return np.asarray(np.diff(np.rint(n * np.cumsum([0.0, *shares]))), np.int64)
