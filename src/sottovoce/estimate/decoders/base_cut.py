"""Base-Cut: keep only values that are significantly above zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Floats, Offer

CUT = 0.05  # probability that any code of share zero is kept (Bonferroni, normal approximation)


def base_cut(values: Floats, null_errors: Floats) -> Floats:
    """Values that are significantly above zero stay as they are, others become zero; the sum is free.

    The threshold is the normal quantile of level 1 - 0.05/k times the standard error at share zero.
    """
    threshold = -ndtri(CUT / len(values)) * null_errors
    return np.where(values > threshold, values, 0.0)


@dataclass(frozen=True, slots=True)
class BaseCutDecoder(Decoder):
    """Reference: Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency estimation with
    consistency", NDSS 2020."""

    name: ClassVar[str] = "base-cut"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.NULL_ERRORS})

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(base_cut(evidence.values(), evidence.null_errors()))
