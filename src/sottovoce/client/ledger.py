"""The account of a device: what it lost, in which study and to whom.

The device computes each loss from the channel. The account is part of the transaction that writes the report, so no
report leaves without its charge. A value that is kept as a memo is charged once, with the loss of all its reports. The
sum bounds what reports tell about the values, not about when a value changed: no account bounds that for memos.
"""

from __future__ import annotations

import sqlite3
from decimal import ROUND_CEILING, Context, Decimal

from sottovoce.core.errors import PrivacyError
from sottovoce.core.guarantee import Loss

_ROUNDED_UP = Context(prec=50, rounding=ROUND_CEILING)


def charge(database: sqlite3.Connection, key: bytes, study: str, owner: str, loss: Loss) -> None:
    """Enter the loss of a report, or of a value that is kept; the second entry under a key changes nothing.

    The account is a sum of pure epsilons. Any other loss is refused.
    """
    if not loss.is_pure:
        raise PrivacyError(f"The account of a device adds up pure losses only, and this one is {loss}.")
    entry = (key, study, owner, str(loss.epsilon))
    database.execute("INSERT OR IGNORE INTO charge VALUES (?, ?, ?, ?)", entry)
    database.execute("INSERT OR IGNORE INTO used VALUES (?, ?, ?)", entry[:3])


def refund(database: sqlite3.Connection, key: bytes) -> None:
    """Take back the charge of a report that never left the device."""
    for table in ("charge", "used"):
        database.execute(f"DELETE FROM {table} WHERE key = ?", (key,))


def lost(
    database: sqlite3.Connection, more: Decimal = Decimal(0), *, study: str | None = None, owner: str | None = None
) -> Decimal:
    """The sum of all losses, or of those in one study or to one owner, and of `more`; rounded up.

    A value that several studies got reports of counts in each of them, and once in the sum of all.
    """
    where = [f"{name} = ?" for name, value in (("study", study), ("owner", owner)) if value is not None]
    arguments = [value for value in (study, owner) if value is not None]
    condition = f" WHERE key IN (SELECT key FROM used WHERE {' AND '.join(where)})" if where else ""
    total = more
    for (epsilon,) in database.execute(f"SELECT epsilon FROM charge{condition}", arguments):
        total = _ROUNDED_UP.add(total, Decimal(epsilon))
    return total


def lost_since(database: sqlite3.Connection, epoch: int, *, study: str, owner: str) -> Decimal:
    """The sum of the losses of the reports to a study in an epoch and later ones; rounded up."""
    rows = database.execute(
        "SELECT charge.epsilon FROM charge JOIN report ON report.id = charge.key"
        " WHERE report.study = ? AND report.owner = ? AND report.epoch >= ?",
        (study, owner, epoch),
    )
    total = Decimal(0)
    for (epsilon,) in rows:
        total = _ROUNDED_UP.add(total, Decimal(epsilon))
    return total


def owners(database: sqlite3.Connection) -> list[str]:
    """All to whom something was lost."""
    return [owner for (owner,) in database.execute("SELECT DISTINCT owner FROM used ORDER BY owner")]
