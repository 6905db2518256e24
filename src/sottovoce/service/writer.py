"""The writer thread: it commits waiting reports in groups and answers their senders after the commit."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from datetime import UTC, date, datetime
from time import perf_counter
from typing import Any

from sottovoce.service.intake import Submission, take
from sottovoce.service.logs import Log
from sottovoce.service.metrics import Metrics
from sottovoce.service.running_study import RunningStudy
from sottovoce.service.stores.base import OPEN, Store, StoreDownError, StoreError, StoreFullError

MOST_WAITING = 20_000  # reports; a sender beyond is asked to come back later
MOST_WAITING_BYTES = 64 << 20
MOST_AT_ONCE = 4_096  # reports of one commit
REST = 0.25  # seconds between looks at what other processes did
DOUBT = 5.0  # seconds of "not ready" after a failed commit; a readable store may still have a full disk
QUEUE_FULL, DISK_FULL, UNAVAILABLE, BUG = "queue_full", "disk_full", "unavailable", "internal_error"
TIDY = 10.0  # seconds between two times that the traces of recent commits are removed
SLICES = 256  # parts in which the digests of an epoch are dropped, between commits


def utc_today() -> date:
    """The current date in UTC."""
    return datetime.now(UTC).date()


class CommitWriter:
    """A bounded queue and the one thread that writes to the store."""

    def __init__(
        self,
        store: Store,
        *,
        log: Log,
        metrics: Metrics,
        today: Callable[[], date] = utc_today,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._store, self._log, self._metrics, self._today = store, log, metrics, today
        self._most_waiting = most_waiting
        self.studies: dict[str, RunningStudy] = {}
        self._trouble: str | None = None  # the problem of the last commit, or of the last look at the store
        self._doubted = 0.0  # until when a look alone does not end it
        self._waiting: deque[Submission | Callable[[], None]] = deque()
        self._reports = self._bytes = 0
        self._ready = threading.Condition()
        self._ending = False
        self._slices: dict[str, int] = {}
        self._untidy: float | None = None  # since when there are such traces
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    # --- from other threads ----------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread. Rounds that are due are changed first."""
        self._thread.start()

    def stop(self) -> None:
        """Commit waiting reports, then end the thread."""
        with self._ready:
            self._ending = True
            self._ready.notify()
        if self._thread.is_alive():
            self._thread.join()

    def submit(self, one: Submission) -> bool:
        """Queue a batch. False if the queue is full."""
        count, size = len(one.batch), len(one.batch.payloads)
        with self._ready:
            full = self._reports + count > self._most_waiting or self._bytes + size > MOST_WAITING_BYTES
            if self._ending or (full and self._reports):
                return False
            self._reports += count
            self._bytes += size
            self._waiting.append(one)
            self._ready.notify()
        return True

    def call(self, act: Callable[[], Any]) -> Any:
        """Run a function on the writer thread, between commits, and return its result."""
        done: futures.Future[Any] = futures.Future()

        def run() -> None:
            try:
                done.set_result(act())
            except BaseException as problem:  # handed to the caller
                done.set_exception(problem)

        with self._ready:
            if self._ending:
                raise StoreDownError("The collector is shutting down.")
            self._waiting.append(run)
            self._ready.notify()
        return done.result()

    @property
    def is_well(self) -> bool:
        """True if the last commit succeeded and the store answers."""
        return self._trouble is None

    @property
    def waiting(self) -> int:
        """The number of waiting reports."""
        return self._reports

    # --- the thread ------------------------------------------------------------------------------
    def _run(self) -> None:
        for running in list(self.studies.values()):
            self._advance(running)
        while True:
            group, acts = self._next()
            if group:
                self._commit(group)
            for act in acts:
                act()
            if not group and not acts:
                if self._ending:
                    self._tidy(0.0)
                    return
                self._upkeep()
                self._tidy(TIDY)

    def _next(self) -> tuple[list[Submission], list[Callable[[], None]]]:
        group: list[Submission] = []
        acts: list[Callable[[], None]] = []
        with self._ready:
            if not self._waiting and not self._ending:
                self._ready.wait(0.001 if self._slices else REST)
            count = 0
            while self._waiting and count < MOST_AT_ONCE and not acts:
                one = self._waiting.popleft()
                if isinstance(one, Submission):
                    group.append(one)
                    count += len(one.batch)
                    self._bytes -= len(one.batch.payloads)
                else:
                    acts.append(one)
            self._reports -= count
        return group, acts

    def _commit(self, group: list[Submission]) -> None:
        start = perf_counter()
        by_study: dict[str, list[Submission]] = {}
        for one in group:
            by_study.setdefault(one.study.name, []).append(one)
        problem = None
        try:
            studies = {name: self._fresh(name) for name in by_study}
            with self._store.transaction() as work:
                today = self._today()
                done = [take(work, studies[name], own, today) for name, own in by_study.items()]
            for apply in done:
                apply()
        except StoreFullError:
            problem = DISK_FULL
        except (StoreDownError, StoreError):
            problem = UNAVAILABLE
        except Exception as error:  # a bug must not end the thread; its text may hold bytes of a report
            self._log.error("commit_failed", kind=type(error).__name__)
            problem = BUG
        if problem is not None:
            for one in group:
                one.reset()
                one.problem = problem
            for name in by_study:  # what was stored is not known: read it again
                self.studies[name].is_stale = True
        if problem in (DISK_FULL, UNAVAILABLE):
            self._doubted = perf_counter() + DOUBT
        if problem != BUG:  # a bug says nothing about the store
            self._note(problem)
        self._untidy = self._untidy or start
        _answer(group)
        self._metrics.commit(group, perf_counter() - start)
        if problem is None:
            self._alarm(group)
            for name in by_study:
                self._advance(self.studies[name])

    def _note(self, problem: str | None) -> None:
        """Log when the store fails, and when it works again."""
        if (self._trouble is None) != (problem is None):
            self._log.warning("store", state="well" if problem is None else problem)
        self._trouble = problem

    def _fresh(self, name: str) -> RunningStudy:
        """The study in memory, reloaded after a failed commit."""
        running = self.studies[name]
        if running.is_stale:
            with self._store.read() as work:
                row = next(one for one in work.studies() if one.name == name)
                running = self.studies[name] = RunningStudy.load(work, row)
        return running

    def _alarm(self, group: list[Submission]) -> None:
        conflicts = sum(code == "conflict" for one in group for _, code in one.failed)
        if conflicts:
            self._log.warning("conflict", reports=conflicts, meaning="the same id came with other bytes")

    def _advance(self, running: RunningStudy) -> None:
        """Change rounds while the current one has its quota."""
        while not running.is_stale and running.is_due:
            try:
                state, manifest = running.next_stage()
                with self._store.transaction() as work:
                    running.store_next(work, manifest)
                running.go_on(state, manifest)
            except (StoreFullError, StoreDownError, StoreError):
                return  # tried again with the next commit, or the next look
            except Exception as error:
                running.failed = True
                self._log.error("round_failed", study=running.name, kind=type(error).__name__)
                return
            self._log.info("round", study=running.name, round=running.manifest.number, over=manifest is None)

    def _upkeep(self) -> None:
        """When the queue is empty, notice changes by other processes and drop digests of closed epochs in parts.

        The transaction also shows whether the store answers: a load balancer that sees 503 sends no report.
        """
        try:
            with self._store.transaction() as work:
                rows = {row.name: row for row in work.studies()}
            for name in list(self.studies):
                running = self._fresh(name)
                if name not in self._slices:
                    running.noted(rows[name])
                    self._advance(running)
                self._begin_wave(running)
                self._forget(running)
            if perf_counter() >= self._doubted:
                self._note(None)
        except StoreFullError:
            self._note(DISK_FULL)
        except (StoreDownError, StoreError):
            self._note(UNAVAILABLE)
        except Exception as error:  # a bug must not end the thread
            self._log.error("upkeep_failed", kind=type(error).__name__)

    def _begin_wave(self, running: RunningStudy) -> None:
        """Open the wave of the day, and close the study after its last one."""
        with self._store.transaction() as work:
            changed = running.store_wave(work, self._today())
            row = work.study(running.number) if changed else running.row
        if changed:
            running.noted(row)
            self._log.info("wave", study=running.name, wave=row.epoch + 1, over=row.state != OPEN)

    def _tidy(self, age: float) -> None:
        """When the queue is empty, remove traces that link rows of one commit, such as a report and its invitation."""
        if self._untidy is not None and perf_counter() - self._untidy >= age:
            self._untidy = None if self._store.tidy() else perf_counter()

    def _forget(self, running: RunningStudy) -> None:
        """Drop the digests of epochs for which no report is accepted any more."""
        closed = running.manifest.facts.counted(self._today()).start - 1
        if running.row.closed_epoch >= closed:
            return
        part = self._slices.get(running.name, 0)
        with self._store.transaction() as work:
            work.forget_digests(running.number, closed, part)
            if part == SLICES - 1:
                work.set_closed_epoch(running.number, closed)
                running.noted(work.study(running.number))
        self._slices[running.name] = part + 1
        if part == SLICES - 1:
            del self._slices[running.name]


def _answer(group: list[Submission]) -> None:
    """Wake the senders, with one call for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Submission]] = {}
    for one in group:
        if isinstance(one.future, asyncio.Future):
            loops.setdefault(one.future.get_loop(), []).append(one)
        elif one.future is not None:
            one.future.set_result(None)
    for loop, own in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set, own)


def _set(own: list[Submission]) -> None:
    for one in own:
        if not one.future.done():
            one.future.set_result(None)
