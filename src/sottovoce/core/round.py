"""Rounds: who is asked what, and how one round leads to the next.

A protocol is a pure state machine. Its whole state is the history of tallies, so a collector can stop, save the
tallies, and resume elsewhere with the same result; or close the protocol early, with a partial result.
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
from sottovoce.core.params import check_integer, check_people
from sottovoce.core.question import Question
from sottovoce.core.simulation import marked
from sottovoce.core.spec_cost import ROUNDS_EFFORT

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
            raise ParameterError(f"A round must have at least one arm, and their names must differ. Got {names}.")
        if self.quota is not None:
            check_people("quota", "a round", self.quota)

    @property
    def weight(self) -> int:
        """The weights of all arms together."""
        return sum(arm.weight for arm in self.arms)

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of one participant, who answers in one arm."""
        return max(arm.mechanism.epsilon for arm in self.arms)

    def may_end(self, reports: int) -> bool:
        """Whether this number of reports is enough."""
        return self.quota is None or reports >= self.quota

    def arm_at(self, ticket: int) -> int:
        """The arm of a ticket below `weight`."""
        for place, arm in enumerate(self.arms):
            ticket -= arm.weight
            if ticket < 0:
                return place
        raise ValueError(f"A ticket of this round must be below {self.weight}.")

    def assign(self, coins: Coins) -> int:
        """An arm by data-independent coins: participants do not choose, and values play no part."""
        if self.chosen:
            raise ParameterError("In this round participants choose their arm themselves.")
        return self.arm_at(coins.below(self.weight))


class Protocol(ABC):
    """A plan of who is asked what, round after round. Frozen: everything that changes is in the history.

    `epsilon` is the largest privacy loss of one participant. Participants answer once, in one arm, so it is the largest
    budget of any arm; a protocol that asks the same people again (`protocols.nested.again`) adds the budgets up.
    """

    epsilon: Any  # an exact decimal: a field, or a property

    def __init_subclass__(cls) -> None:
        """Wraps the `advance` of each protocol in the checks that all of them share."""
        super().__init_subclass__()
        own = cls.__dict__.get("advance")
        if own is not None and not hasattr(own, "__wrapped__"):
            cls.advance = _kept(own)  # type: ignore[method-assign]

    @property
    def answers(self) -> int:
        """In how many rounds one person answers."""
        return 1

    @property
    @abstractmethod
    def question(self) -> Question:
        """Question to the crowd."""

    @abstractmethod
    def start(self) -> Round:
        """The first round."""

    @abstractmethod
    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        """The next round after these finished rounds, or the estimates.

        With `closing` no more reports will come, and the result is the estimates that are possible now. The last round
        of the history may then be unfinished: it has one tally for each arm like any other, with fewer reports than its
        quota. The `missing` of a partial estimate says what it leaves out.
        """

    def effort(self) -> int:
        """An upper bound of the steps that finding its rounds takes, from sizes alone; see `core.spec_cost`."""
        return ROUNDS_EFFORT


def _kept(advance: Callable[..., Round | Estimates]) -> Callable[..., Round | Estimates]:
    """Results of simulated tallies are marked; closing needs reports and must give estimates."""

    @wraps(advance)
    def kept(self: Any, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        if closing:
            while rounds and not reports_of(rounds[-1]):
                rounds = rounds[:-1]
            if not rounds:
                raise ParameterError("Nothing can be estimated yet: no report was counted.")
        outcome = advance(self, rounds, closing) if closing else advance(self, rounds)
        if isinstance(outcome, Round):
            if closing:
                raise TypeError(f"{type(self).__name__} asks for another round although it is closing.")
            return outcome
        simulated = any(getattr(tally, "simulated", False) for tallies in rounds for tally in tallies)
        return {name: marked(one, simulated) for name, one in outcome.items()}

    return kept


def partial(estimates: Estimates, missing: str) -> Estimates:
    """Estimates of a protocol that was closed early; each says what is missing."""
    return {name: _lacking(one, missing) for name, one in estimates.items()}


def _lacking(estimate: Any, missing: str) -> Any:
    if not hasattr(estimate, "missing"):
        return estimate
    return replace(estimate, missing=missing if estimate.missing is None else f"{estimate.missing} {missing}")


def reports_of(tallies: Sequence[Any]) -> int:
    """How many reports the tallies of a round hold."""
    return sum(tally.n for tally in tallies)


def check_tallies(current: Round, tallies: Sequence[Any], *, closing: bool = False) -> Tallies:
    """The tallies of a round, one per arm, each of the arm's mechanism and all of one epoch.

    Tallies may hold fewer reports than the quota only when closing.
    """
    tallied = [getattr(tally, "mechanism", None) for tally in tallies]
    expected = [arm.mechanism for arm in current.arms]
    if [m and m.fingerprint for m in tallied] != [m.fingerprint for m in expected]:
        raise ParameterError(
            f"A round with the arms {', '.join(arm.name for arm in current.arms)} ends with one tally of each arm's"
            f" mechanism, in this order: {_listed(expected)}. Got {_listed(tallied)}."
        )
    epochs = sorted({tally.epoch for tally in tallies})
    if len(epochs) > 1:
        raise ParameterError(f"The tallies of a round are of one epoch. Got {' and '.join(map(str, epochs))}.")
    reports = reports_of(tallies)
    if not closing and not current.may_end(reports):
        raise ParameterError(f"This round ends after {current.quota} reports. Got tallies of {reports}.")
    return tuple(tallies)


def _listed(mechanisms: Sequence[Mechanism | None]) -> str:
    return ", ".join(f"{m.name} {m.fingerprint[:12]}" if m else "no tally" for m in mechanisms) or "none"
