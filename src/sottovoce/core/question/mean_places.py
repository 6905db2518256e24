"""The mean place of each item of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.ranking import Ranking
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class MeanPlaces(Question):
    """Ask people to rank a list: the mean place of each item, 1 for the best.

    Reports are those of `SetShares` about the pairs of items.

    Args:
        domain: The items, as `Ranking`.

    Examples:
        >>> from sottovoce.core.question import MeanPlaces
        >>> ways = MeanPlaces(sv.Ranking(["bus", "car", "bike"]))
        >>> sv.plan(ways, epsilon=2, participants=5000).best.std_error < 0.03
        True

    See also:
        `SetShares` for the share of people who put one item before another.
    """

    kind: ClassVar[str] = "mean-places"
    room: ClassVar[str] = "set_shares"
    noun: ClassVar[str] = "mean place"
    unit_power: ClassVar[int] = 1
    domain: Ranking

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.ranked is None:
            raise reject("domain", self.kind, 'a list to rank, such as Ranking(["bus", "car", "bike"])', self.domain)

    @property
    def choices(self) -> Domain:
        """The items."""
        return self.domain.ranked
