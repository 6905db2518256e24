"""The printed queries, run by the databases that they are written for."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import psycopg
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.engines.rows import Reason, account, fold
from sottovoce.engines.sql import DIALECTS, tally_query
from sottovoce.testing.databases import temporary_postgresql
from tests.engines.made import MASKS, PLAIN, check_query, for_query


@pytest.mark.parametrize("name", [*PLAIN, *MASKS])
def test_duckdb_runs_its_query(name: str) -> None:
    m, reports, tally = for_query(name)
    connection = duckdb.connect()
    connection.register("reports", reports)
    check_query(connection.sql(tally_query(m, "duckdb")).to_arrow_table(), m, tally)


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
            m, reports, tally = for_query(name)
            kind = "bigint" if name in PLAIN else "bytea"
            connection.execute(f"CREATE TEMPORARY TABLE reports (report {kind})")
            rows = [(value,) for value in reports.column("report").to_pylist()]
            connection.cursor().executemany("INSERT INTO reports VALUES (%s)", rows)
            check_query(connection.execute(tally_query(m, "postgresql").encode()).fetchall(), m, tally)
            connection.execute("DROP TABLE reports")
