"""Spark counts the same integers as the definition, in any partitioning. `make test-spark` runs this on real Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce.engines import spark as engine
from sottovoce.engines.arms import Arms
from tests.each import for_each
from tests.engines.made import BY_STATISTIC, by_definition, check_rows, dirty, mechanism_of, table

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
