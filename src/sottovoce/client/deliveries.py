"""What a device tells its user: what became of a report, and how much privacy was lost."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple


def today() -> date:
    """The day in UTC, which is all the time that a report contains."""
    return datetime.now(UTC).date()


class Delivery(NamedTuple):
    """What became of a report.

    Attributes:
        state: "accepted"; "queued", to be sent later; "replaced"; or why the collector refused it.
        payload: what is sent of the answer.
        retry_after: seconds after which the collector asks to be tried again.
    """

    id: bytes
    question: str
    state: str
    payload: bytes
    retry_after: float = 0.0


class DeviceAccount(NamedTuple):
    """What a device lost: altogether, and by owner of a study."""

    total: Decimal
    owners: dict[str, Decimal]
