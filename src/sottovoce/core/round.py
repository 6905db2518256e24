"""Rounds: who is asked what, and how one round leads to the next.

A protocol is a pure state machine. Its whole state is the history of tallies, so a collector can stop, save the
tallies, and go on elsewhere with the same result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.simulation import marked

Tallies = tuple[Any, ...]  # one tally per arm, in the order of the arms
History = Sequence[Tallies]  # of every round that is over
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
    """Subclasses are frozen: everything that changes is in the history."""

    def __init_subclass__(cls) -> None:
        """Whatever a protocol makes of simulated tallies is marked as a simulation."""
        super().__init_subclass__()
        own = cls.__dict__.get("advance")
        if own is not None and not hasattr(own, "__wrapped__"):
            cls.advance = _marking(own)  # type: ignore[method-assign, assignment]

    @abstractmethod
    def start(self) -> Round:
        """The first round."""

    @abstractmethod
    def advance(self, history: History) -> Round | Estimates:
        """What follows these finished rounds: another round, or the estimates."""


def _marking(advance: Callable[[Any, History], Round | Estimates]) -> Callable[[Any, History], Round | Estimates]:
    @wraps(advance)
    def marking(self: Any, history: History) -> Round | Estimates:
        found = advance(self, history)
        if isinstance(found, Round):
            return found
        simulated = any(getattr(tally, "simulated", False) for tallies in history for tally in tallies)
        return {name: marked(one, simulated) for name, one in found.items()}

    return marking


def check_tallies(current: Round, tallies: Sequence[Any]) -> Tallies:
    """The tallies of a round, one per arm and each of the arm's mechanism."""
    found = [getattr(tally, "mechanism", None) for tally in tallies]
    expected = [arm.mechanism for arm in current.arms]
    if [m and m.fingerprint for m in found] != [m.fingerprint for m in expected]:
        raise ParameterError(
            f"A round with the arms {', '.join(arm.name for arm in current.arms)} ends with one tally of each arm's"
            f" mechanism, in this order: {_listed(expected)}. Got {_listed(found)}."
        )
    reports = sum(tally.n for tally in tallies)
    if current.quota is not None and reports < current.quota:
        raise ParameterError(f"This round ends after {current.quota} reports. Got tallies of {reports}.")
    return tuple(tallies)


def _listed(mechanisms: Sequence[Mechanism | None]) -> str:
    return ", ".join(f"{m.name} {m.fingerprint[:12]}" if m else "no tally" for m in mechanisms) or "none"
