"""Heaped answers: hypotheses in which people round, or choose an end of the scale.

In a lattice all answers are multiples of a round step of the domain's unit. The logarithm of their shares is a walk
along the multiples; those of a rounder step may stand out together, and so may both ends. In another hypothesis answers
lie anywhere, and an atom lies at each end. Each has modes and evidence, which join the average of the walks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sottovoce.estimate.distribution.bayes.condense import MAX_ENTRIES, Condensed
from sottovoce.estimate.distribution.bayes.modes import Mode, Posterior, by_size
from sottovoce.estimate.distribution.bayes.walks import SLIGHT, Walk, waves
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.frequency.mixture import Mixture

FEWEST_POINTS, MOST_POINTS = 8, 262
MOST_PER_BUCKET = 1.02  # points; more of them would hardly show
ROUND = 1.5  # standard deviation of the effect of a rounder step
END = 2.5  # of the effect of an end of a lattice
ATOM = 3.2  # of an atom at an end, against the walk beside it
_ATOM_SIZE = 5  # average buckets that an atom weighs as much as, in the middle of the prior
_FEWEST_ROUND = 3  # points that share an effect
_LEAST = 1e-6  # share of an average point, as a starting point
_NEAR = 1e-9
_LEADS = ((5, (2, 10, 20)), (1, (5, 10, 50, 100)))  # first digits of steps, and the rounder steps as multiples
_DAYS = (24, 1440, 86_400)  # in hours, minutes and seconds
_PARTS_OF_HOUR = (60, 12, 4, 2, 1)
# The penalties were chosen like those of the walks, on the half called `choice` of heaped and of other answers.
LATTICE_WALKS = (Walk(2, SLIGHT, 0.0, 5.0), Walk(2, SLIGHT, 0.3, 5.0), Walk(2, 0.6, 0.0, 5.0))
END_WALKS = (Walk(2, SLIGHT, 0.0, 5.0), Walk(2, SLIGHT, 0.3, 5.0))


class Heap(NamedTuple):
    """Where answers may lie: evenly in parts, then at points.

    `base` is the step of the walk that each of them belongs to, and `effects` has a column for each random effect.
    """

    law: Floats
    logs: Floats  # of the sizes
    base: Ints
    effects: Floats
    points: Ints  # their buckets
    ends: Floats  # of the range of each step of the walk, in buckets
    walks: tuple[Walk, ...]


class HeapPosterior(Posterior):
    """The posterior of a walk and of random effects. A start is a walk, followed by effects in standard units."""

    def __init__(self, heap: Heap, given: Condensed, widths: Floats) -> None:
        self.heap, self.given, self.widths = heap, given, widths
        self.law, self.counts, self.logs = heap.law, given.counts, heap.logs
        self.n, self.circular, self.length = float(given.counts.sum()), False, len(heap.ends) - 1

    @property
    def likely_rates(self) -> Floats:
        return Posterior(self.given, self.circular).likely_rates

    def along(self, family: Walk, size: float, walk: Floats) -> tuple[Floats, Floats]:
        basis = waves(self.length, family.order, False)
        deviations = family.deviations(basis, size)
        vectors = basis.vectors[:, : len(deviations)]
        directions = np.concatenate([(vectors * deviations)[self.heap.base], self.heap.effects], axis=1)
        return directions, np.concatenate([vectors.T @ walk[: self.length] / deviations, walk[self.length :]])

    def walk(self, directions: Floats, place: Floats) -> Floats:
        count = len(place) - self.heap.effects.shape[1]
        return np.concatenate([directions[: self.length, :count] @ place[:count], place[count:]])

    def explanations(self, modes: Sequence[Mode]) -> Iterator[Mode]:
        """The modes of all walks; searches start from the shares of the best mode so far, without effects."""
        top = max(modes, key=lambda mode: mode.evidence)
        best, shares = top.evidence, self.given.spread(top.shares, self.widths) + top.points
        heights = np.interp(self.heap.ends, np.arange(len(shares) + 1), np.append(0, np.cumsum(shares)))
        own = np.log(np.maximum(np.diff(heights), _LEAST / self.length)) - self.logs[: self.length]
        for family in self.heap.walks:
            start = np.append(family.straightened(own), np.zeros(self.heap.effects.shape[1]))
            for mode in by_size(self, family, start, best, most_falls=1):
                best = max(best, mode.evidence)
                yield self.placed(mode)

    def placed(self, mode: Mode) -> Mode:
        """The shares of the parts apart from those at points."""
        parts = len(mode.shares) - len(self.heap.points)
        points = np.bincount(self.heap.points, mode.shares[parts:], len(self.widths)).astype(np.float64)
        shares = mode.shares[:parts] if parts else np.zeros(len(self.given.sizes))
        return mode._replace(shares=shares, points=points)


def heaps(given: Condensed, mixture: Mixture, buckets: Buckets) -> Iterator[HeapPosterior]:
    """All hypotheses about heaps of numbers on a line."""
    line = buckets.domain.line
    if line is None or len(mixture.counts) * MOST_POINTS > MAX_ENTRIES:
        return
    yield HeapPosterior(_with_ends(given, mixture), given, buckets.widths)
    most = min(MOST_POINTS, MOST_PER_BUCKET * len(buckets) + 1)
    for step, rounder in round_steps(float(line.low), float(line.high), most, float(line.spacing or 0)):
        yield HeapPosterior(_lattice(given, mixture, buckets, step, rounder), given, buckets.widths)


def _with_ends(given: Condensed, mixture: Mixture) -> Heap:
    """Answers anywhere, and an atom at each end."""
    parts, codes = len(given.sizes), mixture.codes
    atoms = given.read(mixture.points(np.array([0.0, float(codes)])))
    sizes = np.append(given.sizes / given.sizes.mean(), [_ATOM_SIZE, _ATOM_SIZE])
    effects = np.zeros((parts + 2, 2))
    effects[[parts, parts + 1], [0, 1]] = ATOM
    base = np.append(np.arange(parts), [0, parts - 1])
    law = np.concatenate([given.law, atoms], axis=1)
    ends = np.append(given.first, codes).astype(np.float64)
    return Heap(law, np.log(sizes), base, effects, np.array([0, codes - 1]), ends, END_WALKS)


def _lattice(given: Condensed, mixture: Mixture, buckets: Buckets, step: float, rounder: Sequence[int]) -> Heap:
    """All answers are multiples of a step."""
    low, high = float(buckets.domain.low), float(buckets.domain.high)  # type: ignore[attr-defined]
    multiples = np.arange(math.ceil(low / step - _NEAR), math.floor(high / step + _NEAR) + 1)
    count, codes = len(multiples), np.arange(len(buckets) + 1)
    places = np.interp((multiples + _NEAR) * step, buckets.edges, codes)
    between = np.interp((multiples[1:] - 0.5) * step, buckets.edges, codes)
    together = [multiples % many == 0 for many in rounder]
    effects = [ROUND * chosen for chosen in together if _FEWEST_ROUND <= chosen.sum() < count]
    effects += [END * (multiples == end) for end in (multiples[0], multiples[-1])]
    points = np.minimum(places.astype(np.int64), len(buckets) - 1)
    ends = np.concatenate([[0.0], between, [float(len(buckets))]])
    law = given.read(mixture.points(places))
    return Heap(law, np.zeros(count), np.arange(count), np.column_stack(effects), points, ends, LATTICE_WALKS)


def round_steps(low: float, high: float, most: float, unit: float = 0.0) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Steps of which a range has a moderate number of multiples, each with rounder steps as multiples of it.

    A range of a day also has the parts of an hour. With a unit all are multiples of it.
    """
    width = high - low
    first = math.floor(math.log10(width)) + 1
    steps: dict[float, tuple[int, ...]] = {
        lead * 10.0**power: rounder for power in range(first, first - 5, -1) for lead, rounder in _LEADS
    }
    if width in _DAYS:
        chain = [width / 24 / parts for parts in _PARTS_OF_HOUR]
        steps |= {step: tuple(round(more / step) for more in chain[place + 1 :]) for place, step in enumerate(chain)}
    for step, rounder in steps.items():
        allowed = not unit or (step >= unit and abs(step / unit - round(step / unit)) < _NEAR * step / unit)
        if allowed and FEWEST_POINTS <= width / step + 1 <= most:
            yield step, rounder
