"""The shares of largest likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.decoder import Decoded, Decoder, Own
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.shares.information import free_maximum
from sottovoce.estimate.shares.maximise import MAX_ITERATIONS, TOLERANCE, maximise


@dataclass(frozen=True, slots=True)
class EmDecoder(Decoder):
    """Shares whose log-likelihood per report is within `tolerance` of the largest; `fit.gap` bounds the difference
    (`estimate.shares.maximise`). Its own intervals are those of the largest likelihood without the border of the
    simplex (`estimate.shares.information`), moved into [0, 1]."""

    name: ClassVar[str] = "em"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LIKELIHOOD})
    projects: ClassVar[bool] = False
    owns: ClassVar[bool] = True
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    def __post_init__(self) -> None:
        given = self.tolerance
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 1e-12 <= given < 1:
            raise reject("tolerance", "a likelihood decoder", "a number in [1e-12, 1)", given)
        check_integer("max_iterations", "a likelihood decoder", self.max_iterations, 0, 1 << 40)

    def decode(self, evidence: Evidence) -> Decoded:
        return Decoded(*maximise(evidence.likelihood(), tolerance=self.tolerance, max_iterations=self.max_iterations))

    def own(self, evidence: Evidence, target: str) -> Own:
        mixture = evidence.likelihood()
        start, _ = maximise(mixture, tolerance=self.tolerance, max_iterations=self.max_iterations)
        shares, covariance = free_maximum(mixture, start)
        if target == "population":
            return Own(shares, covariance)
        sampling = np.diag(shares) - np.outer(shares, shares)
        return Own(shares, covariance - sampling / mixture.n)

    def quality(self, evidence: Evidence) -> str:
        return f"those of largest likelihood ({self.name})"
