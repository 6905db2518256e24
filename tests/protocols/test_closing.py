"""Closing early: after any round, and in the middle of one, there is a partial result that says so, or one sentence."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.question import Question
from sottovoce.core.round import Arm, Protocol, Round
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.protocols.play import State, play, replay, states
from sottovoce.protocols.ranges.clamped import ClampedMeanRound
from sottovoce.protocols.ranges.densest import DensestInterval
from sottovoce.protocols.simulate import play_round, rounds
from sottovoce.tally.tally import Tally
from tests.protocols.test_checkpoints import EVERY

SLOW = {"RangeSearch", "RangeSearchRounds", "UnkVar", "KnownVar", "UVGausstimate", "OneRoundUVGausstimate"}
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in EVERY]


def choices(name: str, answers: Any) -> Any:
    return np.arange(len(answers)) % 2 if name.startswith("Personal") else None


@pytest.mark.parametrize("name", EACH)
def test_every_protocol_has_a_question_and_a_budget_that_no_arm_exceeds(name: str) -> None:
    protocol, answers = EVERY[name]
    assert isinstance(protocol.question, Question)
    spent = set()
    for state in (State.first(protocol), *rounds(protocol, answers, seed=1, choices=choices(name, answers))):
        spent |= {arm.mechanism.claimed for arm in (() if state.is_over else state.round.arms)}
    assert max(spent) <= protocol.epsilon
    assert name in ("Variance, split-n", "AskInTurn") or max(spent) == protocol.epsilon


@pytest.mark.parametrize("name", EACH)
def test_a_protocol_can_be_closed_at_any_time(name: str) -> None:
    """With no report nothing is said; with few, or with fewer rounds than planned, what is said has an interval."""
    protocol, answers = EVERY[name]
    some = choices(name, answers)
    with pytest.raises(sv.ParameterError, match="Nothing can be estimated yet: no report was counted"):
        State.first(protocol).closed()
    last = State.first(protocol)
    for state in (last, *rounds(protocol, answers, seed=1, choices=some)):
        last = state
        if state.is_over:
            break
        for people in (0, 7, 300):
            picked = None if some is None else some[:people]
            begun = play_round(state.round, answers[:people], seed=2, choices=picked)
            partly = resume(checkpoint(state.counted(begun)))
            assert partly.begun == begun
            found, problem = attempt(partly)
            if problem is not None:
                assert not state.history and "\n" not in problem
                continue
            usable(found)
            waits = state.round.quota is not None and people < state.round.quota
            if waits and state.history == () and len(state.round.arms) == 1:
                assert all(one.missing is not None for one in found.values())
    found = last.closed()
    assert found is last.estimates
    assert all(getattr(one, "missing", None) is None for one in found.values())


def attempt(state: State) -> tuple[Any, str | None]:
    try:
        return state.closed(), None
    except sv.ParameterError as problem:
        return None, str(problem)


def usable(found: Any) -> None:
    assert found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in found.values():
            low, high = one.ci()
            assert one.simulated and len(low) == len(high) == len(one.values) and (low <= high).all()
            missing = one.missing
            if missing is not None:
                assert missing.startswith("Closed early: ") and missing in one.explain()
                assert one.to_frame().attrs["missing"] == missing and "partial" in repr(one)


def test_what_is_missing_is_said(seed: int) -> None:
    answers = np.random.default_rng(seed).normal(0.2, 0.1, 6_000).clip(-1, 1)
    adaptive = sv.AdaptiveMeanRounds(sv.Interval(-1, 1), 4, 6_000, inputs=9)
    first = next(rounds(adaptive, answers, seed=seed))
    found = first.closed()
    assert list(found) == ["mean"] and "round two" in found["mean"].missing
    assert found["mean"].value == first.history[0][0].mechanism.estimate(first.history[0][0]).value
    spread = sv.VarianceRounds(sv.Interval(-1, 1), 2, method="sequential", mechanism="bernoulli", first=1_000)
    found = next(rounds(spread, answers, seed=seed)).closed()
    assert list(found) == ["mean"] and "at least two reports of the square" in found["mean"].missing
    asked = AskEveryone(sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=1), quota=100)
    found = sv.simulate(asked, answers[:60], seed=seed, closing=True)
    assert found["answer"].missing == "Closed early: 60 of 100 reports were counted."
    assert sv.simulate(asked, answers[:100], seed=seed, closing=True)["answer"].missing is None


@pytest.mark.slow
def test_a_range_search_has_a_mean_whenever_it_is_closed() -> None:
    """After each of its rounds, and with few reports of the next one: 30 intervals, which are wide, and hold."""
    answers = np.minimum(np.random.default_rng(1).lognormal(2.5, 0.6, 6_000), 1440)
    search = sv.RangeSearchMean(sv.Interval(0, 1440), epsilon=2, participants=6_000)
    held, widths = [], []
    for seed in range(4):
        for state in rounds(search, answers, seed=seed):
            if state.is_over:
                break
            for few in (0, 30):
                found = state.counted(play_round(state.round, answers[:few], seed=seed)).closed()
                mean, ((low,), (high,)) = found["mean"], found["mean"].ci()
                assert mean.missing in mean.explain() and low <= mean.value <= high and math.isnan(mean.std_errors[0])
                held.append(low <= answers.mean() <= high)
                widths.append((len(state.history), high - low))
    assert len(held) >= 20 and all(held)
    last = max(count for count, _ in widths)
    assert min(width for count, width in widths if count == last) < 500
    # Numbers without anyone who was asked about the part beyond: everyone there may be at the end of the domain.
    clamped = ClampedMeanRound(sv.Interval(0, 100), 2, 10, 40, 1000)
    begun = play_round(clamped.start(), np.full(20, 30.0), seed=1)
    asked = [begun[0], *(Tally.empty(tally.mechanism) for tally in begun[1:])]
    found = clamped.advance((asked,), closing=True)
    (low,), (high,) = found["mean"].ci()
    assert list(found) == ["mean", "clamped"] and "nobody was asked" in found["mean"].missing
    (inner,), (outer,) = found["clamped"].ci(0.975, method="betting")
    assert low == pytest.approx(inner - 10) and high == pytest.approx(outer + 60)


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("reports", [1, 2, 3, 5, 10])
def test_a_mean_of_few_reports_is_covered(reports: int, epsilon: int) -> None:
    """Computed from the law of how many of the reports are high."""
    m = sv.mechanism("bernoulli", sv.Interval(0, 1), epsilon=epsilon)
    keep = 1 / (1 + math.exp(-epsilon))
    bounds = []
    for high in range(reports + 1):
        found = m.estimate(Tally(m, reports, np.array([reports - high, high])))
        assert found.default_method == "betting"
        bounds.append(found.quiet_ci(0.95))
    for truth in (0.02, 0.1, 0.3, 0.5, 0.8, 0.98):
        rate = truth * keep + (1 - truth) * (1 - keep)
        weights = [math.comb(reports, k) * rate**k * (1 - rate) ** (reports - k) for k in range(reports + 1)]
        inside = [low[0] <= truth <= high[0] for low, high in bounds]
        assert sum(weight for weight, holds in zip(weights, inside, strict=True) if holds) >= 0.95


def test_a_variance_of_few_squares_is_covered_and_doubted(seed: int) -> None:
    """After a second round that was closed early; the normal interval covered a tenth to a third of these."""
    protocol = sv.VarianceRounds(sv.Interval(0, 1), 4, method="sequential", mechanism="bernoulli", first=200)
    generator = np.random.default_rng(seed)
    for few in (2, 3, 5, 10):
        missed = 0
        for run in range(10):
            state = State.first(protocol)
            state = state.after(play_round(state.round, generator.beta(2, 8, 200), seed=run))
            found = state.counted(play_round(state.round, generator.beta(2, 8, few), seed=run)).closed()
            for name, truth in (("variance", 0.16 / 11), ("sd", math.sqrt(0.16 / 11))):
                low, high = found[name].quiet_ci()
                missed += not low[0] <= truth <= high[0]
                assert found[name].default_method == "hoeffding"
                assert f"{few} about the squares: too few" in (found[name].doubt() or "")
            low, high = found["variance"].quiet_ci(target="sample")
            assert (low[0], high[0]) == (0, pytest.approx((200 + few) / (199 + few) / 4))
        assert missed <= 2  # of 20: the square root of an interval misses where the interval does


def test_a_simulation_with_too_few_participants_can_be_closed(seed: int) -> None:
    search = DensestInterval(sv.Integers(0, 15), 2, first=1_000)
    with pytest.raises(sv.ParameterError, match="Round 1 waits for 1000"):
        sv.simulate(search, [3] * 600, seed=seed)
    found = sv.simulate(search, [3] * 600, seed=seed, closing=True)
    assert list(found) == ["interval"] and found["interval"].n == 600 and found["interval"].missing
    found = sv.simulate(search, [3] * 1_000, seed=seed, closing=True)
    assert list(found) == ["interval"] and "second part" in found["interval"].missing
    found = sv.simulate(search, [3] * 1_500, seed=seed, closing=True)
    assert list(found) == ["interval", "value"] and found["value"].missing is None
    with pytest.raises(sv.ParameterError, match="no report"):
        sv.simulate(search, [], seed=seed, closing=True)


def test_the_place_of_gaussian_answers_takes_enough_digits(seed: int) -> None:
    protocol, answers = EVERY["KVGausstimate"]
    state = State.first(protocol)
    few = state.counted(play_round(state.round, answers[:100], seed=seed))
    with pytest.raises(sv.ParameterError, match=r"needs at least \d+ reports of digits"):
        few.closed()
    first = next(rounds(protocol, answers, seed=seed))
    mean = first.closed()["mean"]
    low, high = mean.ci(1 - 1e-6)
    assert low[0] < 123 < high[0] and mean.std_errors[0] < 1.5


def test_an_unfinished_round_is_only_for_closing(seed: int) -> None:
    protocol, answers = EVERY["Refine"]
    state = State.first(protocol)
    few = play_round(state.round, answers[:10], seed=seed)
    with pytest.raises(sv.ParameterError, match="ends after 2000 reports"):
        state.after(few)
    assert state.counted(few).closed()["interval"].n == 10
    with pytest.raises(sv.ParameterError, match="one tally of each arm"):
        state.counted((*few, *few))
    with pytest.raises(sv.ReportError, match="is not over"):
        _ = state.estimates


def test_a_protocol_that_does_not_close_is_a_mistake_of_its_author() -> None:
    class Endless(Protocol):
        epsilon = 1
        question = sv.Frequency(sv.Integers(0, 3))

        def start(self) -> Round:
            return Round((Arm("a", sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)),), quota=2)

        def advance(self, history: Any, closing: bool = False) -> Any:
            return self.start()

    state = State.first(Endless()).counted(play_round(Endless().start(), [1], seed=1))
    with pytest.raises(TypeError, match="Endless asks for another round"):
        state.closed()


# --- the loop ----------------------------------------------------------------------------------------
def test_each_round_costs_one_step(seed: int) -> None:
    steps: list[tuple[int, bool]] = []

    class Counting(Protocol):
        epsilon = 1
        question = sv.Frequency(sv.Integers(0, 3))

        def start(self) -> Round:
            return Round((Arm("a", sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)),), quota=20)

        def advance(self, history: Any, closing: bool = False) -> Any:
            steps.append((len(history), closing))
            return self.start() if len(history) < 5 else {"rounds": len(history)}

    assert sv.simulate(Counting(), [1] * 100, seed=seed) == {"rounds": 5}
    assert steps == [(k, False) for k in range(1, 6)]
    steps.clear()
    first, second, *_ = rounds(Counting(), [1] * 100, seed=seed)
    steps.clear()
    later = list(states(second, lambda stage, number: play_round(stage, [1] * 20, seed=number)))
    assert steps == [(3, False), (4, False), (5, False)] and len(first.history) == 1
    assert replay(Counting(), later[-1].history).estimates == {"rounds": 5}
    waiting = play(Counting(), lambda stage, number: None if number > 2 else play_round(stage, [1] * 20, seed=1))
    assert len(waiting.history) == 2 and not waiting.is_over


def test_resuming_takes_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, answers = EVERY["Variance"]
    data = checkpoint(list(rounds(protocol, answers, seed=1))[-1])
    steps: list[int] = []
    plain = sv.VarianceRounds.advance

    def counted(self: Any, history: Any, closing: bool = False) -> Any:
        steps.append(len(history))
        return plain(self, history, closing)

    monkeypatch.setattr(sv.VarianceRounds, "advance", counted)
    assert resume(data).is_over and steps == [2]


def test_a_checkpoint_leads_to_the_round_that_it_was_in() -> None:
    protocol, answers = EVERY["Refine"]
    mine = next(rounds(protocol, answers, seed=1))
    other = next(rounds(protocol, np.zeros(len(answers), int), seed=1))
    mixed = State(protocol, mine.history, other.stage)
    if mine.stage != other.stage:
        with pytest.raises(sv.ReportError, match="do not lead to the round"):
            resume(checkpoint(mixed))
    with pytest.raises(sv.ReportError, match="do not lead to the round"):
        resume(checkpoint(State(protocol, mine.history, {})))


def test_what_a_protocol_designs_is_a_part_of_the_budget_of_its_specification() -> None:
    from sottovoce.protocols.plain import protocol_from_spec, protocol_spec

    few = PersonalBudgetMean(sv.Interval(0, 1), [f"1.{i}" for i in range(10)])
    assert protocol_from_spec(protocol_spec(few)) == few
    many = PersonalBudgetMean(sv.Interval(0, 1), [f"1.{i:03}" for i in range(200)])
    nested = Parallel(tuple(Branch(f"{i}", sv.AdaptiveMeanRounds(sv.Interval(0, 1), 1, 10**5)) for i in range(60)))
    for large in (many, nested):
        with pytest.raises(sv.SpecError, match="steps of work to find its rounds where"):
            protocol_from_spec(protocol_spec(large))
    widest = sv.AdaptiveMeanRounds(sv.Interval(0, 1), 1, 10**5, inputs=257)
    assert protocol_from_spec(protocol_spec(widest)) == widest
