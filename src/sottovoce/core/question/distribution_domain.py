"""Questions about the distribution of answers: the domains they are asked of, and the values that they name."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain, View
from sottovoce.core.domain.reasons import ANSWERED, any_answer, with_answered
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.question.base import Question
from sottovoce.core.question.read import question_class

Ends = tuple[Any, Any]  # the first and the last value of an interval; without a first value it starts with the domain
_CLOSEST = 2.0**-32  # of the size of its ends that a continuum may be long: 16 bits for buckets, 5 inside each of them


class DistributionQuestion(Question):
    """A question that the distribution of the answers can answer."""

    room: ClassVar[str] = "distribution"
    ends_at_buckets: ClassVar[bool] = False  # whether the ends of an interval are ends of buckets
    takes_reasons: ClassVar[bool] = True
    needs_prior: ClassVar[bool] = False  # whether the answer is undefined where answers are spread evenly
    __slots__ = ()

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """The numbers or categories that bins, or the levels of a tree over them, are a view of."""
        while domain.numbers is None and isinstance(domain, View):
            domain = domain.of
        return domain

    def intervals(self) -> tuple[Ends, ...]:
        """The intervals whose shares are asked for: bins that end there tell them exactly."""
        return ()

    def with_reasons(self, reasons: tuple[str, ...]) -> Question:
        """Ask this question among those who answered; people who give a reason form a group of that name."""
        build: Any = question_class("within-groups")
        question: Question = build(with_answered(reasons), self, len(reasons))
        return question

    def answer(self, value: object, reason: str | None) -> Any:
        return (ANSWERED, value) if reason is None else (reason, any_answer(self.domain))


class IntervalQuestion(DistributionQuestion):
    """A question about the shares of some intervals: `intervals` is all that plans, estimates and truths need."""

    is_share: ClassVar[bool] = True
    read_from_curve: ClassVar[bool] = True
    __slots__ = ()


def check_distributed(owner: str, domain: object) -> None:
    """A domain of numbers, of categories in their order, or a circle."""
    if not isinstance(domain, Domain) or (domain.scalar is None and domain.choices is None):
        raise reject("domain", owner, "an Interval, Integers, Categories in their order, or a Circle", domain)
    low, high = (float(getattr(domain, end, 0) or 0) for end in ("low", "high"))
    if domain.size is None and high - low < _CLOSEST * max(abs(low), abs(high)):
        raise ParameterError(
            "The ends of this domain are so close to each other, for their size, that numbers of 53 bits do not tell"
            " its buckets apart. Subtract a constant from the answers, so that the domain begins near zero."
        )


def check_ordered(owner: str, domain: object) -> None:
    """A domain whose values have an order."""
    if isinstance(domain, Domain) and domain.circular:
        raise ParameterError("Values on a circle have no order: ask for the share of an arc, or for the circular mean.")
    check_distributed(owner, domain)


def check_circle(owner: str, domain: object) -> None:
    """A circle."""
    if not isinstance(domain, Domain) or not domain.circular:
        raise reject("domain", owner, "a Circle", domain)


def listed(name: str, owner: str, values: object) -> tuple[Any, ...]:
    """A list of at least one value."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or not (items := tuple(values)):
        raise reject(name, owner, "a list of at least one", values)
    return items


def values_of(name: str, owner: str, domain: Domain, candidates: object) -> tuple[Any, ...]:
    """Values of a domain: categories as they are, numbers as exact decimals.

    Points may also lie between two possible answers, such as between whole numbers.
    """
    values = listed(name, owner, candidates)
    if domain.choices is None:
        values = tuple(check_decimal(name, owner, value) for value in values)
    step = domain.spacing
    for value in values:
        try:
            domain.encode(value if step is None else _rounded_down(value, domain, step))
        except DomainError as problem:
            raise ParameterError(
                f"The {name!r} parameter of {owner} must hold values of the domain: {problem.must_be}."
            ) from None
    return values


def _rounded_down(value: Decimal, domain: Any, step: Decimal) -> int | Fraction:
    """The largest number of a domain with a step that is not above a number."""
    above = Fraction(value) - Fraction(domain.low)
    number = Fraction(domain.low) + above // Fraction(step) * Fraction(step)
    return number.numerator if number.denominator == 1 else number


def in_order(domain: Domain, first: Any, second: Any) -> bool:
    """Whether a value is not before another; on a circle no value is."""
    if domain.circular:
        return True
    if domain.choices is not None:
        return bool(domain.encode(first) <= domain.encode(second))
    return bool(first <= second)
