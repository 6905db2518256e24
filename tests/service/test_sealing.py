"""Sealed reports: only the collector reads them, all are equally long, and a shuffler passes them on mixed."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.testclient import TestClient

from sottovoce.client import Untimed
from sottovoce.client.participant import Participant
from sottovoce.client.sealing import SEAL_BYTES, seal, sealed_bytes, wave_of
from sottovoce.client.transport import HttpTransport, Interrupted, Reply
from sottovoce.core.errors import CollectorError, ParameterError, PrivacyError, ReportError, SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.exchange.wire import Batch
from sottovoce.service.app import Application
from sottovoce.service.collector import Collector
from sottovoce.service.invitations import invite
from sottovoce.service.shuffler.mixer import Mixer, pass_on_due
from sottovoce.service.shuffler.opening import sealed_route
from sottovoce.service.shuffler.relay import Relay, settled
from sottovoce.service.shuffler.unsealing import new_key, public_key, read_key, unseal, unseal_all
from sottovoce.service.stores import open_store
from tests.client.collectors import ANSWERS, COUNTED, Scripted, facts, sleep
from tests.service.studies import SOURCE

PRIVATE, PUBLIC = new_key()
URL = "http://shuffler.test/v1/studies/0123456789abcdef"


@pytest.fixture
def key(tmp_path: Path):
    (tmp_path / "key").write_text(PRIVATE + "\n")
    return read_key(tmp_path / "key")


def manifest(**changes: object) -> Manifest:
    return sleep(collection=Collection(sealed_for=PUBLIC, batch=3), **changes)


def sealed_by_devices(study: Manifest, count: int, answers: Any = ANSWERS) -> list[bytes]:
    transport = Scripted(manifest=study)
    for _ in range(count):
        device = Participant(None, tick=Untimed(), transport=transport)
        assert device.answer(study, answers, url=URL).state == "accepted"
    assert {(url, kind) for url, _, kind in transport.bodies} == {(f"{URL}/sealed", "application/octet-stream")}
    return [body for _, body, _ in transport.bodies]


def test_the_collector_alone_opens_what_devices_seal(key) -> None:
    study = manifest()
    bodies = sealed_by_devices(study, 80)  # an arm that nobody is in is seen less than once in 10**9 runs
    assert {len(body) for body in bodies} == {sealed_bytes(study)} and len(set(bodies)) == 80
    batches = [unseal(key, study, body) for body in bodies]
    assert {batch.arm for batch in batches} == {0, 1}  # payloads of different arms, sealed equally long
    assert all(batch.arm == study.arm_of(batch.ids) for batch in batches)
    assert all(
        batch.ids not in body and body.startswith(study.prefix) for batch, body in zip(batches, bodies, strict=True)
    )
    assert {batch.epoch for batch in batches} == {0}  # a day is read by the collector: on it a report may be alone
    assert public_key(key) == PUBLIC and SEAL_BYTES == 48


def weekly(**more: Any) -> Manifest:
    """A sealed study of three weekly waves, of which the second begins today."""
    start = datetime.now(UTC).date() - timedelta(7)
    repeat = Repeat(7, 3, 1)
    facts = {"start": start.isoformat(), "end": repeat.end(start).isoformat(), "repeat": repeat, "unit": "person"}
    study = manifest(**more)
    return replace(study, facts=replace(study.facts, **facts, lifetime=repeat.lifetime(study.facts.epsilon)))


def test_reports_of_different_waves_are_mixed_apart(tmp_path: Path, key) -> None:
    """The collector reads the wave: a late report among those of the next wave would be hidden by nobody."""
    study, collecting = weekly(), []
    relay = relay_of(tmp_path / "mixer", Collecting(study))
    (sealed,) = sealed_by_devices(study, 1)
    assert len(sealed) == sealed_bytes(study) and wave_of(study, sealed) == 1 == unseal(key, study, sealed).epoch
    with pytest.raises(ReportError):
        unseal(key, study, sealed[:9] + b"\0" + sealed[10:])  # of another wave than stands before it
    client = TestClient(relay.application())
    batch = unseal(key, study, sealed)
    path = f"/v1/studies/{study.hash[:16]}/sealed"
    for wave, count in ((0, 1), (1, 4)):
        for _ in range(count):
            one = seal(study, replace(batch, epoch=wave, ids=os.urandom(16)))
            assert client.post(path, content=one).status_code == 200
    refused = client.post(path, content=seal(study, replace(batch, epoch=2)))
    assert refused.status_code == 400  # not before its wave: made-up waves would fill the file
    relay._send = lambda study, body: collecting.append(body)  # type: ignore[method-assign]
    assert relay.pass_on() == 4 and sorted(relay.mixer.waiting().values()) == [1]
    assert {one.epoch for one in unseal_all(key, study, collecting[0]) if one} == {1}


def test_reports_of_waves_that_are_over_are_forgotten(tmp_path: Path) -> None:
    """The collector counts them no more: of three waves of a week, the first ended two days ago."""
    study, start = weekly(), datetime.now(UTC).date() - timedelta(8)
    days = {"start": start.isoformat(), "end": Repeat(7, 3, 1).end(start).isoformat()}
    ended = replace(study, facts=replace(study.facts, **days))
    relay = relay_of(tmp_path / "mixer", Collecting(ended))
    relay.manifest(ended.hash[:16])
    for wave in (0, 1, 2):
        relay.mixer.take(ended.hash[:16], ended.prefix + bytes([0, wave]), bytes([wave]))
    assert relay.pass_on() == 0
    assert sorted(before[8:] for _, before in relay.mixer.waiting()) == [b"\0\1", b"\0\2"]


def test_sealed_reports_that_waited_for_days_are_counted(tmp_path: Path, key) -> None:
    """A small study may need days for a batch: its reports do not name the day, so they are not too late."""
    with sealed_study(tmp_path, key) as (collector, to_collector, name, url):
        study = collector.study(name).manifest
        collector.writer._today = lambda: datetime.now(UTC).date() + timedelta(20)
        body = b"".join(sealed_by_devices(study, 5, {"type": "owl"}))
        said = json.loads(to_collector.post(f"{url}/sealed", body, "application/octet-stream").body)
        assert said == {"accepted": 5, "duplicates": 0, "failed": []}


def test_a_retry_sends_the_same_seal(tmp_path: Path) -> None:
    study = manifest()
    transport = Scripted(manifest=study, said=[Interrupted("x"), Reply(200, COUNTED)])
    device = Participant(tmp_path / "device", tick=Untimed(), transport=transport)
    assert device.answer(study, ANSWERS, url=URL).state == "queued"
    assert [one.state for one in device.send()] == ["accepted"]
    assert len({body for _, body, _ in transport.bodies}) == 1 and len(transport.bodies) == 2


def test_anything_else_is_refused(key) -> None:
    study = manifest()
    (body,) = sealed_by_devices(study, 1)
    other = manifest(purpose="Another round.")
    with pytest.raises(ReportError, match="another manifest"):
        unseal(key, other, body)
    # With the prefix of the other manifest the seal itself refuses: its hash is part of it.
    with pytest.raises(ReportError, match="cannot be opened"):
        unseal(key, other, other.prefix + body[8:])
    for place in (8, 20, 45, len(body) - 1):
        changed = bytearray(body)
        changed[place] ^= 1
        with pytest.raises(ReportError, match="cannot be opened"):
            unseal(key, study, bytes(changed))
    for wrong in (body[:-1], body + b"\0", b""):
        with pytest.raises(ReportError, match="the wrong length"):
            unseal(key, study, wrong)
    assert unseal_all(key, study, bytes(changed) + body) == [None, unseal(key, study, body)]
    with pytest.raises(ReportError, match="of equal length"):
        unseal_all(key, study, body[:-1])


@pytest.mark.parametrize("key", ["00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f"])
def test_a_key_that_seals_nothing_is_refused(key: str, tmp_path: Path) -> None:
    """Points of small order: the shared secret would be known to everyone."""
    study = sleep(collection=Collection(sealed_for=key, batch=3))
    device = Participant(tmp_path / "device", tick=Untimed(), transport=Scripted(manifest=study))
    with pytest.raises(PrivacyError, match="seals nothing"):
        device.answer(study, ANSWERS, url=URL)
    assert device.reports() == [] and device.account().total == 0


def test_what_can_be_sealed(tmp_path: Path) -> None:
    study = manifest()
    two = Batch(study.prefix, 1, 1, 0, bytes(32), bytes(2))
    for batch in (two, replace(two, ids=bytes(16), payloads=b"\0", manifest=bytes(8))):
        with pytest.raises(ParameterError, match="can be sealed"):
            seal(study, batch)
    with pytest.raises(ParameterError, match="can be sealed"):
        seal(sleep(), replace(two, ids=bytes(16), payloads=b"\0"))
    (tmp_path / "key").write_text("ab")
    for path in ("key", "missing"):
        with pytest.raises(ParameterError, match="64 hexadecimal digits"):
            read_key(tmp_path / path)


def test_a_shuffler_waits_for_enough_and_forgets_the_order(tmp_path: Path) -> None:
    path = tmp_path / "mixer"
    mixer, sent = Mixer(str(path)), []
    seals = [bytes([number]) * 40 for number in range(30)]
    for one in seals[:4]:
        assert mixer.take("s", b"prefix00", one)
    assert not mixer.take("s", b"prefix00", seals[0])
    mixer.take("t", b"prefix11", b"other")

    def due(least: int) -> int:
        return pass_on_due(mixer, lambda study, _: least if study == "s" else None, lambda to, body: sent.append(body))

    assert due(5) == 0 and sent == []
    for one in seals[4:]:
        mixer.take("s", b"prefix00", one)
    assert due(5) == 30 and mixer.waiting() == {("t", b"prefix11"): 1}
    (body,) = sent
    passed = [body[place : place + 40] for place in range(0, len(body), 40)]
    assert sorted(passed) == seals
    assert passed != seals and passed != sorted(seals, key=lambda one: hashlib.sha256(one).digest())
    content = b"".join(file.read_bytes() for file in tmp_path.glob("mixer*") if file.name == "mixer")
    assert seals[7] not in content


def test_a_collector_that_is_away_loses_nothing(tmp_path: Path) -> None:
    mixer = Mixer(str(tmp_path / "mixer"))
    for number in range(3):
        mixer.take("s", b"prefix00", bytes([number]) * 8)

    def away(to: str, body: bytes) -> None:
        raise CollectorError("away")

    assert pass_on_due(mixer, lambda *_: 2, away) == 0
    assert mixer.waiting() == {("s", b"prefix00"): 3}


def test_a_collector_that_asks_for_a_batch_again_gets_no_new_report_with_it(tmp_path: Path) -> None:
    """One that counted a batch and says that it is busy would see the reports that came since, alone."""
    path, sent = str(tmp_path / "mixer"), []
    seals = [bytes([number]) * 8 for number in range(7)]

    def busy(to: str, body: bytes) -> None:
        sent.append({body[place : place + 8] for place in range(0, len(body), 8)})
        raise CollectorError("busy, it says")

    for count in (3, 4, 6):
        for one in seals[:count]:
            Mixer(path).take("s", b"prefix00", one)
        assert pass_on_due(Mixer(path), lambda *_: 3, busy) == 0  # also by a process that was started again
    assert sent == [set(seals[:3])] * 3
    taken: list[bytes] = []
    assert pass_on_due(Mixer(path), lambda *_: 3, lambda to, body: taken.append(body)) == 3
    assert pass_on_due(Mixer(path), lambda *_: 4, lambda to, body: taken.append(body)) == 0  # three are waiting now
    Mixer(path).take("s", b"prefix00", seals[6])
    assert pass_on_due(Mixer(path), lambda *_: 4, lambda to, body: taken.append(body)) == 4
    assert [len(body) for body in taken] == [24, 32] and Mixer(path).waiting() == {}


def test_a_file_of_an_earlier_shuffler_is_read_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "old")
    old.execute(
        "CREATE TABLE seal (hash BLOB PRIMARY KEY, study TEXT NOT NULL, prefix BLOB NOT NULL, sealed BLOB NOT NULL)"
    )
    old.execute("INSERT INTO seal VALUES (x'00', 's', x'01', x'02')")
    old.commit()
    old.close()
    assert pass_on_due(Mixer(str(tmp_path / "old")), lambda *_: 1, lambda *_: None) == 1
    Mixer(str(tmp_path / "new"))
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


TAKEN = Reply(200, b"{}")


class Collecting(Scripted):
    """A collector that gives the manifests of a list, one after the other, and answers with a status."""

    def __init__(self, *manifests: Manifest, said: Reply = TAKEN, older: tuple[Manifest, ...] = ()) -> None:
        super().__init__(said=[said])
        self.manifests, self.older = list(manifests), {f"hash={one.hash}": one for one in older}

    def get(self, url: str, query: str = "") -> Reply:
        if query:
            return Reply(200, self.older[query].content) if query in self.older else Reply(404, b"{}")
        return Reply(200, (self.manifests.pop(0) if len(self.manifests) > 1 else self.manifests[0]).content)


def relay_of(path: Path, collector: Collecting, least: int = 3) -> Relay:
    path.mkdir(exist_ok=True)
    return Relay(Mixer(str(path / "mixer")), "http://test", collector, least=least)


def test_a_shuffler_does_not_take_the_collectors_word(tmp_path: Path) -> None:
    """A manifest for each device, or batches of two, would show the collector whose report is whose."""
    first = manifest()
    name, later = first.hash[:16], first.next(first.stage)
    with pytest.raises(CollectorError, match="at least 4"):
        relay_of(tmp_path, Collecting(first), least=4).manifest(name)
    third = later.next(later.stage)
    larger = replace(first.facts, collection=replace(first.facts.collection, batch=1000))
    other = replace(first.stage, quota=7)
    wrongs = (
        replace(later, stage=other),  # a second manifest of a round
        first,  # one of a round that is over
        replace(third, number=4),  # a round is left out
        replace(third, parent=first.hash),
        replace(third, parent=hashlib.sha256(b"another").hexdigest()),
        replace(third, facts=larger),
        replace(third, facts=facts()),
    )
    for place, wrong in enumerate(wrongs):
        path = tmp_path / str(place)
        relay = relay_of(path, Collecting(first, later, wrong, older=(first, later)))
        assert [relay.manifest(name).number for _ in range(2)] == [1, 2]
        for one in (relay, relay_of(path, Collecting(wrong, older=(first, later)))):  # also after a restart
            with pytest.raises(CollectorError):
                one.manifest(name)
            assert TestClient(one.application()).get(f"/v1/studies/{name}/manifest").status_code == 503
        assert relay_of(path, Collecting(third)).manifest(name) == third
    with pytest.raises(ParameterError):
        relay_of(tmp_path, Collecting(first), least=1)


def test_numbers_of_rounds_do_not_open_a_manifest_for_each_device(tmp_path: Path) -> None:
    """Manifests with equal facts and the numbers 2 to 6: one is taken, and the others are not its children."""
    first = manifest()
    later = first.next(first.stage)
    relay = relay_of(tmp_path, Collecting(*(replace(later, number=number) for number in range(2, 7))))
    assert relay.manifest(first.hash[:16]).number == 2
    for _ in range(4):
        with pytest.raises(CollectorError, match="does not follow the open one"):
            relay.manifest(first.hash[:16])


def test_rounds_that_no_device_asked_about_are_followed_by_their_parents(tmp_path: Path) -> None:
    rounds = [manifest()]
    for _ in range(4):
        rounds.append(rounds[-1].next(rounds[-1].stage))
    name = rounds[0].hash[:16]
    assert relay_of(tmp_path, Collecting(rounds[0])).manifest(name) == rounds[0]
    forged = [replace(rounds[2], stage=replace(rounds[2].stage, quota=7)), rounds[0]]
    for known in ((), tuple(rounds[2:]), tuple(forged)):
        with pytest.raises(SottovoceError):
            relay_of(tmp_path, Collecting(rounds[4], older=known)).manifest(name)
    exchanged = Collecting(rounds[4], older=tuple(rounds))  # a parent of another hash, with the right number
    exchanged.older[f"hash={rounds[3].hash}"] = replace(rounds[3], stage=replace(rounds[3].stage, quota=7))
    with pytest.raises(CollectorError, match="does not follow the open one"):
        relay_of(tmp_path, exchanged).manifest(name)
    assert relay_of(tmp_path, Collecting(rounds[4], older=tuple(rounds))).manifest(name) == rounds[4]


def test_seals_of_a_round_that_is_over_are_refused_and_waiting_ones_are_passed_on(tmp_path: Path) -> None:
    """One manifest is open at a time: nobody can fill a batch of an old one around a single report."""
    first = manifest()
    name, bodies = first.hash[:16], sealed_by_devices(first, 4)
    relay = relay_of(tmp_path, Collecting(first, first.next(first.stage)))
    client = TestClient(relay.application())
    address = f"/v1/studies/{name}/sealed"
    assert [client.post(address, content=body).status_code for body in bodies[:3]] == [200] * 3
    relay.manifest(name)
    assert client.post(address, content=bodies[3]).status_code == 409
    assert relay_of(tmp_path, Collecting(first)).pass_on() == 3  # a new process needs no manifest for it


def test_two_processes_with_one_file_open_one_manifest(tmp_path: Path) -> None:
    first = manifest()
    name, later = first.hash[:16], first.next(first.stage)
    other = replace(later, stage=replace(later.stage, quota=7))
    one, two = (relay_of(tmp_path, Collecting(first, last)) for last in (later, other))
    assert one.manifest(name) == two.manifest(name) == first
    assert one.manifest(name) == later
    with pytest.raises(CollectorError, match="Another shuffler"):
        two.manifest(name)


def test_reports_are_dropped_only_where_the_collector_has_settled_them(tmp_path: Path) -> None:
    """A proxy that says 404 or 403 for a moment must not lose them; what the collector refuses is not sent for ever."""
    study, page = manifest(), b"<html>Not here.</html>"
    bodies = sealed_by_devices(study, 3)
    kept = [Reply(status, b"{}") for status in (408, 425, 429, 502, 503, 507)]
    kept += [Reply(status, page) for status in (400, 401, 403, 404)] + [Reply(403, b'{"code":"not_open"}')]
    for place, reply in enumerate([*kept, *(Reply(status, b"{}") for status in (400, 401, 403, 409, 410, 413, 422))]):
        relay = relay_of(tmp_path / str(place), Collecting(study, said=reply))
        relay.manifest(study.hash[:16])
        for body in bodies:
            relay.mixer.take(study.hash[:16], study.prefix, body)
        dropped = 0 if reply in kept else 3
        assert relay.pass_on() == dropped, reply
        assert sum(relay.mixer.waiting().values()) == 3 - dropped


def test_a_shuffler_says_that_a_study_is_closed(tmp_path: Path) -> None:
    study = manifest()

    class Closing(Collecting):
        state = "open"

        def get(self, url: str) -> Reply:
            return super().get(url)._replace(study_state=self.state)

    collector = Closing(study)
    client = TestClient(relay_of(tmp_path, collector).application())
    for state, fields in (("open", 2), ("closed", 0)):
        collector.state = state
        assert client.get(f"/v1/studies/{study.hash[:16]}/manifest").headers["study-state"] == state
        page = client.get(f"/s/{study.hash[:16]}").text
        assert (page.count("<fieldset"), 'data-notice="closed" hidden' in page) == (fields, fields > 0)


# --- devices, shuffler and collector ------------------------------------------------------------------------------
class Bridge(HttpTransport):
    """Requests to an application in this process."""

    def __init__(self, application: object) -> None:
        super().__init__()
        self.client = TestClient(application, base_url="http://test")

    def get(self, url: str, query: str = "") -> Reply:
        found = self.client.get(url, params=query)
        return Reply(found.status_code, found.content)

    def post(self, url: str, body: bytes, kind: str) -> Reply:
        found = self.client.post(url, content=body, headers={"content-type": kind})
        return Reply(found.status_code, found.content)


@contextmanager
def sealed_study(tmp_path: Path, key: X25519PrivateKey, more: str = "", **limits: int) -> Iterator[tuple]:
    """A collector, its application, and the name and address of a sealed study."""
    collector = Collector(open_store(str(tmp_path / "store.sqlite")), **limits)
    collector.start()
    try:
        source = SOURCE + f'\n[collection]\nsealed_for = "{PUBLIC}"\nbatch = 5\n{more}'.encode()
        name = collector.create(source, 1000)
        yield collector, Bridge(Application(collector, [sealed_route(key)])), name, f"http://test/v1/studies/{name}"
    finally:
        collector.stop()


def test_made_up_seals_fail_alone(tmp_path: Path, key) -> None:
    """Anyone can seal a report without a token, of no arm, round or epoch: the others of its batch are counted."""
    with sealed_study(tmp_path, key, "invitations = true\n") as (collector, to_collector, name, url):
        study = collector.study(name).manifest
        with collector.store.transaction() as work:
            tokens = [bytes.fromhex(one) for one in invite(work, collector.study(name).number, study.hash, 3)]
        width = collector.study(name).arm_counts[0].width
        good = [
            Batch(study.prefix, 0, 1, 0, bytes([place]) * 16, bytes(width), token) for place, token in enumerate(tokens)
        ]
        bad = [
            replace(good[0], ids=b"x" * 16, tokens=b""),
            replace(good[0], ids=b"y" * 16, arm=9),
            replace(good[0], ids=b"z" * 16, round=5),
            replace(good[0], ids=b"w" * 16, epoch=1),
        ]
        made = [bad[0], good[0], bad[1], good[1], bad[2], bad[3], good[2]]
        body = b"".join(seal(study, one) for one in made)
        body += study.prefix + bytes(sealed_bytes(study) - 8)
        reply = to_collector.post(f"{url}/sealed", body, "application/octet-stream")
        codes = {0: "token_missing", 2: "invalid_batch", 4: "invalid_batch", 5: "epoch_in_future", 7: "invalid_payload"}
        assert json.loads(reply.body) == {
            "accepted": 3,
            "duplicates": 0,
            "failed": [{"index": index, "code": code} for index, code in codes.items()],
        }
        collector.set_state(name, "closed", by="test")
        said = json.loads(to_collector.post(f"{url}/sealed", body, "application/octet-stream").body)
        assert said["duplicates"] == 3 and {one["code"] for one in said["failed"]} == {
            "study_closed",
            "invalid_payload",
        }


def test_a_busy_collector_gets_the_batch_again_whatever_a_stranger_sealed(tmp_path: Path, key) -> None:
    with sealed_study(tmp_path, key, most_waiting=2) as (collector, to_collector, name, url):
        study = collector.study(name).manifest
        one = Batch(study.prefix, 0, 1, 0, bytes(16), bytes(collector.study(name).arm_counts[0].width))
        made = [replace(one, ids=bytes([place]) * 16, arm=9 if place == 0 else 0) for place in range(8)]
        body = b"".join(seal(study, one) for one in made)
        gate = threading.Event()
        held = threading.Thread(target=collector.writer.call, args=(gate.wait,))  # the writing thread is busy
        held.start()
        wait_for = threading.Timer(0.3, gate.set)
        wait_for.start()
        reply = to_collector.post(f"{url}/sealed", body, "application/octet-stream")
        held.join()
        assert reply.status == 429 and not settled(reply)


def test_reports_pass_from_devices_through_the_shuffler_to_the_collector(tmp_path: Path, key) -> None:
    """A device knows the shuffler only, the shuffler no report, and the collector no sender; each is counted once."""
    with sealed_study(tmp_path, key) as (collector, to_collector, name, url):
        relay = Relay(Mixer(str(tmp_path / "mixer")), "http://test", to_collector, least=5)
        to_shuffler = Bridge(relay.application())

        def answer(count: int) -> None:
            for _ in range(count):
                device = Participant(None, tick=Untimed(), transport=to_shuffler)
                study, address = device.fetch(url)
                assert device.answer(study, {"type": "owl"}, url=address).state == "accepted"

        answer(4)
        assert relay.pass_on() == 0 and collector.study(name).reports == 0
        answer(3)
        assert relay.pass_on() == 7 and collector.study(name).reports == 7
        assert relay.mixer.waiting() == {}
        # Plain reports of this study are refused, and so is what no device sealed.
        study = collector.study(name).manifest
        plain = Batch(study.prefix, 1, 1, 0, bytes(16), b"\0").to_cbor()
        assert to_collector.post(f"{url}/reports", plain, "application/cbor").status == 403
        junk = study.prefix + bytes(sealed_bytes(study) - 8)
        assert b"invalid_payload" in to_collector.post(f"{url}/sealed", junk, "application/octet-stream").body
        for body, status in ((bytes(sealed_bytes(study)), 409), (study.prefix + b"x", 400)):
            assert to_collector.post(f"{url}/sealed", body, "application/octet-stream").status == status
            assert to_shuffler.post(f"{url}/sealed", body, "application/octet-stream").status == status
        assert to_shuffler.get("http://test/v1/studies/0000000000000000/manifest").status == 503
        assert to_shuffler.get("http://test/healthz").status == 200
        assert collector.study(name).reports == 7
