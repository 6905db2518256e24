"""Spark counts the same integers as the definition, in any partitioning. `make test-spark` runs this on real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.engines import spark as engine
from sottovoce.engines.sql import tally_query
from sottovoce.files.arms import Arms
from tests.each import for_each
from tests.engines import made, queries

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


@for_each("kind", made.BY_STATISTIC)
def test_every_statistic_is_counted_like_its_definition(
    kind: str, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    arms = Arms.of(made.mechanism_of(kind))
    rows = made.table(made.dirty(kind, 200), with_arm=False)
    frame = spark.read.parquet(*made.written(rows, tmp_path_factory.mktemp("spark")))
    expected = made.by_definition(arms, rows)
    for parts in (1, 3):
        made.check_rows(engine.count(frame.repartition(parts), arms), arms, expected)


def test_all_arms_at_once_and_what_is_refused(spark: Any, tmp_path: Path) -> None:
    kinds = ("outputs", "supports", "seeds")
    arms = Arms.of([made.mechanism_of(kind) for kind in kinds])
    rows = made.table(*(made.dirty(kind, 100) for kind in kinds))
    frame, expected = spark.read.parquet(*made.written(rows, tmp_path)), made.by_definition(arms, rows)
    found = engine.count(frame.repartition(4), arms).toArrow()
    made.check_rows(found, arms, expected)
    assert len(set(zip(*(found.column(name).to_pylist() for name in ("arm", "cell")), strict=True))) == found.num_rows
    refused = engine.refused(frame, arms).toArrow()
    assert refused.num_rows == sum(expected[1].refused.values())
    assert set(refused.column("reason").to_pylist()) == set(engine.account(found).refused)
    with pytest.raises(Exception, match="A strict count refuses"):
        engine.count(frame, arms, strict=True).toArrow()


def test_frames_without_rows_and_empty_partitions(spark: Any, tmp_path: Path) -> None:
    kind = "seeds"
    arms, rows = Arms.of(made.mechanism_of(kind)), made.table(made.dirty(kind, 40), with_arm=False)
    frame = spark.read.parquet(*made.written(rows, tmp_path))
    for parts, wanted in ((1, "TRUE"), (9, "payload IS NOT NULL"), (3, "FALSE")):
        chosen = frame.filter(wanted)
        expected = made.by_definition(arms, rows if wanted == "TRUE" else chosen.toArrow())
        for reports in (chosen.repartition(parts), chosen.repartition(parts, "payload").coalesce(1)):
            found = engine.count(reports, arms).toArrow()
            if wanted == "FALSE":
                assert engine.fold(found, arms).n == 0 and engine.account(found).rows == 0
            else:
                made.check_rows(found, arms, expected)
    empty = spark.createDataFrame([], "id binary, payload binary")
    assert engine.fold(engine.count(empty, arms), arms).n == 0
    assert engine.refused(empty, arms).toArrow().num_rows == 0
    with pytest.raises(ReportError, match="each comes once"):
        engine.count(frame.withColumnRenamed("id", "ID"), arms)


def test_columns_of_numbers_and_ids_that_are_known_to_differ(spark: Any, tmp_path: Path) -> None:
    m = made.mechanism_of("outputs")
    reports = m.privatize([5] * 1000, seed=4)
    pq.write_table(pa.table({"report": pa.array(reports.payload)}), tmp_path / "numbers.parquet")
    frame = spark.read.parquet(str(tmp_path / "numbers.parquet"))
    found = engine.fold(engine.count(frame, m, simulated=True), m)
    assert found == m.tally(reports) and found.simulated
    kind = "supports by hashing"
    rows = made.clean(kind, 300)
    pq.write_table(made.plain_table(rows).drop_columns(["arm"]), tmp_path / "ids.parquet")
    frame = spark.read.parquet(str(tmp_path / "ids.parquet"))
    once, each = (engine.count(frame, rows.mechanism, unique=unique).toArrow() for unique in (True, False))
    assert engine.fold(once, rows.mechanism) == engine.fold(each, rows.mechanism) == made.by_kernels(rows)[0][0]
    assert engine.account(once) == engine.account(each)


@for_each("kind,columns", [("supports by hashing", ["x"]), ("keyed", ["group", "x"]), ("each", ["sex", "age"])])
def test_a_simulation_is_the_same_in_any_partitioning(
    kind: str, columns: list[str], spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    m, folder = made.mechanism_of(kind), tmp_path_factory.mktemp("answers")
    answers = {
        "supports by hashing": {"x": [place % 16 for place in range(200)]},
        "keyed": {"group": ["a", "c"] * 100, "x": [place / 200 for place in range(200)]},
        "each": {"sex": ["f", "m"] * 100, "age": [place % 10 for place in range(200)]},
    }[kind]
    pq.write_table(pa.table({**answers, "number": range(200)}), folder / "answers.parquet")
    frame = spark.read.parquet(str(folder / "answers.parquet"))
    rows = list(zip(*answers.values(), strict=True))
    given = [dict(zip(columns, row, strict=True)) for row in rows] if kind == "each" else rows
    expected = m.tally(m.privatize(answers["x"] if len(columns) == 1 else given, seed=9))
    for parts in (1, 3):
        reports = engine.privatize(frame.repartition(parts), m, columns, seed=9, number="number")
        found = engine.fold(engine.count(reports, m), m)
        assert found == expected and found.simulated


def test_secure_noise_has_fresh_ids(spark: Any, tmp_path: Path) -> None:
    m = made.mechanism_of("outputs")
    pq.write_table(pa.table({"x": [7] * 400}), tmp_path / "answers.parquet")
    frame = spark.read.parquet(str(tmp_path / "answers.parquet"))
    reports = engine.privatize(frame, m, "x").toArrow()
    assert len(set(reports.column("id").to_pylist())) == 400 and reports.column_names == ["id", "payload"]
    with pytest.raises(ParameterError, match="a seed and a column that numbers its rows"):
        engine.privatize(frame, m, "x", seed=1)


def as_view(spark: Any, reports: pa.Table, folder: Path) -> None:
    pq.write_table(reports, folder / "reports.parquet")
    spark.read.parquet(str(folder / "reports.parquet")).createOrReplaceTempView("reports")


@for_each("name", queries.NAMES)
def test_the_printed_query(name: str, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    m, reports, expected = queries.reports_of(name)
    as_view(spark, reports, tmp_path_factory.mktemp("sql"))
    queries.check(spark.sql(tally_query(m, "spark")), m, expected)


def test_numbers_that_no_report_has_fail_no_query(spark: Any, tmp_path: Path) -> None:
    m, reports, expected = queries.no_whole_numbers()
    as_view(spark, reports, tmp_path)
    queries.check(spark.sql(tally_query(m, "spark")), m, expected)
