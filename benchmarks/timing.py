"""Timing and reporting shared by the benchmarks."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Row:
    """One measured quantity, with the bound it is held against (if any)."""

    name: str
    value: float
    unit: str
    target: float | None = None
    #: "min": the value must reach the target; "max": it must stay below it.
    sense: str = "min"
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.sense == "min" else self.value < self.target

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def clock(call: Callable[[], object], loops: int = 1) -> float:
    """Seconds of one call, as the mean of ``loops`` calls.

    A result is dropped after its clock has stopped, so that freeing it is charged to nobody; and cyclic
    collection is off, as in timeit: it would punish a peer for building a list of a million tuples.
    """
    total = 0.0
    for _ in range(loops):
        gc.disable()
        start = time.perf_counter()
        result = call()
        total += time.perf_counter() - start
        gc.enable()
        del result
    return max(total / loops, 1e-9)


def median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def calibrate(
    make: Callable[[int], Callable[[], object]],
    seconds: float,
    start: int,
    most: int,
) -> tuple[int, int]:
    """The n for which ``make(n)()`` takes about ``seconds``, at most ``most``; with the number of calls
    that fill the time when ``most`` is reached first.

    The first call of each size is thrown away: it may compile, import, or grow the heap, which a steady
    state never pays again.
    """
    n = min(start, most)
    while True:
        call = make(n)
        call()
        elapsed = clock(call)
        if n >= most or elapsed >= seconds / 3:
            break
        # Grow by at most 8 a step: small timings predict large ones badly.
        n = min(most, max(n + 1, int(n * min(8.0, seconds / elapsed))))
    wanted = n * seconds / elapsed
    n = max(1, min(most, int(wanted)))
    return n, max(1, round(wanted / n))


def free_cores() -> float:
    """How many cores other programs leave to this process right now.

    Peers run on one core and we on all, so a busy machine slows only our side; a row measured while this
    number is low understates the ratio, and the reader should see it. Hashing long buffers runs outside the
    interpreter's lock and touches no memory to speak of.
    """
    data = bytes(1 << 22)

    def work(_: int) -> None:
        for _ in range(4):
            hashlib.sha256(data).digest()

    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))  # starts the threads
        alone = min(clock(lambda: work(0)) for _ in range(3))
        together = clock(lambda: list(pool.map(work, range(count))), 3)
    return count * alone / together


def si(value: float) -> str:
    """Three significant digits with an SI suffix: 1.23M."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            scaled = value / factor
            return f"{scaled:.0f}{suffix}" if scaled >= 100 else f"{scaled:.3g}{suffix}"
    return f"{value:.3g}"


def mark(ok: bool | None) -> str:
    return "" if ok is None else ("ok" if ok else "MISS")


def table(header: list[str], lines: list[list[str]]) -> str:
    """First column left, the rest right aligned."""
    widths = [max(len(row[i]) for row in [header, *lines]) for i in range(len(header))]

    def render(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([render(header), rule, *(render(row) for row in lines)])


def environment(*packages: str) -> dict[str, str]:
    """What a reader needs to place the numbers; no host names."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def dump(payload: dict[str, Any]) -> str:
    return json.dumps(payload, indent=2, sort_keys=False)
