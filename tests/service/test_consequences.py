"""Every row of the consequences label is true of the code that ships: one test for each claim."""

from __future__ import annotations

import io
import json
import math
import os
import re
import threading
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.round import Arm, Round
from sottovoce.service.app import Application
from sottovoce.service.http.server import make_server
from sottovoce.service.pages.participant import participant_text
from sottovoce.service.stores import open_store
from sottovoce.service.stores.schema import TABLES
from sottovoce.study.display.consequences import consequences
from sottovoce.study.words import LANGUAGES
from tests.patience import PATIENCE
from tests.service.studies import FACTS, TYPE, add, collecting, everyone, grr

ROWS = ["owner", "server", "thief", "court", "network", "network", "others", "holder"]
ANSWERS = ["lark", "owl", "neither"]


def manifest(mechanism: sv.Mechanism | None = None, epsilon: int = 1, **collection: object) -> Manifest:
    facts = replace(FACTS, epsilon=Decimal(epsilon), collection=Collection(**collection))  # type: ignore[arg-type]
    return Manifest(facts, (Asked("type", sv.Frequency(TYPE)),), Round((Arm("type", mechanism or grr()),)))


def label(study: Manifest, language: str = "en") -> dict[str, str]:
    """The label as text, by row; what can be learned and what not have a line each."""
    rows = consequences(study, language)
    return {
        row.key + {True: " secure", False: " plain", None: ""}[row.secure]: re.sub(
            r"<[^>]*>", "", f"{row.who}\n{row.can}\n{row.cannot}"
        )
        for row in rows
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_label_has_the_same_rows_in_every_language(language: str) -> None:
    rows = list(consequences(manifest(), language))
    assert [row.key for row in rows] == ROWS and all(row.who and row.can and row.cannot for row in rows)
    page = participant_text("study", manifest(), language)
    assert page.count("data-row=") == len(ROWS) and "style=" not in page


def test_the_owner_gets_guesses_wrong_as_often_as_stated() -> None:
    """The best guess between two answers from one report, over the exact law, for the worst pair of answers."""
    study = manifest()
    channel = study.stage.arms[0].mechanism.channel
    wrong = min(
        sum(min(channel.likelihood(report, one), channel.likelihood(report, other)) for report in range(3)) / 2
        for one in range(3)
        for other in range(3)
        if one != other
    )
    stated = int(re.findall(r"at least (\d+) times", label(study)["owner"])[0])
    assert stated == 26 and stated <= 100 * wrong  # 100 / (1 + e) = 26.9
    assert math.floor(100 / (1 + math.e**2)) == 11 and "at least 11 times" in label(manifest(epsilon=2))["owner"]
    assert "hides little" in label(manifest(epsilon=5))["owner"]


def test_the_owner_gets_no_name_and_knows_of_invitations() -> None:
    """The fields of a report are known, and none is of the person; a list of invitations says who took part."""
    names = {name for name, _ in manifest().fields_sent()}
    assert names == {"version", "manifest", "epoch", "round", "arm", "id", "payload"}
    assert {name for name, _ in manifest(invitations=True).fields_sent()} - names == {"token"}
    assert "which invitation" in label(manifest(invitations=True))["owner"]
    assert "invitation" not in label(manifest())["owner"]


def test_thieves_and_courts_find_no_address_no_browser_and_no_report(tmp_path: Path) -> None:
    """A report comes with an address and a browser in its headers: neither the store nor the log has them."""
    marks = [b"203.0.113.77", b"Telltale/9.9", b"tell-tale-referrer", b"tell-tale-cookie"]
    store, log = open_store(str(tmp_path / "store.sqlite")), io.StringIO()
    name = add(store, everyone(grr()))
    report_id = os.urandom(16)
    with collecting(store, days=[datetime.now(UTC).date()], log=log) as collector:
        server, listening = make_server(Application(collector), "127.0.0.1", 0)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        study = collector.study(name).manifest
        epoch = study.facts.collection.epoch(datetime.now(UTC).date())
        payload = study.stage.arms[0].mechanism.randomize("owl", report_id=report_id)[16:]
        body = Batch(study.prefix, epoch, study.number, 0, report_id, payload).to_cbor()
        site = f"http://127.0.0.1:{listening.getsockname()[1]}"
        headers = {
            "X-Forwarded-For": "203.0.113.77",
            "User-Agent": "Telltale/9.9",
            "Referer": "https://tell-tale-referrer/",
        }
        headers |= {"Cookie": "who=tell-tale-cookie", "Content-Type": "application/cbor"}
        sent = urllib.request.Request(f"{site}/v1/studies/{name}/reports", body, headers)
        with urllib.request.urlopen(sent, timeout=PATIENCE) as reply:
            assert json.load(reply)["accepted"] == 1
        public = [f"/studies/{name}", f"/v1/studies/{name}", f"/v1/studies/{name}/estimates", f"/studies/{name}/live"]
        shown = b""
        for path in public:
            with urllib.request.urlopen(site + path, timeout=PATIENCE) as reply:
                shown += reply.read()
        server.should_exit = True
        thread.join(PATIENCE)
    store.close()
    stored = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert report_id in stored, "the id is what is kept"
    for mark in [*marks, b"127.0.0.1"]:
        assert mark not in stored and mark.decode() not in log.getvalue()
    # Others and readers of the results see no report of anyone.
    assert report_id not in shown and report_id.hex().encode() not in shown
    # Of a report its id, its epoch and a digest are kept: no column is an address, a name or a time.
    assert TABLES["reports"] == ("study", "id", "epoch", "digest")
    columns = {column for table in TABLES.values() for column in table}
    assert not {one for one in columns if re.search("address|host|agent|time|date|person|user|peer", one)}
    assert "no addresses" in label(manifest())["thief"] and "does not store the address" in label(manifest())["server"]


def test_the_network_sees_the_scrambled_answer_only_where_nothing_encrypts_it() -> None:
    known = label(manifest())
    assert "not encrypted" in known["network plain"] and "What you sent" in known["network secure"]
    sealed = label(manifest(sealed_for="0a" * 32, batch=10))
    assert "What you sent" in sealed["network"] and "cannot open" in sealed["server"]
    # What is sent has one length, whatever was answered: encrypted, its size tells nothing.
    for mechanism in (grr(), sv.mechanism("oue", TYPE, epsilon=1), sv.mechanism("olh", TYPE, epsilon=1)):
        sizes = {len(mechanism.randomize(answer)) for answer in ANSWERS for _ in range(20)}
        assert sizes == {16 + codec.payload_bytes(mechanism.channel)}


def test_who_holds_the_phone_may_find_the_answer_where_it_keeps_a_trace() -> None:
    """`tests/web/test_participant.py` reads all that a browser keeps where no trace is promised."""
    kept = manifest(sv.mechanism("rappor", TYPE, epsilon=1), epsilon=20)
    assert "does not keep it" in label(manifest())["holder"]
    assert "your real answer" in label(kept)["holder"].lower() and "keeps a trace" in label(kept)["holder"]
