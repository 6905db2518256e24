"""The nearest possible shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.estimate.decoder import Decoded
from sottovoce.estimate.decoders.normalise import NormaliseDecoder
from sottovoce.estimate.evidence import Evidence, Floats


def simplex(values: Floats) -> Floats:
    """The nearest point, in squared distance, with no negative share and sum one.

    Reference: Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient projections onto the l1-ball", ICML 2008. The optimum
    shifts all values by one constant and cuts at zero, which is also the result of Norm-Sub.
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(values - shift, 0))


@dataclass(frozen=True, slots=True)
class SimplexDecoder(NormaliseDecoder):
    """The projection onto shares that sum to one. Its own intervals are those of values that sum to one but may be
    negative, moved into [0, 1]."""

    name: ClassVar[str] = "simplex"

    def solve(self, evidence: Evidence) -> Decoded:
        return Decoded(simplex(evidence.values()))
