"""What becomes of each report of a group of batches, in one transaction: counted once, a duplicate, or refused.

An id that is stored already decides first. So a device that sends the same bytes again, because it got no answer,
learns that its report was counted, also after its round, its epoch or the study has ended.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.exchange.manifest import ID_BYTES
from sottovoce.core.exchange.wire import TOKEN_BYTES, Batch
from sottovoce.service.course import Course
from sottovoce.service.invitations import token_hash
from sottovoce.service.lanes import Lane, digests_of
from sottovoce.service.stores.base import OPEN, ArmKey, Known, Transaction, first_bytes_of

# Codes of single reports
CONFLICT, TOO_OLD, IN_FUTURE, ROUND_CLOSED = "conflict", "epoch_too_old", "epoch_in_future", "round_closed"
INVALID, WRONG_ARM, SPENT, UNKNOWN_TOKEN = "invalid_payload", "wrong_arm", "token_spent", "token_unknown"
# Codes of whole batches
OUTDATED, STUDY_CLOSED, NOT_OPEN, FAILED = "outdated_manifest", "study_closed", "not_open", "round_failed"
SHAPE, TOKEN_MISSING = "invalid_batch", "token_missing"
# Of these batches some reports may have been counted before; what else they hold is too late.
_LATE = {OUTDATED: ROUND_CLOSED, STUDY_CLOSED: ROUND_CLOSED, TOO_OLD: TOO_OLD, IN_FUTURE: IN_FUTURE}


@dataclass(slots=True, eq=False)
class Submission:
    """A batch on its way, and what became of it: counts and failures, or a problem of all of it."""

    course: Course
    batch: Batch
    future: Any = None
    accepted: int = 0
    duplicates: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)
    problem: str | None = None

    def reset(self) -> None:
        """Before another attempt."""
        self.accepted = self.duplicates = 0
        self.failed, self.problem = [], None


@dataclass(slots=True)
class _Column:
    """The reports of one lane, of all submissions of a group."""

    lane: Lane
    places: list[tuple[Submission, int]]
    ids: list[bytes]
    digests: list[int]
    valid: NDArray[np.bool_]
    reports: Any
    assigned: NDArray[np.bool_]


def epoch_problem(course: Course, epoch: int, today: date) -> str | None:
    """Reports of this and the last epoch are taken, and clocks may be one epoch fast."""
    now = course.manifest.facts.collection.epoch(today)
    return TOO_OLD if epoch < now - 1 else IN_FUTURE if epoch > now + 1 else None


def refusal(course: Course, batch: Batch, today: date) -> str | None:
    """Why a batch is not counted, if so."""
    facts, day = course.manifest.facts, today.isoformat()
    if course.row.state not in (OPEN, "draft") or (facts.end is not None and day > facts.end):
        return STUDY_CLOSED
    if course.row.state != OPEN or (facts.start is not None and day < facts.start):
        return NOT_OPEN
    if batch.manifest != course.manifest.prefix:
        return OUTDATED
    return _shape_problem(course, batch) or (FAILED if course.failed else epoch_problem(course, batch.epoch, today))


def _shape_problem(course: Course, batch: Batch) -> str | None:
    """What no device sends: another round than that of the manifest, an unknown arm, payloads of another width."""
    if batch.round != course.manifest.number or batch.arm >= len(course.lanes):
        return SHAPE
    if course.manifest.facts.collection.invitations and not batch.tokens:
        return TOKEN_MISSING
    if batch.width != course.lanes[batch.arm].width or (
        batch.tokens and not course.manifest.facts.collection.invitations
    ):
        return SHAPE
    return None


def take(work: Transaction, course: Course, group: Sequence[Submission], today: date) -> Callable[[], None]:
    """Settle every report of a study's batches. Returns what is to be done in memory once the commit is durable."""
    course.noted(work.study(course.number))
    columns: dict[int, list[Submission]] = {}
    for one in group:
        one.reset()
        found = refusal(course, one.batch, today)
        if found is None:
            columns.setdefault(one.batch.arm, []).append(one)
        else:
            _late(work, course, one, found)
    if not columns:
        _note_failures(work, course, group)
        return lambda: None
    read = [_read(course.lanes[arm], own) for arm, own in columns.items()]
    known, refused = _stored(work, course, read, today)
    return _counted(work, course, group, [(column, _settle(column, known, refused)) for column in read])


def _late(work: Transaction, course: Course, one: Submission, code: str) -> None:
    """A batch that is not counted now: what of it was counted before is a duplicate, or a conflict."""
    ids = _split(one.batch.ids, ID_BYTES)
    known = work.known(course.number, ids) if code in _LATE or code == FAILED else {}
    whole = code not in (TOO_OLD, IN_FUTURE)
    if (whole and not known) or (code == FAILED and len(known) < len(ids)):
        one.problem = code
        return
    for index, (report, digest) in enumerate(zip(ids, digests_of(one.batch), strict=True)):
        if report not in known:
            one.failed.append((index, _LATE[code]))
        elif known[report] in (None, digest):
            one.duplicates += 1
        else:
            one.failed.append((index, CONFLICT))


