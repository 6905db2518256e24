"""Collectors on both stores and both engines agree on which reports were counted, and on the tallies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.engines import duckdb as duckdb_engine
from sottovoce.engines import spark as spark_engine
from sottovoce.files.counts import account, fold_arms
from sottovoce.service.stores import open_store
from tests.databases import temporary_postgresql
from tests.engines import made
from tests.service.studies import add, collecting, drawn, everyone, grr, send, told
from tests.service.test_exactly_once import cells

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def collected(place: str, rows: list[made.Row]) -> tuple[Manifest, str, int, list[list[int]]]:
    """What a collector with an empty store counts: its manifest, checksum, number of reports and cells.

    The rows that it was sent are added to `rows`: each batch twice, and reports of known ids with larger payloads.
    """
    store = open_store(place)
    name = add(store, everyone(grr(10), sv.mechanism("olh", sv.Integers(0, 9), epsilon=1)))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        for batch in drawn(manifest, np.zeros(400, int), 7):
            assert told(send(collector, name, batch)) == (len(batch), 0, [], None)
            assert told(send(collector, name, batch))[:2] == (0, len(batch))
            sent = [(batch.arm, report, payload) for report, payload in batch.reports()]
            rows += [*sent, *sent]
            rows += [(batch.arm, one, b"\2") for _, one, payload in sent[:9] if batch.arm == 0 and payload < b"\2"]
        rows += [(0, b"short", b"\0"), (1, None, b"\0"), (5, bytes(16), b"\0")]
        with store.read() as work:
            row = work.study(1)
    found = manifest, row.checksum.hex(), row.reports, cells(store)
    store.close()
    return found


def test_collectors_and_engines_agree(spark: Any, require_tool: Callable[[str], str], tmp_path: Path) -> None:
    require_tool("initdb")
    rows: list[made.Row] = []
    manifest, checksum, reports, tallies = collected(str(tmp_path / "store.sqlite"), rows)
    with temporary_postgresql() as url:
        other = collected(url, [])
    assert other[1:] == (checksum, reports, tallies) and other[0].hash == manifest.hash
    files = made.written(made.columns(rows), tmp_path / "files")
    frame = spark.read.parquet(*files).repartition(3)
    for found in (duckdb_engine.count(files, manifest), spark_engine.count(frame, manifest).toArrow()):
        seen = account(found)
        assert (seen.checksum, seen.reports) == (checksum, reports)
        assert seen.conflicts > 0 and seen.repeated >= reports and sum(seen.refused.values()) == 3
        assert [tally.cells.tolist() for tally in fold_arms(found, manifest)] == tallies
