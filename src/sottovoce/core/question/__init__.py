"""Questions, one module each, and their way from and to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import SpecError
from sottovoce.core.late import load
from sottovoce.core.question.base import Question as Question
from sottovoce.core.specs import Spec, take

# One line for each question; its module is loaded when a specification or a program names it.
QUESTIONS = {
    "frequency": "core.question.frequency:Frequency",
    "mean": "core.question.mean:Mean",
    "variance": "core.question.variance:Variance",
    "group-mean": "core.question.group_mean:GroupMean",
    "vector-mean": "core.question.vector_mean:VectorMean",
    "attributes": "core.question.attributes:Attributes",
    "distribution": "core.question.distribution:Distribution",
    "cdf": "core.question.cdf:Cdf",
    "range": "core.question.range:Range",
    "quantile": "core.question.quantile:Quantile",
    "density": "core.question.density:Density",
    "circular-mean": "core.question.circular_mean:CircularMean",
}
# Protocols ask several questions; a mechanism asks one, so that no specification names this kind.
_HOMES = {home.partition(":")[2]: home for home in (*QUESTIONS.values(), "core.question.several:Several")}

if TYPE_CHECKING:  # for type checkers alone: to them any other question is of an unknown type
    from sottovoce.core.question.attributes import Attributes as Attributes
    from sottovoce.core.question.cdf import Cdf as Cdf
    from sottovoce.core.question.circular_mean import CircularMean as CircularMean
    from sottovoce.core.question.density import Density as Density
    from sottovoce.core.question.distribution import Distribution as Distribution
    from sottovoce.core.question.frequency import Frequency as Frequency
    from sottovoce.core.question.group_mean import GroupMean as GroupMean
    from sottovoce.core.question.mean import Mean as Mean
    from sottovoce.core.question.quantile import Quantile as Quantile
    from sottovoce.core.question.range import Range as Range
    from sottovoce.core.question.several import Several as Several
    from sottovoce.core.question.variance import Variance as Variance
    from sottovoce.core.question.vector_mean import VectorMean as VectorMean


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(_HOMES[name])


def question_class(kind: str) -> type[Question]:
    """The class of a kind of question."""
    named: type[Question] = load(QUESTIONS[kind])
    return named


def question_from_brief(brief: object, domain: Domain) -> Question:
    """The question of a specification, with a domain from elsewhere."""
    return _kind_of(brief).about(domain, _rest(brief, ("kind",)))


def question_from_spec(spec: object) -> Question:
    """The question a specification describes."""
    kind, fields = _kind_of(spec), _rest(spec, ("kind",))
    (domain,) = take({key: fields[key] for key in fields if key == "domain"}, "a question", ("domain",))
    return kind.about(domain_from_spec(domain), _rest(fields, ("domain",)))


def _kind_of(spec: object) -> type[Question]:
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind not in QUESTIONS:
        raise SpecError(f"A question of a specification must have a kind among {', '.join(QUESTIONS)}.")
    return question_class(kind)


def _rest(spec: object, known: tuple[str, ...]) -> Spec:
    return {key: value for key, value in spec.items() if key not in known} if isinstance(spec, Mapping) else {}
