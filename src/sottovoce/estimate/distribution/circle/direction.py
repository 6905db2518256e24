"""The circular mean: the direction of the mean point of a circle, and the region of directions that reports allow.

A direction is refuted by the part of the mean point that is perpendicular to it. Where the mean point may be the centre
of the circle, every direction is possible, and the region is the whole circle.

Reference: Fieller, "Some problems in interval estimation", JRSS B 1954: the same for a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.linear_answers import AnswerEvidence
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Bounds, Floats, Functional, deviate, slack_deviate
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate

_STEPS = 721  # of a quarter of the circle, on which the end of an arc is searched
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class DirectionAnswer(AnswerEvidence):
    """The direction of the mean point of a circle, from its mean cosine and sine."""

    quality: ClassVar[str] = "the direction of an unbiased mean point"
    noun: ClassVar[str] = "circular mean"
    axes: ClassVar[Axes] = Axes.of("value", ("circular mean",))
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    source: DistributionEvidence
    question: Question
    sums = delegated("point")

    @property
    def period(self) -> float:
        """The length of the circle, in the units of the domain."""
        return float(self.source.edges[-1] - self.source.edges[0])

    @cached_property
    def point(self) -> ShareSums:
        """The mean cosine and sine."""
        return ShareSums(self.source, np.array(self.source.buckets.directions()))

    @property
    def _room(self) -> float:
        """How far the mean point may be off where answers are not spread evenly inside their buckets."""
        return self.source.buckets.room / self.period * 2 * math.pi

    def read(self, shares: Floats) -> Floats:
        cosine, sine = self.point.rows @ shares
        return np.array([math.atan2(sine, cosine) % (2 * math.pi) / (2 * math.pi) * self.period])

    def variances(self, target: Target) -> Floats:
        """By the delta method; at most the variance of a direction that is equally likely everywhere."""
        point = self.point.functional(target)
        cosine, sine = point.values
        slope = np.array([-sine, cosine]) / max(cosine**2 + sine**2, 1e-300) * self.period / (2 * math.pi)
        return np.array([min(float(slope @ point.covariance @ slope), self.period**2 / 12)])

    def interval(self, request: IntervalRequest) -> Bounds:
        """An arc, whose ends may lie beyond the period; or the whole circle, from 0 to the period."""
        point, level = self.point.functional(request.target), request.level
        guards = request.method == Method.GUARDED
        arc = self._box(point, level, request.target) if guards else _arc(point, level, self._room)
        if arc is None:
            return Bounds(np.zeros(1), np.array([self.period]))
        unit = self.period / (2 * math.pi)
        return Bounds(self.values() - unit * arc[0], self.values() + unit * arc[1])

    def _box(self, point: Functional, level: float, target: Target) -> tuple[float, float] | None:
        """The directions of all points whose cosine and sine lie in their guarded intervals."""
        if self.point.default != Method.GUARDED:
            return _arc(point, level, self._room)
        each = 1 - (1 - level) / 2
        half = slack_deviate(each, self._room, point.errors)
        bounds = Bounds(point.values - half, point.values + half)
        low, high = self.point.guarded(bounds, each, target, room=self._room)
        if (low <= 0).all() and (high >= 0).all():
            return None
        corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
        top = math.atan2(point.values[1], point.values[0])
        away = (np.arctan2(corners[:, 1], corners[:, 0]) - top + math.pi) % (2 * math.pi) - math.pi
        return -float(away.min()), float(away.max())

    def sentence(self, estimate: Estimate, level: float) -> str:
        (low,), (high,) = bounds = estimate.ci(level)
        start = (
            f"The estimate of their circular mean is {estimate.value:.6g} on a circle of {self.period:g}, with a"
            f" standard error of {estimate.std_errors[0]:.2g}"
        )
        if bounds.high[0] - bounds.low[0] >= self.period * (1 - 1e-9):
            return f"{start}. No direction can be told: the {level:.0%} interval is the whole circle."
        over = ", over the end of the circle" if low < 0 or high > self.period else ""
        return (
            f"{start} ({level:.0%} {estimate.default_method} interval from {low % self.period:.6g} to"
            f" {high % self.period:.6g}{over}, for the population)."
        )


def _arc(functional: Functional, level: float, room: float) -> tuple[float, float] | None:
    """How far the directions that are not refuted reach below and above that of the estimate; None for all of them.

    With the mean point y and its covariance C, direction t is refuted where the component of y perpendicular to t is
    larger than its error allows. The opposite direction has the same one: it is left out where the centre itself is
    refuted at the level, by the joint law of both coordinates. For normal coordinates this covers at least with the
    level: points that are refuted by their perpendicular part but not by the joint law, where the region is the whole
    circle, outweigh those whose direction is opposite.
    """
    point, covariance = functional.values, functional.covariance
    sizes, axes = np.linalg.eigh(covariance)
    roots = np.sqrt(np.maximum(sizes, 1e-300))
    far = float(np.linalg.norm(axes.T @ point / roots)) - room / float(roots[0])
    if far <= math.sqrt(-2 * math.log(1 - level)) or float(np.linalg.norm(point)) <= room:
        return None
    top, length = math.atan2(point[1], point[0]), float(np.linalg.norm(point))

    def excess(away: Floats) -> Floats:
        across = np.array([-np.sin(top + away), np.cos(top + away)])
        errors = np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", across, covariance, across), 0))
        half = deviate(level) * errors if not room else slack_deviate(level, room, errors)
        return np.asarray(length * np.abs(np.sin(away)) - half)

    return _end(excess, -1), _end(excess, 1)


def _end(excess: Callable[[Floats], Floats], side: int) -> float:
    """Where the directions on one side begin to be refuted; a right angle if none is."""
    steps = np.linspace(0, math.pi / 2, _STEPS)
    refuted = np.flatnonzero(excess(side * steps) > 0)
    if not len(refuted):
        return math.pi / 2
    low, high = steps[refuted[0] - 1], steps[refuted[0]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(np.array([side * middle]))[0] > 0 else (middle, high)
    return float(high)
