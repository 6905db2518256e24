"""Spark counts the same integers as the definition, in any partitioning. `make test-spark` runs this on real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce.core.errors import ParameterError
from sottovoce.engines import spark as engine
from sottovoce.engines.arms import Arms
from tests.each import for_each
from tests.engines.made import (
    BY_STATISTIC,
    by_definition,
    by_kernels,
    check_rows,
    clean,
    dirty,
    mechanism_of,
    plain_table,
    table,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def frame_of(spark: Any, rows: pa.Table, folder: Any, parts: int = 3) -> Any:
    """The rows as Parquet files of these many parts."""
    size = -(-rows.num_rows // parts)
    for part in range(parts):
        pq.write_table(rows.slice(part * size, size), folder / f"{part}.parquet")
    return spark.read.parquet(str(folder))


@for_each("kind", BY_STATISTIC)
def test_every_statistic_is_counted_like_its_definition(
    kind: str, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    arms = Arms.of(mechanism_of(kind))
    rows = table(dirty(kind, 200), with_arm=False)
    frame = frame_of(spark, rows, tmp_path_factory.mktemp("spark"))
    expected = by_definition(arms, rows)
    for parts in (1, 3):
        check_rows(engine.count(frame.repartition(parts), arms), arms, expected)


def test_all_arms_at_once_and_what_is_refused(spark: Any, tmp_path: Path) -> None:
    kinds = ("outputs", "supports", "seeds")
    arms = Arms.of([mechanism_of(kind) for kind in kinds])
    rows = table(*(dirty(kind, 100) for kind in kinds))
    frame, expected = frame_of(spark, rows, tmp_path), by_definition(arms, rows)
    found = engine.count(frame.repartition(4), arms).toArrow()
    check_rows(found, arms, expected)
    assert len(set(zip(*(found.column(name).to_pylist() for name in ("arm", "cell")), strict=True))) == found.num_rows
    refused = engine.refused(frame, arms).toArrow()
    assert refused.num_rows == sum(expected[1].refused.values())
    assert set(refused.column("reason").to_pylist()) == set(engine.account(found).refused)
    with pytest.raises(Exception, match="a strict count refuses"):
        engine.count(frame, arms, strict=True).toArrow()


def test_columns_of_numbers_and_ids_that_are_known_to_differ(spark: Any, tmp_path: Path) -> None:
    m = mechanism_of("outputs")
    reports = m.privatize([5] * 1000, seed=4)
    pq.write_table(pa.table({"report": pa.array(reports.payload)}), tmp_path / "numbers.parquet")
    frame = spark.read.parquet(str(tmp_path / "numbers.parquet"))
    found = engine.fold(engine.count(frame, m, simulated=True), m)
    assert found == m.tally(reports) and found.simulated
    kind = "supports by hashing"
    rows = clean(kind, 300)
    pq.write_table(plain_table(rows).drop_columns(["arm"]), tmp_path / "ids.parquet")
    frame = spark.read.parquet(str(tmp_path / "ids.parquet"))
    once, each = (engine.count(frame, rows.mechanism, unique=unique).toArrow() for unique in (True, False))
    assert engine.fold(once, rows.mechanism) == engine.fold(each, rows.mechanism) == by_kernels(rows)[0]
    assert engine.account(once) == engine.account(each)


@for_each("kind,columns", [("supports by hashing", ["x"]), ("keyed", ["group", "x"]), ("each", ["sex", "age"])])
def test_a_simulation_is_the_same_in_any_partitioning(
    kind: str, columns: list[str], spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    m, folder = mechanism_of(kind), tmp_path_factory.mktemp("answers")
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
    m = mechanism_of("outputs")
    pq.write_table(pa.table({"x": [7] * 400}), tmp_path / "answers.parquet")
    frame = spark.read.parquet(str(tmp_path / "answers.parquet"))
    reports = engine.privatize(frame, m, "x").toArrow()
    assert len(set(reports.column("id").to_pylist())) == 400 and reports.column_names == ["id", "payload"]
    with pytest.raises(ParameterError, match="a seed and a column that numbers its rows"):
        engine.privatize(frame, m, "x", seed=1)


def check_many(kind: str, n: int, spark: Any, folder: Path) -> None:
    rows = dirty(kind, n)
    tally, repeated, conflicts = by_kernels(rows)
    frame = frame_of(spark, plain_table(rows).drop_columns(["arm"]), folder, parts=5)
    found = engine.count(frame.repartition(7), rows.mechanism).toArrow()
    assert engine.fold(found, rows.mechanism) == tally
    seen = engine.account(found)
    assert (seen.repeated, seen.conflicts, seen.refused) == (repeated, conflicts, {})


def test_many_reports_give_the_integers_of_the_kernels(spark: Any, tmp_path: Path) -> None:
    check_many("outputs", 200_000, spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", BY_STATISTIC)
def test_a_million_reports_of_every_statistic(kind: str, spark: Any, tmp_path: Path) -> None:
    check_many(kind, 1_000_000, spark, tmp_path)
