"""Tallies of numbered public functions drawn from their law, for simulation only: sketches and cohorts.

Each participant is put into a row. Given how many participants of a row set each position, the counts of bits are sums
of two binomials: the bits of a report are independent given its value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Bits, Block, Chain, Channel, NumberedMap, Subset
from sottovoce.core.channel.facets import Pooled, Relaying, need, outputs_of
from sottovoce.core.channel.shapes import support_rates
from sottovoce.fast.kernels.compose.public import valuer

Ints = NDArray[np.int64]
MANY = 16  # participants for each pair of row and code from which on pairs are drawn
Inner = Callable[[Channel, Ints, np.random.Generator], Ints]


@singledispatch
def position_law(inner: Channel) -> tuple[float, float, int, int, bool, bool]:
    """How often a position is set that the value sets, and any other; blocks and their length; signed; exclusive."""
    raise TypeError(f"The reports of a {inner.kind} channel are not read by position.")


@position_law.register
def _(inner: Bits) -> tuple[float, float, int, int, bool, bool]:
    if inner.encoding == "signed":
        return float(inner.own_rate), 0.5, 1, inner.k, True, False
    rates, blocks = inner.bit_rate(0), inner.ones if inner.encoding == "blocks" else 1
    return float(rates.own), float(rates.other), blocks, inner.k // blocks, False, False


@position_law.register
def _(inner: Chain) -> tuple[float, float, int, int, bool, bool]:
    if inner.support_sizes() is not None:
        return _of_supports(inner)
    rates, (_, _, blocks, length, _, _) = inner.bit_rate(0), position_law(inner.first)
    return float(rates.own), float(rates.other), blocks, length, False, False


@position_law.register(Subset)
@position_law.register(Block)
def _of_supports(inner: Subset | Block | Chain) -> tuple[float, float, int, int, bool, bool]:
    rates = support_rates(inner)
    if rates is None:
        raise TypeError(f"The reports of a {inner.kind} channel are not read by position.")
    return float(rates.own), float(rates.other), 1, inner.inputs, False, inner.support_sizes() is not None


def _people(chosen: NumberedMap, codes: Ints, held: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints | None]:
    """The row and the code of each participant; of large crowds, of all pairs, with how many participants have them."""
    if held.sum() <= MANY * chosen.seeds * len(codes):
        return rng.integers(0, chosen.seeds, int(held.sum())), np.repeat(codes, held), None
    weights = rng.multinomial(held, np.full(chosen.seeds, 1 / chosen.seeds))
    return np.tile(np.arange(chosen.seeds), len(codes)), np.repeat(codes, chosen.seeds), weights.ravel()


def _counts(places: Ints, weights: Ints | None, size: int) -> Ints:
    return np.bincount(places, weights, size).astype(np.int64)


def draw_rows(channel: Channel, codes: Ints, held: Ints, rng: np.random.Generator, inner: Inner) -> Ints:
    """The cells of one tally in which held[i] participants hold codes[i]; `inner` draws numbered reports."""
    chosen, behind = need(channel, Pooled).pool, need(channel, Relaying).last
    rows, codes, weights = _people(chosen, codes, held, rng)
    values = valuer(chosen)(rows, codes.astype(np.uint32)).astype(np.int64)
    if outputs_of(channel) is not None:
        table = _counts(rows * chosen.outputs + values, weights, chosen.seeds * chosen.outputs)
        return inner(behind, table.reshape(chosen.seeds, -1), rng).ravel()
    own, other, blocks, length, signed, _ = position_law(behind)
    totals, bits = _counts(rows, weights, chosen.seeds), blocks * length

    def counted(kept: Any, places: Ints) -> Ints:
        some = None if weights is None else weights[kept]
        return _counts((rows * bits + places)[kept], some, chosen.seeds * bits).reshape(-1, bits)

    if signed:
        raised, places = (values & 1) == 0, values >> 1
        up, down = counted(raised, places), counted(~raised, places)
        drawn = rng.binomial(up, own) + rng.binomial(down, 1 - own) + rng.binomial(totals[:, None] - up - down, other)
    else:
        block_places = [values // length**block % length + block * length for block in range(blocks)]
        set_ = np.sum([counted(slice(None), place) for place in block_places], axis=0)
        drawn = rng.binomial(set_, own) + rng.binomial(totals[:, None] - set_, other)
    return np.column_stack([totals, drawn]).ravel()
