"""The log of administrative acts: each entry holds the hash of the one before, so that none can be changed or removed.

Entries name acts, studies, tokens by their names, and days. They never name a participant or a report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sottovoce.core.specs import canonical
from sottovoce.service.stores.base import StoreError, Transaction

START = bytes(32)


def record(work: Transaction, act: str, *, by: str = "collector", **facts: Any) -> None:
    """Add an entry."""
    last = work.execute("SELECT number, hash FROM acts ORDER BY number DESC LIMIT 1")
    number, before = (last[0][0] + 1, bytes(last[0][1])) if last else (1, START)
    entry = canonical({"number": number, "act": act, "by": by, "day": _day(), **facts})
    work.execute(
        "INSERT INTO acts (number, entry, hash) VALUES (?, ?, ?)", (number, entry.decode(), chained(before, entry))
    )


def chained(before: bytes, entry: bytes) -> bytes:
    """The hash of an entry after the one with the hash `before`."""
    return hashlib.sha256(before + entry).digest()


def entries(work: Transaction) -> Iterator[dict[str, Any]]:
    """All entries with their hashes; refused where the chain is broken."""
    before, number = START, 0
    for given, entry, found in work.rows("SELECT number, entry, hash FROM acts ORDER BY number"):
        before, number = chained(before, entry.encode()), number + 1
        if given != number or before != bytes(found):
            raise StoreError(f"The log of administrative acts was changed: entry {number} does not follow.")
        yield {**json.loads(entry), "hash": before.hex()}


def _day() -> str:
    return datetime.now(UTC).date().isoformat()
