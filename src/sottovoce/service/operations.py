"""Operations on a store: status, verification, backup and restore, also while a collector is running."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import reports_of
from sottovoce.service import audit_log
from sottovoce.service.collector import UnknownStudyError
from sottovoce.service.intake import combined
from sottovoce.service.running_study import stored_tallies
from sottovoce.service.stores import schema
from sottovoce.service.stores.base import CHECKSUM_BYTES, PART, Store, StoreError, StudyRow, Transaction, first_bytes_of
from sottovoce.service.stores.sqlite import SQLiteStore


def find_study(work: Transaction, name: str | None) -> StudyRow:
    """The study with this id or name. Without either, the only study of the store."""
    rows = work.studies()
    if name is None and len(rows) == 1:
        return rows[0]
    for row in rows:
        if name is not None and name in (row.name, manifest_of(work, row).facts.name):
            return row
    if name is None:
        raise UnknownStudyError("The store has several studies or none: name one by its id.")
    raise UnknownStudyError("This store has no study with this id or name.")


def manifest_of(work: Transaction, row: StudyRow) -> Manifest:
    """The manifest of the current round."""
    return Manifest.from_spec(work.manifests(row.number)[-1])


def study_status(work: Transaction, row: StudyRow) -> dict[str, Any]:
    """The state and counts of a study, with refused reports by reason."""
    manifest = manifest_of(work, row)
    counts: Counter[int] = Counter()
    for epoch in work.epochs(row.number, row.round):
        counts.update(work.arm_counts(row.number, row.round, epoch))
    ((invited,),) = work.execute("SELECT COUNT(*) FROM invitations WHERE study = ?", (row.number,))
    return {
        "study": manifest.facts.name,
        "id": row.name,
        "state": row.state,
        "round": row.round,
        "reports": row.reports,
        "checksum": row.checksum.hex(),
        "quota": manifest.stage.quota,
        "arms": [
            {"name": arm.name, "method": arm.mechanism.name, "reports": counts[place]}
            for place, arm in enumerate(manifest.stage.arms)
        ],
        "refused": work.outcomes(row.number),
        "invitations": invited,
    }


def status(store: Store) -> dict[str, Any]:
    """The status of all studies of a store, and the number of administrative acts in its log."""
    with store.read() as work:
        return {
            "store": store.kind,
            "schema": schema.VERSION,
            "acts": sum(1 for _ in audit_log.entries(work)),
            "studies": [study_status(work, row) for row in work.studies()],
        }


def verify(store: Store) -> None:
    """Recompute redundant data and compare: ids give number and checksum, arms give the number."""
    with store.read() as work:
        for row in work.studies():
            checksum, count, begins = bytes(CHECKSUM_BYTES), 0, np.zeros(256, np.int64)
            for part in work.stored_ids(row.number):
                checksum, count, begins = combined(checksum, part), count + len(part), begins + first_bytes_of(part)
            counted = 0
            for manifest in map(Manifest.from_spec, work.manifests(row.number)):
                for epoch in work.epochs(row.number, manifest.number):
                    counted += reports_of(stored_tallies(work, row.number, manifest, epoch))
            if (checksum, count, count) != (row.checksum, row.reports, counted):
                raise StoreError(
                    f"Study {row.number} is inconsistent: {count} ids, {row.reports} reports, {counted} in"
                    " the arms, or another checksum."
                )
            if (begins != work.first_bytes(row.number)).any():
                raise StoreError(f"Study {row.number} is inconsistent: the counts of first bytes do not fit its ids.")
            if sum(work.arrivals(row.number).values()) > count:  # older versions counted no arrivals
                raise StoreError(f"Study {row.number} is inconsistent: more reports arrived than it has ids.")


def backup(store: Store, path: Path) -> int:
    """Copy a snapshot of any store into a new SQLite file; returns the number of rows."""
    taken = ParameterError("This backup file exists already. Name a new file.")
    if path.exists():
        raise taken
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")  # another backup may be under way
    try:
        with SQLiteStore(part) as copy:
            rows = _copied(store, copy)
            verify(copy)
        os.link(part, path)  # replaces nothing that came meanwhile
    except FileExistsError:
        raise taken from None
    finally:
        for old in (part, part.with_name(f"{part.name}-wal"), part.with_name(f"{part.name}-shm")):
            old.unlink(missing_ok=True)
    return rows


def restore(path: Path, store: Store) -> int:
    """Copy a backup into an empty store of any kind."""
    store.lock()
    with store.read() as work:
        if work.studies():
            raise ParameterError("This store has studies already. Restore into an empty store.")
    with SQLiteStore(path, create=False) as backed_up:
        rows = _copied(backed_up, store)
    verify(store)
    return rows


def _copied(source: Store, target: Store) -> int:
    total = 0
    with source.read() as reading, target.transaction() as writing:
        for table, columns in schema.TABLES.items():
            names = ", ".join(columns)
            marks = ", ".join("?" * len(columns))
            rows = reading.rows(f"SELECT {names} FROM {table}")
            while part := [tuple(map(_plain, row)) for row in islice(rows, PART)]:
                writing.many(f"INSERT INTO {table} ({names}) VALUES ({marks})", part)
                total += len(part)
    return total


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
