"""Chunks of a batch on all cores. Kernels release the interpreter's lock; results do not depend on the split."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from sottovoce.core.params import check_integer

T = TypeVar("T")

_CHUNKS = 32  # of a share at most
_SHARES = 4  # for each thread at least, where there is enough to do, so that all end at about the same time


def thread_count(threads: int | None) -> int:
    """The number asked for, else one per available core."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_integer("threads", "a batch", threads, 1, 1024)


@contextmanager
def small_matrices() -> Iterator[None]:
    """Linear algebra in one thread: for small matrices several wait for each other, and sums depend on their number."""
    with threadpool_limits(1, user_api="blas"):
        yield


def chunks(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) pairs."""
    for start in range(first, last, size):
        yield start, min(last, start + size)


def items_at_a_time(total: int, size: int, threads: int | None) -> int:
    """How many items a thread takes at a time: a few chunks that share memory, but some shares for every thread."""
    fair = -(-total // (size * _SHARES * thread_count(threads)))
    return size * max(1, min(_CHUNKS, fair))


def run(work: Callable[[int, int], T], total: int, size: int, threads: int | None) -> list[T]:
    """`work(start, stop)` for every chunk, results in order."""
    pairs = list(chunks(0, total, size))
    workers = min(thread_count(threads), len(pairs))
    if workers <= 1:
        return [work(*pair) for pair in pairs]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda pair: work(*pair), pairs))
