"""Projections of an unbiased estimate, asked for by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError

Floats = NDArray[np.float64]


def simplex(values: Floats) -> Floats:
    """The nearest point, in squared distance, with no negative share and sum one."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    return np.maximum(values - shift, 0)


PROJECTIONS: dict[str, Callable[[Floats], Floats]] = {"simplex": simplex}


def project(name: str, values: Floats) -> Floats:
    """The projection of this name."""
    if name not in PROJECTIONS:
        raise ParameterError(f"There is no projection named {name!r}. Known: {', '.join(PROJECTIONS)}.")
    return PROJECTIONS[name](values)
