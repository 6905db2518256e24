"""The part of a dashboard that changes: rendered once for each state of its counts, however many readers ask."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from sottovoce.core.late import load
from sottovoce.service import acts, certificates
from sottovoce.service.collector import Collector
from sottovoce.service.pages import comparisons, view
from sottovoce.service.pages.templating import rendered
from sottovoce.service.problems import PROBLEMS
from sottovoce.service.results import StudyOutcome

LEVEL = 0.95
WARM_SECONDS = 3.0


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
        self._compared: dict[tuple[str, str], tuple[StudyOutcome, str]] = {}
        self._plans: dict[str, PlannedNumbers] = {}
        self._turns: defaultdict[tuple[str, ...], threading.Lock] = defaultdict(threading.Lock)

    def of(self, collector: Collector, name: str) -> Rendering:
        """What the dashboard shows now."""
        course = collector.course(name)
        with self._turns[(name,)]:
            found = collector.outcome(name, LEVEL)
            with collector.store.read() as work:
                outcomes = work.outcomes(course.number)
            held = self._held.get(name)
            if held is None or held.found is not found or held.outcomes != outcomes:
                text = rendered("live.html", **self._values(collector, name, found, outcomes))
                held = Rendering(found, outcomes, text, hashlib.sha256(text.encode()).hexdigest()[:32])
                self._held[name] = held
            return held

    def compared(self, collector: Collector, name: str, question: str) -> str | None:
        """The groups of a question, compared; None where it has none. This takes longer than all other estimates."""
        course = collector.course(name)
        if question not in {one.name for one in course.manifests[0].questions}:
            return None
        with self._turns[name, question]:
            found = collector.outcome(name, LEVEL)
            held = self._compared.get((name, question))
            if held is None or held[0] is not found:
                result = next((one for one in found.results.questions if one.asked.name == question), None)
                comparison = None if result is None else comparisons.compared(result, LEVEL)
                if comparison is None:
                    return None
                held = found, rendered("pairs.html", course=course, found=found, comparison=comparison)
                self._compared[name, question] = held
            return held[1]

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


class WarmUp:
    """Renders every study once, so that the first reader waits for no import and no audit."""

    def __init__(self, parts: LiveParts, collector: Collector) -> None:
        self._parts, self._collector = parts, collector
        self._ended = threading.Event()
        self._rendered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    def start(self, seconds: float = WARM_SECONDS) -> None:
        """Wait at most so long: reports are more urgent than pages."""
        self._thread.start()
        self._rendered.wait(seconds)

    def stop(self) -> None:
        """Before the store is closed."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        courses = list(self._collector.courses.values())
        try:
            for course in courses:
                if not self._ended.is_set():
                    for arm in course.manifest.stage.arms:  # a study without reports estimates nothing yet
                        load(f"estimate.{arm.mechanism.question.room}.evidence:evidence")
                    self._parts.of(self._collector, course.name)
            self._rendered.set()
            for course in courses:
                if not self._ended.is_set():
                    certificates.arms(course.manifest)
        except Exception as problem:  # the page of that study will say what is wrong
            self._collector.log.warning("warm_up", kind=type(problem).__name__)
        finally:
            self._rendered.set()


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
