"""Whether several tallies are about the same population: Cochran's Q."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import chdtrc

from sottovoce.estimate.evidence import Evidence, Floats
from sottovoce.estimate.request import Target


def of_parts(parts: Iterable[Evidence]) -> float:
    """P-value of the hypothesis that all parts have the same values."""
    values, variances = zip(*((part.values(), part.variances(Target.POPULATION)) for part in parts), strict=True)
    return p_value(np.stack(values), np.stack(variances))


def p_value(values: Floats, variances: Floats) -> float:
    """P-value of the hypothesis that all parts have the same values; both arguments are [part, value].

    The result is the smallest p-value of a value, times the number of values (Bonferroni).
    """
    if len(values) == 1:
        return 1.0
    if not (variances > 0).all():
        return float((np.ptp(values, axis=0) == 0).all())  # the readings do not vary
    precision = 1 / variances
    centre = (precision * values).sum(axis=0) / precision.sum(axis=0)
    tails = chdtrc(len(values) - 1, (precision * (values - centre) ** 2).sum(axis=0))
    return float(min(1.0, values.shape[1] * tails.min()))
