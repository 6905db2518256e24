"""Answers in [0, 1] of experiments on distributions: a generator, and public data sets where they are at hand."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce_experiments.sources import HISTOGRAMS, TAXI

Floats = NDArray[np.float64]
MOST = 200_000  # participants of one run
BETA, TAXI_TIMES = "Beta(5, 2)", "taxi pick-up times"
# Smooth, rough and spiky histograms of the public collection.
PUBLIC = ("INCOME", "SEARCH", "PATENT")
NEEDS = (TAXI.file, HISTOGRAMS.file)
BUCKETS = {BETA: 256}  # as in the paper; all others have 1024


def buckets_of(name: str) -> int:
    """The number of buckets of a data set."""
    return BUCKETS.get(name, 1024)


def answers_of(name: str, rng: np.random.Generator, count: int = 100_000) -> Floats:
    """Answers of this many participants, drawn anew."""
    if name == BETA:
        return rng.beta(5, 2, count)
    if name == TAXI_TIMES:
        return rng.choice(_taxi(), count)
    edges = _histogram(name)
    bins = rng.choice(len(edges), count, p=edges)
    return (bins + rng.random(count)) / len(edges)


@lru_cache(maxsize=1)
def _taxi() -> Floats:
    import pyarrow.parquet as pq

    seconds = pq.read_table(data_file(TAXI.file), columns=["pickup_second"]).column(0).to_numpy()
    return np.asarray(seconds / 86_400)


@lru_cache(maxsize=8)
def _histogram(name: str) -> Floats:
    import pyarrow.parquet as pq

    table = pq.read_table(data_file(HISTOGRAMS.file), filters=[("dataset", "==", name)])
    shares = np.zeros(4096)
    shares[table["bin"].to_numpy()] = table["count"].to_numpy()
    if not shares.sum():
        raise ParameterError("The collection of histograms has no data set of this name.")
    return np.asarray(shares / shares.sum())


def data_file(file: str) -> Path:
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder:
        raise ParameterError(f"This experiment reads {file} from the folder that SOTTOVOCE_DATA names.")
    return Path(folder) / file
