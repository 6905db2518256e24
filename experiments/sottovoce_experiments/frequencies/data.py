"""Categorical crowds: the synthetic ones of Table 3 of "SoK: descriptive statistics under local differential privacy",
and others that decoders are compared on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GEOMETRIC_SIZES = (8, 16, 32, 64, 128, 512)
TABLE_3 = (
    *((kind, k) for kind, k in (("binomial", 8), ("binomial", 128))),
    *(("geometric", k) for k in GEOMETRIC_SIZES),
)


def shares_of(kind: str, size: int) -> Floats:
    """The shares of `size` values.

    binomial: k - 1 trials with probability 0.2, which have k outcomes. geometric: falling by 1 - 5/k from each value to
    the next, cut after k values, as in Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local
    privacy", 2016. zipf: as 1, 1/2, 1/3, ... sparse: ten equal shares, all others zero.
    """
    values = np.arange(size)
    if kind == "binomial":
        weights = stats.binom.pmf(values, size - 1, 0.2)
    elif kind == "geometric":
        weights = (1 - 5 / size) ** values
    elif kind == "zipf":
        weights = 1.0 / (values + 1)
    elif kind == "sparse":
        weights = (values < 10).astype(float)
    else:
        weights = np.ones(size)
    return np.asarray(weights / weights.sum())


def crowd(kind: str, size: int, n: int, rng: np.random.Generator) -> Ints:
    """How many of n participants, drawn from these shares, hold each value."""
    return rng.multinomial(n, shares_of(kind, size))
