"""The common base of stores: transactions over the same tables. Databases differ in a few keywords and bulk inserts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import SottovoceError
from sottovoce.service.stores import schema

OPEN, CLOSED, DONE, DRAFT = "open", "closed", "done", "draft"
Known = dict[bytes, int | None]  # ids that are stored, with the digest of the payload until the epoch closes
CHECKSUM_BYTES = 32
PART = 10_000  # ids that are read at once
Ints = NDArray[np.int64]
_STUDY = ", ".join(schema.TABLES["studies"])


class StoreError(SottovoceError):
    """The store cannot be opened, or is not a store."""


class StoreFullError(SottovoceError):
    """The disk is full. Nothing of the commit was stored."""


class StoreDownError(SottovoceError):
    """The database does not answer. It is unknown whether the last commit was stored."""


class ArmKey(NamedTuple):
    """The key of an arm's counts. `epoch` is that of the question, 0 if it is asked once."""

    study: int
    round: int
    epoch: int
    arm: int


@dataclass(frozen=True, slots=True)
class StudyRow:
    """The stored row of a study.

    Attributes:
        closed_epoch: of the days in which reports came, the last whose digests have been dropped.
        epoch: that of the questions, in which reports are counted now.
    """

    number: int
    name: str
    source: bytes
    protocol: bytes
    state: str
    round: int
    reports: int
    checksum: bytes
    closed_epoch: int
    epoch: int = 0


