"""Chunks of a batch on all cores. Kernels release the interpreter's lock; results do not depend on the split."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sottovoce.core.params import check_integer

T = TypeVar("T")


def thread_count(threads: int | None) -> int:
    """The number asked for, else one per available core."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_integer("threads", "a batch", threads, 1, 1024)


def chunks(total: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) pairs."""
    for start in range(0, total, size):
        yield start, min(total, start + size)


def run(work: Callable[[int, int], T], total: int, size: int, threads: int | None) -> list[T]:
    """`work(start, stop)` for every chunk, results in order."""
    pairs = list(chunks(total, size))
    workers = min(thread_count(threads), len(pairs))
    if workers <= 1:
        return [work(*pair) for pair in pairs]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda pair: work(*pair), pairs))
