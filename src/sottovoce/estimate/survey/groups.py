"""Means by private group from weighted reports: ratios of weighted sums and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import MOST_EXCESS, POOR_BELOW, Bounds, Evidence, Flags, Floats, Ints, Offer
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence, solve
from sottovoce.estimate.group_mean.law import Blocks, Totals
from sottovoce.estimate.group_mean.truth import steadiness
from sottovoce.estimate.group_mean.views import GroupSharesEvidence, GroupSizesEvidence
from sottovoce.estimate.group_mean.within import GroupVariancesEvidence
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.survey.evidence import FEW_DRAWS
from sottovoce.estimate.survey.units import Units
from sottovoce.tally.tally import Tally
from sottovoce.tally.weighted import WeightedTally


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores of reports, for each group its size, then its sum: from totals with weights, and with squared ones."""

    weighted: Totals
    squared: Totals

    @classmethod
    def of(cls, tally: WeightedTally) -> GroupScores:
        """The scores of a weighted tally."""
        return cls(_solved(tally.weighted), _solved(tally.squared))

    def first(self) -> Floats:
        return _shares(self.weighted)

    def second(self) -> Floats:
        return _shares(self.squared)

    def spread(self, rows: Floats | None, target: Target) -> Floats:
        totals = self.squared
        spread = totals.covariance(target).full(np.arange(len(totals.sizes))) / totals.n
        return np.asarray(np.diag(spread) if rows is None else rows @ spread @ rows.T)


def _solved(tally: Tally) -> Totals:
    return solve(tally.mechanism, tally.n, tally.cells)


def _shares(totals: Totals) -> Floats:
    return np.concatenate([totals.sizes, totals.sums]) / totals.n


@dataclass(frozen=True, slots=True, eq=False)
class DenseBlocks(Blocks):
    """The covariance of (sizes, sums) as a matrix."""

    matrix: Floats

    def at(self, rows: Ints, columns: Ints) -> tuple[Floats, ...]:
        half = len(self.matrix) // 2
        return tuple(self.matrix[rows + down, columns + right] for down in (0, half) for right in (0, half))


class SurveyGroupShares(GroupSharesEvidence):
    """Weighted shares of the groups, with normal intervals."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES, Offer.COVARIANCE})
    __slots__ = ()

    def variances(self, target: Target) -> Floats:
        return np.maximum(np.diag(self._covariance(target)), 0)

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return self.means.doubt(request, most)

    def interval(self, request: IntervalRequest) -> Bounds:
        return self.normal(request)

    def inside(self, request: IntervalRequest) -> Bounds:
        return Evidence.inside(self, request)


@dataclass(frozen=True, eq=False)
class SurveyGroupMeans(GroupMeansEvidence):
    """Weighted means of groups. Sizes and sums are those of as many participants as there are reports."""

    units: Units
    lopsided: float

    @property
    def shares(self) -> GroupSharesEvidence:
        return SurveyGroupShares(self)

    @property
    def sizes(self) -> GroupSizesEvidence:
        raise ParameterError("A survey with weights has shares of groups: multiply `shares` by the population.")

    @property
    def within(self) -> GroupVariancesEvidence:
        raise ParameterError("Variances within groups are not known for weighted reports.")

    @remembered
    def blocks(self, target: Target) -> Blocks:
        matrix = self.units.covariance(np.eye(2 * len(self.labels)), target) * self.n**2
        plain = self.totals.covariance(target)
        return DenseBlocks(plain.sizes, plain.mixed, plain.sums, None, self.n, matrix)

    @remembered
    def normal_is_poor(self) -> Flags:
        values = self.values()
        shares = np.clip(self.totals.sizes / self.n, 0.0, 1.0)
        means = np.where(np.isnan(values), self.centre, values)
        worth = self.units.effective / self.lopsided
        return np.asarray(self.estimable & (worth * steadiness(self.mechanism, shares, means) < POOR_BELOW))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        if self.units.free < FEW_DRAWS:
            return f"Intervals of groups are poor: only {sum(self.units.draws)} clusters or people were drawn."
        return GroupMeansEvidence.doubt(self, request, most)


def weighed_groups(mechanism: Mechanism, n: int, rates: Floats, units: Units, lopsided: float) -> SurveyGroupMeans:
    """Means by group from the weighted mean of what each report adds to the cells of a tally.

    Cells are scaled to n reports and not rounded, which would bias small counts.
    """
    cells: Any = rates * n
    return SurveyGroupMeans(mechanism, n, cells, solve(mechanism, n, cells), units, lopsided)
