"""Rounds: who is asked what, and how one round leads to the next.

A protocol is a pure state machine. Its whole state is the history of tallies, so a collector can stop, save the
tallies, and go on elsewhere with the same result; or close the protocol early, with what is known by then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question
from sottovoce.core.simulation import marked
from sottovoce.core.work import ROUNDS_EFFORT

Tallies = tuple[Any, ...]  # one tally per arm, in the order of the arms
History = Sequence[Tallies]  # of every round that is over; where a protocol closes, the last may be unfinished
Estimates = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of asking: a share of the participants of a round answers through this mechanism."""

    name: str
    mechanism: Mechanism
    weight: int = 1

    def __post_init__(self) -> None:
        check_integer("weight", f"arm {self.name!r}", self.weight, 1, 1 << 20)


@dataclass(frozen=True, slots=True)
class Round:
    """Arms, and the number of reports after which the round may end (None: all who are left).

    Coins put participants into an arm, unless it is `chosen`: then the arms are budgets, and everyone takes their own.
    """

    arms: tuple[Arm, ...]
    quota: int | None = None
    chosen: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", tuple(self.arms))
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"A round has at least one arm, and their names differ. Got {names}.")
        if self.quota is not None:
            check_integer("quota", "a round", self.quota, 1, 1 << 53)

    @property
    def weight(self) -> int:
        """The weights of all arms together."""
        return sum(arm.weight for arm in self.arms)

    @property
    def epsilon(self) -> float:
        """The most that one participant, who answers in one arm, can lose."""
        return max(arm.mechanism.epsilon for arm in self.arms)

    def may_end(self, reports: int) -> bool:
        """Whether so many reports are enough."""
        return self.quota is None or reports >= self.quota

    def arm_at(self, ticket: int) -> int:
        """The arm of a ticket below `weight`."""
        for place, arm in enumerate(self.arms):
            ticket -= arm.weight
            if ticket < 0:
                return place
        raise ValueError(f"A ticket of this round is below {self.weight}.")

    def assign(self, coins: Coins) -> int:
        """An arm by data-independent coins: participants do not choose, and values play no part."""
        if self.chosen:
            raise ParameterError("In this round participants choose their arm themselves.")
        return self.arm_at(coins.below(self.weight))


class Protocol(ABC):
    """Who is asked what, round after round, to answer a question. Frozen: everything that changes is in the history.

    `epsilon` is the most that one participant can lose. Participants answer once, in one arm, so it is the largest
    budget of any arm; a protocol that asks the same person again adds the budgets up.
    """

    epsilon: Any  # an exact decimal: a field, or a property

    def __init_subclass__(cls) -> None:
        """What every protocol keeps is done once, around the `advance` of each."""
        super().__init_subclass__()
        own = cls.__dict__.get("advance")
        if own is not None and not hasattr(own, "__wrapped__"):
            cls.advance = _kept(own)  # type: ignore[method-assign]

    @property
    @abstractmethod
    def question(self) -> Question:
        """What is asked of the crowd."""

    @abstractmethod
    def start(self) -> Round:
        """The first round."""

    @abstractmethod
    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        """What follows these finished rounds: another round, or the estimates.

        Where the protocol is `closing`, nobody else will answer, and it gives the estimates that can be given now. The
        last round of the history may then be unfinished: it has one tally for each arm like any other, of fewer reports
        than its quota. What a partial estimate leaves out is said by its `missing`.
        """

    def effort(self) -> int:
        """Steps of work that finding its rounds takes at most, known from sizes alone; see `core.work`."""
        return ROUNDS_EFFORT


def _kept(advance: Callable[..., Round | Estimates]) -> Callable[..., Round | Estimates]:
    """What is made of simulated tallies is marked; a protocol that closes has reports, and gives estimates."""

    @wraps(advance)
    def kept(self: Any, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        if closing:
            while rounds and not reports_of(rounds[-1]):
                rounds = rounds[:-1]
            if not rounds:
                raise ParameterError("Nothing can be estimated yet: no report was counted.")
        found = advance(self, rounds, closing) if closing else advance(self, rounds)
        if isinstance(found, Round):
            if closing:
                raise TypeError(f"{type(self).__name__} asks for another round where it was to close.")
            return found
        simulated = any(getattr(tally, "simulated", False) for tallies in rounds for tally in tallies)
        return {name: marked(one, simulated) for name, one in found.items()}

    return kept


def partial(found: Estimates, missing: str) -> Estimates:
    """Estimates of a protocol that was closed early, each of which says what is missing."""
    return {name: _lacking(one, missing) for name, one in found.items()}


def _lacking(found: Any, missing: str) -> Any:
    if not hasattr(found, "missing"):
        return found
    return replace(found, missing=missing if found.missing is None else f"{found.missing} {missing}")


def reports_of(tallies: Sequence[Any]) -> int:
    """How many reports the tallies of a round hold."""
    return sum(tally.n for tally in tallies)


def check_tallies(current: Round, tallies: Sequence[Any], *, closing: bool = False) -> Tallies:
    """The tallies of a round, one per arm and each of the arm's mechanism; fewer than its quota only when closing."""
    found = [getattr(tally, "mechanism", None) for tally in tallies]
    expected = [arm.mechanism for arm in current.arms]
    if [m and m.fingerprint for m in found] != [m.fingerprint for m in expected]:
        raise ParameterError(
            f"A round with the arms {', '.join(arm.name for arm in current.arms)} ends with one tally of each arm's"
            f" mechanism, in this order: {_listed(expected)}. Got {_listed(found)}."
        )
    reports = reports_of(tallies)
    if not closing and not current.may_end(reports):
        raise ParameterError(f"This round ends after {current.quota} reports. Got tallies of {reports}.")
    return tuple(tallies)


def _listed(mechanisms: Sequence[Mechanism | None]) -> str:
    return ", ".join(f"{m.name} {m.fingerprint[:12]}" if m else "no tally" for m in mechanisms) or "none"
