"""``python -m benchmarks.partitions``: what a partition of Spark costs beside its reports, and the rate of counting.

On pysail; `make test-spark` runs it on real Spark, with two workers of one core each.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import mechanism
from benchmarks.timing import environment, si, table
from scripts.spark_session import MASTER, spark_session
from sottovoce.engines import spark as engine

MANY = 64
REPORTS, WITH_IDS = 4 * 10**6, 10**6
REPEATS = 5


class Partitions(NamedTuple):
    """Rows of a table, and how many reports a second are counted where each id counts once."""

    rows: list[list[str]]
    once: float


def measured(session: Any, folder: Path) -> Partitions:
    """64 partitions of one row against one partition of 64 rows; and millions of reports in two partitions."""
    m = mechanism()

    def seconds(rows: int, parts: int, *, ids: bool = False) -> float:
        path = str(folder / f"{rows} {ids}.parquet")
        columns = {"report": pa.array(np.zeros(rows, np.uint8))}
        if ids:
            data = pa.py_buffer(os.urandom(16 * rows))
            columns["id"] = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), rows, [None, data]).cast(pa.binary())
        pq.write_table(pa.table(columns), path)
        frame = session.read.parquet(path).repartition(parts)
        engine.count(frame, m).toArrow()
        taken = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            engine.count(frame, m).toArrow()
            taken.append(time.perf_counter() - start)
        return min(taken)

    few = seconds(MANY, 2)
    each = (seconds(MANY, MANY) - seconds(MANY, 1)) / (MANY - 1)
    rate = REPORTS / max(seconds(REPORTS, 2) - few, 1e-9)
    once = WITH_IDS / max(seconds(WITH_IDS, 2, ids=True) - few, 1e-9)
    rows = [
        [f"a job of two partitions on {where()}", f"{1000 * few:.0f}", "ms"],
        [f"each further partition on {where()}", f"{1000 * each:.1f}", "ms"],
        [f"counting on {where()}, two cores", si(rate), "reports/s"],
        ["the same, each id once", si(once), "reports/s"],
    ]
    return Partitions(rows, once)


def where() -> str:
    """What runs the partitions."""
    return f"Spark, {os.environ.get('SPARK_API_MODE', 'classic')}" if MASTER in os.environ else "pysail"


def main() -> int:
    with spark_session() as session, tempfile.TemporaryDirectory(prefix="sottovoce-partitions-") as text:
        rows = measured(session, Path(text)).rows
        names = ("pyspark" if MASTER in os.environ else "pysail", "pyarrow", "numpy")
        print(", ".join(f"{name} {one}" for name, one in environment(*names).items()))
        print(table(["measure", "value", "unit"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
