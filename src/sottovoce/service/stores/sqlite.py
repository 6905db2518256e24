"""The embedded store, one SQLite file. The write-ahead log is fully synchronised, so commits are durable."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sottovoce.service.stores.base import Known, Store, StoreDownError, StoreError, StoreFullError, Transaction

MARK = 0x50770CE  # in the file's header: says that this is a store
CACHE_KIB = 65_536  # of the writing connection; memory stays the same for any number of reports
READER_CACHE_KIB = 4_096
LOG_BYTES = 64 << 20
PATIENCE = 20.0  # seconds to wait for another process that writes
PART = 500  # parameters of one statement

# Errors of the file. All others are bugs.
DOWN = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN,
)  # fmt: skip


class SQLiteTransaction(Transaction):
    """Operations on one SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(sql, parameters)

    def add_reports(self, study: int, epoch: int, new: Sequence[tuple[bytes, int]]) -> Known:
        if not new:
            return {}
        before = self._connection.total_changes
        # Sorted ids touch each page of the tree once.
        rows = [(study, one, epoch, digest) for one, digest in sorted(new)]
        self._connection.execute("SAVEPOINT added")
        self._connection.executemany(
            "INSERT OR IGNORE INTO reports (study, id, epoch, digest) VALUES (?, ?, ?, ?)", rows
        )
        if self._connection.total_changes - before == len(rows):
            self._connection.execute("RELEASE added")
            return {}
        # Some were there before: ask which, and insert the others.
        self._connection.execute("ROLLBACK TO added")
        self._connection.execute("RELEASE added")
        known = self.known(study, [row[1] for row in rows])
        self._connection.executemany(
            "INSERT INTO reports (study, id, epoch, digest) VALUES (?, ?, ?, ?)",
            [row for row in rows if row[1] not in known],
        )
        return known

    def known(self, study: int, ids: Sequence[bytes]) -> Known:
        return dict(self._among("SELECT id, digest FROM reports WHERE study = ? AND id IN", study, ids))

    def chosen(self, table: str, study: int, hashes: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._among(f"SELECT hash FROM {table} WHERE study = ? AND hash IN", study, hashes)}

    def _among(self, sql: str, study: int, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), PART):
            part = keys[start : start + PART]
            yield from self._connection.execute(f"{sql} ({', '.join('?' * len(part))})", (study, *part))


class SQLiteStore(Store):
    """An SQLite file, created if missing."""

    kind = "sqlite"

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        self._lock_file: IO[bytes] | None = None
        self._busy = threading.RLock()
        if not create and not self.path.exists():
            raise StoreError("There is no store at this path.")
        try:
            self._writer = self._connect(CACHE_KIB)
            self._check()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        except sqlite3.Error:
            raise StoreError("The store cannot be opened: it is not an SQLite file, or may not be written.") from None
        self.upgrade()

    def _connect(self, cache: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{cache}")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    def _check(self) -> None:
        ((mark,),) = self._writer.execute("PRAGMA application_id").fetchall()
        ((tables,),) = self._writer.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
        if mark != MARK and tables:
            raise StoreError("This SQLite file is not a store of sottovoce.")
        if mark != MARK:
            self._writer.execute(f"PRAGMA application_id = {MARK}")
            with suppress(OSError):
                os.chmod(self.path, 0o600)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Transaction]:
        connection = self._writer if write else self._connect(READER_CACHE_KIB)
        try:
            with self._busy if write else threading.Lock():
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield SQLiteTransaction(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as problem:
            code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_FULL:
                raise StoreFullError("The disk of the store is full.") from None
            if code in DOWN:
                raise StoreDownError("The store's file cannot be read or written now.") from None
            raise
        finally:
            if not write:
                connection.close()

    def lock(self) -> None:
        if self._lock_file is not None:
            return
        # Of the file itself: a link to it is the same store.
        self._lock_file = open(f"{self.path.resolve()}.lock", "wb")  # noqa: SIM115  held until the collector ends
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock_file.close()
            self._lock_file = None
            raise StoreError("Another collector is using this store.") from None

    def tidy(self) -> bool:
        with self._busy, suppress(sqlite3.Error):
            self._writer.execute("PRAGMA busy_timeout = 0")  # reports must not wait for a long reader, such as a backup
            try:
                ((busy, *_),) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                return not busy
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {round(1000 * PATIENCE)}")
        return False

    def close(self) -> None:
        self._writer.close()
        if self._lock_file is not None:
            self._lock_file.close()

    def version(self, work: Transaction) -> int:
        ((version,),) = work.execute("PRAGMA user_version")
        return int(version)

    def set_version(self, work: Transaction, version: int) -> None:
        work.execute(f"PRAGMA user_version = {version}")

    def words(self, sql: str) -> str:
        return sql.replace("BYTES", "BLOB").replace("KEYED", "WITHOUT ROWID").replace("BIGINT", "INTEGER")
