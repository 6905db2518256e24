"""A collector with example studies, one for each state that a page can be in."""

from __future__ import annotations

import io
import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.service.app import Application
from sottovoce.service.collector import Collector
from sottovoce.service.http.server import make_server
from sottovoce.service.logs import make_log
from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import CLOSED

TODAY = date(2027, 6, 15)
PLANNED, ANSWERED = 3000, 2712
PAIN = """
[study]
name = "pain-2027"
title = { en = "Living with chronic pain", de = "Leben mit chronischen Schmerzen" }
owner = "University Clinic, Department of Pain Medicine"
contact = "data-protection@clinic.example"
analysts = "Two statisticians of the clinic"
start = 2026-11-01
end = 2027-06-30
unit = "person"
epsilon = "2"
languages = ["en", "de"]

[study.purpose]
en = "To learn what helps people with chronic pain, how they sleep, and which medicines they take."
de = "Wir wollen wissen, was bei chronischen Schmerzen hilft, wie Betroffene schlafen und was sie einnehmen."

[questions.helps]
ask = "frequency"
text = { en = "What helps you most against the pain?", de = "Was hilft Ihnen am meisten gegen die Schmerzen?" }
categories = ["Physiotherapy or exercise", "Medicine", "Warmth or cold", "Rest", "Something else"]
missing = ["Rather not say"]

[questions.helps.labels.de]
"Physiotherapy or exercise" = "Physiotherapie oder Bewegung"
Medicine = "Medikamente"
"Warmth or cold" = "Wärme oder Kälte"
Rest = "Ruhe"
"Something else" = "Etwas anderes"
"Rather not say" = "Möchte ich nicht sagen"

[questions.medicine]
ask = "frequency"
text = { en = "Which pain medicine do you take most often?", de = "Welches Schmerzmittel nehmen Sie am häufigsten?" }
categories = [MEDICINES]

[questions.sleep]
ask = "distribution"
text = { en = "How many hours did you sleep last night?", de = "Wie viele Stunden haben Sie letzte Nacht geschlafen?" }
low = 0
high = 14
buckets = 28
unit = { en = "hours", de = "Stunden" }

[questions.pain]
ask = "group-mean"
text = { en = "How strong is your pain right now?", de = "Wie stark sind Ihre Schmerzen gerade?" }
by = ["Under 40", "40 to 64", "65 and over"]
low = 0
high = 10
whole = true

[questions.pain.labels.de]
"Under 40" = "Unter 40"
"40 to 64" = "40 bis 64"
"65 and over" = "65 und älter"
"""
MEDICINES = (
    *("None", "Ibuprofen", "Paracetamol", "Metamizole", "Pregabalin", "Diclofenac", "Naproxen", "Aspirin", "Tramadol"),
    *("Tilidine", "Morphine", "Oxycodone", "Fentanyl", "Buprenorphine", "Gabapentin", "Duloxetine", "Amitriptyline"),
    *("Celecoxib", "Etoricoxib", "Meloxicam", "Ketoprofen", "Indometacin", "Codeine", "Tapentadol", "Methadone"),
    *("Carbamazepine", "Lidocaine", "Capsaicin", "Baclofen", "Tizanidine", "Triptans", "Another one"),
)
HELPS = {"Physiotherapy or exercise": 33, "Medicine": 25, "Warmth or cold": 19, "Rest": 12, "Something else": 9}
LEVELS = {"Under 40": 4, "40 to 64": 6, "65 and over": 5}
SMALL = """
[study]
name = "{name}"
title = "{title}"
owner = "{owner}"
contact = "privacy@example.org"
purpose = "{purpose}"
unit = "person"
epsilon = "{epsilon}"
start = {start}
end = {end}

[questions.often]
ask = "frequency"
text = "{text}"
categories = [{answers}]
"""


def pain_study() -> str:
    """The study file of the survey of patients."""
    return PAIN.replace("MEDICINES", ", ".join(f'"{one}"' for one in MEDICINES))


