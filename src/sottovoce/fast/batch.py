"""Reports of many participants at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.coins import TapeCoins
from sottovoce.core.errors import BatchWarning, NoBatchError, ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.language.display import card
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.kernels.base import (
    Draws,
    Sample,
    empty_reports,
    index_type,
    invalid_reports,
    lanes,
    last_node,
    sampler,
)
from sottovoce.fast.kernels.compose.public import copy_public, refused_ids
from sottovoce.fast.kernels.masks import mask_bytes, masks_of
from sottovoce.fast.numbers import batch_codes, scalar_code
from sottovoce.fast.threads import chunks, items_at_a_time, run
from sottovoce.fast.words import WordStream

CHUNK_BYTES = 1 << 21
MAX_LISTED = 8  # invalid reports that an error names

_sampler = lru_cache(maxsize=16)(sampler)  # tables of public numbers, which would slow down small batches


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """Hold a batch of reports: one payload per participant, and two public words where the mechanism reads them.

    Args:
        mechanism: The mechanism that randomized the answers.
        payload: Indices in the smallest unsigned type, or masks as rows of 64-bit words.
        public: The public words of each report; None where the mechanism reads none.
        simulated: True if the noise came from a seed. Files, tallies and estimates carry the mark.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> reports = m.privatize(["yes", "no", "no"], seed=1)
        >>> len(reports), reports.simulated
        (3, True)

    See also:
        `Mechanism.privatize` makes reports, `write_reports` saves them.
    """

    mechanism: Mechanism
    payload: NDArray[Any]
    public: NDArray[np.uint64] | None = None
    simulated: bool = False

    def __post_init__(self) -> None:
        # Comparisons skip masked entries, but kernels read them: a mask would bypass the checks.
        for name in ("payload", "public"):
            array = getattr(self, name)
            if array is None and name == "public":
                continue
            if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or not array.ndim:
                raise ReportError("A batch holds its reports in arrays without a mask.")
            object.__setattr__(self, name, native(np.asarray(array)))

    def __len__(self) -> int:
        return len(self.payload)

    def __getitem__(self, rows: slice) -> Reports:
        if not isinstance(rows, slice):
            raise TypeError("A batch of reports is cut by slices; iterate over it for single reports.")
        public = None if self.public is None else self.public[rows]
        return Reports(self.mechanism, self.payload[rows], public, self.simulated)

    def __repr__(self) -> str:
        kind = ", simulation" * self.simulated
        return f"Reports({self.mechanism.name} {self.mechanism.fingerprint[:12]}, n={len(self)}{kind})"

    def _repr_html_(self) -> str:
        own = self.mechanism
        size = plural(codec.payload_bytes(own.channel), "byte", ",")
        facts = [
            ("reports", f"{len(self):,}"),
            ("one report", f"{size} beside the id"),
            ("epsilon", f"{own.epsilon:.6g}"),
        ]
        facts.append(("fingerprint", own.fingerprint[:12]))
        return card(f"Reports of {own.name}", facts, simulated=self.simulated)

    def payloads(self) -> NDArray[np.uint8]:
        """Return the payload bytes as a device would send them, one row per report.

        Returns:
            An array of unsigned bytes.
        """
        width = codec.payload_bytes(self.mechanism.channel)
        if is_mask(self.mechanism):
            return mask_bytes(self.payload, width)
        wide = self.payload.astype("<u8").view(np.uint8).reshape(-1, 8)
        return np.ascontiguousarray(wide[:, :width])

    def __iter__(self) -> Iterator[int]:
        """The reports as the scalar sampler gives them."""
        for row in self.payloads():
            yield int.from_bytes(row.tobytes(), "little")


# What makes a batch of payloads and public words that arrived: it refuses invalid ones, or leaves them out.
Check = Callable[[Mechanism, NDArray[Any], NDArray[np.uint64] | None], Reports]


def native(array: NDArray[Any]) -> NDArray[Any]:
    """An array in the byte order of this machine, which is the only one that kernels read."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_mask(mechanism: Mechanism) -> bool:
    """Whether the reports of a mechanism are bit masks rather than indices."""
    return payload_outputs(mechanism) is None


def payload_outputs(mechanism: Mechanism) -> int | None:
    """The number of payloads, if they are numbered from 0."""
    return outputs_of(last_node(mechanism.channel))


def privatize(mechanism: Mechanism, values: Any, *, seed: int | None = None, threads: int | None = None) -> Reports:
    """Randomize many answers: secure by default, reproducible where a seed is given for a simulation."""
    codes = batch_codes(mechanism, values, threads=threads)
    stream = WordStream.secure(mechanism.words) if seed is None else WordStream.seeded(mechanism.words, seed)
    return draw(mechanism, codes, stream, threads=threads)


