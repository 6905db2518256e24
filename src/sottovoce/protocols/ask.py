"""One round: one question to everyone, or several questions to a part of the participants each."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.protocols.nested.parallel import Branch, Parallel


@dataclass(frozen=True, slots=True)
class AskEveryone(Protocol):
    """One question to everyone, or to the first `quota` participants."""

    mechanism: Mechanism
    name: str = "answer"
    quota: int | None = None

    def __post_init__(self) -> None:
        self.start()  # refuses an invalid quota

    @property
    def question(self) -> Question:
        return self.mechanism.question

    @property
    def epsilon(self) -> Decimal:
        return self.mechanism.claimed

    def start(self) -> Round:
        return Round((Arm(self.name, self.mechanism),), quota=self.quota)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        ((tally,),) = history
        estimates = {self.name: self.mechanism.estimate(tally)}
        if self.quota is None or tally.n >= self.quota:
            return estimates
        return partial(estimates, f"Closed early: {tally.n} of {self.quota} reports were counted.")


@dataclass(frozen=True, slots=True)
class AskOneOf(Protocol):
    """Several questions in one round; each participant answers one of them, with the whole budget.

    A question without participants has no estimate.
    """

    arms: tuple[Arm, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", Round(self.arms).arms)

    @property
    def _inner(self) -> Parallel:
        return Parallel(tuple(Branch(arm.name, AskEveryone(arm.mechanism, arm.name), arm.weight) for arm in self.arms))

    @property
    def question(self) -> Question:
        return self._inner.question

    @property
    def epsilon(self) -> Decimal:
        return self._inner.epsilon

    def effort(self) -> int:
        return ARM_EFFORT * len(self.arms)

    def start(self) -> Round:
        return self._inner.start()

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        return self._inner.advance(history, closing)
