"""A participant's device: what it refuses, what it writes before it sends, and what becomes of each report."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.client import Untimed
from sottovoce.client.device_file import _TABLES, DeviceFile
from sottovoce.client.memo import Memo
from sottovoce.client.participant import FIRST_WAIT, Participant
from sottovoce.client.tick import WRITTEN, Tick
from sottovoce.client.transport import REFUSALS, Interrupted, Reply, Unreached
from sottovoce.core.arithmetic.rational import loss
from sottovoce.core.errors import DomainError, PrivacyError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.round import Arm, Round
from sottovoce.testing.statistics import check_rate
from tests.client.collectors import ANSWERS, COUNTED, Scripted, memoised, sleep
from tests.client.toys import in_cohorts, unary

URL = "http://collector.test/v1/studies/0123456789abcdef"
DAY = date(2027, 3, 1)
FULL = Reply(429, b"{}", 7.0)


def device(path: Path | None = None, transport: Scripted | None = None, **options: Any) -> Participant:
    options.setdefault("today", lambda: DAY)
    return Participant(path, tick=Untimed(), transport=transport or Scripted(), **options)


def failed(code: str) -> Reply:
    return Reply(200, b'{"accepted": 0, "duplicates": 0, "failed": [{"index": 0, "code": "%s"}]}' % code.encode())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "device"


# --- one report ---------------------------------------------------------------------------------------------------
def test_a_report_is_one_batch_of_the_arm_that_its_id_draws(path: Path) -> None:
    manifest, transport = sleep(), Scripted()
    found = device(path, transport).answer(manifest, ANSWERS, url=URL)
    ((url, body, kind),) = transport.bodies
    (batch,) = transport.batches
    assert (url, kind) == (f"{URL}/reports", "application/cbor") and len(batch) == 1
    assert batch.manifest == manifest.prefix and batch.round == 1 and batch.epoch == (DAY - date(2020, 1, 1)).days
    assert batch.arm == manifest.arm_of(batch.ids) and batch.tokens == b""
    mechanism = manifest.stage.arms[batch.arm].mechanism
    codec.split(mechanism.channel, batch.ids + batch.payloads)
    assert found == (batch.ids, manifest.asked(batch.arm).name, "accepted", batch.payloads, 0.0)
    (entry,) = device(path).reports()
    assert (entry.state, entry.body, entry.payload, entry.attempts) == ("accepted", body, batch.payloads, 1)
    assert device(path).account().total == loss(mechanism.ratio) <= 1
    assert device(path).account().owners == {"Institute": loss(mechanism.ratio)}


def test_arms_and_answers_have_the_laws_of_the_manifest() -> None:
    manifest, transport = sleep(), Scripted()
    transport.manifest = manifest
    people, asked, said = 1000, Counter(), Counter()
    for _ in range(people):
        found = device(None, transport).answer(manifest, ANSWERS, url=URL)
        asked[found.question] += 1
        said[found.question, found.payload] += 1
    check_rate("asked about smoking", asked["smoker"], people, 0.75)
    channel = manifest.stage.arms[1].mechanism.channel
    rate = float(channel.likelihood(1, 1))
    check_rate("no", said["smoker", codec.encode(channel, 1)], asked["smoker"], rate)
    assert len({batch.ids for batch in transport.batches}) == people


def test_ids_that_an_arm_does_not_take_do_not_change_how_often_it_is_drawn() -> None:
    """A device of a cohort uses one id in sixteen; the arms are equally likely all the same."""
    one, other = in_cohorts(), sv.mechanism("grr", sv.Integers(0, 9), epsilon="0.01")
    about = replace(memoised().facts, unit="event", lifetime=Decimal(20))
    manifest = Manifest(
        about,
        (sv.Asked("toy", one.question),),
        Round((Arm("toy", one), Arm("toy:plain", other))),
    )
    drawn, cohorts = Counter(), set()
    me = device(None)
    for _ in range(600):
        me.answer(manifest, {"toy": 1})
    for entry in me.reports():
        drawn[entry.arm] += 1
        assert entry.arm == manifest.arm_of(entry.id)
        if entry.arm == 0:
            words = (int.from_bytes(entry.id[:8], "little"), int.from_bytes(entry.id[8:], "little"))
            cohorts.add(one.channel.cohort(words))  # type: ignore[attr-defined]
    check_rate("the arm with cohorts", drawn[0], 600, 0.5)
    assert len(cohorts) == 1


def test_every_answer_is_checked_before_a_coin_is_drawn(path: Path) -> None:
    for answers in ({"hours": 15, "smoker": "no"}, {"hours": 7, "smoker": "maybe"}, None):
        with pytest.raises((DomainError, sv.ParameterError)) as refused:
            device(path).answer(sleep(), answers)  # type: ignore[arg-type]
        assert "maybe" not in str(refused.value) and "15" not in str(refused.value)
    assert not path.exists()
    assert device(path).answer(sleep(), {"hours": 7, "smoker": "refused"}).state == "queued"


def test_the_question_is_drawn_first_and_stays_until_a_report_is_written(tmp_path: Path) -> None:
    """Nobody picks a question: asking again, or leaving the answer out, draws nothing new."""
    manifest, asked = sleep(), Counter[str]()
    assert {*ANSWERS} == {"hours", "smoker"}
    for number in range(40):
        me = device(tmp_path / str(number))
        (drawn,) = me.asks(manifest)
        with pytest.raises(sv.ParameterError, match=f"The question '{drawn}' needs an answer"):
            me.answer(manifest, {key: value for key, value in ANSWERS.items() if key != drawn})
        assert device(tmp_path / str(number)).asks(manifest) == (drawn,)
        assert me.answer(manifest, {drawn: ANSWERS[drawn]}).question == drawn
        asked[drawn] += 1
    assert {*asked} == {"hours", "smoker"}  # one of them alone has probability 2**-39
    about = replace(manifest.facts, collection=replace(manifest.facts.collection, ask_all=True))
    everything = Manifest.from_spec(replace(manifest, facts=about).content)
    assert everything.facts.collection.ask_all
    assert device(None).asks(everything) == ("hours", "smoker")
    with pytest.raises(sv.ParameterError, match="needs an answer"):
        device(None).answer(everything, {"hours": 7})


def test_chosen_arms_and_invitations(path: Path) -> None:
    chosen = sleep(chosen=True)
    with pytest.raises(sv.ParameterError, match="give the arm, one of hours, smoker"):
        device(path).answer(chosen, ANSWERS)
    assert device(path).answer(chosen, ANSWERS, arm="hours").question == "hours"
    with pytest.raises(sv.ParameterError, match="cannot be chosen"):
        device(path).answer(sleep(), ANSWERS, arm="hours")
    with pytest.raises(sv.ParameterError, match="takes no invitation"):
        device(path).answer(sleep(), ANSWERS, token=bytes(16))
    invited, transport = sleep(collection=Collection(invitations=True)), Scripted()
    for token in (b"", bytes(15)):
        with pytest.raises(sv.ParameterError, match="needs an invitation token of 16 bytes"):
            device(path).answer(invited, ANSWERS, token=token)
    device(path, transport).answer(invited, ANSWERS, url=URL, token=bytes(range(16)))
    assert transport.batches[0].tokens == bytes(range(16))


# --- refusals -----------------------------------------------------------------------------------------------------
def test_the_device_computes_the_loss_itself(path: Path) -> None:
    manifest = sleep(epsilon=1)
    with pytest.raises(PrivacyError, match="more than this device allows for one report"):
        device(path, limit=0.9).answer(manifest, ANSWERS)
    with pytest.raises(PrivacyError, match="more than this device allows in its lifetime"):
        device(path, lifetime_limit=0.9).answer(manifest, ANSWERS)
    # Arms that claim less than they lose cannot be written; here one loses more than the study states.
    lies = Manifest(manifest.facts, manifest.questions, manifest.stage)
    object.__setattr__(lies, "facts", replace(manifest.facts, epsilon=Decimal("0.5"), lifetime=Decimal(1)))
    with pytest.raises(PrivacyError, match="more than the epsilon that the study states"):
        device(path).answer(lies, ANSWERS)
    assert not path.exists()
    assert device(path, limit=1, lifetime_limit=1).answer(manifest, ANSWERS).state == "queued"


def test_guarantees_that_are_not_pure_are_refused(path: Path) -> None:
    mechanism = sv.mechanism("priv-unit", sv.Ball(1, 3), epsilon=1)
    assert not mechanism.guarantee.is_pure
    manifest = Manifest(sleep().facts, (sv.Asked("v", mechanism.question),), Round((Arm("v", mechanism),)))
    with pytest.raises(PrivacyError, match="pure guarantees only"):
        device(path).answer(manifest, {"v": [0.5, 0, 0]})


def test_the_days_of_a_study(path: Path) -> None:
    for start, end, said in ((DAY + timedelta(1), None, "has not begun"), (None, DAY - timedelta(1), "has ended")):
        days = {"start": start and start.isoformat(), "end": end and end.isoformat()}
        with pytest.raises(PrivacyError, match=said):
            device(path).answer(sleep(**days), ANSWERS)
    assert device(path).answer(sleep(start=DAY.isoformat(), end=DAY.isoformat()), ANSWERS)


def test_a_person_answers_a_study_once_in_all_its_rounds(path: Path) -> None:
    first = sleep()
    second = first.next(first.stage)
    device(path).answer(first, ANSWERS)
    for manifest in (first, second):
        with pytest.raises(PrivacyError, match="answered this study already"):
            device(path).answer(manifest, ANSWERS)
    assert len(device(path).reports()) == 1
    other = sleep(purpose="Another study.")
    assert other.study != first.study and device(path).answer(other, ANSWERS)
    assert device(path).account().total <= 2 and set(device(path).account().owners) == {"Institute"}


@pytest.mark.parametrize("change", [{"unit": "event"}, {"lifetime": Decimal(9)}])
def test_a_later_round_says_the_same_about_the_study(path: Path, change: dict[str, Any]) -> None:
    """It names the study by a hash that it only claims: with another unit a person would be asked again and again."""
    first = sleep()
    later = replace(first.next(first.stage), facts=replace(first.facts, **change))
    assert later.study == first.study
    device(path).answer(first, ANSWERS)
    for act in (lambda: device(path).answer(later, ANSWERS), lambda: device(path).check(later)):
        with pytest.raises(PrivacyError, match="something else about the study"):
            act()
    assert len(device(path).reports()) == 1
    # A study that was withdrawn before it was sent is still the one that it said it was.
    device(path).withdraw()
    with pytest.raises(PrivacyError, match="something else about the study"):
        device(path).answer(later, ANSWERS)
    device(path).answer(first.next(first.stage), ANSWERS)


def test_another_owner_who_claims_a_study_neither_blocks_nor_spends_it(path: Path) -> None:
    """Somebody serves round 2 of a study of somebody else, before or after the study itself is answered."""
    first = memoised("3")
    about = replace(first.facts, owner="Somebody else", unit="event")
    foreign = replace(first.next(first.stage), facts=about)
    assert foreign.study == first.study
    one = loss(first.stage.arms[0].mechanism.ratio_forever)  # type: ignore[arg-type]
    days = [DAY]
    me = device(path, today=lambda: days[0])
    for manifest in (foreign, first, foreign):
        me.answer(manifest, {"toy": 1})
    with pytest.raises(PrivacyError, match="already"):
        me.answer(first, {"toy": 1})
    # The value that both got counts in both studies: neither gets a second one.
    assert me.account() == (one, {"Institute": one, "Somebody else": one})
    days[0] += timedelta(1)
    with pytest.raises(PrivacyError, match="lifetime budget of this study"):
        me.answer(first, {"toy": 2})


def test_dates_have_one_form() -> None:
    """20270331 is a date for Python, but as a text it is later than every day of that year."""
    for day in ("20270331", "2027-W13-3", "2027-3-31", "2027-02-30", "x"):
        with pytest.raises(sv.SpecError, match="like 2027-03-31"):
            sleep(end=day)


def test_events_are_all_counted(path: Path) -> None:
    """Three reports of epsilon 1 and no more, although the study allows five; and five where the device allows more."""
    manifest = sleep(unit="event", lifetime=5)
    me = device(path, lifetime_limit=3)
    for _ in range(3):
        me.answer(manifest, ANSWERS)
    with pytest.raises(PrivacyError, match="in its lifetime, so it does not answer"):
        me.answer(manifest, ANSWERS)
    account = me.account()
    assert len(me.reports()) == 3 and Decimal("2.99") < account.total <= 3
    for _ in range(2):
        device(path).answer(manifest, ANSWERS)
    with pytest.raises(PrivacyError, match="lifetime budget of this study"):
        device(path).answer(manifest, ANSWERS)
    assert len(me.reports()) == 5


def test_the_lifetime_is_counted_over_studies_and_owners(path: Path) -> None:
    for owner in ("One", "Two"):
        device(path, lifetime_limit=2).answer(sleep(owner=owner), ANSWERS)
    with pytest.raises(PrivacyError, match="in its lifetime"):
        device(path, lifetime_limit=2).answer(sleep(owner="Three", epsilon="0.01"), ANSWERS)
    account = device(path).account()
    assert set(account.owners) == {"One", "Two"}
    each = sum(map(Fraction, account.owners.values()))
    assert 0 <= Fraction(account.total) - each < Fraction(1, 10**45)  # rounded up


def test_the_worst_arm_counts_before_the_draw(path: Path) -> None:
    """Whether a device answers does not depend on which of its questions is drawn."""
    cheap = sleep(epsilon="0.2").stage.arms[1]
    manifest = sleep(unit="event")
    mixed = Manifest(manifest.facts, manifest.questions, Round((manifest.stage.arms[0], replace(cheap, weight=200))))
    for _ in range(5):
        with pytest.raises(PrivacyError):
            device(path, lifetime_limit=Decimal("0.9")).answer(mixed, ANSWERS)


# --- memos --------------------------------------------------------------------------------------------------------
def test_memos_are_charged_once_for_each_value(path: Path) -> None:
    manifest, days = memoised(), [DAY]
    me = device(path, today=lambda: days[0])
    one = loss(manifest.stage.arms[0].mechanism.ratio_forever)  # type: ignore[arg-type]
    for _ in range(3):
        me.answer(manifest, {"toy": 1})
        with pytest.raises(PrivacyError, match="already"):  # once in an epoch
            me.answer(manifest, {"toy": 1})
        days[0] += timedelta(1)
    assert me.account().total == one
    assert Memo(path).spent(manifest.stage.arms[0].mechanism) == (1, 3)
    me.answer(manifest, {"toy": 2})
    assert Fraction(me.account().total) == 2 * Fraction(one) and len(me.reports()) == 4
    # The third value exceeds the lifetime budget of 5; from then on no value is answered, not even the first.
    for value in (3, 1, 2):
        days[0] += timedelta(1)
        with pytest.raises(PrivacyError, match="lifetime budget of this study"):
            me.answer(manifest, {"toy": value})
    assert len(me.reports()) == 4


def test_a_further_epoch_needs_the_memos_of_the_epochs_before(path: Path) -> None:
    """Another mechanism has another memo, and a report without a memo was the one answer to the study."""
    days = [DAY]
    me = device(path, today=lambda: days[0])

    def later(manifest: Manifest, *mechanisms: sv.Mechanism) -> Manifest:
        arms = tuple(Arm(f"toy:{place}", one) for place, one in enumerate(mechanisms))
        return manifest.next(Round(arms))

    kept, plain = unary(4), sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    first = memoised("12")
    refused = [later(first, replace(kept, name="other")), later(first, kept, replace(kept, name="other"))]
    me.answer(first, {"toy": 1})
    days[0] += timedelta(1)
    for manifest in (*refused, later(first, plain), later(first, kept, plain)):
        for act in (lambda one=manifest: me.answer(one, {"toy": 1}), lambda one=manifest: me.check(one)):
            with pytest.raises(PrivacyError, match="answered this study already"):
                act()
    me.answer(later(first, kept), {"toy": 1})  # another round of the same mechanism
    # A first round without a memo: no later one is answered.
    begun = replace(first, stage=Round((Arm("toy", plain),)))
    me.answer(begun, {"toy": 1})
    for mechanism in (kept, replace(kept, name="other")):
        days[0] += timedelta(7)
        with pytest.raises(PrivacyError, match="answered this study already"):
            me.answer(later(begun, mechanism), {"toy": 1})
    assert len(me.reports()) == 3 and me.account().total < Decimal("3.2")


def test_memos_of_a_client_are_in_the_account_as_well(path: Path) -> None:
    mechanism = memoised().stage.arms[0].mechanism
    sv.Client(mechanism, memo=path, tick=Untimed()).report(1)
    assert device(path).account().total == loss(mechanism.ratio_forever)  # type: ignore[arg-type]
    device(path).answer(memoised(), {"toy": 1})
    assert device(path).account().total == loss(mechanism.ratio_forever)  # type: ignore[arg-type]


def test_a_value_counts_in_every_study_that_gets_reports_of_it(path: Path) -> None:
    """It is charged once altogether. But a study whose lifetime allows one value must not get reports of two."""
    days = [DAY]
    me = device(path, today=lambda: days[0])
    mine, other = memoised("3"), memoised("3", owner="Another", purpose="Another study.")
    one = loss(mine.stage.arms[0].mechanism.ratio_forever)  # type: ignore[arg-type]
    me.answer(mine, {"toy": 1})
    me.answer(other, {"toy": 1})
    assert me.account() == (one, {"Another": one, "Institute": one})
    days[0] += timedelta(1)
    with pytest.raises(PrivacyError, match="lifetime budget of this study"):
        me.answer(other, {"toy": 2})
    assert len(me.reports()) == 2


def test_a_memo_beyond_the_lifetime_is_refused_before_it_is_drawn(path: Path) -> None:
    for options, lifetime in (({}, "2"), ({"lifetime_limit": 2}, "5")):
        with pytest.raises(PrivacyError):
            device(path, **options).answer(memoised(lifetime), {"toy": 1})
    assert not path.exists()


def as_version(path: Path, version: int) -> None:
    """Write the file as an earlier version would have: its tables, with what they held."""
    database = sqlite3.connect(path, isolation_level=None)
    rows = {
        "used": database.execute("SELECT key, study, owner FROM used").fetchall(),
        "study": database.execute("SELECT root, facts FROM study").fetchall(),
    }
    database.execute("ALTER TABLE report DROP COLUMN memos")
    for table in ("turn", "drawn", "study", "used", *(("report", "charge") if version == 1 else ())):
        database.execute(f"DROP TABLE {table}")
    if version == 3:
        for statement in _TABLES[3][:2]:
            database.execute(statement)
        for table, old in rows.items():
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(old[0]))})", old)
    database.execute(f"PRAGMA user_version = {version}")
    database.close()


def test_a_file_of_memos_alone_gets_the_new_tables(path: Path) -> None:
    kept = Memo(path).keep(memoised().stage.arms[0].mechanism, 1)
    as_version(path, 1)
    assert Memo(path).keep(memoised().stage.arms[0].mechanism, 1) == kept
    assert device(path).reports() == []


@pytest.mark.parametrize("version", [2, 3])
def test_a_file_of_a_version_before_keeps_its_account(path: Path, version: int) -> None:
    manifest = memoised()
    device(path).answer(manifest, {"toy": 1})
    device(path).answer(sleep(), ANSWERS)
    before = device(path).account()
    as_version(path, version)
    assert device(path).account() == before and before.total > 3
    # Which mechanisms made the older reports is not known: their studies are not answered again.
    for answered, answers in ((sleep(), ANSWERS), (manifest, {"toy": 1})):
        with pytest.raises(PrivacyError, match="already"):
            device(path, today=lambda: DAY + timedelta(1)).answer(answered, answers)
    if version == 3:
        first = sleep()
        later = replace(first.next(first.stage), facts=replace(first.facts, unit="event"))
        with pytest.raises(PrivacyError, match="something else about the study"):
            device(path).answer(later, ANSWERS)


# --- sending ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reply", [FULL, Reply(503, b""), Reply(507, b""), Reply(404, b""), Reply(200, b"<html>"),
                                   Reply(500, b""), Reply(302, b""), Reply(200, b'{"accepted": 2}'),
                                   Reply(200, b'{"accepted": true}'), Reply(200, b'{"duplicates": 1.0}'),
                                   Reply(200, b'{"accepted": "1"}'),
                                   Reply(200, b'[1]'), failed("epoch_in_future"), Interrupted("x")])  # fmt: skip
def test_a_report_that_may_be_counted_later_is_sent_again_with_the_same_bytes(path: Path, reply: Any) -> None:
    transport = Scripted(said=[reply, reply, Reply(200, COUNTED)])
    found = device(path, transport).answer(sleep(), ANSWERS, url=URL)
    assert found.state == "queued" and found.retry_after == (7.0 if reply is FULL else 0.0)
    days = [DAY + timedelta(40)]  # the bytes keep their epoch: a new one could be counted a second time
    me = device(path, transport, today=lambda: days[0])
    assert [one.state for one in me.send()] == ["queued"]
    assert [one.state for one in me.send()] == ["accepted"]
    assert me.send() == [] and len(transport.bodies) == 3
    assert len({body for _, body, _ in transport.bodies}) == 1
    assert [entry.attempts for entry in me.reports()] == [3]


@pytest.mark.parametrize(("reply", "state"), [
    (Reply(409, b"{}"), "outdated_manifest"), (Reply(410, b"{}"), "study_closed"), (Reply(400, b"{}"), "invalid_batch"),
    (Reply(413, b"{}"), "too_large"), (Reply(403, b"{}"), "forbidden"), (Reply(415, b"{}"), "refused"),
    (failed("conflict"), "conflict"), (failed("epoch_too_old"), "epoch_too_old"), (failed("new_code"), "refused"),
    (failed("token_spent"), "token_spent"), (failed("round_closed"), "round_closed"),
    (failed("invalid_payload"), "invalid_payload"),
])  # fmt: skip
def test_a_refused_report_is_not_sent_again_and_stays_charged(path: Path, reply: Reply, state: str) -> None:
    transport = Scripted(said=[reply])
    assert device(path, transport).answer(sleep(), ANSWERS, url=URL).state == state in REFUSALS
    assert device(path, transport).send() == [] and len(transport.bodies) == 1
    assert device(path).account().total > 0
    with pytest.raises(PrivacyError, match="already"):
        device(path, transport).answer(sleep(), ANSWERS, url=URL)


def test_a_duplicate_is_a_success(path: Path) -> None:
    transport = Scripted(said=[Reply(200, b'{"accepted": 0, "duplicates": 1, "failed": []}')])
    assert device(path, transport).answer(sleep(), ANSWERS, url=URL).state == "accepted"


def test_a_report_that_never_left_is_brought_up_to_date(path: Path) -> None:
    manifest = sleep()
    transport = Scripted(manifest=manifest, said=[Unreached("x"), Unreached("x"), Reply(200, COUNTED)])
    url = URL.replace("0123456789abcdef", manifest.study[:16])
    assert device(path, transport).answer(manifest, ANSWERS, url=url).state == "queued"
    assert [entry.attempts for entry in device(path).reports()] == [0]
    later = device(path, transport, today=lambda: DAY + timedelta(40))
    assert [one.state for one in later.send()] == ["queued"]
    assert [one.state for one in later.send()] == ["accepted"]
    batches = transport.batches
    assert [one.epoch - batches[0].epoch for one in batches] == [0, 40, 40]
    assert len({(one.ids, one.payloads, one.arm) for one in batches}) == 1


def test_a_report_that_never_left_is_replaced_where_the_round_has_ended(path: Path) -> None:
    manifest = sleep()
    transport = Scripted(manifest=manifest.next(manifest.stage))
    url = URL.replace("0123456789abcdef", manifest.study[:16])
    me = device(path, transport)
    me.answer(manifest, ANSWERS, url=url, send=False)
    assert me.account().total > 0
    assert [one.state for one in me.send()] == ["replaced"] and transport.bodies == []
    assert me.account().total == 0 and me.reports() == []
    assert me.answer(transport.manifest, ANSWERS, url=url).state == "accepted"


def test_a_queued_report_waits_where_its_collector_is_away(path: Path) -> None:
    class Away(Scripted):
        def get(self, url: str) -> Reply:
            raise Unreached("x")

    me = device(path, Away())
    me.answer(sleep(), ANSWERS, url=URL, send=False)
    me.answer(sleep(purpose="no address"), ANSWERS)
    assert [one.state for one in me.send()] == ["queued"]
    assert [entry.attempts for entry in me.reports()] == [0, 0]


def test_patience_follows_the_collector(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("sottovoce.client.participant.time.sleep", waits.append)
    now = iter(range(0, 10_000))
    monkeypatch.setattr("sottovoce.client.participant.time.monotonic", lambda: next(now) / 1000)
    transport = Scripted(said=[FULL, FULL, Reply(503, b""), Reply(503, b""), Reply(200, COUNTED)])
    me = device(path, transport)
    me.answer(sleep(), ANSWERS, url=URL)
    assert [one.state for one in me.send(patience=60)] == ["accepted"]
    assert waits == [7.0, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    transport.said = [FULL]
    me.answer(sleep(purpose="other"), ANSWERS, url=URL)
    assert [one.state for one in me.send(patience=6)] == ["queued"] and len(waits) == 3


def test_opting_out_deletes_what_is_unsent(path: Path) -> None:
    sent, tried, fresh = (sleep(purpose=f"{number}") for number in range(3))
    device(path).answer(sent, ANSWERS, url=URL)
    device(path, Scripted(said=[FULL])).answer(tried, ANSWERS, url=URL)
    device(path).answer(fresh, ANSWERS)
    before = device(path).account().total
    bodies = {entry.study: entry.body for entry in device(path).reports()}
    assert device(path).withdraw(fresh.study) == 1
    assert device(path).withdraw() == 1 and device(path).withdraw() == 0
    states = {entry.study: (entry.state, entry.body) for entry in device(path).reports()}
    assert states == {sent.study: ("accepted", bodies[sent.study]), tried.study: ("withdrawn", b"")}
    # What never left costs nothing and may be answered again; what may have arrived stays charged.
    assert Decimal("0.9") < before - device(path).account().total <= 1
    for study in (bodies[tried.study], bodies[fresh.study]):
        assert study not in path.read_bytes()
    with pytest.raises(PrivacyError, match="already"):
        device(path).answer(tried, ANSWERS)
    assert device(path).answer(fresh, ANSWERS)


def test_what_was_withdrawn_meanwhile_is_not_sent(path: Path) -> None:
    """A process that is sending has read the list of what is queued before; another withdraws a part of it."""
    studies = [sleep(purpose=f"{number}") for number in range(3)]
    for manifest in studies:
        device(path, Scripted(said=[FULL])).answer(manifest, ANSWERS, url=URL)
    bodies = {entry.id: entry.body for entry in device(path).reports()}

    def withdrawing(body: bytes) -> Reply:
        device(path).withdraw()
        return Reply(200, COUNTED)

    transport = Scripted(said=[withdrawing])
    assert sorted(one.state for one in device(path, transport).send()) == ["accepted", "withdrawn", "withdrawn"]
    assert len(transport.bodies) == 1
    content = path.read_bytes()
    for entry in device(path).reports():
        assert (entry.state, entry.body) == ("withdrawn", b"") and bodies[entry.id] not in content


# --- the file -----------------------------------------------------------------------------------------------------
def test_the_file_holds_no_answer_and_no_order(path: Path) -> None:
    question = sv.Frequency(sv.Categories(["unmistakable-sentinel", "other"]))
    mechanism = sv.mechanism("grr", question.domain, epsilon=1)
    manifest = Manifest(sleep().facts, (sv.Asked("q", question),), Round((Arm("q", mechanism),)))
    device(path).answer(manifest, {"q": "unmistakable-sentinel"}, url=URL)
    assert b"sentinel" not in path.read_bytes() and path.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as database:
        tables = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
    database.close()
    assert sum("WITHOUT ROWID" in sql for (sql,) in tables) == len(tables) - 1  # all but the secret


def test_a_report_is_written_at_a_tick(path: Path) -> None:
    manifest = sleep()
    assert Participant(path)._tick(manifest) == Tick(WRITTEN)
    assert Participant(None)._tick(manifest).seconds < WRITTEN  # type: ignore[union-attr]
    with pytest.raises(sv.ParameterError, match="tick"):
        Participant(path, tick=0.1)  # type: ignore[arg-type]
    for limits in ({"limit": -1}, {"lifetime_limit": float("nan")}):
        with pytest.raises(PrivacyError):
            Participant(path, **limits)


def test_answers_are_read_within_the_tick(path: Path) -> None:
    """How long that takes depends on the answer, and what follows can be seen by the collector."""
    seen: list[str] = []

    class Watched(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            seen.append("answer")
            return super().__getitem__(name)

    def clock() -> int:
        seen.append("clock")
        return len(seen)

    me = Participant(path, tick=Tick(1e-9, clock=clock, sleep=lambda _: None), transport=Scripted(), today=lambda: DAY)
    me.answer(sleep(), Watched(ANSWERS), url=URL)
    assert seen[0] == seen[-1] == "clock" and seen.count("answer") == 2
    seen.clear()
    with pytest.raises(DomainError):  # an error waits as well
        me.answer(sleep(purpose="2"), Watched({"hours": 7, "smoker": "maybe"}), url=URL)
    assert seen[0] == seen[-1] == "clock"


def test_in_memory_the_same_rules_hold() -> None:
    me = device(None)
    me.answer(sleep(), ANSWERS, url=URL)
    with pytest.raises(PrivacyError, match="already"):
        me.answer(sleep(), ANSWERS)
    assert me.account().total > 0 and me.reports()[0].state == "accepted"
    assert device(None).reports() == []


def test_processes_at_once_answer_once(path: Path) -> None:
    manifest = sleep()
    DeviceFile(path)
    found: list[str] = []

    def work() -> None:
        try:
            found.append(device(path).answer(manifest, ANSWERS, url=URL).state)
        except PrivacyError:
            found.append("refused")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(found) == {"accepted": 1, "refused": 5}
    assert len(device(path).reports()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("plan", [["unreached", "ok"], ["broken", "full", "ok"]])
def test_a_device_that_is_killed_at_any_step_answers_once(
    path: Path, plan: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each statement and each request. What arrives has one id and one content, and is charged."""
    arrived, manifest = path.with_name("arrived"), sleep()
    url = URL.replace("0123456789abcdef", manifest.study[:16])
    left = 0

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    class Watched(sqlite3.Connection):
        def execute(self, *arguments: Any) -> Any:
            step()
            found = super().execute(*arguments)
            step()
            return found

    class Lossy(Scripted):
        def post(self, url: str, body: bytes, kind: str) -> Reply:
            step()
            what = script.pop(0) if script else "ok"
            if what == "unreached":
                raise Unreached("x")
            with arrived.open("a") as file:
                file.write(f"{what} {body.hex()}\n")
            step()
            if what == "broken":
                raise Interrupted("x")
            return Reply(200, COUNTED) if what == "ok" else FULL

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **o: connect(*a, factory=Watched, **o))
    killed = 0
    for steps in range(400):
        script = list(plan)
        child = os.fork()
        if not child:
            left = steps
            me = device(path, Lossy(manifest=manifest), today=lambda days=steps: DAY + timedelta(days))
            try:
                me.answer(manifest, ANSWERS, url=url)
            except PrivacyError:
                me.send()
            while me.send():
                pass
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL)
        lines = arrived.read_text().split("\n")[:-1] if arrived.exists() else []
        assert len({line.split()[1] for line in lines}) <= 1
        if not status:
            break
        killed += 1
    monkeypatch.undo()
    (entry,) = device(path).reports()
    assert killed > 20 and entry.state == "accepted" and entry.body.hex() == lines[-1].split()[1]
    assert device(path).account().total == loss(manifest.stage.arms[entry.arm].mechanism.ratio)


def test_the_error_of_a_wrong_answer_names_the_reasons_for_giving_none() -> None:
    with pytest.raises(DomainError, match=r'one of the 2 categories.* For no answer, give one of "refused"') as caught:
        device().answer(sleep(), {"hours": 7, "smoker": "rarely"})
    assert "rarely" not in str(caught.value)
