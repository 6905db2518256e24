"""Shares over a grid that are smooth where the reports say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.estimate.boxes.smooth import fitted, noise_of, precisions
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class GridPriorDecoder(Decoder):
    """Non-negative least squares over a grid with a Gaussian prior, whose scales are estimated from the reports.

    Coefficients of the cosine transform share one variance within each octave along each axis. A first fit without a
    prior says how large they are; none is taken to be smaller than `least` of the noise.
    """

    name: ClassVar[str] = "grid-prior"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.GRID, Offer.ALL_SHARES})
    kind: ClassVar[str] = "fitted"
    projects: ClassVar[bool] = False
    least: float = 2e-5
    steps: int = 200

    def solve(self, evidence: Evidence) -> Decoded:
        grid: Any = evidence  # offers a grid: the shape of its cells, and a transition around their circle
        noise, values = noise_of(grid.transition, grid.buckets.shape, evidence.n), evidence.values()
        first = fitted(values, noise, np.zeros(noise.shape), simplex(values), self.steps)
        return Decoded(fitted(values, noise, precisions(first, noise, least=self.least), first, self.steps))
