"""Norm: add one constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.estimate.decoder import Decoded, Decoder, Own
from sottovoce.estimate.evidence import Evidence, Floats, Offer
from sottovoce.estimate.request import Target


def normalise(values: Floats) -> Floats:
    """Add one constant so that the sum is one: the nearest point with that sum. Values may stay negative."""
    return np.asarray(values + (1 - values.sum()) / len(values))


@dataclass(frozen=True, slots=True)
class NormaliseDecoder(Decoder):
    """Norm of Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency estimation with
    consistency", NDSS 2020."""

    name: ClassVar[str] = "normalise"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES})
    owns: ClassVar[bool] = True

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(normalise(evidence.values()))

    def own(self, evidence: Evidence, target: Target) -> Own:
        """Values that sum to one are linear in the unbiased ones, so their covariance is known."""
        covariance = evidence.covariance(target)
        moved = covariance - covariance.mean(axis=0)
        return Own(normalise(evidence.values()), np.asarray(moved - moved.mean(axis=1, keepdims=True)))
