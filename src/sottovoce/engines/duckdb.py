"""Counting in DuckDB: Parquet or any table in, rows of counts out, also where the table is larger than memory.

Where the statistic counts outputs and ids play no part, the count is one query. Otherwise Arrow batches stream through
our kernels. Ids are read twice: the first pass finds those that may come several times, and only their rows are grouped
by DuckDB, on disk where they do not fit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.late import missing
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.simulation import COLUMN, METADATA
from sottovoce.engines.partition import REFUSED, PartitionCounter, checked
from sottovoce.engines.partition import refused as refused_rows
from sottovoce.engines.sql import DUCKDB, plain_count
from sottovoce.fast.repeats import RepeatedIds
from sottovoce.files.arms import Arms
from sottovoce.files.arrow import MECHANISM
from sottovoce.files.columns import counted_names, whole_ids
from sottovoce.files.counts import SCHEMA, CountedRows, Reason, account, fold, fold_arms, strict_refusal
from sottovoce.tally.tally import SIMULATED_ROW

try:
    import duckdb
except ModuleNotFoundError as problem:  # pragma: no cover
    raise missing(problem) from None

__all__ = ["CountedRows", "Reason", "account", "count", "fold", "fold_arms", "refused"]

MEMORY = "512MB"  # of DuckDB; what it does not hold goes to disk
BATCH_ROWS, BATCH_BYTES = 1 << 17, 1 << 26  # of a batch: what is reached first
WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
_ONE_OF_EACH_ID = """
    SELECT id, mark, min(bytes) AS bytes, count(*) AS copies, min(bytes) <> max(bytes) AS conflict
    FROM checked GROUP BY id, mark
"""

Source = Any  # a path or pattern of Parquet files, several of them, a relation, or an Arrow table


def count(
    reports: Source,
    what: Any,
    *,
    unique: bool = False,
    strict: bool = False,
    simulated: bool = False,
    memory: str = MEMORY,
) -> pa.Table:
    """Rows `(fingerprint, arm, cell, n)` of Parquet files, of a relation, or of an Arrow table.

    `what` is a mechanism, a manifest, or a list of mechanisms. Where there is a column `id`, each id is counted once,
    with the smallest of its bytes, so that the result does not depend on the order of rows; `unique` says that ids
    are known to differ. Invalid rows are counted by reason and left out; `strict` refuses them.
    """
    arms = Arms.of(what)
    with _opened(reports, arms, memory) as source:
        names = counted_names(source.relation.columns)
        simulated |= _marks(source, arms) or COLUMN in source.relation.columns
        query = None if "id" in names or "arm" in names else plain_count(arms, DUCKDB)
        # Reports are integers: a query would round other numbers, and count them.
        types = dict(zip(source.relation.columns, map(str, source.relation.types), strict=True))
        if query is not None and types.get("report") in WHOLE:
            return _in_sql(source, arms, query, simulated=simulated, strict=strict)
        counter = PartitionCounter(arms, simulated=simulated, strict=strict)
        if unique or "id" not in names:
            for batch in source.batches():
                counter.add(batch)
        else:
            _count_each_id_once(source, arms, counter)
    return pa.Table.from_batches([counter.rows()])


def _count_each_id_once(source: _Source, arms: Arms, counter: PartitionCounter) -> None:
    """Rows whose id comes once are counted as they stream by; DuckDB groups the others."""
    repeated = None if source.once else RepeatedIds()
    if repeated is not None:
        for batch in source.batches(["id"]):
            repeated.mark(whole_ids(batch)[0])
    source.connection.execute("CREATE TABLE checked (id BLOB, mark BIGINT, bytes BLOB)")
    for batch in source.batches():
        again = np.ones(batch.num_rows, np.bool_)
        if repeated is not None:
            ids, valid = whole_ids(batch)
            again[:] = False  # a row without an id is refused, and compared with none
            again[valid] = repeated.suspects(ids)
        counter.add(batch.filter(pa.array(~again)))
        for rows in checked(arms, [batch.filter(pa.array(again))]):
            source.connection.from_arrow(pa.Table.from_batches([rows])).insert_into("checked")
    if repeated is not None and not repeated.same:
        raise ReportError("The rows change when they are read again: write them to a file first, and count that.")
    for batch in source.connection.query(_ONE_OF_EACH_ID).to_arrow_reader(source.rows):
        counter.add_kept(batch)


def refused(reports: Source, what: Any, *, memory: str = MEMORY) -> pa.Table:
    """Every row that is not counted: its arm, its id, and the reason."""
    arms = Arms.of(what)
    with _opened(reports, arms, memory) as source:
        return pa.Table.from_batches(list(refused_rows(arms, source.batches())), schema=REFUSED)


class _Source:
    """A relation, and the connection in which its rows are grouped."""

    def __init__(
        self, connection: Any, relation: Any, rows: int, paths: Sequence[str] = (), *, once: bool = False
    ) -> None:
        self.connection, self.relation, self.rows, self.paths = connection, relation, rows, list(paths)
        self.once = once  # whether its rows are gone once they are read

    def batches(self, names: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The columns of these names, or all that are counted."""
        chosen = map(duckdb.ColumnExpression, names or counted_names(self.relation.columns))
        yield from self.relation.select(*chosen).to_arrow_reader(self.rows)


