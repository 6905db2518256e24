"""DuckDB counts the same integers as the definition, however rows are ordered and split into files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce.engines import duckdb as engine
from sottovoce.engines.arms import Arms
from tests.each import for_each
from tests.engines.made import (
    BY_STATISTIC,
    by_definition,
    check_rows,
    dirty,
    mechanism_of,
    table,
)


def parts_of(rows: pa.Table, folder: Path, parts: int) -> str:
    """The rows in several files; the pattern of their names."""
    size = -(-rows.num_rows // parts)
    folder.mkdir()
    for part in range(parts):
        pq.write_table(rows.slice(part * size, size), folder / f"{part}.parquet", row_group_size=97)
    return f"{folder}/*.parquet"


@for_each("kind", BY_STATISTIC)
def test_every_statistic_is_counted_like_its_definition(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    arms = Arms.of(mechanism_of(kind))
    rows = table(dirty(kind, 300), with_arm=False)
    expected = by_definition(arms, rows)
    assert expected[1].conflicts and expected[1].repeated and sum(expected[1].refused.values()) >= 4
    check_rows(engine.count(rows, arms.mechanisms[0]), arms, expected)
    other = rows.take(np.random.default_rng(3).permutation(rows.num_rows))
    check_rows(engine.count(parts_of(other, tmp_path_factory.mktemp("parts") / "of", 5), arms), arms, expected)
