"""Kernels of `Then` and `Chain`: the reports of the first are the codes of the second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Chain, Then
from sottovoce.fast.kernels import Draws, Reports, counter, sampler


@sampler.register(Then)
@sampler.register(Chain)
def _(channel: Then | Chain) -> Callable[[NDArray[Any], Draws, int], Reports]:
    first, second = sampler(channel.first), sampler(channel.second)

    def draw(codes: NDArray[Any], draws: Draws, at: int) -> Reports:
        return second(first(codes, draws, at), draws, at + channel.first.words)

    return draw


@counter.register(Chain)
def _(channel: Chain) -> Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]:
    return counter(channel.second)
