"""Plans for a variance: methods in the order of their errors where the mean is not quite known, each ready to run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.domain import Clamp
from sottovoce.protocols.variance.rounds import METHODS, VarianceRounds
from sottovoce.protocols.variance.shares import OFF
from sottovoce.study.planners.base import Option

UNIT_RANGE = sv.Interval(0, 1)


def rounds(option: Option) -> VarianceRounds:
    assert isinstance(option.protocol, VarianceRounds)
    return option.protocol


@pytest.mark.slow
def test_a_plan_ranks_methods_and_chooses_the_first_round() -> None:
    question = sv.Variance(sv.Integers(0, 4))
    plan = sv.plan(question, epsilon=2, participants=20_000, mechanism="three-output")
    assert {option.method for option in plan.options} == set(METHODS)
    assert [option.std_error for option in plan.options] == [
        rounds(option).predicted_error(20_000) for option in plan.options
    ]
    errors = [rounds(option).predicted_error(20_000, off=OFF) for option in plan.options]
    assert errors == sorted(errors)
    assert f"Take {plan.best.method}" in plan.explain() and "half a standard deviation off" in plan.explain()
    known = next(rounds(option) for option in plan.options if option.method == "sequential")
    first = known.first
    assert first is not None
    for other in (first // 3, first * 3):
        moved = VarianceRounds(known.domain, 2, method="sequential", mechanism="three-output", first=other)
        assert known.predicted_error(20_000) < moved.predicted_error(20_000)
    interval = sv.plan(sv.Variance(UNIT_RANGE), epsilon=2, participants=1000, mechanism="bernoulli")
    assert {option.method for option in interval.options} == set(METHODS) - {"same-reports"}
    with pytest.raises(sv.ParameterError, match="more than the"):
        known.predicted_error(first)


def test_a_prior_moves_the_centre_and_earlier_answers_are_one() -> None:
    prior = sv.Prior.of([0.1, 0.2, 0.3, 0.2])
    question = sv.Variance(UNIT_RANGE)
    plan = sv.plan(
        question,
        epsilon=1,
        participants=1000,
        prior=[0.1, 0.2, 0.3, 0.2],
        methods=["split-n"],
        mechanism="bernoulli",
    )
    (option,) = plan.options
    assert option.protocol == VarianceRounds(UNIT_RANGE, 1, mechanism="bernoulli", prior=prior)
    assert rounds(option).about == Decimal("0.20")
    whole = VarianceRounds(sv.Integers(0, 4), 1, method="same-reports", prior=sv.Prior.normal(2, 1, 0, 4))
    assert whole.believed.values == (0, 1, 2, 3, 4)


def test_splitting_the_budget_is_planned_with_any_mechanism() -> None:
    plan = sv.plan(sv.Variance(sv.Interval(-1, 1)), epsilon=4, participants=1000, mechanism="piecewise")
    assert {option.method for option in plan.options} == {"sequential", "split-n", "split-eps"}


def test_an_option_holds_a_protocol() -> None:
    best = sv.plan(sv.Variance(UNIT_RANGE), epsilon=1, participants=1000, mechanism="bernoulli").best
    with pytest.raises(sv.ParameterError, match=f"{best.method} is a protocol"):
        best.mechanism  # noqa: B018


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"methods": ["x"]}, "'methods' parameter of plan"),
        ({"participants": 5}, "'participants' parameter of plan"),
        ({"epsilon": -1}, "'epsilon' parameter of plan"),
        ({"target": "sample"}, "'target' parameter of plan"),
        ({"prior": [2]}, "outside the range"),
        ({"methods": ["same-reports"]}, "at most 64 whole numbers"),
        ({"methods": []}, "No method can answer"),
        ({"methods": [], "epsilon": None, "std_error": 1}, "No method can answer"),
    ],
)
def test_plans_that_make_no_sense_are_refused(options: dict[str, Any], match: str) -> None:
    given = {"epsilon": 1, "participants": 1000, "mechanism": "bernoulli", **options}
    with pytest.raises(sv.ParameterError, match=match):
        sv.plan(sv.Variance(UNIT_RANGE), **given)


def test_views_have_no_plan() -> None:
    with pytest.raises(sv.ParameterError, match="a range of numbers"):
        sv.plan(sv.Variance(Clamp(sv.Interval(0, 10), 2, 8)), epsilon=1, participants=1000)
