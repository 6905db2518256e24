"""`sottovoce bench`: how fast this machine privatizes and counts, beside NumPy drawing as many integers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce.cli.show import table
from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism

SIZE = 128
EPSILON = "1"
CASES = {"grr": 1 << 20, "hadamard": 1 << 20, "olh": 1 << 19, "subset": 1 << 17, "oue": 1 << 17}
TRIES = 3


def bench(*, as_json: bool) -> None:
    """Print reports per second, and how many times as long as the baseline each verb takes."""
    rows = [row for name, count in CASES.items() for row in _case(name, count)]
    if as_json:
        print(json.dumps(rows))
        return
    lines = [[row["name"], row["verb"], f"{row['per_second'] / 1e6:.3g}", f"{row['ratio']:.3g}"] for row in rows]
    table(("method", "verb", "million reports/s", "times NumPy"), lines, numbers=2)
    print(f"Domain of {SIZE} values, epsilon {EPSILON}. NumPy: the time to draw as many uniform 64-bit integers.")


def _case(name: str, count: int) -> list[dict[str, Any]]:
    subject = mechanism(name, Integers(0, SIZE - 1), epsilon=EPSILON)
    rng = np.random.default_rng(0)
    values = rng.integers(0, SIZE, count)
    reports = subject.privatize(values)
    subject.tally(reports)  # the first call compiles
    baseline = _fastest(lambda: rng.integers(0, 1 << 62, count))
    verbs = {"privatize": lambda: subject.privatize(values), "tally": lambda: subject.tally(reports)}
    rows = []
    for verb, call in verbs.items():
        seconds = _fastest(call)
        rows.append({"name": name, "verb": verb, "per_second": count / seconds, "ratio": seconds / baseline})
    return rows


def _fastest(call: Callable[[], object]) -> float:
    """The least of a few times: disturbances only add time."""
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)
