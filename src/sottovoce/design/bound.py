"""The least variance that any private channel with a linear, unbiased decoder has for a workload."""

from __future__ import annotations

import math

import numpy as np

from sottovoce.estimate.distribution.queries import Floats, Queries


def bound(wanted: Queries, epsilon: float, prior: Floats | None = None) -> float:
    """A lower bound on the variance per query and participant, averaged over the prior (even shares by default).

    With G = W'W, the prior p, S = diag(sqrt p), and P the projection away from sqrt p, the sum over all queries is at
    least p'Gp + B - p'diag(G), where B is the least sum of g_i / a_i over all a_i at most c_i that sum to at most t:
    the g_i are the eigenvalues of P S G S P, t = (e**epsilon - 1)**2 / (4 e**epsilon), and c_i is the most that any
    report can say about the i-th eigenvector. Without the c_i, B = (tr sqrt(P S G S P))**2 / t. The proof is in
    docs/methods/designed-distributions.md.
    """
    bins = wanted.bins
    shares = np.full(bins, 1 / bins) if prior is None else np.asarray(prior, float)
    root = np.sqrt(shares)
    away = np.eye(bins) - np.outer(root, root)
    values, vectors = np.linalg.eigh(away @ (root[:, None] * wanted.gram * root) @ away)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    caps = np.array([_cap(vector, shares, math.exp(epsilon)) for vector in vectors.T])
    total = float(shares @ wanted.gram @ shares - shares @ np.diag(wanted.gram))
    total += _filled(roots, caps, _trace(bins, math.exp(epsilon), even=prior is None))
    return max(0.0, total) / wanted.count


def _trace(bins: int, odds: float, *, even: bool) -> float:
    """The most that the information of a report can sum to over all directions.

    The bound is the variance of a likelihood whose mean is 1 and whose values differ by the odds, at most
    (odds - 1)**2 / (4 odds). If all bins are equally common, so many of them, a whole number, are likelier.
    """
    if not even:
        return (odds - 1) ** 2 / (4 * odds)
    likelier = np.arange(1, bins)
    return float(((odds - 1) ** 2 * likelier * (bins - likelier) / (bins + likelier * (odds - 1)) ** 2).max())


def _cap(vector: Floats, shares: Floats, odds: float) -> float:
    """The most that reports can say about a direction: the largest variance of f = sum v sqrt(p) q / sum p q.

    Each report has a likelihood q in [1, odds], up to a factor, and the mean of f over all reports is 0. So its
    variance is at most -min f max f (Bhatia and Davis), and at most 1, that of the answers themselves. A ratio of
    linear functions is largest where the likelier bins are those with the largest v / sqrt(p).
    """
    used = np.flatnonzero(shares > 0)
    weights = (vector * np.sqrt(shares))[used]
    order = np.argsort(weights / shares[used], kind="stable")
    ends = []
    for turned in (order, order[::-1]):
        above = weights.sum() + (odds - 1) * np.cumsum(weights[turned])
        ends.append(np.abs(above / (1 + (odds - 1) * np.cumsum(shares[used][turned]))).max())
    return min(1.0, float(ends[0] * ends[1]))


def _filled(roots: Floats, caps: Floats, total: float) -> float:
    """The least sum of roots**2 / a over a <= caps with sum(a) <= total: a = min(caps, level * roots)."""
    capped = np.zeros(len(roots), bool)
    while True:
        left = total - caps[capped].sum()
        free = ~capped
        if not free.any() or left >= caps[free].sum():
            return float((roots**2 / caps).sum())
        level = left / roots[free].sum()
        more = free & (level * roots > caps)
        if not more.any():
            return float((roots[capped] ** 2 / caps[capped]).sum() + roots[free].sum() / level)
        capped |= more
