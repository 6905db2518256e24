"""Devices over real HTTP: addresses, manifests, answers of collectors, and what counts as sent."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.client import Untimed
from sottovoce.client.participant import Participant
from sottovoce.client.transport import HttpTransport, Interrupted, Unreached, fetch_manifest, parsed
from sottovoce.core.errors import CollectorError, ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.round import Arm, Round
from tests.client.collectors import ANSWERS, COUNTED, HOURS, served, sleep

MANIFEST = sleep()
STUDY = f"/v1/studies/{MANIFEST.study[:16]}"


def collector(**replies: tuple[int, dict[str, str], bytes]) -> Any:
    """A collector with one study; `post` is what it answers to reports, all of which are kept."""
    seen: list[tuple[str, dict[str, str], bytes]] = []

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method == "POST":
            seen.append((path, headers, body))
            return replies.get("post", (200, {}, COUNTED))
        if path == f"{STUDY}/manifest":
            return replies.get("manifest", (200, {}, MANIFEST.content))
        studies = [
            {"id": MANIFEST.study[:16], "name": "sleep", "state": "open", "round": 1},
            {"id": "0" * 16, "name": "old", "state": "done", "round": 3},
        ]
        return replies.get("studies", (200, {}, json.dumps(studies).encode()))

    return answer, seen


def test_a_device_answers_over_http_and_says_nothing_about_itself(tmp_path: Path) -> None:
    answer, seen = collector()
    with served(answer) as base:
        me = Participant(tmp_path / "device", tick=Untimed())
        for address in (base, f"{base}/", f"{base}{STUDY}", f"{base}{STUDY}/manifest"):
            manifest, url = me.fetch(address)
            assert manifest == MANIFEST and url == f"{base}{STUDY}"
        assert me.answer(manifest, ANSWERS, url=url).state == "accepted"
    ((path, headers, body),) = seen
    assert path == f"{STUDY}/reports" and len(Batch.from_cbor(body)) == 1
    assert set(headers) == {"Host", "Accept-Encoding", "Content-Length", "Content-Type", "Accept"}


def test_a_query_to_an_address_without_a_path_is_one_of_its_root() -> None:
    asked: list[str] = []

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 200, {}, b""

    with served(answer) as base:
        assert HttpTransport().get(base, "id=1").status == 200
        assert HttpTransport().get(base).status == 200
    assert asked == ["/?id=1", "/"]


@pytest.mark.parametrize("state", ["closed", "done"])
def test_a_closed_study_is_not_answered_and_what_waits_is_taken_back(tmp_path: Path, state: str) -> None:
    answer, seen = collector(manifest=(200, {"Study-State": state}, MANIFEST.content))
    with served(answer) as base:
        me = Participant(tmp_path / "device", tick=Untimed())
        with pytest.raises(CollectorError, match="This study is closed: it takes no more answers"):
            me.fetch(f"{base}{STUDY}")
        assert me.answer(MANIFEST, ANSWERS, url=f"{base}{STUDY}", send=False).state == "queued"
        assert me.account().total > 0
        assert [one.state for one in me.send()] == ["study_closed"]
        assert me.account().total == 0 and me.reports() == []
    assert seen == []


def test_one_connection_is_kept_where_it_is_wanted() -> None:
    answer, seen = collector()
    with served(answer) as base:
        transport = HttpTransport(keep=True)
        for _ in range(3):
            me = Participant(None, tick=Untimed(), transport=transport)
            assert me.answer(MANIFEST, ANSWERS, url=f"{base}{STUDY}").state == "accepted"
        assert len(transport._kept or {}) == 1
        transport.close()
    assert len(seen) == 3


def test_what_was_not_sent_and_what_may_have_been(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"  # bound but not listening: nobody else can take it
        with pytest.raises(Unreached):
            HttpTransport().post(f"{nobody}/x", b"", "text/plain")
    answer, seen = collector(post=(0, {}, b""))
    with served(answer) as base:
        with pytest.raises(Interrupted):
            HttpTransport().post(f"{base}/x", b"", "text/plain")
        me = Participant(tmp_path / "device", tick=Untimed())
        assert me.answer(MANIFEST, ANSWERS, url=f"{base}{STUDY}").state == "queued"
        assert me.send()[0].state == "queued"
    assert len({body for _, _, body in seen[1:]}) == 1 and [one.attempts for one in me.reports()] == [2]
    assert me.send()[0].state == "queued"  # nobody is there any more
    assert [one.attempts for one in me.reports()] == [2]


def broken_after(heads: bytes) -> tuple[str, threading.Thread]:
    """The address of a server that ends every connection within its answer."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with server:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(heads)

    thread = threading.Thread(target=answer)
    thread.start()
    return f"http://127.0.0.1:{server.getsockname()[1]}", thread


@pytest.mark.parametrize("body", [b"", MANIFEST.content[:100]])
def test_an_answer_that_breaks_off_is_no_answer(body: bytes) -> None:
    """A collector that is killed while it answers: nothing is read from the part that arrived."""
    base, thread = broken_after(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(MANIFEST.content) + body)
    with pytest.raises(Interrupted):
        fetch_manifest(f"{base}{STUDY}", HttpTransport())
    thread.join()


def test_a_collector_that_answers_nonsense_does_not_hold_up_other_studies(tmp_path: Path) -> None:
    replies = {"manifest": (200, {}, b"not JSON")}
    wrong, _ = collector(**replies)
    right, seen = collector()
    me = Participant(tmp_path / "device", tick=Untimed())
    with served(wrong) as bad, served(right) as good:
        me.answer(sleep(purpose="Another."), ANSWERS, url=f"{bad}{STUDY}", send=False)
        me.answer(MANIFEST, ANSWERS, url=f"{good}{STUDY}", send=False)
        assert sorted(one.state for one in me.send()) == ["accepted", "queued"]
    assert len(seen) == 1


