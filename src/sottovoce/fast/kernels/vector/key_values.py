"""Kernels of keys with numbers. A code is a row of slots (`sottovoce.fast.slots`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.key_values import AskedKey, KeyEnds, SampledKey
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import (
    Codes,
    Count,
    Draws,
    Reports,
    Sample,
    counter,
    empty_reports,
    impossible_masks,
    invalid_reports,
    lanes,
    sampler,
)
from sottovoce.fast.kernels.compose.each import pack
from sottovoce.fast.kernels.compose.public import Public64, asked_numbers
from sottovoce.fast.kernels.vector.place import EMPTY, POSITION, SHIFT

_UP = np.uint64(FINE - PLACES)


@compiled
def _round(codes, words, at, weight, bits, about_ends, keys, ends):
    """Whether a report is about ends, the keys held, and the ends to which their numbers are rounded."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    for i in range(codes.shape[0]):
        about_ends[i] = (words[i, at] >> shift) << scale < weight
        keys[i] = 0
        ends[i] = 0
        for slot in range(codes.shape[1]):
            entry = codes[i, slot]
            if entry == EMPTY:
                break
            place = entry >> SHIFT
            end = (place << one) + np.uint64((words[i, at + 1 + slot] >> shift) << scale >= (entry & POSITION) << _UP)
            keys[i, place >> six] |= one << (place & low)
            ends[i, end >> six] |= one << (end & low)


def _in_lanes(reports: Reports) -> NDArray[np.uint64]:
    return np.ascontiguousarray(reports.astype(np.uint64, copy=False).reshape(len(reports), -1))


@sampler.register
def _(channel: KeyEnds) -> Sample:
    parts = (channel.plain, channel.ends)
    samplers = [sampler(part) for part in parts]
    widths = [lanes(items) for items in (channel.dimensions, 2 * channel.dimensions)]

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        about_ends = np.empty(len(codes), np.uint8)
        sets = [np.empty((len(codes), width), np.uint64) for width in widths]
        _round(codes, draws.words, at, np.uint64(channel.weight), draws.bits, about_ends, *sets)
        start = at + 1 + channel.most
        out[:] = 0
        for number, part in enumerate(parts):
            reports = empty_reports(part, len(codes))
            inner = Draws(draws.words, draws.public, np.zeros(len(codes), np.uint8), draws.bits)
            samplers[number](sets[number], inner, start, reports)
            chosen = about_ends == number
            wide = _in_lanes(reports)
            wide[~chosen] = 0
            pack(wide, 1, out)
            draws.redo[chosen] |= inner.redo[chosen]
            start += part.words
        out[:, 0] |= about_ends

    return draw


def _parted(channel: KeyEnds, masks: Reports) -> list[tuple[Channel, NDArray[np.bool_], Reports]]:
    """For keys and for ends the channel, which reports are about them, and these as its own reports."""
    down = masks >> np.uint64(1)
    down[:, :-1] |= masks[:, 1:] << np.uint64(63)
    found = []
    for number, part in enumerate((channel.plain, channel.ends)):
        chosen = masks[:, 0] & np.uint64(1) == number
        empty = empty_reports(part, 0)
        own = down[chosen]
        reports = own[:, : lanes(part.payload_bits)] if empty.ndim == 2 else own[:, 0]
        found.append((part, chosen, np.ascontiguousarray(reports)))
    return found


@counter.register
def _(channel: KeyEnds) -> Count:
    def count(reports: Reports, public: Public64 | None, cells: Codes) -> None:
        start = 1
        for part, chosen, own in _parted(channel, reports):
            elements = part.items + part.most  # type: ignore[attr-defined]
            taken = None if public is None else np.ascontiguousarray(public[chosen])
            counter(part)(own, taken, cells[start : start + elements])
            start += elements
        cells[0] += int((reports[:, 0] & np.uint64(1)).sum())

    return count


@impossible_masks.register
def _(channel: KeyEnds, masks: Reports) -> NDArray[np.bool_]:
    wrong = np.zeros(len(masks), bool)
    down = masks >> np.uint64(1)
    down[:, :-1] |= masks[:, 1:] << np.uint64(63)
    for part, chosen, own in _parted(channel, masks):
        rest = down[chosen].copy()
        full, left = divmod(part.payload_bits, 64)
        if full < rest.shape[1]:
            rest[:, :full] = 0
            rest[:, full] &= ~np.uint64((1 << left) - 1)
        else:
            rest[:] = 0
        beyond = np.asarray(rest.any(axis=1), bool)
        wrong[chosen] = beyond | _impossible(part, own, beyond)
    return wrong


def _impossible(part: Channel, own: Reports, beyond: NDArray[np.bool_]) -> NDArray[np.bool_]:
    kept = own.copy()
    kept[beyond] = 0
    return invalid_reports(part, kept)


@compiled
def _state(codes, asked, words, at, bits, out):
    """Whether the key asked about is held, and to which end its number is rounded."""
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    for i in range(codes.shape[0]):
        out[i] = 0
        for slot in range(codes.shape[1]):
            entry = codes[i, slot]
            if entry != EMPTY and entry >> SHIFT == np.uint64(asked[i]):
                out[i] = 1 + np.uint32((words[i, at] >> shift) << scale < (entry & POSITION) << _UP)


@compiled
def _count_states(reports, asked, outputs, cells):
    for i in range(reports.shape[0]):
        cells[asked[i] * outputs + np.int64(reports[i])] += 1


@sampler.register
def _(channel: AskedKey) -> Sample:
    inner = sampler(channel.inner)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        states = np.empty(len(codes), np.uint32)
        _state(codes, asked_numbers(channel.choice, draws.public), draws.words, at, draws.bits, states)
        inner(states, draws, at + 1, out)

    return draw


@counter.register
def _(channel: AskedKey) -> Count:
    return lambda reports, public, cells: _count_states(
        reports, asked_numbers(channel.choice, public), channel.outputs, cells
    )


@compiled
def _pick(codes, words, at, slots, dimensions, bits, out, redo):
    shift, one = np.uint64(64 - bits), np.uint64(1)
    size = one << np.uint64(bits)
    middle = one << np.uint64(PLACES - 1)
    for i in range(codes.shape[0]):
        drawn = words[i, at] >> shift
        slot = remainder(drawn, slots[0], slots[1], slots[2])
        if drawn - slot > size - slots[0]:
            redo[i] = 1
        entry = codes[i, slot]
        out[i, 0] = np.uint64(dimensions) + slot if entry == EMPTY else entry >> SHIFT
        out[i, 1] = middle if entry == EMPTY else entry & POSITION


@sampler.register
def _(channel: SampledKey) -> Sample:
    inner, slots = sampler(channel.inner), np.array(divisor(channel.most), np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.most, draws.bits)  # refuses a draw from more outcomes than a coin has
        pairs = np.empty((len(codes), 2), np.uint64)
        _pick(codes, draws.words, at, slots, channel.dimensions, draws.bits, pairs, draws.redo)
        inner(pairs, draws, at + 1, out)

    return draw


counter.register(SampledKey)(lambda channel: counter(channel.inner))
