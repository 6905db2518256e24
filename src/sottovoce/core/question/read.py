"""Questions from specifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import SpecError
from sottovoce.core.late import load
from sottovoce.core.question import QUESTIONS
from sottovoce.core.question.base import Question
from sottovoce.core.specs import Spec
from sottovoce.core.unknown import UnknownQuestion


def question_class(kind: str) -> type[Question]:
    """The class of a kind of question."""
    named: type[Question] = load(QUESTIONS[kind])
    return named


def question_from_brief(brief: object, domain: Domain, *, device: bool = False) -> Question:
    """The question of a specification, with a domain from elsewhere. A device also answers kinds it does not know."""
    kind = brief.get("kind") if isinstance(brief, Mapping) else None
    if isinstance(kind, str) and kind in QUESTIONS:
        return question_class(kind).about(domain, _without(brief, "kind"))
    if kind is not None and device:
        return UnknownQuestion.of(brief, domain)
    raise SpecError(f"A question of a specification must have a kind among {', '.join(QUESTIONS)}.")


def question_from_spec(spec: object, *, device: bool = False) -> Question:
    """The question a specification describes."""
    if not isinstance(spec, Mapping) or "domain" not in spec:
        raise SpecError("A question of a specification must have a kind and a domain.")
    return question_from_brief(_without(spec, "domain"), domain_from_spec(spec["domain"]), device=device)


def _without(spec: Any, name: str) -> Spec:
    return {key: value for key, value in spec.items() if key != name}
