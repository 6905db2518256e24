"""Estimates about groups: four views, and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_people
from sottovoce.estimate.comparison.test import Test
from sottovoce.estimate.estimate import NO_DIFFERENCE, Estimate
from sottovoce.estimate.evidence import Flags
from sottovoce.estimate.group_mean import contrasts
from sottovoce.estimate.group_mean.contrasts import Difference, Pairs
from sottovoce.estimate.request import Target, check_level

if TYPE_CHECKING:
    from sottovoce.estimate.evidence import Evidence
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence
    from sottovoce.estimate.sources import EstimateSource

T = TypeVar("T", Difference, Test, Pairs)


class ByGroup:
    """Asks `evidence.by_group`; results of a simulated estimate are marked as simulated."""

    needs: ClassVar[str] = "Comparisons of groups need an estimate of means by group; this is one of a {noun}."
    __slots__: tuple[str, ...] = ()

    if TYPE_CHECKING:

        @property
        def evidence(self) -> Evidence: ...
        @property
        def simulated(self) -> bool: ...
        @property
        def sources(self) -> tuple[EstimateSource, ...]: ...
        def _of(self, evidence: Evidence) -> Estimate: ...

    @property
    def _groups(self) -> GroupMeansEvidence:
        return cast("GroupMeansEvidence", self.evidence.by_group)

    def _marked(self, part: T) -> T:
        return replace(part, simulated=self.simulated, sources=self.sources)

    @property
    def groups(self) -> Sequence[object]:
        """Return the names of the groups."""
        return self._groups.labels

    @property
    def estimable(self) -> Flags:
        """Tell which groups are large enough for their mean to be shown."""
        return self._groups.estimable

    @property
    def means(self) -> Estimate:
        """Estimate the mean of each group."""
        return self._of(self._groups)

    @property
    def sizes(self) -> Estimate:
        """Estimate how many participants each group has."""
        return self._of(self._groups.sizes)

    @property
    def shares(self) -> Estimate:
        """Estimate the share of each group."""
        return self._of(self._groups.shares)

    @property
    def sums(self) -> Estimate:
        """Estimate the sum of the values of each group, in units of the answers."""
        return self._of(self._groups.sums)

    @property
    def variances(self) -> Estimate:
        """The variance of the values within each group whose mean is shown, if the reports determine it."""
        return self._of(self._groups.within)

    def difference(self, group: object, other: object = None, *, target: str = "population") -> Difference:
        """Estimate the difference of two groups' means, with interval and test.

        Args:
            group: The first group.
            other: The group that is subtracted.
            target: "population" or "sample", as in `ci`.

        Returns:
            The difference, with `ci` and a p-value.
        """
        if isinstance(group, Estimate) or isinstance(other, Estimate):
            raise ParameterError(NO_DIFFERENCE)
        return self._marked(contrasts.difference(self._groups, group, other, Target.of(target)))

    def all_pairs(self, level: float = 0.95, *, correction: str = "holm", target: str = "population") -> Pairs:
        """Compare every two groups, with p-values and intervals that hold all at once.

        Args:
            level: The level of the intervals.
            correction: The correction for many comparisons, such as "holm".
            target: "population" or "sample", as in `ci`.

        Returns:
            The pairs; `to_frame` is a table.
        """
        return self._marked(contrasts.all_pairs(self._groups, level, correction, Target.of(target)))

    def test_equality(self, *, target: str = "population") -> Test:
        """Test whether all groups have the same mean; small groups have a small weight.

        Args:
            target: "population" or "sample", as in `ci`.

        Returns:
            The test, with a p-value.
        """
        return self._marked(contrasts.equality(self._groups, Target.of(target)))

    def power(
        self,
        difference: Any,
        group: object,
        other: object,
        *,
        participants: int | None = None,
        level: float = 0.95,
    ) -> float:
        """Compute the probability that a study shows a given difference of two means.

        Args:
            difference: The true difference, in units of the answers.
            group: The first group.
            other: The second group.
            participants: How many people take part. Default: as many as here.
            level: One minus the probability of a false alarm.

        Returns:
            The power, from 0 to 1.
        """
        n = self._groups.n
        count = n if participants is None else check_people("participants", "power", participants)
        wanted = contrasts.check_difference(difference, "power")
        check_level(level)
        error = contrasts.difference(self._groups, group, other).std_error * (n / count) ** 0.5
        return contrasts.power_at(wanted / error, level)
