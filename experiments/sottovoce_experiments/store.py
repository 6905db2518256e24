"""Results on disk: a journal of finished cells while an experiment runs, and Parquet when it is done."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sottovoce_experiments.experiment import Row

_IDENTITY = b"sottovoce.identity"


def read_results(path: Path, identity: str) -> list[Row]:
    """The rows of a finished run; none if there is no such file, or if it is of another run."""
    try:
        table = pq.read_table(path)
    except (FileNotFoundError, pa.ArrowInvalid):
        return []
    if (table.schema.metadata or {}).get(_IDENTITY) != identity.encode():
        return []
    rows: list[Row] = table.to_pylist()
    return rows


def write_results(path: Path, identity: str, rows: Sequence[Row]) -> None:
    """Rows as Parquet; the file appears whole or not at all."""
    table = pa.Table.from_pylist(list(rows))
    table = table.replace_schema_metadata({_IDENTITY: identity.encode()})
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, unfinished)
    os.replace(unfinished, path)


def read_journal(path: Path, identity: str) -> list[Row]:
    """The rows of cells that were finished before a run was interrupted; an incomplete line is left out."""
    rows: list[Row] = []
    if not path.exists():
        return rows
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(entry, dict) and entry.get("identity") == identity:
            rows += entry["rows"]
    return rows


def append_journal(path: Path, identity: str, rows: Sequence[Row]) -> None:
    """One finished cell, on disk before the next begins; it starts a new line, in case the last is incomplete."""
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps({"identity": identity, "rows": list(rows)}) + "\n")
        file.flush()
        os.fsync(file.fileno())
