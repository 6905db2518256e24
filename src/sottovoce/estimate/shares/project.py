"""Projections of an unbiased estimate, asked for by name.

Reference for all but the simplex: Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency
estimation with consistency", NDSS 2020; their names are kept ("normalise" is their Norm).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.shares.contrasts import ContrastsEvidence
from sottovoce.estimate.shares.matrix import MatrixEvidence
from sottovoce.estimate.shares.supports import SupportsEvidence

Floats = NDArray[np.float64]
CUT = 0.05  # probability that base-cut keeps any of the codes nobody holds (Bonferroni, normal approximation)


def simplex(values: Floats) -> Floats:
    """The nearest point, in squared distance, with no negative share and sum one.

    Reference: Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient projections onto the l1-ball", ICML 2008. The optimum
    shifts all values by one constant and cuts at zero, which is what Norm-Sub ends with: the two are one function.
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    return np.maximum(values - shift, 0)


def normalise(values: Floats) -> Floats:
    """Add one constant so that the sum is one: the nearest point with that sum. Values may stay negative."""
    return np.asarray(values + (1 - values.sum()) / len(values))


def norm_mul(values: Floats) -> Floats:
    """Negative values become zero, the others are scaled to sum one; equal shares where no value is positive."""
    positive = np.maximum(values, 0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(values), 1 / len(values))


def base_cut(values: Floats, null_errors: Floats) -> Floats:
    """Values that a code nobody holds would hardly reach stay as they are, others become zero; the sum is free.

    The threshold is the normal quantile of level 1 - 0.05/k times the standard error at share zero.
    """
    threshold = -ndtri(CUT / len(values)) * null_errors
    return np.where(values > threshold, values, 0.0)


def null_errors(evidence: Evidence) -> Floats:
    """The standard error of each share, were it zero.

    It follows from the rates alone where reports support codes; elsewhere the other codes matter, and they enter
    through the observed counts.
    """
    if isinstance(evidence, SupportsEvidence):
        own, other = np.asarray(evidence.own), np.asarray(evidence.other)
        each = np.broadcast_to(other * (1 - other) / (own - other) ** 2, evidence.counts.shape)
    elif isinstance(evidence, ContrastsEvidence):
        each = evidence.hits / evidence.n / evidence.slope**2
    elif isinstance(evidence, MatrixEvidence):
        each = evidence.inverse**2 @ (evidence.cells / evidence.n)
    else:
        raise ParameterError("The base-cut projection needs a standard error at share zero; this estimate has none.")
    return np.asarray(np.sqrt(each / evidence.n))


def _of_values(function: Callable[[Floats], Floats]) -> Callable[[Evidence], Floats]:
    return lambda evidence: function(evidence.values())


PROJECTIONS: dict[str, Callable[[Evidence], Floats]] = {
    "simplex": _of_values(simplex),
    "norm-sub": _of_values(simplex),
    "norm-mul": _of_values(norm_mul),
    "normalise": _of_values(normalise),
    "base-cut": lambda evidence: base_cut(evidence.values(), null_errors(evidence)),
}


def project(name: str, evidence: Evidence) -> Floats:
    """The projection of this name of the unbiased shares."""
    if name not in PROJECTIONS:
        raise ParameterError(f"There is no such projection. Known: {', '.join(PROJECTIONS)}.")
    return PROJECTIONS[name](evidence)
