"""Protocols inside protocols: side by side, and one after another."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Select
from sottovoce.core.question import Several
from sottovoce.core.round import Arm, Protocol
from sottovoce.protocols.ask import AskEveryone, AskOneOf
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.protocols.nested.sequential import Sequential
from sottovoce.protocols.play import State, replay
from sottovoce.protocols.ranges.clamped import ClampedMeanRound
from sottovoce.protocols.ranges.densest import DensestInterval
from sottovoce.protocols.ranges.search import RangeSearchRounds
from sottovoce.protocols.simulate import rounds
from sottovoce.testing.statistics import ALPHA

DIGITS = sv.Integers(0, 7)
ANSWERS = np.random.default_rng(3).integers(0, 8, 6_000)


def ask(epsilon: Any, quota: int | None = None, name: str = "answer") -> AskEveryone:
    return AskEveryone(sv.mechanism("grr", DIGITS, epsilon=epsilon), name, quota)


BOTH = Parallel(
    (
        Branch("a", DensestInterval(DIGITS, 1, first=900)),
        Branch("b", sv.VarianceRounds(DIGITS, 2, method="sequential", mechanism="bernoulli", first=700), 2),
        Branch("c", ask("0.5")),
    )
)


def test_the_budget_is_the_largest_of_any_branch() -> None:
    assert BOTH.epsilon == 2
    assert Parallel((Branch("c", ask("0.5")), Branch("d", ask("0.25")))).epsilon == Decimal("0.5")
    asked = AskOneOf((Arm("x", ask(1).mechanism), Arm("y", ask(3).mechanism)))
    assert asked.epsilon == 3 and all(arm.mechanism.epsilon <= 3 for arm in asked.start().arms)


def test_the_question_is_the_one_of_all_branches_or_several() -> None:
    same = Parallel((Branch("c", ask("0.5")), Branch("d", ask("0.25"))))
    assert same.question == sv.Frequency(DIGITS)
    assert isinstance(BOTH.question, Several) and BOTH.question.domain == DIGITS
    assert [question.kind for question in BOTH.question.questions] == ["frequency", "variance"]
    person = sv.Record({"smokes": sv.Categories(["no", "yes"]), "type": sv.Categories(["lark", "owl"])})
    names = ("smokes", "type")
    arms = tuple(Arm(name, sv.mechanism("grr", Select(person, [name]), epsilon=1)) for name in names)
    assert AskOneOf(arms).question.domain == person
    with pytest.raises(sv.ParameterError, match="not views of one answer"):
        _ = Several((sv.Frequency(DIGITS), sv.Mean(sv.Interval(0, 1)))).domain


def test_each_branch_hears_its_own_tallies(seed: int) -> None:
    """What is said of a branch is what its protocol says of the tallies of its own arms, added up over rounds."""
    states = [State.first(BOTH), *rounds(BOTH, ANSWERS, seed=seed)]
    own: dict[str, list[Any]] = {"a: interval": [], "a: value": [], "b: number": [], "b: square": [], "c: answer": []}
    for before, after in pairwise(states):
        assert before.round.epsilon <= 2
        for arm, tally in zip(before.round.arms, after.history[-1], strict=True):
            own[arm.name].append(tally)
    merged = {name: sum(parts[1:], parts[0]) for name, parts in own.items()}
    assert sum(tally.n for tally in merged.values()) == len(ANSWERS)
    assert merged["a: interval"].n >= 900 and merged["b: number"].n >= 700
    found = states[-1].estimates
    assert list(found) == ["a: interval", "a: value", "b: mean", "b: variance", "b: sd", "c: answer"]
    interval, spread, answer = (branch.protocol for branch in BOTH.branches)
    alone = interval.advance(((merged["a: interval"],), (merged["a: value"],)))
    assert np.array_equal(found["a: value"].values, alone["value"].values)
    alone = spread.advance(((merged["b: number"],), (merged["b: square"],)))
    assert found["b: variance"].value == alone["variance"].value
    assert np.array_equal(found["c: answer"].values, answer.advance(((merged["c: answer"],),))["answer"].values)
    shares = np.array([merged[name].n for name in merged])
    assert abs((shares[2] + shares[3]) / len(ANSWERS) - 0.5) < 0.1, "a branch of weight 2 of 4 has half, until it ends"


def test_side_by_side_finds_the_truth_and_can_stop_anywhere(seed: int) -> None:
    straight = sv.simulate(BOTH, ANSWERS, seed=seed)
    state = State.first(BOTH)
    while not state.is_over:
        state = resume(checkpoint(next(rounds(BOTH, ANSWERS, seed=seed, state=state))))
    assert all(np.array_equal(state.estimates[name].values, one.values) for name, one in straight.items())
    assert all(one.simulated for one in straight.values())
    low, high = straight["b: mean"].ci(1 - ALPHA)
    assert low[0] < ANSWERS.mean() < high[0]
    assert replay(BOTH, state.history).is_over


def test_branches_that_cannot_stand_side_by_side_are_refused() -> None:
    personal = PersonalBudgetMean(sv.Interval(0, 1), [1, 2])
    with pytest.raises(sv.ParameterError, match="choose their arm"):
        Parallel((Branch("a", personal), Branch("b", ask(1)))).start()
    for wrong in ((), (Branch("a", ask(1)), Branch("a", ask(2)))):
        with pytest.raises(sv.ParameterError, match="names must differ"):
            Parallel(wrong)
    with pytest.raises(sv.ParameterError, match="belong to other protocols"):
        BOTH.advance(((),))


def test_closing_side_by_side_says_what_is_missing(seed: int) -> None:
    first = State.first(BOTH)
    few = [sv.Tally.empty(arm.mechanism) for arm in first.round.arms]
    few[-1] = few[-1].update(few[-1].mechanism.privatize(ANSWERS[:50], seed=seed))
    found = first.counted(tuple(few)).closed()
    assert list(found) == ["c: answer"] and "no estimates for a, b" in found["c: answer"].missing
    some = next(rounds(BOTH, ANSWERS, seed=seed)).closed()
    assert "b: mean" in some and "b: variance" not in some
    assert "variance needs" in some["b: mean"].missing and "variance needs" in some["b: mean"].explain()


# --- one after another -------------------------------------------------------------------------------
@dataclass(frozen=True)
class AskAgain(Sequential):
    """Asks some, then others, with another budget."""

    epsilon: Any
    budgets: tuple[Any, Any] = (1, 2)

    @property
    def question(self) -> sv.Frequency:
        return sv.Frequency(DIGITS)

    @property
    def opening(self) -> Protocol:
        return ask(self.budgets[0], 500, "early")

    def following(self, found: Any, rounds: Any) -> Protocol:
        assert found["early"].n == rounds[0][0].n
        return ask(self.budgets[1], name="late")


def test_the_second_protocol_follows_the_first(seed: int) -> None:
    found = sv.simulate(AskAgain(2), ANSWERS, seed=seed)
    assert list(found) == ["early", "late"] and found["early"].n == 500 and found["late"].n == 5_500
    assert found["early"].missing is None
    inside = Parallel((Branch("x", AskAgain(2)), Branch("y", ask(1))))
    assert inside.epsilon == 2 and list(sv.simulate(inside, ANSWERS, seed=seed)) == ["x: early", "x: late", "y: answer"]


def test_no_part_spends_more_than_the_whole_promises(seed: int) -> None:
    with pytest.raises(sv.PrivacyError, match="promises epsilon 1, but AskEveryone inside it spends 2"):
        sv.simulate(AskAgain(1), ANSWERS, seed=seed)
    with pytest.raises(sv.PrivacyError, match="spends 3"):
        AskAgain(2, (3, 1)).start()


def test_a_range_search_is_its_search_and_then_its_mean() -> None:
    whole = sv.RangeSearchMean(sv.Interval(0, 1000), 2, 4_000, method="bernoulli")
    assert isinstance(whole.opening, RangeSearchRounds) and whole.epsilon == whole.opening.epsilon == 2
    assert whole.start() == whole.opening.start()
    answers = np.random.default_rng(1).normal(300, 5, 4_000)
    last = list(rounds(whole, answers, seed=1))[-1]
    *search, numbers = last.history
    found = replay(whole.opening, search)
    following = whole.following(found.estimates, tuple(search))
    assert isinstance(following, ClampedMeanRound) and following.searchers == sum(t.n for s in search for t in s)
    again = following.advance((numbers,))
    assert again["mean"].value == last.estimates["mean"].value
    assert again["range"].evidence.low < 300 < again["range"].evidence.high


def test_an_inner_protocol_takes_one_step_for_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    plain = RangeSearchRounds.advance

    def counted(self: Any, history: Any, closing: bool = False) -> Any:
        steps.append(len(history))
        return plain(self, history, closing)

    monkeypatch.setattr(RangeSearchRounds, "advance", counted)
    whole = sv.RangeSearchMean(sv.Interval(0, 1000), 2, 4_000, method="bernoulli")
    answers = np.random.default_rng(2).normal(300, 5, 4_000)
    last = list(rounds(whole, answers, seed=2))[-1]
    assert steps == list(range(1, len(last.history)))
