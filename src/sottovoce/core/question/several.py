"""Several questions of one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.question.base import Question
from sottovoce.core.specs import Spec


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
