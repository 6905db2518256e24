"""Sizes, sums and means by private group from a tally, with their joint covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, reject
from sottovoce.core.simulation import in_words, marked
from sottovoce.estimate.estimate import TARGETS, check_level, check_tally, check_target
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Supports
from sottovoce.estimate.group.contrasts import (
    Difference,
    Equality,
    Pairs,
    all_pairs,
    check_difference,
    difference,
    equality,
    power_at,
)
from sottovoce.estimate.group.law import Blocks, Totals, group_law, group_powers, power_sums
from sottovoce.estimate.group.spread import Spreads, group_spreads
from sottovoce.estimate.group.truth import Crowd, centre_of, keyed_channel, square_line, steadiness, value_numbers
from sottovoce.estimate.group.views import Means, Shares, Sizes, Sums
from sottovoce.estimate.ratio import Ratios, Shown, shown_by_size
from sottovoce.tally.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")
KINDS = ("sizes", "shares", "sums", "means")
MAX_GROUPS = 1 << 11  # of a covariance matrix that is written down


@dataclass(frozen=True, eq=False)
class GroupEstimate:
    """What a tally says of each group. `values`, `std_errors` and `ci` are those of the means.

    Sizes and sums are unbiased; a mean is their ratio, so it is not. It is estimable, and shown, where the group's
    estimated size exceeds a threshold: there, Fieller's interval is shorter than 0.7 of the range whatever the mean is,
    the size is 3.5 standard errors above zero, and 30 reports support it. Else its value is NaN and its interval the
    whole range. Intervals and tests hold given that a group is shown. Where rare reports make most of the noise and are
    too few to be seen, a warning says that intervals are poor.
    """

    mechanism: Mechanism
    n: int
    cells: Ints
    totals: Totals
    simulated: bool = False

    # --- four views --------------------------------------------------------------------------------
    @property
    def groups(self) -> Sequence[object]:
        """The names of the groups."""
        return self.mechanism.domain.group.labels()  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def shares(self) -> Shares:
        """The share of each group."""
        supports = self._supports
        found = Shares(self.groups, supports.values(), (0.0, 1.0), None, supports, self._least, self._shown.flags)
        return self._marked(found)

    @cached_property
    def sizes(self) -> Sizes:
        """How many participants each group has."""
        supports = self._supports
        limits, values = (0.0, float(self.n)), supports.values() * self.n
        found = Sizes(self.groups, values, limits, None, supports, self._least, self._shown.flags, float(self.n))
        return self._marked(found)

    @cached_property
    def sums(self) -> Sums:
        """The sum of the values of each group, in the numbers of the answers."""
        centre, each = self.centre, {}
        for target in TARGETS:
            size, mixed, total = self.blocks(target).diagonals()
            each[target] = np.maximum(total + 2 * centre * mixed + centre**2 * size, 0.0)
        ends = self._ends
        limits = self.n * min(ends[0], 0.0), self.n * max(ends[1], 0.0)
        return self._marked(Sums(self.groups, self.totals.sums + centre * self.totals.sizes, limits, None, each))

    @cached_property
    def means(self) -> Means:
        """The mean value of each group."""
        ratios = {target: self.ratios(target) for target in TARGETS}
        values = ratios["population"].values() + self.centre
        shares = np.clip(self.totals.sizes / self.n, 0.0, 1.0)
        means = np.where(np.isnan(values), self.centre, values)
        steady = self.n * steadiness(self.mechanism, shares, means) >= POOR_BELOW
        return self._marked(Means(self.groups, values, self._ends, None, ratios, self.centre, steady))

    def _marked(self, part: T) -> T:
        """A part of this estimate, which is a simulation where the whole is."""
        return cast(T, marked(part, self.simulated))

    @property
    def values(self) -> Floats:
        """The means; NaN where they are not estimable."""
        return self.means.values

    @property
    def std_errors(self) -> Floats:
        """Standard errors of the means for the population, by the delta method."""
        return self.means.std_errors

    @property
    def estimable(self) -> NDArray[np.bool_]:
        """Which groups are large enough for their mean to be shown."""
        return self._shown.flags

    def ci(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> Bounds:
        """Intervals of the means, by "fieller" (the default) or "delta"."""
        return self.means.ci(level, method=method, target=target, simultaneous=simultaneous)

    # --- the joint law -----------------------------------------------------------------------------
    @property
    def centre(self) -> float:
        """The mean of a neutral report, from which sums are counted inside."""
        return centre_of(self.mechanism)

    @property
    def _ends(self) -> tuple[float, float]:
        low, high, origin = value_numbers(self.mechanism.domain)  # type: ignore[arg-type]
        return float(low + origin), float(high + origin)

    @property
    def _supports(self) -> Supports:
        key = self.totals.law.key
        return Supports(self.cells.reshape(key.groups, -1).sum(axis=1), self.n, key.own, key.other)

    def blocks(self, target: str) -> Blocks:
        """The covariance of sizes and centred sums, entry by entry."""
        check_target(target)
        return self.totals.covariance(target)

    @cached_property
    def _shown(self) -> Shown:
        """Which means are shown. Nearly all of the rule is about sizes, whose effect on intervals is known."""
        low, high = self._ends
        limits = low - self.centre, high - self.centre
        return shown_by_size(
            self._plain("population"), limits, self.totals.law.key.sizes(np.array(POOR_BELOW - 0.5), self.n)
        )

    @property
    def _least(self) -> Ints:
        """Supports from which on a mean may be shown."""
        key = self.totals.law.key
        return np.floor(self._shown.least * key.gap + self.n * key.other).astype(np.int64) + 1

    def _plain(self, target: str) -> Ratios:
        size, mixed, total = self.blocks(target).diagonals()
        return Ratios(self.totals.sums, self.totals.sizes, total, mixed, size)

    def ratios(self, target: str) -> Ratios:
        """Sums (less the centre) over sizes, and which of these are shown."""
        return replace(self._plain(target), shown=self._shown)

    @property
    def seen(self) -> Ints:
        """Groups that enough reports support for a normal approximation, shown or not."""
        return np.flatnonzero(self._supports.counts >= POOR_BELOW)

    def covariance(self, kind: str = "means", *, target: str = "population") -> Floats:
        """The estimated covariance matrix of all "sizes", "shares", "sums" or "means" (by the delta method)."""
        if kind not in KINDS:
            raise reject("kind", "covariance", f"one of {', '.join(KINDS)}", kind)
        groups = len(self.groups)
        if groups > MAX_GROUPS:
            raise ParameterError(f"A covariance matrix is written down for up to {MAX_GROUPS} groups. Got {groups}.")
        rows, columns = np.indices((groups, groups))
        sizes, right, left, sums = self.blocks(target).at(rows, columns)
        if kind in ("sizes", "shares"):
            return sizes if kind == "sizes" else sizes / self.n**2
        # Sums in the numbers of the answers, or the linear part of each ratio: sum + factor * size.
        factor = np.full(groups, self.centre) if kind == "sums" else self.centre - self.means.values
        found = sums + factor[:, None] * right + factor[None, :] * left + np.outer(factor, factor) * sizes
        whole = np.where(self.estimable, self.totals.sizes, np.nan)
        return found if kind == "sums" else found / np.outer(whole, whole)

    # --- comparisons -------------------------------------------------------------------------------
    def place(self, group: object) -> int:
        """The number of a group."""
        labels = list(self.groups)
        if group not in labels:
            raise ParameterError(f"There is no group {group!r}. Known: {', '.join(map(repr, labels[:20]))}.")
        return labels.index(group)

    def difference(self, group: object, other: object, *, target: str = "population") -> Difference:
        """The mean of one group less that of another."""
        return self._marked(difference(self, self.place(group), self.place(other), target))

    def all_pairs(self, level: float = 0.95, *, correction: str = "holm", target: str = "population") -> Pairs:
        """Every two groups compared, with p-values and intervals that hold all at once."""
        return self._marked(all_pairs(self, level, correction, target))

    def test_equality(self, *, target: str = "population") -> Equality:
        """A test of whether all groups have the same mean; small groups count for little, but they count."""
        return self._marked(equality(self, target))

    def power(
        self,
        difference: Any,
        group: object,
        other: object,
        *,
        participants: int | None = None,
        level: float = 0.95,
    ) -> float:
        """How likely so many participants like these, by default as many, show a difference of two groups' means."""
        count = self.n if participants is None else check_integer("participants", "power", participants, 1, 1 << 53)
        gap = check_difference(difference, "power")
        check_level(level)
        error = self.difference(group, other).std_error * (self.n / count) ** 0.5
        return power_at(gap / error, level)

    @cached_property
    def variances(self) -> Spreads:
        """The variance of the values within each group whose mean is shown, where the reports say enough."""
        return self._marked(group_spreads(self, self.cells))

    # --- showing -----------------------------------------------------------------------------------
    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> pd.DataFrame:
        """A table of groups: size, share, mean and its interval; a note says which are not estimable."""
        table = self.means.to_frame(level, method=method, target=target, simultaneous=simultaneous)
        table = table.rename(columns={"estimate": "mean"})
        table.insert(1, "size", self.sizes.values)
        table.insert(2, "share", self.shares.values)
        return table

    def explain(self, level: float = 0.95) -> str:
        """What these numbers are, in words."""
        shown = int(self.estimable.sum())
        start = (
            f"{self.n} participants answered through {self.mechanism.name}; neither group nor value of anyone can be"
            f" told from one report with odds better than e^{self.mechanism.epsilon:.4g} ="
            f" {np.exp(self.mechanism.epsilon):.3g} to 1 against any other answer. The means of {shown} of"
            f" {len(self.groups)} groups are estimable."
        )
        return in_words(start + "\n" + self.means.sentences(level), self.simulated)

    def __repr__(self) -> str:
        kind = ", simulation" if self.simulated else ""
        return f"GroupEstimate({self.mechanism.name}, n={self.n}, {len(self.groups)} groups{kind})"


