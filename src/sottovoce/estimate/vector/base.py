"""Evidence about the mean of each coordinate of a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import NoCovarianceError
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Evidence

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

UNNAMED = Axes.of("coordinate", ())


class VectorEvidence(Evidence):
    """One mean for each coordinate; intervals one by one, or for all at once."""

    noun: ClassVar[str] = "mean of a coordinate"
    __slots__ = ()

    def covariance(self, target: str) -> NDArray[np.float64]:
        if len(self.values()) == 1:
            return self.variances(target).reshape(1, 1)
        raise NoCovarianceError("A tally of vectors counts each coordinate by itself, so their covariance is unknown.")

    def sentence(self, found: Estimate, level: float) -> str:
        return (
            f"The estimates of the means of {len(found.values)} coordinates are {found.quality}; the standard error of"
            f" one is about {np.median(found.std_errors):.2g}. Intervals hold for one coordinate at a time, with"
            " simultaneous=True for all at once."
        )
