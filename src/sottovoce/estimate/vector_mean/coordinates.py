"""The mean of each number of a box, from reports that are counted by coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from sottovoce.core.channel import Channel, Rounding, SampledCoordinates, Then, facets
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Flags, Floats, Ints, floats_of
from sottovoce.estimate.frequency.supports import clopper_pearson
from sottovoce.estimate.mean.moments import SLOPES, Profile, holds_every_code, profile
from sottovoce.estimate.mean.readings import numbers_at
from sottovoce.estimate.mean.single import hides_rare_answers
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.vector_mean.base import UNNAMED
from sottovoce.estimate.vector_mean.combine import VectorOfTally

_TRIED = 257  # slopes of the lines under which noise is bounded


@dataclass(frozen=True, slots=True, eq=False)
class CoordinatesEvidence(VectorOfTally):
    """Reports of each coordinate read as numbers, whose mean is that of the answers.

    A coordinate may have fewer reports than there are participants: each report contains randomly chosen coordinates.
    For the "sample" the missing answers add to the variance as well.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING)
    default: ClassVar[Method] = Method.NORMAL
    n: int
    counts: Ints  # reports of each coordinate
    means: Floats
    spreads: Floats  # sample variances of the readings
    noises: Floats  # of these, what privacy adds: an upper bound
    fourths: Floats  # mean fourth powers of the distance from the mean
    firsts: Floats  # the least possible readings
    reaches: Floats  # lengths of the ranges of possible readings
    lows: Floats  # of the answers
    highs: Floats
    least: float  # noise of one report, in squares of the range of the answers
    axes: Axes = UNNAMED
    question: Question | None = None

    def values(self) -> Floats:
        return self.means

    def contributions(self) -> Contributions:
        """A report is read in the coordinates that it contains, which those who choose their ids choose as well."""
        return Contributions(self.firsts, self.firsts + self.reaches, self.counts.astype(float))

    def variances(self, target: Target) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = np.where(self.counts > 0, self.spreads / self.counts, np.inf)
        if target == Target.POPULATION:
            return np.asarray(variances)
        return np.asarray(variances - np.maximum(self.spreads - self.noises, 0) / self.n)

    def normal(self, request: IntervalRequest) -> Bounds:
        """Intervals with Student's quantiles: a coordinate may have few reports, and simultaneous levels are high.

        The sample variance of n reports with kurtosis k is as well known as one of 2 n / (k - 1) normal numbers.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            known = 2 * self.counts / np.maximum(self.fourths / self.spreads**2 - 1, 1e-9)
        free = np.where(self.counts > 1, np.fmax(np.fmin(known, self.counts - 1), 1), np.inf)  # of one: a bound
        half = -stdtrit(free, (1 - request.level) / 2) * np.sqrt(self.variances(request.target))
        return Bounds(self.means - half, self.means + half)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        with np.errstate(divide="ignore"):
            half = self.reaches * np.sqrt(math.log(2 / (1 - request.level)) / (2 * self.counts))
        return Bounds(self.means - half, self.means + half)

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.lows, self.highs

    def normal_is_poor(self) -> Flags:
        with np.errstate(divide="ignore", invalid="ignore"):
            steady = self.counts * self.spreads**2 / self.fourths >= POOR_BELOW
        reach = np.maximum(self.highs - self.means, self.means - self.lows)
        rare = hides_rare_answers(self.spreads, self.counts, reach)
        return np.asarray(~steady | (self.spreads < self.least * (self.highs - self.lows) ** 2 / 2) | rare)

    def _doubt(self, poor: int) -> str:
        return (
            f"{poor} of {len(self.means)} coordinates: they have too few reports to know their own variance. The"
            " Hoeffding interval holds."
        )


class BitCoordinatesEvidence(CoordinatesEvidence):
    """Reports of one bit for each coordinate, whose limits are exact at every number of reports."""

    methods: ClassVar[tuple[Method, ...]] = (Method.EXACT, *CoordinatesEvidence.methods)
    default: ClassVar[Method] = Method.EXACT
    __slots__ = ()

    def other_interval(self, request: IntervalRequest) -> Bounds:
        if request.method != Method.EXACT:
            return CoordinatesEvidence.other_interval(self, request)
        ones = np.round((self.means - self.firsts) / self.reaches * self.counts)
        shares = clopper_pearson(np.where(self.counts > 0, ones, 0), self.counts, request.level)
        return Bounds(*(self.firsts + self.reaches * share for share in shares))


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> CoordinatesEvidence:
    """The evidence of cells."""
    channel, parts = mechanism.channel, mechanism.domain.coordinates
    counted = facets.need(channel, facets.Coordinates)
    scales, outputs = counted.part_scales(), counted.part_outputs
    if scales is None or parts is None:
        raise ParameterError(f"The reports of this {mechanism.name} are not read as numbers without bias.")
    ends = [*(scale.first for scale in scales[1:]), outputs]
    reads = numbers_at(list(scales), ends, np.arange(outputs))
    grids = counted.roundings
    middle = grids[0].steps / 2
    table = cells.reshape(len(parts), outputs).astype(np.float64)
    counts = cells.reshape(len(parts), outputs).sum(axis=1)
    away = reads - middle  # about the middle of the range there is no cancellation
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second, third, fourth = (table @ away**power / counts for power in (1, 2, 3, 4))
        inner = np.maximum(second - first**2, 0)
        fourths = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        spreads = np.where(counts > 1, inner * counts / (counts - 1), np.ptp(reads) ** 2 / 4)
    known = _profile(channel)
    between = not all(holds_every_code(part, grid) for part, grid in set(zip(parts, grids, strict=True)))
    noises = np.fmin(_noise(channel, second, between=between), spreads)
    lows, steps = ranges_of(grids, parts)
    room = BitCoordinatesEvidence if outputs == 2 else CoordinatesEvidence
    return room(
        n,
        counts,
        lows + steps * (middle + first),
        spreads * steps**2,
        noises * steps**2,
        np.maximum(fourths, 0) * steps**4,
        lows + steps * reads.min(),
        np.ptp(reads) * steps,
        lows,
        lows + steps * grids[0].steps,
        float(known.variances.min()) / grids[0].steps ** 2,
        Axes.of("coordinate", mechanism.domain),
        mechanism.question,
    )


def ranges_of(grids: Sequence[Rounding], parts: Sequence[Domain]) -> tuple[Floats, Floats]:
    """The least answer of each coordinate, and the step of its grid; most coordinates are alike."""
    known: dict[tuple[Rounding, Domain], tuple[float, float]] = {}
    for grid, part in set(zip(grids, parts, strict=True)):
        origin = part.numbers.origin if part.numbers is not None else Fraction(0)
        known[grid, part] = float(Fraction(grid.low) + origin), float(grid.step)
    lows, steps = zip(*(known[pair] for pair in zip(grids, parts, strict=True)), strict=True)
    return np.array(lows), np.array(steps)


def coordinates_apart(channel: Channel) -> SampledCoordinates | None:
    """The channel as one whose coordinates have noise of their own each; None for others."""
    return channel if isinstance(channel, SampledCoordinates) else None


@lru_cache(maxsize=16)
def _profile(channel: Channel) -> Profile:
    """Mean and variance of the reading at each point of a coordinate's grid, in steps."""
    counted = facets.need(channel, facets.Coordinates)
    steps = counted.roundings[0].steps
    apart = coordinates_apart(channel)
    if apart is not None:
        return profile(Then(Rounding(0, steps, steps), apart.inner))
    moments = [counted.part_moments(point) for point in range(steps + 1)]
    means = np.array([float(first) for first, _ in moments])
    return Profile(0.0, 1.0, means, np.array([float(second - first**2) for first, second in moments]))


