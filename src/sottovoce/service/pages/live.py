"""The part of a dashboard that changes: rendered once for each state of its counts, however many readers ask."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from sottovoce.service import acts
from sottovoce.service.collector import Collector
from sottovoce.service.http.problems import PROBLEMS
from sottovoce.service.pages import view
from sottovoce.service.pages.templating import rendered
from sottovoce.service.results import StudyOutcome

LEVEL = 0.95


class Rendering(NamedTuple):
    """A text, what it was made from, and its ETag."""

    found: StudyOutcome
    outcomes: Mapping[str, int]
    text: str
    tag: str


class LiveParts:
    """The last rendering of every study. While one thread renders, others wait for it instead of doing it again."""

    def __init__(self) -> None:
        self._held: dict[str, Rendering] = {}
        self._plans: dict[str, PlannedNumbers] = {}
        self._turn = threading.Lock()

    def of(self, collector: Collector, name: str) -> Rendering:
        """What the dashboard shows now."""
        course = collector.course(name)
        with self._turn:
            found = collector.outcome(name, LEVEL)
            with collector.store.read() as work:
                outcomes = work.outcomes(course.number)
            held = self._held.get(name)
            if held is None or held.found is not found or held.outcomes != outcomes:
                text = rendered("live.html", **self._values(collector, name, found, outcomes))
                held = Rendering(found, outcomes, text, hashlib.sha256(text.encode()).hexdigest()[:32])
                self._held[name] = held
            return held

    def _values(
        self, collector: Collector, name: str, found: StudyOutcome, outcomes: Mapping[str, int]
    ) -> dict[str, Any]:
        course = collector.course(name)
        if name not in self._plans:
            self._plans[name] = planned_numbers(collector, name)
        return {
            "course": course,
            "found": found,
            "cards": view.cards(found),
            "goal": self._plans[name].participants,
            "planned": self._plans[name].errors,
            "alarms": found.alarms,
            "outcomes": {"counted": found.row.reports, **outcomes},
            "problems": PROBLEMS,
        }


class PlannedNumbers(NamedTuple):
    """The participants of the plan with which a study was created, and the +- that it promised for each question."""

    participants: int
    errors: Mapping[str, float]


def planned_numbers(collector: Collector, name: str) -> PlannedNumbers:
    """From the log of acts; nothing where an older version wrote it."""
    with collector.store.read() as work:
        made = [one for one in acts.entries(work) if one["act"] == "create" and one.get("study") == name]
    if not made:
        return PlannedNumbers(0, {})
    errors = {key: float(text) for key, text in made[0].get("planned", {}).items()}
    return PlannedNumbers(int(made[0].get("participants", 0)), errors)