def _read(lane: Lane, own: Sequence[Submission]) -> _Column:
    ids = b"".join([one.batch.ids for one in own])
    payloads = b"".join([one.batch.payloads for one in own])
    valid, reports = lane.read(ids, payloads)
    return _Column(
        lane,
        [(one, index) for one in own for index in range(len(one.batch))],
        _split(ids, ID_BYTES),
        [lane.digest(payload) for payload in _split(payloads, lane.width)],
        valid,
        reports,
        lane.assigned(ids),
    )


def _split(column: bytes, width: int) -> list[bytes]:
    return [column[place : place + width] for place in range(0, len(column), width)]


def _stored(
    work: Transaction, course: Course, columns: Sequence[_Column], today: date
) -> tuple[Known, dict[bytes, str]]:
    """Store the ids that are new. Returns those that were known before, and those whose invitation is not good."""
    first: dict[bytes, int] = {}
    invited: dict[bytes, bytes] = {}
    collection = course.manifest.facts.collection
    for column in columns:
        good = (column.valid & column.assigned).tolist()
        for place, report in enumerate(column.ids):
            if good[place] and report not in first:
                first[report] = column.digests[place]
                if collection.invitations:
                    one, index = column.places[place]
                    invited[report] = token_hash(
                        one.batch.tokens[index * TOKEN_BYTES : (index + 1) * TOKEN_BYTES], course.manifest.study
                    )
    refused: dict[bytes, str] = {}
    known: Known = {}
    if collection.invitations:
        known = work.known(course.number, list(first))
        refused = _spend(work, course.number, {one: invited[one] for one in first if one not in known})
    new = [(one, digest) for one, digest in first.items() if one not in known and one not in refused]
    known |= work.add_reports(course.number, collection.epoch(today), new)
    return known, refused


def _spend(work: Transaction, study: int, invited: dict[bytes, bytes]) -> dict[bytes, str]:
    """Use up the invitations of new reports, one for each; returns the reports that have none."""
    hashes = list(set(invited.values()))
    good, issued = work.chosen("invitations", study, hashes), work.chosen("issued", study, hashes)
    refused: dict[bytes, str] = {}
    used: set[bytes] = set()
    for report, token in invited.items():
        if token not in issued:
            refused[report] = UNKNOWN_TOKEN
        elif token not in good or token in used:
            refused[report] = SPENT
        else:
            used.add(token)
    work.spend(study, used)
    return refused


def _settle(column: _Column, known: Known, refused: dict[bytes, str]) -> NDArray[np.bool_]:
    """Tell every report's submission what became of it; returns which are counted.

    The first valid report of an id that was not stored before is counted. It takes the id out of nobody's hands: the
    ids of a column are marked in `known` as soon as they are counted.
    """
    keep = np.zeros(len(column.ids), np.bool_)
    valid, assigned = column.valid.tolist(), column.assigned.tolist()
    for place, (report, digest) in enumerate(zip(column.ids, column.digests, strict=True)):
        one, index = column.places[place]
        if not valid[place]:
            one.failed.append((index, INVALID))
        elif not assigned[place]:
            one.failed.append((index, WRONG_ARM))
        elif report in known:
            if known[report] in (None, digest):
                one.duplicates += 1
            else:
                one.failed.append((index, CONFLICT))
        elif report in refused:
            one.failed.append((index, refused[report]))
        else:
            known[report] = digest
            keep[place] = True
            one.accepted += 1
    return keep


def _counted(
    work: Transaction,
    course: Course,
    group: Sequence[Submission],
    kept: Sequence[tuple[_Column, NDArray[np.bool_]]],
) -> Callable[[], None]:
    """Store the new counts; memory follows once they are durable."""
    additions: list[tuple[Lane, int, NDArray[np.int64]]] = []
    ids: list[bytes] = []
    number = course.manifest.number
    for column, keep in kept:
        count = int(keep.sum())
        if count:
            lane = column.lane
            more = lane.count(column.reports, keep[column.valid])
            key = ArmKey(course.number, number, lane.epoch, lane.arm)
            work.set_blocks(key, lane.blocks(more))
            work.set_arm(key, lane.reports + count)
            additions.append((lane, count, more))
            ids += [column.ids[place] for place in np.flatnonzero(keep).tolist()]
    row, begins = course.row, np.zeros(256, np.int64)
    if ids:
        row = replace(row, reports=row.reports + len(ids), checksum=combined(row.checksum, ids))
        work.count(course.number, row.reports, row.checksum)
        begins = first_bytes_of(ids)
        work.set_first_bytes(course.number, course.first_bytes + begins)
    _note_failures(work, course, group)

    def apply() -> None:
        course.noted(row)
        course.first_bytes = course.first_bytes + begins
        for lane, count, more in additions:
            lane.add(count, more)

    return apply


def combined(checksum: bytes, ids: Sequence[bytes]) -> bytes:
    """The checksum with further ids: the XOR of the SHA-256 of all of them, in any order."""
    digests = b"".join([checksum, *(hashlib.sha256(one).digest() for one in ids)])
    whole: NDArray[np.uint64] = np.bitwise_xor.reduce(np.frombuffer(digests, np.uint64).reshape(-1, 4), axis=0)
    return whole.tobytes()


def _note_failures(work: Transaction, course: Course, group: Sequence[Submission]) -> None:
    counts = Counter(code for one in group for _, code in one.failed)
    if counts:
        work.add_outcomes(course.number, sorted(counts.items()))