@lru_cache(maxsize=16)
def _lines(channel: Channel, between: bool) -> tuple[Floats, Floats, tuple[float, float]]:
    """Lines above the variance as a function of the mean square about the middle: slopes and heights at zero.

    The range of the mean square of a coordinate comes last. Every line gives a bound, as in `Profile.noise`, so trying
    only some slopes is valid.
    """
    known = replace(_profile(channel), between=between)
    middle = facets.need(channel, facets.Coordinates).roundings[0].steps / 2
    squares = known.squares(middle)
    slopes = np.linspace(*SLOPES, _TRIED)
    heights = np.array([known.height(slope, middle) for slope in slopes.tolist()])
    return slopes, heights, (float(squares.min()), float(squares.max()))


def _noise(channel: Channel, squares: Floats, *, between: bool) -> Floats:
    """The largest mean variance of answers whose reports have these mean squares about the middle."""
    slopes, heights, ends = _lines(channel, between)
    held = np.clip(squares, *ends)
    return np.asarray((slopes[:, None] * held + heights[:, None]).min(axis=0))


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Any:
    """The variance of the mean of each coordinate for a given truth, with the expected number of its reports.

    A vector: all participants hold it. A prior, or one for each coordinate: answers are drawn from it.
    """
    channel, parts = mechanism.channel, mechanism.domain.coordinates or ()
    counted = facets.need(channel, facets.Coordinates)
    reports = n * counted.chosen / len(parts)
    known, grids = _profile(channel), counted.roundings
    lows, steps = ranges_of(grids, parts)
    beliefs = [truth] * len(parts) if isinstance(truth, Prior) else truth
    if isinstance(beliefs, (list, tuple)) and len(beliefs) == len(parts) and isinstance(beliefs[0], Prior):
        missed = 1 / reports if target == Target.POPULATION else 1 / reports - 1 / n
        alike = {}  # most coordinates have the same range and the same prior
        for belief, low, step in zip(beliefs, lows.tolist(), steps.tolist(), strict=True):
            key = id(belief), low, step
            if key not in alike:
                alike[key] = _average(known, belief, low, step) / reports + belief.variance * missed
        keys = zip(map(id, beliefs), lows.tolist(), steps.tolist(), strict=True)
        return np.array([alike[key] for key in keys])
    held = floats_of(truth)
    if held.shape != (len(parts),):
        raise reject("truth", "variance", f"a vector of {len(parts)} numbers, or priors", truth)
    return known.at(_places(held, lows, steps, grids[0].steps)) * steps**2 / reports


def _places(numbers: Floats, low: Any, step: Any, steps: int) -> Floats:
    """Grid positions of the numbers, in steps."""
    places = np.asarray((numbers - low) / step)
    if not ((places >= -1e-9) & (places <= steps + 1e-9)).all():
        raise reject("truth", "variance", "numbers of the domain", numbers)
    return places


def _average(known: Profile, belief: Prior, low: float, step: float) -> float:
    places = _places(np.asarray(belief.values), low, step, len(known.means) - 1)
    return float(np.dot(known.at(places), belief.weights)) * step**2
