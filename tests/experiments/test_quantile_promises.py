"""Promises of noisy binary search, computed over all turns that a search can take."""

from __future__ import annotations

from math import e

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.protocols.quantile.binary_search import QuantileBinarySearch
from sottovoce_experiments.quantiles.laws import QuantileLaw
from sottovoce_experiments.quantiles.promise import cell, ends

SQUARES = QuantileLaw(np.linspace(0, 1, 257) ** 2, np.linspace(0, 1, 257), ties=False)


def test_two_rounds_by_hand() -> None:
    """A quarter of all answers lies below 0.5, and nine sixteenths below 0.75."""
    search = QuantileBinarySearch(sv.Interval(0, 1), "0.5", 1, 200, rounds=2)
    keep = e / (e + 1)

    def down(below: float) -> float:
        """At most 50 of 100 say yes: the estimated share below is then at least a half."""
        return float(binom.cdf(50, 100, keep * (1 - below) + (1 - keep) * below))

    first, lower, upper = (down(share) for share in (0.25, 0.0625, 0.5625))
    by_hand = {
        0.125: first * lower,
        0.375: first * (1 - lower),
        0.625: (1 - first) * upper,
        0.875: (1 - first) * (1 - upper),
    }
    chances = dict(ends(search, SQUARES))
    assert chances == pytest.approx(by_hand, rel=1e-9)
    assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.parametrize("quantile", ["0.5", "minimum"])
def test_a_promise_is_kept_in_95_of_100_searches(quantile: str) -> None:
    (row,) = cell({"quantile": quantile, "epsilon": 1.0, "error": 0.1, "people": 20_000, "data": "two humps"}, 1, 0)
    assert 0.95 <= row["kept"] <= 1 and 0 < row["rmse"] < row["promised"]
