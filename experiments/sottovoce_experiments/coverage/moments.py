"""Moments of reports that are drawn from their laws: of two channels side by side, without coins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Each
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.counting import moments
from sottovoce.tally.laws import law_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def moment_cells(mechanism: Mechanism, answers: Sequence[Any], held: Ints, rng: np.random.Generator) -> Ints:
    """The cells of a tally, given the number of participants of each answer. Every pair of reports is drawn, and
    counted by the shipped kernel: a table of all pairs would be too large to draw from."""
    channel = mechanism.channel
    if not isinstance(channel, Each):
        raise TypeError("Moments need two channels side by side.")
    codes = [mechanism.domain.encode(answer) for answer in answers]
    reports = np.zeros((int(held.sum()), 1), np.uint64)
    for place, (part, shift) in enumerate(zip(channel.channels, channel.shifts(), strict=False)):
        drawn = [
            np.searchsorted(_cumulated(part, code[place]), rng.random(count), side="right")
            for code, count in zip(codes, held.tolist(), strict=True)
        ]
        reports[:, 0] |= np.concatenate(drawn).astype(np.uint64) << np.uint64(shift)
    cells = np.zeros(mechanism.cells, np.int64)
    moments(channel)(reports, None, cells)
    return cells


@lru_cache(maxsize=64)
def _cumulated(channel: Channel, code: Any) -> Floats:
    row = np.cumsum(law_at(channel, code))
    return np.asarray(row[:-1] / row[-1])
