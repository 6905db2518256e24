"""Fully interactive protocols: the same people answer in every round, and the budgets of the rounds add up."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Question, Several
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial, reports_of
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.protocols.nested.walk import Rounds


class Interactive(Protocol):
    """Subclasses say how many rounds there are (`answers`), what all of them lose (`epsilon`), and the next step.

    Devices are told `answers` and `epsilon` by the manifest. They keep the account of their own rounds, and refuse a
    second report in one round, a round more than `answers`, and a loss above the sum. Here every round is checked
    against the same sum. Estimates of several rounds share their people: do not add them up as if they were of
    different ones.
    """

    __slots__ = ()

    @abstractmethod
    def following(self, rounds: Rounds) -> Round | Estimates:
        """The round after these finished ones, or the estimates."""

    def closed(self, rounds: Rounds) -> Estimates:
        """The estimates if no more reports come."""
        raise ParameterError("Nothing can be estimated before the last round of this protocol is over.")

    def start(self) -> Round:
        return self._affordable(cast(Round, self.following(())), ())

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(history)
        stage = self.following(rounds if not closing or self._is_over(rounds) else rounds[:-1])
        if not isinstance(stage, Round):
            return stage
        return self.closed(rounds) if closing else self._affordable(stage, rounds)

    def _is_over(self, rounds: Rounds) -> bool:
        """Whether the last of these rounds has its quota."""
        before = self.following(rounds[:-1])
        return isinstance(before, Round) and before.quota is not None and reports_of(rounds[-1]) >= before.quota

    def _affordable(self, stage: Round, before: Rounds) -> Round:
        """The next round, if all rounds together lose at most `epsilon`: each costs its most expensive arm."""
        spent = [max(tally.mechanism.claimed for tally in tallies) for tallies in before]
        spent.append(max(arm.mechanism.claimed for arm in stage.arms))
        total = sum(spent, Decimal(0))
        if len(spent) > self.answers or total > self.epsilon:
            raise PrivacyError(
                f"{type(self).__name__} promises {self.answers} rounds and epsilon {decimal_text(self.epsilon)}, but"
                f" round {len(spent)} would make it {decimal_text(total)}."
            )
        return stage


@dataclass(frozen=True, slots=True)
class AskInTurn(Interactive):
    """Several questions to the same people, one in each round; everyone answers all of them.

    The losses of all questions add up. Asking each person one question with the whole budget (`AskOneOf`) has smaller
    errors. This one is for answers that the next round depends on, and the shape that such protocols have.
    """

    arms: tuple[Arm, ...]
    quota: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", Round(self.arms, quota=self.quota).arms)

    @property
    def answers(self) -> int:
        return len(self.arms)

    @property
    def epsilon(self) -> Decimal:
        return sum((arm.mechanism.claimed for arm in self.arms), Decimal(0))

    @property
    def question(self) -> Question:
        return Several.of(arm.mechanism.question for arm in self.arms)

    def effort(self) -> int:
        return ARM_EFFORT * len(self.arms)

    def following(self, rounds: Rounds) -> Round | Estimates:
        if len(rounds) < len(self.arms):
            return Round((self.arms[len(rounds)],), quota=self.quota)
        return self._estimates(rounds)

    def closed(self, rounds: Rounds) -> Estimates:
        missing = ", ".join(arm.name for arm in self.arms[len(rounds) :])
        said = f"no estimates for {missing}" if missing else f"the last round has {reports_of(rounds[-1])} reports"
        return partial(self._estimates(rounds), f"Closed early: {said}.")

    def _estimates(self, rounds: Rounds) -> Estimates:
        return {
            arm.name: arm.mechanism.estimate(tally) for arm, (tally,) in zip(self.arms, rounds, strict=False) if tally.n
        }
