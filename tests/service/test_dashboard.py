"""The dashboard without a browser: many questions, compared groups, and what is not sent twice."""

from __future__ import annotations

import csv
import io
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sottovoce.core.exchange.wire import Batch
from sottovoce.service.app import Application
from sottovoce.service.collector import Collector
from sottovoce.service.logs import make_log
from sottovoce.service.stores import open_store
from tests.service.studies import send

pytestmark = pytest.mark.slow
QUESTIONS = 50
HEAD = """
[study]
name = "many"
owner = "A test"
contact = "test@example.org"
purpose = "To ask a lot."
unit = "person"
epsilon = "4"
"""
SHARES = '[questions.q{place}]\nask = "frequency"\ncategories = ["yes", "no"]\ntext = "Question {place}?"\n'
GROUPS = """
[questions.q0]
ask = "group-mean"
by = ["north", "south"]
low = 0
high = 10
whole = true
share = 49
text = "How many?"
"""


def report(manifest: Any) -> Batch:
    """Of a participant who says no, or lives in the south and has nine."""
    while True:
        report_id = os.urandom(16)
        arm = manifest.arm_of(report_id)
        asked, mechanism = manifest.asked(arm), manifest.stage.arms[arm].mechanism
        if mechanism.takes_id(report_id):
            break
    lives = ("north", 1) if report_id[0] % 2 else ("south", 9)
    payload = mechanism.randomize(asked.answer(lives if asked.name == "q0" else "no"), report_id=report_id)[16:]
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    return Batch(manifest.prefix, epoch, manifest.number, arm, report_id, payload)


def test_fifty_questions_and_their_groups(tmp_path: Path):
    source = HEAD + "\n".join([GROUPS, *(SHARES.format(place=place) for place in range(1, QUESTIONS))])
    collector = Collector(
        open_store(str(tmp_path / "store.sqlite")), log=make_log(), today=lambda: datetime.now(UTC).date()
    )
    collector.start()
    try:
        name = collector.create(source.encode(), 5000)
        manifest = collector.study(name).manifest
        for _ in range(2000):
            send(collector, name, report(manifest))
        with TestClient(Application(collector)) as client:
            page = client.get(f"/studies/{name}").text
            assert page.count('<section class="card question') == QUESTIONS
            assert QUESTIONS - 2 <= page.count("<tbody role=") <= QUESTIONS  # chance leaves one with few reports
            assert page.count("Planned: ±") == QUESTIONS and page.count('<li><a href="#q-') == QUESTIONS
            assert page.count("enumerated") + page.count("closed form") >= QUESTIONS  # certificates of every arm
            first = client.get(f"/studies/{name}/live")
            again = client.get(f"/studies/{name}/live", headers={"if-none-match": first.headers["etag"]})
            assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
            send(collector, name, report(manifest))
            newer = client.get(f"/studies/{name}/live", headers={"if-none-match": first.headers["etag"]})
            assert newer.status_code == 200 and '<strong class="reports">2,001</strong>' in newer.text
            # The groups, on the page and as a file.
            assert newer.text.count(f'data-source="/studies/{name}/q0/pairs"') == newer.text.count("data-source") == 1
            pairs = client.get(f"/studies/{name}/q0/pairs").text
            assert "south above north: " in pairs and ">Clear<" in pairs
            assert "The 2 groups have the same mean" in pairs and "From 2,001 reports" in pairs
            assert client.get(f"/studies/{name}/q1/pairs").status_code == 404
            assert client.get(f"/studies/{name}/nothing/pairs").status_code == 404
            (row,) = csv.DictReader(io.StringIO(client.get(f"/studies/{name}/q0/pairs.csv").text))
            assert {row["group"], row["other"]} == {"north", "south"}
            found = next(one for one in collector.outcome(name).results.questions if one.asked.name == "q0")
            (estimate,) = found.estimates.values()
            assert float(row["difference"]) == estimate.all_pairs(0.95).values[0]
            assert client.get(f"/studies/{name}/q1/pairs.csv").status_code == 404
            assert client.get(f"/studies/{name}/nothing/pairs.csv").status_code == 404
    finally:
        collector.stop()
