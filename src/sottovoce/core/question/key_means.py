"""Shares of keys and means of their numbers, where one person may hold several keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.key_value import KeyValue
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class KeyMeans(Question):
    """Ask for some keys with a number each: the share of people who hold each key, and the mean of its numbers.

    Args:
        domain: The keys and the range of the numbers, as `KeyValue`.

    Examples:
        >>> ratings = sv.KeyMeans(sv.KeyValue(["bus", "car", "bike", "train"], sv.Integers(1, 5), most=2))
        >>> sv.plan(ratings, epsilon=2, participants=10_000).best.std_error < 0.3
        True

    See also:
        `SetShares` for keys without numbers, `GroupMean` where each person has exactly one group.
    """

    kind: ClassVar[str] = "key-means"
    noun: ClassVar[str] = "mean"
    unit_power: ClassVar[int] = 1
    has_one_choice: ClassVar[bool] = False
    domain: KeyValue

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.keyed is None:
            example = "keys with numbers, such as KeyValue(['bus', 'car'], Integers(1, 5), most=1)"
            raise reject("domain", self.kind, example, self.domain)

    @property
    def choices(self) -> Domain:
        """The keys."""
        return self.domain.keyed
