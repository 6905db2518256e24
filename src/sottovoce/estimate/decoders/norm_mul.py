"""Norm-Mul: cut at zero, then scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Floats, Offer


def norm_mul(values: Floats) -> Floats:
    """Negative values become zero, the others are scaled to sum one; equal shares if no value is positive."""
    positive = np.maximum(values, 0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(values), 1 / len(values))


@dataclass(frozen=True, slots=True)
class NormMulDecoder(Decoder):
    """Reference: Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency estimation with
    consistency", NDSS 2020."""

    name: ClassVar[str] = "norm-mul"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES})

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(norm_mul(evidence.values()))
