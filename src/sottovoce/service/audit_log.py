"""The audit log of administrative acts. Each entry includes the hash of the one before, so changes are noticed.

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
    """Add an entry to the log."""
    last = work.execute("SELECT number, hash FROM acts ORDER BY number DESC LIMIT 1")
    number, before = (last[0][0] + 1, bytes(last[0][1])) if last else (1, START)
    entry = canonical({"number": number, "act": act, "by": by, "day": datetime.now(UTC).date().isoformat(), **facts})
    work.execute(
        "INSERT INTO acts (number, entry, hash) VALUES (?, ?, ?)", (number, entry.decode(), chained(before, entry))
    )


def chained(before: bytes, entry: bytes) -> bytes:
    """The hash of an entry that follows an entry with the hash `before`."""
    return hashlib.sha256(before + entry).digest()


def entries(work: Transaction) -> Iterator[dict[str, Any]]:
    """All entries with their hashes. Raises `StoreError` where the chain is broken."""
    before, number = START, 0
    for stored_number, entry, stored_hash in work.rows("SELECT number, entry, hash FROM acts ORDER BY number"):
        before, number = chained(before, entry.encode()), number + 1
        if stored_number != number or before != bytes(stored_hash):
            raise StoreError(f"The audit log was altered: the hash of entry {number} does not match.")
        yield {**json.loads(entry), "hash": before.hex()}