def patient(chance: random.Random) -> dict[str, Any]:
    """The answers of one simulated patient."""
    age = chance.choice(list(LEVELS))
    weights = [30, 34, 22, 16, 12] + [1] * (len(MEDICINES) - 5)
    helps = chance.choices([*HELPS, "Rather not say"], [*HELPS.values(), 2])[0]
    return {
        "helps": helps,
        "medicine": chance.choices(MEDICINES, weights)[0],
        "sleep": min(14.0, max(0.0, round(2 * chance.gauss(6.4, 1.5)) / 2)),
        "pain": (age, min(10, max(0, round(chance.gauss(LEVELS[age], 2))))),
    }


@dataclass
class Showcase:
    """Addresses of the example studies, by state."""

    collector: Any
    address: str
    studies: dict[str, str]


def report(manifest: Manifest, answers: dict[str, Any], day: date) -> Batch:
    """The report of a device that answers on a day."""
    epoch = manifest.facts.collection.epoch(day)
    while True:
        report_id = os.urandom(16)
        arm = manifest.arm_of(report_id)
        asked, mechanism = manifest.asked(arm), manifest.stage.arms[arm].mechanism
        if mechanism.takes_id(report_id):
            payload = mechanism.randomize(asked.answer(answers[asked.key]), report_id=report_id)[16:]
            return Batch(manifest.prefix, epoch, manifest.number, arm, report_id, payload)


def collect(collector: Any, name: str, answers: list[dict[str, Any]], days: list[date], today: list[date]) -> None:
    """Send the answers, in equal parts on each of the days."""
    manifest, waiting = collector.study(name).manifest, []
    chance = random.Random(len(answers))
    arrivals = sorted(days[min(len(days) - 1, int(len(days) * chance.random()))] for _ in answers)
    for day, one in zip(arrivals, answers, strict=True):
        if today[-1] != day:
            for sent in waiting:
                sent.future.result(60)
            waiting, today[-1] = [], day
        waiting.append(collector.submit(name, report(manifest, one, day), Future()))
    for sent in waiting:
        sent.future.result(60)


@contextmanager
def showcase(folder: Path, *, answered: int = ANSWERED) -> Iterator[Showcase]:
    """A collector that serves a study of each state: collecting, few reports, empty, planned and closed."""
    today, chance = [date(2026, 11, 1)], random.Random(7)
    collector: Any = Collector(
        open_store(str(folder / "store.sqlite")), log=make_log(io.StringIO()), today=lambda: today[-1]
    )
    collector.start()
    names = _create(collector)
    since = [date(2026, 11, 1) + timedelta(days=place) for place in range((TODAY - date(2026, 11, 1)).days + 1)]
    collect(collector, names["collecting"], [patient(chance) for _ in range(answered)], since, today)
    for state, count in (("few", 37), ("closed", 412)):
        often = [{"often": chance.choices(["yes", "no"], [2, 3])[0]} for _ in range(count)]
        collect(collector, names[state], often, [today[-1]], today)
    collector.set_state(names["closed"], CLOSED, by="example")
    today.append(TODAY)
    server, listening = make_server(Application(collector), "127.0.0.1", 0)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    try:
        yield Showcase(collector, f"http://127.0.0.1:{listening.getsockname()[1]}", names)
    finally:
        server.should_exit = True
        thread.join(20)
        collector.stop()


def _create(collector: Any) -> dict[str, str]:
    common = {"epsilon": "1", "start": "2026-11-01", "end": "2027-07-31", "answers": '"yes", "no"'}
    facts = {
        "few": {"name": "school-meals", "title": "School meals", "owner": "City of Aldersee, health office"},
        "closed": {"name": "pilot", "title": "Living with chronic pain, pilot", "owner": "University Clinic"},
        "empty": {"name": "commute", "title": "Commuting to campus", "owner": "Aldersee University"},
    }
    texts = {"few": "Do you eat at school?", "closed": "Do you sleep well?", "empty": "Do you come by bicycle?"}
    names = {"collecting": collector.create(pain_study().encode(), PLANNED)}
    for state, known in facts.items():
        source = SMALL.format(**common, **known, text=texts[state], purpose=f"To learn this: {texts[state]}")
        names[state] = collector.create(source.encode(), 400 if state == "closed" else 800)
    return names
