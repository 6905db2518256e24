"""Shares from a likelihood and random walks as priors: the modes of all of them, averaged by what speaks for each.

For each walk and size the mode of the posterior is found by Gauss-Newton steps along the walk's waves, and the evidence
by Laplace's approximation: the posterior density at the mode times the volume of the bell around it. The shares are
those of the modes, weighted by the evidence. There is no chance in it. Draws from the posteriors instead of their modes
were tried and were no better (docs/methods/decoders.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.estimate.distribution.bayes.condense import Condensed
from sottovoce.estimate.distribution.bayes.walks import Walk, Waves, waves
from sottovoce.estimate.evidence import Floats

SIZES = tuple(0.08 * 2.5**power for power in range(7))
MIDDLE = 3
NEAR = 0.1  # a mode is found if a step would gain less than this, in units of the log-likelihood
FAR = 15.0  # evidence that a prior may lack, compared with the best, before it is left out
MOST_STEPS = 15
SHORTER = 0.4
MANY_ROWS = 1 << 10  # of the law, beyond which the curvature is computed from the expected information
_SHORTEST = 0.01
_FIRST_STEPS = 30  # of EM, from which the search starts
_LEAST = 1e-6  # share of an average part, as a starting point


class Mode(NamedTuple):
    """The mode of a posterior; `evidence` is -inf if it was not found.

    `shares` are those of the parts, which are spread evenly; `points` are shares of buckets that lie at points.
    """

    family: Walk
    size: float
    walk: Floats
    shares: Floats
    evidence: float
    steps: int
    points: Floats | float = 0.0


class Smooth(NamedTuple):
    """The shares of the parts, None if no mode was found; how many steps were taken; the shares at points.

    `evidence` is what speaks for all modes together.
    """

    shares: Floats | None
    steps: int
    points: Floats | float = 0.0
    evidence: float = -np.inf


class Hypothesis(Protocol):
    """Explanations of another kind, which are searched for after those of the walks."""

    def explanations(self, modes: Sequence[Mode]) -> Iterator[Mode]:
        """The modes, given those that were found so far."""


class At(NamedTuple):
    """A place of a walk: the log-posterior, the shares, the probabilities of reports, and the slope of the bend."""

    value: float
    shares: Floats
    outputs: Floats
    slope: Floats


class Posterior:
    """The posterior of the walk of a family, given counts."""

    def __init__(self, given: Condensed, circular: bool) -> None:
        self.law, self.counts = given.law, given.counts
        self.logs = np.log(given.sizes / given.sizes.mean())
        self.n, self.circular = float(given.counts.sum()), circular

    def waves(self, family: Walk) -> Waves:
        return waves(self.law.shape[1], family.order, self.circular)

    def along(self, family: Walk, size: float, walk: Floats) -> tuple[Floats, Floats]:
        """The waves of a prior, as long as their deviations, and the place of a walk in them."""
        basis = self.waves(family)
        deviations = family.deviations(basis, size)
        vectors = basis.vectors[:, : len(deviations)]
        return vectors * deviations, vectors.T @ walk / deviations

    def walk(self, directions: Floats, place: Floats) -> Floats:
        """The walk at a place, from which other searches may start."""
        return np.asarray(directions @ place)

    def mode(self, family: Walk, size: float, start: Floats, floor: float) -> Mode:
        """The mode near a starting walk; given up where the evidence would be far below `floor`."""
        directions, place = self.along(family, size, start)
        here = self.at(family, directions, place)
        for steps in range(1, MOST_STEPS + 1):
            gradient, factor = self.bowl(here, directions, place)
            step = scipy.linalg.cho_solve((factor, True), gradient, check_finite=False)
            gain = float(gradient @ step)
            evidence = here.value - float(np.log(np.diag(factor)).sum()) - family.penalty
            if gain < NEAR:
                return Mode(family, size, self.walk(directions, place), here.shares, evidence, steps)
            if not evidence + 2 * gain > floor:  # a bowl would gain half of `gain`
                break
            length = 1.0
            while length > _SHORTEST:
                there = self.at(family, directions, place + length * step)
                if there.value > here.value + 1e-4 * length * gain:
                    break
                length *= SHORTER
            else:
                break
            place, here = place + length * step, there
        return Mode(family, size, self.walk(directions, place), here.shares, -np.inf, steps)

    def at(self, family: Walk, directions: Floats, place: Floats) -> At:
        """The log-posterior at a place, and the shares and reports that it stands for."""
        logs, slope = family.bent(directions @ place)
        logs = logs + self.logs
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        outputs = self.law @ shares
        if not outputs.min() > 0:
            return At(-np.inf, shares, outputs, slope)
        return At(float(self.counts @ np.log(outputs) - place @ place / 2), shares, outputs, slope)

    def bowl(self, here: At, directions: Floats, place: Floats) -> tuple[Floats, Floats]:
        """The gradient of the log-posterior, and the lower factor of its curvature."""
        weight = here.shares * here.slope
        gradient = directions.T @ (weight * (self.law.T @ (self.counts / here.outputs) - self.n)) - place
        along = weight[:, None] * directions - np.outer(here.shares, weight @ directions)
        if len(self.law) > MANY_ROWS:
            curvature = along.T @ (self.information @ along)
        else:
            rows = (np.sqrt(self.counts) / here.outputs)[:, None] * (self.law @ along)
            curvature = rows.T @ rows
        curvature[np.diag_indices_from(curvature)] += 1
        return gradient, scipy.linalg.cholesky(curvature, lower=True, check_finite=False, overwrite_a=True)

    @property
    def likely_rates(self) -> Floats:
        """Rates of the reports, near those that any good explanation has."""
        return np.asarray(self.law @ self.rough())

    @cached_property
    def information(self) -> Floats:
        """What the reports tell about each pair of parts, where the rates are likely ones.

        Rates change little from one explanation to another, so that one matrix is near enough to all of them.
        """
        return np.asarray((self.law.T * (self.n / self.likely_rates)) @ self.law)

    def rough(self) -> Floats:
        """The shares after a few steps of EM."""
        sizes = np.exp(self.logs)
        shares = sizes / sizes.sum()
        for _ in range(_FIRST_STEPS):
            shares = shares * (self.law.T @ (self.counts / (self.law @ shares))) / self.n
        return np.asarray(shares / shares.sum())


def smooth(given: Condensed, circular: bool, families: Sequence[Walk], hypotheses: Iterable[Hypothesis] = ()) -> Smooth:
    """The averaged shares."""
    modes = explanations(given, circular, families)
    if not np.isfinite(max(mode.evidence for mode in modes)):
        return Smooth(None, sum(mode.steps for mode in modes))
    for hypothesis in hypotheses:
        modes += hypothesis.explanations(modes)
    return averaged(modes)


def averaged(modes: Sequence[Mode]) -> Smooth:
    """The mean of all modes, weighted by the evidence."""
    steps, weights = sum(mode.steps for mode in modes), weighted(modes)
    if weights is None:
        return Smooth(None, steps)
    points = sum(weight * mode.points for weight, mode in zip(weights, modes, strict=True))
    shares = np.asarray(weights @ np.array([mode.shares for mode in modes]))
    return Smooth(shares, steps, points, float(np.logaddexp.reduce([mode.evidence for mode in modes])))


def weighted(modes: Sequence[Mode]) -> Floats | None:
    """The weight of each mode by what speaks for it; None if no mode was found."""
    evidence = np.array([mode.evidence for mode in modes])
    if not np.isfinite(evidence.max()):
        return None
    weights = np.exp(evidence - evidence.max())
    return np.asarray(weights / weights.sum())


def explanations(given: Condensed, circular: bool, families: Sequence[Walk]) -> list[Mode]:
    """The modes of all families; a search starts from the shares of the best one so far."""
    posterior = Posterior(given, circular)
    modes: list[Mode] = []
    shares = posterior.rough()
    for family in (one for one in families if one.order < len(shares)):  # a walk needs more buckets than it leaves open
        logs = np.log(np.maximum(shares, _LEAST / len(shares))) - posterior.logs
        start = family.straightened(logs)
        best = max((mode.evidence for mode in modes), default=-np.inf)
        modes += by_size(posterior, family, start, best)
        top = max(modes, key=lambda mode: mode.evidence)
        if np.isfinite(top.evidence):
            shares = top.shares
    return modes


def by_size(posterior: Posterior, family: Walk, start: Floats, best: float, most_falls: int = 2) -> Iterator[Mode]:
    """The modes of a family, from the middle size up and down: until the evidence fell so often, or is far too low."""
    first = posterior.mode(family, SIZES[MIDDLE], start, best - FAR)
    yield first
    best = max(best, first.evidence)
    for sizes in (SIZES[MIDDLE + 1 :], SIZES[:MIDDLE][::-1]):
        last, falls = first, 0
        for size in sizes:
            mode = posterior.mode(family, size, last.walk, best - FAR)
            yield mode
            best = max(best, mode.evidence)
            falls = 0 if mode.evidence > last.evidence else falls + 1
            if falls == most_falls or mode.evidence < best - FAR:
                break
            last = mode
