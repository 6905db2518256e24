"""Kernels of `Place` and of the signed rows that may follow it. A code is a row of slots (`sottovoce.fast.slots`)."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Place, SignedSets
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, sampler
from sottovoce.fast.kernels.finite.block import sets_sampler

EMPTY = np.uint64((1 << 64) - 1)  # a slot without an entry
SHIFT = np.uint64(PLACES + 1)  # the place of an entry stands above its position, which is 2**32 at most
POSITION = np.uint64((1 << (PLACES + 1)) - 1)
_TO_UNITS = np.uint64(FINE - PLACES)


@compiled
def _draw(codes, words, at, choices, bits, out, redo):
    """`choices` holds the divisors for the slots, then for the signed places that are free beside 0, 1, ... entries."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    size = one << np.uint64(bits)
    most = codes.shape[1]
    for i in range(codes.shape[0]):
        drawn = words[i, at] >> shift
        slot = remainder(drawn, choices[0, 0], choices[0, 1], choices[0, 2])
        if drawn - slot > size - choices[0, 0]:
            redo[i] = 1
        second = words[i, at + 1] >> shift
        entry = codes[i, slot]
        if entry != EMPTY:
            minus = np.uint64(second << scale >= (entry & POSITION) << _TO_UNITS)
            out[i] = (entry >> SHIFT << one) + minus
            continue
        held = 0
        while held < most and codes[i, held] != EMPTY:
            held += 1
        free = remainder(second, choices[held + 1, 0], choices[held + 1, 1], choices[held + 1, 2])
        if second - free > size - choices[held + 1, 0]:
            redo[i] = 1
        place = free >> one
        for other in range(held):
            place += np.uint64(place >= codes[i, other] >> SHIFT)
        out[i] = (place << one) + (free & one)


@sampler.register
def _(channel: Place) -> Sample:
    free = [max(1, 2 * (channel.dimensions - held)) for held in range(channel.most + 1)]
    choices = np.array([divisor(number) for number in (channel.most, *free)], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(channel.most, free[0]), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw(codes, draws.words, at, choices, draws.bits, out, draws.redo)

    return draw


@compiled
def _reflect(codes, groups, order_bits, out):
    """Swap the halves of the place's own group for sign -1."""
    for i in range(codes.shape[0]):
        if codes[i] & np.uint32(1):
            place = np.int64(codes[i] >> np.uint32(1))
            if np.int64(out[i]) >> order_bits == place % groups:
                row = place // groups + 1
                out[i] ^= row & -row


@sets_sampler.register
def _(sets: SignedSets, inside: int) -> Sample:
    plain = sets_sampler(sets.rows, inside)
    order_bits = sets.order.bit_length() - 1

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        plain(codes >> np.uint32(1), draws, at, out)
        _reflect(codes, sets.groups, order_bits, out)

    return draw
