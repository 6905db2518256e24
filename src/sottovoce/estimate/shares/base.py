"""What is known of the share of each code, whatever the shape of the law."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence

Floats = NDArray[np.float64]


class SharesEvidence(Evidence):
    """What is known of the share of each code.

    Standard errors are those of the law at the nearest share in [0, 1], so that a code without any support has one too.
    """

    methods: ClassVar[tuple[str, ...]] = ("exact", "wilson", "normal", "bounded")
    default: ClassVar[str] = "exact"
    __slots__ = ()

    @abstractmethod
    def exact(self, level: float, target: str) -> Bounds:
        """Intervals whose coverage is at least the level for every n."""

    @abstractmethod
    def wilson(self, level: float) -> Bounds:
        """Score intervals for the population."""

    @abstractmethod
    def excess(self, method: str, level: float) -> Floats:
        """How many times as often as promised the Wilson or normal interval of each code may miss."""

    @abstractmethod
    def moved(self) -> tuple[Self, Self]:
        """The same evidence with estimates below 0 raised to 0, and with those above 1 lowered to 1."""

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "bounded":
            return self.inside(level, "exact", target)
        if method == "wilson" and target == "sample":
            raise ParameterError("The Wilson interval is about the population; for the sample ask for 'exact'.")
        if method == "exact":
            return self.exact(level, target)
        return self.wilson(level) if method == "wilson" else self.normal(level, target)

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """Intervals in [0, 1] that are never empty and contain the estimate, moved into [0, 1].

        The upper end is that of an estimate of at least 0, the lower end that of one of at most 1. Both ends rise with
        the estimate, so the interval contains all shares of the one that is not moved, and covers as often or oftener.
        """
        if method == "bounded":
            method = "exact"
        raised, lowered = self.moved()
        nearest = np.clip(self.values(), 0, 1)
        low, high = (
            lowered.interval(level, method, target).low,
            raised.interval(level, method, target).high,
        )
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    def labels(self, domain: Domain) -> Sequence[object]:
        return domain.labels()

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def project(self, name: str) -> Floats:
        projected: Floats = late.load("estimate.shares.project:project")(name, self)
        return projected

    def warning(self) -> str | None:
        poor = self.normal_is_poor()
        if not poor.any():
            return None
        return (
            f"The normal interval is poor for {int(poor.sum())} of {len(poor)} values: too few reports are expected"
            " on one side. The exact interval holds."
        )

    def doubt(self, method: str, level: float) -> str | None:
        if method not in ("wilson", "normal"):
            return None
        excess = self.excess(method, level)
        poor = excess > MOST_EXCESS
        if not poor.any():
            return self.warning() if method == "normal" else None
        name = "Wilson" if method == "wilson" else method
        return (
            f"The {name} interval of level {level:.8g} is poor for {int(poor.sum())} of {len(poor)} values: too few"
            f" reports are expected on one side, and it may miss {excess.max():,.1f} times as often as promised."
            " The exact interval holds."
        )
