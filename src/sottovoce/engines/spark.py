"""Counting in Spark, through Spark Connect or in classic Spark 4: `mapInArrow`, one running set of integers and one
batch of rows for each partition, then a sum in SQL. No pandas.

Executors need this package with its extra `analysis`; specifications travel with the job.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from sottovoce.core.errors import ParameterError
from sottovoce.core.late import missing
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.simulation import COLUMN
from sottovoce.core.specs import canonical
from sottovoce.engines.drawing import drawn
from sottovoce.engines.partition import CHECKED_COLUMNS, REFUSED_COLUMNS, PartitionCounter, checked
from sottovoce.engines.partition import refused as refused_rows
from sottovoce.files.arms import Arms
from sottovoce.files.columns import counted_names
from sottovoce.files.counts import ADDED, COLUMNS, CountedRows, Reason, account, fold, fold_arms

# Classic Spark would start the first `python3` of PATH for its workers, which need not have this package.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

try:
    from pyspark.sql import functions as F
except ModuleNotFoundError as problem:  # pragma: no cover
    raise missing(problem) from None

__all__ = ["CountedRows", "Reason", "account", "count", "fold", "fold_arms", "privatize", "refused"]

Frame = Any  # a DataFrame of Spark Connect or of classic Spark, which share no class
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def count(reports: Frame, what: Any, *, unique: bool = False, strict: bool = False, simulated: bool = False) -> Frame:
    """A frame of rows `(fingerprint, arm, cell, n)`, one for each cell.

    `what` is a mechanism, a manifest, or a list of mechanisms. Where there is a column `id`, each id is counted once,
    with the smallest of its bytes, so that the result does not depend on the order of rows; `unique` says that ids
    are known to differ, which saves the exchange of all rows between executors. Invalid rows are counted by reason
    and left out; `strict` makes the job fail.
    """
    arms = Arms.of(what).to_bytes()
    read, simulated = _columns(reports), simulated or COLUMN in reports.columns
    if unique or "id" not in read.columns:
        parts = read.mapInArrow(_counting(arms, "add", simulated=simulated, strict=strict), COLUMNS)
    else:
        one_of_each = (
            read.mapInArrow(_checking(arms), CHECKED_COLUMNS)
            .groupBy("id", "mark")
            .agg(F.min("bytes").alias("bytes"), F.max("bytes").alias("other"), F.count(F.lit(1)).alias("copies"))
            .select("id", "mark", "bytes", "copies", F.expr("bytes <> other").alias("conflict"))
        )
        parts = one_of_each.mapInArrow(_counting(arms, "add_kept", simulated=simulated, strict=strict), COLUMNS)
    return parts.groupBy("fingerprint", "arm", "cell").agg(F.expr(f"CAST({ADDED} AS BIGINT)").alias("n"))


def refused(reports: Frame, what: Any) -> Frame:
    """Every row that is not counted: its arm, its id, and the reason."""
    arms = Arms.of(what).to_bytes()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from refused_rows(Arms.from_bytes(arms), batches)

    return _columns(reports).mapInArrow(work, REFUSED_COLUMNS)


def _columns(reports: Frame) -> Frame:
    """Only what is counted travels to Python."""
    return reports.select(*counted_names(reports.columns))


def _counting(arms: bytes, how: str, *, simulated: bool, strict: bool) -> Work:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # One thread: Spark runs as many of these as it has cores.
        counter = PartitionCounter(Arms.from_bytes(arms), simulated=simulated, strict=strict, threads=1)
        for batch in batches:
            getattr(counter, how)(batch)
        yield counter.rows()

    return work


def _checking(arms: bytes) -> Work:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from checked(Arms.from_bytes(arms), batches)

    return work


# --- privatize ----------------------------------------------------------------------------------------------
def privatize(
    answers: Frame,
    mechanism: Mechanism,
    column: str | Sequence[str],
    *,
    seed: int | None = None,
    number: str | None = None,
) -> Frame:
    """Reports of answers that are held centrally: `id`, 16 bytes, and `payload`, as devices would send them.

    `column` holds the answers; two or more make up a pair or a record. Noise is secure and drawn anew whenever Spark
    computes the frame, so write it once and count what was written. A `seed` is for simulations only; then the column
    `number` holds a number for each row, and row i gets the noise of answer i of `mechanism.privatize(..., seed=seed)`,
    whatever the partitions. Such reports have a column `simulation`.
    """
    if (seed is None) != (number is None):
        raise ParameterError(
            "A simulation needs a seed and a column that numbers its rows; secure noise takes neither."
        )
    names = [column] if isinstance(column, str) else list(column)
    spec = canonical(mechanism.spec())

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = Mechanism.from_spec(spec)
        for batch in batches:
            yield drawn(own, batch, names, seed, number)

    shown = "id binary, payload binary" + (", simulation boolean" if seed is not None else "")
    return answers.select(*names, *([number] if number is not None else [])).mapInArrow(work, shown)
