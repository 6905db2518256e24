"""The mean of Gaussian answers, with intervals: from the side of one threshold, or from the likelihood of many arms."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from sottovoce.core.channel.shapes import support_rates
from sottovoce.core.declared import delegated
from sottovoce.core.domain import Above, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean, Variance
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import MOST_EXCESS, POOR_BELOW, Bounds, Evidence, Flags, Floats, deviate
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.estimate.gaussian.shape import Shape, shape_of
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.sources import EstimateSource, sources_of
from sottovoce.tally.tally import Tally

_FARTHEST = 4.0  # normal half-widths, within which the end of a likelihood interval is searched
_STEPS = 33
_ACROSS = np.linspace(-3, 3, 13)  # deviations of the log deviation, among which it is chosen for a given mean


class GaussianEvidence(Evidence):
    """Evidence about one parameter of the population; the sample has no model."""

    noun: ClassVar[str] = "mean"
    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> Shape | None:
        """What the reports tell about the shape of the law of the answers, if they tell any."""

    def sentence(self, estimate: Estimate, level: float) -> str:
        (low,), (high,) = estimate.quiet_ci(level)
        (name,), (bottom, ceiling) = self.labels, self.limits
        doubt = estimate.doubt(level)
        return (
            f"Assuming normally distributed answers, the {name} of the population is {estimate.value:.6g} on a scale"
            f" from {bottom:g} to {ceiling:g}, with a standard error of {estimate.std_errors[0]:.2g} ({level:.0%}"
            f" {estimate.default_method} interval from {low:.6g} to {high:.6g}).{'' if doubt is None else ' ' + doubt}"
        )

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return Evidence.doubt(self, request, most) if self.shape is None else self.shape.sentence()

    def check(self, target: Target) -> None:
        """Refuse the sample: the model is about the population."""
        if target != Target.POPULATION:
            raise ParameterError(
                "Gaussian estimates are about the population only; the target 'sample' is not available."
            )


@dataclass(frozen=True, slots=True, eq=False)
class GaussianSideEvidence(GaussianEvidence):
    """How many reports say that the answer is above a threshold: that share is Phi((mean - threshold) / deviation).

    Limits of the share are limits of the mean for every threshold; if the share may be one or zero, the interval
    reaches to the end of the domain.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.EXACT, Method.WILSON, Method.NORMAL)
    default: ClassVar[Method] = Method.EXACT
    axes: ClassVar[Axes] = Axes.of("value", ("mean",))
    share: SupportsEvidence
    threshold: float
    deviation: float
    ends: tuple[float, float]
    shape: Shape | None = None
    n = delegated("share.n")

    def _mean(self, share: Floats) -> Floats:
        """The mean for a share above the threshold; the ends of the domain for shares of zero and one."""
        return np.asarray(np.clip(self.threshold + self.deviation * ndtri(np.clip(share, 0, 1)), *self.ends))

    def values(self) -> Floats:
        return self._mean(self.share.values())

    def variances(self, target: Target) -> Floats:
        self.check(target)
        steep = np.exp(-(((self.values() - self.threshold) / self.deviation) ** 2) / 2) / math.sqrt(2 * math.pi)
        with np.errstate(divide="ignore"):
            return np.asarray(self.share.variances(target) * (self.deviation / steep) ** 2)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        self.check(request.target)
        return Bounds(*map(self._mean, self.share.interval(request)))

    def normal_is_poor(self) -> Flags:
        far = np.abs(self.values() - self.threshold) > 2 * self.deviation
        return np.asarray(far | (self.n < POOR_BELOW))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        known = GaussianEvidence.doubt(self, request, most)
        return self.share.doubt(request, most) if known is None and request.method == Method.WILSON else known

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return "The normal interval is poor because nearly all answers lie on one side. The exact interval holds."


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFitEvidence(GaussianEvidence):
    """Mean and deviation of the largest likelihood; it is about one of the two."""

    methods: ClassVar[tuple[Method, ...]] = (Method.LIKELIHOOD, Method.NORMAL)
    default: ClassVar[Method] = Method.LIKELIHOOD
    model: Likelihood
    mean: float
    deviation: float
    ends: tuple[float, float]
    about: str = "mean"
    n = delegated("model.n")

    @property
    def shape(self) -> Shape:
        return shape_of(self.model, self.mean, self.deviation)

    def values(self) -> Floats:
        return np.array([self.mean if self.about == "mean" else self.deviation])

    def variances(self, target: Target) -> Floats:
        self.check(target)
        matrix = self._covariance
        return np.array([matrix[0, 0] if self.about == "mean" else matrix[1, 1] * self.deviation**2])

    @property
    def _covariance(self) -> Floats:
        """The covariance of the estimates of mean and log deviation."""
        return self.model.variance(self.mean, self.deviation)

    def interval(self, request: IntervalRequest) -> Bounds:
        self.check(request.target)
        if self.about == "deviation":  # on the scale of its logarithm, whichever method
            wide = math.sqrt(self._covariance[1, 1]) * deviate(request.level)
            ends = np.array([self.deviation * math.exp(-wide), self.deviation * math.exp(min(wide, 700))])
            return Bounds(*(np.array([end]) for end in np.clip(ends, *self.ends)))
        if request.method == Method.NORMAL:
            return self.normal(request)
        return Bounds(*(np.array([self._end(request.level, side)]) for side in (-1, 1)))

    def _end(self, level: float, side: int) -> float:
        """Where the profile likelihood of the mean has fallen to the bound of a level."""
        (variance, mixed), (_, log_variance) = self._covariance
        if not math.isfinite(variance):
            return self.ends[0 if side < 0 else 1]
        half = deviate(level) * math.sqrt(variance)
        away = side * half * np.linspace(0, _FARTHEST, _STEPS)
        ways = np.zeros((1, 1))
        if self.model.known is None:
            # Along the ridge, the log deviation is expected where the normal approximation has it.
            spread = math.sqrt(log_variance - mixed**2 / variance)
            ways = (away * mixed / variance)[:, None] + spread * _ACROSS
        heights = self.model.log(self.mean + away[:, None], self.deviation * np.exp(ways)).max(axis=1)
        fallen = heights.max() - heights
        beyond = np.flatnonzero(fallen > deviate(level) ** 2 / 2)
        if not len(beyond):
            return self.ends[0 if side < 0 else 1]
        first = max(int(beyond[0]), 1)
        # The square root of the fall is nearly linear, so interpolation between two steps is accurate enough.
        before, after = np.sqrt(fallen[first - 1]), np.sqrt(fallen[first])
        part = (deviate(level) / math.sqrt(2) - before) / (after - before)
        return float(np.clip(self.mean + away[first - 1] + part * (away[first] - away[first - 1]), *self.ends))

    @property
    def axes(self) -> Axes:
        return Axes.of("value", (self.about,))

    def normal_is_poor(self) -> Flags:
        return np.array([not math.sqrt(self._covariance[0, 0]) < self.deviation])

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return "The normal interval is poor: reports are too few to estimate the mean to within one deviation."


