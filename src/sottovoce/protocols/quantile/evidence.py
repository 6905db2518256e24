"""What answers about thresholds say about quantiles: values, and two kinds of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sottovoce.core.question import Quantile
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.protocols.quantile.answers import ThresholdAnswers
from sottovoce.protocols.quantile.curve import ThresholdCurve
from sottovoce.protocols.quantile.ordered import likely_places
from sottovoce.protocols.quantile.sequence import sequence


@dataclass(frozen=True, eq=False)
class ThresholdQuantiles(Evidence):
    """Quantiles of the curve through all answers about thresholds.

    Method "likelihood" holds the places between thresholds that the likelihood of rising shares does not rule out,
    whatever the distribution. Method "anytime" holds after every answer at once: a confidence sequence.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.LIKELIHOOD, Method.ANYTIME)
    default: ClassVar[Method] = Method.LIKELIHOOD
    noun: ClassVar[str] = "quantile"
    quality: ClassVar[str] = "that of largest likelihood"
    rounds: tuple[ThresholdAnswers, ...]
    question: Quantile

    @cached_property
    def together(self) -> ThresholdAnswers:
        """The answers of all rounds."""
        return ThresholdAnswers.together(self.rounds)

    @cached_property
    def curve(self) -> ThresholdCurve:
        """The distribution function."""
        return ThresholdCurve.of(self.together)

    @property
    def n(self) -> int:
        return self.together.n

    @property
    def levels(self) -> list[float]:
        """The shares whose quantiles are asked for."""
        return [float(share) for share in self.question.shares]

    @property
    def axes(self) -> Axes:
        return Axes.of("quantile", [f"{level:g}" for level in self.levels])

    @property
    def ends(self) -> tuple[float, float]:
        low, high = self.together.ends
        return low, high - (self.together.spacing or 0.0)

    def values(self) -> Floats:
        return self._as_answers(np.array([self.curve.place(level) for level in self.levels]))

    def variances(self, target: Target) -> Floats:
        """Squares of half the distance between the places one standard error below and above."""
        errors = [self.curve.error(level) for level in self.levels]
        sides = [
            [self.curve.place(min(max(level + sign * error, 0), 1)) for sign in (-1, 1)]
            for level, error in zip(self.levels, errors, strict=True)
        ]
        return np.asarray((np.diff(sides, axis=1)[:, 0] / 2) ** 2)

    def interval(self, request: IntervalRequest) -> Bounds:
        one = request.single(len(self.levels))
        find = self._likely if request.method == Method.LIKELIHOOD else self._ever
        ends = self._as_answers(np.array([find(level, one.level) for level in self.levels]))
        values = self.values()
        return Bounds(np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values))

    def _ever(self, level: float, confidence: float) -> tuple[float, float]:
        return sequence(self.rounds, level, 1 - confidence)

    def _likely(self, level: float, confidence: float) -> tuple[float, float]:
        return likely_places(self.together, level, confidence)

    def _as_answers(self, places: Floats) -> Floats:
        """Possible answers at these places."""
        spacing, (low, high) = self.together.spacing, self.ends
        if spacing is None:
            return places
        return np.clip(low + np.floor((places - low) / spacing + 1e-9) * spacing, low, high)

    def normal_is_poor(self) -> Flags:
        return np.zeros(len(self.levels), bool)

    def warning(self) -> str | None:
        return None

    def sentence(self, estimate: Estimate, level: float) -> str:
        low, high = estimate.ci(level)
        said = (
            f"{share:g}: {value:.6g} ({a:.6g} to {b:.6g})"
            for share, value, a, b in zip(self.levels, estimate.values, low, high, strict=True)
        )
        return (
            f"Each of {self.n} participants was asked about one threshold. Quantiles with {level:.0%}"
            f" {estimate.default_method} intervals: {'; '.join(said)}."
        )