class Transaction(ABC):
    """Operations inside one transaction. `?` stands for a parameter in every database."""

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows, if any."""

    @abstractmethod
    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each row."""

    @abstractmethod
    def add_reports(self, study: int, epoch: int, new: Sequence[tuple[bytes, int]]) -> Known:
        """Insert ids with their digests. Ids that were stored before are left unchanged and returned."""

    @abstractmethod
    def known(self, study: int, ids: Sequence[bytes]) -> Known:
        """The stored ids among these, with their digests."""

    @abstractmethod
    def chosen(self, table: str, study: int, hashes: Sequence[bytes]) -> set[bytes]:
        """The hashes among these that are in a table: unused invitations, or all issued ones."""

    @abstractmethod
    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a long result, in parts."""

    # --- studies ---------------------------------------------------------------------------------
    def studies(self) -> list[StudyRow]:
        """All studies, ordered by number."""
        return [_study(row) for row in self.execute(f"SELECT {_STUDY} FROM studies ORDER BY number")]

    def study(self, number: int) -> StudyRow:
        """The study with this number."""
        (row,) = self.execute(f"SELECT {_STUDY} FROM studies WHERE number = ?", (number,))
        return _study(row)

    def add_study(self, name: str, source: bytes, protocol: bytes, manifest: bytes, state: str) -> StudyRow:
        """Add a study with the manifest of its first round."""
        ((last,),) = self.execute("SELECT COALESCE(MAX(number), 0) FROM studies")
        row = StudyRow(last + 1, name, source, protocol, state, 1, 0, bytes(CHECKSUM_BYTES), -1)
        marks = ", ".join("?" * len(schema.TABLES["studies"]))
        self.execute(
            f"INSERT INTO studies ({_STUDY}) VALUES ({marks})",
            tuple(getattr(row, key) for key in schema.TABLES["studies"]),
        )
        self.add_round(row.number, 1, manifest)
        return row

    def set_state(self, study: int, state: str) -> None:
        """Set the state of a study: draft, open, closed or done."""
        self.execute("UPDATE studies SET state = ? WHERE number = ?", (state, study))

    def set_epoch(self, study: int, epoch: int) -> None:
        """Set the epoch in which the reports of a study are counted from now on."""
        self.execute("UPDATE studies SET epoch = ? WHERE number = ?", (epoch, study))

    def add_round(self, study: int, number: int, manifest: bytes) -> None:
        """Add the manifest of a round, which becomes the current one."""
        self.execute("INSERT INTO rounds (study, round, manifest) VALUES (?, ?, ?)", (study, number, manifest))
        self.execute("UPDATE studies SET round = ? WHERE number = ?", (number, study))

    def manifests(self, study: int) -> list[bytes]:
        """The manifests of all rounds, in order."""
        return [
            bytes(row[0])
            for row in self.execute("SELECT manifest FROM rounds WHERE study = ? ORDER BY round", (study,))
        ]

    # --- counts ----------------------------------------------------------------------------------
    def count(self, study: int, reports: int, checksum: bytes) -> None:
        """Set the number of counted reports, and the XOR of the digests of their ids."""
        self.execute("UPDATE studies SET reports = ?, checksum = ? WHERE number = ?", (reports, checksum, study))

    def set_arm(self, key: ArmKey, reports: int) -> None:
        """Set the number of reports of an arm in an epoch of a round."""
        self.execute(
            "INSERT INTO arms (study, round, epoch, arm, reports) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (study, round, epoch, arm) DO UPDATE SET reports = excluded.reports",
            (*key, reports),
        )

    def set_blocks(self, key: ArmKey, blocks: Sequence[tuple[int, bytes]]) -> None:
        """Write the content of blocks of cells."""
        self.many(
            "INSERT INTO cells (study, round, epoch, arm, block, counts) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (study, round, epoch, arm, block) DO UPDATE SET counts = excluded.counts",
            [(*key, block, counts) for block, counts in blocks],
        )

    def epochs(self, study: int, number: int) -> list[int]:
        """The epochs of a round that have reports, in order."""
        rows = self.execute(
            "SELECT DISTINCT epoch FROM arms WHERE study = ? AND round = ? ORDER BY epoch", (study, number)
        )
        return [epoch for (epoch,) in rows]

    def arm_counts(self, study: int, number: int, epoch: int) -> dict[int, int]:
        """The number of reports of each arm in an epoch of a round. Arms without reports are left out."""
        where = "study = ? AND round = ? AND epoch = ?"
        return dict(self.execute(f"SELECT arm, reports FROM arms WHERE {where}", (study, number, epoch)))

    def blocks(self, study: int, number: int, epoch: int) -> dict[int, list[tuple[int, bytes]]]:
        """The blocks of cells that are not zero, by arm."""
        blocks: dict[int, list[tuple[int, bytes]]] = {}
        where = "study = ? AND round = ? AND epoch = ?"
        rows = self.execute(f"SELECT arm, block, counts FROM cells WHERE {where}", (study, number, epoch))
        for arm, block, counts in rows:
            blocks.setdefault(arm, []).append((block, bytes(counts)))
        return blocks

    def add_outcomes(self, study: int, counts: Iterable[tuple[str, int]]) -> None:
        """Add to the numbers of refused reports by reason."""
        self.many(
            "INSERT INTO outcomes (study, code, count) VALUES (?, ?, ?)"
            " ON CONFLICT (study, code) DO UPDATE SET count = outcomes.count + excluded.count",
            [(study, code, count) for code, count in counts],
        )

    def outcomes(self, study: int) -> dict[str, int]:
        """The numbers of refused reports by reason."""
        return dict(self.execute("SELECT code, count FROM outcomes WHERE study = ? ORDER BY code", (study,)))

    def first_bytes(self, study: int) -> Ints:
        """Counts of the first bytes of the counted ids."""
        rows = self.execute("SELECT counts FROM first_bytes WHERE study = ?", (study,))
        return np.frombuffer(bytes(rows[0][0]), "<i8").astype(np.int64) if rows else np.zeros(256, np.int64)

    def set_first_bytes(self, study: int, counts: Ints) -> None:
        """Set the counts of the first bytes of the counted ids."""
        self.execute(
            "INSERT INTO first_bytes (study, counts) VALUES (?, ?)"
            " ON CONFLICT (study) DO UPDATE SET counts = excluded.counts",
            (study, counts.astype("<i8").tobytes()),
        )

    def add_arrivals(self, study: int, epoch: int, count: int) -> None:
        """Add to the number of reports that came in an epoch."""
        self.execute(
            "INSERT INTO arrivals (study, epoch, reports) VALUES (?, ?, ?)"
            " ON CONFLICT (study, epoch) DO UPDATE SET reports = arrivals.reports + excluded.reports",
            (study, epoch, count),
        )

    def arrivals(self, study: int) -> dict[int, int]:
        """The number of reports that came in each epoch. Reports that older versions counted are in none."""
        return dict(self.execute("SELECT epoch, reports FROM arrivals WHERE study = ? ORDER BY epoch", (study,)))

    def stored_ids(self, study: int) -> Iterator[list[bytes]]:
        """All ids of a study, in parts."""
        ids = self.rows("SELECT id FROM reports WHERE study = ?", (study,))
        while part := [bytes(one[0]) for one in islice(ids, PART)]:
            yield part

    # --- epochs ----------------------------------------------------------------------------------
    def forget_digests(self, study: int, epoch: int, first: int) -> None:
        """Drop epochs and digests up to this epoch, of ids that begin with this byte."""
        upper = bytes([first + 1]) if first < 255 else b"\xff" * 17
        self.execute(
            "UPDATE reports SET epoch = NULL, digest = NULL WHERE study = ? AND id >= ? AND id < ? AND epoch <= ?",
            (study, bytes([first]), upper, epoch),
        )

    def set_closed_epoch(self, study: int, epoch: int) -> None:
        """Note that digests up to this epoch have been dropped."""
        self.execute("UPDATE studies SET closed_epoch = ? WHERE number = ?", (epoch, study))

    # --- invitations -----------------------------------------------------------------------------
    def invite(self, study: int, hashes: Iterable[bytes]) -> None:
        """Store new invitations by their hashes."""
        for table in ("invitations", "issued"):
            self.many(f"INSERT INTO {table} (study, hash) VALUES (?, ?)", [(study, one) for one in sorted(hashes)])

    def spend(self, study: int, hashes: Iterable[bytes]) -> None:
        """Delete used invitations. Nothing is written that would link them to the reports of this commit."""
        self.many("DELETE FROM invitations WHERE study = ? AND hash = ?", [(study, one) for one in sorted(hashes)])


class Store(ABC):
    """A database of studies. One process writes reports; others may read, and close studies."""

    kind: str

    @abstractmethod
    def transaction(self, *, write: bool = True) -> AbstractContextManager[Transaction]:
        """A transaction of the one writing connection, durable when it ends; undone if the block raises.

        Without `write` it is a snapshot on a connection of its own, for any thread.
        """

    @abstractmethod
    def lock(self) -> None:
        """Lock the store for one collector. Raises `StoreError` if another has it."""

    @abstractmethod
    def tidy(self) -> bool:
        """Remove traces of recent commits that show which rows changed together.

        False if that is not possible now.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @abstractmethod
    def version(self, work: Transaction) -> int:
        """The number of schema steps this store has taken."""

    @abstractmethod
    def set_version(self, work: Transaction, version: int) -> None:
        """Set the number of schema steps."""

    @abstractmethod
    def words(self, sql: str) -> str:
        """A schema statement in the keywords of this database."""

    def upgrade(self, steps: int = schema.VERSION) -> None:
        """Take all missing schema steps, in one transaction."""
        with self.transaction() as work:
            version = self.version(work)
            if version > schema.VERSION:
                raise StoreError("This store was written by a later version of sottovoce. Update sottovoce to open it.")
            for number, step in enumerate(schema.STEPS[version:steps], version + 1):
                for sql in step:
                    work.execute(self.words(sql))
                if number == schema.FIRST_BYTES:
                    _count_first_bytes(work)
            if version < steps:
                self.set_version(work, steps)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only snapshot."""
        with self.transaction(write=False) as work:
            yield work


def first_bytes_of(ids: Sequence[bytes]) -> Ints:
    """Counts of the first bytes of these ids."""
    return np.bincount(np.frombuffer(b"".join(one[:1] for one in ids), np.uint8), minlength=256)


def _count_first_bytes(work: Transaction) -> None:
    """Count the first bytes of the ids in stores of older versions."""
    for (study,) in work.execute("SELECT number FROM studies"):
        counts = np.zeros(256, np.int64)
        for part in work.stored_ids(study):
            counts += first_bytes_of(part)
        if counts.any():
            work.set_first_bytes(study, counts)


def _study(row: tuple[Any, ...]) -> StudyRow:
    values = dict(zip(schema.TABLES["studies"], row, strict=True))
    plain: dict[str, Any] = {key: bytes(one) if isinstance(one, memoryview) else one for key, one in values.items()}
    return StudyRow(**plain)
