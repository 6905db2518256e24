"""One arm of a round as the collector reads it: checks its reports and adds valid ones to its cells."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import ID_BYTES, Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import Reports, from_payloads, invalid, trusted
from sottovoce.tally.count import count_cells
from sottovoce.tally.tally import Tally

BLOCK = 256  # cells that are stored together: a commit writes only the blocks that it touches
DIGEST_BYTES = 8


class ArmCounts:
    """An arm with its counts so far, in one epoch of its round."""

    def __init__(self, manifest: Manifest, arm: int, epoch: int) -> None:
        self.arm, self.epoch = arm, epoch
        self.mechanism: Mechanism = manifest.stage.arms[arm].mechanism
        self.width = codec.payload_bytes(self.mechanism.channel)
        self.reports = 0
        self.cells = np.zeros(self.mechanism.cells, np.int64)
        self._manifest = manifest
        self._is_chosen = manifest.stage.chosen or len(manifest.stage.arms) == 1
        self._name = _named(manifest.prefix, arm)
        self.count(self.read(b"", b"")[1], np.zeros(0, bool))  # compiles what counts, before the first report

    # --- checking --------------------------------------------------------------------------------
    def assigned(self, ids: bytes) -> NDArray[np.bool_]:
        """True for each id that belongs to this arm. The arm is drawn from the id, unless participants choose it."""
        count = len(ids) // ID_BYTES
        if self._is_chosen:
            return np.ones(count, np.bool_)
        arm_of, arm = self._manifest.arm_of, self.arm
        belongs = (arm_of(ids[place : place + ID_BYTES]) == arm for place in range(0, len(ids), ID_BYTES))
        return np.fromiter(belongs, np.bool_, count)

    def read(self, ids: bytes, payloads: bytes) -> tuple[NDArray[np.bool_], Reports]:
        """Mark the reports that some device can have sent, and return them as a batch."""
        kept: list[NDArray[np.bool_]] = []

        def sift(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
            wrong_payloads, wrong_ids = invalid(mechanism, payload, public)
            keep = ~(wrong_payloads | wrong_ids)
            kept.append(keep)
            return trusted(mechanism, payload[keep], None if public is None else public[keep])

        rows = np.frombuffer(payloads, np.uint8).reshape(-1, self.width)
        reports = from_payloads(self.mechanism, rows, np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES), sift)
        return kept[0], reports

    def digest(self, payload: bytes) -> int:
        """Digest of a payload, kept until its epoch closes. It reveals an id that is sent again with other bytes."""
        return _digest(self._name, payload)

    # --- counting --------------------------------------------------------------------------------
    def count(self, reports: Reports, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Cell counts of these reports, before they are added."""
        public = None if reports.public is None else reports.public[keep]
        return count_cells(Reports(self.mechanism, reports.payload[keep], public), threads=1, warned=False)

    def blocks(self, more: NDArray[np.int64]) -> list[tuple[int, bytes]]:
        """Blocks of cells that change when `more` is added, with their new content."""
        touched = np.unique(np.flatnonzero(more) // BLOCK)
        return [
            (block, (self.cells[start : start + BLOCK] + more[start : start + BLOCK]).astype("<i8").tobytes())
            for block, start in zip(touched.tolist(), (touched * BLOCK).tolist(), strict=True)
        ]

    def add(self, reports: int, more: NDArray[np.int64]) -> None:
        """Add counts that have been stored."""
        self.reports += reports
        self.cells += more

    def tally(self) -> Tally:
        """The counts so far as a `Tally`."""
        return Tally(self.mechanism, self.reports, self.cells, epoch=self.epoch)


def digests_of(batch: Batch) -> list[int]:
    """Digests of a batch of any round, computed as `ArmCounts.digest` does."""
    name, width = _named(batch.manifest, batch.arm), batch.width
    return [_digest(name, batch.payloads[place : place + width]) for place in range(0, len(batch.payloads), width)]


def _named(prefix: bytes, arm: int) -> bytes:
    return prefix + arm.to_bytes(4, "big")


def _digest(name: bytes, payload: bytes) -> int:
    return int.from_bytes(hashlib.sha256(name + payload).digest()[:DIGEST_BYTES], "big", signed=True)


def cells_of(blocks: list[tuple[int, bytes]], size: int) -> NDArray[np.int64]:
    """Expand the stored blocks to the array of all cells. Blocks that are not stored are zero."""
    cells = np.zeros(size, np.int64)
    for block, counts in blocks:
        part = np.frombuffer(counts, "<i8")
        cells[block * BLOCK : block * BLOCK + len(part)] = part
    return cells
