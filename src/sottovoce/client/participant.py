"""A participant's device in studies: it reads a manifest, may refuse it, answers once, and sends what it wrote down.

The report, its id and its charge are written in one transaction before the first attempt to send; every attempt sends
the same bytes. Randomizing again would spend the budget again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from os import PathLike
from sqlite3 import Connection
from typing import Any, NamedTuple

from sottovoce.client import ledger, outbox
from sottovoce.client.answers import chosen_arm, values_of
from sottovoce.client.client import exact_limit
from sottovoce.client.device_file import DeviceFile
from sottovoce.client.memo import keep_in
from sottovoce.client.once import check_once, memos_of, write_facts
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
from sottovoce.core.errors import ParameterError, PrivacyError, SottovoceError
from sottovoce.core.exchange.codec import ID_BYTES
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import CBOR_TYPE, TOKEN_BYTES
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject

SEALED_TYPE = "application/octet-stream"
REPLACED = "replaced"  # the round ended before anything was sent: nothing is lost, and the study can be answered again
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds between attempts


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


@dataclass(frozen=True, slots=True)
class Participant:
    """A device with a file for its account, its reports and its memos; None keeps them in memory, for simulations.

    `limit` bounds the loss of one report, `lifetime_limit` that of all reports of this device, over all studies and
    owners. Both are compared with the losses that the device computes from the channels itself. Only pure guarantees
    are accepted.

    A study whose unit of privacy is a person or a device is answered once. Where all of its mechanisms keep a memo, it
    is answered once in each epoch, as long as the mechanisms stay the same. A study about events is answered for each
    event, and every answer is charged, until the study's lifetime budget is spent.

    A report is written at a `tick` after the call, like a message of `Client`; what is sent then is public.
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
        """The manifest at an address, and the address of the study itself; a closed study is refused."""
        return fetch_open_study(url, self._transport)

    def check(self, manifest: Manifest) -> None:
        """Refuse a manifest that this device would not answer, before anyone is asked."""
        self._check_manifest(manifest)
        if self._file.exists:
            with self._changed() as database:
                check_once(database, manifest, self._epoch(manifest))

    def _check_manifest(self, manifest: Manifest) -> None:
        """Refuse one that loses more than it states or than this device allows, or that is not open today."""
        limit, lifetime = exact_limit("limit", self.limit), exact_limit("lifetime_limit", self.lifetime_limit)
        manifest.check(limit=limit)
        facts = manifest.facts
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
        """Answer a study: check, draw, write, then send.

        The answers to all questions of the round are needed, since the device draws which of them is asked. `url` is
        the address of the study; without it, or with `send` false, the report is queued. `token` is the invitation, in
        studies that need one, and `arm` the name of the budget, in rounds where participants choose it.
        """
        read = manifest if isinstance(manifest, Manifest) else Manifest.from_spec(manifest, device=True)
        self._check_manifest(read)
        self._check_token(read, token)
        if url:
            parsed(url)
        chosen = chosen_arm(read, arm)
        sends = send and bool(url)
        # The answers are read within the tick: how long that takes depends on them.
        entry = self._tick(read).after(
            lambda: self._written(read, values_of(read, answers), chosen, token, url, attempts=int(sends))
        )
        return self._posted(entry) if sends else _delivery(entry, Outcome(QUEUED))

    def _written(
        self, manifest: Manifest, values: list[Any], chosen: int | None, token: bytes, url: str, attempts: int
    ) -> Outgoing:
        """Draw the report and write it with its charge, in one transaction; or raise why not, after it."""
        with self._changed() as database:
            check_once(database, manifest, self._epoch(manifest))
            write_facts(database, manifest)
            coins = SystemCoins()
            report_id = _random_id(coins)
            arm = manifest.arm_of(report_id) if chosen is None else chosen
            mechanism = manifest.stage.arms[arm].mechanism
            kept = None
            if mechanism.ratio_forever is not None:
                kept = keep_in(database, mechanism, values[arm], manifest.study, manifest.facts.owner)
            refusal = self._refusal(database, manifest, mechanism)
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

    def _check_token(self, manifest: Manifest, token: bytes) -> None:
        needed = manifest.facts.collection.invitations
        if not isinstance(token, bytes) or len(token) != (TOKEN_BYTES if needed else 0):
            raise ParameterError(
                f"This study needs an invitation token of {TOKEN_BYTES} bytes."
                if needed
                else "This study takes no invitation tokens."
            )

    def _refusal(self, database: Connection, manifest: Manifest, mechanism: Mechanism) -> str | None:
        """Why the losses would exceed a limit with this report, or None."""
        memoised = mechanism.ratio_forever is not None
        mechanisms = [] if memoised else [arm.mechanism for arm in manifest.stage.arms]
        # A mechanism that keeps memos is charged by now; of the others the worst one counts, whichever was drawn.
        more = max((one.guarantee.charge(one.ratio) for one in mechanisms), default=Decimal(0))
        limit = exact_limit("lifetime_limit", self.lifetime_limit)
        if limit is not None and ledger.lost(database, more) > limit:
            return "With this report the device would lose more than it allows in its lifetime, so it does not answer."
        facts = manifest.facts
        # Of events too: participants are told what their device spends at most in a study.
        if ledger.lost(database, more, study=manifest.study, owner=facts.owner) > facts.lifetime:
            return "With this report the device would lose more than the lifetime budget of this study."
        return None

    # --- sending -------------------------------------------------------------------------------------
    def send(self, patience: float = 0.0) -> list[Delivery]:
        """Send what is queued. Where a collector asks to wait, try again for `patience` seconds."""
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
        """Every report that this device made, with what was sent and what became of it."""
        with self._changed() as database:
            return outbox.entries(database)

    def withdraw(self, study: str | None = None) -> int:
        """Delete what is unsent, of a study or of all: how many reports.

        The charge of a report that never left the device is taken back. One that may have arrived is deleted as well
        and stays charged. What was counted is part of a sum and cannot be taken out of it.
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
        """What was lost so far."""
        with self._changed() as database:
            by_owner = {owner: ledger.lost(database, owner=owner) for owner in ledger.owners(database)}
            return DeviceAccount(ledger.lost(database), by_owner)

    # --- parts -----------------------------------------------------------------------------------------
    @property
    def _file(self) -> DeviceFile:
        assert isinstance(self.file, DeviceFile)
        return self.file

    def _changed(self) -> AbstractContextManager[Connection]:
        return self._file.changed()

    def _epoch(self, manifest: Manifest) -> int:
        return manifest.facts.collection.epoch(self.today())

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
    """What is sent: a batch of one report, sealed for the collector where the study has a shuffler."""
    if manifest.facts.collection.sealed_for is None:
        return entry.batch.to_cbor()
    return seal(manifest, entry.batch)