def test_a_full_queue_says_when_to_come_back(tmp_path: Path) -> None:
    for text, seconds in (("3", 3.0), ("soon", 0.0), ("-1", 0.0)):
        answer, _ = collector(post=(429, {"Retry-After": text}, b"{}"))
        with served(answer) as base:
            me = Participant(None, tick=Untimed())
            found = me.answer(MANIFEST, ANSWERS, url=f"{base}{STUDY}")
            assert (found.state, found.retry_after) == ("queued", seconds)


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ({"manifest": (404, {}, b"")}, "gives no manifest of this study: status 404"),
        ({"manifest": (302, {"Location": "/elsewhere"}, b"")}, "status 302"),
        ({"manifest": (200, {}, sleep(purpose="Another.").content)}, "manifest of another study"),
        ({"manifest": (200, {}, b"<html>")}, "must be JSON"),
        ({"studies": (200, {}, b"[]")}, "has 0 open studies"),
        ({"studies": (200, {}, b"{}")}, "has 0 open studies"),
        ({"studies": (500, {}, b"")}, "has 0 open studies"),
        ({"studies": (200, {}, b'[{"id": "../x", "state": "open"}]')}, "has 0 open studies"),
    ],
)
def test_other_answers_than_the_study(replies: Any, said: str) -> None:
    answer, _ = collector(**replies)
    with served(answer) as base, pytest.raises((CollectorError, sv.SpecError), match=said):
        fetch_manifest(base, HttpTransport())


def test_later_rounds_belong_to_the_same_study() -> None:
    second = MANIFEST.next(MANIFEST.stage)
    answer, _ = collector(manifest=(200, {}, second.content))
    with served(answer) as base:
        assert fetch_manifest(base, HttpTransport())[0] == second


def test_addresses() -> None:
    for url in ("", "ftp://x", "http://", "http://x?y=1", "https://x#y", "http://x:port", "http://x y", "//x", "x\n"):
        with pytest.raises(ParameterError, match="begins with https"):
            parsed(url)
    assert parsed("https://x.org:8443/v1").port == 8443


# --- the commands -------------------------------------------------------------------------------------------------
def typed(monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(lines))


def test_the_command_answers_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = str(tmp_path / "device")
    answer, seen = collector()
    with served(answer) as base:
        limits = ["--limit", "1", "--lifetime-limit", "2"]
        (drawn,) = Participant(device, limit=1, lifetime_limit=2).asks(MANIFEST)  # the device keeps what it drew
        typed(monkeypatch, {"hours": "7.5\n", "smoker": "refused\n"}[drawn])
        assert main(["answer", base, "--device", device, *limits]) == 0
        assert main(["answer", base, "--device", device]) == 2
    out, err = capsys.readouterr()
    batch = Batch.from_cbor(seen[0][2])
    assert out == (
        f"accepted: question {MANIFEST.asked(batch.arm).name}, id {batch.ids.hex()}, payload {batch.payloads.hex()}\n"
    )
    assert [text in err for text in ("How long?", "Do you smoke?")] == [drawn == "hours", drawn == "smoker"]
    assert MANIFEST.asked(batch.arm).name == drawn and "lost epsilon 1 so far" in err
    assert err.endswith("already; a second answer would spend its budget again.\n")
    assert main(["device", device, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in found["reports"]] == ["accepted"] and 0.99 < float(found["lost"]) <= 1
    assert main(["device", device]) == 0
    assert f"payload {batch.payloads.hex()}\nLost to Institute: epsilon 1." in capsys.readouterr().out


def test_the_command_queues_sends_and_withdraws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "manifest.json"
    question = sv.Asked("hours", HOURS)
    one = Manifest(MANIFEST.facts, (question,), Round((MANIFEST.stage.arms[0],)))
    file.write_bytes(one.content)

    def states() -> list[str]:
        capsys.readouterr()
        assert main(["device", device, "--json"]) == 0
        return [row["state"] for row in json.loads(capsys.readouterr().out)["reports"]]

    device = str(tmp_path / "offline")
    assert main(["answer", str(file), "--value", "7", "--device", device]) == 0
    assert capsys.readouterr().out.startswith("queued: question hours, id ")
    assert states() == ["queued"]
    assert main(["device", device, "--withdraw"]) == 0 and states() == []
    refusing, _ = collector(post=(409, {}, b"{}"))
    with served(refusing) as base:
        assert main(["answer", str(file), "--value", "7", "--device", device, "--url", f"{base}{STUDY}"]) == 2
    assert "did not count the report" in capsys.readouterr().err
    assert main(["device", device, "--send"]) == 0 and states() == ["outdated_manifest"]
    for arguments in (["--value", "7"], ["--device", device, "--value", "7", "--limit", "0.1"]):
        assert main(["answer", str(file), *arguments]) == 2


def test_the_command_reads_pairs_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = sv.Asked("bmi", sv.GroupMean(sv.Categories(["f", "m"]), sv.Interval(10, 60)), missing=("refused",))
    mechanism = next(sv.mechanism(name, means.full_question.domain, epsilon=1) for name in sv.names(sv.GroupMean))
    one = Manifest(MANIFEST.facts, (means,), Round((Arm("bmi", mechanism),)))
    file = tmp_path / "manifest.json"
    file.write_bytes(one.content)
    for number, (value, code) in enumerate((("f, 22.5", 0), ("refused", 0), ("f", 2), ("x, 22.5", 2), ("[1", 2))):
        assert main(["answer", str(file), "--value", value, "--device", str(tmp_path / f"{number}")]) == code
