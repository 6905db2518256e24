"""The arithmetic of the page about scale, against numbers that were worked out by hand."""

from __future__ import annotations

import pytest

from benchmarks.costs import Assumptions, Rates, duration, steps

RATES = Rates(wire_bytes=40, stored_bytes=20, plain=10**8, once=10**6, cluster_once=5 * 10**5, estimate_seconds=0.002)
GIVEN = Assumptions(
    storage_price=0.02,
    put_price=0.005,
    core_price=0.05,
    traffic_price=0.01,
    request_bytes=960,
    collector_rate=10_000,
    file_megabytes=100,
    cluster_cores=20,
)


def test_a_billion_reports_by_hand() -> None:
    found = {step.name: step for step in steps(10**9, RATES, GIVEN)}
    assert [(step.gigabytes, step.seconds) for step in found.values()] == [
        (1000, 0),
        (40, 100_000),
        (20, 0),
        (20, 0),
        (1, 10),
        (20, 1000),
        (20, 200),  # ten times the cores of the measurement
        (0, 0.002),
    ]
    # A terabyte of traffic; 100,000 s of two cores; 200 files; 20 GB; then seconds of cores.
    expected = [10, 2.7778, 0.001, 0.4, 0.000278, 0.02778, 0.05556, 5.556e-8]
    assert [step.dollars for step in found.values()] == pytest.approx(expected, rel=2e-3)
    assert found["receive, one collector"].row(10**9) == [
        *("1e+09", "receive, one collector", "40", "1.2 days", "2", "2.78"),
    ]


def test_every_assumption_counts_and_is_shown() -> None:
    plain = [step.dollars for step in steps(10**12, RATES, GIVEN)]
    for row in GIVEN.rows():
        name = row[0].removeprefix("--").replace("-", "_")
        other = Assumptions(**{**vars(GIVEN), name: 2 * getattr(GIVEN, name)})
        changed = steps(10**12, RATES, other)
        moved = [step.dollars for step in changed] != plain or changed != steps(10**12, RATES, GIVEN)
        assert moved, name


def test_durations() -> None:
    assert [duration(one) for one in (0.0021, 2, 90, 7200, 86_400 * 1500)] == [
        *("2.1 ms", "2.0 s", "1.5 minutes", "2.0 hours", "1,500.0 days"),
    ]
