"""Tables in the residual basis: main effects and interactions are estimated from all reports that hold them.

The share of a cell of table M is 1 / K_M plus one residual for each block A, a non-empty set of its attributes:
p_M(u) = sum over A of r_A(u_A) K_A / K_M, where r_A is the marginal table of A, centred along every axis, and K counts
cells. Reports about view V (a set of attributes) determine r_A for all A inside V. Estimates of one block from several
views are combined with weights in proportion to their precision at equal shares; these depend on the numbers of reports
alone, so that values are unbiased and their variances follow from the law of the reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Supporting, need
from sottovoce.core.channel.shapes import shared_rates
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import POOR_BELOW, Flags, Floats
from sottovoce.estimate.joint.waves import WaveReading
from sottovoce.estimate.request import Target

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContrastVariance:
    """The variance of sum_v h_v f_v, estimated from one report, for h that sums to zero and true shares f:

    free * sum h**2 + slope * sum h**2 f - (sum h f)**2. The last term is the spread of the answers themselves.
    """

    free: float
    slope: float

    @classmethod
    def of(cls, channel: Channel) -> ContrastVariance:
        """The variance of reports that support codes with two rates, and pairs of codes with two rates."""
        rates, pair = shared_rates(channel), need(channel, Supporting).pair()
        if rates is None or pair is None or channel.publics:
            raise ParameterError(f"Tables are not read from a {channel.kind} channel: use subset.")
        own, other, one, none = (float(rate) for rate in (*rates, *pair))
        gap = own - other
        single = (other * (1 - other) / gap**2, (1 - 2 * other) / gap)
        double = ((none - other**2) / gap**2, (one - none - other * gap) / gap**2)
        return cls(single[0] - double[0], single[1] - 2 * double[1])

    def spread(self, cells: int) -> float:
        """The variance of one cell's residual from one report, times the number of cells, at equal shares."""
        return cells * self.free + self.slope


@dataclass(frozen=True, slots=True, eq=False)
class ViewReading:
    """Reports about one set of attributes: unbiased shares of the cells, and the law of their errors."""

    names: Names
    shares: Floats  # one axis for each attribute
    n: float
    law: ContrastVariance
    supports: Floats | None = None  # reports that may mean each cell, where some cells may have too few; else None

    @property
    def cells(self) -> int:
        """How many cells the view has."""
        return self.shares.size

    @property
    def precision(self) -> float:
        """The inverse variance of a contrast of weight one at equal shares, times the number of cells."""
        return self.n / self.law.spread(self.cells)

    def marginal(self, names: Iterable[str]) -> Floats:
        """The shares of some of the attributes, in the order of the view."""
        kept = {*names}
        return np.asarray(self.shares.sum(tuple(i for i, name in enumerate(self.names) if name not in kept)))

    def supporting(self, names: Iterable[str]) -> Floats | None:
        """The reports that may mean each cell of some of the attributes; None where they are enough."""
        return None if self.supports is None else replace(self, shares=self.supports).marginal(names)

    def covariance(self, scores: Floats) -> Floats:
        """The covariance of weighted sums of the cells, one row of weights each; every row sums to zero."""
        means = scores @ self.shares.ravel()
        weights = self.law.free + self.law.slope * np.clip(self.shares, 0, 1).ravel()
        return np.asarray(((scores * weights) @ scores.T - np.outer(means, means)) / self.n)


def parts(names: Sequence[str]) -> Iterator[Names]:
    """All non-empty subsets, small ones first."""
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def centred(table: Floats, first: int = 0) -> Floats:
    """A table less its means, along every axis from `first` on: the interaction of all attributes."""
    for axis in range(first, table.ndim):
        table = table - table.mean(axis, keepdims=True)
    return table


def placed(table: Floats, own: Sequence[str], names: Sequence[str], first: int = 0) -> Floats:
    """A table of some attributes with axes of length one for the others, after `first` other axes."""
    held = dict(zip(own, table.shape[first:], strict=True))
    return table.reshape(*table.shape[:first], *(held.get(name, 1) for name in names))


class Reported(NamedTuple):
    """The residual of a block of attributes as it was reported, and the inverse variance of each of its cells."""

    names: Names
    residual: Floats
    precision: float


