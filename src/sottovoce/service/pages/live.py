"""The live part of a dashboard, rendered once for each state of the counts and shared by all readers."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sottovoce.core.late import load
from sottovoce.service import certificates
from sottovoce.service.collector import Collector
from sottovoce.service.pages import view
from sottovoce.service.pages.header import header_of, planned_reports
from sottovoce.service.pages.planned import PlannedNumbers, planned_numbers
from sottovoce.service.pages.templating import rendered
from sottovoce.service.problems import PROBLEMS
from sottovoce.service.results import StudyOutcome
from sottovoce.study.display import comparisons
from sottovoce.study.display.card import Card, ranked
from sottovoce.study.display.experiment import ONE_LOOK, shown_arms
from sottovoce.study.display.over_time import time_cards

LEVEL = 0.95
WARM_SECONDS = 3.0


class Rendering(NamedTuple):
    """A rendered text with its outcome, the counts of refused reports, and its ETag."""

    outcome: StudyOutcome
    outcomes: Mapping[str, int]
    text: str
    tag: str


class LiveParts:
    """The last rendering of every study. While one thread renders, others wait for its result."""

    def __init__(self) -> None:
        self._held: dict[str, Rendering] = {}
        self._compared: dict[tuple[str, str], tuple[StudyOutcome, str]] = {}
        self._plans: dict[str, PlannedNumbers] = {}
        self._turns: defaultdict[tuple[str, ...], threading.Lock] = defaultdict(threading.Lock)

    def of(self, collector: Collector, name: str) -> Rendering:
        """The current rendering of a study's dashboard."""
        running = collector.study(name)
        with self._turns[(name,)]:
            outcome = collector.outcome(name, LEVEL)
            with collector.store.read() as work:
                outcomes = work.outcomes(running.number)
            held = self._held.get(name)
            if held is None or held.outcome is not outcome or held.outcomes != outcomes:
                text = rendered("live.html", **self._values(collector, name, outcome, outcomes))
                held = Rendering(outcome, outcomes, text, hashlib.sha256(text.encode()).hexdigest()[:32])
                self._held[name] = held
            return held

    def compared(self, collector: Collector, name: str, question: str) -> str | None:
        """The groups of a question, compared, or None without groups. Slower than all other estimates."""
        running = collector.study(name)
        if question.partition("~")[0] not in {one.name for one in running.manifests[0].questions}:
            return None
        with self._turns[name, question]:
            outcome = collector.outcome(name, LEVEL)
            held = self._compared.get((name, question))
            if held is None or held[0] is not outcome:
                result = next((one for one in outcome.results.questions if one.key == question), None)
                comparison = None if result is None else comparisons.compared(result, LEVEL)
                if comparison is None:
                    return None
                held = (
                    outcome,
                    rendered("pairs.html", running=running, outcome=outcome, comparison=comparison, key=question),
                )
                self._compared[name, question] = held
            return held[1]

    def planned(self, collector: Collector, name: str) -> PlannedNumbers:
        """The numbers of the plan of a study, which never change."""
        if name not in self._plans:
            with collector.store.read() as work:
                self._plans[name] = planned_numbers(work, name)
        return self._plans[name]

    def is_alarmed(self, name: str) -> bool:
        """Whether the last rendering of a study had alarms; False where none was made."""
        return name in self._held and bool(self._held[name].outcome.alarms)

    def _values(
        self, collector: Collector, name: str, outcome: StudyOutcome, outcomes: Mapping[str, int]
    ) -> dict[str, Any]:
        running = collector.study(name)
        goal, errors, _ = self.planned(collector, name)
        with collector.store.read() as work:
            arrivals = work.arrivals(running.number)
        alarmed, manifest = bool(outcome.alarms), running.manifest
        cards = view.cards(outcome)
        return {
            "running": running,
            "facts": manifest.facts,
            "outcome": outcome,
            "head": header_of(outcome.row, manifest, goal, arrivals, collector.today(), alarmed=alarmed),
            "cards": cards,
            "ranked": ranked(cards),
            "alone": alone(cards),
            "planned": errors,
            "alarms": outcome.alarms,
            "refused": sum(outcomes.values()),
            "short": shortfall(outcome.row.reports, planned_reports(manifest, goal)),
            "outcomes": {"counted": outcome.row.reports, **outcomes},
            "problems": PROBLEMS,
            "one_look": ONE_LOOK,
            "arms": shown_arms(outcome.results.study),
            "over_time": time_cards(outcome.series, outcome.waves, LEVEL),
            "waves": outcome.waves,
        }


def alone(cards: Sequence[Card]) -> set[int]:
    """Places of the narrow cards that have no neighbour in a row of two, so that they take the whole row."""
    narrow = [place for place, one in enumerate(cards) if not one.is_wide]
    return {narrow[-1]} if len(narrow) % 2 else set()


def shortfall(reports: int, planned: int) -> str:
    """What fewer reports than planned do to the margins; empty where there are enough."""
    if not 0 < reports < planned:
        return ""
    ratio = math.sqrt(planned / reports)
    wider = f"{100 * (ratio - 1):.0f} % wider than" if ratio < 2 else f"{ratio:.1f} times as wide as"
    return f"With {reports:,} of {planned:,} reports the margins are about {wider} planned."


class WarmUp:
    """Renders every study once, so that the first reader does not wait for imports and audits."""

    def __init__(self, parts: LiveParts, collector: Collector) -> None:
        self._parts, self._collector = parts, collector
        self._ended = threading.Event()
        self._rendered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    def start(self, seconds: float = WARM_SECONDS) -> None:
        """Start rendering and wait at most `seconds`: reports are more urgent than pages."""
        self._thread.start()
        self._rendered.wait(seconds)

    def stop(self) -> None:
        """Stop rendering. Call before the store is closed."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        studies = list(self._collector.studies.values())
        try:
            for running in studies:
                if not self._ended.is_set():
                    for arm in running.manifest.stage.arms:  # a study without reports estimates nothing yet
                        load(f"estimate.{arm.mechanism.question.room}.evidence:evidence")
                    self._parts.of(self._collector, running.name)
            self._rendered.set()
            for running in studies:
                if not self._ended.is_set():
                    certificates.arms(running.manifest)
        except Exception as problem:  # the page of that study will say what is wrong
            self._collector.log.warning("warm_up", kind=type(problem).__name__)
        finally:
            self._rendered.set()
