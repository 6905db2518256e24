"""The likelihood decoder: maximum-likelihood shares from the channel's true law.

A tally of outputs determines the likelihood. A tally of supports does not: the same counts come from reports that
support codes together and from reports that support them separately. Then the reports themselves are needed; for a code
v, P(report | v) is, up to a factor, one number if the report supports v, and another if it does not.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import (
    ArcSets,
    AskedMap,
    Bits,
    Block,
    Chain,
    Channel,
    HadamardSets,
    Histogram,
    PoolMap,
    Public,
    Subset,
)
from sottovoce.core.channel.compose.public import behind_maps, numbered_functions, public_layers
from sottovoce.core.channel.facets import Numbered, need
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.evidence import Counted, Floats, Ints
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.frequency.mixture import Bytes, Dense, Diagonal, Hadamard, Masks, Mixture, Pool
from sottovoce.fast.batch import Reports
from sottovoce.fast.kernels.compose.each import unpacked
from sottovoce.fast.kernels.compose.histogram import bins
from sottovoce.fast.kernels.compose.public import chosen_numbers, mapped_words, mapper
from sottovoce.fast.threads import run
from sottovoce.tally.laws import law_row

MAX_DENSE = 1 << 24  # entries of a law without structure
MAX_SUPPORTS = 1 << 34  # packed supports: bits
ROWS = 1 << 16
SURE = 1e150  # of the only code that can send a report; in floats the others then weigh nothing


class Levels(NamedTuple):
    """Relative likelihoods of a report for each code that it does not support, and for each that it does."""

    low: Floats
    high: Floats


def mixture(counted: Counted) -> Mixture:
    """The likelihood of shares given a tally, or reports if the tally does not determine it."""
    mechanism = counted.mechanism
    if isinstance(mechanism.statistic, CountOutputs):
        return _of_outputs(mechanism.channel, counted.cells)
    if isinstance(mechanism.statistic, CountSeeds):
        return _of_seeds(mechanism, counted.cells)
    if counted.reports is None:
        raise ParameterError(
            f"Counts of kind {mechanism.statistic.kind} do not determine the likelihood of {mechanism.name}: decode"
            " the reports themselves instead of their tally."
        )
    return of_reports(mechanism.channel, counted.reports)


# --- counted outputs ---------------------------------------------------------------------------------
@singledispatch
def _of_outputs(channel: Channel, cells: Ints) -> Mixture:
    """The likelihood of a tally of outputs; only outputs that were seen matter."""
    if channel.inputs * len(cells) > MAX_DENSE:
        raise TooLargeError(f"The law of this {channel.kind} channel has {channel.inputs} x {len(cells)} entries.")
    seen = np.flatnonzero(cells)
    return Dense(np.ascontiguousarray(output_law(channel)[:, seen].T), cells[seen].astype(np.float64))


@_of_outputs.register
def _(channel: Subset, cells: Ints) -> Mixture:
    # P(y | v) is `low` for all codes but one: the identity matrix plus a constant.
    return Diagonal(cells.astype(np.float64), 1.0, float(channel.ratio()))


@_of_outputs.register
def _(channel: Block, cells: Ints) -> Mixture:
    if isinstance(channel.sets, HadamardSets):
        return Hadamard(cells.astype(np.float64), channel.sets, 1.0, float(channel.ratio()))
    general: Mixture = _of_outputs.dispatch(object)(channel, cells)
    return general


# --- reports that support codes ----------------------------------------------------------------------
def _of_seeds(mechanism: Mechanism, cells: Ints) -> Mixture:
    """Each pair of public map and payload stands for the reports that are counted there."""
    seen, (chosen, inner) = np.flatnonzero(cells), numbered_functions(mechanism.channel)
    if isinstance(chosen, PoolMap) and isinstance(inner, Subset) and _is_full(chosen, len(seen), len(cells)):
        return Pool(cells.astype(np.float64), chosen, 1.0, float(inner.ratio()))
    seeds, payload = np.divmod(seen, need(inner, Numbered).outputs)
    public = np.zeros((len(seen), 2), np.uint64)
    public[:, 0] = seeds.astype(np.uint64) << np.uint64(WORD - FINE)  # an id that chooses this map
    return of_reports(mechanism.channel, Reports(mechanism, payload, public), cells[seen].astype(np.float64))


def _is_full(chosen: PoolMap, seen: int, cells: int) -> bool:
    """Whether a transform of all cells of a pool is shorter than the supports of those that were seen."""
    return chosen.digits * chosen.g * cells < seen * chosen.k // 8


def of_reports(channel: Channel, reports: Reports, counts: Floats | None = None) -> Mixture:
    """The likelihood of reports, of which there are so many equal ones each; by default one."""
    if len(reports) * channel.inputs > MAX_SUPPORTS:
        raise TooLargeError(f"The supports of {len(reports)} reports for {channel.inputs} codes are too many to store.")
    return _of_reports(channel, reports, counts)


@singledispatch
def _of_reports(channel: Channel, reports: Reports, counts: Floats | None) -> Mixture:
    return Masks(*_collapsed(_packed(channel, reports), counts), *levels(channel))


@_of_reports.register
def _(channel: Histogram, reports: Reports, counts: Floats | None) -> Mixture:
    return Dense(_bin_odds(channel, reports), np.ones(len(reports)))


@_of_reports.register
def _(channel: Public, reports: Reports, counts: Floats | None) -> Mixture:
    if reports.public is None:
        raise ParameterError("Hashed reports must be decoded together with their public words.")
    if isinstance(channel.map, AskedMap):
        return Dense(_asked_odds(channel.map, channel.inner, reports.public, reports.payload), np.ones(len(reports)))
    pair = levels(behind_maps(channel))
    if np.ptp(pair.low) or np.ptp(pair.high):
        raise ParameterError("Decoding public maps needs an inner channel whose codes are all alike.")
    low, high = (np.full(channel.inputs, level[0]) for level in pair)
    return Masks(*_collapsed(_hashed_supports(channel, reports.public, reports.payload), counts), low, high)


@singledispatch
def levels(channel: Channel) -> Levels:
    """Relative likelihoods of not supporting and of supporting each code."""
    raise ParameterError(f"The reports of a {channel.kind} channel have no likelihood decoder.")


@levels.register
def _(channel: Subset) -> Levels:
    return Levels(np.ones(channel.k), np.full(channel.k, float(channel.ratio())))


@levels.register
def _(channel: Block) -> Levels:
    return Levels(np.ones(channel.inputs), np.full(channel.inputs, float(channel.ratio())))


@levels.register(Bits)
@levels.register(Chain)
def _(channel: Bits | Chain) -> Levels:
    """Independent bits: code v changes the law of bit v alone, from `other` to `own`.

    So relative to a code that sets no bit, a report has likelihood own/other or (1-own)/(1-other).
    """
    if channel.support_sizes() is not None:
        return Levels(np.ones(channel.inputs), np.full(channel.inputs, float(channel.ratio())))
    every = range(channel.inputs) if channel.rates_vary else range(1)
    rates = [channel.rates(code) for code in every]
    if rates[0] is None:
        raise ParameterError(f"The reports of this {channel.kind} channel have no likelihood decoder.")
    pairs = np.array([_bit_levels(pair) for pair in rates])
    low, high = np.broadcast_to(pairs, (channel.inputs, 2)).T.copy()
    low[channel.payload_bits :] = high[channel.payload_bits :] = 1.0  # an optional code that sets no bit
    return Levels(low, high)


def _bit_levels(rates: Any) -> tuple[float, float]:
    if rates is None:
        return 1.0, 1.0
    low = float((1 - rates.own) / (1 - rates.other))
    return low, float(rates.own / rates.other) if rates.other else SURE


def _bin_odds(channel: Histogram, reports: Reports) -> Floats:
    """The likelihood of each report and code relative to a histogram without a one."""
    off, on = (law_row(channel.part, code) for code in (0, channel.part.inputs - 1))
    odds = np.divide(on, off, out=np.zeros_like(on), where=off > 0)
    columns = [odds[values.astype(np.int64)] for _, values in unpacked(bins(channel), reports.payload)]
    return np.stack(columns, axis=1)


def _asked_odds(chosen: AskedMap, inner: Channel, public: NDArray[np.uint64], payload: NDArray[Any]) -> Floats:
    """The likelihood relative to a code that is not asked about: each code that is has a bit of its own."""
    odds = np.ones((len(payload), chosen.k))
    rows, first = np.arange(len(payload)), chosen_numbers(chosen.choice, public)[0]
    low, high = (level[0] for level in levels(inner))
    for place in range(chosen.asked):
        bit = payload[:, place >> 6] >> np.uint64(place & 63) & np.uint64(1)
        odds[rows, (first + place) % chosen.k] = np.where(bit, high, low)
    return odds


# --- supports, eight codes to a byte -----------------------------------------------------------------
def _packed(channel: Channel, reports: Reports) -> Bytes:
    """The masks of the reports, as bytes; a code without a bit gets one that is never set."""
    width = -(-channel.inputs // 8)
    present = reports.payload.astype("<u8", copy=False).view(np.uint8)[:, :width]
    return np.pad(present, ((0, 0), (0, width - present.shape[1])))


def mapped_codes(channel: Channel, public: NDArray[np.uint64], code: int) -> NDArray[Any]:
    """The value of a code under the public maps, outermost first, for each report."""
    codes: NDArray[Any] = np.full(len(public), code, np.uint32)
    for layer in public_layers(channel):
        codes = mapper(layer.map)(mapped_words(public, layer.inner.publics), codes)
    return codes


def _hashed_supports(channel: Channel, public: NDArray[np.uint64], payload: NDArray[Any]) -> Bytes:
    packed, inner = np.zeros((len(payload), -(-channel.inputs // 8)), np.uint8), behind_maps(channel)

    def work(start: int, stop: int) -> None:
        words, sent = public[start:stop], payload[start:stop]
        for code in range(channel.inputs):
            bit = _supported(inner, sent, mapped_codes(channel, words, code))
            packed[start:stop, code >> 3] |= bit.astype(np.uint8) << np.uint8(code & 7)

    run(work, len(payload), ROWS, None)
    return packed


@singledispatch
def _supported(inner: Channel, payload: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Whether each report of a channel behind public maps supports a code of its own; numbers, or masks."""
    if payload.ndim == 1:
        return np.asarray(payload == codes)
    return np.asarray(payload[np.arange(len(payload)), codes >> 6] >> (codes & 63).astype(np.uint64) & np.uint64(1))


@_supported.register
def _(inner: Block, payload: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    outputs, sets = payload.astype(np.int64), inner.sets
    if isinstance(sets, ArcSets):
        return np.asarray((outputs - codes) % sets.outputs < sets.size)
    pairs, places = np.unique(codes * np.int64(sets.outputs) + outputs, return_inverse=True)
    inside = np.array([sets.member(*divmod(pair, sets.outputs)) for pair in pairs.tolist()])
    return np.asarray(inside[places.ravel()])


def _collapsed(packed: Bytes, counts: Floats | None) -> tuple[Bytes, Floats]:
    """Equal rows counted once, if their supports fit into one word and so are sorted fast."""
    n, width = packed.shape
    weights = np.ones(n) if counts is None else counts
    if width > 8:
        return packed, weights
    wide = np.zeros((n, 8), np.uint8)
    wide[:, :width] = packed
    kinds, places = np.unique(wide.view(np.uint64).ravel(), return_inverse=True)
    return kinds.view(np.uint8).reshape(-1, 8)[:, :width], np.bincount(places.ravel(), weights).astype(np.float64)
