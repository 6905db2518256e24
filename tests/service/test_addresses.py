"""Addresses that a collector prints and puts into QR codes lead to its pages, also behind a proxy."""

from __future__ import annotations

import io
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import segno
from starlette.testclient import TestClient

from sottovoce.cli import main
from sottovoce.cli.collector import serve as command
from sottovoce.core.errors import ParameterError
from sottovoce.service.app import Application
from sottovoce.service.http import addresses
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.server import bound_socket, make_server
from sottovoce.service.stores.sqlite import SQLiteStore
from tests.patience import PATIENCE
from tests.service.studies import add, collecting, everyone, grr

STUDY = """\
[study]
name = "short"
owner = "Institute"
contact = "privacy@example.org"
purpose = "A test."
unit = "person"
epsilon = "1"

[questions.smoker]
ask = "frequency"
text = "Do you smoke?"
categories = ["yes", "no"]
"""
PUBLIC = "https://collect.example.org"
FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-host": "collect.example.org", "host": "127.0.0.1:8000"}


def code_of(address: str) -> bytes:
    """The QR code of an address."""
    file = io.BytesIO()
    segno.make(address, error="m").save(file, kind="svg", scale=4, border=2, xmldecl=False)
    return file.getvalue()


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Any]:
    """The address in the QR code for a request with some headers."""
    with SQLiteStore(tmp_path / "store.sqlite") as store:
        study = add(store, everyone(grr()))
        with collecting(store) as collector:

            def of(found: Addresses, expected: str, **headers: str) -> bool:
                client = TestClient(Application(collector, (), found), base_url="http://127.0.0.1:8000")
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                reply = client.get(f"/studies/{study}/qr.svg", headers=named)
                return reply.status_code == 200 and reply.content == code_of(f"{expected}/s/{study}")

            yield of


def test_a_qr_code_has_the_public_address(shown):
    assert shown(Addresses(), "http://127.0.0.1:8000")
    assert shown(Addresses(), "http://collect.example.org", host="collect.example.org")
    for headers in ({}, FORWARDED, {"host": "evil.example"}):
        assert shown(Addresses(PUBLIC), PUBLIC, **headers)


def test_forwarded_headers_are_read_only_from_a_proxy_that_is_trusted(shown):
    named = {name.replace("-", "_"): value for name, value in FORWARDED.items()}
    assert shown(Addresses(), "http://127.0.0.1:8000", **named)
    assert shown(Addresses(trusts_proxy=True), PUBLIC, **named)
    assert shown(Addresses(trusts_proxy=True), "http://127.0.0.1:8000")
    for wrong in ("a.org, b.org", "a.org/x", "a.org@evil", '"><script>', "a b", "x" * 300, ""):
        assert shown(Addresses(trusts_proxy=True), "https://127.0.0.1:8000", **{**named, "x_forwarded_host": wrong})
    assert shown(Addresses(trusts_proxy=True), "http://collect.example.org", **{**named, "x_forwarded_proto": "ftp"})
    assert shown(Addresses(), "http://localhost", host="a/b")


@pytest.mark.parametrize(
    "wrong", ["collect.example.org", "ftp://a.org", "https://a.org/path", "https://", "https://a b"]
)
def test_public_addresses_that_are_refused(wrong, tmp_path, capsys):
    with pytest.raises(ParameterError, match="public address must be"):
        Addresses(wrong)
    for command_line in (["serve", str(tmp_path / "none.toml")], ["shuffle", "http://127.0.0.1:9"]):
        assert main([*command_line, "--public-url", wrong]) == 2
        assert "public address must be" in capsys.readouterr().err


def test_a_shuffler_prints_its_public_address(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    options = ["--file", str(tmp_path / "waiting.sqlite"), "--port", "0", "--public-url", PUBLIC]
    assert main(["shuffle", "http://127.0.0.1:9", *options]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": PUBLIC}


def test_printed_addresses_can_be_reached(monkeypatch):
    assert Addresses(PUBLIC + "/").printed("127.0.0.1", 8000) == PUBLIC
    assert Addresses().printed("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert Addresses().printed("::1", 80) == "http://[::1]:80"
    for host in ("0.0.0.0", "::"):
        found = re.fullmatch(r"http://(\[?)([0-9a-f.:]+?)\]?:80", Addresses().printed(host, 80))
        assert found is not None and found[2] not in ("0.0.0.0", "::")
        with bound_socket(host, 0) as listening:
            listening.listen()
            socket.create_connection((found[2], listening.getsockname()[1]), 5).close()

    def offline(*_: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setattr(addresses.socket, "socket", offline)
    assert Addresses().printed("0.0.0.0", 80) == "http://127.0.0.1:80"


@pytest.mark.slow
def test_every_printed_address_opens_a_page(tmp_path):
    file = tmp_path / "short.toml"
    file.write_text(STUDY)
    line = [sys.executable, "-m", "sottovoce", "serve", str(file), "--port", "0", "--store", str(tmp_path / "s.sqlite")]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            about = json.loads(process.stdout.readline())
            pages = {key: urlopen(about[key], timeout=PATIENCE) for key in ("url", "dashboard", "participants")}
            assert json.load(pages["url"])["id"] == about["id"]
            assert b"qr.svg" in pages["dashboard"].read()
            assert b"Do you smoke?" in pages["participants"].read()
        finally:
            process.send_signal(signal.SIGINT)


def test_a_port_in_use_is_noticed_before_a_study_is_planned(tmp_path, capsys, monkeypatch):
    file = tmp_path / "short.toml"
    file.write_text(STUDY)
    monkeypatch.setattr(command, "_create", lambda *_: pytest.fail("planned"))
    _, listening = make_server(None, "127.0.0.1", 0)
    with listening:
        port = str(listening.getsockname()[1])
        assert main(["serve", str(file), "--port", port, "--store", str(tmp_path / "s.sqlite")]) == 2
    assert "cannot listen there: Address already in use. Choose another --port." in capsys.readouterr().err
    assert not (tmp_path / "s.sqlite").exists()


def test_an_edited_study_file_is_said_to_be_a_second_study(tmp_path, capsys):
    with SQLiteStore(tmp_path / "store.sqlite") as store, collecting(store) as collector:
        command._create(collector, STUDY.encode(), 100)
        (first,) = collector.studies
        command._create(collector, STUDY.encode(), 100)
        assert "another open study" not in capsys.readouterr().err
        command._create(collector, STUDY.replace("A test.", "Another test.").encode(), 100)
        said = capsys.readouterr().err
        assert "another open study named short" in said and f"close STORE --study {first}" in said
        collector.set_state(first, "closed", by="operator")
        command._create(collector, STUDY.replace("A test.", "Another test.").encode(), 100)
        assert "another open study" not in capsys.readouterr().err
