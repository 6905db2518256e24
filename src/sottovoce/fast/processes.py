"""Work on all cores where threads do not help, because it is done in Python."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from sottovoce.fast.threads import thread_count

T = TypeVar("T")

PATIENCE = 1.0  # seconds of work below which other processes do not pay, since they take as long to start


def ordered(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int | None = None) -> Iterator[T]:
    """`work(*task)` for every task, in order; `work` is a function of a module, where another process finds it."""
    start, done, count = time.monotonic(), 0, min(thread_count(workers), len(tasks))
    while done < len(tasks) and (count == 1 or done == len(tasks) - 1 or time.monotonic() - start < PATIENCE):
        yield work(*tasks[done])
        done += 1
    if done < len(tasks):
        for result in _shared(work, tasks[done:], count):
            yield result
            done += 1
    for task in tasks[done:]:  # where processes cannot be started, as in a program that is read from a pipe
        yield work(*task)


def _shared(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int) -> Iterator[T]:
    with one_thread_each():
        pool = fresh_processes(workers)
        try:
            for waiting in [pool.submit(work, *task) for task in tasks]:
                yield waiting.result()
        except BrokenProcessPool:
            return
        finally:
            pool.shutdown(cancel_futures=True)


def fresh_processes(workers: int) -> ProcessPoolExecutor:
    """A fresh interpreter each: a fork would copy the threads and locks of this process."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=leave_with_parent)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes that start inside use one thread for linear algebra: threads of several would wait for each other."""
    name = "OPENBLAS_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = before or "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)


def leave_with_parent() -> None:
    """End this worker when the process that started it is gone, even if that was killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
