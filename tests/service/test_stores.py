"""Stores: the schema and its upgrade, copies between the two kinds, the log of administrative acts."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import psycopg
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.exchange.wire import Batch
from sottovoce.service import audit_log, operations
from sottovoce.service.collector import Collector
from sottovoce.service.intake import combined
from sottovoce.service.invitations import add_token, find_token, revoke_token
from sottovoce.service.results import tally_rows
from sottovoce.service.running_study import stored_tallies
from sottovoce.service.stores import open_store, schema
from sottovoce.service.stores.base import ArmKey, Store, StoreError, first_bytes_of
from sottovoce.service.stores.sqlite import PATIENCE, SQLiteStore
from tests.service.conftest import emptied
from tests.service.studies import add, batch_of, collecting, everyone, grr, send


def _filled(store: Store) -> str:
    study = add(store, everyone(grr(), sv.mechanism("oue", sv.Integers(0, 699), epsilon=1)))
    with collecting(store) as collector:
        for batch in _batches(collector, study):
            send(collector, study, batch)
    return study


def _batches(collector: Collector, study: str) -> list[Batch]:
    manifest = collector.study(study).manifest
    ids = [number.to_bytes(16, "big") for number in range(200)]
    own = [one for one in ids if manifest.arm_of(one) == 0]
    others = [one for one in ids if manifest.arm_of(one) == 1]
    return [batch_of(manifest, 0, own, [b"\x01"] * len(own)), batch_of(manifest, 1, others, [bytes(88)] * len(others))]


def test_an_older_store_is_upgraded_and_keeps_what_it_has(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(Store.upgrade, "__defaults__", (1,))
        with open_store(place) as store, store.transaction() as work:
            assert store.version(work) == 1
            work.execute("INSERT INTO outcomes (study, code, count) VALUES (7, 'conflict', 3)")
            audit_log.record(work, "create", study="0")
    with open_store(place) as store, store.read() as work:
        assert store.version(work) == schema.VERSION
        assert work.outcomes(7) == {"conflict": 3} and len(list(audit_log.entries(work))) == 1
        assert work.execute("SELECT COUNT(*) FROM issued") == [(0,)]


def test_a_store_of_the_second_version_learns_how_its_ids_begin(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [bytes([number % 7]) + number.to_bytes(15, "big") for number in range(100)]
    with monkeypatch.context() as old:
        old.setattr(Store.upgrade, "__defaults__", (2,))
        with open_store(place) as store, store.transaction() as work:
            for number, name in ((1, "0123456789abcdef"), (2, "0123456789abcde0")):
                columns = "number, name, source, protocol, state, round, reports, checksum, closed_epoch"
                row = (number, name, b"", b"", "open", 1, 0, bytes(32), -1)
                work.execute(f"INSERT INTO studies ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            work.add_reports(1, 1, [(one, 0) for one in ids])
    with open_store(place) as store, store.read() as work:
        assert work.first_bytes(1)[:8].tolist() == [15, 15, 14, 14, 14, 14, 14, 0]
        assert work.first_bytes(1).sum() == 100 and not work.first_bytes(2).any()
        assert [row.epoch for row in work.studies()] == [0, 0]


def _version_4(place: str) -> None:
    """A store that the code of schema version 4 wrote, in the words of either database; its protocol has new names."""
    written = (Path(__file__).parent / "golden" / "store_version_4.sql").read_text()
    if not place.startswith("postgresql"):
        with closing(sqlite3.connect(place)) as connection:
            connection.executescript(written)
        return
    statements = re.findall(r"^(?:CREATE|INSERT).*?;$", written, re.MULTILINE | re.DOTALL)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA sottovoce")
        connection.execute("SET search_path TO sottovoce")
        connection.execute("CREATE TABLE meta AS SELECT 4::BIGINT AS version")
        for sql in statements:
            if sql.startswith("CREATE"):
                sql = sql.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA").replace(" WITHOUT ROWID", "")
            connection.execute(re.sub(r"X'([0-9A-F]*)'", r"decode('\1', 'hex')", sql).encode())


def test_a_store_of_the_fourth_version_gets_epochs_and_counts_on(place: str) -> None:
    _version_4(place)
    with open_store(place) as store:
        with store.read() as work:
            assert store.version(work) == schema.VERSION
            (row,) = work.studies()
            before = stored_tallies(work, row.number, Manifest.from_spec(work.manifests(row.number)[0]), 0)
            assert work.epochs(row.number, 1) == [0] and work.arm_counts(row.number, 1, 0) == {0: 15, 1: 15}
        assert [one.n for one in before] == [15, 15] and [one.epoch for one in before] == [0, 0]
        assert before[0].cells.tolist() == [0, 15, 0]
        assert np.flatnonzero(before[1].cells).tolist() == [0, 2, 299] and set(before[1].cells) == {0, 15}
        operations.verify(store)
        with collecting(store) as collector:
            manifest = collector.study(row.name).manifest
            ids = [number.to_bytes(16, "big") for number in range(60)]
            own = [one for one in ids if manifest.arm_of(one) == 0]
            sent = send(collector, row.name, batch_of(manifest, 0, own, [b"\x01"] * len(own)))
            assert (sent.accepted, sent.duplicates) == (len(own) - 15, 15) and sent.accepted > 0
        with store.read() as work:
            after = stored_tallies(work, row.number, manifest, 0)
        assert after[0].n == after[0].cells[1] == len(own) and after[1] == before[1]
        operations.verify(store)


def test_counts_of_different_epochs_are_stored_apart(store: Store, tmp_path: Path) -> None:
    study = _filled(store)
    with store.transaction() as work:
        (row,) = work.studies()
        manifest = Manifest.from_spec(work.manifests(row.number)[0])
        now = stored_tallies(work, row.number, manifest, 0)
        work.set_arm(ArmKey(row.number, 1, 3, 0), 2)
        work.set_blocks(ArmKey(row.number, 1, 3, 0), [(0, np.array([2, 0, 0], "<i8").tobytes())])
    with store.read() as work:
        later = stored_tallies(work, row.number, manifest, 3)
        assert stored_tallies(work, row.number, manifest, 0) == now and work.epochs(row.number, 1) == [0, 3]
        assert (later[0].n, later[0].cells.tolist(), later[0].epoch, later[1].n) == (2, [2, 0, 0], 3, 0)
        with pytest.raises(sv.MismatchError, match=r"different epochs \(0 and 3\)"):
            now[0] + later[0]
    (told,) = operations.status(store)["studies"]
    assert told["arms"][0]["reports"] == now[0].n + 2 and told["id"] == study
    with pytest.raises(StoreError, match="202 in the arms"):  # two reports without ids
        operations.verify(store)
    with store.transaction() as work:
        work.add_reports(row.number, 1, [(number.to_bytes(16, "big"), 0) for number in (999, 1000)])
        ids = [one for part in work.stored_ids(row.number) for one in part]
        work.count(row.number, 202, combined(bytes(32), ids))
        work.set_first_bytes(row.number, first_bytes_of(ids))
    operations.backup(store, tmp_path / "b.sqlite")
    with SQLiteStore(tmp_path / "b.sqlite") as copy, copy.read() as work:
        assert stored_tallies(work, row.number, manifest, 3) == later and stored_tallies(work, 1, manifest, 0) == now
    with collecting(store) as collector:  # counts of another epoch are not those of this round
        assert collector.study(study).arm_counts[0].tally() == now[0]


def test_reports_are_counted_in_the_current_epoch_of_the_study(store: Store) -> None:
    """The next batch after an epoch has begun, and a collector that starts anew, count there."""
    study = _filled(store)
    with store.read() as work:
        (row,) = work.studies()
        manifest = Manifest.from_spec(work.manifests(row.number)[0])
        first = stored_tallies(work, row.number, manifest, 0)
    ids = [number.to_bytes(16, "big") for number in range(200, 300)]
    own = [one for one in ids if manifest.arm_of(one) == 0]
    for sent in (own[:5], own[5:9]):
        with collecting(store) as collector:
            with store.transaction() as work:
                work.set_epoch(row.number, 7)
                row_now = work.study(row.number)
            collector.writer.call(lambda: collector.study(study).noted(row_now))  # noqa: B023  as the writer's look
            send(collector, study, batch_of(manifest, 0, sent, [b"\x01"] * len(sent)))
            assert collector.outcome(study).row.epoch == 7
            shown = collector.study(study).arm_counts[0].tally()
    with store.read() as work:
        later = stored_tallies(work, row.number, manifest, 7)
        assert stored_tallies(work, row.number, manifest, 0) == first and work.epochs(row.number, 1) == [0, 7]
        assert (later[0].n, later[0].epoch, later[1].n) == (9, 7, 0) and shown == later[0]
        assert work.study(row.number).reports == 209
        told = [(one.get("epoch"), one["arm"], one["reports"]) for one in tally_rows(work, work.study(row.number))]
        assert told == [(None, 0, first[0].n), (None, 1, first[1].n), (7, 0, 9), (7, 1, 0)]
    operations.verify(store)


def test_the_first_bytes_of_ids_are_counted_once_in_the_same_commit(store: Store) -> None:
    study = add(store, everyone(grr()))
    ids = [bytes([number]) * 16 for number in (1, 1, 2, 255)]
    with collecting(store) as collector:
        manifest = collector.study(study).manifest
        for own in (ids[:3], ids[2:]):
            send(collector, study, batch_of(manifest, 0, own, [b"\x01"] * len(own)))
        assert collector.study(study).first_bytes[[0, 1, 2, 255]].tolist() == [0, 1, 1, 1]
    with store.read() as work:
        (row,) = work.studies()
        assert (work.first_bytes(row.number) == collector.study(study).first_bytes).all()
        assert work.first_bytes(row.number).sum() == row.reports == 3
    operations.verify(store)
    with store.transaction() as work:
        work.set_first_bytes(row.number, work.first_bytes(row.number)[::-1].copy())
    with pytest.raises(StoreError, match="first bytes do not fit"):
        operations.verify(store)


def test_a_later_store_is_left_alone(place: str) -> None:
    with open_store(place) as store, store.transaction() as work:
        store.set_version(work, schema.VERSION + 1)
    with pytest.raises(StoreError, match="later version"):
        open_store(place)


def test_the_tables_are_those_of_the_schema(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.sqlite") as store, store.read() as work:
        found = {
            name: tuple(row[1] for row in work.execute(f"PRAGMA table_info({name})"))
            for (name,) in work.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
    assert found == schema.TABLES


def test_commits_are_durable(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.sqlite") as store:
        with store.transaction() as work:
            assert work.execute("PRAGMA synchronous") == [(2,)] and work.execute("PRAGMA journal_mode") == [("wal",)]
        assert (tmp_path / "s.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.xdist_group("postgresql")
def test_commits_of_the_database_are_durable(database: str) -> None:
    emptied(database)
    with open_store(database) as store, store.transaction() as work:
        assert work.execute("SHOW synchronous_commit") == [("on",)] and work.execute("SHOW fsync") == [("on",)]


def test_a_long_reader_does_not_hold_up_the_collector(tmp_path: Path) -> None:
    """Emptying the log needs that nobody reads an old state: it is left for later, at once."""
    path = tmp_path / "s.sqlite"
    with SQLiteStore(path) as store:
        log = tmp_path / "s.sqlite-wal"
        with store.transaction() as work:
            work.add_outcomes(1, [("conflict", 1)])
        with store.read() as reading:
            assert reading.outcomes(1) == {"conflict": 1}
            with store.transaction() as work:
                work.add_outcomes(1, [("conflict", 1)])
            began = time.monotonic()
            assert not store.tidy() and time.monotonic() - began < PATIENCE / 2 and log.stat().st_size
        assert store.tidy() and log.stat().st_size == 0
        with store.transaction() as work:
            assert work.execute("PRAGMA busy_timeout") == [(1000 * PATIENCE,)]
            assert work.outcomes(1) == {"conflict": 2}


def test_a_copy_holds_the_same_and_goes_on(store: Store, place: str, tmp_path: Path) -> None:
    study = _filled(store)
    before = operations.status(store)
    operations.backup(store, tmp_path / "b.sqlite")
    with SQLiteStore(tmp_path / "r.sqlite") as copy:
        operations.restore(tmp_path / "b.sqlite", copy)
        assert {**operations.status(copy), "store": 0} == {**before, "store": 0}
        with collecting(copy) as collector:
            again = [send(collector, study, batch) for batch in _batches(collector, study)]
            assert [(one.accepted, one.duplicates) for one in again] == [(0, len(one.batch)) for one in again]
        with pytest.raises(sv.SottovoceError, match="empty store"):
            operations.restore(tmp_path / "b.sqlite", copy)


def test_a_backup_is_of_one_moment_while_reports_are_counted(store: Store, tmp_path: Path) -> None:
    study = add(store, everyone(grr()))
    with collecting(store) as collector, ThreadPoolExecutor(1) as beside:
        manifest = collector.study(study).manifest
        ids = [number.to_bytes(16, "big") for number in range(200)]
        batches = [batch_of(manifest, 0, [one], [b"\x01"]) for one in ids]
        sent = beside.submit(lambda: [send(collector, study, one).accepted for one in batches])
        for number in range(3):  # each compares ids, numbers, arms and checksums of its copy
            operations.backup(store, tmp_path / f"{number}.sqlite")
        assert sum(sent.result(300)) == 200
    assert sorted(one.name for one in tmp_path.iterdir() if ".part" in one.name) == []


def test_of_two_backups_under_one_name_one_is_made(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.sqlite") as store, ThreadPoolExecutor(4) as many:
        _filled(store)
        made = [many.submit(operations.backup, store, tmp_path / "b.sqlite") for _ in range(4)]
        refused = [one.exception(60) for one in made]
    assert [str(one) for one in refused if one is not None] == ["This backup file exists already. Name a new file."] * 3
    with SQLiteStore(tmp_path / "b.sqlite", create=False) as copy:
        operations.verify(copy)
    assert {one.name for one in tmp_path.iterdir()} == {"s.sqlite", "s.sqlite.lock", "b.sqlite"}


def test_a_store_under_another_name_is_the_same_store(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "s.sqlite")
    with SQLiteStore(tmp_path / "s.sqlite") as store, SQLiteStore(tmp_path / "link.sqlite") as other:
        store.lock()
        with pytest.raises(sv.SottovoceError, match="Another collector"):
            other.lock()
        with pytest.raises(sv.SottovoceError, match="Another collector"):
            operations.restore(tmp_path / "b.sqlite", other)


@pytest.mark.slow
@pytest.mark.xdist_group("postgresql")
def test_both_kinds_agree(tmp_path: Path, database: str) -> None:
    emptied(database)
    with SQLiteStore(tmp_path / "s.sqlite") as first, open_store(database) as second:
        for store in (first, second):
            _filled(store)
        one, other = (operations.status(store)["studies"] for store in (first, second))
        assert one == other and one[0]["reports"] == 200
        operations.verify(second)


def test_what_does_not_agree_is_found(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.sqlite") as store:
        _filled(store)
        operations.verify(store)
        with store.transaction() as work:
            work.execute("DELETE FROM reports WHERE id = ?", ((5).to_bytes(16, "big"),))
        with pytest.raises(StoreError, match="is inconsistent: 199 ids, 200 reports, 200 in the arms"):
            operations.verify(store)


def test_the_log_of_acts_cannot_be_changed(store: Store) -> None:
    with store.transaction() as work:
        for number in range(3):
            audit_log.record(work, "create", study=str(number))
    with store.read() as work:
        assert [entry["study"] for entry in audit_log.entries(work)] == ["0", "1", "2"]
    for change in (
        "UPDATE acts SET entry = replace(entry, 'create', 'close') WHERE number = 2",
        "DELETE FROM acts WHERE number = 2",
    ):
        with store.transaction() as work:
            kept = work.execute("SELECT number, entry, hash FROM acts")
            work.execute(change)
        with pytest.raises(StoreError, match="was altered"), store.read() as work:
            list(audit_log.entries(work))
        with store.transaction() as work:
            work.execute("DELETE FROM acts")
            work.many("INSERT INTO acts (number, entry, hash) VALUES (?, ?, ?)", kept)


def test_tokens_come_and_go(store: Store) -> None:
    with store.transaction() as work:
        made = add_token(work, "anna", ["read", "invite"])
        found = find_token(work, made)
        assert found is not None and found.name == "anna" and found.scopes == {"read", "invite"}
        for name, scopes in (("anna", ["read"]), ("", ["read"]), ("x", ["all"]), ("x", [])):
            with pytest.raises(sv.ParameterError):
                add_token(work, name, scopes)
        revoke_token(work, "anna")
        assert find_token(work, made) is None
        with pytest.raises(sv.ParameterError):
            revoke_token(work, "anna")
        assert [one["act"] for one in audit_log.entries(work)] == ["token", "revoke"]


def test_invitations_are_for_their_owner_alone(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.sqlite") as store:
        add(store, everyone(grr()), Collection(invitations=True))
    target = tmp_path / "invitations.txt"
    before = os.umask(0o022)
    try:
        main(["invite", str(tmp_path / "s.sqlite"), "--count", "3", "-o", str(target)])
    finally:
        os.umask(before)
    assert target.stat().st_mode & 0o777 == 0o600 and len(target.read_text().split()) == 3


def test_files_that_are_not_stores(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look at " * 9)
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE answers (v)")
    connection.close()
    for name, said in (("text", "cannot be opened"), ("other", "not a store of sottovoce"), ("none", "no store")):
        with pytest.raises(StoreError, match=said):
            open_store(str(tmp_path / name), create=False)
