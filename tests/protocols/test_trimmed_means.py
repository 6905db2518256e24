"""Trimmed and winsorised means, and range searches in front of distributions and of means by group."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above, Pair
from sottovoce.estimate.mean.trimmed import EndAnswers, TrimmedMeanEvidence, WinsorisedMeanEvidence
from sottovoce.estimate.request import IntervalRequest, Method
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.ranges.distribution import RangeSearchDistribution
from sottovoce.protocols.ranges.groups import RangeSearchGroupMean
from sottovoce.protocols.ranges.trimmed import TrimmedMeanRounds

RNG = np.random.default_rng(5)
MINUTES = np.minimum(RNG.lognormal(2.5, 0.6, 6_000), 1440).round(1)
WIDE = sv.Interval(0, 1440)
NOT_NUMBERS: Any = sv.Categories(["a", "b"])


class Known:
    """A clamped mean, or two quantiles, with limits that are given."""

    poor = False

    def __init__(self, values: list[float], half: list[float]) -> None:
        self.own, self.half, self.n = np.array(values), np.array(half), 100

    def values(self) -> Any:
        return self.own

    def interval(self, request: Any) -> Any:
        return self.own - self.half, self.own + self.half

    def variances(self, target: Any) -> Any:
        return (self.half / 2) ** 2


def between(a: float, b: float, numbers: Any, kind: Any = TrimmedMeanEvidence) -> Any:
    """The evidence of answers without noise, with ends at a and b, and 20 % trimmed at each end."""
    above = np.array([(numbers >= end).mean() for end in (a, b)]) * 1e9
    ends = EndAnswers((a, b), np.full(2, 1e9), above, 1.0, 0.0)
    quantiles = Known(np.quantile(numbers, [0.2, 0.8]).tolist(), [1.0, 1.0])
    clamped = Known([float(np.clip(numbers, a, b).mean())], [0.0])
    return kind(clamped, quantiles, ends, 0.2, (0.0, 1440.0))


def test_both_means_are_those_of_the_sorted_numbers() -> None:
    numbers = np.arange(1.0, 101.0) ** 1.5
    low, high = numbers[20], numbers[79]
    assert between(low, high, numbers).values()[0] == pytest.approx(numbers[20:80].mean())
    moved = between(low, high, numbers, WinsorisedMeanEvidence)
    moved.quantiles.own = np.array([low, high])
    assert moved.values()[0] == pytest.approx(np.clip(numbers, low, high).mean())


@pytest.mark.parametrize("shift", [(-0.9, 0), (0.9, 0), (0, -0.9), (0, 0.9), (0.9, -0.9), (-0.9, 0.9)])
def test_ends_in_the_wrong_place_move_the_trimmed_mean_by_no_more_than_the_interval_says(
    shift: tuple[float, float],
) -> None:
    """Without noise all that is left is the error of the ends; their intervals reach 1 to either side."""
    numbers = np.sort(RNG.gamma(2, 5, 10_000))
    truth = numbers[2_000:8_000].mean()
    first, last = np.quantile(numbers, [0.2, 0.8])
    evidence = between(first + shift[0], last + shift[1], numbers)
    (low,), (high,) = evidence.interval(IntervalRequest(0.95, Method.CAUTIOUS))
    assert low - 1e-3 <= truth <= high + 1e-3
    assert abs(evidence.values()[0] - truth) < 0.1 < high - low + 0.1 < 0.4


def test_far_answers_do_not_move_a_trimmed_mean() -> None:
    far = np.where(np.arange(len(MINUTES)) % 25 == 0, 1440.0, MINUTES)
    protocol = TrimmedMeanRounds(WIDE, "0.1", 4, len(far))
    estimates = sv.simulate(protocol, far, seed=2)
    cut = len(far) // 10
    truth = {"trimmed": np.sort(far)[cut:-cut].mean()}
    truth["winsorised"] = np.clip(far, *np.sort(far)[[cut, -cut - 1]]).mean()
    for name, mean in truth.items():
        (low,), (high,) = estimates[name].ci()
        assert low <= mean <= high and abs(estimates[name].value - mean) < 2 < 10 < far.mean() - mean + 10
    assert "smallest" in estimates["trimmed"].explain()
    assert estimates["trimmed"].n < len(far) and set(estimates) == {"trimmed", "winsorised", "clamped", "quantile"}


def test_a_trimmed_mean_that_is_closed_early_keeps_its_quantiles() -> None:
    protocol = TrimmedMeanRounds(WIDE, "0.1", 4, 6_000)
    estimates = sv.simulate(protocol, MINUTES[:1_000], seed=2, closing=True)
    assert set(estimates) == {"quantile"} and "Closed early" in estimates["quantile"].missing


def test_half_of_all_answers_at_one_number_is_no_obstacle() -> None:
    numbers = np.where(RNG.random(6_000) < 0.9, 7, 9)
    estimates = sv.simulate(TrimmedMeanRounds(sv.Integers(0, 100), "0.2", 4, 6_000), numbers, seed=2)
    (low,), (high,) = estimates["trimmed"].ci()
    assert low <= 7 <= high and high - low < 4


def test_a_distribution_without_a_known_range_has_its_buckets_where_the_answers_are() -> None:
    protocol = RangeSearchDistribution(sv.Interval(0, "1e6"), 4, len(MINUTES), 32)
    estimates = sv.simulate(protocol, MINUTES, seed=1)
    whole = estimates["distribution"]
    edges = [float(edge) for edge in whole.mechanism.domain.edges]
    assert edges[0] < np.median(MINUTES) < edges[-1] < 1_000
    (low,), (high,) = whole.median().ci(0.999)
    assert low <= np.median(MINUTES) <= high and high - low < 8
    assert whole.values.sum() == pytest.approx(1)


def test_buckets_of_whole_numbers_begin_at_whole_numbers_and_keep_the_ends() -> None:
    protocol = RangeSearchDistribution(sv.Integers(0, 1_000), 2, 10_000, 8)
    bins: Any = protocol.bucketed(Decimal(0), Decimal(20)).domain
    assert all(edge == edge.to_integral_value() for edge in bins.edges)
    assert bins.edges[0] > 0 and bins.edges[-1] >= 20 and bins.size <= 8
    whole: Any = protocol.bucketed(Decimal(0), Decimal(1_000)).domain
    assert whole.edges[-1] < 1_000 and whole.size == 8


def test_means_by_group_without_a_known_range() -> None:
    groups = np.arange(len(MINUTES)) % 2
    pairs = [("ab"[group], float(minutes * (1 + group))) for group, minutes in zip(groups, MINUTES, strict=True)]
    protocol = RangeSearchGroupMean(sv.Categories(["a", "b"]), sv.Interval(0, 100_000), 4, len(pairs))
    estimates = sv.simulate(protocol, pairs, seed=1)
    clamped = estimates["clamped"]
    range_ = clamped.mechanism.domain.value
    assert float(range_.high) < 1_000
    truth = [np.clip(MINUTES[groups == g] * (1 + g), float(range_.low), float(range_.high)).mean() for g in (0, 1)]
    low, high = clamped.ci(0.999)
    assert (low <= truth).all() and (truth <= high).all() and (high - low < 20).all()
    early = sv.simulate(protocol, pairs[:1_000], seed=1, closing=True)
    assert set(early) == {"mean", "thresholds"} and "Closed early" in early["mean"].missing


def test_a_threshold_compares_the_number_of_a_pair() -> None:
    view = Above(Pair(sv.Categories(["a", "b"]), sv.Integers(5, 9)), 7)
    assert [view.encode(pair) for pair in (("a", 6), ("b", 7), ("a", 9))] == [0, 1, 1]
    for wrong in (("c", 7), ("a", 10), 7):
        with pytest.raises(sv.DomainError):
            view.encode(wrong)
    with pytest.raises(sv.ParameterError, match="numbers"):
        Above(Pair(sv.Categories(["a", "b"]), sv.Categories(["x", "y"])), 7)


@pytest.mark.parametrize(
    "protocol",
    [
        TrimmedMeanRounds(WIDE, "0.1", 2, 6_000),
        RangeSearchDistribution(WIDE, 2, 6_000),
        RangeSearchGroupMean(sv.Categories(["a", "b"]), WIDE, 2, 6_000),
    ],
)
def test_protocols_come_back_from_plain_data(protocol: Any) -> None:
    again = protocol_from_spec(protocol_spec(protocol))
    assert again == protocol and again.start().arms[0].mechanism == protocol.start().arms[0].mechanism


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: TrimmedMeanRounds(WIDE, "0.5", 1, 5_000), "'share'"),
        (lambda: TrimmedMeanRounds(WIDE, "0.1", 1, 5_000, first="0.95"), "'first'"),
        (lambda: TrimmedMeanRounds(WIDE, "0.1", 1, 5_000, "grr"), "'method'"),
        (lambda: TrimmedMeanRounds(NOT_NUMBERS, "0.1", 1, 5_000), "'domain'"),
        (lambda: RangeSearchDistribution(WIDE, 1, 5_000, 2), "'buckets'"),
        (lambda: RangeSearchDistribution(WIDE, 1, 5_000, beyond="0.3"), "'beyond'"),
        (lambda: RangeSearchDistribution(WIDE, 1, 5_000, method="grr"), "'method'"),
        (lambda: RangeSearchGroupMean(sv.Categories(["a", "b"]), WIDE, 1, 5_000, "bernoulli"), "'method'"),
    ],
)
def test_mistakes_are_named(build: Any, said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        build()
