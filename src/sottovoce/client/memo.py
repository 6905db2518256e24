"""What a device keeps for mechanisms with a memo: its cohorts, and one permanent answer for each value.

The permanent answer and the cohort are drawn once, from a secret of this device, and written to disk before a report is
made of them. After a crash or a restart, or in a second process, they are read from the file, or drawn again from the
secret with the same result.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import NamedTuple

from sottovoce.client.device_file import DeviceFile, secret_of
from sottovoce.client.ledger import charge, lost
from sottovoce.core.coins import Coins
from sottovoce.core.errors import PrivacyError
from sottovoce.core.guarantee import PURE
from sottovoce.core.mechanism import Mechanism


class Kept(NamedTuple):
    """The permanent answer to a value, and the cohort in which it was drawn."""

    answer: int
    cohort: int


class Spent(NamedTuple):
    """How many values a device was asked about, each of which spends `epsilon_forever`, and how often it was asked."""

    values: int
    reports: int


@dataclass(frozen=True, slots=True)
class Memo:
    """A file of memos, for all mechanisms of a device, readable by its owner alone.

    The file does not contain values: an entry is found by a keyed hash of fingerprint and code. But a reader of the
    file has the key as well and can try values, so the file is as private as the answers. A device that loses it draws
    new memos, and spends `epsilon_forever` again.
    """

    path: str | PathLike[str]

    def keep(
        self, mechanism: Mechanism, value: object, most: int | None = None, lifetime: Decimal | None = None
    ) -> Kept:
        """The permanent answer to a value and the cohort: found, or drawn and written.

        After more than `most` distinct values of this mechanism, or charges of the whole device above `lifetime`, the
        device answers no value, not even the first: otherwise a missing report would show that the value is new. The
        same is read, computed and written for each value.
        """
        mechanism.domain.encode(value)  # refused before the file is opened
        with DeviceFile(self.path).changed() as database:
            kept = keep_in(database, mechanism, value)
            values = _values(database, bytes.fromhex(mechanism.fingerprint))
            total = lost(database)
        if most is not None and values > most:
            raise PrivacyError(
                f"This device was asked about more than {most} different values. Each spends epsilon_forever of this"
                " mechanism again, which exceeds its limit, so it no longer answers."
            )
        if lifetime is not None and total > lifetime:
            raise PrivacyError(
                "All charges of this device together exceed its lifetime limit, so it no longer answers."
            )
        return kept

    def spent(self, mechanism: Mechanism) -> Spent:
        """How many values the device was asked about through a mechanism, and how often."""
        mine = bytes.fromhex(mechanism.fingerprint)
        with DeviceFile(self.path).changed() as database:
            row = database.execute("SELECT reports FROM mechanism WHERE fingerprint = ?", (mine,)).fetchone()
            return Spent(_values(database, mine), row[0] if row else 0)


def keep_in(
    database: sqlite3.Connection, mechanism: Mechanism, value: object, study: str = "", owner: str = ""
) -> Kept:
    """Keep the memo of a value inside a transaction. The device's account is charged for each value once."""
    mine, secret = bytes.fromhex(mechanism.fingerprint), secret_of(database)
    cohort = mechanism.draw_cohort(KeptCoins(secret, b"cohort", mine))
    database.execute("INSERT OR IGNORE INTO mechanism VALUES (?, ?, 0)", (mine, cohort))
    database.execute("UPDATE mechanism SET reports = reports + 1 WHERE fingerprint = ?", (mine,))
    (cohort,) = database.execute("SELECT cohort FROM mechanism WHERE fingerprint = ?", (mine,)).fetchone()
    code = mechanism.kept_code(value, KeptCoins(secret, b"point", mine), cohort=cohort)
    label = _label(mechanism, code)
    drawn = mechanism.remember_code(code, KeptCoins(secret, b"answer", label))
    key = (mine, _keyed(secret, b"value", label))
    database.execute("INSERT OR IGNORE INTO answer VALUES (?, ?, ?)", (*key, _to_bytes(drawn)))
    if mechanism.ratio_forever is None:
        raise ValueError("A loss without a bound cannot be entered.")
    # The ratio of all reports of a kept value is bounded, whatever is claimed of a single report: a pure loss.
    charge(database, key[1], study, owner, PURE.charge(mechanism.ratio_forever))
    row = database.execute("SELECT kept FROM answer WHERE fingerprint = ? AND value = ?", key).fetchone()
    return Kept(int.from_bytes(row[0], "little"), cohort)


class KeptCoins(Coins):
    """Words of SHAKE-256 under a key of the secret and a label: the same draw again, and unknown without the secret."""

    __slots__ = ("_extras", "_key", "_spans")

    def __init__(self, secret: bytes, purpose: bytes, label: bytes) -> None:
        super().__init__()
        self._key = _keyed(secret, purpose, label)
        self._spans = 0
        self._extras = 0

    def _stream(self, purpose: bytes, number: int, length: int) -> bytes:
        return hashlib.shake_256(b"sottovoce memo 1|%s|%d|" % (purpose, number) + self._key).digest(length)

    def _load(self, words: int) -> bytes:
        self._spans += 1
        return self._stream(b"span", self._spans, 8 * words)

    def extra(self) -> int:
        self._extras += 1
        return int.from_bytes(self._stream(b"overflow", self._extras, 8), "little")


def _values(database: sqlite3.Connection, fingerprint: bytes) -> int:
    (values,) = database.execute("SELECT COUNT(*) FROM answer WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return int(values)


def _keyed(secret: bytes, purpose: bytes, label: bytes) -> bytes:
    return hmac.digest(secret, b"sottovoce memo 1|%s|" % purpose + label, "sha256")


def _label(mechanism: Mechanism, code: object) -> bytes:
    """A mechanism and a code as texts: equal codes have equal texts."""
    return bytes.fromhex(mechanism.fingerprint) + _text(code).encode()


def _text(code: object) -> str:
    if isinstance(code, tuple):
        return f"({','.join(map(_text, code))})"
    if isinstance(code, (int, Fraction, Decimal)):
        return str(Fraction(code))
    raise TypeError(f"Memos are kept of numbered answers and of numbers. Got a {type(code).__name__}.")


def _to_bytes(answer: int) -> bytes:
    return answer.to_bytes(max(1, -(-answer.bit_length() // 8)), "little")
