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


class StudyStatement(NamedTuple):
    """What a study got from a device, beside the limits.

    Attributes:
        window: what the reports of the current window of waves lost; at most `window_limit`.
        study: what all reports to the study lost; at most `study_limit`.
        total: what the device lost in all studies; at most `total_limit`, where it has a limit.
        turns: the waves of a repeated study in which the device answers, from 0 on.
    """

    window: Decimal
    study: Decimal
    total: Decimal
    window_limit: Decimal
    study_limit: Decimal
    total_limit: Decimal | None
    turns: tuple[int, ...] = ()


class DeviceAccount(NamedTuple):
    """What a device lost: altogether, and by owner of a study."""

    total: Decimal
    owners: dict[str, Decimal]
