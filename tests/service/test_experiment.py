"""An experiment at the collector: arms that follow from ids, restarts, and the comparison in results and on pages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sottovoce.core.exchange.wire import Batch
from sottovoce.service.app import Application
from sottovoce.service.pages import view
from sottovoce.service.pages.crowd import crowd_text
from sottovoce.service.stores import open_store
from tests.service.studies import EPOCH, collecting, send, told

SOURCE = b"""[study]
name = "reminder"
owner = "A health office"
contact = "privacy@example.org"
purpose = "Which reminder helps."
unit = "person"
epsilon = "4"
participants = 400

[experiment.usual]

[experiment.new]
text = "Your pharmacy <vaccinates> without an appointment."

[questions.plans]
ask = "frequency"
text = "Do you plan it?"
categories = ["yes", "no"]
"""


ANSWERS = {"usual": "no", "new": "yes"}


def reports(manifest: Any, count: int, answers: Mapping[str, str]) -> dict[int, tuple[list[bytes], list[bytes]]]:
    """Ids and payloads by arm; everyone in an arm gives its answer."""
    by_arm: dict[int, tuple[list[bytes], list[bytes]]] = {}
    for _ in range(count):
        report_id = os.urandom(16)
        arm = manifest.arm_of(report_id)
        answer = answers[manifest.experiment_arm(arm).name]
        payload = manifest.stage.arms[arm].mechanism.randomize(answer, report_id=report_id)[16:]
        ids, payloads = by_arm.setdefault(arm, ([], []))
        ids.append(report_id)
        payloads.append(payload)
    return by_arm


def batches(manifest: Any, count: int, answers: Mapping[str, str] = ANSWERS, epoch: int = EPOCH) -> list[Batch]:
    return [
        Batch(manifest.prefix, epoch, manifest.number, arm, b"".join(ids), b"".join(payloads))
        for arm, (ids, payloads) in reports(manifest, count, answers).items()
    ]


def test_arms_stay_apart_over_a_restart_and_nobody_picks_one(tmp_path: Path) -> None:
    place = str(tmp_path / "store.sqlite")
    with open_store(place) as store, collecting(store) as collector:
        name = collector.create(SOURCE)
        manifest = collector.study(name).manifest
        few = batches(manifest, 4)
        for batch in few:
            send(collector, name, batch)
        assert "Not enough reports yet" in [one.finding.headline for one in view.cards(collector.outcome(name))]
        for batch in batches(manifest, 196):
            assert told(send(collector, name, batch))[3] is None
        first, second = batches(manifest, 20)
        swapped = Batch(first.manifest, first.epoch, first.round, second.arm, first.ids, first.payloads)
        assert send(collector, name, swapped).accepted == 0  # their ids belong to the other arm
        before = collector.outcome(name).to_dict()
    with open_store(place) as store, collecting(store) as collector:  # as after a crash: the store alone is left
        assert collector.study(name).manifest.hash == manifest.hash
        assert collector.outcome(name).to_dict()["rows"] == before["rows"]
        for batch in batches(manifest, 200):
            send(collector, name, batch)
        outcome = collector.outcome(name).to_dict()
        assert outcome["reports"] == 400
        rows = {(row["arm"], row["measure"], row["label"]): row for row in outcome["rows"]}
        assert rows["usual", "share", "yes"]["n"] + rows["new", "share", "yes"]["n"] == 400
        assert rows["usual", "share", "yes"]["high"] < 0.2 < 0.8 < rows["new", "share", "yes"]["low"]
        difference = rows["new less usual", "share difference", "yes"]
        assert difference["low"] > 0.8 and difference["p_value"] < 1e-6 and difference["n"] == 400
        (compared,) = outcome["comparisons"]
        assert (compared["arm"], compared["baseline"]) == ("new", "usual")
        assert "“yes” is more frequent in arm “new” than in arm “usual”" in compared["sentence"]
        with TestClient(Application(collector)) as client:
            page = client.get(f"/studies/{name}").text
            assert "more frequent in arm “new”" in page and "Decide when the study has ended" in page
            assert 'id="q-plans~new"' in page and "&lt;vaccinates&gt;" in page
            assert client.get(f"/studies/{name}/plans~new.svg").status_code == 200
            assert client.get(f"/studies/{name}/plans.svg").status_code == 404
            assert "What people read" in client.get(f"/studies/{name}/report").text
            crowd = client.get(f"/s/{name}/results").text
            assert "People who read: “Your pharmacy &lt;vaccinates&gt;" in crowd and "People who read no text" in crowd
            assert crowd.count("at most 1 of 1,000,000 studies ever") == 1  # the e-value, capped; after the last arm
            assert "höchstens 1 von 1.000.000 Studien" in crowd_text(name, collector.outcome(name), "de")
            form = client.get(f"/s/{name}").text
            assert 'data-arm="new" hidden' in form and 'data-arm="usual"' not in form
            assert "from the arm usual is seen with probability 80 %" in client.get(f"/plan/{name}").text
