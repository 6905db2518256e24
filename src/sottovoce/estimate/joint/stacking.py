"""Stacking: the mixture of several models that predicts reports best which none of them has seen."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sottovoce.estimate.evidence import Floats

_RIDGE = 1e-9  # of the trace: models may be equal


def weights(products: Floats, agreement: Floats) -> Floats:
    """The non-negative weights that sum to one with the least w'Gw - 2h'w, where G = `products`, h = `agreement`.

    There are few models, so that the minimum on every face of the simplex is computed; the least one that lies inside
    its face is the answer.
    """
    count = len(agreement)
    gram = products + _RIDGE * np.trace(products) * np.eye(count)
    best, weights = np.inf, np.zeros(count)
    for size in range(1, count + 1):
        for face in map(list, combinations(range(count), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = gram[np.ix_(face, face)]
            system[size, size] = 0
            inner = np.linalg.solve(system, np.append(agreement[face], 1.0))[:size]
            value = float(inner @ gram[np.ix_(face, face)] @ inner - 2 * agreement[face] @ inner)
            if inner.min() >= 0 and value < best:
                best, weights = value, np.zeros(count)
                weights[face] = inner
    return weights
