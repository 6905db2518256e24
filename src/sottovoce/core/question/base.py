"""What is asked of the crowd: declared, never inferred from a channel.

A question owns a plain noun, says which domain a participant answers, and names the room of the analysis side that
knows it: `estimate/<room>` reads tallies, `study/planners/<room>` finds methods, `testing/<room>` checks mechanisms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
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

    def is_asked_through(self, domain: Domain) -> bool:
        """Whether answers of a domain answer this question."""
        try:
            return type(self).about(domain, self.fields()) == self
        except ParameterError:
            return False


def check_numbers(owner: str, name: str, domain: object) -> None:
    """Refuse a domain that is not one of numbers."""
    if not isinstance(domain, Domain) or domain.numbers is None:
        raise reject(name, owner, "a domain of numbers, such as Interval(0, 10)", domain)


def _plain(value: object) -> Any:
    """The value of a parameter in plain data."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return decimal_text(value) if isinstance(value, Decimal) else value
