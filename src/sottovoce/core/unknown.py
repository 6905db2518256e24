"""Questions and statistics of kinds that this package does not know, as a device reads them.

Answering needs the channel alone. What is asked and what is counted is the collector's business, so a study may ask
something new without an update of the devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import SpecError
from sottovoce.core.question.base import Question
from sottovoce.core.specs import Spec, canonical, parse
from sottovoce.core.statistic.base import Limits, Statistic

KIND = re.compile("[a-z][a-z0-9-]{0,39}")
MAX_FIELDS = 1 << 15  # bytes of all fields together, which are kept unread


def _kept(spec: Any, what: str) -> tuple[str, bytes]:
    """The kind and the canonical text of what is kept unread."""
    kind = spec.get("kind")
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise SpecError(
            f"The kind of a {what} has 1 to 40 small letters, digits and hyphens, and begins with a letter."
        )
    text = canonical(spec)
    if len(text) > MAX_FIELDS:
        raise SpecError(f"A {what} of an unknown kind has at most {MAX_FIELDS} bytes. Got {len(text)}.")
    return kind, text


def _refuse(what: str, kind: str, verbs: str) -> NoReturn:
    raise SpecError(
        f"This version of sottovoce does not know the {what} {kind!r}: it answers such a study but does not {verbs}."
    )


@dataclass(frozen=True, slots=True)
class UnknownQuestion(Question):
    """A question of an unknown kind, about the answers of a domain."""

    noun: ClassVar[str] = "value"
    kind: str  # type: ignore[misc]  # of each question, not of the class
    text: bytes
    domain: Domain

    @staticmethod
    def of(brief: object, domain: Domain) -> UnknownQuestion:
        """The question of a specification without its domain."""
        return UnknownQuestion(*_kept(brief, "question"), domain)

    @property
    def room(self) -> str:  # type: ignore[override]
        """There is no room: nothing is estimated or planned."""
        _refuse("question", self.kind, "estimate or plan it")

    def brief(self) -> Spec:
        return parse(self.text)

    def is_asked_through(self, domain: Domain) -> bool:
        return domain.root == self.domain.root


@dataclass(frozen=True, slots=True)
class UnknownStatistic(Statistic):
    """A statistic of an unknown kind."""

    known: ClassVar[bool] = False
    kind: str  # type: ignore[misc]  # of each statistic, not of the class
    text: bytes

    @staticmethod
    def of(spec: object) -> UnknownStatistic:
        """The statistic of a specification."""
        return UnknownStatistic(*_kept(spec, "statistic"))

    def check(self, channel: Channel) -> None:
        """The collector knows whether it can count the reports of a channel."""

    def cells(self, channel: Channel) -> int:
        _refuse("statistic", self.kind, "count its reports")

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        _refuse("statistic", self.kind, "count its reports")

    def limits(self, channel: Channel) -> Limits:
        _refuse("statistic", self.kind, "count its reports")

    @property
    def kernel(self) -> str:  # type: ignore[override]
        """There is no kernel."""
        _refuse("statistic", self.kind, "count its reports")

    def spec(self) -> Spec:
        return parse(self.text)
