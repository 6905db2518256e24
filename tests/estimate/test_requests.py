"""Requests of intervals: checked at the border, passed on whole."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.request import IntervalRequest, Target

GRR = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)


def test_a_request_is_checked_once_and_converts_its_target() -> None:
    request = IntervalRequest.of(0.9, "exact", "sample", True)
    assert request.target is Target.SAMPLE and f"{request.target}" == "sample"
    for level, target, said in ((1.5, "sample", "'level'"), (True, "sample", "'level'"), (0.9, "people", "'target'")):
        with pytest.raises(sv.ParameterError, match=said):
            IntervalRequest.of(level, None, target, False)


def test_requests_change_in_one_part() -> None:
    request = IntervalRequest(0.9, "bounded", Target.SAMPLE, simultaneous=True)
    assert request.at(0.8).level == 0.8 and request.by("exact").method == "exact"
    assert request.instead_of("bounded", use="exact").method == "exact"
    assert request.instead_of("shown", use="exact") is request
    single = request.by("normal").single(10)
    assert single == IntervalRequest(pytest.approx(0.99), "normal", Target.SAMPLE)  # Bonferroni
    assert request.words() == "90 % bounded intervals, all at once, for these participants"
    assert request.to_dict() == {"level": 0.9, "method": "bounded", "target": "sample", "simultaneous": True}


def test_words_of_callers_are_the_request_of_the_evidence() -> None:
    found = GRR.estimate(GRR.tally(GRR.privatize([0, 1, 1, 2] * 50, seed=1)))
    for method in found.evidence.methods:
        asked = found.evidence.interval(IntervalRequest(0.9, method))
        assert np.array_equal(asked, found.quiet_ci(0.9, method=method))
    plain = found.to_dict(0.9, target="sample")
    assert (plain["level"], plain["method"], plain["target"]) == (0.9, "exact", "sample")
    assert type(plain["target"]) is str
