"""Every report is counted once: duplicates, conflicts, lost answers, crashes, on both stores."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.service import audit_log, intake, writer
from sottovoce.service.app import Application
from sottovoce.service.invitations import invite, token_hash
from sottovoce.service.running_study import stored_tallies
from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import CLOSED, Store, StoreFullError
from tests import databases
from tests.patience import PATIENCE
from tests.service.studies import EPOCH, TODAY, add, batch_of, collecting, drawn, everyone, grr, send, told, wait

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))
YES, NO = b"\x00", b"\x01"


def cells(store: Store, number: int = 1) -> list[list[int]]:
    with store.read() as work:
        row = work.study(number)
        manifest = Manifest.from_spec(work.manifests(number)[row.round - 1])
        return [tally.cells.tolist() for tally in stored_tallies(work, number, manifest, 0)]


def test_a_report_is_counted_once(store: Store) -> None:
    name = add(store, everyone(grr()))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        first = batch_of(manifest, 0, [A, B], [YES, NO])
        assert told(send(collector, name, first)) == (2, 0, [], None)
        assert told(send(collector, name, first)) == (0, 2, [], None)
        assert told(send(collector, name, batch_of(manifest, 0, [A, C], [YES, YES]))) == (1, 1, [], None)
        assert cells(store) == [[2, 1, 0]]
        # The same id with other bytes: the first stays, the second is a conflict.
        assert told(send(collector, name, batch_of(manifest, 0, [C, A], [YES, NO]))) == (0, 1, [(1, "conflict")], None)
        assert cells(store) == [[2, 1, 0]]
    with store.read() as work:
        row = work.study(1)
        assert row.reports == 3 and work.outcomes(1) == {"conflict": 1}
        expected = bytes(32)
        for one in (A, B, C):
            expected = bytes(x ^ y for x, y in zip(expected, hashlib.sha256(one).digest(), strict=True))
        assert row.checksum == expected


def test_within_one_batch_and_one_commit(store: Store) -> None:
    name = add(store, everyone(grr()))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        one = batch_of(manifest, 0, [A, A, A, B], [YES, YES, NO, b"\x03"])
        assert told(send(collector, name, one)) == (1, 1, [(2, "conflict"), (3, "invalid_payload")], None)
        # All of these wait while the thread is busy, so that one commit takes them together.
        gate: Future[None] = Future()
        threading.Thread(target=lambda: collector.writer.call(gate.result)).start()
        waiting = [
            collector.submit(name, batch_of(manifest, 0, [C], [payload]), Future()) for payload in (NO, NO, YES, NO)
        ]
        waiting.append(collector.submit(name, batch_of(manifest, 0, [A], [NO]), Future()))
        waiting.append(collector.submit(name, batch_of(manifest, 0, [B], [NO]), Future()))
        gate.set_result(None)
        assert [told(wait(one))[:3] for one in waiting] == [
            (1, 0, []),
            (0, 1, []),
            (0, 0, [(0, "conflict")]),
            (0, 1, []),
            (0, 0, [(0, "conflict")]),
            (1, 0, []),  # an invalid report took no id
        ]
        assert cells(store) == [[1, 2, 0]]


def test_wrong_arms_rounds_widths_and_manifests(store: Store) -> None:
    name = add(store, everyone(grr(), sv.mechanism("oue", sv.Integers(0, 11), epsilon=1)))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        ids = [bytes([n]) * 16 for n in range(12)]
        own = [one for one in ids if manifest.arm_of(one) == 0]
        others = [one for one in ids if manifest.arm_of(one) == 1]
        assert own and others
        mixed = batch_of(manifest, 0, [own[0], others[0]], [YES, YES])
        assert told(send(collector, name, mixed)) == (1, 0, [(1, "wrong_arm")], None)
        for changes in ({"round": 2}, {"arm": 2}, {"arm": 1}, {"payloads": b"\x00\x00"}, {"tokens": bytes(16)}):
            changed = replace(batch_of(manifest, 0, [A], [YES]), **changes)
            assert send(collector, name, changed).problem == "invalid_batch", changes
        other = replace(batch_of(manifest, 0, [A], [YES]), manifest=bytes(8))
        assert send(collector, name, other).problem == "outdated_manifest"
        assert cells(store)[0] == [1, 0, 0]


def test_epochs_close_and_digests_go(store: Store) -> None:
    days = [TODAY]
    name = add(store, everyone(grr()))
    with collecting(store, days=days) as collector:
        manifest = collector.study(name).manifest
        for offset, code in ((-2, "epoch_too_old"), (-1, None), (0, None), (1, None), (2, "epoch_in_future")):
            one = batch_of(manifest, 0, [bytes([50 + offset]) * 16], [YES], epoch=EPOCH + offset)
            assert told(send(collector, name, one)) == ((1, 0, [], None) if code is None else (0, 0, [(0, code)], None))
        with store.read() as work:
            assert [row[0] for row in work.execute("SELECT epoch FROM reports")] == [EPOCH] * 3
        # A counted report that says an old epoch is still a duplicate, and its sender learns it.
        days.append(TODAY + timedelta(3))
        sent = batch_of(manifest, 0, [bytes([50]) * 16, A], [YES, YES])
        assert told(send(collector, name, sent)) == (0, 1, [(1, "epoch_too_old")], None)
        _until(lambda: collector.study(name).row.closed_epoch == EPOCH + 1)
        with store.read() as work:
            assert work.execute("SELECT DISTINCT epoch, digest FROM reports") == [(None, None)]
        # Without the digest a conflict cannot be noticed any more, but nothing is counted twice.
        again = batch_of(manifest, 0, [bytes([50]) * 16], [NO], epoch=EPOCH + 3)
        assert told(send(collector, name, again)) == (0, 1, [], None)
    assert cells(store) == [[3, 0, 0]]


def test_the_same_id_with_other_bytes_is_a_conflict_also_when_it_is_late(store: Store) -> None:
    """Of an old epoch, an old manifest, a closed study: the stored digest decides as long as there is one."""
    days, log = [TODAY], io.StringIO()
    name = add(store, everyone(grr()))
    with collecting(store, days=days, log=log) as collector:
        manifest = collector.study(name).manifest
        sent = batch_of(manifest, 0, [A, B], [YES, NO])
        assert send(collector, name, sent).accepted == 2
        other = replace(sent, payloads=NO + NO)
        late = (0, 1, [(0, "conflict")], None)
        for changes in ({"epoch": EPOCH - 5}, {"epoch": EPOCH + 5}):
            assert told(send(collector, name, replace(sent, **changes))) == (0, 2, [], None)
            assert told(send(collector, name, replace(other, **changes))) == late
        # The digest holds the manifest and the arm, so a batch that says another one has other bytes.
        assert told(send(collector, name, replace(sent, manifest=bytes(8))))[2] == [(0, "conflict"), (1, "conflict")]
        collector.set_state(name, CLOSED, by="test")
        assert told(send(collector, name, sent)) == (0, 2, [], None)
        assert told(send(collector, name, other)) == late
        assert log.getvalue().count('"conflict"') == 4
    with store.read() as work:
        assert work.outcomes(1) == {"conflict": 5}
    assert cells(store) == [[1, 1, 0]]


@pytest.mark.slow
@pytest.mark.xdist_group("postgresql")
def test_readiness_follows_the_database(require_tool: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sends a report meanwhile, as behind a load balancer that obeys the answer."""
    require_tool("initdb")
    monkeypatch.setattr(writer, "DOUBT", 0.5)
    log = io.StringIO()
    with databases.temporary_postgresql() as url, open_store(url) as store:
        name = add(store, everyone(grr()))
        with collecting(store, log=log) as collector, TestClient(Application(collector)) as client:

            def status() -> int:
                return int(client.get("/readyz").status_code)

            manifest = collector.study(name).manifest
            assert status() == 200
            databases.stop(url)
            _until(lambda: status() == 503)  # without a report
            databases.start(url)
            _until(lambda: status() == 200)
            databases.stop(url)
            assert send(collector, name, batch_of(manifest, 0, [A], [YES])).problem == "unavailable"
            assert status() == 503
            databases.start(url)
            _until(lambda: status() == 200)
            assert send(collector, name, batch_of(manifest, 0, [A], [YES])).accepted == 1
    states = [json.loads(line).get("state") for line in log.getvalue().splitlines()]
    assert [one for one in states if one] == ["unavailable", "well"] * 2


