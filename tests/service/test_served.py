"""The collector as a server: slow and idle senders, nothing about a sender anywhere, killed and begun again."""

from __future__ import annotations

import http.client
import io
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from sottovoce.cli import main
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import CBOR_TYPE
from sottovoce.service.app import Application
from sottovoce.service.http import reports, server
from sottovoce.service.http.streams import Streams
from sottovoce.service.stores.sqlite import SQLiteStore
from sottovoce.service.writer import utc_today
from tests.patience import PATIENCE
from tests.service.studies import add, batch_of, collecting, drawn, everyone, grr

MARKS = ("planted-agent", "planted-forwarded", "planted-cookie", "planted-referer", "planted-query", "192.0.2.77")
A = bytes([1]) * 16
HOLD = """
import resource, socket, sys
port, count = map(int, sys.argv[1:])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
print(len(held), flush=True)
sys.stdin.read()
"""


@contextmanager
def served(store: SQLiteStore, log: Any = None) -> Iterator[tuple[int, Any, Any]]:
    """A server in a thread: its port, collector and application."""
    with collecting(store, log=log) as collector:
        app = Application(collector)
        running, listening = server.make_server(app, "127.0.0.1", 0)
        thread = Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1], collector, app
        finally:
            running.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.sqlite") as store:
        yield store


