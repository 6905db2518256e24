"""What needs real Spark: an executor that is lost in the middle of a job."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scripts.spark_session import MASTER
from sottovoce.engines import spark as engine
from sottovoce.files.arms import Arms
from tests.engines.made import by_definition, check_rows, dirty, mechanism_of, table, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(MASTER not in os.environ, reason="`make test-spark` starts the cluster"),
]
WORKERS = "SOTTOVOCE_SPARK_WORKERS"
PARTS = 8


def executors(worker: int) -> list[int]:
    """The executors that a worker has started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            if parent == worker and b"CoarseGrainedExecutorBackend" in command:
                found.append(int(folder.name))
    return found


def slowly(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Passes rows on, and leaves a file for each partition that was begun."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Path(folder, f"{os.getpid()}-{time.monotonic_ns()}").touch()
        for batch in batches:
            time.sleep(1.0)
            yield batch

    return work


def failing_at_first(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Every partition fails once, after half of its rows have gone on; Spark runs it again."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        place = Path(folder, str(TaskContext.get().partitionId()))
        again = place.exists()
        place.touch()
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if not again:
                raise RuntimeError("once")
            yield batch.slice(batch.num_rows // 2)

    return work


def test_partitions_that_are_run_again_are_counted_once(spark: Any, tmp_path: Path) -> None:
    kind = "outputs"
    arms, rows = Arms.of(mechanism_of(kind)), table(dirty(kind, 400), with_arm=False)
    (tmp_path / "begun").mkdir()
    frame = spark.read.parquet(*written(rows, tmp_path / "reports")).repartition(3)
    again = frame.mapInArrow(failing_at_first(str(tmp_path / "begun")), "id binary, payload binary")
    check_rows(engine.count(again, arms).toArrow(), arms, by_definition(arms, rows))
    assert len(list((tmp_path / "begun").iterdir())) == 3


def test_a_lost_executor_changes_nothing(spark: Any, tmp_path: Path) -> None:
    kind = "supports by hashing"
    arms, rows = Arms.of(mechanism_of(kind)), table(dirty(kind, 4000), with_arm=False)
    (tmp_path / "begun").mkdir()
    frame = spark.read.parquet(*written(rows, tmp_path / "reports")).repartition(PARTS)
    slow = frame.mapInArrow(slowly(str(tmp_path / "begun")), "id binary, payload binary")
    first = int(os.environ[WORKERS].split(",")[0])
    killed: list[int] = []

    def kill() -> None:
        while len(list((tmp_path / "begun").iterdir())) < 3:
            time.sleep(0.05)
        for process in executors(first):
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    thread = threading.Thread(target=kill)
    thread.start()
    found = engine.count(slow, arms).toArrow()
    thread.join()
    assert killed, "No executor of the first worker was found."
    assert len(list((tmp_path / "begun").iterdir())) > PARTS, "No partition was computed again."
    check_rows(found, arms, by_definition(arms, rows))
