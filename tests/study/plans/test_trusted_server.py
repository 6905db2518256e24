"""The line of plans about the central model, against the law of its noise."""

import math

import numpy as np
import pytest

import sottovoce as sv


def test_the_noise_of_a_count_is_two_sided_geometric():
    plan = sv.plan(sv.Frequency(sv.Categories(["a", "b", "c"])), epsilon="0.8", participants=400)
    places = np.arange(-2_000, 2_001)
    law = math.exp(-0.4) ** np.abs(places)  # two counts of a histogram change by one
    law /= law.sum()
    error = math.sqrt(law @ places**2) / 400
    assert f"standard error {error:.2g} for the same epsilon" in plan.trusted
    assert law[2_000] / law[2_001] == pytest.approx(math.exp(0.4))
    assert plan.explain().splitlines()[-1] == plan.trusted


def test_the_noise_of_a_sum_has_the_scale_of_the_range_over_epsilon():
    plan = sv.plan(sv.Mean(sv.Interval(-2, 6)), epsilon=2, participants=1_000)
    assert f"{math.sqrt(2) * 8 / 2 / 1_000:.2g}" == "0.0057" and "0.0057" in plan.trusted


def test_other_questions_have_no_line():
    plan = sv.plan(sv.GroupMean(sv.Integers(0, 2), sv.Interval(0, 1)), epsilon=2, participants=10_000)
    assert plan.trusted == ""
    assert plan.explain().endswith(plan.advice)
