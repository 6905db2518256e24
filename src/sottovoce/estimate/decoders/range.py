"""`range`: clip values to the range of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class RangeDecoder(Decoder):
    """Each value is moved to the nearest possible one."""

    name: ClassVar[str] = "range"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE})

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(np.clip(evidence.values(), *evidence.limits))
