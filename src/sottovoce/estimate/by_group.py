"""Members that only estimates about groups have: four views, and comparisons. Other estimates raise an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Flags
from sottovoce.estimate.request import Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate, EstimateSource
    from sottovoce.estimate.evidence import Evidence
    from sottovoce.estimate.group_mean.contrasts import Difference, Equality, Pairs
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence

NO_DIFFERENCE = (
    "Two estimates cannot be subtracted: whether they come from the same people is not known. From different people the"
    " difference of their values has the standard errors (a.std_errors**2 + b.std_errors**2)**0.5. Groups within one"
    " estimate of means by group are compared by difference(group, other)."
)
T = TypeVar("T", "Difference", "Equality", "Pairs")


class ByGroup:
    """Asks `evidence.by_group`; results of a simulated estimate are marked as simulated."""

    __slots__ = ()

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
        groups = self.evidence.by_group
        if groups is None:
            raise ParameterError(
                f"Comparisons of groups need an estimate of means by group; this is one of a {self.evidence.noun}."
            )
        return groups

    def _marked(self, part: T) -> T:
        return replace(part, simulated=self.simulated, sources=self.sources)

    @property
    def groups(self) -> Sequence[object]:
        """The names of the groups."""
        return self._groups.labels

    @property
    def estimable(self) -> Flags:
        """Which groups are large enough for their mean to be shown."""
        return self._groups.estimable

    @property
    def means(self) -> Estimate:
        """The mean value of each group."""
        return self._of(self._groups)

    @property
    def sizes(self) -> Estimate:
        """How many participants each group has."""
        return self._of(self._groups.sizes)

    @property
    def shares(self) -> Estimate:
        """The share of each group."""
        return self._of(self._groups.shares)

    @property
    def sums(self) -> Estimate:
        """The sum of the values of each group, in the numbers of the answers."""
        return self._of(self._groups.sums)

    @property
    def variances(self) -> Estimate:
        """The variance of the values within each group whose mean is shown, if the reports determine it."""
        return self._of(self._groups.within)

    def difference(self, group: object, other: object = None, *, target: str = "population") -> Difference:
        """The mean of one group less that of another, both of this estimate."""
        if isinstance(group, ByGroup) or isinstance(other, ByGroup):
            raise ParameterError(NO_DIFFERENCE)
        return self._marked(self._groups.difference(group, other, Target.of(target)))

    def all_pairs(self, level: float = 0.95, *, correction: str = "holm", target: str = "population") -> Pairs:
        """Every two groups compared, with p-values and intervals that hold all at once."""
        return self._marked(self._groups.all_pairs(level, correction, Target.of(target)))

    def test_equality(self, *, target: str = "population") -> Equality:
        """A test of whether all groups have the same mean; small groups have a small weight."""
        return self._marked(self._groups.test_equality(Target.of(target)))

    def power(
        self,
        difference: Any,
        group: object,
        other: object,
        *,
        participants: int | None = None,
        level: float = 0.95,
    ) -> float:
        """The probability that this many participants, by default as many as here, show a difference of two means."""
        return self._groups.power(difference, (group, other), participants, level)
