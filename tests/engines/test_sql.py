"""The printed queries, run by the databases that they are written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.engines.rows import Reason, account, fold
from sottovoce.engines.sql import DIALECTS, tally_query
from sottovoce.testing.databases import temporary_postgresql

PLAIN = {"grr": sv.Integers(0, 299), "hadamard": sv.Integers(0, 5), "bernoulli": sv.Interval(-1, 1)}
MASKS = {"oue": sv.Integers(0, 20), "sue": sv.Integers(0, 15), "unary": sv.Integers(0, 2)}


def made(name: str) -> tuple[Mechanism, pa.Table, Any]:
    """Reports with four bad rows, and the tally of the good ones."""
    m = sv.mechanism(name, {**PLAIN, **MASKS}[name], epsilon=1)
    reports = m.privatize([0] * 500, seed=3)
    if name in PLAIN:
        values = [*reports.payload.tolist(), m.cells, -1, None]
        return m, pa.table({"report": pa.array(values, pa.int32())}), m.tally(reports)
    rows = [row.tobytes() for row in reports.payloads()]
    return m, pa.table({"report": pa.array([*rows, rows[0] + b"\0", b"", None], pa.binary())}), m.tally(reports)


def check(rows: Any, m: Mechanism, tally: Any) -> None:
    assert fold(rows, m) == tally
    assert sum(account(rows).refused.values()) == 3


@pytest.mark.parametrize("name", [*PLAIN, *MASKS])
def test_duckdb_runs_its_query(name: str) -> None:
    m, reports, tally = made(name)
    connection = duckdb.connect()
    connection.register("reports", reports)
    check(connection.sql(tally_query(m, "duckdb")).to_arrow_table(), m, tally)


def test_numbers_that_are_not_whole_are_refused() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    connection = duckdb.connect()
    connection.register("reports", pa.table({"report": [0.4, 1.6, 2.0, 3.4]}))
    found = connection.sql(tally_query(m, "duckdb")).to_arrow_table()
    assert account(found).refused == {Reason.PAYLOAD.words: 3}
    assert fold(found, m).cells.tolist() == [0, 0, 1, 0]


def test_bits_that_no_code_has_are_refused() -> None:
    m = sv.mechanism("oue", sv.Integers(0, 20), epsilon=1)
    connection = duckdb.connect()
    connection.register("reports", pa.table({"report": [b"\x00\x00\x20", b"\x01\x00\x10"]}))
    found = connection.sql(tally_query(m, "duckdb")).to_arrow_table()
    assert account(found).refused == {Reason.PAYLOAD.words: 1}
    assert fold(found, m).cells.nonzero()[0].tolist() == [0, 20]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_runs_its_query(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in (*PLAIN, *MASKS):
        m, reports, tally = made(name)
        path = tmp_path_factory.mktemp("sql") / "reports.parquet"
        pq.write_table(reports, path)
        spark.read.parquet(str(path)).createOrReplaceTempView("reports")
        check(spark.sql(tally_query(m, "spark")), m, tally)


def test_a_statistic_that_needs_a_kernel_says_so() -> None:
    m = sv.mechanism("olh", sv.Integers(0, 9), epsilon=1)
    for dialect in DIALECTS:
        with pytest.raises(ParameterError, match="Counting supports of olh needs a kernel"):
            tally_query(m, dialect)
    with pytest.raises(ParameterError, match="duckdb, spark, postgresql"):
        tally_query(sv.mechanism("grr", sv.Integers(0, 9), epsilon=1), "oracle")


@pytest.mark.slow
def test_postgresql_runs_its_query(require_tool: Callable[[str], str]) -> None:
    require_tool("initdb")
    with temporary_postgresql() as url, psycopg.connect(url) as connection:
        for name in (*PLAIN, *MASKS):
            m, reports, tally = made(name)
            kind = "bigint" if name in PLAIN else "bytea"
            connection.execute(f"CREATE TEMPORARY TABLE reports (report {kind})")
            rows = [(value,) for value in reports.column("report").to_pylist()]
            connection.cursor().executemany("INSERT INTO reports VALUES (%s)", rows)
            check(connection.execute(tally_query(m, "postgresql").encode()).fetchall(), m, tally)
            connection.execute("DROP TABLE reports")
