"""Shares over a grid that are smooth on the scale of logarithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.estimate.boxes.smooth import fitted, noise_of
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class GridPriorDecoder(Decoder):
    """The likeliest shares over a grid, where logarithms of shares are a smooth Gaussian process.

    The cosine coefficients of the logarithms have standard deviations of `spread` over their frequency. So neighbouring
    cells differ by a factor, and a few cells may hold nearly everybody. `steps` limits the quasi-Newton method.
    """

    name: ClassVar[str] = "grid-prior"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.GRID, Offer.ALL_SHARES})
    kind: ClassVar[str] = "fitted"
    projects: ClassVar[bool] = False
    spread: float = 1.5
    steps: int = 600

    def solve(self, evidence: Evidence) -> Decoded:
        grid: Any = evidence  # offers a grid: the shape of its cells, and a transition around their circle
        noise = noise_of(grid.transition, grid.buckets.shape, evidence.n)
        return Decoded(fitted(evidence.values(), noise, self.spread, self.steps))
