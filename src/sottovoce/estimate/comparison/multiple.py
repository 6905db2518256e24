"""P-values of many tests at once: family-wise error rate, or false discovery rate."""

from __future__ import annotations

import numpy as np

from sottovoce.core.params import reject
from sottovoce.estimate.evidence import Floats

CORRECTIONS = ("holm", "bonferroni", "fdr")


def check_correction(correction: str, owner: str) -> str:
    """One of the corrections."""
    if correction not in CORRECTIONS:
        raise reject("correction", owner, f"one of {', '.join(CORRECTIONS)}", correction)
    return correction


def adjust(p_values: Floats, correction: str) -> Floats:
    """Adjusted p-values.

    "holm" and "bonferroni": rejecting those below alpha has a family-wise error rate of at most alpha. "fdr"
    (Benjamini and Hochberg): it has a false discovery rate of at most alpha, for tests that are independent or
    positively dependent.
    """
    check_correction(correction, "adjust")
    count = len(p_values)
    if correction == "bonferroni":
        return np.minimum(p_values * count, 1.0)
    order = np.argsort(p_values)
    ranked = p_values[order]
    if correction == "holm":
        stepped = np.maximum.accumulate(ranked * np.arange(count, 0, -1))
    else:
        stepped = np.minimum.accumulate((ranked * count / np.arange(1, count + 1))[::-1])[::-1]
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
