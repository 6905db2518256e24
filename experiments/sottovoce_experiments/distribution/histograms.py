"""Distributions on [0, 1], smooth and spiky, by name: laws, and real data that is not part of the package.

Half of them were used to choose the priors of the decoder `bayes`, the other half only to report. Relatives, such as
parts of one collection, are in the same half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, HISTOGRAMS, TAXI

Floats = NDArray[np.float64]
DAY = 86_400
OLDEST = 100
TUNED = (
    *("ADULT", "ages", "BIDS-ALL", "BIDS-FJ", "BIDS-FM"),
    *("bimodal", "INCOME", "MEDCOST", "SEARCH", "pick-up times"),
)
REPORTED = (
    *("Beta(5, 2)", "uniform", "HEPTH", "LC-DTIR-ALL", "LC-DTIR-F1", "LC-DTIR-F2"),
    *("LC-REQ-ALL", "LC-REQ-F1", "LC-REQ-F2", "MD-SAL", "MD-SAL-FA", "PATENT", "TRACE"),
)


def shares(name: str, buckets: int) -> Floats:
    """The shares of equal buckets of [0, 1]."""
    edges = np.linspace(0, 1, buckets + 1)
    made = _MADE.get(name, partial(_histogram, name))(edges)
    return np.asarray(made / made.sum())


def _beta(edges: Floats) -> Floats:
    return np.diff(scipy.stats.beta(5, 2).cdf(edges))


def _bimodal(edges: Floats) -> Floats:
    normal = scipy.stats.norm
    return np.diff((normal(0.3, 0.08).cdf(edges) + normal(0.7, 0.1).cdf(edges)) / 2)


def _column(file: str, name: str) -> Floats:
    return np.asarray(pq.read_table(data_file(file), columns=[name])[name].to_numpy(), np.float64)


def _ages(edges: Floats) -> Floats:
    return np.histogram((_column(ADULT.file, "age") + 0.5) / OLDEST, edges)[0].astype(np.float64)


def _pick_ups(edges: Floats) -> Floats:
    return np.histogram(_column(TAXI.file, "pickup_second") / DAY, edges)[0].astype(np.float64)


def _histogram(name: str, edges: Floats) -> Floats:
    """A histogram of 4,096 equal bins, of which non-zero ones are stored."""
    whole = _stored(name)
    return np.add.reduceat(whole, np.arange(len(edges) - 1) * len(whole) // (len(edges) - 1))


@lru_cache(maxsize=32)
def _stored(name: str) -> Floats:
    table = pq.read_table(data_file(HISTOGRAMS.file))
    table = table.filter(pc.equal(table["dataset"], name))
    found = np.zeros(1 << 12)
    found[table["bin"].to_numpy()] = table["count"].to_numpy()
    return found


_MADE: dict[str, Callable[[Floats], Floats]] = {
    "Beta(5, 2)": _beta,
    "bimodal": _bimodal,
    "uniform": np.diff,
    "ages": _ages,
    "pick-up times": _pick_ups,
}