class TableSource(ABC):
    """Reports that determine tables: unbiased shares of their cells and the law of their errors."""

    sizes: dict[str, int]  # the attributes in the order of the record

    @property
    def waves(self) -> tuple[WaveReading, ...]:
        """Reports about fine buckets of a number; none but from views that are asked so."""
        return ()

    @property
    @abstractmethod
    def n(self) -> int:
        """How many reports there are."""

    @abstractmethod
    def precision(self, block: Names) -> float:
        """The inverse variance of a contrast of a block at equal shares, times its number of cells; 0 if unknown."""

    @abstractmethod
    def blocks(self) -> list[Reported]:
        """The residuals of all blocks that reports tell."""

    def blocks_of_views(self) -> list[Reported]:
        """The residuals of all blocks without the reports of waves, which a fit reads by themselves."""
        return self.blocks()

    @abstractmethod
    def values(self, names: Names) -> Floats:
        """Unbiased shares of the cells of a table, one axis for each attribute."""

    @abstractmethod
    def variances(self, names: Names, target: Target = Target.POPULATION) -> Floats:
        """The variance of each cell, by the law of the reports at the estimated shares."""

    @abstractmethod
    def covariance(self, functionals: Sequence[tuple[Names, Floats]], target: Target = Target.POPULATION) -> Floats:
        """The covariance of weighted sums of cells. Each item has a table and rows of weights for all its cells.

        Rows of several tables are added: the functional of a row is its sum over all tables.
        """

    @abstractmethod
    def joined(self, others: Sequence[TableSource]) -> TableSource | None:
        """The reports of these and other people together, or None where they are of different designs."""

    @abstractmethod
    def few(self, names: Names) -> Flags:
        """Which cells of a table have too few reports for a normal interval, in the order of the record."""

    def about(self, sizes: dict[str, int]) -> TableSource:
        """The reports as a source of tables of other attributes."""
        return replace(self, sizes=sizes)  # type: ignore[type-var]

    def ordered(self, names: Iterable[str]) -> Names:
        """Attributes in the order of the record."""
        return tuple(name for name in self.sizes if name in {*names})

    def cells(self, names: Iterable[str]) -> int:
        """How many cells a table has."""
        return prod(self.sizes[name] for name in names)

    def check(self, names: Names) -> None:
        """Refuse a table whose interactions no report holds."""
        missing = [block for block in parts(names) if not self.precision(block)]
        if missing:
            raise ParameterError(
                f"No report is about {' and '.join(missing[0])} together. Ask for this table: name it in `tables`."
            )

    def refuse_sample(self, target: Target) -> None:
        """Refuse errors about these participants for sums over several tables."""
        if target == Target.SAMPLE:
            raise ParameterError("Sums over several tables have errors for the population only.")

    def spread_of_answers(self, names: Names, flat: Floats) -> Floats:
        """The spread of the answers of all participants, which is no error about these participants."""
        shares = np.clip(self.values(names), 0, 1).ravel()
        means = flat @ shares
        return np.asarray(((flat * shares) @ flat.T - np.outer(means, means)) / self.n)


