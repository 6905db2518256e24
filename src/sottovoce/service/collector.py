"""The collector: a store, its studies in memory, and the thread that writes. HTTP and tests call these verbs."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.service import acts, certificates, results
from sottovoce.service.course import Course, name_of, written_protocol
from sottovoce.service.intake import CONFLICT, Submission
from sottovoce.service.logs import Log, make_log
from sottovoce.service.metrics import Metrics
from sottovoce.service.stores.base import CLOSED, DONE, DRAFT, OPEN, Store, StudyRow, Transaction
from sottovoce.service.writer import QUEUE_FULL, CommitWriter, utc_today
from sottovoce.study.reading import check_study
from sottovoce.study.study_plan import plan_study, silent

MOST_LEVELS = 4  # for which the estimates of a study are kept
PARTICIPANTS = 10_000  # of a plan, where nobody says how many are expected


class UnknownStudyError(SottovoceError):
    """No study of this name is collected here."""


class StudyStateError(SottovoceError):
    """An act that does not fit the state of the study."""


class Collector:
    """Studies of one store. Begin with `start`, end with `stop`."""

    def __init__(
        self, store: Store, *, log: Log | None = None, today: Callable[[], date] = utc_today, **limits: int
    ) -> None:
        self.store, self.today = store, today
        self.log = make_log() if log is None else log
        self.metrics = Metrics()
        self.writer = CommitWriter(store, log=self.log, metrics=self.metrics, today=today, **limits)
        self.metrics.watch(lambda: self.writer.waiting)
        self._held: dict[str, dict[tuple[Any, ...], results.StudyOutcome]] = {}
        self._computing: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def start(self) -> None:
        """Become the one collector of the store, and go on with all its studies."""
        self.store.lock()
        with self.store.read() as work:
            for row in work.studies():
                self.writer.courses[row.name] = Course.load(work, row)
        self.writer.start()

    def stop(self) -> None:
        """Commit what waits and let go of the store."""
        self.writer.stop()
        self.store.close()

    # --- studies ---------------------------------------------------------------------------------
    @property
    def courses(self) -> dict[str, Course]:
        """The studies by their names."""
        return self.writer.courses

    def course(self, name: str) -> Course:
        """One of them."""
        try:
            return self.writer.courses[name]
        except KeyError:
            raise UnknownStudyError("No study of this name is collected here.") from None

    def open_namesakes(self, name: str) -> list[Course]:
        """Other open studies with the same name in their files: an edited study file is another study."""
        title = self.course(name).manifest.facts.name
        others = (course for course in self.courses.values() if course.name != name and course.row.state == OPEN)
        return [course for course in others if course.manifest.facts.name == title]

    def create(
        self,
        source: bytes,
        participants: int | None = None,
        *,
        by: str = "operator",
        draft: bool = False,
        tell: Callable[[str], None] = silent,
    ) -> str:
        """Plan and add the study of a file; the same file again is the same study. Returns its name."""
        with self.store.read() as work:
            same = find_source(work, source)
        if same is not None:
            return same.name
        people = PARTICIPANTS if participants is None else participants
        manifest, protocol, errors = planned(source, people, tell)
        tell("auditing the channels")
        certificates.arms(manifest)  # before anyone looks at them

        def add() -> str:
            with self.store.transaction() as work:
                state = DRAFT if draft else OPEN
                row = add_study(
                    work, source, protocol, manifest, by=by, state=state, participants=people, errors=errors
                )
            with self.store.read() as work:
                self.writer.courses[row.name] = Course.load(work, row)
            return row.name

        return str(self.writer.call(add))

    def set_state(self, name: str, state: str, *, by: str) -> None:
        """Open or close a study."""
        course = self.course(name)

        def change() -> None:
            with self.store.transaction() as work:
                change_state(work, work.study(course.number), state, by=by)
                row = work.study(course.number)
            self.course(name).noted(row)

        self.writer.call(change)

    # --- reports ---------------------------------------------------------------------------------
    def submit(self, name: str, batch: Batch, future: Any) -> Submission:
        """Put a batch into the queue. Its future is resolved when the commit is durable, or at once if it is full."""
        one = Submission(self.course(name), batch, future)
        if not self.writer.submit(one):
            one.problem = QUEUE_FULL
            self.metrics.problem(QUEUE_FULL)
            future.set_result(None)
        return one

    # --- results ---------------------------------------------------------------------------------
    def outcome(self, name: str, level: float = 0.95) -> results.StudyOutcome:
        """Estimates from what is counted now; the same counts are not computed twice."""
        number = self.course(name).number
        with self._computing[name], self.store.read() as work:
            row = work.study(number)
            refused = work.outcomes(number).get(CONFLICT, 0)  # an alarm, also where nothing new was counted
            counted = (row.round, row.state, row.reports, row.checksum, refused)
            held = self._held.get(name, {})
            if (*counted, level) not in held:
                # Readers choose the level: of a study that stands still only the last few are kept.
                same = [(key, one) for key, one in held.items() if key[:-1] == counted]
                held = dict(same[1 - MOST_LEVELS :])
                held[*counted, level] = results.outcome(work, row, level)
                self._held[name] = held
            return held[*counted, level]

    def metrics_text(self) -> bytes:
        """For Prometheus."""
        for course in self.courses.values():
            self.metrics.study(course.name, course.manifest.number, course.reports)
        return self.metrics.text()


def planned(
    source: bytes, participants: int, tell: Callable[[str], None] = silent
) -> tuple[Manifest, bytes, dict[str, str]]:
    """The first manifest of a study file, its protocol in plain data, and the +- of each question at the end."""
    made = plan_study(check_study(source), participants, tell=tell)
    protocol = written_protocol(made.protocol, {one.asked.name: one.report for one in made.questions})
    return made.manifest(), protocol, {one.asked.name: f"{one.half_width:.6g}" for one in made.questions}


def find_source(work: Transaction, source: bytes) -> StudyRow | None:
    """The study of exactly this file."""
    return next((row for row in work.studies() if row.source == source), None)


def add_study(
    work: Transaction,
    source: bytes,
    protocol: bytes,
    manifest: Manifest,
    *,
    by: str,
    state: str = OPEN,
    participants: int = 0,
    errors: Mapping[str, str] | None = None,
) -> StudyRow:
    """Write a new study. What its plan promised is in the log, since planning again may take minutes."""
    name = name_of(manifest)
    if any(row.name == name for row in work.studies()):
        raise ParameterError("This study is in the store already, from a file with other words in it.")
    row = work.add_study(name, source, protocol, manifest.content, state)
    promised = {"planned": dict(errors)} if errors else {}
    acts.record(work, "create", by=by, study=name, manifest=manifest.hash, participants=participants, **promised)
    return row


def change_state(work: Transaction, row: StudyRow, state: str, *, by: str) -> None:
    """Open a draft, or close an open study. A change that was made already is made once."""
    if row.state == state or (state == CLOSED and row.state == DONE):
        return
    if (row.state, state) not in ((DRAFT, OPEN), (OPEN, CLOSED), (DRAFT, CLOSED)):
        raise StudyStateError("A study goes from draft to open to closed, and never back.")
    work.set_state(row.number, state)
    acts.record(work, {OPEN: "open", CLOSED: "close"}[state], by=by, study=row.name, reports=row.reports)


def default_store(study: str | None) -> str:
    """The file beside which nothing needs to be set up."""
    return f"{Path(study).stem}.sqlite" if study else "collector.sqlite"
