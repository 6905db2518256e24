"""Answers as people give them: rounded, at a favourite value, at the ends of a scale. Columns of public files and laws.

Half of the columns were used to choose the priors of the decoder `bayes`, the other half only to report. The halves
were written down before any of them was decoded. Relatives, such as two delays of one flight, are in the same half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, FLIGHTS, PATIENTS, TAXI

Floats = NDArray[np.float64]
NEEDS = (ADULT.file, TAXI.file, PATIENTS.file, FLIGHTS.file)


@dataclass(frozen=True, slots=True)
class HeapedColumn:
    """Answers in their own unit; the range is what a planner would choose, and answers outside move to its ends."""

    half: str
    name: str
    low: float
    high: float
    step: float | None  # that a planner would state
    draw: Callable[[np.random.Generator, int], Floats]

    def answers(self, rng: np.random.Generator, count: int) -> Floats:
        """Answers of this many participants, drawn anew."""
        return np.clip(np.round(self.draw(rng, count), 6), self.low, self.high)


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows of a file, drawn with replacement."""

    file: str
    column: str

    def __call__(self, rng: np.random.Generator, count: int) -> Floats:
        return rng.choice(_values(self.file, self.column), count)


@lru_cache(maxsize=32)
def _values(file: str, column: str) -> Floats:
    values = np.asarray(pq.read_table(data_file(file), columns=[column])[column].to_numpy(), np.float64)
    return np.round(values[np.isfinite(values)], 2)  # amounts are stored in single precision


def rounded(values: Floats, *steps: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Each answer is rounded to one of these steps, drawn by its share."""
    sizes, shares = np.array(steps).T
    chosen = rng.choice(sizes, len(values), p=shares)
    return np.asarray(np.round(values / chosen) * chosen)


def _rents(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.lognormal(6.8, 0.4, n), (50, 1.0), rng=rng)


def _weights(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.normal(75, 15, n), (1, 0.4), (5, 0.3), (10, 0.3), rng=rng)


def _sleep(rng: np.random.Generator, n: int) -> Floats:
    return np.where(rng.random(n) < 0.5, 8, rng.normal(7.5, 1.5, n))


def _agreement(rng: np.random.Generator, n: int) -> Floats:
    ends = rng.choice([0, 100, np.nan], n, p=[0.25, 0.15, 0.6])
    return np.where(np.isnan(ends), 100 * rng.beta(2, 2, n), ends)


def _commutes(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.gamma(2.5, 18, n), (5, 1.0), rng=rng)


def _pressures(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.normal(125, 20, n), (10, 1.0), rng=rng)


def _incomes(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.lognormal(7.8, 0.5, n), (100, 1.0), rng=rng)


def _loans(rng: np.random.Generator, n: int) -> Floats:
    return rounded(rng.lognormal(9.3, 0.6, n), (100, 0.15), (500, 0.25), (1000, 0.6), rng=rng)


def _preferred(rng: np.random.Generator, n: int) -> Floats:
    years = np.where(rng.random(n) < 0.6, rng.normal(32, 10, n), rng.normal(62, 12, n))
    return rounded(years, (1, 0.5), (5, 0.25), (10, 0.25), rng=rng)


def _contracts(rng: np.random.Generator, n: int) -> Floats:
    return np.where(rng.random(n) < 0.5, 40, rng.normal(34, 11, n))


def _confidence(rng: np.random.Generator, n: int) -> Floats:
    ends = rng.choice([0, 10, np.nan], n, p=[0.3, 0.2, 0.5])
    return np.where(np.isnan(ends), 10 * rng.beta(1.5, 1.2, n), ends)


COLUMNS = (
    HeapedColumn("choice", "age, years", 0, 100, 1, Stored(ADULT.file, "age")),
    HeapedColumn("choice", "schooling, level", 0, 20, 1, Stored(ADULT.file, "education_num")),
    HeapedColumn("choice", "capital loss, dollars", 0, 5000, None, Stored(ADULT.file, "capital_loss")),
    HeapedColumn("choice", "taxi fare, dollars", 0, 100, None, Stored(TAXI.file, "fare_usd")),
    HeapedColumn("choice", "taxi trip, seconds", 0, 7200, None, Stored(TAXI.file, "duration_s")),
    HeapedColumn("choice", "medications", 0, 100, 1, Stored(PATIENTS.file, "num_medications")),
    HeapedColumn("choice", "diagnoses", 0, 20, 1, Stored(PATIENTS.file, "number_diagnoses")),
    HeapedColumn("choice", "departure delay, minutes", -60, 240, 1, Stored(FLIGHTS.file, "dep_delay_min")),
    HeapedColumn("choice", "arrival delay, minutes", -100, 300, 1, Stored(FLIGHTS.file, "arr_delay_min")),
    HeapedColumn("choice", "rents, rounded to 50", 0, 5000, 50, _rents),
    HeapedColumn("choice", "weights, digit preference", 0, 200, 1, _weights),
    HeapedColumn("choice", "sleep, half at 8 hours", 0, 24, None, _sleep),
    HeapedColumn("choice", "agreement, both ends", 0, 100, None, _agreement),
    HeapedColumn("report", "working hours", 0, 100, 1, Stored(ADULT.file, "hours_per_week")),
    HeapedColumn("report", "capital gain, dollars", 0, 100_000, None, Stored(ADULT.file, "capital_gain")),
    HeapedColumn("report", "census weight", 0, 1_500_000, None, Stored(ADULT.file, "fnlwgt")),
    HeapedColumn("report", "taxi tip, dollars", 0, 20, None, Stored(TAXI.file, "tip_usd")),
    HeapedColumn("report", "taxi trip, miles", 0, 25, None, Stored(TAXI.file, "distance_miles")),
    HeapedColumn("report", "laboratory tests", 0, 150, 1, Stored(PATIENTS.file, "num_lab_procedures")),
    HeapedColumn("report", "days in hospital", 0, 20, 1, Stored(PATIENTS.file, "days_in_hospital")),
    HeapedColumn("report", "time in the air, minutes", 0, 700, 1, Stored(FLIGHTS.file, "air_time_min")),
    HeapedColumn("report", "flight, miles", 0, 5000, None, Stored(FLIGHTS.file, "distance_miles")),
    HeapedColumn("report", "departure, minute of the day", 0, 1440, 1, Stored(FLIGHTS.file, "sched_dep_min")),
    HeapedColumn("report", "commutes, rounded to 5", 0, 240, 5, _commutes),
    HeapedColumn("report", "blood pressure, rounded to 10", 0, 300, 10, _pressures),
    HeapedColumn("report", "incomes, rounded to 100", 0, 10_000, 100, _incomes),
    HeapedColumn("report", "loans, multiples of 100, 500, 1000", 0, 50_000, 100, _loans),
    HeapedColumn("report", "ages, digit preference", 0, 100, 1, _preferred),
    HeapedColumn("report", "contracts, half at 40 hours", 0, 100, None, _contracts),
    HeapedColumn("report", "confidence, both ends", 0, 10, None, _confidence),
)
BY_NAME = {column.name: column for column in COLUMNS}
