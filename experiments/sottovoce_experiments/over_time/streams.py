"""Streams of shares: three made ones, and three from shared data, as counts of people in each epoch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce_experiments.sources import FLIGHTS, TAXI

PEOPLE = 200_000
MADE_EPOCHS = 800
WEEK = 7
TAXI_YEAR, TAXI_HOURS = 2022, 24 * 31
SHOWN = 4  # categories; the others are one more
# Days have a season of a week. Seasons of 24 hours have too many states for the grid of models.
PERIODS = {"flights": WEEK, "delays": WEEK}
NAMES = ("sin", "log", "lns", "flights", "taxi", "delays")


def shares_of_ones(name: str) -> NDArray[np.float64]:
    """The share of ones in the streams of Ren et al. 2022, with their constants."""
    at = np.arange(MADE_EPOCHS)
    if name == "sin":
        return np.asarray(0.05 * np.sin(0.01 * at) + 0.075)
    if name == "log":
        return np.asarray(0.25 / (1 + np.exp(-0.01 * at)))
    steps = np.random.default_rng(20220612).normal(0, 0.0025, MADE_EPOCHS)
    return np.asarray(np.abs(0.05 + np.cumsum(steps)))


@lru_cache(maxsize=1)
def stream(name: str) -> NDArray[np.int64]:
    """How many of 200,000 people hold each category in each epoch."""
    if name in ("sin", "log", "lns"):
        ones = np.rint(shares_of_ones(name) * PEOPLE).astype(np.int64)
        return np.stack([PEOPLE - ones, ones], axis=1)
    table = {"flights": _carriers, "delays": _delays, "taxi": _zones}[name]()
    shares = table / table.sum(axis=1, keepdims=True)
    counts = np.floor(shares * PEOPLE).astype(np.int64)
    counts[:, -1] += PEOPLE - counts.sum(axis=1)
    return np.asarray(counts)


def _largest(epochs: Any, kinds: Any, length: int) -> NDArray[np.float64]:
    """Counts by epoch of the four most frequent kinds, and of all others."""
    import pandas as pd

    frequent = list(pd.Series(kinds).value_counts().index[:SHOWN])
    table = np.zeros((length, SHOWN + 1))
    places = pd.Series(kinds).map({kind: place for place, kind in enumerate(frequent)}).fillna(SHOWN).to_numpy(int)
    np.add.at(table, (np.asarray(epochs, int), places), 1)
    return table


def _carriers() -> NDArray[np.float64]:
    """Departures by carrier on each day of 2013."""
    frame = _flights()
    return _largest(frame["day"], frame["carrier"], 365)


def _delays() -> NDArray[np.float64]:
    """Departures by delay on each day of 2013: none, up to 15, 60, 180 minutes, more or cancelled."""
    frame = _flights()
    delay = frame["dep_delay_min"].fillna(1e6).to_numpy()
    table = np.zeros((365, SHOWN + 1))
    np.add.at(table, (frame["day"].to_numpy(int), np.searchsorted([0, 15, 60, 180], delay)), 1)
    return table


def _flights() -> Any:
    import pandas as pd

    from sottovoce_experiments.runner import data_file

    frame = pd.read_parquet(data_file(FLIGHTS.file))
    when = pd.to_datetime({"year": 2013, "month": frame["month"], "day": frame["day"]})
    return frame.assign(day=when.dt.dayofyear - 1)


def _zones() -> NDArray[np.float64]:
    """Trips by zone of pick-up in each hour of January 2022."""
    import pandas as pd

    from sottovoce_experiments.runner import data_file

    frame = pd.read_parquet(data_file(TAXI.file))
    frame = frame[frame["year"] == TAXI_YEAR]
    hours = (frame["day"].to_numpy(int) - 1) * 24 + frame["pickup_second"].to_numpy(int) // 3600
    table = _largest(hours, frame["pickup_zone"], TAXI_HOURS)
    for hour in range(1, TAXI_HOURS):  # an hour without a trip has the shares of the hour before it
        if not table[hour].any():
            table[hour] = table[hour - 1]
    return table
