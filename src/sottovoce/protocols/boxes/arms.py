"""What protocols about boxes share: arms that ask in which part of a grid an answer lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from sottovoce.core.domain import Domain, Level, Record, Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Boxes
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Estimates, History, Protocol, Round
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.sources import sources_of
from sottovoce.mechanisms.distribution.grid_common import grid_of

ORACLES = ("oue", "subset", "sue")  # with exact covariances; "oue" has the variance of local hashing
MOST_ARMS = 1 << 10


class BoxesInOneRound(Protocol):
    """A protocol whose only round tells the shares of parts of a grid."""

    __slots__ = ()
    base: Any  # the finest cells, as a view
    evidence_of: ClassVar[Callable[..., Evidence]]

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        question: Any = self.question  # `Boxes`
        evidence = type(self).evidence_of(question, self.base, tallies)
        return {"boxes": Estimate.of(question, evidence, sources_of(tallies))}


class CellsProtocol(Protocol):
    """A protocol about the cells of a grid over all fields of a record."""

    __slots__ = ()
    record: Record
    buckets: int | None
    most: ClassVar[int] = 1 << 18  # cells

    @property
    def question(self) -> Boxes:
        return grid_of(type(self).__name__, self.record, self.buckets, self.most)[0]

    @property
    def base(self) -> Select:
        """The finest cells."""
        return grid_of(type(self).__name__, self.record, self.buckets, self.most)[1]


def check_oracle(owner: str, oracle: Any) -> str:
    """One of the mechanisms for parts of a grid."""
    if oracle not in ORACLES:
        raise reject("oracle", owner, f"one of {', '.join(ORACLES)}", oracle)
    return str(oracle)


def part_mechanism(question: Boxes, view: Domain, epsilon: Any, oracle: str) -> Mechanism:
    """The mechanism of those who report in which part they are."""
    return replace(build(oracle, view, epsilon=epsilon), question=question, domain=view)


def part_view(base: Select, chosen: Mapping[str, Domain]) -> Select:
    """The view of some fields of a grid, each in parts of its own."""
    return Select(Record({name: chosen.get(name, field) for name, field in base.parts}), chosen)


def coarse(field: Domain, groups: int) -> Domain:
    """Neighbouring codes of a field in at most so many groups of equal size; the last group may be smaller."""
    size = field.size or 1
    width = -(-size // max(1, min(groups, size)))
    if width <= 1 or width >= size:
        return field
    depth, leaves = 0, 1
    while leaves < size:
        depth, leaves = depth + 1, leaves * width
    return Level(field, width, depth - 1)
