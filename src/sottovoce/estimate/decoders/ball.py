"""`ball`: shorten a mean vector to the ball of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class BallDecoder(Decoder):
    """The vector, shortened to the radius if it is longer."""

    name: ClassVar[str] = "ball"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.BALL})

    def solve(self, evidence: Evidence) -> Decoded:
        means, (_, radius) = evidence.values(), evidence.limits
        return Decoded(means * min(1.0, radius / max(float(np.linalg.norm(means)), 1e-300)))
