"""A tally: how many reports, and integer cells of a shape known from the mechanism.

Tallies form a commutative monoid: whatever engine counts them, in whatever order, the integers are the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.errors import MismatchError, ReportError
from sottovoce.core.language.display import card
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Budget
from sottovoce.core.specs import canonical
from sottovoce.tally.limits import check_limits

_MAGIC = b"sottovoce tally 2\n"
_DIGEST = 32
MAX_REPORTS = 1 << 53
MAX_CELL = (1 << 63) - 1  # one report may add more than 1 to a cell
SIMULATED_ROW = -2  # in rows, beside -1 for the number of reports: how many parts of the sum are simulations
MAX_EPOCH = (1 << 31) - 1
_ROWS = 1 << 32  # rows of an epoch: the key of a row is its cell plus this many times the epoch
_EPOCH_BYTES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Hold the counts of the reports of one mechanism: integers that add up in any order.

    A tally with equal counts is equal, marked as a simulation or not. A sum is marked if a part is.

    Args:
        mechanism: The mechanism of the reports.
        n: The number of reports.
        cells: The counts, as many as the mechanism has cells.
        simulated: True if the noise of any report came from a seed.
        epoch: How often the question was asked before, from 0 on. Tallies of different epochs do not add up.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> north = m.tally(m.privatize(["yes"] * 60 + ["no"] * 40, seed=1))
        >>> south = m.tally(m.privatize(["yes"] * 20 + ["no"] * 80, seed=2))
        >>> north.merge(south)
        Tally(grr a057833cc5b7, n=200, 2 cells, simulation)

    See also:
        `Mechanism.tally` counts reports, `combine` estimates from tallies of different mechanisms.
    """

    mechanism: Mechanism
    n: int
    cells: NDArray[np.int64]
    simulated: bool = False
    epoch: int = 0

    def __post_init__(self) -> None:
        n = check_integer("n", "a tally", self.n, 0, MAX_REPORTS)
        object.__setattr__(self, "epoch", check_integer("epoch", "a tally", self.epoch, 0, MAX_EPOCH))
        written = np.asarray(self.cells)
        if written.shape != (self.mechanism.cells,):
            raise MismatchError(f"A tally of this mechanism has {self.mechanism.cells} cells. Got {written.shape}.")
        if written.dtype.kind not in "iu":  # a cell of 1.7 would be cut to 1
            raise MismatchError(f"The cells of a tally are 64-bit integers. Got {written.dtype}.")
        limits = self.mechanism.statistic.limits(self.mechanism.channel)
        most = _most(n, limits.most)
        if not (written.min() >= 0 and (written <= most).all()):
            raise MismatchError(f"Each cell of a tally of {n} reports holds from 0 to {np.max(most)}.")
        cells = written.astype(np.int64)
        cells.setflags(write=False)
        # Simulations may draw each cell from its own law, independently of the others (`simulate_cells(joint=False)`).
        check_limits(limits if not self.simulated else limits._replace(sums=()), n, cells)
        if self.mechanism.statistic.impossible(self.mechanism.channel, cells, n):
            raise MismatchError(f"No {n} reports of this mechanism have the sums of this tally.")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "cells", cells)

    @classmethod
    def empty(cls, mechanism: Mechanism, epoch: int = 0) -> Tally:
        """Build the tally of no reports.

        Args:
            mechanism: The mechanism whose reports will be added.
            epoch: The epoch of these reports.

        Returns:
            A tally with zeros.
        """
        return cls(mechanism, 0, np.zeros(mechanism.cells, np.int64), epoch=epoch)

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the mechanism."""
        return self.mechanism.fingerprint

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.merge(other)

    def merge(self, other: Tally) -> Tally:
        """Add the counts of another tally of the same mechanism and epoch.

        Args:
            other: The tally to add. Nobody's report may be in both.

        Returns:
            A new tally.

        Raises:
            MismatchError: The mechanisms or the epochs differ.
        """
        check_same(self.mechanism, other.mechanism, "add tallies")
        _check_epochs({self.epoch, other.epoch})
        simulated = self.simulated or other.simulated
        return Tally(self.mechanism, self.n + other.n, self.cells + other.cells, simulated, self.epoch)

    def update(self, reports: Any) -> Tally:
        """Count further reports into a new tally.

        Args:
            reports: What `Mechanism.tally` takes.

        Returns:
            A new tally with all reports.
        """
        further: Tally = self.mechanism.tally(reports)
        return self + replace(further, epoch=self.epoch)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.fingerprint == other.fingerprint
            and (self.epoch, self.n) == (other.epoch, other.n)
            and np.array_equal(self.cells, other.cells)
        )

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.epoch, self.n, self.cells.tobytes()))

    def __repr__(self) -> str:
        kind = (f", epoch {self.epoch}" if self.epoch else "") + ", simulation" * self.simulated
        return f"Tally({self.mechanism.name} {self.fingerprint[:12]}, n={self.n}, {self.cells.size} cells{kind})"

    def _repr_html_(self) -> str:
        facts = [
            ("reports", f"{self.n:,}"),
            ("integers", f"{self.cells.size:,} ({self.mechanism.statistic.kind})"),
            ("epsilon", f"{self.mechanism.epsilon:.6g}"),
            ("fingerprint", self.fingerprint[:12]),
            *([("epoch", f"{self.epoch:,}")] if self.epoch else []),
        ]
        return card(f"Tally of {self.mechanism.name}", facts, simulated=self.simulated)

    def to_rows(self) -> Iterator[tuple[int, int]]:
        """Write the tally as rows (cell, count) for a database; zeros are left out.

        The row (-1, n) comes first; a simulation also has a row (-2, 1). In a later epoch 2**32 times the epoch is
        added to all cells, so that a database keeps the sums of epochs apart.

        Returns:
            Rows of two integers, which `from_rows` adds up.
        """
        first = self.epoch * _ROWS
        yield first - 1, self.n
        if self.simulated:
            yield first + SIMULATED_ROW, 1
        for cell in np.flatnonzero(self.cells):
            yield first + int(cell), int(self.cells[cell])

    @classmethod
    def from_rows(cls, mechanism: Mechanism, rows: Iterable[tuple[int, int]]) -> Tally:
        """Add up rows from any number of tallies of one epoch.

        Args:
            mechanism: The mechanism of the tallies.
            rows: Rows of `to_rows`, in any order.

        Returns:
            The sum as one tally.
        """
        counts: Counter[int] = Counter()
        epochs: set[int] = set()
        size = mechanism.cells
        for key, count in rows:
            epoch, cell = 0, check_integer("cell", "a tally's row", key, SIMULATED_ROW, MAX_CELL)
            if cell >= size:
                epoch, cell = row_place(cell)
                check_integer("cell", "a tally's row", cell, SIMULATED_ROW, size - 1)
            counts[cell] += check_integer("count", "a tally's row", count, 0, MAX_CELL)
            epochs.add(epoch)
        _check_epochs(epochs)
        n, simulated = counts.pop(-1, 0), counts.pop(SIMULATED_ROW, 0) > 0
        if max(counts.values(), default=0) > MAX_CELL:
            raise MismatchError(f"The rows of a cell add up to more than a cell holds, {MAX_CELL}.")
        cells = np.zeros(mechanism.cells, np.int64)
        cells[list(counts)] = list(counts.values())
        return cls(mechanism, n, cells, simulated, max(epochs, default=0))

    def to_bytes(self) -> bytes:
        """Write the tally as self-describing bytes with its specification and a digest.

        The epoch follows the cells where it is not 0; the first byte says so.

        Returns:
            Bytes that `from_bytes` reads.
        """
        spec = canonical(self.mechanism.spec())
        body = b"".join(
            (
                _MAGIC,
                bytes([self.simulated + 2 * (self.epoch > 0)]),
                len(spec).to_bytes(4, "little"),
                spec,
                self.n.to_bytes(8, "little"),
                self.cells.astype("<i8").tobytes(),
                self.epoch.to_bytes(_EPOCH_BYTES, "little") if self.epoch else b"",
            )
        )
        return body + hashlib.sha256(body).digest()

    @classmethod
    def from_bytes(cls, data: bytes, *, mechanism: Mechanism | None = None, budget: Budget | None = None) -> Tally:
        """Read a tally from its bytes.

        Args:
            data: The bytes of `to_bytes`.
            mechanism: The mechanism that is expected; another one is refused. Default: the one in the bytes.
            budget: A budget of work that several files share.

        Returns:
            The tally.

        Raises:
            ReportError: The bytes are damaged.
            MismatchError: The tally belongs to another mechanism.
        """
        head = len(_MAGIC) + 5
        if not isinstance(data, bytes) or len(data) < head + 8 + _DIGEST or not data.startswith(_MAGIC):
            raise ReportError("The bytes are not a tally of this version.")
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(body).digest() != digest:
            raise ReportError("This tally is damaged or cut off: its digest does not match.")
        mark, length = data[len(_MAGIC)], int.from_bytes(data[len(_MAGIC) + 1 : head], "little")
        if mark > 3:
            raise ReportError("The bytes are not a tally of this version.")
        body, later = (body[:-_EPOCH_BYTES], body[-_EPOCH_BYTES:]) if mark & 2 else (body, b"")
        stored = Mechanism.from_spec(body[head : head + length], budget=budget)
        if mechanism is not None:
            check_same(mechanism, stored, "read the tally")
        n = int.from_bytes(body[head + length : head + length + 8], "little")
        cells = body[head + length + 8 :]
        if len(cells) != 8 * stored.cells:
            raise ReportError(f"This tally holds {len(cells)} bytes of cells; its mechanism needs {8 * stored.cells}.")
        epoch = int.from_bytes(later, "little")
        if later and not 0 < epoch <= MAX_EPOCH:
            raise ReportError(f"The epoch after the cells of this tally is not from 1 to {MAX_EPOCH}.")
        return cls(stored, n, np.frombuffer(cells, "<i8"), bool(mark & 1), epoch)


def row_place(key: int) -> tuple[int, int]:
    """The epoch and the cell of a row; cells below 0 say what else was counted."""
    epoch, place = divmod(key + _ROWS // 2, _ROWS)
    return epoch, place - _ROWS // 2


def _check_epochs(epochs: set[int]) -> None:
    if len(epochs) > 1:
        raise MismatchError(f"Cannot add tallies of different epochs ({' and '.join(map(str, sorted(epochs)))}).")


def report_cells(mechanism: Mechanism, report: int, public: Words = NO_WORDS) -> NDArray[np.int64]:
    """What one report adds to a tally, by the definition of its statistic."""
    cells = np.zeros(mechanism.cells, np.int64)
    for cell, amount in mechanism.statistic.add(mechanism.channel, report, public):
        cells[cell] += amount
    return cells


def _most(n: int, most: int | tuple[int, ...]) -> NDArray[np.int64] | int:
    """The largest sum that n reports can have; it is refused if 64 bits cannot hold it."""
    largest = most if isinstance(most, int) else max(most)
    if n * largest > MAX_CELL:
        raise MismatchError(f"A tally of this mechanism adds up at most {MAX_CELL // largest} reports.")
    return n * most if isinstance(most, int) else n * np.array(most, np.int64)
