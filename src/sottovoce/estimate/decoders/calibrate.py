"""Calibrate: the posterior mean of each share, under a power law of all shares and normal noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Floats, Offer

CELLS = 400  # counts that are summed over one by one, and ranges of larger counts
EXPONENTS = (0.2, 6.0)  # of the power law


def calibrated(values: Floats, errors: Floats, n: int) -> tuple[Floats, float]:
    """The posterior means, and the exponent of the power law that makes the values likeliest.

    A count of k people has a prior probability proportional to (k + 1)**-exponent, for k from 0 to n.
    """
    single = np.arange(min(n, CELLS) + 1)  # counts by themselves, then ranges of counts
    ends = np.unique(np.geomspace(CELLS + 1, n + 1, CELLS + 1).astype(np.int64)) if n > CELLS else np.empty(0, np.int64)
    counts = np.concatenate([single, (ends[1:] + ends[:-1] - 1) / 2])
    sizes = np.concatenate([np.ones(len(single)), np.diff(ends)])
    middles = counts / n
    noise = -(((values[:, None] - middles) / errors[:, None]) ** 2) / 2

    def prior(exponent: float) -> Floats:
        weights = np.log(sizes) - exponent * np.log1p(counts)
        return np.asarray(weights - logsumexp(weights))

    found = minimize_scalar(
        lambda exponent: -float(logsumexp(noise + prior(exponent), axis=1).sum()), bounds=EXPONENTS, method="bounded"
    )
    posterior = noise + prior(float(found.x))
    posterior = np.exp(posterior - logsumexp(posterior, axis=1, keepdims=True))
    return np.asarray(posterior @ middles), float(found.x)


@dataclass(frozen=True, slots=True)
class CalibrateDecoder(Decoder):
    """Reference: Jia, Gong, "Calibrate: frequency estimation and heavy hitter identification with local differential
    privacy via incorporating prior knowledge", INFOCOM 2019. The exponent is that of largest marginal likelihood."""

    name: ClassVar[str] = "calibrate"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.NULL_ERRORS})

    def solve(self, evidence: Evidence) -> Decoded:
        people = int(np.sum(evidence.n))
        return Decoded(calibrated(evidence.values(), evidence.null_errors(), people)[0])
