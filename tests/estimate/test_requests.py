"""Requests of intervals: checked at the border, also in every public method with a level, and passed on whole."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.comparison.identity import identity_test
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio
from sottovoce.estimate.comparison.stated_mean import z_test
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.series.series import Series

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


# --- levels and arguments that are none ---------------------------------------------------------------------------
GIVEN: dict[str, Any] = {
    **{"group": "a", "other": "b", "outcome": "no", "gap": 1.0, "participants": 100, "difference": 1.0},
}
LEVELS = (0, 1, 1.5, -0.1, float("nan"), "0.95", True, None)


def objects() -> Iterator[Any]:
    """One object of each class that has levels."""
    shares = sv.mechanism("grr", sv.Integers(0, 3), epsilon=2)
    one, other = (shares.estimate(sv.simulate_counts(shares, [400, 300, 200, 100], seed=seed)) for seed in (1, 2))
    series = Series.of([one, other], people="different")
    yield from (one, one.project("simplex"), sv.compare(one, other), series, series.trend())
    pair = sv.Pair(sv.Categories(["a", "b"]), sv.Interval(0, 10))
    groups = sv.mechanism("group-bernoulli", pair, epsilon=3)
    means = groups.estimate(groups.tally(groups.privatize([("a", 2), ("b", 7)] * 2000, seed=1)))
    yield from (means, means.difference("a", "b"), means.all_pairs())
    line = sv.mechanism("square-wave-discrete", sv.Integers(0, 7), epsilon=2)
    yield line.estimate(line.tally(line.privatize([place % 8 for place in range(400)], seed=1)))
    yes = sv.Categories(["no", "a", "b"])
    views = sv.TableViews(sv.Record({"x": yes, "y": yes}), [("x", "y")], 2)
    joint: Any = next(iter(sv.simulate(views, [{"x": "a", "y": "no"}, {"x": "b", "y": "a"}] * 500, seed=1).values()))
    yield joint.table("x", "y")


def methods(thing: Any) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """The methods with a level, each with the other arguments that it needs."""
    for name in dir(type(thing)):
        if name.startswith("_") or not inspect.isfunction(getattr(type(thing), name)):
            continue
        call = getattr(thing, name)
        taken = inspect.signature(call).parameters
        needed = [one for one in taken.values() if one.default is one.empty and one.name != "level"]
        if "level" in taken and all(one.name in GIVEN for one in needed):
            yield name, call, [GIVEN[one.name] for one in needed]


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_no_method_takes_what_is_no_level() -> None:
    tried, taken = set(), []
    for thing in objects():
        for name, call, given in methods(thing):
            tried.add(name)
            for level in LEVELS:
                try:
                    call(*given, level=level)
                except sv.ParameterError:
                    continue
                except Exception as problem:
                    taken.append(f"{type(thing).__name__}.{name}({level!r}): {type(problem).__name__}")
                else:
                    taken.append(f"{type(thing).__name__}.{name} takes {level!r}")
    assert not taken, "\n".join(taken)
    assert {"ci", "quiet_ci", "doubt", "to_frame", "tests", "ratio", "change", "cramers_v", "relative_risk"} <= tried


@pytest.mark.parametrize("test", [identity_test, sv.goodness_of_fit, likelihood_ratio, z_test])
def test_tests_of_shares_and_means_refuse_other_estimates_and_shares(test: Callable[..., Any]) -> None:
    shares, numbers = (
        sv.mechanism("grr", sv.Integers(0, 3), epsilon=2),
        sv.mechanism("bernoulli", sv.Interval(0, 1), epsilon=2),
    )
    one = shares.estimate(sv.simulate_counts(shares, [40, 30, 20, 10], seed=1))
    mean = numbers.estimate(numbers.tally(numbers.privatize([0.5] * 100, seed=1)))
    even, bad = [0.25] * 4, [[-0.25, 0.75, 0.25, 0.25], [0.5] * 4, [0.5, 0.5]]
    wrong = one if test is z_test else mean
    more = [even] if test is likelihood_ratio else []
    with pytest.raises(sv.ParameterError):
        test(wrong, 0.5 if test is z_test else even, *more)
    for shares_of in [] if test is z_test else bad:
        with pytest.raises(sv.ParameterError):
            test(one, shares_of, *([even] if more else []))
