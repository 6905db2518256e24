"""One protocol after another: the second is built from the result of the first."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, cast

from sottovoce.core.errors import PrivacyError
from sottovoce.core.round import Estimates, History, Protocol, Round, partial
from sottovoce.protocols.nested.walk import Rounds, stage_after, walked

NO_SECOND = "Closed early: the second part has no reports."


class Sequential(Protocol):
    """Subclasses define the first protocol, the second one, and their combined estimates.

    Everyone answers once, in one of both, so the budget of the whole is the larger one: `epsilon` of a subclass must be
    at least that of either.
    """

    __slots__ = ()
    unbegun: ClassVar[str] = NO_SECOND
    needs_all_arms: ClassVar[bool] = False  # whether each arm of the second's first round needs reports

    @property
    @abstractmethod
    def opening(self) -> Protocol:
        """The first protocol."""

    @abstractmethod
    def following(self, estimates: Estimates, rounds: Rounds) -> Protocol:
        """The second protocol, given the estimates and the rounds of the first."""

    def together(self, estimates: Estimates, then: Estimates) -> Estimates:
        """The estimates of both, by default side by side."""
        return {**estimates, **then}

    def alone(self, estimates: Estimates, rounds: Rounds) -> Estimates:
        """The estimates if the second has no reports, given the rounds of the first."""
        return estimates

    def is_begun(self, later: Rounds) -> bool:
        """Whether the second has reports from which something can be estimated when it is closed."""
        return bool(later) and (not self.needs_all_arms or all(tally.n for tally in later[0]))

    def start(self) -> Round:
        return self._checked(self.opening).start()

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds, first = tuple(history), self._checked(self.opening)
        count, outcome = walked(first, rounds)
        if isinstance(outcome, Round):
            if not closing:
                return outcome
            return self.alone(cast(Estimates, first.advance(rounds, closing=True)), rounds)
        second, later = self._checked(self.following(outcome, rounds[:count])), rounds[count:]
        if closing and not self.is_begun(later):
            return self.alone(partial(outcome, self.unbegun), rounds[:count])
        if not later:
            return second.start()
        then = second.advance(later, closing=True) if closing else stage_after(second, later)
        return then if isinstance(then, Round) else self.together(outcome, then)

    def _checked(self, inner: Protocol) -> Protocol:
        """The budget of the whole must cover that of every part."""
        if inner.epsilon > self.epsilon:
            raise PrivacyError(
                f"{type(self).__name__} promises epsilon {self.epsilon}, but {type(inner).__name__} inside it spends"
                f" {inner.epsilon}."
            )
        return inner
