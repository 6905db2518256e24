"""Means by private group from a tally, with the joint covariance of sizes and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people, reject
from sottovoce.core.question import Question
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import of_all_cells
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    NOT_POOLED,
    POOR_BELOW,
    Bounds,
    Evidence,
    Flags,
    Floats,
    Ints,
    Offer,
)
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.group_mean.combine import CombinedGroupMeansEvidence, weighted_groups
from sottovoce.estimate.group_mean.law import Blocks, Totals, group_law, group_powers, power_sums, report_corners
from sottovoce.estimate.group_mean.ratio import Ratios, Shown, shown_by_size
from sottovoce.estimate.group_mean.truth import Crowd, centre_of, keyed_channel, square_line, steadiness, value_numbers
from sottovoce.estimate.group_mean.views import (
    GroupEstimate,
    GroupEvidence,
    GroupSharesEvidence,
    GroupSizesEvidence,
    GroupSumsEvidence,
)
from sottovoce.estimate.group_mean.within import GroupVariancesEvidence, group_variances
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd

READS = (CountKeyed,)


@dataclass(frozen=True, eq=False)
class GroupMeansEvidence(GroupEvidence):
    """Evidence about the mean of each group, and about its size and sum.

    Sizes and sums are unbiased; a mean is their ratio, so it is not. It is estimable, and shown, if the group's
    estimated size exceeds a threshold: then Fieller's interval is shorter than 0.7 of the range for every mean, the
    size is 3.5 standard errors above zero, and 30 reports support it. Else its value is NaN and its interval the whole
    range. Intervals and tests hold given that a group is shown. If rare reports make most of the noise and too few of
    them were seen, a warning says that intervals are poor.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.FIELLER, Method.DELTA)
    default: ClassVar[Method] = Method.FIELLER
    noun: ClassVar[str] = "mean"
    quality: ClassVar[str] = "ratios of unbiased sums and sizes"
    estimate_class: ClassVar[type[Estimate]] = GroupEstimate
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE, Offer.COVARIANCE})
    mechanism: Mechanism
    n: int
    cells: Ints
    totals: Totals
    question = delegated("mechanism.question")

    @property
    def by_group(self) -> GroupMeansEvidence:
        return self

    @property
    def axes(self) -> Axes:
        return Axes.of("group", self.mechanism.domain.group, heading="group")  # type: ignore[attr-defined]

    @property
    def limits(self) -> tuple[float, float]:
        return value_numbers(self.mechanism.domain).ends  # type: ignore[arg-type]

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> CombinedGroupMeansEvidence:
        parts = tuple(one for one in (self, *others) if isinstance(one, GroupMeansEvidence))
        if weights is None or len(parts) <= len(others):
            raise ParameterError(NOT_POOLED)
        return weighted_groups(parts, weights)

    # --- other numbers of the same groups ----------------------------------------------------------
    @property
    def shares(self) -> GroupSharesEvidence:
        """The share of each group."""
        return GroupSharesEvidence(self)

    @property
    def sizes(self) -> GroupSizesEvidence:
        """How many participants each group has."""
        return GroupSizesEvidence(self)

    @property
    def sums(self) -> GroupSumsEvidence:
        """The sum of the values of each group."""
        return GroupSumsEvidence(self)

    @cached_property
    def within(self) -> GroupVariancesEvidence:
        """The variance of the values within each group whose mean is shown, if the reports determine it."""
        return group_variances(self)

    # --- readings ----------------------------------------------------------------------------------
    def values(self) -> Floats:
        return self.ratios(Target.POPULATION).values() + self.centre

    def variances(self, target: Target) -> Floats:
        return self.ratios(target).variances()

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        """A mean is a sum over a size; fake reports move it farthest where all of them are the same extreme report.

        The moved mean is a ratio of linear functions of the mean (size, sum) of the fake reports, which is largest at a
        corner of all pairs as long as the size stays above zero; else the mean can be anything.
        """
        number = float(fakes.among(self.n)) * self.n
        sizes, sums = self.totals.sizes, self.totals.sums
        size, total = report_corners(keyed_channel(self.mechanism), self.totals.law)
        rest = sizes - number * size[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (sums - number * total[:, None]) / rest + self.centre
        shown, known = self.estimable, (rest > 0).all(axis=0)
        low, high = np.where(known, means.min(axis=0), -np.inf), np.where(known, means.max(axis=0), np.inf)
        return Bounds(np.where(shown, low, np.nan), np.where(shown, high, np.nan))

    def _covariance(self, target: Target) -> Floats:
        """The covariance by the delta method: that of the linear part of each ratio."""
        sizes = np.where(self.estimable, self.totals.sizes, np.nan)
        return np.asarray(self.combined(self.centre - self.values(), target) / np.outer(sizes, sizes))

    @property
    def estimable(self) -> Flags:
        """Which groups are large enough for their mean to be shown."""
        return self._shown.flags

    def interval(self, request: IntervalRequest) -> Bounds:
        ratios = self.ratios(request.target)
        low, high = ratios.fieller(request.level) if request.method == Method.FIELLER else ratios.delta(request.level)
        shown = self.estimable & np.isfinite(low)  # a mean that is not estimable has the whole range as its interval
        least, most = self.limits
        return Bounds(np.where(shown, low + self.centre, least), np.where(shown, high + self.centre, most))

    @remembered
    def normal_is_poor(self) -> Flags:
        """Whether reports are too few to estimate their own variance."""
        values = self.values()
        shares = np.clip(self.totals.sizes / self.n, 0.0, 1.0)
        means = np.where(np.isnan(values), self.centre, values)
        return np.asarray(self.estimable & (self.n * steadiness(self.mechanism, shares, means) < POOR_BELOW))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        poor = self.normal_is_poor()
        if not poor.any():
            return None
        return (
            f"The intervals of {int(poor.sum())} of {len(poor)} groups are poor: the rare reports that make most of the"
            " noise are too few to be seen."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with sizes and shares beside the means."""
        table = super().framed(table).rename(columns={"estimate": "mean"})
        shares = self.supports.values()
        table.insert(1, "size", shares * float(self.n))
        table.insert(2, "share", shares)
        return table

    # --- the joint law -----------------------------------------------------------------------------
    @cached_property
    def centre(self) -> float:
        """The mean of a neutral report, from which sums are counted inside."""
        return centre_of(self.mechanism)

    @cached_property
    def supports(self) -> SupportsEvidence:
        """The reports that support each group, as evidence about the shares of the groups."""
        key = self.totals.law.key
        return SupportsEvidence(self.cells.reshape(key.groups, -1).sum(axis=1), self.n, key.own, key.other)

    @remembered
    def blocks(self, target: Target) -> Blocks:
        """The covariance of sizes and centred sums, entry by entry."""
        return self.totals.covariance(target)

    def joint(self, target: Target) -> tuple[Floats, ...]:
        """Covariance matrices: size with size, size with sum, sum with size, sum with sum."""
        rows, columns = np.indices((len(self.labels), len(self.labels)))
        return self.blocks(target).at(rows, columns)

    def combined(self, factor: Floats, target: Target) -> Floats:
        """The covariance of all sums plus these factors times sizes."""
        sizes, right, left, sums = self.joint(target)
        mixed = factor[:, None] * right + factor[None, :] * left
        return np.asarray(sums + mixed + np.outer(factor, factor) * sizes)

    @cached_property
    def _shown(self) -> Shown:
        """Which means are shown. The rule is mostly about sizes, whose effect on intervals is known."""
        low, high = self.limits
        floor = self.totals.law.key.sizes(np.array(POOR_BELOW - 0.5), self.n)
        return shown_by_size(self._plain(Target.POPULATION), (low - self.centre, high - self.centre), floor)

    @cached_property
    def least(self) -> Ints:
        """Supports from which on a mean may be shown."""
        key = self.totals.law.key
        return np.floor(self._shown.least * key.gap + self.n * key.other).astype(np.int64) + 1

    @remembered
    def _plain(self, target: Target) -> Ratios:
        size, mixed, total = self.blocks(target).diagonals()
        return Ratios(self.totals.sums, self.totals.sizes, total, mixed, size)

    @remembered
    def ratios(self, target: Target) -> Ratios:
        """Sums (less the centre) over sizes, and which of these are shown."""
        return replace(self._plain(target), shown=self._shown)

    @property
    def seen(self) -> Ints:
        """Groups with enough supporting reports for a normal approximation, shown or not."""
        return np.flatnonzero(self.supports.counts >= POOR_BELOW)

    def place(self, group: object) -> int:
        """The number of a group."""
        labels = list(self.labels)
        if group not in labels:
            raise ParameterError(f"Unknown group {group!r}. Known: {', '.join(map(repr, labels[:20]))}.")
        return labels.index(group)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> GroupMeansEvidence:
    """The evidence of cells[group, inner report]."""
    return GroupMeansEvidence(mechanism, n, cells, solve(mechanism, n, cells))


evidence = of_all_cells(from_cells)


def answer(evidence: Evidence, question: Question) -> Evidence | None:
    """The means by group behind evidence about any number of the same groups."""
    groups = evidence.by_group
    return groups if groups is not None and groups.question == question else None


def solve(mechanism: Mechanism, n: int, cells: Ints) -> Totals:
    """Sums by group, unbiased, and lower bounds of the sums of squares."""
    channel = keyed_channel(mechanism)
    law = group_law(channel)
    sizes = law.key.sizes(power_sums(law, cells, 0), n)
    sums = group_powers(law, power_sums(law, cells, 1), sizes, n, 1)
    read_squares = group_powers(law, power_sums(law, cells, 2), sizes, n, 2)
    bound = square_line(channel).bound(read_squares, sums, sizes)
    # A group's sum of squares is at least that of equal values.
    equal = np.where(sizes > 0, sums**2 / np.where(sizes > 0, sizes, 1.0), 0.0)
    return Totals(law, n, sizes, sums, read_squares, np.maximum(bound, equal))


def predicted_variance(
    mechanism: Mechanism, truth: Any = None, n: int = 1, *, target: Target = Target.POPULATION
) -> Floats:
    """The variance of each group's mean from n reports, to first order, with exact covariances of sums and sizes.

    The truth is a `Crowd`, or a pair of the shares of the groups and the priors of their values.
    """
    check_people("n", "variance", n)
    return as_crowd(mechanism, truth).ratios(mechanism, n, target).variances_at_truth()


def as_crowd(mechanism: Mechanism, truth: Any) -> Crowd:
    """A crowd, or the crowd of a pair."""
    if isinstance(truth, Crowd):
        return truth
    keyed_channel(mechanism)
    if truth is not None and (not isinstance(truth, tuple) or len(truth) != 2):
        raise reject("truth", "variance", "a pair of the shares of the groups and the priors of their values", truth)
    shares, priors = truth or (None, None)
    return Crowd.of(mechanism.domain, shares, priors, "variance")  # type: ignore[arg-type]
