"""Projected gradient descent towards the channel of least variance for a workload.

An output that is in the sets of some codes is likelier by e**epsilon for these codes than for all others: some best
channel is always of this kind (docs/methods/designed-distributions.md). `t` in [0, 1] says whether an output is in the
set of a code; the descent moves in between, and nearly everything that it finds is 0 or 1 already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sottovoce.estimate.distribution.queries import Floats, Queries

ENOUGH = 1e-6  # relative decrease per step at which a descent ends
WIDEN, NARROW = 1.1, 0.5  # the next step after one that was taken, and after one that was not
FIRST_MOVE = 0.02  # mean change of the first step
SHORTEST = 1e-14  # relative to the first step
SINGULAR = 1e-11  # of the pivots of the information, relative


class Search(Protocol):
    """The space of a descent: how `t` is kept in bounds, and what it costs."""

    def project(self, t: Floats) -> Floats: ...
    def cost(self, t: Floats) -> tuple[float, Floats]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """tr[(Q' D**-1 Q)**-1 G] and its gradient, D the probabilities of the outputs under the prior."""

    wanted: Queries
    odds: float
    prior: Floats

    def __call__(self, t: Floats, weight: float, *, mirrored: bool = False) -> tuple[float, Floats]:
        """Cost and slopes for rows `weight` (1 + (odds - 1) t); if `mirrored`, with each row's mirror image as well."""
        rows = 1 + (self.odds - 1) * t
        scaled = rows / (rows @ self.prior)[:, None]
        inverse = self._inverse(weight * (scaled.T @ rows), mirrored)
        if inverse is None:
            return math.inf, t
        goal = self.wanted.goal
        slopes = scaled @ (inverse @ goal @ inverse)
        slopes = (scaled * slopes).sum(axis=1)[:, None] * self.prior - 2 * slopes
        return float((inverse * goal).sum()), (1 + mirrored) * weight * (self.odds - 1) * slopes

    def value(self, t: Floats, weight: float) -> float:
        """The cost alone."""
        rows = 1 + (self.odds - 1) * t
        inverse = self._inverse(weight * ((rows / (rows @ self.prior)[:, None]).T @ rows), mirrored=False)
        return math.inf if inverse is None else float((inverse * self.wanted.goal).sum())

    def _inverse(self, information: Floats, mirrored: bool) -> Floats | None:
        """The inverse of the information, or None if some shares are not estimable."""
        full = information + information[::-1, ::-1] if mirrored else information
        try:
            pivots = np.diag(np.linalg.cholesky(full))
        except np.linalg.LinAlgError:
            return None
        return None if pivots.min() ** 2 < SINGULAR * pivots.max() ** 2 else np.asarray(np.linalg.inv(full), float)


def descend(search: Search, start: Floats, steps: int) -> tuple[Floats, float]:
    """Accelerated projected gradient descent (Beck and Teboulle 2009), begun anew whenever the cost would rise."""
    best = search.project(start)
    cost, slopes = search.cost(best)
    size = first = FIRST_MOVE / max(float(np.abs(slopes - slopes.mean()).mean()), 1e-300)
    ahead, ahead_cost, ahead_slopes, momentum = best, cost, slopes, 1.0
    for _ in range(steps):
        moved = search.project(ahead - size * ahead_slopes)
        moved_cost, moved_slopes = search.cost(moved)
        change = moved - ahead
        if not moved_cost <= ahead_cost + (ahead_slopes * change).sum() + (change**2).sum() / (2 * size):
            size *= NARROW
            if size < SHORTEST * first:
                break
            continue
        if moved_cost > cost and ahead is not best:
            ahead, ahead_cost, ahead_slopes, momentum = best, cost, slopes, 1.0
            continue
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = search.project(moved + (momentum - 1) / following * (moved - best))
        done = cost - moved_cost < ENOUGH * moved_cost and momentum < 2
        best, cost, slopes, momentum = moved, moved_cost, moved_slopes, following
        if done:
            break
        size *= WIDEN
        ahead_cost, ahead_slopes = search.cost(ahead)
        if not math.isfinite(ahead_cost):
            ahead, ahead_cost, ahead_slopes, momentum = best, cost, slopes, 1.0
    return best, cost


def best_share(least: float, cost: Callable[[float], float]) -> float:
    """The share of outputs in the set of a code with the least cost, found by a climb and a parabola through its top.

    Small budgets want 1 / (e**epsilon + 1). Larger ones want more, how much depends on the workload.
    """
    ratio = 1.3
    shares = [least, least * ratio]
    costs = [cost(share) for share in shares]
    while (costs[-1] < costs[-2] or not math.isfinite(costs[-1])) and shares[-1] * ratio < 0.5:
        shares.append(shares[-1] * ratio)
        costs.append(cost(shares[-1]))
    place = int(np.argmin(costs))
    if not 0 < place < len(shares) - 1 or not math.isfinite(costs[place - 1]):
        return shares[place]
    before, here, after = costs[place - 1 : place + 2]
    return float(shares[place] * ratio ** ((before - after) / (2 * (before - 2 * here + after))))
