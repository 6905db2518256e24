"""Rows of counts, `(fingerprint, arm, cell, n)`, which every engine writes, and the tallies that they add up to.

Cells from 0 on are those of the arm's tally. Those below say what else was seen: -1 the number of reports, -2 parts
that are simulations, -3 repeated reports, -4 ids with different bytes, -5 to -8 the four words of the checksum, and
below them reports that were refused, by reason. All add up; the words of the checksum do so by exclusive or. In a later
epoch 2**32 times the epoch is added to all cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pyarrow as pa

from sottovoce.core.errors import MismatchError, ReportError
from sottovoce.core.language.plural import plural
from sottovoce.files.arms import Arms
from sottovoce.tally.tally import SIMULATED_ROW, Tally, row_place

REPORTS, REPEATED, CONFLICTS = -1, -3, -4
CHECKSUM = (-5, -6, -7, -8)
NO_ARM = -1
SCHEMA = pa.schema([("fingerprint", pa.string()), ("arm", pa.int32()), ("cell", pa.int64()), ("n", pa.int64())])
COLUMNS = "fingerprint string, arm int, cell long, n long"  # the same in the words of Spark
_WORD = (1 << 64) - 1

# How engines add rows up. Words of a checksum are random, and their sums would overflow.
_IS_WORD = f"cell BETWEEN {CHECKSUM[-1]} AND {CHECKSUM[0]}"
ADDED = f"sum(CASE WHEN {_IS_WORD} THEN 0 ELSE n END) + bit_xor(CASE WHEN {_IS_WORD} THEN n ELSE 0 END)"


class Reason(IntEnum):
    """Why a row is not counted. The number is part of the rows; 0 is a report that is counted."""

    ARM = 1
    ID = 2
    LENGTH = 3
    UNUSED_ID = 4
    PAYLOAD = 5
    OTHER_ARM = 6

    @property
    def cell(self) -> int:
        """The cell of the rows that count it."""
        return CHECKSUM[-1] - int(self)

    @property
    def words(self) -> str:
        """Say what is wrong with a report of this kind."""
        return _WORDS[self]


_WORDS = {
    Reason.ARM: "with an arm that does not exist",
    Reason.ID: "without an id of 16 bytes",
    Reason.LENGTH: "of a wrong length",
    Reason.UNUSED_ID: "with an id that no device uses",
    Reason.PAYLOAD: "with a payload that no device sends",
    Reason.OTHER_ARM: "with another arm than that of its id",
}


def strict_refusal(words: str, count: int) -> ReportError:
    """The error of a strict count for malformed reports; `words` say what is wrong with them."""
    are = "is" if count == 1 else "are"
    return ReportError(
        f"{plural(count, 'report', ',')} {words} {are} malformed. A strict count refuses such files; without strict"
        " they are skipped and counted."
    )


_BESIDE = range(min(reason.cell for reason in Reason), SIMULATED_ROW)  # cells that are not those of a tally


@dataclass(frozen=True, slots=True)
class CountedRows:
    """What became of all rows that were read.

    Attributes:
        reports: how many were counted.
        repeated: rows whose id was counted already.
        conflicts: ids that came with different bytes; the smallest are counted.
        refused: rows that are invalid, by reason.
        checksum: the exclusive or of the SHA-256 of the ids that were counted, in hexadecimal; None without ids.
    """

    reports: int
    repeated: int = 0
    conflicts: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    checksum: str | None = None

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self.reports + self.repeated + sum(self.refused.values())

    def __str__(self) -> str:
        said = [f"{self.reports} of {plural(self.rows, 'row')} counted"]
        if self.repeated:
            said.append(f"{self.repeated} repeated")
        if self.conflicts:
            said.append(f"{plural(self.conflicts, 'id')} with different bytes")
        said += [f"{count} {words}" for words, count in self.refused.items()]
        return "; ".join(said) + "."


def fold(rows: Any, what: Any, *, arm: int = 0) -> Tally:
    """The tally of one arm: the sum of rows from any engine, in any order."""
    return _tally(_tuples(rows), Arms.of(what), arm)


def fold_arms(rows: Any, what: Any) -> tuple[Tally, ...]:
    """The tallies of all arms, in their order, as `Protocol.advance` takes them."""
    arms, counts = Arms.of(what), list(_tuples(rows))
    return tuple(_tally(counts, arms, arm) for arm in range(len(arms.mechanisms)))


def account(rows: Any) -> CountedRows:
    """What the rows say beside the tallies, over all arms."""
    sums: Counter[int] = Counter()
    words = dict.fromkeys(CHECKSUM, 0)
    with_ids = False
    for _, _, key, n in _tuples(rows):
        _, cell = row_place(key)
        if cell in words:
            words[cell] ^= n & _WORD
            with_ids = True
        elif cell < 0:
            sums[cell] += n
    refused = {reason.words: sums[reason.cell] for reason in Reason if sums[reason.cell]}
    checksum = "".join(f"{word:016x}" for word in words.values()) if with_ids else None
    return CountedRows(sums[REPORTS], sums[REPEATED], sums[CONFLICTS], refused, checksum)


def _tally(rows: Iterable[tuple[str, int, int, int]], arms: Arms, arm: int) -> Tally:
    if not 0 <= arm < len(arms.mechanisms):
        raise ReportError(f"There are {len(arms.mechanisms)} arms, counted from 0.")
    mechanism = arms.mechanisms[arm]
    own = []
    for fingerprint, place, cell, n in rows:
        if place != arm or cell < SIMULATED_ROW or row_place(cell)[1] in _BESIDE:
            continue
        if fingerprint != mechanism.fingerprint:
            raise MismatchError(
                f"Rows of arm {arm} were counted for another mechanism: {fingerprint[:12]} instead of"
                f" {mechanism.fingerprint[:12]}."
            )
        own.append((cell, n))
    return Tally.from_rows(mechanism, own)


def _tuples(rows: Any) -> Iterable[tuple[str, int, int, int]]:
    """Rows of an Arrow table, a DuckDB relation, a Spark frame, or plain tuples."""
    for name in ("toArrow", "to_arrow_table"):
        if hasattr(rows, name):
            rows = getattr(rows, name)()
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        missing = [name for name in SCHEMA.names if rows.schema.names.count(name) != 1]
        if missing:
            raise ReportError(f"Rows of counts have the columns {', '.join(SCHEMA.names)}, each once.")
        return zip(*(rows.column(name).to_pylist() for name in SCHEMA.names), strict=True)
    return rows  # type: ignore[no-any-return]
