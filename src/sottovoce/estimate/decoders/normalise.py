"""Norm: add one constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer

Floats = NDArray[np.float64]


def normalise(values: Floats) -> Floats:
    """Add one constant so that the sum is one: the nearest point with that sum. Values may stay negative."""
    return np.asarray(values + (1 - values.sum()) / len(values))


@dataclass(frozen=True, slots=True)
class NormaliseDecoder(Decoder):
    """Norm of Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency estimation with
    consistency", NDSS 2020."""

    name: ClassVar[str] = "normalise"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES})

    def decode(self, evidence: Evidence) -> Decoded:
        return Decoded(normalise(evidence.values()))
