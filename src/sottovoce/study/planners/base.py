"""What the planners of all questions share: a request, ranked ways to answer it, and options."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.core.registry import names, registered_name
from sottovoce.core.round import Protocol
from sottovoce.estimate.request import Target

OWNER = "plan"
FOUND = 0.95  # probability that a rare item is found
NEARLY = 1.015  # times the smallest standard error: 3 % of the variance
CLOSE = 1.02  # errors this near to the smallest count as equal: smaller reports come first


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected error of one value among several, such as the mean of one group."""

    label: object
    std_error: float
    needed: int  # participants from which on it is estimable


@dataclass(frozen=True, slots=True)
class Option:
    """One way to answer: a mechanism or a protocol, its decoder, its predicted error, and the size of a report."""

    method: str  # the name of the mechanism or protocol, with its variant
    procedure: Mechanism | Protocol
    std_error: float
    bytes_per_report: int
    reason: str
    decoder: str = "linear"
    expected: tuple[Expectation, ...] = ()

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that everyone answers through."""
        if not isinstance(self.procedure, Mechanism):
            raise ParameterError(f"{self.method} is a protocol, with mechanisms for each round: use `protocol`.")
        return self.procedure

    @property
    def protocol(self) -> Protocol:
        """The protocol, ready to run."""
        if isinstance(self.procedure, Mechanism):
            raise ParameterError(f"{self.method} is one mechanism that everyone answers through: use `mechanism`.")
        return self.procedure

    def half_width(self, level: float = 0.95) -> float:
        """Half the width of a normal interval of one value."""
        return normal_quantile(level) * self.std_error


@dataclass(frozen=True, slots=True)
class Request:
    """The question, the prior, and the methods that may be used."""

    question: Question
    prior: Any = None
    methods: tuple[str, ...] | None = None
    mechanism: str | None = None
    target: Target = Target.POPULATION
    level: float = 0.95  # of intervals whose width is not a multiple of a standard error

    @property
    def includes_sampling(self) -> bool:
        """Whether errors include the sampling of participants from a population."""
        return self.target == Target.POPULATION

    def registered(self, kind: type[Question]) -> list[str]:
        """The names of the methods to try, among those registered for a kind of question."""
        known = names(kind)
        if self.methods is None:
            return known
        return self._among([registered_name(name) for name in self.methods], known)

    def listed(self, known: Sequence[str]) -> list[str]:
        """The names of the methods to try, among a list."""
        return list(known) if self.methods is None else self._among(list(self.methods), known)

    def _among(self, chosen: list[str], known: Sequence[str]) -> list[str]:
        for name in chosen:
            if name not in known:
                raise reject("methods", OWNER, f"names among {', '.join(known)}", name)
        return chosen

    def refuse_mechanism(self) -> None:
        """For questions whose options are mechanisms themselves."""
        if self.mechanism is not None:
            raise reject("mechanism", OWNER, f"left out for the question {self.question.kind}", self.mechanism)


class Ways(ABC):
    """All ways to answer a question with one epsilon."""

    __slots__ = ()

    @abstractmethod
    def options(self, participants: int) -> tuple[Option, ...]:
        """The options for this number of participants, best first."""

    @abstractmethod
    def least(self, participants: int) -> float:
        """The smallest error of an option that may come first; it falls with participants."""


@dataclass(frozen=True, slots=True)
class RootWays(Ways):
    """Options whose standard errors fall with the square root of the participants; their order never changes."""

    per_participant: tuple[Option, ...]  # with the error of one participant
    smallest: float

    def options(self, participants: int) -> tuple[Option, ...]:
        return tuple(scaled(option, participants) for option in self.per_participant)

    def least(self, participants: int) -> float:
        return self.smallest / math.sqrt(participants)


def scaled(option: Option, participants: int) -> Option:
    """An option for one participant, scaled to more."""
    root = math.sqrt(participants)
    expected = tuple(replace(one, std_error=one.std_error / root) for one in option.expected)
    return replace(option, std_error=option.std_error / root, expected=expected)


class TriedMechanism(NamedTuple):
    """A mechanism, what plans call it, and its standard error for one participant."""

    error: float
    mechanism: Mechanism
    name: str


def shortest_first(candidates: Sequence[TriedMechanism]) -> RootWays:
    """All candidates as options, best first; at least one is needed."""
    least = min(one.error for one in candidates)

    def rank(one: TriedMechanism) -> tuple[float, int]:
        nearly = one.error <= NEARLY * least
        return (0.0, codec.payload_bytes(one.mechanism.channel)) if nearly else (one.error, 0)

    options = (
        Option(
            one.name, one.mechanism, one.error, codec.payload_bytes(one.mechanism.channel), _reason(one.error / least)
        )
        for one in sorted(candidates, key=rank)
    )
    return RootWays(tuple(options), least)


def _reason(ratio: float) -> str:
    if ratio == 1:
        return "no method has a smaller error."
    return f"{ratio:.3g} times the smallest error{', with shorter reports' if ratio <= NEARLY else ''}."


def found_sentence(what: str, share: float, among: str) -> str:
    """The smallest share that is found nearly always, in words."""
    return (
        f"{what} that {100 * share:.2g} % of people hold is found with probability {100 * FOUND:g} %, by intervals that"
        f" hold for all {among} at once."
    )


class Planner(ABC):
    """Finds ways to answer one question; a room has one, which its function `planner(request)` returns."""

    fewest: ClassVar[int] = 1  # participants of a plan
    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> str:
        """Title of what is estimated, such as "Shares of 5 categories"."""

    @property
    @abstractmethod
    def measure(self) -> str:
        """What the standard error of an option is the standard error of, such as "the mean"."""

    @abstractmethod
    def ways(self, epsilon: Decimal) -> Ways:
        """All ways to answer with this epsilon; raises if there are none."""

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        """Sentences about the first choice, for the advice of a plan."""
        return ()

    def trusted_error(self, epsilon: Decimal, participants: int) -> float | None:
        """Standard error of the noise that a trusted server adds for this epsilon; None without a short formula."""
        return None

    def trusted_text(self, epsilon: Decimal, participants: int) -> str:
        """One line about the central model; empty for questions without a short formula."""
        error = self.trusted_error(epsilon, participants)
        if error is None:
            return ""
        return (
            f"A trusted server that knew all answers would add noise of standard error {error:.2g} for the same"
            " epsilon; noise on devices is larger, and nobody has to be trusted."
        )


def question_planner(request: Request) -> Planner:
    """The planner of the room that knows the question."""
    planner: Planner = load(f"study.planners.{request.question.room}:planner")(request)
    return planner


def no_method(epsilon: Decimal, tried: Iterable[str]) -> ParameterError:
    """The error if no method fits; callers raise it."""
    listed = ", ".join(tried) or "none"
    return ParameterError(
        f"No method can answer this question with this epsilon. Tried: {listed}.", f"epsilon {epsilon}"
    )


def normal_quantile(level: float) -> float:
    """Standard errors from the middle to the end of a normal interval."""
    return NormalDist().inv_cdf((1 + level) / 2)
