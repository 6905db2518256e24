"""What kernels share: one vectorised sampler and one tally kernel per channel node, found by the node's class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from importlib import import_module
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import Relaying, facet, outputs_of
from sottovoce.core.errors import NoBatchError

Codes = NDArray[Any]  # uint32 indices, masks, uint64 positions where a channel rounds; a column for each of several
Reports = NDArray[Any]  # unsigned indices, or uint64 masks of 64 lanes in rows
R = TypeVar("R")

_NODES, _KERNELS = "sottovoce.core.channel.", "sottovoce.fast.kernels."


@dataclass(frozen=True, slots=True)
class Draws:
    """Input and marks of the samplers of one chunk.

    Attributes:
        words: one row per report; the memory is used again for the next chunk.
        public: the two public words of each report, or None.
        redo: marks reports whose draw was rejected; the scalar sampler draws them again.
        bits: leading bits that a coin reads; fewer than 53 only in tests.
    """

    words: NDArray[np.uint64]
    public: NDArray[np.uint64] | None
    redo: NDArray[np.uint8]
    bits: int = FINE


Sample = Callable[[Codes, Draws, int, Reports], None]
Count = Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]


class ByClass(Generic[R]):
    """A function of a node, or of a part of one, whose versions lie in the folders that mirror `core.channel`.

    The module of a class is loaded when the function is first called with it: unused kernels are not compiled.
    """

    def __init__(self, default: Callable[..., R]) -> None:
        self._known = singledispatch(default)
        self.register = self._known.register
        self.__doc__ = default.__doc__

    def __call__(self, subject: Any, *rest: Any) -> R:
        _load(type(subject).__mro__)
        return self._known(subject, *rest)


@lru_cache(maxsize=256)
def _load(classes: tuple[type, ...]) -> None:
    """Import the kernels of classes, if there are any."""
    for base in classes:
        folder, _, name = base.__module__.removeprefix(_NODES).rpartition(".")
        if folder and base.__module__.startswith(_NODES):
            try:
                import_module(f"{_KERNELS}{folder}.{name}")
            except ModuleNotFoundError as problem:
                if not f"{_KERNELS}{folder}.{name}".startswith(problem.name or "?"):
                    raise


@ByClass
def sampler(channel: Channel) -> Sample:
    """The vectorised sampler: (codes, draws, first word column, reports). It fills the reports."""
    raise NoBatchError(f"There is no vectorised sampler for the node {channel.kind}.")


@ByClass
def counter(channel: Channel) -> Count:
    """The tally kernel: adds reports, with their public words, to support cells."""
    raise NoBatchError(f"There is no tally kernel for the node {channel.kind}.")


def of_reports(kernel: Callable[[Reports, NDArray[np.int64]], None]) -> Count:
    """The tally kernel of reports whose public words do not matter."""
    return lambda reports, public, cells: kernel(reports, cells)


@ByClass
def possible_outputs(node: Channel) -> NDArray[np.bool_] | None:
    """Which numbered outputs have positive probability; None if all have."""
    return None


@ByClass
def impossible_masks(node: Channel, masks: Reports) -> NDArray[np.bool_] | None:
    """Which masks of the right number of bits no device sends; None if any may be sent."""
    return None


_possible = lru_cache(maxsize=16)(possible_outputs)


def invalid_reports(channel: Channel, payload: Reports) -> NDArray[np.bool_]:
    """Which payloads are no reports of a channel."""
    node = last_node(channel)
    outputs = outputs_of(node)
    if outputs is not None:
        wrong = (payload < 0) | (payload >= outputs)
        possible = _possible(node)
        return wrong if possible is None else wrong | ~possible[np.where(wrong, 0, payload)]
    spare = 64 * payload.shape[1] - node.payload_bits
    wrong = (payload[:, -1] >> np.uint64(64 - spare)) != 0 if spare else np.zeros(len(payload), bool)
    impossible = impossible_masks(node, payload)
    return wrong if impossible is None else wrong | impossible


def all_outputs_are_possible(channel: Channel) -> bool:
    """Whether a number below that of the outputs is always a report."""
    return _possible(last_node(channel)) is None


def lanes(bits: int) -> int:
    """How many 64-bit words hold a mask."""
    return -(-bits // 64)


def last_node(channel: Channel) -> Channel:
    """The node whose reports are sent: inside a public map, or the second of two stages."""
    while relaying := facet(channel, Relaying):
        channel = relaying.last
    return channel


def empty_reports(channel: Channel, count: int) -> Reports:
    """Room for the reports of a channel: indices in the smallest unsigned type, or masks."""
    node = last_node(channel)
    outputs = outputs_of(node)
    if outputs is None:
        return np.empty((count, lanes(node.payload_bits)), np.uint64)
    return np.empty(count, index_type(outputs))


def index_type(outputs: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type for indices below a number of outputs."""
    if outputs <= 1 << 16:
        return np.uint8 if outputs <= 1 << 8 else np.uint16
    return np.uint32 if outputs <= 1 << 32 else np.uint64
