"""What evidence that adds up several tallies reads from its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.heterogeneity import of_parts


class OfParts(Evidence):
    """Evidence about the same values from several independent tallies.

    Attributes:
        parts: the evidence of each tally.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def parts(self) -> Sequence[Evidence]: ...

    @property
    def n(self) -> int:
        return sum(int(part.n) for part in self.parts)

    @property
    def axes(self) -> Axes:
        return self.parts[0].axes

    @property
    def question(self) -> Question | None:
        return self.parts[0].question

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.parts[0].limits

    @property
    def heterogeneity(self) -> float:
        """The p-value of the hypothesis that all parts have the same values."""
        return of_parts(self.parts)
