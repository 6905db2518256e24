"""Answers on which adaptive means are reported: public columns, and laws of people's habits.

The rule that decides whether to adapt was chosen on the laws of `coverage.adaptive`; none of these was used for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow.parquet as pq
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.domain import Domain, Integers, Interval
from sottovoce.estimate.prior import Prior
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, BASKETS, FLIGHTS, PATIENTS, TAXI

Floats = NDArray[np.float64]
NEEDS = (ADULT.file, TAXI.file, PATIENTS.file, FLIGHTS.file, BASKETS.file)
PARTS = 1000  # of the range of numbers that are not whole


def column(file: str, name: str) -> Floats:
    """The known values of a column; of a column of lists, their lengths."""
    values = pq.read_table(data_file(file), columns=[name])[name]
    if str(values.type).startswith("list"):
        return np.array([len(value) for value in values.to_pylist()], float)
    numbers: Floats = np.asarray(values.to_numpy(), np.float64)
    return np.asarray(numbers[np.isfinite(numbers)])


def _whole(file: str, name: str, low: int, high: int) -> tuple[Domain, Prior]:
    values, counts = np.unique(np.clip(column(file, name), low, high), return_counts=True)
    return Integers(low, high), Prior(values, counts)


def _real(values: Floats, low: float, high: float) -> tuple[Domain, Prior]:
    """Numbers in cells, each at the middle of its cell; those outside are moved to the ends."""
    inside = np.clip(values, low, high)
    places = np.round((inside - low) / (high - low) * PARTS) / PARTS * (high - low) + low
    return Interval(low, high), Prior(*np.unique(places, return_counts=True))


def _wages() -> tuple[Domain, Prior]:
    levels = (np.arange(20_000) + 0.5) / 20_000
    return _real(np.asarray(scipy.stats.lognorm(0.7, scale=27_000).ppf(levels)), 0, 200_000)


LAWS: dict[str, Callable[[], tuple[Domain, Prior]]] = {
    "census ages": lambda: _whole(ADULT.file, "age", 17, 90),
    "hours of work": lambda: _whole(ADULT.file, "hours_per_week", 1, 99),
    "years of school": lambda: _whole(ADULT.file, "education_num", 1, 16),
    "capital gains": lambda: _whole(ADULT.file, "capital_gain", 0, 99_999),
    "days in hospital": lambda: _whole(PATIENTS.file, "days_in_hospital", 1, 14),
    "medications": lambda: _whole(PATIENTS.file, "num_medications", 0, 81),
    "taxi fares": lambda: _real(column(TAXI.file, "fare_usd"), 0, 100),
    "time of day": lambda: _real(column(TAXI.file, "pickup_second"), 0, 86_400),
    "flight miles": lambda: _real(column(FLIGHTS.file, "distance_miles"), 0, 5000),
    "basket sizes": lambda: _whole(BASKETS.file, "items", 0, 76),
    "wages": _wages,
    "ends and middle": lambda: (Interval(0, 10), Prior([0.0, 5.0, 10.0], [0.3, 0.4, 0.3])),
    "evenly spread": lambda: (Interval(0, 1), Prior((np.arange(PARTS) + 0.5) / PARTS, np.ones(PARTS))),
}


@lru_cache(maxsize=32)
def law(name: str) -> tuple[Domain, Prior]:
    """The domain and the distribution of the answers of this name."""
    return LAWS[name]()
