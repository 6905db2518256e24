"""The codes on which a mechanism is tested, and the error of a failed check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import singledispatch
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import (
    AskedOptions,
    Channel,
    DrawnItem,
    Each,
    Hitting,
    Keyed,
    Rounding,
    Slots,
    Spread,
    Wheel,
)
from sottovoce.core.channel.facets import Coordinates, dimensions_of, facet, rounding_of, slots_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.coins import Coins
from sottovoce.core.domain.sets import Sets
from sottovoce.core.domain.sparse import Code
from sottovoce.core.guarantee import Approximate, Guarantee
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.item_sets import code_rows
from sottovoce.fast.slots import slot_rows

_GOLDEN = 0x9E3779B97F4A7C15  # strides by this fraction of a range come near to every number
_FINE = 16  # steps of a grid whose points are all tested
_BETWEEN = 0x5A827999  # of 2**32: a place between two grid points that is not a simple fraction


def require(holds: bool, sentence: str) -> None:
    """Fail with one sentence."""
    if not holds:
        raise AssertionError(sentence)


@singledispatch
def codes_of(channel: Channel) -> list[Any]:
    """Every code; for rounded numbers grid points and a number after each, of a fine grid some of them."""
    slots = slots_of(channel)
    if slots is not None:
        return [*channel.codes(), *partly_filled(slots)]
    known = facet(channel, Coordinates)
    if known is not None:
        between = tuple(grid.number((place << PLACES) + _BETWEEN) for place, grid in _middles(known.roundings))
        return [*channel.codes(), between, (*known.roundings[0].codes()[:1], *between[1:])]  # type: ignore[index]
    rounding = rounding_of(channel)
    if rounding is None:
        return list(channel.codes())
    steps = rounding.steps
    points = range(steps) if steps <= _FINE else [steps * part // _FINE for part in range(_FINE)]
    places = [(point << PLACES) + off for point in points for off in (0, _BETWEEN)]
    return [rounding.number(place) for place in (*places, steps << PLACES)]


@codes_of.register
def _(channel: Keyed) -> list[Any]:
    return list(product(channel.key.codes(), codes_of(channel.inner)))


@codes_of.register
def _(channel: Each) -> list[Any]:
    return list(product(*map(codes_of, channel.channels)))


def partly_filled(slots: Slots) -> Iterator[Code]:
    """Vectors whose numbers lie between the ends, of one entry, of two and so on."""
    for held in range(1, slots.most + 1):
        first = slots.dimensions - held
        yield tuple((first + slot, slots.grid.number(_BETWEEN >> slot)) for slot in range(held))


def _middles(grids: Sequence[Rounding]) -> list[tuple[int, Rounding]]:
    """A point of each grid that has a next one."""
    return [(place % grid.steps, grid) for place, grid in enumerate(grids)]


@singledispatch
def batch_of_codes(channel: Channel, seed: int, count: int) -> NDArray[Any]:
    """Codes as a batch holds them: indices in turn, or positions all over the range, its two ends among them."""
    if not channel.exact:
        return ball_batch(channel, seed, count)
    slots = slots_of(channel)
    if slots is not None:
        some = [*islice(channel.codes(), 3), *partly_filled(slots)]
        return slot_rows(slots, [some[(seed + place) % len(some)] for place in range(count)])
    known = facet(channel, Coordinates)
    if known is not None:
        top = known.roundings[0].steps << PLACES
        cells = count * known.dimensions
        spread = [0, top, *(_GOLDEN * (seed + place) % (top + 1) for place in range(cells - 2))]
        return np.array(spread[:cells], np.uint64).reshape(count, -1)
    rounding = rounding_of(channel)
    if rounding is None and channel.inputs > 1 << 32:
        return np.array([_GOLDEN * (seed + place) % channel.inputs for place in range(count)], np.uint64)
    if rounding is None:
        return np.arange(seed, seed + count, dtype=np.uint32) % channel.inputs
    top = rounding.steps << PLACES
    spread = [0, top, *(_GOLDEN * (seed + place) % (top + 1) for place in range(count - 2))]
    return np.array(spread[:count], np.uint64)


@batch_of_codes.register(Hitting)
@batch_of_codes.register(Spread)
@batch_of_codes.register(AskedOptions)
@batch_of_codes.register(DrawnItem)
@batch_of_codes.register(Wheel)
def _(channel: Hitting | Spread | AskedOptions | DrawnItem | Wheel, seed: int, count: int) -> NDArray[Any]:
    """Nothing, the last items in rising number, and sets all over the list."""
    ends = [(1 << held) - 1 << channel.items - held for held in range(channel.most + 1)]
    codes = channel.codes()
    spread = (codes[_GOLDEN * (seed + place) % channel.inputs] for place in range(max(0, count - len(ends))))
    return code_rows(Sets(range(channel.items), channel.most), [*ends[:count], *spread])


@batch_of_codes.register
def _(channel: Each, seed: int, count: int) -> NDArray[Any]:
    columns = [batch_of_codes(part, seed + place, count) for place, part in enumerate(channel.channels)]
    return np.stack([column.astype(np.uint64) for column in columns], axis=1)


@batch_of_codes.register
def _(channel: Keyed, seed: int, count: int) -> NDArray[Any]:
    parts = (batch_of_codes(part, seed, count).astype(np.uint64) for part in (channel.key, channel.inner))
    return np.column_stack(list(parts))


def loosest(guarantee: Guarantee) -> Guarantee:
    """A guarantee of this kind with the largest budget: small instances need not keep the claimed one."""
    return guarantee if guarantee.delta is None else Approximate(Decimal("0.999999"))


def first_message(mechanism: Mechanism, value: object, coins: Coins | None = None) -> bytes:
    """The message of a device that answers for the first time, with a memo or without."""
    if mechanism.claimed_forever is None:
        return mechanism.randomize(value, coins)
    cohort = mechanism.draw_cohort(coins)
    return mechanism.answer_from(mechanism.remember(value, coins, cohort=cohort), coins, cohort=cohort)


def ball_batch(channel: Channel, seed: int, count: int) -> NDArray[np.float64]:
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
