"""The shares of largest likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.decoder import Decoded, Decoder, Own
from sottovoce.estimate.distribution.iterate import accelerated, iterate
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.frequency.information import free_maximum
from sottovoce.estimate.frequency.maximise import MAX_ITERATIONS, TOLERANCE, maximise
from sottovoce.estimate.request import Target


@dataclass(frozen=True, slots=True)
class EmDecoder(Decoder):
    """Shares whose log-likelihood per report is within `tolerance` of the largest; `fit.gap` bounds the difference
    (`estimate.frequency.maximise`). Its own intervals are those of the largest likelihood without the border of the
    simplex (`estimate.frequency.information`), moved into [0, 1].

    For a distribution it is EM that ends early, when the total log-likelihood changes by less than `stop`, by default
    by e**epsilon / 1000 (`estimate.distribution.iterate`); with a tolerance it is run to the largest likelihood.
    """

    name: ClassVar[str] = "em"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LIKELIHOOD})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "those of largest likelihood"
    owns: ClassVar[bool] = True
    tolerance: float | None = None
    max_iterations: int = MAX_ITERATIONS
    stop: float | None = None

    def __post_init__(self) -> None:
        tolerance, stop = self.tolerance, self.stop
        if tolerance is not None and (not _is_number(tolerance) or not 1e-12 <= tolerance < 1):
            raise reject("tolerance", "a likelihood decoder", "a number in [1e-12, 1)", tolerance)
        if stop is not None and (tolerance is not None or not _is_number(stop) or not stop > 0):
            raise reject("stop", "a likelihood decoder", "a number above 0, and is not for a tolerance", stop)
        check_integer("max_iterations", "a likelihood decoder", self.max_iterations, 0, 1 << 40)

    def solve(self, evidence: Evidence) -> Decoded:
        mixture, most = evidence.likelihood(), self.max_iterations
        stop = evidence.early_stop if self.stop is None else self.stop
        if self.tolerance is None and stop is not None:
            return Decoded(*iterate(mixture, stop=stop, smooth=False, max_iterations=most))
        tolerance = TOLERANCE if self.tolerance is None else self.tolerance
        find = maximise if evidence.early_stop is None else accelerated
        return Decoded(*find(mixture, tolerance=tolerance, max_iterations=most))

    def own(self, evidence: Evidence, target: Target) -> Own:
        mixture = evidence.likelihood()
        tolerance = TOLERANCE if self.tolerance is None else self.tolerance
        start, _ = maximise(mixture, tolerance=tolerance, max_iterations=self.max_iterations)
        shares, covariance = free_maximum(mixture, start)
        if target == Target.POPULATION:
            return Own(shares, covariance)
        sampling = np.diag(shares) - np.outer(shares, shares)
        return Own(shares, covariance - sampling / mixture.n)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
