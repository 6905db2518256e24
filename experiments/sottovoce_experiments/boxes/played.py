"""Protocols about boxes, played with crowds that are drawn from the shares of all cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.places import base_of, places_of
from sottovoce.core.round import Arm, Protocol
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.partitions import over
from sottovoce.protocols.play import State
from sottovoce.tally.counts import simulate_counts
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
SEEDS = 1 << 62


def tallies(arms: Sequence[Arm], grid: Grid, shares: Floats, n: int, rng: np.random.Generator) -> tuple[Tally, ...]:
    """The tallies of the arms of a round of n participants, whose cells are drawn from these shares."""
    weights = np.array([arm.weight for arm in arms], float)
    found = []
    for arm, asked in zip(arms, rng.multinomial(n, weights / weights.sum()), strict=True):
        view: Any = arm.mechanism.domain
        chosen: Any = base_of(view)
        places = over(grid, chosen.names, places_of(view))
        own = np.bincount(places, shares, minlength=view.size)
        held = rng.multinomial(asked, own / own.sum())
        found.append(simulate_counts(arm.mechanism, held, seed=int(rng.integers(SEEDS))))
    return tuple(found)


def played(protocol: Protocol, shares: Floats, n: int, rng: np.random.Generator) -> Any:
    """The estimate of the boxes, from n participants in all."""
    state = State.first(protocol)
    base: Any = getattr(protocol, "base", state.round.arms[0].mechanism.domain)
    grid, left = Grid.of(base), n
    while not state.is_over:
        asked = left if state.round.quota is None else min(left, state.round.quota)
        left -= asked
        state = state.after(tallies(state.round.arms, grid, shares, asked, rng))
    return state.estimates["boxes"]


def in_blocks(table: Floats, shape: Sequence[int]) -> Floats:
    """The sums of a table over blocks of equal size."""
    for axis, parts in enumerate(shape):
        starts = np.arange(0, table.shape[axis], table.shape[axis] // parts)
        table = np.asarray(np.add.reduceat(table, starts, axis=axis), np.float64)
    return table
