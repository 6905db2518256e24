"""Sizes, shares, sums and means of groups: each with its standard errors, intervals, table and words."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.estimate import PoorIntervalWarning, check_level, check_target
from sottovoce.estimate.evidence import Bounds, deviate
from sottovoce.estimate.group.shown_shares import lowest_share
from sottovoce.estimate.ratio import NOT_ESTIMABLE, Ratios
from sottovoce.estimate.shares.supports import SupportsEvidence

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
V = TypeVar("V", bound="GroupEvidence")


@dataclass(frozen=True, slots=True, eq=False)
class GroupEvidence(ABC):
    """One number for each group. NaN stands for a number that is not estimable from these reports."""

    methods: ClassVar[tuple[str, ...]]
    what: ClassVar[str]
    groups: Sequence[object]
    values: Floats
    limits: tuple[float, float]
    projection: str | None
    simulated: bool = field(default=False, kw_only=True)

    @abstractmethod
    def variances(self, target: str) -> Floats:
        """The estimated variance of each value."""

    @abstractmethod
    def _interval(self, level: float, method: str, target: str) -> Bounds:
        """Intervals by one of the methods."""

    @abstractmethod
    def project(self: V, name: str) -> V:
        """A new view whose values and intervals are where the truth can be."""

    @property
    def estimable(self) -> NDArray[np.bool_]:
        """Which values are shown."""
        return ~np.isnan(self.values)

    @property
    def std_errors(self) -> Floats:
        """Standard errors for the population."""
        return np.sqrt(self.variances("population"))

    def ci(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> Bounds:
        """Intervals, one for each group; all at once where `simultaneous` (Bonferroni).

        What is not estimable lies anywhere in its range.
        """
        check_level(level)
        check_target(target)
        chosen = self.methods[0] if method is None else method
        if chosen not in self.methods:
            raise reject("method", "ci", f"one of {', '.join(self.methods)}", method)
        each = 1 - (1 - level) / len(self.values) if simultaneous else level
        bounds = self._interval(each, chosen, target)
        if self.projection is not None:
            return Bounds(*(np.clip(end, *self.limits) for end in bounds))
        anywhere = ~np.isfinite(bounds.low)
        return Bounds(np.where(anywhere, self.limits[0], bounds.low), np.where(anywhere, self.limits[1], bounds.high))

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> pd.DataFrame:
        """A table; its note says which groups are not estimable."""
        import pandas as pd

        low, high = self.ci(level, method=method, target=target, simultaneous=simultaneous)
        return pd.DataFrame(
            {
                "group": list(self.groups),
                "estimate": self.values,
                "std_error": np.sqrt(self.variances(target)),
                "low": low,
                "high": high,
                "note": np.where(self.estimable, "", NOT_ESTIMABLE),
                **({COLUMN: True} if self.simulated else {}),
            }
        )

    def explain(self, level: float = 0.95) -> str:
        """One sentence for each group."""
        return in_words(self.sentences(level), self.simulated)

    def sentences(self, level: float) -> str:
        """The same, as part of what says already whether it is a simulation."""
        low, high = self.ci(level)
        lines = []
        for place, group in enumerate(self.groups):
            if self.estimable[place]:
                lines.append(
                    f"The {self.what} of group {group!r} is {self.values[place]:.6g} ({level:.0%} interval from"
                    f" {low[place]:.6g} to {high[place]:.6g} for the population)."
                )
            else:
                lines.append(f"The {self.what} of group {group!r} {NOT_ESTIMABLE}: too few reports speak for it.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class GroupSharesEvidence(GroupEvidence):
    """Shares of the groups, or their sizes: support counts mapped through the rates of the key.

    Groups whose means are shown were chosen for their large estimates. The "shown" intervals of these hold given that
    choice: they reach down to where an estimate as large is likely enough among those that are shown. All other groups,
    and all methods other than "shown", have the usual intervals.
    """

    methods: ClassVar[tuple[str, ...]] = ("shown", *SupportsEvidence.methods)
    what: ClassVar[str] = "share"
    supports: SupportsEvidence
    least: NDArray[np.int64]  # supports from which on the mean of a group may be shown
    shown: NDArray[np.bool_]
    scale: float = 1.0  # 1 for shares, n for sizes

    def variances(self, target: str) -> Floats:
        return self.supports.variances(target) * self.scale**2

    def _interval(self, level: float, method: str, target: str) -> Bounds:
        usual = "exact" if method == "shown" else method
        if (text := self.supports.doubt(usual, level)) is not None:
            warnings.warn(text, PoorIntervalWarning, stacklevel=4)
        projected = self.projection is not None
        low, high = (self.supports.inside if projected else self.supports.interval)(level, usual, target)
        # Ten standard errors above the threshold, that a group is shown says nothing more.
        counts = self.supports.counts
        places = np.flatnonzero(self.shown & (counts - self.least < 10 * np.sqrt(counts)))
        if method == "shown" and len(places):
            supports = replace(self.supports, counts=counts[places])
            low[places] = lowest_share(supports, self.least[places], (1 - level) / 2, target, low[places])
        if projected:
            values = np.clip(self.values / self.scale, 0, 1)
            low, high = np.clip(np.minimum(low, values), 0, 1), np.maximum(high, values)
        return Bounds(low * self.scale, high * self.scale)

    def project(self, name: str) -> GroupSharesEvidence:
        return replace(self, values=self.supports.project(name) * self.scale, projection=name)


class GroupSizesEvidence(GroupSharesEvidence):
    """Numbers of participants in each group."""

    what: ClassVar[str] = "size"
    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class GroupSumsEvidence(GroupEvidence):
    """Sums of the values of each group."""

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    what: ClassVar[str] = "sum of values"
    each: dict[str, Floats]  # variances by target

    def variances(self, target: str) -> Floats:
        return self.each[target]

    def _interval(self, level: float, method: str, target: str) -> Bounds:
        half = deviate(level) * np.sqrt(self.each[target])
        return Bounds(self.values - half, self.values + half)

    def project(self, name: str) -> GroupSumsEvidence:
        raise ParameterError("A sum has no projection; ask for the means.")


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeansEvidence(GroupEvidence):
    """Means of the values of each group: a ratio, which is not estimable where the size may be zero."""

    methods: ClassVar[tuple[str, ...]] = ("fieller", "delta")
    what: ClassVar[str] = "mean"
    ratios: dict[str, Ratios]  # by target, less the centre
    centre: float
    steady: NDArray[np.bool_]  # where the reports are enough to know their own variance

    def variances(self, target: str) -> Floats:
        return self.ratios[target].variances()

    def _interval(self, level: float, method: str, target: str) -> Bounds:
        ratios, poor = self.ratios[target], self.estimable & ~self.steady
        if poor.any():
            warnings.warn(
                f"The intervals of {int(poor.sum())} of {len(poor)} groups are poor: the rare reports that make most of"
                " the noise are too few to be seen.",
                PoorIntervalWarning,
                stacklevel=4,
            )
        low, high = ratios.fieller(level) if method == "fieller" else ratios.delta(level)
        return Bounds(
            np.where(self.estimable, low + self.centre, -np.inf), np.where(self.estimable, high + self.centre, np.inf)
        )

    def project(self, name: str) -> GroupMeansEvidence:
        if name != "range":
            raise ParameterError("There is no such projection of group means. Known: range.")
        return replace(self, values=np.clip(self.values, *self.limits), projection=name)
