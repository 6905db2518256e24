"""Evidence about the mean of each coordinate of a vector."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.errors import NoCovarianceError
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Evidence, Floats
from sottovoce.estimate.request import Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

UNNAMED = Axes.of("coordinate", ())


class VectorEvidence(Evidence):
    """One mean for each coordinate; intervals one by one, or for all at once."""

    noun: ClassVar[str] = "mean of a coordinate"
    __slots__ = ()

    def covariance(self, target: Target) -> Floats:
        if len(self.values()) == 1:
            return super().covariance(target)
        raise NoCovarianceError("A tally of vectors counts each coordinate by itself, so their covariance is unknown.")

    @abstractmethod
    def _doubt(self, poor: int) -> str:
        """The rest of the warning: the coordinates whose normal interval is poor, and why."""

    def warning(self) -> str | None:
        poor = int(self.normal_is_poor().sum())
        return f"The normal interval is poor for {self._doubt(poor)}" if poor else None

    def sentence(self, estimate: Estimate, level: float) -> str:
        return (
            f"The estimates of the means of {len(estimate.values)} coordinates are {estimate.quality}; the standard"
            f" error of one is about {np.median(estimate.std_errors):.2g}. Intervals hold for one coordinate at a time,"
            " with simultaneous=True for all at once."
        )
