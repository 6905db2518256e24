"""Questions to the crowd: declared, never inferred from a channel.

A question owns a plain noun, says which domain a participant answers, and names the room of the analysis side that
knows it: `estimate/<room>` reads tallies, `study/planners/<room>` finds methods, `testing/<room>` checks mechanisms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text, reject
from sottovoce.core.specs import Spec, take


class Question(ABC):
    """Subclasses are frozen dataclasses, one module each, with one line in `core/question/__init__.py`."""

    kind: ClassVar[str]
    room: ClassVar[str]  # the kind with underscores, unless the class says otherwise
    noun: ClassVar[str]  # what one number of the answer is called
    parameters: ClassVar[tuple[str, ...]] = ()  # fields beside the domain
    is_share: ClassVar[bool] = False  # whether estimates are shares of the participants
    unit_power: ClassVar[int] = 0  # the power of the answers' unit that estimates have: 2 for a variance
    is_distribution: ClassVar[bool] = False  # whether the shares of all buckets are asked for
    read_from_curve: ClassVar[bool] = False  # whether estimates are read from the curve of a distribution
    has_differences: ClassVar[bool] = True  # whether two estimates can be subtracted
    has_one_choice: ClassVar[bool] = True  # whether a person gives exactly one of the answers that are listed
    has_overall_test: ClassVar[bool] = False  # whether one test of all its values can be planned
    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if not hasattr(cls, "room") and hasattr(cls, "kind"):
            cls.room = cls.kind.replace("-", "_")

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """What a participant answers."""

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Question:
        """The question of this kind that a device answers through a domain, which may be a view of the answer."""
        build: Any = cls
        question: Question = build(cls.answered(domain), *take(fields, f"the question {cls.kind}", cls.parameters))
        return question

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """The domain that the question is about, where a device answers through a domain."""
        return domain

    def fields(self) -> Spec:
        """Parameters beside the domain, in plain data."""
        return {name: _plain(getattr(self, name)) for name in self.parameters}

    def brief(self) -> Spec:
        """The question in plain data, without its domain."""
        return {"kind": self.kind, **self.fields()}

    def spec(self) -> Spec:
        """All of the question in plain data."""
        return {**self.brief(), "domain": self.domain.spec()}

    @property
    def choices(self) -> Domain:
        """The domain that participants choose from where it can be listed: of a question with groups, the groups."""
        return self.domain

    @property
    def averages(self) -> bool:
        """Whether the number of all is the mean of the numbers of parts, weighted by their sizes."""
        return self.is_share

    @property
    def answer_lists(self) -> tuple[Domain, ...]:
        """The domains whose answers participants read, where they can be listed."""
        return (self.choices,)

    @property
    def takes_reasons(self) -> bool:
        """Whether reasons for giving no answer can be among the answers; then the next two methods say how."""
        return False

    def with_reasons(self, reasons: tuple[str, ...]) -> Question:
        """The question with reasons for giving no answer among the answers."""
        raise NotImplementedError

    def answer(self, value: object, reason: str | None) -> Any:
        """What the domain of `with_reasons` takes for an answer, or for a reason for giving none."""
        raise NotImplementedError

    def is_asked_through(self, domain: Domain) -> bool:
        """Whether answers of a domain answer this question."""
        try:
            return type(self).about(domain, self.fields()) == self
        except ParameterError:
            return False


@dataclass(frozen=True, slots=True)
class Several(Question):
    """Several questions, each answered by a part of the participants. Protocols ask them; a mechanism asks one."""

    kind: ClassVar[str] = "several"
    noun: ClassVar[str] = "value"
    questions: tuple[Question, ...]

    @property
    def domain(self) -> Domain:
        """What every participant holds: the questions are about views of it."""
        first, *others = (question.domain.root for question in self.questions)
        if any(other != first for other in others):
            raise ParameterError("The domains of these questions are not views of one answer.")
        return first

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Several:
        raise ParameterError("A mechanism answers one question.")

    def spec(self) -> Spec:
        return {"kind": self.kind, "questions": [question.spec() for question in self.questions]}

    @staticmethod
    def of(questions: Iterable[Question]) -> Question:
        """A single question if all are the same."""
        different = tuple(dict.fromkeys(questions))
        return different[0] if len(different) == 1 else Several(different)


def check_numbers(owner: str, name: str, domain: object) -> None:
    """Refuse a domain that is not one of numbers."""
    if not isinstance(domain, Domain) or domain.numbers is None:
        raise reject(name, owner, "a domain of numbers, such as Interval(0, 10)", domain)


def _plain(value: object) -> Any:
    """The value of a parameter in plain data."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return decimal_text(value) if isinstance(value, Decimal) else getattr(value, "name", value)  # a workload's name
