"""The one loop that plays rounds, for simulations, coverage studies and collectors.

A state is a protocol, its finished rounds and the next step. Each round costs one call of `advance`, for any number of
earlier rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import cast

from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.round import Estimates, History, Protocol, Round, Tallies, check_tallies

Ask = Callable[[Round, int], Tallies | None]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The state of a protocol: the tallies of its finished rounds, and the round or the estimates that follow them.

    `begun` holds the tallies of a round that is not over, one for each arm, or is empty. The tallies of a round are of
    one epoch.
    """

    protocol: Protocol
    history: tuple[Tallies, ...]
    stage: Round | Estimates
    begun: Tallies = ()

    @classmethod
    def first(cls, protocol: Protocol) -> State:
        """The state before the first round."""
        if not isinstance(protocol, Protocol):
            raise ParameterError(
                "A protocol asks questions, such as VarianceRounds(domain, epsilon). Reports of a mechanism are drawn"
                " by its privatize, or their tally by simulate_counts."
            )
        return cls(protocol, (), protocol.start())

    @property
    def is_over(self) -> bool:
        """Whether the protocol has ended with estimates."""
        return not isinstance(self.stage, Round)

    @property
    def round(self) -> Round:
        """The current round."""
        if not isinstance(self.stage, Round):
            raise ReportError("This history has more rounds than its protocol.")
        return self.stage

    @property
    def estimates(self) -> Estimates:
        """The estimates at the end."""
        if isinstance(self.stage, Round):
            raise ReportError(f"Round {len(self.history) + 1} of this protocol is not over.")
        return self.stage

    def counted(self, tallies: Tallies) -> State:
        """The state with the tallies of the current round so far."""
        return State(self.protocol, self.history, self.stage, check_tallies(self.round, tallies, closing=True))

    def after(self, tallies: Tallies) -> State:
        """The state after the current round has ended with these tallies."""
        history = (*self.history, check_tallies(self.round, tallies))
        return State(self.protocol, history, self.protocol.advance(history))

    def closed(self) -> Estimates:
        """The estimates if no more reports come; those of an unfinished protocol say what they leave out."""
        if not isinstance(self.stage, Round):
            return self.stage
        rounds = (*self.history, self.begun) if self.begun else self.history
        return cast(Estimates, self.protocol.advance(rounds, closing=True))


def states(state: State, ask: Ask) -> Iterator[State]:
    """The state after each further round. `ask` takes a round and its number, from 1 on, and returns its tallies.

    If it returns None, no participants are left, and the protocol waits.
    """
    while not state.is_over:
        tallies = ask(state.round, len(state.history) + 1)
        if tallies is None:
            return
        state = state.after(tallies)
        yield state


def play(protocol: Protocol, ask: Ask, *, state: State | None = None) -> State:
    """The last state of a protocol that is played to its end, or until no participants are left."""
    first = State.first(protocol) if state is None else state
    *_, last = chain([first], states(first, ask))
    return last


def replay(protocol: Protocol, history: History) -> State:
    """The state after these rounds, from their tallies alone: every tally is checked against its arm."""
    state = play(protocol, lambda _, number: history[number - 1] if number <= len(history) else None)
    if len(state.history) < len(history):
        raise ReportError("This history has more rounds than its protocol.")
    return state
