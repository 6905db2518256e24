"""The vectors of a ball on which a mechanism is tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import dimensions_of

Floats = NDArray[np.float64]


def ball_batch(channel: Channel, seed: int, count: int) -> Floats:
    """Vectors all over the ball, among them zero, an axis and one that is too long by rounding."""
    dimensions = dimensions_of(channel) or 0
    rng = np.random.default_rng([seed, dimensions])
    vectors = rng.normal(size=(count, dimensions))
    lengths = np.linspace(0.05, 1.0, count)
    vectors *= (lengths / np.linalg.norm(vectors, axis=1))[:, None]
    vectors[0] = 0.0
    if count > 2:
        vectors[1] = np.eye(1, dimensions)[0]
        vectors[2] *= (1 + 9e-7) / lengths[2]
    return vectors