def estimate(mechanism: Mechanism, tally: Tally) -> GroupEstimate:
    """Unbiased sizes and sums of the groups, and their means."""
    check_tally(mechanism, tally)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> GroupEstimate:
    """The estimate from cells[group, inner report]."""
    return GroupEstimate(mechanism, n, cells, solve(mechanism, n, cells))


def solve(mechanism: Mechanism, n: int, cells: Ints) -> Totals:
    """Sums by group, unbiased, and lower bounds of the sums of squares."""
    channel = keyed_channel(mechanism)
    law = group_law(channel)
    sizes = law.key.sizes(power_sums(law, cells, 0), n)
    sums = group_powers(law, power_sums(law, cells, 1), sizes, n, 1)
    read_squares = group_powers(law, power_sums(law, cells, 2), sizes, n, 2)
    bound = square_line(channel).bound(read_squares, sums, sizes)
    # No group has a sum of squares below that of equal values.
    equal = np.where(sizes > 0, sums**2 / np.where(sizes > 0, sizes, 1.0), 0.0)
    return Totals(law, n, sizes, sums, read_squares, np.maximum(bound, equal))


def predicted_variance(mechanism: Mechanism, truth: Any = None, n: int = 1, *, target: str = "population") -> Floats:
    """The variance of each group's mean from n reports, to first order, with exact covariances of sums and sizes.

    The truth is a `Crowd`, or a pair of the shares of the groups and the priors of their values.
    """
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    return as_crowd(mechanism, truth).ratios(mechanism, n, target).variances_at_truth()


def as_crowd(mechanism: Mechanism, truth: Any) -> Crowd:
    """A crowd from what was given of it."""
    if isinstance(truth, Crowd):
        return truth
    keyed_channel(mechanism)
    if truth is not None and (not isinstance(truth, tuple) or len(truth) != 2):
        raise reject("truth", "variance", "a pair of the shares of the groups and the priors of their values", truth)
    shares, priors = truth or (None, None)
    return Crowd.of(mechanism.domain, shares, priors, "variance")  # type: ignore[arg-type]
