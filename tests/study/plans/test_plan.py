"""One planner for every question: of epsilon, participants and error two are given, and the third is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.question import QUESTIONS, Density, HalfSets, MeanPlaces, Question, WithinGroups, question_class
from sottovoce.core.round import Protocol
from sottovoce.study import search
from sottovoce.study.plan import Goal

pytestmark = pytest.mark.slow

GROUPS = sv.Categories(["a", "b", "c"])


@dataclass(frozen=True)
class Case:
    question: Question
    options: dict[str, Any] = field(default_factory=dict)
    points: int = 2  # one where linear programs make each plan slow

    def plan(self, **given: Any) -> sv.Plan:
        return sv.plan(self.question, **self.options, **given)


CASES = {
    "few categories": Case(sv.Frequency(sv.Integers(0, 4))),
    "many categories": Case(sv.Frequency(sv.Integers(0, 299))),
    "expected shares": Case(sv.Frequency(sv.Categories(["a", "b"])), {"prior": [0.9, 0.1]}),
    "mean": Case(sv.Mean(sv.Integers(0, 20)), {"methods": ["bernoulli", "piecewise", "pm-sub", "hybrid"]}),
    "mean with a prior": Case(
        sv.Mean(sv.Interval(0, 10)), {"methods": ["bernoulli", "pm-sub"], "prior": [1, 1, 2, 2.5, 7]}
    ),
    "mean of the sample": Case(sv.Mean(sv.Integers(0, 10)), {"methods": ["nprr", "pm-sub"], "target": "sample"}),
    "variance": Case(sv.Variance(sv.Integers(0, 14)), {"mechanism": "bernoulli"}),
    "variance in one round": Case(sv.Variance(sv.Integers(0, 9)), {"mechanism": "bernoulli", "methods": ["split-n"]}),
    "group means": Case(sv.GroupMean(GROUPS, sv.Integers(0, 10)), {"methods": ["group-bernoulli"]}),
    "shares in groups": Case(WithinGroups(GROUPS, sv.Frequency(sv.Integers(0, 3))), {"methods": ["binned"]}),
    "uneven groups": Case(
        sv.GroupMean(GROUPS, sv.Interval(0, 10)),
        {"methods": ["group-bernoulli"], "prior": ([0.6, 0.3, 0.1], [1, 2, 3, 7])},
    ),
    "box": Case(sv.VectorMean(sv.Box(-1, 1, 6)), {"methods": ["duchi-linf", "sparse"]}),
    "ball": Case(sv.VectorMean(sv.Ball(1, 16))),
    "sparse": Case(sv.VectorMean(sv.Sparse(200, 2, 1))),
    "distribution": Case(sv.Distribution(sv.Integers(0, 15)), {"methods": ["square-wave-discrete", "haar"]}, points=1),
    "shares up to points": Case(sv.Cdf(sv.Interval(0, 10), (2, 5)), {"methods": ["haar"]}),
    "share of a range": Case(sv.Range(sv.Integers(0, 9), 7, 9), {"methods": ["square-wave-discrete"]}),
    "attributes": Case(sv.Attributes(sv.Record({"a": GROUPS, "b": sv.Integers(0, 7)}))),
    "tables": Case(sv.Joint(sv.Record({"a": GROUPS, "b": sv.Integers(0, 7), "c": sv.Integers(0, 1)}))),
    "boxes": Case(sv.Boxes(sv.Record({"a": sv.Integers(0, 3), "b": sv.Integers(0, 7)})), points=1),
    "key-means": Case(sv.KeyMeans(sv.KeyValue(range(12), sv.Interval(0, 10), 3))),
    "set-shares": Case(sv.SetShares(sv.Sets(range(12), 3))),
    "mean-places": Case(MeanPlaces(sv.Ranking(range(6)))),
    "frequent-words": Case(sv.FrequentWords(sv.Words(longest=6))),
    "half-sets": Case(HalfSets(sv.Integers(0, 39), 4)),
}
DESIGNED = {
    "designed mean": Case(sv.Mean(sv.Interval(0, 10)), points=1),
    "designed variance": Case(sv.Variance(sv.Integers(0, 9)), points=1),
    "designed vectors": Case(sv.VectorMean(sv.Box(-1, 1, 4)), {"methods": ["split-n"]}, points=1),
    "levels in groups": Case(sv.GroupMean(GROUPS, sv.Integers(0, 10)), {"methods": ["group-nprr"]}, points=1),
}
EVERY = [
    *(pytest.param(case, id=name) for name, case in CASES.items()),
    *(pytest.param(case, id=name, marks=pytest.mark.slow) for name, case in DESIGNED.items()),
]


def test_every_question_has_a_planner() -> None:
    read_from_distributions = {sv.CircularMean, Density, sv.Quantile}
    assert {type(case.question) for case in CASES.values()} == {
        *map(question_class, QUESTIONS)
    } - read_from_distributions
    with pytest.raises(sv.ParameterError, match="plan for the distribution"):
        sv.plan(Density(sv.Interval(0, 1)), epsilon=1, participants=100)
    with pytest.raises(sv.ParameterError, match="needs a prior"):
        sv.plan(sv.CircularMean(sv.Circle(24)), epsilon=1, participants=100)


# --- the third is found ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", EVERY)
def test_participants_are_the_fewest(case: Case) -> None:
    """There and back: no more participants than the error was computed for, and with one less it is not met."""
    for n in (20_000, 733)[: case.points]:
        known = case.plan(epsilon="1.3", participants=n)
        assert known.solved_for == "error" and known.goal is None
        goal = known.best.std_error
        back = case.plan(epsilon="1.3", std_error=goal)
        assert back.solved_for == "participants" and back.participants <= n
        assert back.best.std_error <= goal
        assert case.plan(epsilon="1.3", participants=back.participants - 1).best.std_error > goal
        again = case.plan(epsilon="1.3", participants=back.participants)
        assert again.options == back.options


@pytest.mark.parametrize("case", EVERY)
def test_epsilon_is_the_least_of_three_digits(case: Case) -> None:
    for epsilon in ("2.35", "0.72")[: case.points]:
        goal = case.plan(epsilon=epsilon, participants=5_000).best.std_error
        back = case.plan(participants=5_000, std_error=goal)
        assert back.solved_for == "epsilon" and back.epsilon <= Decimal(epsilon)
        assert back.best.std_error <= goal
        less = back.epsilon - Decimal(1).scaleb(back.epsilon.adjusted() - 2)
        assert case.plan(epsilon=less, participants=5_000).best.std_error > goal


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_errors_fall_with_participants_and_with_epsilon(case: Case) -> None:
    """The smallest error; the first choice may be two percent worse, with smaller reports."""
    by_people = [case.plan(epsilon=1, participants=n).best.std_error for n in (100, 101, 150, 1000, 10**6)]
    assert by_people == sorted(by_people, reverse=True) and len(set(by_people)) == len(by_people)
    budgets = ("0.01", "0.1", "0.5", "1", "1.5", "3", "6")
    by_budget = [
        min(option.std_error for option in case.plan(epsilon=epsilon, participants=1000).options) for epsilon in budgets
    ]
    assert by_budget == sorted(by_budget, reverse=True)


def test_a_half_width_is_that_of_a_normal_interval() -> None:
    case = CASES["mean"]
    plan = case.plan(epsilon=1, half_width="0.2")
    assert plan.goal == Goal(Decimal("0.2"), 0.95)
    assert (
        plan.best.half_width()
        <= 0.2
        < 1.959963984540054 * case.plan(epsilon=1, participants=plan.participants - 1).best.std_error
    )
    wider = case.plan(epsilon=1, half_width="0.2", level=0.99)
    assert wider.participants / plan.participants == pytest.approx((2.5758293 / 1.9599640) ** 2, rel=1e-3)
    assert plan.participants == case.plan(epsilon=1, std_error=0.2 / 1.959963984540054).participants
    assert "a half-width of 0.2 at 95 %" in plan.advice and "(0.2 was requested)" in plan.advice
    assert list(plan.to_frame()["half_width"]) == pytest.approx([1.959964 * one.std_error for one in plan.options])


def test_the_interval_of_an_estimate_is_as_wide_as_planned() -> None:
    plan = sv.plan(sv.Mean(sv.Interval(0, 10)), epsilon=2, half_width="0.1", methods=["bernoulli"])
    m = plan.best.mechanism
    answers = np.random.default_rng(3).uniform(0, 10, plan.participants)
    low, high = m.estimate(m.tally(m.privatize(answers, seed=1))).ci(0.95, method="normal", target="population")
    assert (high[0] - low[0]) / 2 == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 1}, "two of epsilon, participants and an error"),
        ({}, "two of epsilon"),
        ({"epsilon": 1, "participants": 5, "std_error": 1}, "two of epsilon"),
        ({"epsilon": 1, "std_error": 1, "half_width": 1}, "one of std_error and half_width"),
        ({"epsilon": 1, "std_error": 0}, "The 'std_error' parameter of plan must be a positive number. Got 0."),
        ({"epsilon": 1, "half_width": "-0.5"}, "'half_width'"),
        ({"epsilon": 1, "half_width": 1, "level": 1.0}, "'level'"),
        ({"epsilon": 1, "half_width": 1, "level": "0.9"}, "'level'"),
        ({"epsilon": 21, "std_error": 1}, "'epsilon'"),
        ({"epsilon": 1, "participants": 5, "target": "world"}, "'target'"),
        ({"epsilon": "0.001", "std_error": "1e-7"}, "larger epsilon is needed. Got epsilon 0.001 and a standard"),
        ({"participants": 50, "half_width": "1e-3"}, "Got 50 participants and a half-width of 0.001 at 95 %."),
    ],
    ids=str,
)
def test_what_cannot_be_planned_gets_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sv.ParameterError) as caught:
        sv.plan(sv.Frequency(sv.Integers(0, 3)), **given)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_question_is_asked_for() -> None:
    with pytest.raises(sv.ParameterError, match="'question' parameter of plan"):
        sv.plan(sv.Interval(0, 1), epsilon=1, participants=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_a_plan_says_what_its_errors_are(case: Case) -> None:
    plan = case.plan(epsilon=1, participants=1000)
    single = isinstance(case.question, (sv.Mean, sv.Variance, sv.Range, sv.FrequentWords))
    assert ("root mean square" in plan.measure) == (not single)
    assert plan.measure in plan.explain().splitlines()[0] and plan.measure in plan.advice
    assert plan.question == case.question and plan.epsilon == 1 and plan.participants == 1000
    assert len(plan.to_frame()) == len(plan.options)
    assert len(plan.expected_frame()) == (3 if isinstance(case.question, (sv.GroupMean, WithinGroups)) else 0)
    for option in plan.options:
        assert option.decoder == "linear"
        if isinstance(option.procedure, Protocol):
            assert option.protocol.question == case.question or isinstance(case.question, (sv.Attributes, sv.Variance))
        else:
            assert option.mechanism.question.domain == case.question.domain
            read = {sv.Cdf: sv.Distribution, sv.Range: sv.Distribution, MeanPlaces: sv.SetShares}
            assert type(option.mechanism.question) is read.get(type(case.question), type(case.question))
            with pytest.raises(sv.ParameterError, match="is one mechanism"):
                option.protocol  # noqa: B018


# --- the search ------------------------------------------------------------------------------------------------------
def test_the_search_finds_the_first_place_whatever_the_errors_are() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        length = int(rng.integers(1, 400))
        errors = np.sort(rng.choice([rng.exponential(1, length), np.round(rng.uniform(0, 4, length))]))[::-1].copy()
        errors[: int(rng.integers(0, length + 1)) // 3] = math.inf
        low = int(rng.integers(1, 50))
        scale = search.SearchScale(
            low, low + length - 1, int(rng.integers(low, low + length)), -0.5, float, math.ceil, math.inf
        )
        tried: list[int] = []

        def error(index: int, errors: Any = errors, low: int = low, tried: list[int] = tried) -> float:
            tried.append(index)
            return float(errors[index - low])

        goal = float(rng.choice(errors)) or 0.5
        goal = goal if math.isfinite(goal) else 1.0
        met = np.flatnonzero(errors <= goal)
        assert search.least(error, goal, scale) == (low + int(met[0]) if len(met) else None)
        assert len(set(tried)) == len(tried) <= search.PATIENCE + 10


def test_smooth_errors_are_found_in_a_few_steps() -> None:
    for goal in (1e-5, 0.003, 0.7):
        tried: list[int] = []

        def error(n: int, tried: list[int] = tried) -> float:
            tried.append(n)
            return 1 / math.sqrt(n)

        assert search.least(error, goal, search.participants(1)) == math.ceil(1 / goal**2 * (1 - 1e-12))
        assert len(tried) <= 6


def test_budgets_have_three_digits() -> None:
    scale = search.EPSILONS
    budgets = [search.epsilon_at(index) for index in range(scale.low, scale.high + 1)]
    assert budgets == sorted(budgets)
    assert (budgets[0], budgets[-1]) == (Decimal("0.0001"), Decimal(20))
    assert all(len(budget.as_tuple().digits) <= 3 for budget in budgets)
    assert "E" not in "".join(map(str, budgets))
    for index in range(scale.low, scale.high + 1):
        assert scale.index(scale.place(index)) == index
    assert search.epsilon_at(scale.index(1.2301)) == Decimal("1.24")
