"""The largest of many normal deviations, simulated."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS = 20_000
MOST_KEPT = 256  # numbers of a draw for which all draws are kept: those of the next band are the same


def reach(covariance: Floats, level: float, seed: int) -> float:
    """The quantile of the largest of normal deviations with this covariance, in standard errors."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = errors > 0
    correlation = covariance[np.ix_(used, used)] / np.outer(errors[used], errors[used])
    sizes, vectors = np.linalg.eigh(correlation)
    kept = sizes > 1e-12 * sizes.max(initial=0)
    root = vectors[:, kept] * np.sqrt(sizes[kept])
    rank = root.shape[1]
    deviations = root @ (_kept_draws if rank <= MOST_KEPT else _draws)(rank, seed)
    largest = np.maximum(deviations.max(axis=0, initial=0.0), -deviations.min(axis=0, initial=0.0))
    return float(np.quantile(largest, level))


def _draws(numbers: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((numbers, DRAWS))


_kept_draws = lru_cache(maxsize=2)(_draws)