def test_a_look_at_the_store_does_not_hide_a_commit_that_failed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk can be read: it is doubted for some seconds, and then reports may try again."""
    name = add(store, everyone(grr()))
    with collecting(store) as collector:
        with monkeypatch.context() as full:
            full.setattr(intake, "_counted", _no_room)
            full.setattr(writer, "DOUBT", 1e6)
            assert send(collector, name, batch_of(collector.study(name).manifest, 0, [A], [YES])).problem == "disk_full"
        time.sleep(3 * writer.REST)
        assert not collector.writer.is_well
        collector.writer._doubted = 0.0
        _until(lambda: collector.writer.is_well)


def _no_room(*given: Any) -> Any:
    raise StoreFullError("No room.")


def _until(holds: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_invitation_is_good_for_one_report(store: Store) -> None:
    name = add(store, everyone(grr()), Collection(invitations=True))
    with store.transaction() as work:
        root = Manifest.from_spec(work.manifests(1)[0]).study
        x, y = (bytes.fromhex(one) for one in invite(work, 1, root, 2))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        assert send(collector, name, batch_of(manifest, 0, [A], [YES])).problem == "token_missing"
        good = batch_of(manifest, 0, [A, B, C], [YES, YES, NO], tokens=x + x + bytes(16))
        assert told(send(collector, name, good)) == (1, 0, [(1, "token_spent"), (2, "token_unknown")], None)
        # The same report with its spent invitation is a duplicate; another report is not counted.
        assert told(send(collector, name, batch_of(manifest, 0, [A], [YES], tokens=x))) == (0, 1, [], None)
        assert told(send(collector, name, batch_of(manifest, 0, [B], [YES], tokens=x)))[2] == [(0, "token_spent")]
        assert told(send(collector, name, batch_of(manifest, 0, [B], [YES], tokens=y))) == (1, 0, [], None)
    with store.read() as work:
        assert work.execute("SELECT COUNT(*) FROM invitations") == [(0,)]
        (spent,) = zip(*work.execute("SELECT hash FROM issued"), strict=True)
        assert len(spent) == 2 and not {bytes(one) for one in spent} & {x, y}
    assert cells(store) == [[2, 0, 0]]


def test_requests_at_once_with_one_invitation_are_one_report(store: Store) -> None:
    name = add(store, everyone(grr()), Collection(invitations=True))
    with store.transaction() as work:
        root = Manifest.from_spec(work.manifests(1)[0]).study
        tokens = [bytes.fromhex(one) for one in invite(work, 1, root, 20)]
    with collecting(store) as collector, ThreadPoolExecutor(8) as senders:
        manifest = collector.study(name).manifest

        def sent(number: int) -> int:
            mine = hashlib.sha256(bytes([number])).digest()[:16]
            return send(collector, name, batch_of(manifest, 0, [mine], [YES], tokens=tokens[number % 20])).accepted

        assert sum(senders.map(sent, range(80))) == 20
    assert cells(store) == [[20, 0, 0]]


def test_nothing_that_is_stored_joins_an_invitation_with_a_report(store: Store, place: str) -> None:
    """Each report is a commit of its own here: rows that it wrote in another table would be in the same order, and a
    database that numbers its transactions would give them the same number."""
    name = add(store, everyone(grr()), Collection(invitations=True))
    with store.transaction() as work:
        root = Manifest.from_spec(work.manifests(1)[0]).study
        tokens = [bytes.fromhex(one) for one in invite(work, 1, root, 12)]
    with store.read() as work:
        before = work.execute("SELECT hash FROM issued")
    reports = [hashlib.sha256(bytes([number])).digest()[:16] for number in range(len(tokens))]
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        for report, token in list(zip(reports, tokens, strict=True))[:-1]:
            assert send(collector, name, batch_of(manifest, 0, [report], [YES], tokens=token)).accepted == 1
    with store.read() as work:
        assert work.execute("SELECT hash FROM issued") == before
        assert work.execute("SELECT hash FROM invitations") == [(token_hash(tokens[-1], root),)]
        if store.kind == "sqlite":
            assert Path(f"{place}-wal").stat().st_size == 0  # the log of the commits, one after the other
        else:
            numbers = {table: work.execute(f"SELECT xmin::text FROM {table}") for table in ("issued", "reports")}
            assert len({*numbers["reports"]}) == len(tokens) - 1 and len({*numbers["issued"]}) == 1
            assert not {*numbers["issued"]} & {*numbers["reports"]}
            # Deleted rows, which keep the number of their transaction, are gone.
            pages = "SELECT relallvisible, relpages FROM pg_class WHERE oid = 'invitations'::regclass"
            assert work.execute(pages) == [(1, 1)]


def test_invitations_of_an_earlier_store_stay_used_or_unused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(Store.upgrade, "__defaults__", (2,))
        with open_store(place) as store, store.transaction() as work:
            for table, token in (("invitations", b"left"), ("spent", b"used")):
                work.execute(f"INSERT INTO {table} (study, hash) VALUES (?, ?)", (1, token))
    with open_store(place) as store, store.read() as work:
        assert work.chosen("issued", 1, [b"left", b"used", b"none"]) == {b"left", b"used"}
        assert work.chosen("invitations", 1, [b"left", b"used"]) == {b"left"}


def test_a_closed_study_takes_nothing_but_says_what_was_counted(store: Store) -> None:
    name = add(store, everyone(grr()))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        send(collector, name, batch_of(manifest, 0, [A], [YES]))
        collector.set_state(name, CLOSED, by="test")
        assert told(send(collector, name, batch_of(manifest, 0, [A], [YES]))) == (0, 1, [], None)
        assert send(collector, name, batch_of(manifest, 0, [B], [YES])).problem == "study_closed"
        both = send(collector, name, batch_of(manifest, 0, [A, B], [YES, YES]))
        assert told(both) == (0, 1, [(1, "round_closed")], None)
        assert collector.outcome(name).row.state == CLOSED
    with store.read() as work:
        assert [entry["act"] for entry in audit_log.entries(work)] == ["create", "close"]


def test_another_process_may_close_it(place: str) -> None:
    store, other = open_store(place), open_store(place)
    name = add(store, everyone(grr()))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        with other.transaction() as work:
            work.set_state(1, CLOSED)
        assert send(collector, name, batch_of(manifest, 0, [A], [YES])).problem == "study_closed"
        with pytest.raises(sv.SottovoceError, match="Another collector is using this store"):
            other.lock()
    store.close()
    other.close()


def test_before_the_first_and_after_the_last_day(store: Store) -> None:
    days = [TODAY]
    name = add(store, everyone(grr()), start="2027-03-02", end="2027-03-02")
    with collecting(store, days=days) as collector:
        manifest = collector.study(name).manifest
        batch = batch_of(manifest, 0, [A], [YES])
        assert send(collector, name, batch).problem == "not_open"
        days.append(TODAY + timedelta(1))
        assert told(send(collector, name, batch))[0] == 1
        days.append(TODAY + timedelta(2))
        assert told(send(collector, name, batch))[1] == 1
        assert send(collector, name, replace(batch, ids=B)).problem == "study_closed"


@pytest.mark.parametrize("verb", ["add_reports", "set_blocks", "set_arm", "count"])
def test_a_commit_that_breaks_off_stores_nothing(store: Store, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is not blamed for a bug: the collector stays ready, and the log has the kind of the error alone."""
    name, log = add(store, everyone(grr())), io.StringIO()
    with collecting(store, log=log) as collector:
        manifest = collector.study(name).manifest
        send(collector, name, batch_of(manifest, 0, [A], [YES]))
        with store.transaction() as work:
            kind = type(work)
        whole = getattr(kind, verb)

        def broken(self: Any, *given: Any) -> Any:
            whole(self, *given)
            raise RuntimeError("somebody's answer")

        monkeypatch.setattr(kind, verb, broken)
        batch = batch_of(manifest, 0, [B, C], [NO, NO])
        assert told(send(collector, name, batch)) == (0, 0, [], "internal_error")
        assert cells(store) == [[1, 0, 0]] and collector.writer.is_well
        assert "RuntimeError" in log.getvalue() and "somebody" not in log.getvalue()
        assert '"store"' not in log.getvalue()
        monkeypatch.undo()
        assert told(send(collector, name, batch)) == (2, 0, [], None)
        assert cells(store) == [[1, 2, 0]] and collector.writer.is_well