def draw(
    mechanism: Mechanism,
    codes: NDArray[Any],
    stream: WordStream,
    *,
    threads: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    bits: int = FINE,
) -> Reports:
    """The reports of these codes from these words."""
    channel, codes = mechanism.channel, native(codes)
    payload = empty_reports(channel, len(codes))
    public = np.empty((len(codes), 2), np.uint64) if channel.publics else None
    sample = _sampler_or_none(channel)
    first_column = 2 if public is not None else 0
    size = max(1, chunk_bytes // (8 * mechanism.words))

    def work(first: int, last: int) -> None:
        marks = np.zeros(min(size, last - first), np.uint8)
        pairs = zip(chunks(first, last, size), stream.chunks(first, last, size), strict=True)
        for (start, stop), words in pairs:
            ids = None
            if public is not None:
                ids = public[start:stop]
                copy_public(words, ids)
            redo = marks[: stop - start]
            if sample is None:
                redo[:] = 1
            else:
                sample(codes[start:stop], Draws(words, ids, redo, bits), first_column, payload[start:stop])
            if sample is not None and ids is not None:
                redo |= refused_ids(channel, ids)
            if redo.view(bool).any():
                for row in (start + np.flatnonzero(redo)).tolist():
                    words_of_row, payload[row] = _redo(mechanism, codes[row], stream, row, bits)
                    if public is not None:
                        public[row] = words_of_row
                redo[:] = 0

    run(work, len(codes), items_at_a_time(len(codes), size, threads), threads)
    return Reports(mechanism, payload, public, stream.simulated)


def _sampler_or_none(channel: Channel) -> Sample | None:
    """The vectorised sampler; a composition without one is drawn by the scalar sampler, with a warning."""
    try:
        return _sampler(channel)
    except NoBatchError as problem:
        warn(f"These reports are drawn one by one, which takes longer: {problem}", BatchWarning, stacklevel=3)
        return None


def _redo(mechanism: Mechanism, code: Any, stream: WordStream, report: int, bits: int) -> tuple[tuple[int, int], Any]:
    """A report whose draw was rejected in the kernel: the scalar sampler, reading on in the overflow range."""
    coins = TapeCoins(stream.rows(report, 1).tobytes(), stream.overflow(report), bits=bits)
    public, value = mechanism.draw(scalar_code(mechanism.channel, code), coins)
    if not is_mask(mechanism):
        return public, value
    width = lanes(mechanism.channel.payload_bits)
    return public, np.frombuffer(value.to_bytes(8 * width, "little"), "<u8")


def from_payloads(
    mechanism: Mechanism, payloads: NDArray[np.uint8], ids: NDArray[np.uint8] | None, check: Check | None = None
) -> Reports:
    """A batch from bytes as they arrive, one row each; every report is checked."""
    width = codec.payload_bytes(mechanism.channel)
    if payloads.ndim != 2 or payloads.shape[1] != width:
        raise ReportError(f"A payload of this mechanism has {width} bytes.")
    if is_mask(mechanism):
        payload: NDArray[Any] = masks_of(payloads)
    else:
        wide = np.zeros((len(payloads), 8), np.uint8)
        wide[:, :width] = payloads
        payload = wide.view("<u8").reshape(-1)
    public = None
    if mechanism.channel.publics:
        if ids is None or ids.shape != (len(payloads), codec.ID_BYTES):
            raise ReportError("Hashed reports come with their 16-byte ids.")
        public = np.ascontiguousarray(ids).view("<u8").astype(np.uint64, copy=False)
    return (check or checked)(mechanism, payload, public)


def checked(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
    """A batch in which every payload is a report of the mechanism."""
    wrong_payloads, wrong_ids = invalid(mechanism, payload, public)
    wrong = wrong_payloads | wrong_ids
    if wrong.any():
        raise ReportError(_invalid(np.flatnonzero(wrong)))
    return trusted(mechanism, payload, public)


def trusted(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
    """A batch of reports that were checked before."""
    outputs = payload_outputs(mechanism)
    final = payload if outputs is None else payload.astype(index_type(outputs), copy=False)
    return Reports(mechanism, final, public)


def invalid(
    mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which reports have a payload, and which an id, that no device of the mechanism sends."""
    outputs = payload_outputs(mechanism)
    if outputs is not None and (payload.ndim != 1 or payload.dtype.kind not in "iu"):
        raise ReportError("Reports of this mechanism come as a one-dimensional array of integers.")
    bits = mechanism.channel.payload_bits
    if outputs is None and (payload.ndim != 2 or payload.dtype != np.uint64 or payload.shape[1] != lanes(bits)):
        raise ReportError(f"Reports of this mechanism come as masks of {bits} bits.")
    wrong = invalid_reports(mechanism.channel, payload)
    ids = np.zeros(len(wrong), np.bool_) if public is None else refused_ids(mechanism.channel, public)
    return wrong, ids


def _invalid(places: NDArray[np.intp]) -> str:
    """The sentence for reports that no device of the mechanism can have sent; the payloads are not shown."""
    listed, more = ", ".join(map(str, places[:MAX_LISTED])), len(places) - MAX_LISTED
    subject = f"Report {listed} is" if len(places) == 1 else f"Reports {listed}{f' and {more} more' * (more > 0)} are"
    return f"{subject} invalid for this mechanism: no device sends such an id or payload."


def from_messages(mechanism: Mechanism, messages: Sequence[bytes]) -> Reports:
    """A batch of messages as devices send them: id, then payload."""
    width = codec.ID_BYTES + codec.payload_bytes(mechanism.channel)
    for place, message in enumerate(messages):
        if not isinstance(message, (bytes, bytearray)):
            raise ReportError(f"Report {place} must be bytes, not {type(message).__name__}.")
        if len(message) != width:
            raise ReportError(f"Report {place} has {len(message)} bytes, expected {width}.")
    table = np.frombuffer(b"".join(messages), np.uint8).reshape(-1, width)
    return from_payloads(mechanism, table[:, codec.ID_BYTES :], table[:, : codec.ID_BYTES])
