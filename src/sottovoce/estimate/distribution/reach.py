"""How far the largest of many normal deviations reaches, by simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik

from sottovoce.estimate.evidence import Floats, deviate

Singles = NDArray[np.float32]
DRAWS = 20_000
MOST_KEPT = 256  # numbers of a draw for which all draws are kept: those of the next band are the same
TOGETHER = 1_000  # draws of one part; the deviations of one part are held in memory at once
SURE = 0.975  # probability that the simulated quantile is no smaller than the true one


def reach(covariance: Floats, level: float, seed: int, sums: Floats | None = None) -> float:
    """A quantile of the largest of normal deviations with this covariance, or of sums of them, in standard errors.

    Draws have a quantile of their own: in 20,000 of them 95 % may be 94.7 %. So the quantile is the draw that exceeds
    the true one with probability 97.5 %. Where draws are too few for the level there is none, and the product of the
    levels of all deviations, which no correlation lowers (Šidák 1967), bounds it closely.
    """
    root = root_of(covariance, sums)
    bound, rank = bound_of(len(root), level), rank_of(level)
    if rank is None or not len(root):
        return bound
    deviations = np.concatenate([largest(root, part) for part in draws_of(root.shape[1], seed)])
    return min(bound, float(np.partition(deviations, rank - 1)[rank - 1]))


def bound_of(count: int, level: float) -> float:
    """What the largest of so many deviations stays within at least with this probability, however they depend."""
    return deviate(level ** (1 / max(count, 1)))


def rank_of(level: float) -> int | None:
    """Which of the sorted draws is, nearly surely, no smaller than the quantile; None if all may be."""
    rank = math.ceil(bdtrik(SURE, DRAWS, level)) + 1
    return rank if rank <= DRAWS else None


def root_of(covariance: Floats, sums: Floats | None = None) -> Singles:
    """Standard normal numbers times this are the deviations, in standard errors; without those that are none."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = errors > 0
    correlation = covariance[np.ix_(used, used)] / np.outer(errors[used], errors[used])
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:  # some deviations are sums of others
        sizes, vectors = np.linalg.eigh(correlation)
        kept = sizes > 1e-12 * sizes.max(initial=0)
        root = vectors[:, kept] * np.sqrt(sizes[kept])
    if sums is not None:
        root = (sums[:, used] * errors[used]) @ root
        lengths = np.linalg.norm(root, axis=1)
        root = root[lengths > 0] / lengths[lengths > 0, None]
    return np.asarray(root, np.float32)


def largest(root: Singles, draws: Singles) -> Singles:
    """The largest deviation of each draw."""
    deviations = root @ draws
    return np.asarray(np.maximum(deviations.max(axis=0), -deviations.min(axis=0)))


def draws_of(numbers: int, seed: int) -> Iterable[Singles]:
    """Standard normal numbers, so many for each draw, in parts."""
    return _kept_draws(numbers, seed) if numbers <= MOST_KEPT else _draws(numbers, seed)


def _draws(numbers: int, seed: int) -> Iterator[Singles]:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS // TOGETHER):
        yield rng.standard_normal((numbers, TOGETHER), dtype=np.float32)


@lru_cache(maxsize=2)
def _kept_draws(numbers: int, seed: int) -> tuple[Singles, ...]:
    return tuple(_draws(numbers, seed))
