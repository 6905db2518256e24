"""DuckDB counts the same integers as the definition, however rows are ordered and split into files."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.errors import MismatchError, ReportError, SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import StudyFacts
from sottovoce.core.round import Arm, Round
from sottovoce.engines import duckdb as engine
from sottovoce.files.arms import Arms
from sottovoce.files.counts import Reason
from sottovoce.files.writer import Writer
from tests.each import for_each
from tests.engines import made


@pytest.mark.slow
@for_each("kind", made.BY_STATISTIC)
def test_every_statistic_is_counted_like_its_definition(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    arms = Arms.of(made.mechanism_of(kind))
    rows = made.table(made.dirty(kind, 300), with_arm=False)
    expected = made.by_definition(arms, rows)
    assert expected[1].conflicts and expected[1].repeated and sum(expected[1].refused.values()) >= 4
    made.check_rows(engine.count(rows, arms.mechanisms[0]), arms, expected)
    other = rows.take(np.random.default_rng(3).permutation(rows.num_rows))
    folder = tmp_path_factory.mktemp("parts")
    files = made.written(other, folder, row_group=97)
    made.check_rows(engine.count(files, arms), arms, expected)
    made.check_rows(engine.count(folder / "*.parquet", arms), arms, expected)
    made.check_rows(engine.count(other.to_reader(50), arms), arms, expected)


def test_outputs_are_counted_in_one_query_and_bad_rows_by_reason(tmp_path: Path) -> None:
    m = made.mechanism_of("outputs")
    reports = np.array([0, 1, 1, 299, 300, -1, 70_000], np.int32)
    rows = pa.table({"report": pa.array([*reports.tolist(), None], pa.int32())})
    found = engine.count(rows, m)
    assert engine.fold(found, m) == m.tally([bytes(16) + int(one).to_bytes(2, "little") for one in reports[:4]])
    seen = engine.account(found)
    assert seen.refused == {Reason.LENGTH.words: 1, Reason.PAYLOAD.words: 3}
    assert seen.checksum is None and seen.rows == 8
    assert str(seen) == "4 of 8 rows counted; 1 of a wrong length; 3 with a payload that no device sends."
    assert engine.refused(rows, m).column("reason").to_pylist() == [Reason.PAYLOAD.words] * 3 + [Reason.LENGTH.words]
    with pytest.raises(ReportError, match="A strict count refuses"):
        engine.count(rows, m, strict=True)
    relation = duckdb.connect().from_arrow(rows)
    assert engine.fold(engine.count(relation, m), m) == engine.fold(found, m)


def test_all_arms_of_a_round_at_once() -> None:
    kinds = ("outputs", "supports", "seeds")
    arms = Arms.of([made.mechanism_of(kind) for kind in kinds])
    rows = made.table(*(made.dirty(kind, 100) for kind in kinds))
    expected = made.by_definition(arms, rows)
    found = engine.count(rows, arms)
    made.check_rows(found, arms, expected)
    assert engine.fold(found, arms, arm=2) == expected[0][2]
    assert engine.account(found).refused[Reason.ARM.words] == 6
    listed = engine.refused(rows, arms)
    assert listed.num_rows == sum(expected[1].refused.values())
    assert listed.column_names == ["arm", "id", "reason"]
    with pytest.raises(MismatchError, match="another mechanism"):
        engine.fold(found, [arms.mechanisms[1]])
    with pytest.raises(ReportError, match="3 arms"):
        engine.fold(found, arms, arm=3)


def manifest() -> Manifest:
    facts = StudyFacts("night", "o", "c@example.org", "p", "person", Decimal(1), Decimal(1))
    asked = (Asked("a", sv.Frequency(sv.Integers(0, 299))), Asked("b", sv.Frequency(sv.Integers(0, 20))))
    arms = (Arm("a", made.mechanism_of("outputs"), 2), Arm("b", made.mechanism_of("supports"), 3))
    return Manifest(facts, asked, Round(arms))


def test_the_arm_of_a_report_is_that_of_its_id() -> None:
    arms = Arms.of(manifest())
    rows = made.table(made.clean("outputs", 60), made.clean("supports", 60), bad=False)
    ids = rows.column("id").to_pylist()
    assert arms.assigned(np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16)).tolist() == [
        manifest().arm_of(one) for one in ids
    ]
    expected = made.by_definition(arms, rows)
    found = engine.count(rows, manifest())
    made.check_rows(found, arms, expected)
    assert engine.account(found).refused == {Reason.OTHER_ARM.words: sum(expected[1].refused.values())}
    assert Arms.from_bytes(arms.to_bytes()) == arms


def test_files_say_what_made_them(tmp_path: Path) -> None:
    m, other = made.mechanism_of("outputs"), sv.mechanism("grr", sv.Integers(0, 299), epsilon=2)
    path = tmp_path / "reports.parquet"
    with path.open("wb") as file, Writer(file, "parquet", m, seeded=True) as writer:
        writer.write(m.privatize([1] * 50, seed=1))
    assert engine.fold(engine.count(path, m), m).simulated
    assert engine.fold(engine.count([path, path], m), m).n == 100
    with pytest.raises(MismatchError, match="count reports"):
        engine.count(path, other)


@for_each(
    "rows,said",
    [
        (pa.table({"id": pa.array([b"0" * 16])}), "one column, 'report' or 'payload'"),
        (pa.table({"arm": [0], "report": ["a"]}), "must hold integers or bytes"),
        (pa.table({"id": ["a"], "report": [1]}), "columns of bytes"),
        (7, "Parquet files, a relation of DuckDB, or an Arrow table"),
    ],
)
def test_other_tables_are_refused_in_one_sentence(rows: object, said: str) -> None:
    with pytest.raises(SottovoceError, match=said):
        engine.count(rows, made.mechanism_of("keyed"))


def test_rows_that_change_between_two_passes_are_refused() -> None:
    drawn = "SELECT CAST(left(CAST(uuid() AS VARCHAR), 16) AS BLOB) AS id, CAST(0 AS USMALLINT) AS report FROM range(9)"
    with pytest.raises(ReportError, match="change when they are read again"):
        engine.count(duckdb.connect().sql(drawn), made.mechanism_of("outputs"))


def test_what_is_no_integer_is_never_rounded_to_a_report() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    for column in ([0.4, 1.6, 2.0], [True, False], ["1"], [Decimal("1.5")]):
        for ids in ({}, {"id": [bytes([place]) * 16 for place in range(len(column))]}):
            with pytest.raises(SottovoceError, match="must hold integers or bytes"):
                engine.count(pa.table({"report": pa.array(column), **ids}), m)
    found = engine.count(pa.table({"report": pa.array([b"\x00", b"\x03", b"\x04"])}), m)
    assert engine.fold(found, m).cells.tolist() == [1, 0, 0, 1]


@pytest.mark.slow
def test_ids_that_all_repeat_are_grouped_on_disk() -> None:
    """Every row is compared, in less memory than the rows have."""
    rows = made.dirty("outputs", 300_000)
    table = made.plain_table(rows).drop_columns(["arm"])
    found = engine.count(pa.concat_tables([table] * 3), rows.mechanism, memory="64MB")
    tallies, told = made.by_kernels(rows)
    made.check_rows(found, Arms.of(rows.mechanism), (tallies, replace(told, repeated=told.repeated + 2 * len(table))))