def test_a_full_queue_refuses_and_loses_nothing(store: Store) -> None:
    name = add(store, everyone(grr()))
    with collecting(store, most_waiting=3) as collector:
        manifest = collector.study(name).manifest
        gate: Future[None] = Future()
        threading.Thread(target=lambda: collector.writer.call(gate.result)).start()
        _until(lambda: not collector.writer._waiting)
        first = collector.submit(name, batch_of(manifest, 0, [A, B], [YES, YES]), Future())
        second = send(collector, name, batch_of(manifest, 0, [C, C], [YES, YES]))
        assert told(second) == (0, 0, [], "queue_full")
        gate.set_result(None)
        assert told(wait(first))[0] == 2
        assert told(send(collector, name, second.batch))[:2] == (1, 1)


def test_the_counts_are_those_of_the_mechanism(store: Store, seed: int) -> None:
    mechanisms = [
        grr(10),
        sv.mechanism("oue", sv.Integers(0, 699), epsilon=1),
        sv.mechanism("olh", sv.Integers(0, 99), epsilon=1),
        sv.mechanism("piecewise", sv.Interval(0, 2), epsilon=1),
    ]
    name = add(store, everyone(*mechanisms))
    with collecting(store) as collector:
        sent: dict[int, list[bytes]] = {}
        for batch in drawn(collector.study(name).manifest, np.zeros(300, int), seed):
            assert told(send(collector, name, batch))[0] == len(batch)
            sent.setdefault(batch.arm, []).extend(report + payload for report, payload in batch.reports())
        assert cells(store) == [one.tally(sent[arm]).cells.tolist() for arm, one in enumerate(mechanisms)]


def test_only_touched_blocks_are_written(store: Store) -> None:
    name = add(store, everyone(grr(100_000)))
    with collecting(store) as collector:
        manifest = collector.study(name).manifest
        send(collector, name, batch_of(manifest, 0, [A, B], [(99_999).to_bytes(3, "little"), bytes(3)]))
        with store.read() as work:
            assert [block for block, _ in sorted(work.blocks(1, 1, 0)[0])] == [0, 99_999 // 256]
        found = cells(store)[0]
        assert (found[0], found[99_999], sum(found)) == (1, 1, 2)


def test_the_checksum_of_many_is_the_xor_of_each() -> None:
    ids = [bytes([n]) * 16 for n in range(5)]
    whole = intake.combined(intake.combined(bytes(32), ids[:2]), ids[2:])
    each = [int.from_bytes(hashlib.sha256(one).digest(), "big") for one in ids]
    expected = 0
    for one in each:
        expected ^= one
    assert whole == expected.to_bytes(32, "big")
