"""What `sottovoce chaos` starts: a collector that kills itself at a named point, or finds its disk full for a while.

`python -m sottovoce.cli.collector.fragile POINT serve ...`. Nothing of it is part of a collector that people run.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sottovoce.cli import main
from sottovoce.service.course import Course
from sottovoce.service.stores.base import Known, Store, Transaction
from sottovoce.service.stores.sqlite import SQLiteStore, SQLiteTransaction
from sottovoce.service.writer import DISK_FULL, CommitWriter

# Points of a change of round, in their order: before it is computed, before each statement of its transaction, before
# the commit, and after it, when memory does not know the new round yet.
STATEMENTS = 4
CHANGE = ("computing", *(f"statement {number}" for number in range(1, STATEMENTS + 1)), "commit", "committed")
FULL = "full disk"
REFUSED = 10  # commits that find the disk full before there is room again
_FULL_IN_SQL = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$"  # the error that PostgreSQL gives


def die_at(point: str) -> None:
    """Kill this process when a change of round gets there."""
    computed, stored, went_on = Course.next_stage, Course.store_next, Course.go_on

    def at(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def next_stage(course: Course) -> Any:
        at("computing")
        return computed(course)

    def store_next(course: Course, work: Transaction, manifest: Any) -> None:
        execute, done = work.execute, 0

        def counted(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
            nonlocal done
            done += 1
            at(f"statement {done}")
            return execute(sql, parameters)

        work.execute = counted  # type: ignore[method-assign]
        stored(course, work, manifest)
        at("commit")

    def go_on(course: Course, state: Any, manifest: Any) -> None:
        at("committed")
        went_on(course, state, manifest)

    _replace(Course, next_stage=next_stage, store_next=store_next, go_on=go_on)


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
        found = add(work, study, epoch, new)
        if new and refused < REFUSED:
            work.execute(_FULL_IN_SQL)
        return found

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


def _replace(owner: type, **methods: Callable[..., Any]) -> None:
    for name, method in methods.items():
        setattr(owner, name, method)


def _limit(store: Store, pages: int) -> None:
    """The most pages that an SQLite file may have: SQLite itself then says that the disk is full."""
    if isinstance(store, SQLiteStore):
        with store.transaction() as work:
            assert isinstance(work, SQLiteTransaction)
            work.execute(f"PRAGMA max_page_count = {pages}")


if __name__ == "__main__":
    if sys.argv[1] == FULL:
        fill_disk()
    else:
        die_at(sys.argv[1])
    raise SystemExit(main(sys.argv[2:]))
