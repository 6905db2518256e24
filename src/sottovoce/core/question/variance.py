"""The variance of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.base import Question, check_numbers


@dataclass(frozen=True, slots=True)
class Variance(Question):
    """Ask for the variance of a number, in squared units of the answers.

    Args:
        domain: The range of the answers: `Interval` or `Integers`.

    Examples:
        >>> plan = sv.plan(sv.Variance(sv.Integers(0, 10)), epsilon=2, participants=5000)
        >>> round(plan.best.std_error, 1)
        0.2

    See also:
        `VarianceRounds` runs the methods, `Mean`.
    """

    kind: ClassVar[str] = "variance"
    noun: ClassVar[str] = "variance"
    unit_power: ClassVar[int] = 2
    domain: Domain

    def __post_init__(self) -> None:
        check_numbers(self.kind, "domain", self.domain)

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """A number, or the number that a view of it and of its square is a view of."""
        return domain.root if domain.numbers is None else domain
