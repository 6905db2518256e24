"""Whether several tallies are about the same population: Cochran's Q."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from sottovoce.estimate.evidence import Floats


def p_value(values: Floats, variances: Floats) -> float:
    """P-value of the hypothesis that all parts have the same values; both arguments are [part, value].

    It is the smallest p-value of a value, times the number of values (Bonferroni).
    """
    if len(values) == 1:
        return 1.0
    if not (variances > 0).all():
        return float((np.ptp(values, axis=0) == 0).all())  # the readings do not vary
    precision = 1 / variances
    centre = (precision * values).sum(axis=0) / precision.sum(axis=0)
    tails = chdtrc(len(values) - 1, (precision * (values - centre) ** 2).sum(axis=0))
    return float(min(1.0, values.shape[1] * tails.min()))
