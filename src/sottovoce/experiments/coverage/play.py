"""Protocols whose tallies are drawn from their laws: the analyst's part as it is, without anybody's report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.round import Estimates, Protocol, Round
from sottovoce.tally.tally import Tally

Rounds = tuple[tuple[Tally, ...], ...]
Ask = Callable[[Round], tuple[Tally, ...]]


def stages(protocol: Protocol, ask: Ask) -> Iterator[tuple[Rounds, Round | Estimates]]:
    """The rounds so far and what follows them, from the start on."""
    history: Rounds = ()
    stage: Round | Estimates = protocol.start()
    yield history, stage
    while isinstance(stage, Round):
        history = (*history, ask(stage))
        stage = protocol.advance(history)
        yield history, stage


def play(protocol: Protocol, ask: Ask) -> Estimates:
    """The estimates of a whole protocol."""
    *_, (_, found) = stages(protocol, ask)
    assert not isinstance(found, Round)  # that is where a protocol ends
    return found


def arm_shares(stage: Round) -> NDArray[np.float64]:
    """How likely a participant is put into each arm."""
    return np.array([arm.weight for arm in stage.arms]) / stage.weight
