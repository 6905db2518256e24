"""A participant's device in studies: it reads a manifest, may refuse it, answers, and sends what it wrote down.

The report, its id and its charge are written in one transaction before the first attempt to send. Every attempt sends
the same bytes: randomizing again would spend the budget again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from os import PathLike
from sqlite3 import Connection

from sottovoce.client import answers as given
from sottovoce.client import budgets, ledger, outbox
from sottovoce.client.client import exact_limit
from sottovoce.client.deliveries import Delivery, DeviceAccount, StudyStatement, today
from sottovoce.client.device_file import DeviceFile
from sottovoce.client.memo import keep_in
from sottovoce.client.once import check_once, keep_turns, memos_of, write_facts
from sottovoce.client.outbox import Outgoing
from sottovoce.client.sealing import seal
from sottovoce.client.tick import WRITTEN, Tick, Untimed, public_tick
from sottovoce.client.transport import (
    QUEUED,
    STUDY_CLOSED,
    HttpTransport,
    Interrupted,
    Outcome,
    Unreached,
    fetch_open_study,
    fetch_study,
    outcome,
    parsed,
)
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import within
from sottovoce.core.coins import Coins, SystemCoins
from sottovoce.core.errors import PrivacyError, SottovoceError
from sottovoce.core.exchange.codec import ID_BYTES
from sottovoce.core.exchange.experiment import ExperimentArm
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import CBOR_TYPE
from sottovoce.core.params import reject

SEALED_TYPE = "application/octet-stream"
REPLACED = "replaced"  # the round ended before anything was sent: nothing is lost, and the study can be answered again
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds between attempts


@dataclass(frozen=True, slots=True)
class Participant:
    """Answer studies on a device that keeps an account of its privacy loss.

    The device computes every loss from the channels itself. Only pure guarantees are accepted. It answers a study once;
    a repeated one in the waves that it drew; one that asks the same people in all rounds, once in each; with memos once
    in each epoch. Events are all answered. Every answer is charged, until the study's lifetime budget is spent.

    Args:
        file: The file for account, reports and memos. None keeps them in memory, for simulations.
        limit: The largest loss of one report.
        lifetime_limit: The largest loss of all reports of this device, over all studies and owners.
        tick: The public time after a call at which a report is written, as for `Client`.
        transport: How messages are sent. Default: HTTP.
        today: Returns the date, for tests.

    Examples:
        >>> device = sv.Participant(None, limit=1, lifetime_limit=3)
        >>> device.account().total
        Decimal('0')

    See also:
        `Client` randomizes answers to a single question; `sottovoce answer` is this class on the command line.
    """

    file: str | PathLike[str] | DeviceFile | None
    limit: float | Decimal | None = None
    lifetime_limit: float | Decimal | None = None
    tick: Tick | Untimed | None = None
    transport: HttpTransport | None = None
    today: Callable[[], date] = today

    def __post_init__(self) -> None:
        exact_limit("limit", self.limit), exact_limit("lifetime_limit", self.lifetime_limit)
        if not isinstance(self.tick, (Tick, Untimed, type(None))):
            raise reject("tick", "a participant", "a Tick, or Untimed() for simulations", self.tick)
        if not isinstance(self.file, DeviceFile):
            object.__setattr__(self, "file", DeviceFile(self.file))
        if self.transport is None:
            object.__setattr__(self, "transport", HttpTransport())

    # --- answering -----------------------------------------------------------------------------------
    def fetch(self, url: str) -> tuple[Manifest, str]:
        """Fetch the manifest of a study, and the study's own address; a closed study is refused.

        Args:
            url: The address that participants were given.

        Returns:
            The manifest and the address of the study.
        """
        return fetch_open_study(url, self._transport)

    def check(self, manifest: Manifest) -> None:
        """Refuse a manifest that this device would not answer, before anyone is asked.

        Args:
            manifest: The manifest of the study.

        Raises:
            PrivacyError: The study loses more than it states or than this device allows, or was answered already.
        """
        self._check_manifest(manifest)
        if self._file.exists:
            with self._changed() as database:
                check_once(database, manifest, self._epoch(manifest))

    def _check_manifest(self, manifest: Manifest) -> None:
        """Refuse one that loses more than it states or than this device allows, or that is not open today."""
        facts, lifetime = manifest.facts, self._lifetime
        manifest.check(limit=exact_limit("limit", self.limit))
        for arm in manifest.stage.arms:
            if not arm.mechanism.guarantee.accepted_by():
                raise PrivacyError("This device accepts pure guarantees only; a mechanism of this study has another.")
            forever = arm.mechanism.ratio_forever
            if forever is not None and not within(forever, facts.lifetime):
                raise PrivacyError("The reports of one value lose more together than the lifetime budget of the study.")
            if lifetime is not None and not within(forever or arm.mechanism.ratio, lifetime):
                raise PrivacyError("One answer to this study loses more than this device allows in its lifetime.")
        day = self.today().isoformat()
        if facts.start is not None and day < facts.start:
            raise PrivacyError("This study has not begun.")
        if facts.end is not None and day > facts.end:
            raise PrivacyError("This study has ended.")
        keep_turns(self._file, manifest, self._epoch(manifest))

    def asks(self, manifest: Manifest, *, arm: str | None = None) -> tuple[str, ...]:
        """List the names under which `answer` needs answers: the drawn question, or all where the study asks all.

        The question is drawn once and stays the same until a report is written, so that nobody picks one.

        Args:
            manifest: The manifest of the study.
            arm: The name of the budget, where participants choose it.

        Returns:
            Names of questions.
        """
        chosen = given.chosen_arm(manifest, arm)
        return given.needed(manifest, self._drawn_arm(manifest) if chosen is None else chosen)

    def asks_attributes(self, manifest: Manifest) -> tuple[str, ...]:
        """List the attributes of a cross table that this device drew: the record in `answer` needs only these.

        Args:
            manifest: The manifest of the study.
        """
        return given.needed_attributes(manifest, self._drawn_arm(manifest))

    def experiment_arm(self, manifest: Manifest) -> ExperimentArm | None:
        """Return the arm of the experiment that was drawn with the question; None where the study has no experiment.

        Its text is shown before the question. It stays the same until a report is written.

        Args:
            manifest: The manifest of the study.
        """
        return manifest.experiment_arm(self._drawn_arm(manifest)) if manifest.facts.experiment else None

    def _drawn_arm(self, manifest: Manifest) -> int:
        with self._changed() as database:
            return given.drawn_arm(database, manifest)

    def answer(
        self,
        manifest: Manifest | str | bytes,
        answers: Mapping[str, object],
        *,
        url: str = "",
        token: bytes = b"",
        arm: str | None = None,
        send: bool = True,
    ) -> Delivery:
        """Answer a study: check the manifest, draw the question, write the report, then send it.

        Args:
            manifest: The manifest of the study.
            answers: Answers by the name of the question; `asks` says which are needed.
            url: The address of the study. Without it the report is queued.
            token: The invitation, in studies that need one.
            arm: The name of the budget, where participants choose it.
            send: False queues the report.

        Returns:
            What became of the report.

        Raises:
            DomainError: An answer is outside its domain.
            PrivacyError: The device refuses the study.
        """
        read = manifest if isinstance(manifest, Manifest) else Manifest.from_spec(manifest, device=True)
        self._check_manifest(read)
        given.check_token(read, token)
        if url:
            parsed(url)
        chosen = given.chosen_arm(read, arm)
        sends = send and bool(url)
        # The answers are read within the tick: how long that takes depends on them.
        entry = self._tick(read).after(lambda: self._written(read, answers, chosen, token, url, attempts=int(sends)))
        return self._posted(entry) if sends else _delivery(entry, Outcome(QUEUED))

    def _written(
        self,
        manifest: Manifest,
        answers: Mapping[str, object],
        chosen: int | None,
        token: bytes,
        url: str,
        attempts: int,
    ) -> Outgoing:
        """Draw the report and write it with its charge, in one transaction; or raise why not, after it."""
        values = given.values_of(manifest, answers)
        arm = self._drawn_arm(manifest) if chosen is None else chosen
        given.check_needed(manifest, arm, answers, values[arm])
        with self._changed() as database:
            check_once(database, manifest, self._epoch(manifest))
            write_facts(database, manifest)
            coins = SystemCoins()
            report_id = _random_id(coins)
            mechanism = manifest.stage.arms[arm].mechanism
            kept = None
            if mechanism.ratio_forever is not None:
                kept = keep_in(database, mechanism, values[arm], manifest.study, manifest.facts.owner)
            refusal = budgets.refusal(database, manifest, mechanism, self._lifetime)
            if refusal is None:
                cohort = None if kept is None else kept.cohort
                # The arm stays: ids that it does not take must not change how often it is drawn.
                while not mechanism.takes_id(report_id, cohort) or (
                    chosen is None and manifest.arm_of(report_id) != arm
                ):
                    report_id = _random_id(coins)
                if kept is None:
                    message = mechanism.randomize(values[arm], coins, report_id=report_id)
                    spent = mechanism.guarantee.charge(mechanism.ratio)
                    ledger.charge(database, report_id, manifest.study, manifest.facts.owner, spent)
                else:
                    message = mechanism.answer_from(kept.answer, coins, cohort=kept.cohort, report_id=report_id)
                entry = self._entry(manifest, arm, message, token, url, attempts)
                outbox.add(database, entry)
                given.forget_arm(database, manifest)
        # A value that is kept stays charged: refusing this value only would show that it is new.
        if refusal is not None:
            raise PrivacyError(refusal)
        return entry

    def _entry(self, manifest: Manifest, arm: int, message: bytes, token: bytes, url: str, attempts: int) -> Outgoing:
        facts = manifest.facts
        entry = Outgoing(
            id=message[:ID_BYTES],
            study=manifest.study,
            name=facts.name,
            owner=facts.owner,
            question=manifest.asked(arm).name,
            manifest=manifest.hash,
            round=manifest.number,
            arm=arm,
            epoch=self._epoch(manifest),
            sealed=facts.collection.sealed_for is not None,
            token=token,
            payload=message[ID_BYTES:],
            body=b"",
            url=url.rstrip("/"),
            attempts=attempts,
            memos=memos_of(manifest),
        )
        return replace(entry, body=_body(manifest, entry))

    # --- sending -------------------------------------------------------------------------------------
    def send(self, patience: float = 0.0) -> list[Delivery]:
        """Send all queued reports.

        Args:
            patience: How many seconds to try again where a collector asks to wait.

        Returns:
            What became of each report.
        """
        end, wait = time.monotonic() + patience, FIRST_WAIT
        deliveries: dict[bytes, Delivery] = {}
        while True:
            with self._changed() as database:
                queued = [entry for entry in outbox.entries(database) if entry.state == QUEUED and entry.url]
            round_ = [self._delivered(entry) for entry in queued]
            deliveries |= {one.id: one for one in round_}
            asked = max((one.retry_after for one in round_ if one.state == QUEUED), default=None)
            pause = None if asked is None else max(asked, wait)
            if pause is None or time.monotonic() + pause > end:
                return list(deliveries.values())
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)

    def _delivered(self, entry: Outgoing) -> Delivery:
        """Send a queued report; one that was never sent is first brought up to date."""
        manifest, is_open = None, True
        if not entry.attempts:
            try:
                manifest, _, is_open = fetch_study(entry.url, self._transport)
            except SottovoceError:  # also a collector that answers nonsense: other studies go on
                return _delivery(entry, Outcome(QUEUED))
        with self._changed() as database:
            now = outbox.entry_of(database, entry.id)
            if now is None or now.state != QUEUED:  # withdrawn, or settled by another process
                return _delivery(now or entry, Outcome(REPLACED if now is None else now.state))
            if not now.attempts:  # otherwise its bytes stay
                if manifest is None:  # another process began to send, and could not: the next time
                    return _delivery(now, Outcome(QUEUED))
                if not is_open or manifest.hash != now.manifest:
                    outbox.remove(database, now.id)
                    ledger.refund(database, now.id)
                    return _delivery(now, Outcome(REPLACED if is_open else STUDY_CLOSED))
                if manifest.facts.repeat is None:  # an answer to a wave stays one of that wave
                    now = replace(now, epoch=self._epoch(manifest))
                now = replace(now, body=_body(manifest, now))
            outbox.begin_attempt(database, now)
        return self._posted(now)

    def _posted(self, entry: Outgoing) -> Delivery:
        """One attempt, which was written down before."""
        place, kind = ("sealed", SEALED_TYPE) if entry.sealed else ("reports", CBOR_TYPE)
        try:
            result = outcome(self._transport.post(f"{entry.url}/{place}", entry.body, kind))
        except Unreached:
            with self._changed() as database:
                outbox.take_back(database, entry.id)
            return _delivery(entry, Outcome(QUEUED))
        except Interrupted:
            return _delivery(entry, Outcome(QUEUED))
        if result.state != QUEUED:
            with self._changed() as database:
                outbox.settle(database, entry.id, result.state)
        return _delivery(entry, result)

    # --- what the participant sees and decides ---------------------------------------------------------
    def reports(self) -> list[Outgoing]:
        """List every report of this device, with what was sent and what became of it.

        Returns:
            The reports, oldest first.
        """
        with self._changed() as database:
            return outbox.entries(database)

    def withdraw(self, study: str | None = None) -> int:
        """Delete unsent reports, of one study or of all.

        The charge of a report that never left the device is taken back. A report that may have arrived is deleted and
        stays charged. A counted report is part of a sum and cannot be removed from it.

        Args:
            study: The id of a study. Default: all studies.

        Returns:
            How many reports were deleted.
        """
        with self._changed() as database:
            queued = [entry for entry in outbox.entries(database, study) if entry.state == QUEUED]
            for entry in queued:
                if entry.attempts:
                    outbox.blank(database, entry.id)
                else:
                    outbox.remove(database, entry.id)
                    ledger.refund(database, entry.id)
        return len(queued)

    def account(self) -> DeviceAccount:
        """Return the privacy loss so far: altogether, and by owner of a study.

        Returns:
            An account with `total` and `owners`.
        """
        with self._changed() as database:
            by_owner = {owner: ledger.lost(database, owner=owner) for owner in ledger.owners(database)}
            return DeviceAccount(ledger.lost(database), by_owner)

    def study_account(self, manifest: Manifest) -> StudyStatement:
        """Return what a study got from this device: in the current window of waves, in all, and beside all studies.

        Args:
            manifest: The manifest of the study.

        Returns:
            Losses beside their limits, and the waves that the device answers.
        """
        with self._changed() as database:
            return budgets.study_account(database, manifest, self._epoch(manifest), self._lifetime)

    # --- parts -----------------------------------------------------------------------------------------
    @property
    def _lifetime(self) -> Decimal | None:
        return exact_limit("lifetime_limit", self.lifetime_limit)

    @property
    def _file(self) -> DeviceFile:
        assert isinstance(self.file, DeviceFile)
        return self.file

    def _changed(self) -> AbstractContextManager[Connection]:
        return self._file.changed()

    def _epoch(self, manifest: Manifest) -> int:
        return manifest.facts.epoch(self.today())

    @property
    def _transport(self) -> HttpTransport:
        assert self.transport is not None
        return self.transport

    def _tick(self, manifest: Manifest) -> Tick | Untimed:
        if self.tick is not None:
            return self.tick
        written = 0.0 if self._file.path is None else WRITTEN
        return Tick(max(written, *(public_tick(arm.mechanism).seconds for arm in manifest.stage.arms)))


def _delivery(entry: Outgoing, result: Outcome) -> Delivery:
    return Delivery(entry.id, entry.question, result.state, entry.payload, result.retry_after)


def _random_id(coins: Coins) -> bytes:
    coins.begin(2)
    return id_bytes((coins.word(), coins.word()))


def _body(manifest: Manifest, entry: Outgoing) -> bytes:
    """Bytes to send: a batch of one report, sealed for the collector where the study has a shuffler."""
    batch = entry.batch if manifest.facts.tells_epoch else replace(entry.batch, epoch=0)
    return batch.to_cbor() if manifest.facts.collection.sealed_for is None else seal(manifest, batch)
