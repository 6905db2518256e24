"""The reading of the reports of a channel as shares of buckets, chosen once for each channel."""

from __future__ import annotations

from functools import lru_cache

from sottovoce.core.channel import Channel
from sottovoce.estimate.distribution.readings.levels import levels_decode
from sottovoce.estimate.distribution.readings.linear import ChainDecode, DenseDecode, ProjectedDecode, is_projection
from sottovoce.estimate.distribution.readings.shifts import CircleDecode, ShiftDecode
from sottovoce.estimate.distribution.readings.transition import (
    LevelsTransition,
    ShiftTransition,
    WaveTransition,
    transition_of,
)
from sottovoce.estimate.reading import OutputReading

MOST_SOLVED = 1 << 9  # buckets up to which equations are solved with a matrix, where there is another way


@lru_cache(maxsize=16)
def linear_decode(channel: Channel, buckets: int) -> OutputReading:
    """The reading of a channel for so many buckets."""
    transition = transition_of(channel, buckets)
    if isinstance(transition, LevelsTransition):
        return levels_decode(transition)
    if is_projection(channel):
        return ProjectedDecode(channel, transition)
    if isinstance(transition, WaveTransition) and transition.moves_by_one:
        return DenseDecode(transition) if transition.rounded and buckets <= MOST_SOLVED else ChainDecode(transition)
    if isinstance(transition, ShiftTransition) and transition.per_bucket == 1:
        if transition.cells == buckets:
            return CircleDecode(transition)
        if buckets > MOST_SOLVED:
            return ShiftDecode(transition)
    return DenseDecode(transition)
