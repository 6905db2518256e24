"""The printed queries, run by the databases that they are written for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import duckdb
import psycopg
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.mechanism import Mechanism
from sottovoce.engines.sql import DIALECTS, tally_query
from sottovoce.files.counts import Reason, account, fold
from tests.databases import temporary_postgresql
from tests.each import for_each
from tests.engines import queries


@for_each("name", queries.NAMES)
def test_duckdb_runs_its_query(name: str) -> None:
    m, reports, expected = queries.reports_of(name)
    connection = duckdb.connect()
    connection.register("reports", reports)
    queries.check(connection.sql(tally_query(m, "duckdb")).to_arrow_table(), m, expected)


@pytest.mark.slow
def test_the_tests_have_every_mechanism_with_a_query() -> None:
    found = set()
    for name in sv.names():
        try:
            tally_query(queries.mechanism(name), "duckdb")
            found.add(name)
        except sv.SottovoceError:  # it needs a kernel, or another domain
            continue
    assert found == set(queries.NAMES)


def test_numbers_that_no_report_has_fail_no_query() -> None:
    m, reports, expected = queries.no_whole_numbers()
    connection = duckdb.connect()
    connection.register("reports", reports)
    queries.check(connection.sql(tally_query(m, "duckdb")).to_arrow_table(), m, expected)


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


HOSTILE = "'; DROP TABLE reports; --"


@for_each("dialect", DIALECTS)
def test_nothing_that_others_write_becomes_sql(dialect: str) -> None:
    """Labels are not in a query, and the name is in a comment that it cannot end."""
    m = sv.mechanism("grr", sv.Categories([HOSTILE, "b\n; DROP TABLE reports"]), epsilon=1)
    named = replace(m, name=f"grr {HOSTILE}")
    query = tally_query(named, dialect)
    assert [HOSTILE in line for line in query.splitlines()] == [True, *[False] * (len(query.splitlines()) - 1)]
    assert query.splitlines()[0].startswith("-- ") and "DROP" not in query.partition("\n")[2]
    for end in ("\n", "\r", "\u2028", "\x85", "\0"):
        spec = json.dumps({**m.spec(), "name": f"grr{end}DROP TABLE reports"})
        with pytest.raises(SpecError, match="printable"):
            Mechanism.from_spec(spec)


def test_a_hostile_name_is_a_comment_for_the_database() -> None:
    m = replace(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), name=f"grr {HOSTILE} */ {HOSTILE}")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE reports AS SELECT 1 AS report FROM range(5)")
    assert fold(connection.sql(tally_query(m, "duckdb")).to_arrow_table(), m).n == 5
    assert connection.execute("SELECT count(*) FROM reports").fetchall() == [(5,)]


@pytest.mark.slow
def test_postgresql_runs_its_query(require_tool: Callable[[str], str]) -> None:
    require_tool("initdb")
    with temporary_postgresql() as url, psycopg.connect(url) as connection:
        cases = [(name, queries.reports_of(name)) for name in queries.NAMES]
        for name, (m, reports, expected) in [*cases, ("numbers", queries.no_whole_numbers())]:
            kind = {"numbers": "double precision"}.get(name, "bigint" if name in queries.OUTPUTS else "bytea")
            connection.execute(f"CREATE TEMPORARY TABLE reports (report {kind})")
            rows = reports.column("report").to_pylist()
            connection.execute(f"INSERT INTO reports SELECT unnest(%s::{kind}[])", [rows])
            queries.check(connection.execute(tally_query(m, "postgresql").encode()).fetchall(), m, expected)
            connection.execute("DROP TABLE reports")
