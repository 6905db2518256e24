"""What was planned when a study was created, from the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sottovoce.service import audit_log
from sottovoce.service.stores.base import Transaction


class PlannedNumbers(NamedTuple):
    """Participants and +- of each question, from the plan with which a study was created, and the day of that."""

    participants: int
    errors: Mapping[str, float]
    created: str = ""


def planned_numbers(work: Transaction, name: str) -> PlannedNumbers:
    """Read the planned numbers of a study. Logs of older versions have none."""
    creations = [one for one in audit_log.entries(work) if one["act"] == "create" and one.get("study") == name]
    if not creations:
        return PlannedNumbers(0, {})
    errors = {key: float(text) for key, text in creations[0].get("planned", {}).items()}
    return PlannedNumbers(int(creations[0].get("participants", 0)), errors, str(creations[0].get("day", "")))
