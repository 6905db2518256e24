"""Many vectors of a ball to the floats that kernels read: one row each, in units of the radius."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.ball import LEAST, TOLERANCE, Ball
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import one_by_one, refuse

Floats = NDArray[np.float64]


def ball_codes(domain: Ball, values: Any) -> Floats:
    """A row for each vector; if any lies outside, none is encoded and the error says how many and which first."""
    if isinstance(values, np.ma.MaskedArray):
        raise DomainError("Answers come without empty cells; this array has a mask.", domain=domain)
    array = values.to_numpy() if hasattr(values, "to_numpy") and getattr(values, "ndim", 0) == 2 else values
    if isinstance(array, np.ndarray) and array.dtype.kind in "iuf" and array.dtype.itemsize <= 8:
        return _rows(domain, array)
    if isinstance(array, (str, bytes)) or not hasattr(array, "__iter__"):
        raise DomainError("Answers come as a list of vectors, not as one value.", domain=domain)
    listed = list(array)
    return np.array(one_by_one(domain, listed), np.float64).reshape(len(listed), domain.dimensions)


def _rows(domain: Ball, array: NDArray[Any]) -> Floats:
    if array.ndim != 2 or array.shape[1] != domain.dimensions:
        raise DomainError(
            f"Answers come as rows of {domain.dimensions} numbers. Got an array of shape {array.shape}.",
            domain=domain,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        codes = array.astype(np.float64) / float(domain.radius)
        lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes))
        refuse(domain, array, ~(lengths <= 1 + TOLERANCE))
    codes[np.abs(codes) < LEAST] = 0.0
    return codes
