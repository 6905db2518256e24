"""Kernels of `Keyed`: key, inner report and neutral draw for everyone, and the key decides which of the two is sent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each, Keyed
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import (
    Codes,
    Count,
    Draws,
    Reports,
    Sample,
    counter,
    empty_reports,
    impossible_masks,
    of_reports,
    possible_outputs,
    sampler,
)
from sottovoce.fast.kernels.compose.each import pack
from sottovoce.fast.kernels.masks import count_indices
from sottovoce.fast.kernels.pick import find, weights


@compiled
def _supports_index(keys, groups, out):
    for i in range(groups.shape[0]):
        out[i] = keys[i] == groups[i]


@compiled
def _supports_mask(keys, groups, out):
    for i in range(groups.shape[0]):
        group = np.uint64(groups[i])
        out[i] = keys[i, group >> np.uint64(6)] >> (group & np.uint64(63)) & np.uint64(1)


@compiled
def _settle(supported, rejected, words, at, cumulative, guide, bits, within, redo):
    """The neutral draw in place of the inner report where the key does not support the group."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    for i in range(supported.shape[0]):
        neutral = find((words[i, at] >> shift) << scale, cumulative, guide)
        within[i] = within[i] if supported[i] else neutral
        redo[i] |= rejected[i] & supported[i]


@compiled
def _join(keys, within, outputs, out):
    for i in range(within.shape[0]):
        out[i] = np.uint64(keys[i]) * outputs + np.uint64(within[i])


@compiled
def _count_masks(reports, inner_bits, groups, outputs, cells):
    one = np.uint64(1)
    low = (one << np.uint64(inner_bits)) - one
    for i in range(reports.shape[0]):
        within = np.int64(reports[i, 0] & low)
        for group in range(groups):
            place = inner_bits + group
            if reports[i, place >> 6] >> np.uint64(place & 63) & one:
                cells[group * outputs + within] += 1


def side_by_side(channel: Keyed) -> Each:
    """The layout of a report whose key is a mask: the inner report lowest, then the key."""
    return Each((channel.inner, channel.key))


@sampler.register
def _(channel: Keyed) -> Sample:
    key, inner, neutral = sampler(channel.key), sampler(channel.inner), weights(channel.neutral)
    masks = outputs_of(channel.key) is None
    outputs, shift = np.uint64(channel.inner_outputs), channel.inner.payload_bits

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        groups = np.ascontiguousarray(codes[:, 0], np.uint32)
        values = np.ascontiguousarray(codes[:, 1], np.uint32 if rounding_of(channel.inner) is None else np.uint64)
        keys, within = empty_reports(channel.key, len(codes)), empty_reports(channel.inner, len(codes))
        key(groups, draws, at, keys)
        drawn = Draws(draws.words, None, np.zeros(len(codes), np.uint8), draws.bits)
        inner(values, drawn, at + channel.key.words, within)
        supported = np.empty(len(codes), np.uint8)
        (_supports_mask if masks else _supports_index)(keys, groups, supported)
        last = at + channel.words - 1
        _settle(supported, drawn.redo, draws.words, last, *neutral, draws.bits, within, draws.redo)
        if masks:
            out[:] = 0
            pack(within.astype(np.uint64).reshape(-1, 1), 0, out)
            pack(keys, shift, out)
        else:
            _join(keys, within, outputs, out)

    return draw


@counter.register
def _(channel: Keyed) -> Count:
    if outputs_of(channel.key) is not None:
        return of_reports(count_indices)
    sizes = channel.inner.payload_bits, channel.key.inputs, channel.inner_outputs
    return of_reports(lambda reports, cells: _count_masks(reports, *sizes, cells))


@possible_outputs.register
def _(channel: Keyed) -> NDArray[np.bool_] | None:
    return None if all(channel.neutral) else np.tile(np.array(channel.neutral) > 0, outputs_of(channel.key) or 1)


@impossible_masks.register
def _(channel: Keyed, masks: Reports) -> NDArray[np.bool_] | None:
    return impossible_masks(side_by_side(channel), masks)
