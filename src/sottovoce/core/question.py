"""What is asked of the crowd: declared, never inferred from a channel.

A question owns a plain noun, says which domain a participant answers, and names the room of the analysis side that
knows it: `estimate/<room>` reads tallies, `study/planners/<room>` finds methods, `testing/<room>` checks mechanisms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core import distributed
from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.late import load
from sottovoce.core.params import check_decimal, check_integer, decimal_text, reject
from sottovoce.core.specs import Spec, take


class Question(ABC):
    """Subclasses are frozen dataclasses, with one line in `QUESTIONS`."""

    kind: ClassVar[str]
    room: ClassVar[str]
    noun: ClassVar[str]  # what one number of the answer is called
    __slots__ = ()

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """What a participant answers."""

    @classmethod
    @abstractmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Question:
        """The question of this kind that a device answers through a domain, which may be a view of the answer."""

    def fields(self) -> Spec:
        """Parameters beside the domain, in plain data."""
        return {}

    def brief(self) -> Spec:
        """The question in plain data, without its domain."""
        return {"kind": self.kind, **self.fields()}

    def spec(self) -> Spec:
        """All of the question in plain data."""
        return {**self.brief(), "domain": self.domain.spec()}

    def answerable_from(self, evidence: Any) -> bool:
        """Whether this evidence, also of another question, answers this one."""
        found: bool = evidence.answers(self)
        return found

    def is_asked_through(self, domain: Domain) -> bool:
        """Whether answers of a domain answer this question."""
        try:
            return type(self).about(domain, self.fields()) == self
        except ParameterError:
            return False


@dataclass(frozen=True, slots=True)
class Frequency(Question):
    """The share of each value."""

    kind: ClassVar[str] = "frequency"
    room: ClassVar[str] = "shares"
    noun: ClassVar[str] = "share"
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (self.domain.size is None and self.domain.coordinates is None):
            raise reject("domain", self.kind, "a domain with finitely many codes", self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Frequency:
        _no_fields(cls, fields)
        return cls(domain)


@dataclass(frozen=True, slots=True)
class Mean(Question):
    """The mean of a number."""

    kind: ClassVar[str] = "mean"
    room: ClassVar[str] = "mean"
    noun: ClassVar[str] = "mean"
    domain: Domain

    def __post_init__(self) -> None:
        _check_numbers(self.kind, "domain", self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Mean:
        _no_fields(cls, fields)
        return cls(domain)


@dataclass(frozen=True, slots=True)
class Variance(Question):
    """The variance of a number."""

    kind: ClassVar[str] = "variance"
    room: ClassVar[str] = "variance"
    noun: ClassVar[str] = "variance"
    domain: Domain

    def __post_init__(self) -> None:
        _check_numbers(self.kind, "domain", self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Variance:
        """Of a number, or of what a view of the number and of its square is a view of."""
        _no_fields(cls, fields)
        if domain.numbers is None:
            domain = domain.root
        return cls(domain)


@dataclass(frozen=True, slots=True)
class GroupMean(Question):
    """The mean of a number in each of several groups; both the group and the number are private."""

    kind: ClassVar[str] = "group-mean"
    room: ClassVar[str] = "group"
    noun: ClassVar[str] = "mean"
    by: Domain
    value: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.by, Domain) or self.by.size is None or self.by.size < 2:
            raise reject("by", self.kind, "a domain with at least two and finitely many codes", self.by)
        _check_numbers(self.kind, "value", self.value)

    @property
    def domain(self) -> Domain:
        pair: Domain = load("core.domain.pair:Pair")(self.by, self.value)
        return pair

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> GroupMean:
        _no_fields(cls, fields)
        by, value = getattr(domain, "group", None), getattr(domain, "value", None)
        if by is None or value is None:
            raise ParameterError(f"Means by group need a domain of pairs. Got one of kind {domain.kind}.")
        return cls(by, value)


@dataclass(frozen=True, slots=True)
class VectorMean(Question):
    """The mean of each coordinate of a vector."""

    kind: ClassVar[str] = "vector-mean"
    room: ClassVar[str] = "vector"
    noun: ClassVar[str] = "mean of a coordinate"
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (
            self.domain.coordinates is None and getattr(self.domain, "dimensions", None) is None
        ):
            raise reject("domain", self.kind, "a domain of vectors, such as Box(-1, 1, dimensions=3)", self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> VectorMean:
        _no_fields(cls, fields)
        return cls(domain)


WORKLOADS = ("cdf", "quantiles", "ranges", "mean", "histogram")
MAX_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Distribution(Question):
    """How answers are distributed over a domain of numbers, of categories in their order, or over a circle.

    `workload` says what the distribution is wanted for, which decides what a planner makes small; `buckets` how many
    parts of the domain are told apart, by default as many as the method and the number of reports allow.
    """

    kind: ClassVar[str] = "distribution"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "share"
    domain: Domain
    workload: str = "cdf"
    buckets: int | None = None

    def __post_init__(self) -> None:
        distributed.check_distributed(self.kind, self.domain)
        if self.workload not in WORKLOADS:
            raise reject("workload", self.kind, f"one of {', '.join(WORKLOADS)}", self.workload)
        if self.buckets is not None:
            most = min(MAX_BUCKETS, self.domain.size or MAX_BUCKETS)
            object.__setattr__(self, "buckets", check_integer("buckets", self.kind, self.buckets, 2, most))

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Distribution:
        """Of a domain, or of what bins or another view of it are a view of."""
        workload, buckets = take(fields, f"the question {cls.kind}", ("workload", "buckets"))
        return cls(domain.distributed, workload, buckets)

    def fields(self) -> Spec:
        return {"workload": self.workload, "buckets": self.buckets}


@dataclass(frozen=True, slots=True)
class Cdf(Question):
    """The share of answers that are at most each of some points."""

    kind: ClassVar[str] = "cdf"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "share up to a point"
    domain: Domain
    points: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        distributed.check_ordered(self.kind, self.domain)
        object.__setattr__(self, "points", distributed.values_of("points", self.kind, self.domain, self.points))

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Cdf:
        (points,) = take(fields, f"the question {cls.kind}", ("points",))
        return cls(domain.distributed, tuple(points))

    def fields(self) -> Spec:
        return {"points": [distributed.written(point) for point in self.points]}


@dataclass(frozen=True, slots=True)
class Range(Question):
    """The share of answers from `low` to `high`, both included; on a circle the arc from one to the other."""

    kind: ClassVar[str] = "range"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "share of a range"
    domain: Domain
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        distributed.check_distributed(self.kind, self.domain)
        low, high = distributed.values_of("low, high", self.kind, self.domain, (self.low, self.high))
        if not distributed.in_order(self.domain, low, high):
            raise reject("high", self.kind, "a value that is not before low", high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Range:
        return cls(domain.distributed, *take(fields, f"the question {cls.kind}", ("low", "high")))

    def fields(self) -> Spec:
        return {"low": distributed.written(self.low), "high": distributed.written(self.high)}


@dataclass(frozen=True, slots=True)
class Quantile(Question):
    """The value below which each of some shares of the answers lie."""

    kind: ClassVar[str] = "quantile"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "quantile"
    domain: Domain
    shares: tuple[Decimal, ...] = ()

    def __post_init__(self) -> None:
        distributed.check_ordered(self.kind, self.domain)
        shares = tuple(
            check_decimal("shares", self.kind, share) for share in distributed.listed("shares", self.kind, self.shares)
        )
        if not all(0 < share < 1 for share in shares):
            raise reject("shares", self.kind, "numbers in (0, 1)", self.shares)
        object.__setattr__(self, "shares", shares)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Quantile:
        (shares,) = take(fields, f"the question {cls.kind}", ("shares",))
        return cls(domain.distributed, tuple(shares))

    def fields(self) -> Spec:
        return {"shares": [decimal_text(share) for share in self.shares]}


@dataclass(frozen=True, slots=True)
class Density(Question):
    """The share of answers for each unit of the domain."""

    kind: ClassVar[str] = "density"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "density"
    domain: Domain

    def __post_init__(self) -> None:
        distributed.check_distributed(self.kind, self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Density:
        _no_fields(cls, fields)
        return cls(domain.distributed)


@dataclass(frozen=True, slots=True)
class CircularMean(Question):
    """The direction of the mean of all answers as points of a circle."""

    kind: ClassVar[str] = "circular-mean"
    room: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "circular mean"
    domain: Domain

    def __post_init__(self) -> None:
        distributed.check_circle(self.kind, self.domain)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> CircularMean:
        _no_fields(cls, fields)
        return cls(domain.distributed)


@dataclass(frozen=True, slots=True)
class Attributes(Question):
    """Each field of a record by itself: the share of each value, or the mean of a number without a list of values."""

    kind: ClassVar[str] = "attributes"
    room: ClassVar[str] = "attributes"
    noun: ClassVar[str] = "value of an attribute"
    domain: Domain

    def __post_init__(self) -> None:
        known = getattr(self.domain, "fields", None)
        if not isinstance(self.domain, Domain) or not isinstance(known, tuple):
            raise reject("domain", self.kind, "a record, or some of its fields", self.domain)
        if any(part.size is None and part.numbers is None for _, part in known):
            raise reject("domain", self.kind, "a record whose fields are categories or numbers", self.domain)

    @property
    def fields_of(self) -> tuple[tuple[str, Domain], ...]:
        """The names of the attributes and their domains."""
        found: tuple[tuple[str, Domain], ...] = self.domain.fields  # type: ignore[attr-defined]
        return found

    @property
    def parts(self) -> tuple[Question, ...]:
        """The question about each attribute, as a view of the record."""
        select, record = load("core.domain.views:Select"), self.domain.root
        kinds = (Mean if part.size is None else Frequency for _, part in self.fields_of)
        return tuple(kind(select(record, (name,))) for kind, (name, _) in zip(kinds, self.fields_of, strict=True))

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Attributes:
        _no_fields(cls, fields)
        return cls(domain)


@dataclass(frozen=True, slots=True)
class Several(Question):
    """Several questions, each answered by a part of the participants. Protocols ask them; a mechanism asks one."""

    kind: ClassVar[str] = "several"
    room: ClassVar[str] = "several"
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


QUESTIONS: dict[str, type[Question]] = {
    question.kind: question
    for question in (
        *(Frequency, Mean, Variance, GroupMean, VectorMean, Attributes),
        *(Distribution, Cdf, Range, Quantile, Density, CircularMean),
    )
}


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
    return QUESTIONS[kind]


def _rest(spec: object, known: tuple[str, ...]) -> Spec:
    return {key: value for key, value in spec.items() if key not in known} if isinstance(spec, Mapping) else {}


def _no_fields(kind: type[Question], fields: Mapping[str, Any]) -> None:
    take(fields, f"the question {kind.kind}", ())


def _check_numbers(owner: str, name: str, domain: object) -> None:
    if not isinstance(domain, Domain) or domain.numbers is None:
        raise reject(name, owner, "a domain of numbers, such as Interval(0, 10)", domain)
