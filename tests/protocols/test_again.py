"""Fully interactive protocols: the same people in every round, and budgets that add up."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above, Integers
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.question import Question
from sottovoce.core.round import Arm, Estimates, Round
from sottovoce.protocols.ask import AskOneOf
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.nested.again import AskInTurn, Interactive
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State
from sottovoce.protocols.simulate import rounds, simulate

LINE = Integers(0, 63)
CUPS = sv.mechanism("grr", sv.Integers(0, 5), epsilon="0.5")
SLEEP = sv.mechanism("grr", sv.Integers(0, 5), epsilon="1.5")


@dataclass(frozen=True)
class Halving(Interactive):
    """The median by halving, where the same people answer every threshold: what they said decides the next one."""

    turns: int
    promised: Decimal
    quota: int

    @property
    def answers(self) -> int:
        return self.turns

    @property
    def epsilon(self) -> Decimal:
        return self.promised

    @property
    def question(self) -> Question:
        return sv.Quantile(LINE, "0.5")

    def following(self, rounds: Rounds) -> Round | Estimates:
        low, high = 0, 64
        for (tally,) in rounds:
            middle = (low + high) // 2
            low, high = (middle, high) if tally.mechanism.estimate(tally).values[1] > 0.5 else (low, middle)
        if high - low == 1:
            return {"median": low}  # type: ignore[dict-item]
        arm = Arm("above", sv.mechanism("grr", Above(LINE, (low + high) // 2), epsilon=1))
        return Round((arm,), quota=self.quota)


def test_the_same_people_answer_every_round_and_the_next_depends_on_the_last() -> None:
    protocol = Halving(6, Decimal(6), 4000)
    answers = np.r_[np.full(2500, 20), np.full(1000, 3), np.full(500, 60)].tolist()
    assert simulate(protocol, answers, seed=1)["median"] == 20
    played = list(rounds(protocol, answers, seed=1))
    assert [sum(tally.n for tally in tallies) for tallies in played[-1].history] == [4000] * 6


@pytest.mark.parametrize("promised", [Halving(6, Decimal("5.9"), 10), Halving(5, Decimal(6), 10)])
def test_a_round_that_the_promise_does_not_cover_is_refused(promised: Halving) -> None:
    with pytest.raises(PrivacyError, match="but round 6 would make it 6"):
        simulate(promised, [1] * 10, seed=1)


def test_budgets_of_questions_in_turn_add_up() -> None:
    protocol = AskInTurn((Arm("cups", CUPS), Arm("sleep", SLEEP)), 1000)
    assert (protocol.epsilon, protocol.answers) == (2, 2)
    assert protocol_from_spec(protocol_spec(protocol)) == protocol
    found = simulate(protocol, [1, 2] * 500, seed=3)
    assert [found[name].n for name in ("cups", "sleep")] == [1000, 1000]
    with pytest.raises(ParameterError, match="waits for 1000 participants; 999"):
        simulate(protocol, [1] * 999, seed=3)


def test_closing_early_says_what_is_missing() -> None:
    protocol = AskInTurn((Arm("cups", CUPS), Arm("sleep", SLEEP)), 1000)
    first = CUPS.tally(CUPS.privatize([1] * 1000, seed=1))
    state = State.first(protocol).after((first,))
    assert resume(checkpoint(state)).round == state.round
    some = SLEEP.tally(SLEEP.privatize([1] * 10, seed=1))
    closed = state.counted((some,)).closed()
    assert closed["sleep"].n == 10 and "10 reports" in closed["cups"].missing
    alone = state.closed()
    assert set(alone) == {"cups"} and "no estimates for sleep" in alone["cups"].missing


def test_other_protocols_ask_each_person_once() -> None:
    assert AskOneOf((Arm("cups", CUPS),)).answers == 1
