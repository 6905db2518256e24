"""What of the inputs is counted: invalid reports are left out or refused, and an id is counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import Check, Reports, checked, from_payloads, invalid, trusted
from sottovoce.files.counts import Reason, strict_refusal
from sottovoce.files.opening import FileProblem

NOT_HEX = "not hexadecimal"
LENGTH, PAYLOAD, ID = Reason.LENGTH.words, Reason.PAYLOAD.words, Reason.ID.words
REASONS = (NOT_HEX, *(reason.words for reason in Reason))


class Intake:
    """All that is read for one tally, over any number of files.

    Invalid reports are left out and counted by reason; a strict intake refuses them. A listing is a file that gets a
    line of CSV for each: the number of its input, its row there, and the reason, never what it holds.
    """

    def __init__(self, *, strict: bool = False, listing: IO[bytes] | None = None) -> None:
        self.strict = strict
        self.read = 0  # reports so far, counted or not
        self.left_out: Counter[str] = Counter()
        self.repeated = 0
        self.differing = 0  # repeated ids that come with another payload
        self._payloads: dict[bytes, int] = {}  # by the id of each message that was counted; a hash is enough
        self._listing, self._input = listing, 0
        if listing is not None:
            listing.write(b"input,row,reason\n")

    @property
    def lists(self) -> bool:
        """Whether every report that is left out is listed."""
        return self._listing is not None

    def begin(self, number: int) -> None:
        """The next input, counted from 1."""
        self._input = number

    def leave_out(self, reason: str, rows: NDArray[np.int64]) -> None:
        """Reports that are not counted, by their rows in the input, and why."""
        self.read += len(rows)
        if len(rows):
            self.left_out[reason] += len(rows)
        if self._listing is not None:
            self._listing.write("".join(f"{self._input},{row},{reason}\n" for row in rows.tolist()).encode())

    def add_counted(self, reports: int, refused: Mapping[str, int]) -> None:
        """Reports that an engine has read: those that it counted, and those that it refused, by reason."""
        if refused and self.strict:
            raise strict_refusal(*next(iter(refused.items())))
        self.read += reports + sum(refused.values())
        self.left_out.update(refused)

    def sifting(self, rows: NDArray[np.int64]) -> Check:
        """What makes a batch of the valid reports among those of these rows; see `fast.batch.Check`."""

        def check(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
            return self._sift(mechanism, payload, public, rows, None)

        return check

    def messages(self, mechanism: Mechanism, messages: NDArray[np.uint8], rows: NDArray[np.int64]) -> Reports:
        """A batch of the valid messages whose ids were not seen before."""

        def check(mechanism: Mechanism, payload: NDArray[Any], public: NDArray[np.uint64] | None) -> Reports:
            return self._sift(mechanism, payload, public, rows, messages)

        return from_payloads(mechanism, messages[:, codec.ID_BYTES :], messages[:, : codec.ID_BYTES], check)

    def _sift(
        self,
        mechanism: Mechanism,
        payload: NDArray[Any],
        public: NDArray[np.uint64] | None,
        rows: NDArray[np.int64],
        messages: NDArray[np.uint8] | None,
    ) -> Reports:
        if self.strict:
            checked(mechanism, payload, public)
            keep = np.ones(len(payload), np.bool_)
        else:
            wrong_payloads, wrong_ids = invalid(mechanism, payload, public)
            keep = ~(wrong_payloads | wrong_ids)
            self.leave_out(Reason.UNUSED_ID.words, rows[wrong_ids])
            self.leave_out(PAYLOAD, rows[wrong_payloads & ~wrong_ids])
        self.read += int(np.count_nonzero(keep))
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

    def remarks(self, counted: int) -> Iterator[str]:
        """Say in sentences what was not counted; refuse a result of nothing but invalid reports."""
        total = self.left_out.total()
        if total and not counted:
            raise FileProblem(
                f"None of {plural(total, 'report')} is valid for this mechanism ({self._reasons()}): was it made by"
                " another one?"
            )
        if total:
            yield f"{total} of {plural(self.read, 'report')} left out as invalid: {self._reasons()}."
        if self.repeated:
            more = f", {self.differing} with another payload" if self.differing else ""
            yield f"{plural(self.repeated, 'message')} with an id that came before{more}: each id is counted once."

    def _reasons(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in self.left_out.most_common() if count)
