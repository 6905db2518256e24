"""The reading of the reports of a channel as shares of buckets, chosen once for each channel."""

from __future__ import annotations

from functools import lru_cache

from sottovoce.core.channel import Channel
from sottovoce.estimate.distribution.readings.levels import levels_decode
from sottovoce.estimate.distribution.readings.linear import ChainDecode, DenseDecode, ProjectedDecode, is_projection
from sottovoce.estimate.distribution.readings.transition import LevelsTransition, WaveTransition, transition_of
from sottovoce.estimate.reading import OutputReading

MOST_SOLVED = 1 << 9  # up to this many buckets the least-variance solution is used where a linear-time reading exists


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
    return DenseDecode(transition)
