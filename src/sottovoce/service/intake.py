"""Settle each report of a group of batches in one transaction: counted once, a duplicate, or refused.

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
from sottovoce.service.arm_counts import ArmCounts, digests_of
from sottovoce.service.invitations import token_hash
from sottovoce.service.running_study import RunningStudy
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
    """A batch in the queue and its outcome: counts and failures, or a problem of the batch."""

    study: RunningStudy
    batch: Batch
    future: Any = None
    accepted: int = 0
    duplicates: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)
    problem: str | None = None

    def reset(self) -> None:
        """Clear the outcome before another attempt."""
        self.accepted = self.duplicates = 0
        self.failed, self.problem = [], None


@dataclass(slots=True)
class _Column:
    """The reports of one arm, from all submissions of a group."""

    arm_counts: ArmCounts
    places: list[tuple[Submission, int]]
    ids: list[bytes]
    digests: list[int]
    valid: NDArray[np.bool_]
    reports: Any
    assigned: NDArray[np.bool_]


def epoch_problem(running: RunningStudy, epoch: int, today: date) -> str | None:
    """The problem of an epoch, or None."""
    facts = running.manifest.facts
    counted = facts.counted(today) if facts.tells_epoch else range(1)
    return TOO_OLD if epoch < counted.start else IN_FUTURE if epoch >= counted.stop else None


def refusal(running: RunningStudy, batch: Batch, today: date) -> str | None:
    """The code of why a batch is refused, or None."""
    facts, day = running.manifest.facts, today.isoformat()
    if running.row.state not in (OPEN, "draft") or facts.is_over(today):
        return STUDY_CLOSED
    if running.row.state != OPEN or (facts.start is not None and day < facts.start):
        return NOT_OPEN
    if batch.manifest != running.manifest.prefix:
        return OUTDATED
    return _shape_problem(running, batch) or (FAILED if running.failed else epoch_problem(running, batch.epoch, today))


def _shape_problem(running: RunningStudy, batch: Batch) -> str | None:
    """The code of a batch that no device sends: wrong round, unknown arm, wrong width, or missing tokens."""
    if batch.round != running.manifest.number or batch.arm >= len(running.arm_counts):
        return SHAPE
    if running.manifest.facts.collection.invitations and not batch.tokens:
        return TOKEN_MISSING
    if batch.width != running.arm_counts[batch.arm].width or (
        batch.tokens and not running.manifest.facts.collection.invitations
    ):
        return SHAPE
    return None


def take(work: Transaction, running: RunningStudy, group: Sequence[Submission], today: date) -> Callable[[], None]:
    """Settle every report of a study's batches. Returns the update of memory, to be run after the commit."""
    running.noted(work.study(running.number))
    columns: dict[tuple[int, int], list[Submission]] = {}
    for one in group:
        one.reset()
        code = refusal(running, one.batch, today)
        if code is None:
            columns.setdefault((running.epoch_of(one.batch), one.batch.arm), []).append(one)
        else:
            _late(work, running, one, code)
    if not columns:
        _note_failures(work, running, group)
        return lambda: None
    read = [_read(running.counts_in(work, epoch)[arm], own) for (epoch, arm), own in columns.items()]
    known, refused = _stored(work, running, read, today)
    epoch = running.manifest.facts.epoch(today)
    return _counted(work, running, group, [(column, _settle(column, known, refused)) for column in read], epoch)


def _late(work: Transaction, running: RunningStudy, one: Submission, code: str) -> None:
    """Settle a batch that is not counted now. Its reports that were counted before are duplicates or conflicts."""
    ids = _split(one.batch.ids, ID_BYTES)
    known = work.known(running.number, ids) if code in _LATE or code == FAILED else {}
    is_refused_whole = code not in (TOO_OLD, IN_FUTURE)
    if (is_refused_whole and not known) or (code == FAILED and len(known) < len(ids)):
        one.problem = code
        return
    for index, (report, digest) in enumerate(zip(ids, digests_of(one.batch), strict=True)):
        if report not in known:
            one.failed.append((index, _LATE[code]))
        elif known[report] in (None, digest):
            one.duplicates += 1
        else:
            one.failed.append((index, CONFLICT))


