"""The reports that a device made: what is still to be sent, and what was sent.

A report is written before it is sent for the first time, and every attempt sends the same bytes. `attempts` counts
attempts that may have reached the collector, and those under way. A report without attempts may still change: it gets
the epoch of the day on which it is sent, or is withdrawn with its charge.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields

from sottovoce.client.transport import QUEUED
from sottovoce.core.exchange.wire import Batch

WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One report.

    Attributes:
        study: the hash of the study's first manifest; `manifest` is that of the round.
        payload: the answer after noise, which is all that was kept of it.
        body: what is sent; where it is `sealed`, the collector alone can read it.
        url: of the study at its collector, or at its shuffler.
        attempts: how many may have reached it.
        state: queued, accepted, withdrawn, or the code of a refusal.
        memos: the fingerprints of the round's mechanisms, if all of them keep a memo.
    """

    id: bytes
    study: str
    name: str
    owner: str
    question: str
    manifest: str
    round: int
    arm: int
    epoch: int
    sealed: bool
    token: bytes
    payload: bytes
    body: bytes
    url: str
    attempts: int = 0
    state: str = QUEUED
    memos: str = ""

    @property
    def batch(self) -> Batch:
        """A batch of this report alone: several in one batch would show that they are of one device."""
        return Batch(
            bytes.fromhex(self.manifest)[:8], self.epoch, self.round, self.arm, self.id, self.payload, self.token
        )


_COLUMNS = tuple(one.name for one in fields(Outgoing))


def add(database: sqlite3.Connection, entry: Outgoing) -> None:
    """Write a new report."""
    marks = ", ".join("?" * len(_COLUMNS))
    database.execute(f"INSERT INTO report VALUES ({marks})", [getattr(entry, name) for name in _COLUMNS])


def entries(database: sqlite3.Connection, study: str | None = None) -> list[Outgoing]:
    """All reports, or those of a study, in the random order of their ids."""
    condition, arguments = ("", ()) if study is None else (" WHERE study = ?", (study,))
    return [
        Outgoing(*row) for row in database.execute(f"SELECT {', '.join(_COLUMNS)} FROM report{condition}", arguments)
    ]


def entry_of(database: sqlite3.Connection, report_id: bytes) -> Outgoing | None:
    """The report with this id."""
    row = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM report WHERE id = ?", (report_id,)).fetchone()
    return None if row is None else Outgoing(*row)


def begin_attempt(database: sqlite3.Connection, entry: Outgoing) -> None:
    """An attempt with this epoch and these bytes is about to be made."""
    database.execute(
        "UPDATE report SET attempts = attempts + 1, epoch = ?, body = ? WHERE id = ?",
        (entry.epoch, entry.body, entry.id),
    )


def take_back(database: sqlite3.Connection, report_id: bytes) -> None:
    """An attempt that was begun sent nothing."""
    database.execute("UPDATE report SET attempts = attempts - 1 WHERE id = ?", (report_id,))


def settle(database: sqlite3.Connection, report_id: bytes, state: str) -> None:
    """What became of a queued report; what was settled before stays."""
    database.execute("UPDATE report SET state = ? WHERE id = ? AND state = ?", (state, report_id, QUEUED))


def blank(database: sqlite3.Connection, report_id: bytes) -> None:
    """Forget the bytes of a report that may have arrived; that it was made stays known, as its loss does."""
    database.execute(
        "UPDATE report SET payload = x'', body = x'', token = x'', state = ? WHERE id = ? AND state = ?",
        (WITHDRAWN, report_id, QUEUED),
    )


def remove(database: sqlite3.Connection, report_id: bytes) -> None:
    """Delete a report that never left the device."""
    database.execute("DELETE FROM report WHERE id = ? AND attempts = 0", (report_id,))
