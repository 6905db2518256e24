"""HH-ADMM: the nearest shares to the estimates of all levels of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.distribution.hierarchy import HierarchyEvidence
from sottovoce.estimate.distribution.readings.tree import Tree
from sottovoce.estimate.evidence import Evidence, Floats, Offer


@dataclass(frozen=True, slots=True)
class AdmmDecoder(Decoder):
    """Shares that are consistent on all levels, sum to one and are not negative, by alternating directions.

    Levels are weighted by the information of their reports; `weighted=False` gives all the same weight, as in Li, Wang,
    Lopuhaä-Zwakenberg, Skoric, Li, "Estimating numerical distributions under local differential privacy", SIGMOD 2020.
    The gap is that of the normal log-likelihood per report.
    """

    name: ClassVar[str] = "admm"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LEVELS})
    weighted: bool = True
    tolerance: float = 1e-10
    steps: int = 5000

    def solve(self, evidence: Evidence) -> Decoded:
        if not isinstance(evidence, HierarchyEvidence):
            raise TypeError("Levels are those of evidence about a hierarchy.")
        branches = evidence.branches
        # A level that nobody answered about says nothing; least squares needs some weight for the leaves.
        weights = [max(weight, 1e-9) if self.weighted else 1.0 for weight in evidence.level_weights()]
        tree = Tree(branches[0].sets.codes, tuple(branch.sets.width for branch in branches), tuple(weights))
        nearest = nearest_shares(tree, evidence.levels(), tolerance=self.tolerance, steps=self.steps)
        return Decoded(nearest.shares, Fit(nearest.steps, nearest.gap))


class Nearest(NamedTuple):
    """Shares of the leaves, the number of steps, and a bound on how far the objective is above its minimum."""

    shares: Floats
    steps: int
    gap: float


def nearest_shares(tree: Tree, levels: list[Floats], *, tolerance: float, steps: int) -> Nearest:
    """Minimise half the weighted sum over levels of |M x - values|**2 over shares x, by alternating directions.

    One direction is least squares on the tree with the sum fixed, in linear time; the other is the projection onto the
    simplex. The penalty is between the least and the largest curvature of the objective, and moves where one of the two
    residuals lags behind. The gradient bounds the gap: x . gradient - min gradient, since the objective is convex.
    """
    right = tree.pulled(levels)
    least = tree.weights[-1]
    largest = sum(weight * width for weight, width in zip(tree.weights, tree.widths, strict=True))
    penalty = float(np.sqrt(least * largest))
    shares = simplex(tree.solve(right, total=1.0))
    dual = np.zeros_like(shares)
    best = Nearest(shares, 0, _gap(tree, right, shares))
    for step in range(1, steps + 1):
        if best.gap <= tolerance:
            break
        solved = tree.solve(right + penalty * (shares - dual), total=1.0, ridge=penalty)
        relaxed = 1.6 * solved - 0.6 * shares
        before, shares = shares, simplex(relaxed + dual)
        dual = dual + relaxed - shares
        gap = _gap(tree, right, shares)
        best = Nearest(shares, step, gap) if gap < best.gap else best._replace(steps=step)
        if step % 10 == 0:
            primal, moved = float(np.linalg.norm(solved - shares)), float(np.linalg.norm(shares - before))
            factor = 2.0 if primal > 5 * moved else 0.5 if moved > 5 * primal else 1.0
            penalty, dual = penalty * factor, dual / factor
    return best


def _gap(tree: Tree, right: Floats, shares: Floats) -> float:
    gradient = tree.product(shares) - right
    return float(shares @ gradient - gradient.min())
