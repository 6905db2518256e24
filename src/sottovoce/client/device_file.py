"""The file of a device: its memos, its account of what was lost, and the reports that it made.

One SQLite file, readable by its owner alone. A change is one exclusive transaction that is on disk before anything is
made of it, so a device that crashes at any point, or two processes of it, neither draw again nor forget a loss.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from sottovoce.core.errors import DeviceFileError, PrivacyError

VERSION = 6
SECRET_BYTES = 32
PATIENCE = 30.0  # seconds that a device waits for another process
# Tables are ordered by hashes and random ids, without numbers: the file does not show what came first.
_TABLES = {
    1: (
        "CREATE TABLE device (one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL)",
        "CREATE TABLE mechanism (fingerprint BLOB PRIMARY KEY, cohort INTEGER NOT NULL,"
        " reports INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE answer (fingerprint BLOB, value BLOB, kept BLOB NOT NULL,"
        " PRIMARY KEY (fingerprint, value)) WITHOUT ROWID",
    ),
    2: (
        # The key is the id of a report, or the keyed hash of a value that is kept: each value is charged once.
        "CREATE TABLE charge (key BLOB PRIMARY KEY, study TEXT NOT NULL, owner TEXT NOT NULL,"
        " epsilon TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE report (id BLOB PRIMARY KEY, study TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,"
        " question TEXT NOT NULL, manifest TEXT NOT NULL, round INTEGER NOT NULL, arm INTEGER NOT NULL,"
        " epoch INTEGER NOT NULL, sealed INTEGER NOT NULL, token BLOB NOT NULL, payload BLOB NOT NULL,"
        " body BLOB NOT NULL, url TEXT NOT NULL, attempts INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID",
    ),
    3: (
        # What a study said about itself when it was answered first: a later round says the same.
        "CREATE TABLE study (root TEXT PRIMARY KEY, facts BLOB NOT NULL) WITHOUT ROWID",
        # A value that is kept is charged once, but counts in each study that got reports of it.
        "CREATE TABLE used (key BLOB, study TEXT, owner TEXT NOT NULL, PRIMARY KEY (key, study)) WITHOUT ROWID",
        "INSERT INTO used SELECT key, study, owner FROM charge",
    ),
    4: (
        # Another owner who claims the root of a study has a study of their own.
        "CREATE TABLE owned (root TEXT, owner TEXT, facts BLOB NOT NULL, PRIMARY KEY (root, owner)) WITHOUT ROWID",
        "INSERT INTO owned SELECT DISTINCT root, owner, facts FROM study JOIN used ON used.study = study.root",
        "DROP TABLE study",
        "ALTER TABLE owned RENAME TO study",
        "CREATE TABLE owned (key BLOB, study TEXT, owner TEXT, PRIMARY KEY (key, study, owner)) WITHOUT ROWID",
        "INSERT INTO owned SELECT key, study, owner FROM used",
        "DROP TABLE used",
        "ALTER TABLE owned RENAME TO used",
        # The mechanisms of a round that keeps memos. Older reports have none: their studies are not answered again.
        "ALTER TABLE report ADD COLUMN memos TEXT NOT NULL DEFAULT ''",
    ),
    5: (
        # The arm that was drawn for the next report of a manifest, before anything was asked.
        "CREATE TABLE drawn (manifest TEXT PRIMARY KEY, arm INTEGER NOT NULL) WITHOUT ROWID",
    ),
    6: (
        # The public number that decides in which waves of a repeated study the device answers, and when it was drawn.
        "CREATE TABLE turn (root TEXT, owner TEXT, number BLOB NOT NULL, joined INTEGER NOT NULL,"
        " PRIMARY KEY (root, owner)) WITHOUT ROWID",
    ),
}


class DeviceFile:
    """The file at a path; without a path the same tables in memory, for simulations."""

    __slots__ = ("_kept", "path")

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._kept: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was written."""
        return self._kept is not None if self.path is None else self.path.exists()

    @contextmanager
    def changed(self) -> Iterator[sqlite3.Connection]:
        """One exclusive transaction: afterwards all of it is on disk, or nothing."""
        try:
            database = self._opened()
            try:
                database.execute("BEGIN IMMEDIATE")
                _set_up(database)
                yield database
                database.execute("COMMIT")
            finally:
                if self._kept is None:
                    database.close()  # rolls back what was not committed
                elif database.in_transaction:
                    database.execute("ROLLBACK")
        except (OSError, sqlite3.Error) as error:
            raise DeviceFileError(
                f"The file of this device cannot be read or written ({type(error).__name__}), so it does not answer."
            ) from None

    def _opened(self) -> sqlite3.Connection:
        if self.path is None:
            if self._kept is None:
                # Simulations may send later from another thread, one after the other.
                self._kept = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                self._kept.deserialize(_tables_in_memory())
                _draw_secret(self._kept)
            return self._kept
        self._create(self.path)
        # Opened anew each time: a connection must not be shared by threads or cross a fork.
        database = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        database.execute("PRAGMA synchronous = EXTRA")
        # What is deleted is overwritten: a report that a person withdraws is gone.
        database.execute("PRAGMA secure_delete = ON")
        return database

    def _create(self, path: Path) -> None:
        """An empty file is an empty database; it belongs to its owner alone before anything is in it."""
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise PrivacyError("Others can read or write the file of this device: set its mode to 600.")


def secret_of(database: sqlite3.Connection) -> bytes:
    """The secret of the device, drawn when the file was made."""
    (secret,) = database.execute("SELECT secret FROM device").fetchone()
    if not isinstance(secret, bytes) or len(secret) != SECRET_BYTES:
        raise DeviceFileError("The file of this device is damaged, so it does not answer.")
    return secret


def _draw_secret(database: sqlite3.Connection) -> None:
    database.execute("INSERT INTO device VALUES (1, ?)", (os.urandom(SECRET_BYTES),))


@lru_cache(maxsize=1)
def _tables_in_memory() -> bytes:
    """The tables without a secret: a crowd of simulated devices would otherwise spend most of its time on them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        _make_tables(database, 0)
        return database.serialize()


def _make_tables(database: sqlite3.Connection, version: int) -> None:
    """Those that came after a version."""
    for later in range(version + 1, VERSION + 1):
        for statement in _TABLES[later]:
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")


def _set_up(database: sqlite3.Connection) -> None:
    """The tables and the secret where the file is new, and the later tables where it is older."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if not 0 <= version <= VERSION:
        raise DeviceFileError("The file of this device was written by another version, so it does not answer.")
    if version == VERSION:
        return
    _make_tables(database, version)
    if not version:
        _draw_secret(database)