@dataclass(frozen=True, eq=False)
class ResidualTables(TableSource):
    """All tables that the views determine."""

    sizes: dict[str, int]
    views: tuple[ViewReading | WaveReading, ...]

    @property
    def waves(self) -> tuple[WaveReading, ...]:
        """Reports about fine buckets, each of which a fit reads by its own law."""
        return tuple(view for view in self.views if isinstance(view, WaveReading))

    @property
    def n(self) -> int:
        return int(sum(view.n for view in self.views))

    def joined(self, others: Sequence[TableSource]) -> TableSource | None:
        views = [other.views for other in others if isinstance(other, ResidualTables)]
        return None if len(views) < len(others) else replace(self, views=tuple(sum(views, self.views)))

    def few(self, names: Names) -> Flags:
        held = [view.supporting(names) for view in self.views if {*names} <= {*view.names}]
        shape = [self.sizes[name] for name in names]
        known = [supports for supports in held if supports is not None]
        if len(known) < len(held):
            return np.zeros(shape, bool)
        reports = sum(view.n for view in self.views if {*names} <= {*view.names})
        total = np.sum([np.zeros(shape), *known], axis=0)
        return np.asarray(np.minimum(total, reports - total) < POOR_BELOW)

    @cached_property
    def _precisions(self) -> dict[Names, float]:
        total: dict[Names, float] = {}
        for view in self.views:
            for block in parts(view.names) if view.n else ():
                total[block] = total.get(block, 0.0) + view.precision
        return total

    def precision(self, block: Names) -> float:
        return self._precisions.get(block, 0.0)

    def blocks(self) -> list[Reported]:
        return [
            Reported(block, residual, self.precision(block) * self.cells(block))
            for block, residual in self.residuals.items()
        ]

    def blocks_of_views(self) -> list[Reported]:
        views = tuple(view for view in self.views if isinstance(view, ViewReading))
        return self.blocks() if len(views) == len(self.views) else replace(self, views=views).blocks()

    @cached_property
    def _weights(self) -> dict[Names, dict[int, float]]:
        weights: dict[Names, dict[int, float]] = {}
        for place, view in enumerate(self.views):
            for block in parts(view.names) if view.n else ():
                weights.setdefault(block, {})[place] = view.precision / self.precision(block)
        return weights

    @cached_property
    def residuals(self) -> dict[Names, Floats]:
        """The estimated residual of each block."""
        return {
            block: np.asarray(
                sum(weight * centred(self.views[place].marginal(block)) for place, weight in of_views.items())
            )
            for block, of_views in self._weights.items()
        }

    def values(self, names: Names) -> Floats:
        self.check(names)
        cells = self.cells(names)
        table = np.full([self.sizes[name] for name in names], 1 / cells)
        for block in parts(names):
            table += placed(self.residuals[block], block, names) * (self.cells(block) / cells)
        return table

    # --- variances -------------------------------------------------------------------------------
    def _held(self, names: Names) -> Iterator[tuple[ViewReading | WaveReading, Names, dict[Names, float]]]:
        """Each view that tells about a table: the attributes that it shares with it, and its weight in each block."""
        for place, view in enumerate(self.views):
            shared = tuple(name for name in names if name in view.names)
            if shared and view.n:
                yield view, shared, {block: self._weights[block][place] for block in parts(shared)}

    def variances(self, names: Names, target: Target = Target.POPULATION) -> Floats:
        self.check(names)
        cells = self.cells(names)
        total = np.zeros([self.sizes[name] for name in names])
        for view, shared, weights in self._held(names):
            if isinstance(view, WaveReading):
                own = np.eye(view.cells) - 1 / view.cells
                spread = weights[shared] ** 2 * (view.cells / cells) ** 2 * np.diag(view.covariance(own))
                total += placed(spread, shared, names)
                continue
            scaled = {block: weight * self.cells(block) / cells for block, weight in weights.items()}
            free, noise = 0.0, np.zeros(total.shape)
            for block, square in self._squares(shared, scaled).items():
                free += square * view.cells / self.cells(block)
                shares = np.clip(view.marginal(block), 0, 1) if block else np.ones(())
                noise = noise + square * placed(shares, block, names)
            mean = sum(factor * placed(centred(view.marginal(block)), block, names) for block, factor in scaled.items())
            total += (view.law.free * free + view.law.slope * noise - np.square(mean)) / view.n
        if target == Target.SAMPLE:
            shares = np.clip(self.values(names), 0, 1)
            total -= shares * (1 - shares) / self.n
        return np.maximum(total, 0)

    def _squares(self, shared: Names, scaled: dict[Names, float]) -> dict[Names, float]:
        """The square of the weight of an answer in a cell, as a sum over the attributes in which they agree.

        The weight of an answer depends only on the set of attributes that it shares with the cell. So its square is a
        sum of coefficients over subsets of that set (Moebius inversion), and its mean needs marginal tables alone.
        """
        subsets: list[Names] = [(), *parts(shared)]
        weight = {
            agreed: sum(
                factor * prod((name in agreed) - 1 / self.sizes[name] for name in block)
                for block, factor in scaled.items()
            )
            for agreed in subsets
        }
        return {
            agreed: sum(
                (-1) ** (len(agreed) - len(inner)) * weight[inner] ** 2 for inner in subsets if {*inner} <= {*agreed}
            )
            for agreed in subsets
        }

    def covariance(self, functionals: Sequence[tuple[Names, Floats]], target: Target = Target.POPULATION) -> Floats:
        count = len(functionals[0][1])
        total = np.zeros((count, count))
        for place, view in enumerate(self.views):
            if not view.n or not any({*names} & {*view.names} for names, _ in functionals):
                continue
            scores = np.zeros((count, *view.shares.shape))
            for names, rows in functionals:
                shared = tuple(name for name in names if name in view.names)
                for block in parts(shared):
                    factor = self._weights[block][place] * self.cells(block) / self.cells(names)
                    scores = scores + factor * placed(centred(_summed(rows, names, block), 1), block, view.names, 1)
            total += view.covariance(scores.reshape(count, -1))
        if target == Target.SAMPLE:
            if len(functionals) > 1:
                self.refuse_sample(target)
            ((names, rows),) = functionals
            total -= self.spread_of_answers(names, rows.reshape(count, -1))
        return total


def _summed(rows: Floats, names: Names, block: Names) -> Floats:
    """Weights of the cells of a table, summed to those of a block; the first axis counts the rows."""
    return np.asarray(rows.sum(tuple(i for i, name in enumerate(names, 1) if name not in block)))
