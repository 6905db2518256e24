"""Columns of unusual kinds, rows of nothing, names in capitals, and sums that no smaller integer holds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.errors import SottovoceError
from sottovoce.core.statistic import STATISTICS
from sottovoce.engines import duckdb as engine
from sottovoce.engines.partition import PartitionCounter, refused
from sottovoce.files.arms import Arms
from sottovoce.files.counts import Reason, account, fold
from tests.each import for_each
from tests.engines import made

KINDS: dict[str, Callable[[Any], Any]] = {
    "large": lambda column: column.cast(pa.large_binary()),
    "view": lambda column: pa.array(column.to_pylist(), pa.binary_view()),
    "dictionary": lambda column: column.dictionary_encode(),
    "cut": lambda column: pa.concat_arrays([column.slice(0, 3), column]).slice(3),
}


def by_batches(rows: pa.Table, arms: Arms, size: int = 50) -> Any:
    """As an executor of Spark counts its partition, without comparing ids."""
    counter = PartitionCounter(arms)
    for batch in rows.to_batches(max_chunksize=size):
        counter.add(batch)
    return counter.rows()


def test_the_tests_have_every_statistic() -> None:
    assert {made.mechanism_of(kind).statistic.kind for kind in made.BY_STATISTIC} == set(STATISTICS)


@for_each("how", KINDS)
def test_bytes_in_other_wrappings(how: str) -> None:
    arms = Arms.of([made.mechanism_of(kind) for kind in ("outputs", "seeds")])
    rows = made.table(*(made.clean(kind, 60) for kind in ("outputs", "seeds")))
    wrapped = rows
    for name in ("id", "payload"):
        column = KINDS[how](rows.column(name).combine_chunks())
        wrapped = wrapped.set_column(wrapped.schema.get_field_index(name), name, column)
    found, told = (by_batches(one, arms) for one in (wrapped, rows))
    assert found == told and account(found).reports >= 120
    listed = [list(refused(arms, one.to_batches())) for one in (wrapped, rows)]
    assert pa.Table.from_batches(listed[0]) == pa.Table.from_batches(listed[1])
    made.check_rows(engine.count(wrapped, arms), arms, made.by_definition(arms, rows))


def test_ids_of_an_extension_type() -> None:
    rows, m = made.clean("seeds", 50), made.mechanism_of("seeds")
    table = made.plain_table(rows).drop_columns(["arm"])
    ids = table.column("id").combine_chunks().cast(pa.binary(16))
    kind = getattr(pa, "uuid", lambda: None)()
    if kind is not None:
        table = table.set_column(0, "id", pa.ExtensionArray.from_storage(kind, ids))
    assert fold(by_batches(table, Arms.of(m)), m) == made.by_kernels(rows)[0][0]


def test_rows_of_nothing_are_refused_one_by_one() -> None:
    arms = Arms.of(made.mechanism_of("seeds"))
    for kind in (pa.null(), pa.binary(), pa.binary(16), pa.large_binary()):
        rows = pa.table({"id": pa.nulls(5, kind), "payload": pa.nulls(5, kind)})
        found = by_batches(rows, arms)
        assert account(found).refused == {Reason.ID.words: 5} and fold(found, arms).n == 0
        assert pa.Table.from_batches(refused(arms, rows.to_batches())).num_rows == 5
    outputs = Arms.of(made.mechanism_of("outputs"))
    for kind in (pa.null(), pa.int8(), pa.uint64(), pa.decimal128(20, 0)):
        found = by_batches(pa.table({"report": pa.nulls(4, kind), "arm": pa.array([0, 0, 1, None])}), outputs)
        assert account(found).refused == {Reason.ARM.words: 2, Reason.LENGTH.words: 2}
    for empty in (rows.slice(0, 0), rows.slice(5)):
        for found in (by_batches(empty, arms), engine.count(empty, arms)):
            assert account(found).rows == 0 and fold(found, arms) == sv.Tally.empty(arms.mechanisms[0])


def test_arms_that_no_integer_holds_are_listed() -> None:
    arms = Arms.of([made.mechanism_of("outputs")] * 2)
    for column in (
        pa.array([1, (1 << 64) - 1, None], pa.uint64()),
        pa.array([Decimal(1), Decimal(10) ** 30, Decimal(-5)], pa.decimal128(38, 0)),
    ):
        rows = pa.table({"arm": column, "report": pa.array([1, 2, 3])})
        assert account(by_batches(rows, arms)).refused == {Reason.ARM.words: 2}
        listed = pa.Table.from_batches(refused(arms, rows.to_batches()))
        assert listed.column("arm").to_pylist()[0] is None and listed.num_rows == 2


@pytest.mark.parametrize("names", [["ID", "report"], ["id", "Payload"], ["id ", "report"], ["report", "payload"]])
def test_names_that_look_like_counted_ones_are_refused(names: list[str]) -> None:
    """An id that is not read would let a report count twice."""
    m = made.mechanism_of("outputs")
    rows = pa.table([pa.array([bytes(16)] * 2), pa.array([1, 1])], names)
    for count in (lambda: engine.count(rows, m), lambda: by_batches(rows, Arms.of(m))):
        with pytest.raises(SottovoceError, match=r"each comes once|in one column"):
            count()


def test_other_columns_are_not_read() -> None:
    m = made.mechanism_of("outputs")
    rows = pa.table({"report": [1, 2], 'a"; DROP TABLE reports; --': [1, 2], "reports": ["x", "y"], "n": [5, 6]})
    assert fold(engine.count(rows, m), m).n == 2
    relation = duckdb.connect().from_arrow(rows)
    assert fold(engine.count(relation, m), m).n == 2


@pytest.mark.parametrize("kind", ["moments", "sums", "outputs"])
def test_a_million_million_reports_add_up_exactly(kind: str) -> None:
    """A cell of moments then holds more than 2^53, which floating point and smaller limits would cut."""
    m, times = made.mechanism_of(kind), 10**9
    small = m.tally(m.privatize([made.BY_STATISTIC[kind][2]] * 1000, seed=1))
    rows = [(m.fingerprint, 0, cell, n * times // 100) for cell, n in small.to_rows() if cell != -2] * 100
    found = fold(rows, m)
    assert found.n == 10**12
    assert [int(cell) for cell in found.cells] == [int(cell) * times for cell in small.cells]
    assert kind != "moments" or max(found.cells) > 1 << 53
    assert sv.Tally.from_rows(m, found.to_rows()) == found == sv.Tally.from_bytes(found.to_bytes())


def test_sums_that_64_bits_do_not_hold_are_refused() -> None:
    m = made.mechanism_of("moments")
    most = m.statistic.limits(m.channel).most
    largest = max(most) if isinstance(most, tuple) else most
    n = ((1 << 63) - 1) // largest
    wrapped = [(m.fingerprint, 0, -1, n + 1), (m.fingerprint, 0, 0, 0)]  # whatever the cells have become
    with pytest.raises(SottovoceError, match=f"adds up at most {n} reports"):
        fold(wrapped, m)
    for rows in ([(-1, 10), (3, (1 << 63) - 1), (3, 1)], [(-1, 10), (3, 1 << 63)]):
        with pytest.raises(SottovoceError):
            sv.Tally.from_rows(m, rows)


def test_batches_of_wide_reports_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is bounded by its bytes, too."""
    monkeypatch.setattr(engine, "BATCH_BYTES", 1 << 16)
    m = sv.mechanism("oue", sv.Integers(0, 4095), epsilon=1)  # 512 bytes each
    sizes: list[int] = []
    add = PartitionCounter.add
    monkeypatch.setattr(PartitionCounter, "add", lambda self, batch: sizes.append(batch.num_rows) or add(self, batch))
    payloads = [row.tobytes() for row in m.privatize([0] * 5000, seed=1).payloads()]
    found = engine.count(pa.table({"payload": pa.array(payloads, pa.binary())}), m)
    assert fold(found, m) == m.tally(m.privatize([0] * 5000, seed=1))
    assert max(sizes) <= 2048 < sum(sizes)  # DuckDB's smallest batch


def test_numbers_of_any_kind() -> None:
    m = made.mechanism_of("outputs")
    values = [0, 1, 1, 120]
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64(), pa.uint64(), pa.decimal128(20, 0)):
        rows = pa.table({"report": pa.array(values, pa.int64()).cast(kind)})
        expected = np.bincount(values, minlength=m.cells)
        for found in (by_batches(rows, Arms.of(m), 2), engine.count(rows, m)):
            assert np.array_equal(fold(found, m).cells, expected)
