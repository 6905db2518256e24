"""Answers that are round numbers and lie on the edges of buckets: without noise, the truth must be inside."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.estimate import Estimate
from sottovoce.experiments.coverage.distributions.heaped import report_law

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
LOANS = np.repeat([0, 5_000, 10_000, 15_000, 20_000.0], [3, 1, 4, 1, 1])
N = 10_000_000


def expected(name: str, domain: sv.Interval) -> Estimate:
    method = sv.mechanism(name, domain, epsilon=3, buckets=4 if domain.step is None else None)
    cells = np.rint(N * report_law(method, LOANS)).astype(np.int64)
    return Estimate.of(method.question, from_cells(method, N, cells), [])


@pytest.mark.parametrize("name", ["square-wave-discrete", "binned", "haar", "hierarchy"])
def test_both_ends_are_included(name: str) -> None:
    found = expected(name, sv.Interval(0, 20_000))
    for at in (0, 5_000, 10_000, 20_000):
        (low,), (high,) = found.cdf(at).quiet_ci(0.95)
        assert low - 1e-6 <= (at >= LOANS).mean() <= high + 1e-6, at
        band_low, band_high = found.band().limits(at)
        assert band_low[0] - 1e-6 <= (at >= LOANS).mean() <= band_high[0] + 1e-6, at
    for a, b in ((0, 0), (0, 5_000), (5_000, 10_000), (10_000, 10_000), (15_000, 20_000)):
        (low,), (high,) = found.range(a, b).quiet_ci(0.95)
        assert low - 1e-6 <= ((a <= LOANS) & (b >= LOANS)).mean() <= high + 1e-6, (a, b)


@pytest.mark.parametrize("name", ["square-wave", "square-wave-discrete", "binned", "haar"])
def test_a_step_makes_shares_exact(name: str) -> None:
    found = expected(name, sv.Interval(0, 20_000, step=5_000))
    for at in (0, 5_000, 10_000, 20_000):
        (low,), (high,) = found.cdf(at).quiet_ci(0.95)
        assert high - low < 0.01
        assert found.cdf(at).values[0] == pytest.approx((at >= LOANS).mean(), abs=1e-4)
    assert found.median().values[0] == 10_000
