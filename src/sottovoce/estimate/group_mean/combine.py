"""Means by group from several tallies: the ratio of weighted sums to weighted sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import MOST_EXCESS, POOR_BELOW, Bounds, Flags, Floats
from sottovoce.estimate.group_mean.ratio import Ratios, Shown, shown_by_size
from sottovoce.estimate.group_mean.views import GroupEvidence
from sottovoce.estimate.parts import OfParts
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence


@dataclass(frozen=True, eq=False)
class CombinedGroupMeansEvidence(OfParts, GroupEvidence):
    """Sizes and sums of each group, added over independent tallies with weights that do not depend on the reports.

    Sizes and sums are unbiased for every weight, if all tallies describe one population. A mean is their ratio, shown
    and given an interval by the same rule as in one tally.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.FIELLER, Method.DELTA)
    default: ClassVar[Method] = Method.FIELLER
    noun: ClassVar[str] = "mean"
    quality: ClassVar[str] = "ratios of unbiased sums and sizes"
    parts: tuple[GroupMeansEvidence, ...]
    weights: Floats  # of a report of each part; their mean over all reports is one

    @property
    def centre(self) -> float:
        """The middle of the range, from which sums are counted."""
        low, high = self.limits
        return float(low + high) / 2

    def values(self) -> Floats:
        return self.ratios(Target.POPULATION).values() + self.centre

    def variances(self, target: Target) -> Floats:
        return self.ratios(target).variances()

    def interval(self, request: IntervalRequest) -> Bounds:
        ratios = self.ratios(request.target)
        low, high = ratios.fieller(request.level) if request.method == Method.FIELLER else ratios.delta(request.level)
        shown, (least, most) = self._shown.flags & np.isfinite(low), self.limits
        return Bounds(np.where(shown, low + self.centre, least), np.where(shown, high + self.centre, most))

    def normal_is_poor(self) -> Flags:
        return np.asarray(self._shown.flags & np.any([part.normal_is_poor() for part in self.parts], axis=0))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return next(filter(None, (part.doubt(request, most) for part in self.parts)), None)

    def _covariance(self, target: Target) -> Floats:
        """The covariance of the linear parts of the ratios, by the delta method."""
        values = self.values()
        sizes = np.where(self._shown.flags, self._plain(target).bottom, np.nan)
        parts = zip(self.weights, self.parts, strict=True)
        sums = sum(w**2 * part.combined(part.centre - values, target) for w, part in parts)
        return np.asarray(sums / np.outer(sizes, sizes))

    @remembered
    def _plain(self, target: Target) -> Ratios:
        """Weighted sums, less the centre, over weighted sizes."""
        total = np.zeros((5, len(self.labels)))
        for weight, part in zip(self.weights, self.parts, strict=True):
            shift = part.centre - self.centre
            size, mixed, spread = part.blocks(target).diagonals()
            sizes, sums = part.totals.sizes, part.totals.sums
            total[:2] += weight * np.array([sums + shift * sizes, sizes])
            total[2:] += weight**2 * np.array(
                [spread + 2 * shift * mixed + shift**2 * size, mixed + shift * size, size]
            )
        return Ratios(*total)

    @cached_property
    def _shown(self) -> Shown:
        low, high = self.limits
        seen = np.array([part.supports.counts for part in self.parts]).sum(axis=0) >= POOR_BELOW
        shown = shown_by_size(
            self._plain(Target.POPULATION), (low - self.centre, high - self.centre), np.zeros(len(self.labels))
        )
        return Shown(shown.least, shown.flags & seen, shown.limits)

    @remembered
    def ratios(self, target: Target) -> Ratios:
        """Sums over sizes, and which of these are shown."""
        return replace(self._plain(target), shown=self._shown)


def weighted_groups(parts: tuple[GroupMeansEvidence, ...], weights: Sequence[float]) -> CombinedGroupMeansEvidence:
    """Sizes and sums of several tallies, in which the reports of each weigh as much as its share of the weights."""
    scaled = np.asarray(weights, float)
    same = all(part.question == parts[0].question for part in parts)
    if scaled.shape != (len(parts),) or not (scaled > 0).all() or not same:
        raise ParameterError("Combining means by group needs the same groups in each tally, and positive weights.")
    people = np.array([part.n for part in parts], float)
    return CombinedGroupMeansEvidence(parts, scaled / scaled.sum() * people.sum() / people)