def from_side(
    mechanism: Mechanism, tally: Tally, deviation: float, domain: Interval, every: Likelihood | None = None
) -> Estimate:
    """The mean from reports about one threshold, with a known deviation; all reports tell the shape."""
    view, rates = mechanism.domain, support_rates(mechanism.channel, 1)
    if not isinstance(view, Above) or rates is None:
        raise ParameterError("The mean needs reports about the side of a threshold.")
    share = SupportsEvidence(np.asarray(tally.cells[1:2], np.int64), tally.n, float(rates.own), float(rates.other))
    shape = None
    if every is not None:
        shape = shape_of(every, *every.climb(float(view.threshold), deviation, (deviation, deviation)))
    ends = float(domain.low), float(domain.high)
    evidence = GaussianSideEvidence(share, float(view.threshold), deviation, ends, shape)
    return Estimate.of(Mean(domain), evidence, sources_of([tally]))


def fitted(
    likelihood: Likelihood,
    top: tuple[float, float],
    domain: Interval,
    deviations: tuple[float, float] | None = None,
) -> dict[str, Estimate]:
    """Estimates at the top of a likelihood: the mean, and the deviation if it was between two limits."""
    mean, deviation = min(max(top[0], float(domain.low)), float(domain.high)), top[1]
    sources = [EstimateSource(part.mechanism, int(part.cells.sum())) for part in likelihood.parts]
    ends = float(domain.low), float(domain.high)
    estimates = {"mean": Estimate.of(Mean(domain), GaussianFitEvidence(likelihood, mean, deviation, ends), sources)}
    if deviations is not None:
        spread = GaussianFitEvidence(likelihood, mean, deviation, deviations, "deviation")
        estimates["deviation"] = Estimate.of(Variance(domain), spread, sources)
    return estimates
