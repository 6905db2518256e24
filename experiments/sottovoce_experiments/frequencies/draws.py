"""Estimates of many tallies that are drawn from the law of their counts."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Bits
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.decoder import Decoder
from sottovoce.estimate.frequency.maximise import NotConvergedWarning
from sottovoce.tally.counts import BY_CELL, simulate_cells
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def decoded(mechanism: Mechanism, held: Ints, decoder: str | Decoder, *, runs: int, seed: int) -> Floats:
    """The values of a decoder, one row for each tally of this crowd.

    Counts of supports whose joint law has no short form (hashing, subsets) are drawn one by one, each from its own law.
    """
    joint = not isinstance(mechanism.statistic, BY_CELL) or isinstance(mechanism.channel, Bits)
    cells = simulate_cells(mechanism, held, runs=runs, seed=seed, joint=joint)
    n = int(held.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return np.stack([mechanism.estimate(Tally(mechanism, n, row, True), decoder=decoder).values for row in cells])
