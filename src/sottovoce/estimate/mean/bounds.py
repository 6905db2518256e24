"""Bounds of the error of the mean of bounded readings, valid at every n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def hoeffding(reach: float, n: int, level: float) -> float:
    """Half the width from the range of readings alone; two sides, so log(2 / alpha) (METHODS, erratum 7)."""
    return reach * math.sqrt(math.log(2 / (1 - level)) / (2 * n))


def bernstein(reach: float, spread: Any, n: int, level: float) -> Any:
    """Half the width from range and sample variance, by Theorem 11 of Maurer and Pontil for each side.

    It is for independent readings, whether or not they have the same law; so it holds for both targets.
    Reference: Maurer, Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009.
    """
    if n < 2:
        return reach
    confidence = math.log(2 / ((1 - level) / 2))
    return np.sqrt(2 * spread * confidence / n) + 7 * reach * confidence / (3 * (n - 1))
