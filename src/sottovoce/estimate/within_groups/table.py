"""Shares of the cells of a table of group and answer, and the distribution within one group.

What is asked about the members of a group is a ratio: the share of some cells of the group, over that of all its cells.
If the ratio is m, the numerator less m times the denominator has the mean zero, whatever the size of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import Integers
from sottovoce.core.domain.cells import Cells
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution, Question, WithinGroups
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Flags, Floats, Functional
from sottovoce.estimate.group_mean.ratio import Ratios, Shown
from sottovoce.estimate.request import Method, Target

LEAST_ERRORS = 4.0  # standard errors of its size that a group must have for its numbers to be shown


def flat(mechanism: Mechanism) -> Mechanism:
    """Rebuild the mechanism with its channel, about the numbers of the cells."""
    numbers = Integers(0, (mechanism.domain.size or 1) - 1)
    return Mechanism(mechanism.name, Distribution(numbers), mechanism.channel, mechanism.claimed, mechanism.statistic)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Unbiased shares of all cells; those of a group are neighbours, and reasons for giving no answer come last.

    `sources` are independent evidences of the cells with their weights: one, or one for each stratum.
    """

    asked: WithinGroups
    cells: Cells
    sources: tuple[tuple[float, DistributionEvidence], ...]

    @property
    def n(self) -> int:
        """How many reports there are."""
        return sum(source.n for _, source in self.sources)

    @property
    def groups(self) -> list[object]:
        """The groups, without reasons."""
        return self.asked.groups

    @property
    def width(self) -> int:
        """How many cells a group has."""
        return self.cells.values

    @cached_property
    def shares(self) -> Floats:
        """The unbiased share of each cell."""
        return np.asarray(sum(weight * source.values() for weight, source in self.sources))

    def covariance(self, rows: Floats, target: Target) -> Floats:
        """The covariance of sums of shares, one row of weights each."""
        parts = (weight**2 * source.functional(rows, target).covariance for weight, source in self.sources)
        return np.asarray(sum(parts))

    def spreads(self, rows: Floats, target: Target) -> Floats:
        """The variances of sums of shares."""
        return np.asarray(sum(weight**2 * source.spreads(rows, target) for weight, source in self.sources))

    def excess(self, rows: Floats, level: float, target: Target | None) -> Floats:
        """How many times as often as promised normal intervals of sums of shares may miss, in the worst source."""
        every = [source.excess_of(ShareSums(source, rows), level, target) for _, source in self.sources]
        return np.asarray(np.max(every, axis=0))

    def few(self) -> str | None:
        """The warning about so few reports that no approximation is trusted."""
        return next(filter(None, (source.few() for _, source in self.sources)), None)

    @cached_property
    def by_group(self) -> Floats:
        """One row for each group: the weights of its size."""
        rows = np.zeros((len(self.groups), self.cells.size))
        for group in range(len(rows)):
            rows[group, self.place(group)] = 1
        return rows

    def place(self, group: int) -> slice:
        """The cells of a group."""
        return slice(group * self.width, (group + 1) * self.width)

    @property
    def reasons(self) -> slice:
        """The cells of the reasons for giving no answer."""
        return slice(self.cells.size - self.cells.reasons, self.cells.size)

    @cached_property
    def sizes(self) -> Floats:
        """The share of each group among all."""
        return np.asarray(self.by_group @ self.shares)

    @cached_property
    def estimable(self) -> Flags:
        """Which groups are large enough for their numbers to be shown."""
        errors = np.sqrt(self.spreads(self.by_group, Target.POPULATION))
        return np.asarray(self.sizes > LEAST_ERRORS * errors)

    def ratios(self, target: Target) -> tuple[Ratios, Floats]:
        """The ratio of each cell to its group, and the covariance of all cells, then all groups."""
        count = len(self.groups) * self.width
        rows = np.vstack([np.eye(count, self.cells.size), self.by_group])
        spread = self.covariance(rows, target)
        group = np.repeat(np.arange(len(self.groups)), self.width)
        cell, size = np.arange(count), count + group
        variances = np.maximum(np.diag(spread), 0)
        # Groups are shown for their large estimates: tests and intervals near the threshold take that into account.
        shown = Shown(LEAST_ERRORS * np.sqrt(variances[size]), self.estimable[group], (0.0, 1.0))
        ratios = Ratios(
            self.shares[:count], self.sizes[group], variances[cell], spread[cell, size], variances[size], shown
        )
        return ratios, spread


@dataclass(frozen=True, eq=False)
class GroupDistribution(DistributionEvidence):
    """The distribution of the answers within one group: the shares of its cells over that of the group."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    counted: ClassVar[None] = None  # type: ignore[misc]
    question: ClassVar[Question | None] = None
    table: CellTable
    group: int
    n = delegated("table.n")

    @cached_property
    def buckets(self) -> Buckets:  # type: ignore[override]
        return coded_buckets(self.table.cells.of.value)

    @property
    def size(self) -> float:
        """The share of the group."""
        return float(self.table.sizes[self.group])

    def values(self) -> Floats:
        return np.asarray(self.table.shares[self.table.place(self.group)] / self.size)

    def _rows(self, weights: Floats) -> Floats:
        """Sums within the group less what they should be of its size: the linear part of a ratio."""
        rows = np.atleast_2d(weights)
        away = (rows - (rows @ self.values())[:, None]) / self.size
        full = np.zeros((len(rows), self.table.cells.size))
        full[:, self.table.place(self.group)] = away
        return full

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        return Functional(rows @ self.values(), self.table.covariance(self._rows(rows), target))

    def covariance(self, target: Target) -> Floats:
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        return np.maximum(self.table.spreads(self._rows(weights), target), 0)

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        return self.table.excess(self._rows(sums.rows), level, target) if len(sums.rows) else np.ones(0)

    def few(self) -> str | None:
        if not self.table.estimable[self.group]:
            return f"Group {self.table.groups[self.group]!r} is too small for these intervals."
        return self.table.few()
