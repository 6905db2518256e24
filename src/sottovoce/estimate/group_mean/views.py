"""Sizes, shares and sums of groups: each with its standard errors, intervals, covariance and words."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Frequency, Question
from sottovoce.estimate.by_group import ByGroup
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence, Flags, Floats, Offer
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.frequency.base import METHODS
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.group_mean.ratio import NOT_ESTIMABLE
from sottovoce.estimate.group_mean.shown_shares import lowest_share
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.decoder import Decoded, Decoder
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence

MAX_GROUPS = 1 << 11  # of a full covariance matrix


class GroupEstimate(Estimate, ByGroup):
    """An estimate of the means of groups, or of other numbers that were read together with them."""

    __slots__ = ()


class GroupEvidence(Evidence):
    """One number for each group. NaN stands for a number that is not estimable from these reports."""

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.COVARIANCE})

    __slots__ = ()

    def covariance(self, target: Target) -> Floats:
        groups = len(self.labels)
        if groups > MAX_GROUPS:
            raise ParameterError(f"A covariance matrix is available for up to {MAX_GROUPS} groups. Got {groups}.")
        return self._covariance(target)

    @abstractmethod
    def _covariance(self, target: Target) -> Floats:
        """The covariance matrix of at most `MAX_GROUPS` groups."""

    def normal_is_poor(self) -> Flags:
        return np.zeros(len(self.labels), bool)

    def warning(self) -> str | None:
        return None

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        shown = ~np.isnan(estimate.values)
        lines = [f"The {self.noun} is estimable for {int(shown.sum())} of {len(shown)} groups."]
        for place, group in enumerate(self.labels):
            if shown[place]:
                lines.append(
                    f"The {self.noun} of group {group!r} is {estimate.values[place]:.6g} ({level:.0%} interval from"
                    f" {low[place]:.6g} to {high[place]:.6g} for the population)."
                )
            else:
                lines.append(f"The {self.noun} of group {group!r} {NOT_ESTIMABLE}: too few reports support it.")
        return "\n".join(lines)

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(note=np.where(np.isnan(self.values()), NOT_ESTIMABLE, ""))


@dataclass(frozen=True, slots=True, eq=False)
class PartOfGroups(GroupEvidence):
    """Numbers that were read together with the means of the groups."""

    estimate_class: ClassVar[type[Estimate]] = GroupEstimate
    means: GroupMeansEvidence
    n = delegated("means.n")
    axes = delegated("means.axes")
    by_group = delegated("means")


class GroupSharesEvidence(PartOfGroups):
    """Shares of the groups, or their sizes: support counts mapped through the rates of the key.

    Groups whose means are shown were chosen for their large estimates. The "shown" intervals of these hold given that
    choice: they reach down to the least share for which an estimate this large, given that it is shown, is not
    rejected. All other groups, and all methods other than "shown", have the usual intervals.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.SHOWN, *METHODS)
    default: ClassVar[Method] = Method.SHOWN
    noun: ClassVar[str] = "share"
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES, Offer.NULL_ERRORS, Offer.COVARIANCE})
    __slots__ = ()

    @property
    def scale(self) -> float:
        """The sum of all values: 1 for shares, n for sizes."""
        return 1.0

    @property
    def supports(self) -> SupportsEvidence:
        """The reports that support each group."""
        return self.means.supports

    @property
    def question(self) -> Question:
        return Frequency(self.means.mechanism.domain.group)  # type: ignore[attr-defined]

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, self.scale

    def values(self) -> Floats:
        return self.supports.values() * self.scale

    def variances(self, target: Target) -> Floats:
        return self.supports.variances(target) * self.scale**2

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        """Bounds under fake reports; sizes count the other participants."""
        bounds = self.supports.without_fakes(fakes)
        scale = 1.0 if self.scale == 1 else self.n * (1 - float(fakes.among(self.n)))
        return None if bounds is None else Bounds(*(end * scale for end in bounds))

    def _covariance(self, target: Target) -> Floats:
        sizes, *_ = self.means.joint(target)
        return sizes if self.scale == self.n else np.asarray(sizes / self.n**2)

    def decoded(self, decoder: Decoder) -> Decoded:
        decoded = self.supports.decoded(decoder)
        return decoded._replace(values=decoded.values * self.scale)

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return self.supports.doubt(request.instead_of(Method.SHOWN, use=Method.EXACT), most)

    def interval(self, request: IntervalRequest) -> Bounds:
        return self._given_shown(self.supports.interval(request.instead_of(Method.SHOWN, use=Method.EXACT)), request)

    def inside(self, request: IntervalRequest) -> Bounds:
        bounds = self._given_shown(self.supports.inside(request.instead_of(Method.SHOWN, use=Method.EXACT)), request)
        return Bounds(*(np.clip(end, *self.limits) for end in bounds))

    def _given_shown(self, bounds: Bounds, request: IntervalRequest) -> Bounds:
        """The lower ends of groups that are shown, if the selection has an effect."""
        low, high = bounds
        # Ten standard errors above the threshold the selection has no effect.
        counts, least, alpha = self.supports.counts, self.means.least, (1 - request.level) / 2
        places = np.flatnonzero(self.means.estimable & (counts - least < 10 * np.sqrt(counts)))
        if request.method == Method.SHOWN and len(places):
            supports = replace(self.supports, counts=counts[places])
            low[places] = lowest_share(supports, least[places], alpha, request.target, low[places])
        return Bounds(low * self.scale, high * self.scale)


class GroupSizesEvidence(GroupSharesEvidence):
    """Numbers of participants in each group."""

    noun: ClassVar[str] = "size"
    __slots__ = ()

    @property
    def scale(self) -> float:
        return float(self.supports.n)


class GroupSumsEvidence(PartOfGroups):
    """Sums of the values of each group, in the numbers of the answers."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "sum of values"
    __slots__ = ()

    @property
    def limits(self) -> tuple[float, float]:
        low, high = self.means.limits
        return self.n * min(low, 0.0), self.n * max(high, 0.0)

    def values(self) -> Floats:
        totals = self.means.totals
        return totals.sums + self.means.centre * totals.sizes

    def variances(self, target: Target) -> Floats:
        centre = self.means.centre
        size, mixed, total = self.means.blocks(target).diagonals()
        return np.maximum(total + 2 * centre * mixed + centre**2 * size, 0.0)

    def _covariance(self, target: Target) -> Floats:
        return self.means.combined(np.full(len(self.labels), self.means.centre), target)
