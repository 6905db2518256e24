"""A running study: its manifests, the counts of its current round, and the change to the next round.

Every protocol runs here without code of its own: a `State` says what the next round is. All of it can be read from the
store again, so a collector that is killed at any moment goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.round import Protocol, Round, Tallies
from sottovoce.core.specs import canonical, parse, take
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State
from sottovoce.service import audit_log
from sottovoce.service.arm_counts import ArmCounts, cells_of
from sottovoce.service.stores.base import CLOSED, DONE, OPEN, Ints, StoreError, StudyRow, Transaction
from sottovoce.study.reading import parse_study
from sottovoce.study.study import Study
from sottovoce.tally.tally import Tally

NAME_DIGITS = 16
MOST_EPOCHS = 4  # of one study in memory: reports of more are never counted at once


def name_of(manifest: Manifest) -> str:
    """The id of a study in URLs: the first digits of its hash."""
    return manifest.study[:NAME_DIGITS]


def written_protocol(protocol: Protocol, reports: Mapping[str, str]) -> bytes:
    """Serialise a protocol, with the name of the report that answers each question."""
    return canonical({"protocol": protocol_spec(protocol), "reports": dict(reports)})


@lru_cache(maxsize=256)
def read_manifest(content: bytes) -> Manifest:
    """Parse a stored manifest. Cached: estimates are updated every second, and fifty channels take longer to read."""
    return Manifest.from_spec(content)


@lru_cache(maxsize=256)
def read_protocol(data: bytes) -> tuple[Protocol, Mapping[str, str]]:
    """Parse what `written_protocol` wrote: the protocol, and the report of each question."""
    spec, reports = take(parse(data), "a stored study", ("protocol", "reports"))
    return protocol_from_spec(spec), reports


@lru_cache(maxsize=256)
def read_study(source: bytes) -> Study:
    """Parse the study file with which a study began."""
    study, _ = parse_study(source)
    if study is None:
        raise StoreError("This version of sottovoce cannot read the study file in this store.")
    return study


def stored_tallies(work: Transaction, study: int, manifest: Manifest, epoch: int) -> Tallies:
    """The stored counts of an epoch of a round, one tally for each arm."""
    counts, blocks = work.arm_counts(study, manifest.number, epoch), work.blocks(study, manifest.number, epoch)
    return tuple(
        Tally(arm.mechanism, counts.get(place, 0), cells_of(blocks.get(place, []), arm.mechanism.cells), epoch=epoch)
        for place, arm in enumerate(manifest.stage.arms)
    )


def state_of(row: StudyRow, manifests: list[Manifest], rounds: list[Tallies]) -> State:
    """The protocol state after these rounds. The last counts are those of the current round so far."""
    protocol, _ = read_protocol(row.protocol)
    if row.state == DONE:
        return State(protocol, tuple(rounds), protocol.advance(rounds))
    return State(protocol, tuple(rounds[:-1]), manifests[-1].stage).counted(rounds[-1])


def stored_state(work: Transaction, row: StudyRow, manifests: list[Manifest]) -> State:
    """The protocol state from the stored counts."""
    return state_of(row, manifests, [stored_tallies(work, row.number, one, row.epoch) for one in manifests])


class RunningStudy:
    """A study in the memory of the writer thread."""

    def __init__(self, row: StudyRow, manifests: list[Manifest], state: State, first_bytes: Ints) -> None:
        self.number, self.name = row.number, row.name
        self.protocol = state.protocol
        self.failed = False  # whether the next round could not be computed
        self.is_stale = False  # whether a commit failed, so that the store must be read again
        self.first_bytes = first_bytes  # how many counted ids begin with each
        self._history = state.history
        self._enter(row, manifests, list(state.begun))

    def _enter(self, row: StudyRow, manifests: list[Manifest], begun: list[Tally]) -> None:
        self.row, self.manifests = row, manifests
        self.rounds = {manifest.prefix: manifest.number for manifest in manifests}
        self._counts: dict[int, list[ArmCounts]] = {}
        self.arm_counts = self._begun(row.epoch, begun)

    def _begun(self, epoch: int, begun: Sequence[Tally]) -> list[ArmCounts]:
        """The counts of an epoch in memory, from what is stored of it."""
        counts = [ArmCounts(self.manifest, arm, epoch) for arm in range(len(self.manifest.stage.arms))]
        for arm_counts, tally in zip(counts, begun, strict=False):
            arm_counts.reports, arm_counts.cells[:] = tally.n, tally.cells
        self._counts[epoch] = counts
        return counts

    def epoch_of(self, batch: Batch) -> int:
        """The epoch in which a batch is counted: its wave, or the one of a study that is asked once."""
        return self.row.epoch if self.manifest.facts.repeat is None else batch.epoch

    def counts_in(self, work: Transaction, epoch: int) -> list[ArmCounts]:
        """The counts of an epoch, read from the store where they are not in memory. A few epochs are kept."""
        if epoch not in self._counts:
            if len(self._counts) >= MOST_EPOCHS:
                del self._counts[min(self._counts)]
            self._begun(epoch, stored_tallies(work, self.number, self.manifest, epoch))
        return self._counts[epoch]

    @classmethod
    def load(cls, work: Transaction, row: StudyRow) -> RunningStudy:
        """Load a study from its store."""
        manifests = [read_manifest(content) for content in work.manifests(row.number)]
        return cls(row, manifests, stored_state(work, row, manifests), work.first_bytes(row.number))

    @property
    def manifest(self) -> Manifest:
        """The manifest of the current round."""
        return self.manifests[-1]

    @property
    def reports(self) -> int:
        """The number of reports in the current round; in all waves of a repeated study."""
        if self.manifest.facts.repeat is not None:
            return self.row.reports
        return sum(arm_counts.reports for arm_counts in self.arm_counts)

    @property
    def is_due(self) -> bool:
        """True if the current round has its quota."""
        quota = self.manifest.stage.quota
        return not self.failed and self.row.state != DONE and quota is not None and self.reports >= quota

    def noted(self, row: StudyRow) -> None:
        """Update the stored row. Another process may have closed the study, or begun an epoch."""
        self.is_stale = self.is_stale or (row.epoch != self.row.epoch and self.manifest.facts.repeat is None)
        self.row = row

    def store_wave(self, work: Transaction, today: date) -> bool:
        """Open the wave of a day, or close the study after its last one; False if there is nothing to do.

        Reports are counted by the wave that they name. So a collector that was down meanwhile, or dies here, has
        counted nothing in a wrong wave, and goes on from what is stored.
        """
        facts = self.manifest.facts
        if facts.repeat is None or self.row.state != OPEN:
            return False
        if facts.is_over(today):
            work.set_state(self.number, CLOSED)
            audit_log.record(work, "close", by="calendar", study=self.name, reports=self.row.reports)
            return True
        wave = min(facts.epoch(today), facts.repeat.waves - 1)
        if wave <= self.row.epoch:
            return False
        work.set_epoch(self.number, wave)
        audit_log.record(work, "wave", study=self.name, wave=wave + 1, reports=self.row.reports)
        return True

    def next_stage(self) -> tuple[State, Manifest | None]:
        """The state after the current round, and the next manifest (None at the end). This may take long."""
        now = State(self.protocol, self._history, self.manifest.stage)
        after = now.after(tuple(arm_counts.tally() for arm_counts in self.arm_counts))
        return after, self.manifest.next(after.stage) if isinstance(after.stage, Round) else None

    def store_next(self, work: Transaction, manifest: Manifest | None) -> None:
        """Write the change of round. Call in one transaction."""
        if manifest is None:
            work.set_state(self.number, DONE)
            audit_log.record(work, "end", study=self.name, round=self.manifest.number)
        else:
            work.add_round(self.number, manifest.number, manifest.content)
            audit_log.record(work, "round", study=self.name, round=manifest.number, manifest=manifest.hash)

    def go_on(self, state: State, manifest: Manifest | None) -> None:
        """Enter the next round, after it has been stored."""
        if manifest is None:
            self.row = replace(self.row, state=DONE)
            return
        self._history = state.history
        self._enter(replace(self.row, round=manifest.number), [*self.manifests, manifest], [])
