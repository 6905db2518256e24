"""One round: one question to everyone, or several questions to a part of the participants each."""

from __future__ import annotations

from dataclasses import dataclass

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round


@dataclass(frozen=True, slots=True)
class AskEveryone(Protocol):
    """One question to everyone."""

    mechanism: Mechanism
    name: str = "answer"

    def start(self) -> Round:
        return Round((Arm(self.name, self.mechanism),))

    def advance(self, history: History) -> Round | Estimates:
        ((tally,),) = history
        return {self.name: self.mechanism.estimate(tally)}


@dataclass(frozen=True, slots=True)
class AskOneOfSeveral(Protocol):
    """Several questions in one round; each participant answers one of them, with the whole budget.

    A question that nobody was put to has no estimate.
    """

    arms: tuple[Arm, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", Round(self.arms).arms)

    def start(self) -> Round:
        return Round(self.arms)

    def advance(self, history: History) -> Round | Estimates:
        (tallies,) = history
        return {
            arm.name: arm.mechanism.estimate(tally) for arm, tally in zip(self.arms, tallies, strict=True) if tally.n
        }
