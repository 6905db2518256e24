"""The mixer keeps sealed reports until a batch of a round is full, then sends them in random order.

A row is a seal and what stands before it, the prefix of its manifest and its wave, found by its hash: no address, no
time, no order of arrival. Which seals
are a batch is written down before the first is sent, and stays until the collector has acknowledged all of them. After
a crash the same batch is passed on again, and the collector counts it once. Seals that come meanwhile wait for the next
batch: sent along with one that was seen before, they would be the only new ones, and hidden among themselves only.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from sottovoce.core.errors import CollectorError

PASSED_AT_ONCE = 500  # seals of one request, and bytes
BYTES_AT_ONCE = 200_000


class Mixer:
    """Seals in an SQLite file, and the open manifest of each study."""

    def __init__(self, path: str) -> None:
        self._path = path
        with suppress(FileExistsError):  # an empty file is an empty database, and belongs to its owner alone
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with self._changed() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS seal (hash BLOB PRIMARY KEY, study TEXT NOT NULL, prefix BLOB NOT NULL,"
                " sealed BLOB NOT NULL, begun INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID"
            )
            database.execute("CREATE TABLE IF NOT EXISTS manifest (study TEXT PRIMARY KEY, content BLOB NOT NULL)")
            if "begun" not in {row[1] for row in database.execute("PRAGMA table_info(seal)")}:  # of an earlier version
                database.execute("ALTER TABLE seal ADD COLUMN begun INTEGER NOT NULL DEFAULT 0")

    @contextmanager
    def _changed(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA secure_delete = ON")
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        finally:
            database.close()

    def manifest(self, study: str) -> bytes | None:
        """The open manifest of a study."""
        with self._changed() as database:
            row = database.execute("SELECT content FROM manifest WHERE study = ?", (study,)).fetchone()
        return None if row is None else bytes(row[0])

    def open_manifest(self, study: str, content: bytes, *, instead_of: bytes | None) -> bool:
        """Store the open manifest of a study. False if a manifest other than `instead_of` is open."""
        with self._changed() as database:
            row = database.execute("SELECT content FROM manifest WHERE study = ?", (study,)).fetchone()
            if (None if row is None else bytes(row[0])) != instead_of:
                return False
            database.execute("INSERT OR REPLACE INTO manifest VALUES (?, ?)", (study, content))
        return True

    def take(self, study: str, prefix: bytes, sealed: bytes) -> bool:
        """Store a seal durably. False if it was stored already."""
        with self._changed() as database:
            row = (hashlib.sha256(sealed).digest(), study, prefix, sealed)
            return database.execute("INSERT OR IGNORE INTO seal VALUES (?, ?, ?, ?, 0)", row).rowcount == 1

    def waiting(self) -> dict[tuple[str, bytes], int]:
        """The number of waiting seals by study and manifest."""
        with self._changed() as database:
            rows = database.execute("SELECT study, prefix, COUNT(*) FROM seal GROUP BY study, prefix").fetchall()
        return {(study, bytes(prefix)): count for study, prefix, count in rows}

    def drop(self, study: str, prefix: bytes) -> None:
        """Delete the waiting seals of a manifest, or of one of its waves."""
        with self._changed() as database:
            database.execute("DELETE FROM seal WHERE study = ? AND prefix = ?", (study, prefix))

    def pass_on(self, study: str, prefix: bytes, least: int, send: Callable[[bytes], None]) -> int:
        """Send all seals of a manifest in random order if there are enough; returns the number sent.

        `send` raises `CollectorError` unless the collector has acknowledged; then exactly this batch is sent again.
        """
        with self._changed() as database:
            rows = _batch(database, study, prefix, begun=1)
            if not rows:
                rows = _batch(database, study, prefix, begun=0)
                if len(rows) < least:
                    return 0
                database.executemany("UPDATE seal SET begun = 1 WHERE hash = ?", [(one,) for one, _ in rows])
        if not rows:
            return 0
        secrets.SystemRandom().shuffle(rows)
        step = max(1, min(PASSED_AT_ONCE, BYTES_AT_ONCE // len(rows[0][1])))
        for place in range(0, len(rows), step):
            send(b"".join(bytes(sealed) for _, sealed in rows[place : place + step]))
        with self._changed() as database:
            database.executemany("DELETE FROM seal WHERE hash = ?", [(one,) for one, _ in rows])
        return len(rows)


def _batch(database: sqlite3.Connection, study: str, prefix: bytes, *, begun: int) -> list[tuple[bytes, bytes]]:
    """The seals of an unfinished batch, or the waiting seals."""
    wanted = "SELECT hash, sealed FROM seal WHERE study = ? AND prefix = ? AND begun = ?"
    return database.execute(wanted, (study, prefix, begun)).fetchall()


def pass_on_due(mixer: Mixer, least_of: Callable[[str, bytes], int | None], send: Callable[[str, bytes], None]) -> int:
    """Pass on every batch that is large enough. Collectors that do not answer are tried again next time."""
    passed = 0
    for study, prefix in mixer.waiting():
        least = least_of(study, prefix)
        if least is None:
            continue
        try:
            passed += mixer.pass_on(study, prefix, least, partial(send, study))
        except CollectorError:
            continue
    return passed
