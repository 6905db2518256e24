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
from sottovoce.service import audit_log, certificates, results
from sottovoce.service.intake import CONFLICT, Submission
from sottovoce.service.logs import Log, make_log
from sottovoce.service.metrics import Metrics
from sottovoce.service.running_study import RunningStudy, name_of, written_protocol
from sottovoce.service.stores.base import CLOSED, DONE, DRAFT, OPEN, Store, StudyRow, Transaction
from sottovoce.service.writer import QUEUE_FULL, CommitWriter, utc_today
from sottovoce.study.reading import check_study
from sottovoce.study.study_plan import plan_study, silent

MOST_LEVELS = 4  # for which the estimates of a study are kept
NO_STRATUM = (
    "This study file has strata, and each is served by itself. Write stratum = NAME under [study] and add one study for"
    " each stratum; `sottovoce serve` does so."
)
PARTICIPANTS = 10_000  # of a plan, where nobody says how many are expected


class UnknownStudyError(SottovoceError):
    """No study with this name is collected here."""


class StudyStateError(SottovoceError):
    """The action does not fit the state of the study."""


class Collector:
    """A collector over one store. Call `start` before use and `stop` at the end."""

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
        """Lock the store and load all its studies."""
        self.store.lock()
        with self.store.read() as work:
            for row in work.studies():
                self.writer.studies[row.name] = RunningStudy.load(work, row)
        self.writer.start()

    def stop(self) -> None:
        """Commit waiting reports and release the store."""
        self.writer.stop()
        self.store.close()

    # --- studies ---------------------------------------------------------------------------------
    @property
    def studies(self) -> dict[str, RunningStudy]:
        """The running studies by name."""
        return self.writer.studies

    def study(self, name: str) -> RunningStudy:
        """The running study of this name. Raises `UnknownStudyError` if there is none."""
        try:
            return self.writer.studies[name]
        except KeyError:
            raise UnknownStudyError("No study with this name is collected here.") from None

    def open_namesakes(self, name: str) -> list[RunningStudy]:
        """Other open studies whose files have the same name. An edited study file is a new study."""
        title = self.study(name).manifest.facts.name
        others = (running for running in self.studies.values() if running.name != name and running.row.state == OPEN)
        return [running for running in others if running.manifest.facts.name == title]

    def create(
        self,
        source: bytes,
        participants: int | None = None,
        *,
        by: str = "operator",
        draft: bool = False,
        tell: Callable[[str], None] = silent,
    ) -> str:
        """Plan a study file and add the study; returns its name. Adding the same file again has no effect."""
        with self.store.read() as work:
            same = next((row for row in work.studies() if row.source == source), None)
        if same is not None:
            return same.name
        study = check_study(source)
        if study.strata and not study.stratum:
            raise ParameterError(NO_STRATUM)
        people = participants or study.participants or PARTICIPANTS
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
                self.writer.studies[row.name] = RunningStudy.load(work, row)
            return row.name

        return str(self.writer.call(add))

    def set_state(self, name: str, state: str, *, by: str) -> None:
        """Open or close a study."""
        running = self.study(name)

        def change() -> None:
            with self.store.transaction() as work:
                change_state(work, work.study(running.number), state, by=by)
                row = work.study(running.number)
            self.study(name).noted(row)

        self.writer.call(change)

    # --- reports ---------------------------------------------------------------------------------
    def submit(self, name: str, batch: Batch, future: Any) -> Submission:
        """Queue a batch. Its future resolves when the commit is durable, or at once if the queue is full."""
        one = Submission(self.study(name), batch, future)
        if not self.writer.submit(one):
            one.problem = QUEUE_FULL
            self.metrics.problem(QUEUE_FULL)
            future.set_result(None)
        return one

    # --- results ---------------------------------------------------------------------------------
    def outcome(self, name: str, level: float = 0.95) -> results.StudyOutcome:
        """Estimates from the current counts, cached until the counts change."""
        number = self.study(name).number
        with self._computing[name], self.store.read() as work:
            row = work.study(number)
            refused = work.outcomes(number).get(CONFLICT, 0)  # an alarm, also where nothing new was counted
            counted = (row.round, row.epoch, row.state, row.reports, row.checksum, refused)
            held = self._held.get(name, {})
            if (*counted, level) not in held:
                # Readers choose the level: of a study that stands still only the last few are kept.
                same = [(key, one) for key, one in held.items() if key[:-1] == counted]
                held = dict(same[1 - MOST_LEVELS :])
                held[*counted, level] = results.outcome(work, row, level)
                self._held[name] = held
            return held[*counted, level]

    def metrics_text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        for running in self.studies.values():
            self.metrics.study(running.name, running.manifest.number, running.reports)
        return self.metrics.text()


def planned(
    source: bytes, participants: int, tell: Callable[[str], None] = silent
) -> tuple[Manifest, bytes, dict[str, str]]:
    """The first manifest of a study file, its protocol as plain data, and the planned +- of each question."""
    plan = plan_study(check_study(source), participants, tell=tell)
    protocol = written_protocol(plan.protocol, {one.asked.name: one.report for one in plan.questions})
    return plan.manifest(), protocol, {one.asked.name: f"{one.half_width:.6g}" for one in plan.questions}


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
    """Write a new study. The log records the planned errors, since planning again may take minutes."""
    name = name_of(manifest)
    if any(row.name == name for row in work.studies()):
        raise ParameterError("This study is already in the store, from a study file with other wording.")
    row = work.add_study(name, source, protocol, manifest.content, state)
    promised = {"planned": dict(errors)} if errors else {}
    audit_log.record(work, "create", by=by, study=name, manifest=manifest.hash, participants=participants, **promised)
    return row


def change_state(work: Transaction, row: StudyRow, state: str, *, by: str) -> None:
    """Open a draft, or close an open study. Repeating a change has no effect."""
    if row.state == state or (state == CLOSED and row.state == DONE):
        return
    if (row.state, state) not in ((DRAFT, OPEN), (OPEN, CLOSED), (DRAFT, CLOSED)):
        raise StudyStateError("This change of state is not possible: a study goes from draft to open to closed.")
    work.set_state(row.number, state)
    audit_log.record(work, {OPEN: "open", CLOSED: "close"}[state], by=by, study=row.name, reports=row.reports)


def default_store(study: str | None) -> str:
    """The SQLite file used when no store is named."""
    return f"{Path(study).stem}.sqlite" if study else "collector.sqlite"