@contextmanager
def _opened(reports: Source, arms: Arms, memory: str) -> Iterator[_Source]:
    widest = max(codec.payload_bytes(one.channel) for one in arms.mechanisms)
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES // widest))
    with tempfile.TemporaryDirectory(prefix="sottovoce-") as folder:
        config: dict[str, Any] = {"memory_limit": memory, "temp_directory": folder, "preserve_insertion_order": "false"}
        # Files are read by one connection and grouped in another, so that both can stream at once.
        with duckdb.connect(config=config) as connection, duckdb.connect(config=config) as reader:
            if isinstance(reports, duckdb.DuckDBPyRelation):
                yield _Source(connection, reports, rows)
            elif isinstance(reports, (pa.Table, pa.RecordBatchReader)):
                once = isinstance(reports, pa.RecordBatchReader)
                yield _Source(connection, reader.from_arrow(reports), rows, once=once)
            else:
                paths = _paths(reports)
                yield _Source(connection, reader.read_parquet(paths, union_by_name=True), rows, paths)


def _paths(reports: Source) -> list[str]:
    files = [reports] if isinstance(reports, (str, Path)) else reports
    if not isinstance(files, Sequence) or not files or not all(isinstance(one, (str, Path)) for one in files):
        raise ParameterError("Reports are Parquet files, a relation of DuckDB, or an Arrow table.")
    return [str(one) for one in files]


def _marks(source: _Source, arms: Arms) -> bool:
    """Whether files say that they hold simulations; those of another mechanism are refused."""
    if not source.paths:
        return False
    asked = "SELECT DISTINCT key, value FROM parquet_kv_metadata($paths) WHERE key IN ($simulated, $mechanism)"
    values = {"paths": source.paths, "simulated": METADATA, "mechanism": MECHANISM}
    rows = source.connection.execute(asked, values).fetchall()
    for key, value in rows:
        if key == MECHANISM and len(arms.mechanisms) == 1:
            check_same(arms.mechanisms[0], Mechanism.from_spec(value), "count reports")
    return any(key == METADATA for key, _ in rows)


def _in_sql(source: _Source, arms: Arms, query: str, *, simulated: bool, strict: bool) -> pa.Table:
    rows = source.relation.query("reports", query).to_arrow_table().cast(SCHEMA)
    wrong = account(rows).refused
    if wrong and strict:
        raise strict_refusal(*next(iter(wrong.items())))
    if not simulated:
        return rows
    mark = [[arms.mechanisms[0].fingerprint], [0], [SIMULATED_ROW], [1]]
    return pa.concat_tables([rows, pa.table(mark, schema=SCHEMA)])
