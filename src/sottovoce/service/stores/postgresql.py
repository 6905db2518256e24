"""The PostgreSQL store, through psycopg 3, for many reports."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors

from sottovoce.service.stores.base import Known, Store, StoreDownError, StoreError, StoreFullError, Transaction

LOCK = 0x50770CE
# Seconds until a connection attempt fails; a database that went away without a word is noticed after 20 seconds.
PATIENCE: dict[str, Any] = {"connect_timeout": 10, "keepalives_idle": 10, "tcp_user_timeout": 20_000}
PART = 10_000  # rows of a long result at a time


class PostgreSQLTransaction(Transaction):
    """Operations on one PostgreSQL connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(_marks(sql), parameters, binary=True)
        return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_marks(sql), rows)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor("long") as cursor:
            cursor.itersize = PART
            cursor.execute(_marks(sql), parameters)
            yield from cursor

    def add_reports(self, study: int, epoch: int, new: Sequence[tuple[bytes, int]]) -> Known:
        if not new:
            return {}
        # Sorted, so that the order in the table says nothing about the order within a commit.
        pairs = sorted(new)
        added = self.execute(
            "INSERT INTO reports (study, id, epoch, digest) SELECT ?, one, ?, two FROM"
            " unnest(?::bytea[], ?::bigint[]) AS given (one, two) ON CONFLICT DO NOTHING RETURNING id",
            (study, epoch, [one for one, _ in pairs], [digest for _, digest in pairs]),
        )
        if len(added) == len(pairs):
            return {}
        fresh = {bytes(row[0]) for row in added}
        return self.known(study, [one for one, _ in pairs if one not in fresh])

    def known(self, study: int, ids: Sequence[bytes]) -> Known:
        rows = self.execute("SELECT id, digest FROM reports WHERE study = ? AND id = ANY(?)", (study, list(ids)))
        return {bytes(one): digest for one, digest in rows}

    def chosen(self, table: str, study: int, hashes: Sequence[bytes]) -> set[bytes]:
        rows = self.execute(f"SELECT hash FROM {table} WHERE study = ? AND hash = ANY(?)", (study, list(hashes)))
        return {bytes(row[0]) for row in rows}


class PostgreSQLStore(Store):
    """A PostgreSQL database by its URL. All tables are in the schema `sottovoce`, created if missing."""

    kind = "postgresql"

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._url = url
        self._busy = threading.RLock()
        self._writer: psycopg.Connection[Any] | None = None
        self._locks = False
        with self.transaction() as work:
            if not create and not work.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'sottovoce'"):
                raise StoreError("There is no store in this database.")
            work.execute("CREATE SCHEMA IF NOT EXISTS sottovoce")
            work.execute("CREATE TABLE IF NOT EXISTS sottovoce.meta (version BIGINT NOT NULL)")
        self.upgrade()

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(self._url, autocommit=True, application_name="sottovoce", **PATIENCE)
            connection.execute("SET search_path TO sottovoce")
            connection.execute("SET synchronous_commit TO on")
        except psycopg.Error:
            raise StoreDownError("The database does not answer, or refuses the connection.") from None
        return connection

    def _writing(self) -> psycopg.Connection[Any]:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
            if self._locks:  # a lock ends with its connection
                self._take_lock(self._writer)
        return self._writer

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Transaction]:
        if write:
            with self._busy, self._guarded(self._writing(), "READ COMMITTED") as work:
                yield work
            return
        connection = self._connect()
        try:
            with self._guarded(connection, "REPEATABLE READ READ ONLY") as work:
                yield work
        finally:
            connection.close()

    @contextmanager
    def _guarded(self, connection: psycopg.Connection[Any], level: str) -> Iterator[Transaction]:
        try:
            connection.execute(f"BEGIN ISOLATION LEVEL {level}")
            try:
                yield PostgreSQLTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
        except errors.DiskFull:
            raise StoreFullError("The disk of the database is full.") from None
        except (psycopg.OperationalError, errors.AdminShutdown):
            with suppress(psycopg.Error):
                connection.close()
            raise StoreDownError("The database does not answer.") from None

    def lock(self) -> None:
        self._locks = True
        self._take_lock(self._writing())

    def _take_lock(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (LOCK,)).fetchone()
        if row is None or not row[0]:
            raise StoreError("Another collector is using this store.")

    def tidy(self) -> bool:
        # A deleted row keeps the number of the transaction that deleted it until its page is vacuumed.
        with self._busy, suppress(psycopg.Error, StoreDownError, StoreError):
            self._writing().execute("VACUUM invitations")
            return True
        return False

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def version(self, work: Transaction) -> int:
        rows = work.execute("SELECT version FROM sottovoce.meta")
        return int(rows[0][0]) if rows else 0

    def set_version(self, work: Transaction, version: int) -> None:
        work.execute("DELETE FROM sottovoce.meta")
        work.execute("INSERT INTO sottovoce.meta (version) VALUES (?)", (version,))

    def words(self, sql: str) -> str:
        return sql.replace("BYTES", "BYTEA").replace(" KEYED", "")


def _marks(sql: str) -> Any:
    return sql.replace("?", "%s")
