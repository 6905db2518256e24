"""Shares of items, of which one person may hold several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.itemsets import SetDomain
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class SetShares(Question):
    """Ask "tick all that apply": the share of people who hold each item, and how many items people hold.

    Args:
        domain: The items, as `Sets`; or a `Ranking`, for the share of people who put one item before another.

    Examples:
        >>> ways = sv.SetShares(sv.Sets(["bus", "car", "bike", "train"], most=2))
        >>> sv.plan(ways, epsilon=2, participants=5000).best.method
        'mask'

    See also:
        `Frequency` where each person gives exactly one answer.
    """

    kind: ClassVar[str] = "set-shares"
    noun: ClassVar[str] = "share"
    is_share: ClassVar[bool] = True
    has_one_choice: ClassVar[bool] = False
    domain: SetDomain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.listed is None:
            raise reject("domain", self.kind, 'sets of items, such as Sets(["bus", "car"], most=1)', self.domain)

    @property
    def choices(self) -> Domain:
        """The items."""
        return self.domain.listed
