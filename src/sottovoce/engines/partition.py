"""The part of counting that every engine shares: a stream of Arrow batches becomes a few rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import Reports as Batch
from sottovoce.fast.batch import from_payloads, invalid, is_mask, trusted
from sottovoce.fast.sha256 import digests
from sottovoce.files.arms import Arms
from sottovoce.files.columns import binary, fixed, is_bytes, matrix, numbers, plain, plain_batch
from sottovoce.files.counts import CHECKSUM, CONFLICTS, NO_ARM, REPEATED, REPORTS, SCHEMA, Reason, strict_refusal
from sottovoce.tally.count import count_cells
from sottovoce.tally.tally import SIMULATED_ROW

ARM_BYTES = 4
# A row between checking and counting: its id, why it is refused, and its arm and payload as bytes, by which the rows
# of an id are ordered. Refused rows leave out id and payload, so that they fall into few groups.
CHECKED = pa.schema([("id", pa.binary()), ("mark", pa.int64()), ("bytes", pa.binary())])
CHECKED_COLUMNS = "id binary, mark long, bytes binary"
REFUSED = pa.schema([("arm", pa.int64()), ("id", pa.binary()), ("reason", pa.string())])
REFUSED_COLUMNS = "arm long, id binary, reason string"
_REASONS = 16
_LIMIT = 1 << 63


class Parsed(NamedTuple):
    """Rows of one arm: their places in the batch, payloads as kernels read them, and why each is refused."""

    arm: int
    places: NDArray[np.intp]
    payload: NDArray[Any]
    ids: NDArray[np.uint8] | None
    reasons: NDArray[np.uint8]


class PartitionCounter:
    """One running set of integers for each arm, and one batch of rows at the end."""

    def __init__(
        self, arms: Arms, *, simulated: bool = False, strict: bool = False, threads: int | None = None
    ) -> None:
        self._arms, self._simulated, self._strict, self._threads = arms, simulated, strict, threads
        self._cells: dict[int, NDArray[np.int64]] = {}
        self._extra: Counter[tuple[int, int]] = Counter()
        self._words: dict[int, NDArray[np.uint64]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Reports as they are, each counted."""
        for part in parsed(self._arms, batch):
            self._refuse(part.arm, Counter(part.reasons[part.reasons > 0].tolist()))
            if part.arm != NO_ARM:
                self._count(part.arm, part.payload, part.ids, part.reasons == 0)

    def add_kept(self, batch: pa.RecordBatch) -> None:
        """Rows of `CHECKED`, one for each id, with `copies` and whether there is a `conflict`."""
        marks = batch.column("mark").to_numpy(zero_copy_only=False)
        copies = batch.column("copies").to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(marks).tolist():
            arm, reason = divmod(int(marks[row]), _REASONS)
            self._refuse(arm - 1, {reason: int(copies[row])})
        kept = batch if not marks.any() else batch.filter(pa.array(marks == 0))
        if not kept.num_rows:
            return
        heads = _head(kept.column("bytes"))
        copies, conflict = copies[marks == 0], kept.column("conflict").to_numpy(zero_copy_only=False)
        for arm in np.unique(heads).tolist():
            own = heads == arm
            mechanism = self._arms.mechanisms[arm]
            rows = kept if own.all() else kept.filter(pa.array(own))
            width = codec.payload_bytes(mechanism.channel)
            headed, _ = fixed(rows.column("bytes"), ARM_BYTES + width)
            ids, _ = fixed(rows.column("id"), codec.ID_BYTES)
            payload = from_payloads(mechanism, headed[:, ARM_BYTES:], ids, trusted).payload
            self._count(arm, payload, ids, np.ones(len(payload), np.bool_))
            self._extra[arm, REPEATED] += int(copies[own].sum()) - len(payload)
            self._extra[arm, CONFLICTS] += int(np.count_nonzero(conflict[own]))

    def _refuse(self, arm: int, counts: Any) -> None:
        for number, count in counts.items():
            if self._strict:
                raise strict_refusal(Reason(number).words, count)
            self._extra[arm, Reason(number).cell] += count

    def _count(self, arm: int, payload: NDArray[Any], ids: NDArray[np.uint8] | None, keep: NDArray[np.bool_]) -> None:
        mechanism = self._arms.mechanisms[arm]
        if not keep.all():
            payload, ids = payload[keep], None if ids is None else ids[keep]
        counted = count_cells(trusted(mechanism, payload, _public(mechanism, ids)), threads=self._threads)
        if arm in self._cells:
            self._cells[arm] += counted
        else:
            self._cells[arm] = counted
        self._extra[arm, REPORTS] += len(payload)
        if ids is not None:
            word = np.bitwise_xor.reduce(digests(ids), axis=0)
            self._words[arm] = self._words.get(arm, np.zeros(4, np.uint64)) ^ word

    def rows(self) -> pa.RecordBatch:
        """All counts; every arm has the row of its number of reports, even where there are none."""
        parts = []
        for arm, mechanism in enumerate(self._arms.mechanisms):
            few = {REPORTS: self._extra[arm, REPORTS]}
            if self._simulated and few[REPORTS]:
                few[SIMULATED_ROW] = 1
            few |= {cell: n for (own, cell), n in self._extra.items() if own == arm and n}
            if arm in self._words:
                few |= dict(zip(CHECKSUM, self._words[arm].view(np.int64).tolist(), strict=True))
            cells = self._cells.get(arm, np.zeros(0, np.int64))
            places = np.flatnonzero(cells)
            parts.append(
                _rows(mechanism.fingerprint, arm, [*few, *places.tolist()], [*few.values(), *cells[places].tolist()])
            )
        unknown = {cell: n for (arm, cell), n in self._extra.items() if arm == NO_ARM}
        parts.append(_rows("", NO_ARM, list(unknown), list(unknown.values())))
        return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def checked(arms: Arms, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `CHECKED`, so that an engine can group them by id."""
    for batch in batches:
        for part in parsed(arms, batch):
            marks = np.where(part.reasons > 0, (part.arm + 1) * _REASONS + part.reasons.astype(np.int64), 0)
            valid = marks == 0
            if part.arm == NO_ARM:
                headed, ids = pa.nulls(len(marks), pa.binary()), pa.nulls(len(marks), pa.binary())
            else:
                payload = Batch(arms.mechanisms[part.arm], part.payload).payloads()
                headed = np.empty((len(marks), ARM_BYTES + payload.shape[1]), np.uint8)
                headed[:, :ARM_BYTES] = np.frombuffer(part.arm.to_bytes(ARM_BYTES, "big"), np.uint8)
                headed[:, ARM_BYTES:] = payload
                headed, ids = _binary(headed, valid), _binary(part.ids, valid)
            yield pa.RecordBatch.from_arrays([ids, pa.array(marks), headed], schema=CHECKED)


def refused(arms: Arms, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every row that is not counted, with the reason: its arm and id as they came, not its payload."""
    for batch in batches:
        for part in parsed(arms, batch):
            wrong = np.flatnonzero(part.reasons)
            if not len(wrong):
                continue
            places = pa.array(part.places[wrong])
            there = [name for name in ("arm", "id") if name in batch.schema.names]
            came = {name: plain(batch.column(name)).take(places) for name in there}
            columns = [
                _as_they_came(came["arm"]) if "arm" in came else pa.array(np.full(len(wrong), part.arm)),
                came["id"].cast(pa.binary()) if "id" in came else pa.nulls(len(wrong), pa.binary()),
                pa.array([Reason(number).words for number in part.reasons[wrong].tolist()]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=REFUSED)


def _as_they_came(arms: Any) -> Any:
    """Numbers of arms; none where 64 bits with a sign do not hold them."""
    try:
        return arms.cast(pa.int64())
    except pa.ArrowInvalid:
        values = [None if one is None else int(one) for one in arms.to_pylist()]
        return pa.array([one if one is not None and abs(one) < _LIMIT else None for one in values], pa.int64())


# --- reading columns ----------------------------------------------------------------------------------------
def parsed(arms: Arms, batch: pa.RecordBatch) -> Iterator[Parsed]:
    """The rows of a batch by arm, each with the first reason that speaks against it."""
    batch = plain_batch(batch)
    column = batch.schema.names[-1]
    if len(arms.mechanisms) == 1 and "arm" not in batch.schema.names:
        yield _parsed(arms, 0, np.arange(batch.num_rows), batch, column)
        return
    if "arm" not in batch.schema.names:
        raise ReportError("Reports of several arms come with a column 'arm'.")
    marks = numbers(batch.column("arm"), "arm")
    known = ~marks[1] & (marks[0] >= 0) & (marks[0] < len(arms.mechanisms))
    if not known.all():
        places = np.flatnonzero(~known)
        reasons = np.full(len(places), Reason.ARM, np.uint8)
        yield Parsed(NO_ARM, places, np.zeros(len(places), np.uint8), None, reasons)
    for arm in np.unique(marks[0][known]).tolist():
        places = np.flatnonzero(known & (marks[0] == arm))
        yield _parsed(
            arms, arm, places, batch if len(places) == batch.num_rows else batch.take(pa.array(places)), column
        )


def _parsed(arms: Arms, arm: int, places: NDArray[np.intp], batch: pa.RecordBatch, column: str) -> Parsed:
    mechanism = arms.mechanisms[arm]
    ids, good_ids = None, np.ones(batch.num_rows, np.bool_)
    if "id" in batch.schema.names:
        ids, good_ids = fixed(batch.column("id"), codec.ID_BYTES)
    elif mechanism.channel.publics or arms.assigns:
        raise ReportError("The reports need a column 'id': it holds their public words, or their arm.")
    payload, good_lengths = _payload(mechanism, batch.column(column), column)
    impossible, unused = invalid(mechanism, payload, _public(mechanism, ids))
    reasons = np.zeros(batch.num_rows, np.uint8)
    if arms.assigns and ids is not None:
        reasons[arms.assigned(ids) != arm] = Reason.OTHER_ARM
    # The last one that is written stands.
    for reason, wrong in (
        (Reason.PAYLOAD, impossible),
        (Reason.UNUSED_ID, unused),
        (Reason.LENGTH, ~good_lengths),
        (Reason.ID, ~good_ids),
    ):
        reasons[wrong] = reason
    return Parsed(arm, places, payload, ids, reasons)


def _payload(mechanism: Mechanism, column: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Payloads as kernels read them; zeros where a cell is empty or of a wrong length."""
    if is_bytes(column.type):
        width = codec.payload_bytes(mechanism.channel)
        rows, good = fixed(column, width)
        ids = np.zeros((len(rows), codec.ID_BYTES), np.uint8) if mechanism.channel.publics else None
        # In its widest type, and checked later: a payload that is too large must not be cut to fit.
        return from_payloads(mechanism, rows, ids, Batch).payload, good
    if is_mask(mechanism):
        raise ReportError(f"The column {name!r} must hold bytes: reports of this mechanism are masks.")
    payloads, empty = numbers(column, name)
    return payloads, ~empty


def _head(column: Any) -> NDArray[np.int64]:
    """The arm at the beginning of each row's bytes."""
    heads = matrix(pc.binary_slice(column, 0, ARM_BYTES), ARM_BYTES)
    return heads.copy().view(">u4").reshape(-1).astype(np.int64)


def _binary(rows: NDArray[np.uint8] | None, valid: NDArray[np.bool_]) -> Any:
    """Rows as bytes of variable length; empty where a report is refused."""
    if rows is None:
        raise ReportError("Repeated reports are found by their ids: there is no column 'id'.")
    data = binary(rows)
    return (data if valid.all() else pc.if_else(pa.array(valid), data, None)).cast(pa.binary())


def _public(mechanism: Mechanism, ids: NDArray[np.uint8] | None) -> NDArray[np.uint64] | None:
    if not mechanism.channel.publics or ids is None:
        return None
    return np.ascontiguousarray(ids).view("<u8").astype(np.uint64, copy=False)


def _rows(fingerprint: str, arm: int, cells: list[int], counts: list[int]) -> pa.RecordBatch:
    columns = [
        pa.array([fingerprint] * len(cells), pa.string()),
        pa.array([arm] * len(cells), pa.int32()),
        pa.array(cells, pa.int64()),
        pa.array(counts, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
