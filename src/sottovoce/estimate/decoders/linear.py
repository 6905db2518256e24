"""The unbiased readings themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence


@dataclass(frozen=True, slots=True)
class LinearDecoder(Decoder):
    """Linear, and unbiased if possible; the default."""

    name: ClassVar[str] = "linear"
    moves: ClassVar[bool] = False

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(evidence.values())

    def quality(self, evidence: Evidence) -> str:
        return evidence.quality
