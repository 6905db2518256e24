"""What of the inputs is counted: invalid reports are refused or left out, and an id is counted once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.cli.data.files import FileProblem
from sottovoce.cli.show import note
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import Reports, checked, from_payloads, invalid, trusted

REFUSE, SKIP = "refuse", "skip"
NOT_HEX = "not hexadecimal"
LENGTH = "of a wrong length"
PAYLOAD = "with a payload that no device sends"
ID = "with an id that no device uses"
REASONS = (NOT_HEX, LENGTH, PAYLOAD, ID)


class Intake:
    """All that is read for one tally, over any number of files. `choice` says what becomes of invalid reports."""

    def __init__(self, choice: str = REFUSE) -> None:
        if choice not in (REFUSE, SKIP):
            raise ParameterError(f"--invalid is {REFUSE} or {SKIP}.")
        self.skip = choice == SKIP
        self.read = 0  # reports so far, counted or not
        self.left_out: Counter[str] = Counter()
        self.repeated = 0
        self.differing = 0  # repeated ids that come with another payload
        self._payloads: dict[bytes, int] = {}  # by the id of each message that was counted; a hash is enough

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Reports that are not counted, and why."""
        self.read += count
        if count:
            self.left_out[reason] += count

    def sift(self, mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
        """A batch of the valid reports; see `fast.batch.Check`."""
        return self._sift(mechanism, payload, public, None)

    def messages(self, mechanism: Mechanism, rows: NDArray[np.uint8]) -> Reports:
        """A batch of the valid messages, one per row, whose ids were not seen before."""

        def check(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
            return self._sift(mechanism, payload, public, rows)

        return from_payloads(mechanism, rows[:, codec.ID_BYTES :], rows[:, : codec.ID_BYTES], check)

    def _sift(
        self,
        mechanism: Mechanism,
        payload: NDArray[Any],
        public: NDArray[np.uint64] | None,
        messages: NDArray[np.uint8] | None,
    ) -> Reports:
        if self.skip:
            wrong_payloads, wrong_ids = invalid(mechanism, payload, public)
            keep = ~(wrong_payloads | wrong_ids)
            self.left_out.update({ID: int(wrong_ids.sum()), PAYLOAD: int((wrong_payloads & ~wrong_ids).sum())})
        else:
            checked(mechanism, payload, public)
            keep = np.ones(len(payload), np.bool_)
        self.read += len(payload)
        if messages is not None:
            # An invalid message must not take the id from a valid one, so only valid ones are compared.
            for row in np.flatnonzero(keep).tolist():
                keep[row] = self._is_new(messages[row].tobytes())
        if not keep.all():
            payload, public = payload[keep], None if public is None else public[keep]
        return trusted(mechanism, payload, public)

    def _is_new(self, message: bytes) -> bool:
        report_id, mine = message[: codec.ID_BYTES], hash(message[codec.ID_BYTES :])
        if report_id not in self._payloads:
            self._payloads[report_id] = mine
            return True
        self.repeated += 1
        self.differing += self._payloads[report_id] != mine
        return False

    def report(self, counted: int) -> None:
        """Say what was not counted; refuse a result of nothing but invalid reports."""
        total = self.left_out.total()
        if total and not counted:
            raise FileProblem(
                f"None of {plural(total, 'report')} is valid for this mechanism ({self._reasons()}): was it made by"
                " another one?"
            )
        if total:
            note(f"{total} of {plural(self.read, 'report')} left out as invalid: {self._reasons()}.")
        if self.repeated:
            more = f", {self.differing} with another payload" if self.differing else ""
            note(f"{plural(self.repeated, 'message')} with an id that came before{more}: each id is counted once.")

    def _reasons(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in self.left_out.most_common() if count)
