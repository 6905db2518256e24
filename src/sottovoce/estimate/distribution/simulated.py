"""The largest of many normal deviations, simulated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS = 20_000


def reach(covariance: Floats, level: float, seed: int) -> float:
    """The quantile of the largest of normal deviations with this covariance, in standard errors."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = errors > 0
    correlation = covariance[np.ix_(used, used)] / np.outer(errors[used], errors[used])
    sizes, vectors = np.linalg.eigh(correlation)
    kept = sizes > 1e-12 * sizes.max(initial=0)
    root = vectors[:, kept] * np.sqrt(sizes[kept])
    rng = np.random.default_rng(seed)
    largest = np.abs(root @ rng.standard_normal((root.shape[1], DRAWS))).max(axis=0)
    return float(np.quantile(largest, level))
