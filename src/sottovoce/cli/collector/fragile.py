"""What `sottovoce chaos` starts: a collector that kills itself at a named point, or finds its disk full for a while.

Each is a process of its own, forked from one that has imported everything: a start then takes a fraction of the time.
Nothing of this is part of a collector that people run.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from multiprocessing.connection import Connection
from typing import Any, TextIO

from sottovoce.cli import main
from sottovoce.cli.collector.crowd import CollectorProcess
from sottovoce.service.running_study import RunningStudy
from sottovoce.service.stores.base import Known, Store, Transaction
from sottovoce.service.stores.sqlite import SQLiteStore, SQLiteTransaction
from sottovoce.service.writer import DISK_FULL, CommitWriter

# Points of a change of round, in their order: before it is computed, before each statement of its transaction, before
# the commit, and after it, when memory does not know the new round yet.
STATEMENTS = 4
CHANGE = ("computing", *(f"statement {number}" for number in range(1, STATEMENTS + 1)), "commit", "committed")
# Points of a change of wave: before each statement of its transaction, before the commit, and after it.
WAVE_STATEMENTS = 2
WAVE = ("before the wave", *(f"wave statement {number}" for number in range(1, WAVE_STATEMENTS + 1)), "wave commit")
FULL = "full disk"
PORTS = range(20_000, 30_000)
BEFORE_WAVE = 20  # commits before the clock reaches the next day
REFUSED = 10  # commits that find the disk full before there is room again
IMPORTED = ("sottovoce.cli.app", "sottovoce.cli.collector.serve", "sottovoce.study.study_plan", "psycopg")
_FULL_IN_SQL = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$"  # the error that PostgreSQL gives


def die_at(point: str) -> None:
    """Kill this process when a change of round gets there."""
    computed, stored, went_on = RunningStudy.next_stage, RunningStudy.store_next, RunningStudy.go_on

    def at(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def next_stage(running: RunningStudy) -> Any:
        at("computing")
        return computed(running)

    def store_next(running: RunningStudy, work: Transaction, manifest: Any) -> None:
        _announced(work, at, "statement")
        stored(running, work, manifest)
        at("commit")

    def go_on(running: RunningStudy, state: Any, manifest: Any) -> None:
        at("committed")
        went_on(running, state, manifest)

    _replace(RunningStudy, next_stage=next_stage, store_next=store_next, go_on=go_on)


def die_in_wave(point: str) -> None:
    """Let the clock reach the next day after some commits, and kill this process when the change of wave gets there."""
    committed, stored = CommitWriter._commit, RunningStudy.store_wave
    commits = 0

    def commit(writer: CommitWriter, group: Any) -> None:
        nonlocal commits
        committed(writer, group)
        commits += 1
        if commits == BEFORE_WAVE:
            today = writer._today
            writer._today = lambda: today() + timedelta(1)

    def store_wave(running: RunningStudy, work: Transaction, today: date) -> bool:
        def at(here: str) -> None:
            if here == point and commits >= BEFORE_WAVE:
                os.kill(os.getpid(), signal.SIGKILL)

        at(WAVE[0])
        _announced(work, at, "wave statement")
        changed = stored(running, work, today)
        if changed:
            at(WAVE[-1])
        return changed

    _replace(CommitWriter, _commit=commit)
    _replace(RunningStudy, store_wave=store_wave)


def fill_disk() -> None:
    """No room for further reports until some commits were refused; then there is room, without a restart."""
    from sottovoce.service.stores.postgresql import PostgreSQLTransaction

    lock, commit, add = SQLiteStore.lock, CommitWriter._commit, PostgreSQLTransaction.add_reports
    refused = 0

    def locked(store: SQLiteStore) -> None:
        lock(store)
        with store.transaction() as work:
            ((pages,),) = work.execute("PRAGMA page_count")
        _limit(store, pages)

    def added(work: PostgreSQLTransaction, study: int, epoch: int, new: Sequence[tuple[bytes, int]]) -> Known:
        known = add(work, study, epoch, new)
        if new and refused < REFUSED:
            work.execute(_FULL_IN_SQL)
        return known

    def committed(writer: CommitWriter, group: Any) -> None:
        nonlocal refused
        commit(writer, group)
        if group[0].problem == DISK_FULL:
            refused += 1
            if refused == REFUSED:
                _limit(writer._store, (1 << 32) - 2)

    _replace(SQLiteStore, lock=locked)
    _replace(CommitWriter, _commit=committed)
    _replace(PostgreSQLTransaction, add_reports=added)


def _announced(work: Transaction, at: Callable[[str], None], word: str) -> None:
    """Say the number of each statement of a transaction before it is executed."""
    execute, done = work.execute, 0

    def counted(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        nonlocal done
        done += 1
        at(f"{word} {done}")
        return execute(sql, parameters)

    work.execute = counted  # type: ignore[method-assign]


def _replace(owner: type, **methods: Callable[..., Any]) -> None:
    for name, method in methods.items():
        setattr(owner, name, method)


def _limit(store: Store, pages: int) -> None:
    """The most pages that an SQLite file may have: SQLite itself then says that the disk is full."""
    if isinstance(store, SQLiteStore):
        with store.transaction() as work:
            assert isinstance(work, SQLiteTransaction)
            work.execute(f"PRAGMA max_page_count = {pages}")


@dataclass(slots=True)
class FragileCollector(CollectorProcess):
    """A collector that is forked, and that may end itself at a `point`."""

    point: str | None = None

    def died(self, seconds: float) -> bool:
        """Whether it ends by itself within this time."""
        return self._ended(seconds)

    def _launched(self, arguments: list[str]) -> tuple[Any, TextIO]:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, *IMPORTED])
        said, says = context.Pipe(duplex=False)
        process = context.Process(target=_collect, args=(self.point, arguments, says, self.log))
        process.start()
        says.close()
        with said:
            return process, os.fdopen(os.dup(said.fileno()), encoding="utf-8")

    def _ended(self, seconds: float) -> bool:
        self._process.join(seconds)
        return self._process.exitcode is not None


def free_port() -> int:
    """A port that this machine gives to no outgoing connection, so that it is free again after each kill."""
    while True:
        port = PORTS.start + secrets.randbelow(len(PORTS))
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


def _collect(point: str | None, arguments: list[str], says: Connection, log: str) -> None:
    """The process: what it prints goes to the pipe, as that of a command does."""
    os.dup2(says.fileno(), 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115, the one before may be of a file
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
    if point == FULL:
        fill_disk()
    elif point in WAVE:
        die_in_wave(point)
    elif point is not None:
        die_at(point)
    raise SystemExit(main(arguments))
