"""Plans for vectors: the order is that of exact errors, and the first choice keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Domain
from tests.each import for_each


@pytest.mark.slow
def test_the_order_is_that_of_exact_errors() -> None:
    plan = sv.plan(sv.VectorMean(sv.Box(-1, 1, 16)), epsilon=1, participants=10_000)
    errors = [option.std_error for option in plan.options]
    assert {option.mechanism.name for option in plan.options} == {"sampled", "split-n", "split-epsilon", "duchi-linf"}
    assert errors[0] <= min(errors) * 1.02
    belief = sv.Prior.uniform(-1, 1)
    for option in plan.options:
        assert option.std_error == pytest.approx(np.sqrt(option.mechanism.variance(belief, 10_000).mean()), rel=1e-9)
    e = np.exp(1)
    bernoulli = next(option for option in plan.options if option.method == "split-n (bernoulli)")
    assert bernoulli.std_error == pytest.approx(np.sqrt(16 / 10_000) * (e + 1) / (e - 1), rel=1e-9)
    assert "All 16 means at once" in plan.explain() and len(plan.to_frame()) == len(plan.options)


def test_a_larger_budget_speaks_of_more_coordinates() -> None:
    chosen = [
        sv.plan(sv.VectorMean(sv.Box(0, 1, 8)), epsilon=epsilon, participants=1000, methods=["sampled"]).best
        for epsilon in (1, 8)
    ]
    assert [option.mechanism.channel.chosen for option in chosen] == [1, 2]


def test_a_record_is_planned_in_units_of_its_ranges() -> None:
    ranges = {"hours": sv.Interval(0, 24), "age": sv.Interval(18, 118)}
    record = sv.plan(sv.VectorMean(sv.Record(ranges)), epsilon=2, participants=1000, methods=["split-n"])
    box = sv.plan(sv.VectorMean(sv.Box(0, 1, 2)), epsilon=2, participants=1000, methods=["split-n"])
    assert record.best.std_error == pytest.approx(box.best.std_error, rel=1e-6)


@pytest.mark.slow
def test_the_first_choice_keeps_its_promise() -> None:
    plan = sv.plan(sv.VectorMean(sv.Box(-1, 1, 4)), epsilon=2, participants=4_000, methods=["sampled", "duchi-linf"])
    rng = np.random.default_rng(1)
    for option in (plan.best, plan.options[-1]):
        errors = []
        for run in range(150):
            answers = rng.uniform(-1, 1, (4_000, 4))
            reports = option.mechanism.privatize(answers, seed=run)
            errors.append(option.mechanism.estimate(option.mechanism.tally(reports)).values)
        # 600 squares: their mean is off by 22 % or more less than once in a hundred thousand times.
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(option.std_error, rel=0.11)


@for_each(
    "domain,options,sentence",
    [
        (sv.Interval(0, 1), {}, "domain"),
        (sv.Record({"a": sv.Categories(["x", "y"])}), {}, "a record of numbers"),
        (sv.Box(0, 1, 2), {"methods": ["grr"]}, "methods"),
        (sv.Box(0, 1, 2), {"prior": [0.5]}, "prior"),
        (sv.Box(0, 1, 2), {"prior": sv.Prior.uniform(0, 2)}, "outside the range"),
        (sv.Ball(1, 2), {"prior": sv.Prior.uniform(0, 1)}, "prior"),
        (sv.Box(0, 1, 2), {"mechanism": "designed"}, "mechanism"),
        (sv.Box(0, 1, 2), {"participants": 0}, "participants"),
        (sv.Box(0, 1, 2), {"epsilon": -1}, "epsilon"),
    ],
)
def test_bad_input_gets_one_sentence(domain: Domain, options: dict, sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        sv.plan(sv.VectorMean(domain), **{"epsilon": 1, "participants": 100, **options})
