"""A million reports of every statistic, with repeated, conflicting and bad rows: one set of integers from the scalar
definition, the kernels, DuckDB and Spark, in any partitioning.

`pytest -m long tests/engines/test_a_million.py` runs it on pysail, `make test-spark SPARK="-m long"` on real Spark.
There the same rows are counted, which come from seeds, and compared with what the kernels say: that this is what the
definition says, one report after the other, is shown by the first command.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scripts.spark_session import MASTER
from sottovoce.engines import duckdb as duckdb_engine
from sottovoce.engines import spark as spark_engine
from sottovoce.files.arms import Arms
from tests.engines import made

MILLION = 1_000_000
pytestmark = pytest.mark.xdist_group("spark")


def check(kind: str, n: int, spark: Any, folder: Path) -> None:
    rows = made.dirty(kind, n)
    arms = Arms.of(rows.mechanism)
    bad = made.columns(made.bad_rows(rows)[:4])  # payloads of ones are valid for some mechanisms
    half = len(rows.ids) // 2
    good = made.plain_table(rows)
    whole = pa.concat_tables([good.slice(0, half), bad, good.slice(half)]).drop_columns(["arm"])
    expected = made.by_kernels(rows, {"without an id of 16 bytes": 2, "of a wrong length": 2})
    assert expected[1].conflicts > n // 500 and expected[1].repeated > n // 20
    files = made.written(whole, folder / "files", [n // 7, n // 2, n // 2 + 1])
    if MASTER not in os.environ:
        assert made.by_definition(arms, whole) == expected
        made.check_rows(duckdb_engine.count(files, arms), arms, expected)
        made.check_rows(duckdb_engine.count(whole.to_reader(n // 9), arms), arms, expected)
    frame = spark.read.parquet(*files)
    for parts in (2, 7):
        made.check_rows(spark_engine.count(frame.repartition(parts), arms), arms, expected)


@pytest.mark.slow
def test_many_reports_in_any_partitioning(spark: Any, tmp_path: Path) -> None:
    check("outputs", 100_000, spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", made.BY_STATISTIC)
def test_a_million_reports_of_every_statistic(kind: str, spark: Any, tmp_path: Path) -> None:
    check(kind, MILLION, spark, tmp_path)