def _read(arm_counts: ArmCounts, own: Sequence[Submission]) -> _Column:
    ids = b"".join([one.batch.ids for one in own])
    payloads = b"".join([one.batch.payloads for one in own])
    valid, reports = arm_counts.read(ids, payloads)
    return _Column(
        arm_counts,
        [(one, index) for one in own for index in range(len(one.batch))],
        _split(ids, ID_BYTES),
        [arm_counts.digest(payload) for payload in _split(payloads, arm_counts.width)],
        valid,
        reports,
        arm_counts.assigned(ids),
    )


def _split(column: bytes, width: int) -> list[bytes]:
    return [column[place : place + width] for place in range(0, len(column), width)]


def _stored(
    work: Transaction, running: RunningStudy, columns: Sequence[_Column], today: date
) -> tuple[Known, dict[bytes, str]]:
    """Store new ids. Returns the ids known before, and the ids whose invitation is refused."""
    first: dict[bytes, int] = {}
    invited: dict[bytes, bytes] = {}
    collection = running.manifest.facts.collection
    for column in columns:
        good = (column.valid & column.assigned).tolist()
        for place, report in enumerate(column.ids):
            if good[place] and report not in first:
                first[report] = column.digests[place]
                if collection.invitations:
                    one, index = column.places[place]
                    invited[report] = token_hash(
                        one.batch.tokens[index * TOKEN_BYTES : (index + 1) * TOKEN_BYTES], running.manifest.study
                    )
    refused: dict[bytes, str] = {}
    known: Known = {}
    if collection.invitations:
        known = work.known(running.number, list(first))
        refused = _spend(work, running.number, {one: invited[one] for one in first if one not in known})
    new = [(one, digest) for one, digest in first.items() if one not in known and one not in refused]
    known |= work.add_reports(running.number, running.manifest.facts.epoch(today), new)
    return known, refused


def _spend(work: Transaction, study: int, invited: dict[bytes, bytes]) -> dict[bytes, str]:
    """Use up one invitation for each new report; returns the reports without a valid one."""
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
    """Record the outcome of every report in its submission; returns which are counted.

    The first valid report of a new id is counted. Counted ids are added to `known` at once, so duplicates within a
    batch are noticed.
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
    running: RunningStudy,
    group: Sequence[Submission],
    kept: Sequence[tuple[_Column, NDArray[np.bool_]]],
    epoch: int,
) -> Callable[[], None]:
    """Store the new counts. Returns the update of memory, to be run after the commit."""
    additions: list[tuple[ArmCounts, int, NDArray[np.int64]]] = []
    ids: list[bytes] = []
    number = running.manifest.number
    for column, keep in kept:
        count = int(keep.sum())
        if count:
            arm_counts = column.arm_counts
            more = arm_counts.count(column.reports, keep[column.valid])
            key = ArmKey(running.number, number, arm_counts.epoch, arm_counts.arm)
            work.set_blocks(key, arm_counts.blocks(more))
            work.set_arm(key, arm_counts.reports + count)
            additions.append((arm_counts, count, more))
            ids += [column.ids[place] for place in np.flatnonzero(keep).tolist()]
    row, begins = running.row, np.zeros(256, np.int64)
    if ids:
        row = replace(row, reports=row.reports + len(ids), checksum=combined(row.checksum, ids))
        work.count(running.number, row.reports, row.checksum)
        work.add_arrivals(running.number, epoch, len(ids))
        begins = first_bytes_of(ids)
        work.set_first_bytes(running.number, running.first_bytes + begins)
    _note_failures(work, running, group)

    def apply() -> None:
        running.noted(row)
        running.first_bytes = running.first_bytes + begins
        for arm_counts, count, more in additions:
            arm_counts.add(count, more)

    return apply


def combined(checksum: bytes, ids: Sequence[bytes]) -> bytes:
    """The checksum after more ids: the XOR of the SHA-256 of all ids, in any order."""
    digests = b"".join([checksum, *(hashlib.sha256(one).digest() for one in ids)])
    digest: NDArray[np.uint64] = np.bitwise_xor.reduce(np.frombuffer(digests, np.uint64).reshape(-1, 4), axis=0)
    return digest.tobytes()


def _note_failures(work: Transaction, running: RunningStudy, group: Sequence[Submission]) -> None:
    counts = Counter(code for one in group for _, code in one.failed)
    if counts:
        work.add_outcomes(running.number, sorted(counts.items()))
