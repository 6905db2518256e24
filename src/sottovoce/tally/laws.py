"""The law of one report as floats: what coverage computations, likelihoods and drawn tallies read.

Every entry is right to a few units in the last place, tails included; the exact law is `channel.likelihood`.
"""

from __future__ import annotations

from functools import lru_cache, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Block, Chain, Channel, Keyed, Mix, Noise, Rounding, Subset, Table, Then, Window
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.errors import ParameterError

Floats = NDArray[np.float64]
MAX_MASK_BITS = 12  # of a mask between two stages, whose law is summed mask by mask


@singledispatch
def law_row(channel: Channel, code: int) -> Floats:
    """The probability of each output, given a code; where a channel rounds, the code is the index of a grid point.

    For a node without a version of its own from its likelihood, output by output.
    """
    outputs = outputs_of(channel)
    if outputs is None or channel.publics or not channel.codes_are_indices:
        raise ParameterError(f"The reports of a {channel.kind} channel are not numbered, so their law is not a row.")
    return np.array([float(channel.likelihood(output, code)) for output in range(outputs)])


def law_at(channel: Channel, number: Any) -> Floats:
    """The probability of each output, given a number, for a channel that rounds; others take the code itself."""
    rounding = rounding_of(channel)
    if rounding is None:
        return law_row(channel, int(number))
    point, rest = divmod(rounding.position(number), 1 << PLACES)
    up = rest / (1 << PLACES)
    row = (1 - up) * law_row(channel, point)
    return row + up * law_row(channel, point + 1) if rest else row


@law_row.register
def _(channel: Subset, code: int) -> Floats:
    if channel.w > 1:
        raise ParameterError("Masks of a subset channel are not numbered, so their law is not a row.")
    row = np.full(channel.k, (UNIT - channel.keep) / UNIT / (channel.k - 1))
    row[code] = channel.keep / UNIT
    return row


@law_row.register
def _(channel: Table, code: int) -> Floats:
    return np.array(channel.rows[code], np.float64) / UNIT


@law_row.register
def _(channel: Block, code: int) -> Floats:
    sets = channel.sets
    row = np.full(sets.outputs, (UNIT - channel.inside) / UNIT / (sets.outputs - sets.size))
    row[[sets.output(code, index, True) for index in range(sets.size)]] = channel.inside / UNIT / sets.size
    return row


@law_row.register
def _(channel: Window, code: int) -> Floats:
    row = np.full(channel.outputs, (UNIT - channel.inside) / UNIT / (channel.outputs - channel.width))
    start = channel.stride * code
    row[start : start + channel.width] = channel.inside / UNIT / channel.width
    return row


@lru_cache(maxsize=8)
def _noise_sides(channel: Noise) -> tuple[Floats, Floats]:
    """Half the probability of each magnitude before the last band, and of each magnitude together with all larger."""
    first, cycle, bands = (np.array(w, np.float64) / UNIT for w in (channel.first, channel.cycle, channel.bands))
    weights = np.concatenate([bands[0] * first, np.outer(bands[1:-1], cycle).ravel()]) / 2
    # From the smallest on, so that no tail is lost to rounding.
    tails = np.cumsum(np.append(weights, bands[-1] / 2)[::-1])[::-1]
    for table in (weights, tails):
        table.setflags(write=False)  # shared by all callers
    return weights, tails


@law_row.register
def _(channel: Noise, code: int) -> Floats:
    weights, tails = _noise_sides(channel)
    below, above = channel.limit + code, channel.limit + channel.steps - code  # magnitudes before the border
    return np.concatenate([[tails[below]], weights[:below][::-1], weights[:above], [tails[above]]])


@law_row.register
def _(channel: Mix, code: int) -> Floats:
    parts = zip(channel.weights, channel.channels, strict=True)
    return np.concatenate([weight / UNIT * law_at(branch, code) for weight, branch in parts])


@law_row.register
def _(channel: Keyed, code: int) -> Floats:
    """The code is group * grid points + grid point."""
    group, value = divmod(code, channel.inner.inputs)
    key = law_row(channel.key, group)
    rows = np.outer(key, np.array(channel.neutral, np.float64) / UNIT)
    rows[group] = key[group] * law_row(channel.inner, value)
    return rows.ravel()


@law_row.register
def _(channel: Rounding, code: int) -> Floats:
    row = np.zeros(channel.outputs)
    row[code] = 1
    return row


def _mask_row(channel: Channel, code: int) -> Floats:
    """The probability of each mask that a stage hands on to the next one."""
    if channel.payload_bits > MAX_MASK_BITS:
        raise ParameterError(
            f"Masks of {channel.payload_bits} bits inside a composition are too many to sum up its law: at most"
            f" {MAX_MASK_BITS} bits are supported."
        )
    masks = range(1 << channel.payload_bits)
    return np.array([float(channel.likelihood(mask, code)) if channel.contains(mask) else 0.0 for mask in masks])


@law_row.register(Then)
@law_row.register(Chain)
def _(channel: Then | Chain, code: int) -> Floats:
    if rounding_of(channel) is channel.first:
        return law_row(channel.second, code)
    between = law_row(channel.first, code) if outputs_of(channel.first) is not None else _mask_row(channel.first, code)
    rows = [between[m] * law_row(channel.second, int(m)) for m in np.flatnonzero(between)]
    return np.asarray(np.sum(rows, axis=0, dtype=np.float64))