def _post(port: int, study: str, body: bytes, query: str = "", **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", f"/v1/studies/{study}/reports{query}", body, {"content-type": CBOR_TYPE, **headers})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def test_a_slow_sender_is_told_and_others_go_on(file_store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(server, "HEADER_SECONDS", 1.0)
    study = add(file_store, everyone(grr()))
    with served(file_store) as (port, collector, _):
        head = f"POST /v1/studies/{study}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {CBOR_TYPE}\r\n".encode()
        with socket.create_connection(("127.0.0.1", port)) as body, socket.create_connection(("127.0.0.1", port)) as no:
            body.sendall(head + b"content-length: 100\r\n\r\n\xa7")
            no.sendall(head)  # the head of this request never ends
            good = batch_of(collector.study(study).manifest, 0, [A], [b"\x00"]).to_cbor()
            assert _post(port, study, good)[1]["accepted"] == 1
            body.settimeout(PATIENCE)
            no.settimeout(PATIENCE)
            answer = body.recv(4096)
            assert answer.startswith(b"HTTP/1.1 408") and b"slow_sender" in answer
            assert no.recv(4096) == b""
        with socket.create_connection(("127.0.0.1", port)) as later:  # as slow with the second request
            later.settimeout(PATIENCE)
            later.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert later.recv(4096).startswith(b"HTTP/1.1 200")
            later.sendall(head)
            while later.recv(4096):
                pass


LONG = 64 << 20  # bytes: more than all buffers between the two ends


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\n", b"a: b\r\n" * 10_000),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\na: ", b"a" * 65_536),
        (b"GET /", b"a" * 65_536),
        (b"POST /healthz HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 10_000),
        (b"POST /healthz HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: ", b"a" * 65_536),
    ],
    ids=["headers", "one header", "address", "trailers", "one trailer"],
)
def test_a_request_without_an_end_is_closed(file_store: SQLiteStore, begin: bytes, more: bytes) -> None:
    """Sixty megabytes of headers took 600 MB of memory, or half a minute of processor time."""
    with (
        served(file_store) as (port, _, _),
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sender,
        pytest.raises(ConnectionError),
    ):
        sender.sendall(begin + more * (LONG // len(more)))


def test_the_head_of_a_request_has_a_bound(file_store: SQLiteStore) -> None:
    with served(file_store) as (port, _, _):
        for size, status in ((60_000, 200), (70_000, 400), (200_000, 400)):
            for head in (f"/healthz?{'a' * size} HTTP/1.1\r\n", f"/healthz HTTP/1.1\r\na: {'a' * size}\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sender:
                    sender.sendall(f"GET {head}host: x\r\n\r\n".encode())
                    answer = _received(sender)
                    assert answer.startswith(f"HTTP/1.1 {status}".encode()) or (answer == b"" and status == 400)
        # Requests one after the other on a connection, with bodies, are counted each by itself.
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        for _ in range(5):
            connection.request("POST", "/v1/studies/none/reports", bytes(200_000), {"a": "a" * 30_000})
            answer = connection.getresponse()
            assert answer.status == 404 and answer.read()
        connection.close()


def _received(sender: socket.socket) -> bytes:
    try:
        return sender.recv(4096)
    except ConnectionError:
        return b""


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_idle_connections_keep_nobody_out(file_store: SQLiteStore, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are held by another process, since each end needs a file."""
    server.allow_many_files()
    if count + 200 > resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
        pytest.skip("This system allows too few open files.")
    monkeypatch.setattr(server, "HEADER_SECONDS", 600.0)  # the first must not be closed before the last is there
    opened: set[object] = set()
    made = server.PatientProtocol.connection_made

    def counted(protocol: Any, transport: Any) -> None:
        opened.add(protocol)
        made(protocol, transport)

    monkeypatch.setattr(server.PatientProtocol, "connection_made", counted)
    study = add(file_store, everyone(grr()))
    with served(file_store) as (port, collector, _):
        command = [sys.executable, "-c", HOLD, str(port), str(count)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None and holder.stdin is not None
            assert holder.stdout.readline() == f"{count}\n"
            good = batch_of(collector.study(study).manifest, 0, [A], [b"\x00"]).to_cbor()
            assert _post(port, study, good)[1]["accepted"] == 1
            assert len(opened) == count + 1
            assert sum(not one.transport.is_closing() for one in opened) >= count
            holder.stdin.close()


def test_nothing_about_a_sender_is_kept(file_store: SQLiteStore, tmp_path: Path, capfd: Any) -> None:
    study = add(file_store, everyone(grr()))
    log = io.StringIO()
    sent = {
        "user-agent": MARKS[0],
        "x-forwarded-for": f"{MARKS[5]}, {MARKS[1]}",
        "cookie": f"a={MARKS[2]}",
        "referer": f"https://{MARKS[3]}.example/",
    }
    with served(file_store, log) as (port, collector, app):
        manifest = collector.study(study).manifest
        first, second = (batch_of(manifest, 0, [A], [payload]).to_cbor() for payload in (b"\x00", b"\x01"))
        for body in (first, first, second, b"planted-query"):
            _post(port, study, body, f"?{MARKS[4]}", **sent)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/metrics", headers=sent)
        metrics = connection.getresponse().read().decode()
        # A bug is logged by its kind.
        app.collector.outcome = None
        connection.request("GET", f"/v1/studies/{study}/estimates?{MARKS[4]}", headers=sent)
        assert connection.getresponse().status == 500
    out = capfd.readouterr()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert "conflict" in log.getvalue() and "TypeError" in log.getvalue()
    for mark in (*MARKS, "127.0.0.1", A.hex(), str(port)):
        assert mark not in log.getvalue() + out.out + out.err, mark
        assert mark not in metrics, mark
        if mark != str(port):
            assert mark.encode() not in stored, mark
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        columns = [row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'table'")]
    assert not any(word in column for column in columns for word in ("time", "date", "address", "agent"))


@pytest.mark.slow
def test_events_come_when_reports_were_counted(file_store: SQLiteStore) -> None:
    study = add(file_store, everyone(grr()))
    with served(file_store) as (port, collector, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", f"/v1/studies/{study}/estimates/stream")
        answer = connection.getresponse()
        assert answer.getheader("content-type", "").startswith("text/event-stream")
        found = []
        for turn in (1, 2):
            assert answer.fp.readline().strip() or True  # the size of the chunk
            line = b""
            while not line.startswith(b"data: "):
                line = answer.fp.readline()
            found.append(json.loads(line[6:])["reports"])
            for batch in drawn(collector.study(study).manifest, ["lark"] * 200, turn):
                _post(port, study, batch.to_cbor())
        connection.close()
    assert found == [0, 200]


def test_one_sender_does_not_hold_all_event_streams(file_store: SQLiteStore) -> None:
    study = add(file_store, everyone(grr()))
    with served(file_store) as (port, _, app):
        app._rest.state.streams = Streams(most=2)
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) for _ in range(3)]
        answers = []
        for connection in connections:
            connection.request("GET", f"/v1/studies/{study}/estimates/stream")
            answers.append(connection.getresponse())
            assert answers[-1].status == 200 and answers[-1].readline() == b"event: estimates\n"
        assert b"data: " in answers[0].read()  # to its end
        assert answers[2].readline().startswith(b"data: ")
        for connection in connections:
            connection.close()


STUDY = """
[study]
name = "classroom"
owner = "A lecturer"
contact = "privacy@example.org"
purpose = "To learn who copied."
unit = "person"
epsilon = "1"

[questions.copied]
ask = "frequency"
text = "Did you copy?"
categories = ["yes", "no"]
"""


def _start(folder: Path) -> tuple[subprocess.Popen[str], dict[str, str]]:
    command = [sys.executable, "-m", "sottovoce", "serve", "study.toml", "--participants", "1000", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--store", "s.sqlite"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.communicate()[1])
    return process, json.loads(line)


@pytest.mark.slow
def test_killed_under_load_and_begun_again(tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill -9`, then the same study goes on: what was acknowledged is there, once."""
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    acknowledged, manifest, ids = 0, None, iter(range(10_000))
    for _ in range(2):
        process, about = _start(tmp_path)
        port = int(about["url"].split(":")[2].partition("/")[0])
        if manifest is None:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", f"/v1/studies/{about['id']}/manifest")
            manifest = Manifest.from_spec(connection.getresponse().read())
        for number, place in enumerate(ids):
            if number == 40:
                os.kill(process.pid, signal.SIGKILL)
            try:
                report = place.to_bytes(16, "big")
                epoch = manifest.facts.collection.epoch(utc_today())
                body = batch_of(manifest, 0, [report], [b"\x00"], epoch=epoch).to_cbor()
                acknowledged += _post(port, about["id"], body)[1]["accepted"]
            except (OSError, http.client.HTTPException):
                break
        process.wait(PATIENCE)
        process.stdout.close()  # type: ignore[union-attr]
        process.stderr.close()  # type: ignore[union-attr]

    def call(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        shown = capfd.readouterr()
        return code, shown.out + shown.err

    capfd.readouterr()
    code, shown = call("status", "s.sqlite", "--check", "--json")
    found = json.loads(shown)
    # A report whose answer was lost by the kill may be stored: at most one for each.
    assert code == 0 and found["verified"] and 0 <= found["studies"][0]["reports"] - acknowledged <= 2
    assert acknowledged >= 70
    _operations(tmp_path, call, found["studies"][0])


def _operations(folder: Path, call: Callable[..., tuple[int, str]], before: dict[str, Any]) -> None:
    """Status, backup, restore, export and close of the same store."""
    assert "classroom" in call("status", "s.sqlite")[1]
    assert call("backup", "s.sqlite", "-o", "b.sqlite")[0] == 0
    assert call("backup", "s.sqlite", "-o", "b.sqlite") == (
        2,
        "sottovoce: This backup file exists already. Name a new file.\n",
    )
    assert call("restore", "b.sqlite", "--store", "r.sqlite")[0] == 0
    assert "has studies already" in call("restore", "b.sqlite", "--store", "r.sqlite")[1]
    code, shown = call("status", "r.sqlite", "--check", "--json")
    assert code == 0 and json.loads(shown)["studies"][0] == before
    assert call("export", "r.sqlite", "-o", "export")[0] == 0
    assert (folder / "export" / "estimates.csv").exists()
    code, shown = call("close", "r.sqlite", "--json")
    assert code == 0 and json.loads(shown)["state"] == "closed" and len(json.loads(shown)["rows"]) == 2
    assert json.loads(call("status", "r.sqlite", "--json")[1])["studies"][0]["state"] == "closed"
    code, token = call("token", "r.sqlite", "--name", "admin", "--scope", "read")
    assert code == 0 and len(token.strip()) == 64
    assert "needs no invitations" in call("invite", "r.sqlite", "--count", "3", "-o", "i.txt")[1]
