"""Pictures of the participant's page in every state: phone, desktop and dark, five seconds after it was opened.

`python -m scripts.shots.participant FOLDER [LOOKS [MILLISECONDS]]` writes them; `make screenshots` puts sheets of them
into the docs.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from sottovoce.service.app import Application
from sottovoce.service.collector import Collector
from sottovoce.service.http.server import make_server
from sottovoce.service.logs import make_log
from sottovoce.service.stores import open_store

CHROMIUM = "/usr/bin/chromium"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
LOOKS = {"phone": PHONE, "desktop": DESKTOP, "dark": {**PHONE, "color_scheme": "dark"}}
WAIT = 5000  # milliseconds: what changes by itself has changed
SHORT_WAIT = 500  # in the other looks
# The pictures of the documentation, by the picture they are taken from.
DOCS = {
    **{"welcome-phone": "participant", "choice-preview-phone": "preview", "sheet-phone": "participant-states"},
    **{"sheet-dark": "participant-states-dark", "sheet-desktop": "participant-states-desktop"},
}
IMAGE = "data:image/png;base64,"
HEAD = """
[study]
name = "{name}"
owner = "University Clinic, Department of Pain Medicine"
contact = "pain-study@example.org"
unit = "person"
epsilon = "2"
languages = ["en", "de"]
{more}

[study.title]
en = "Living with chronic pain"
de = "Leben mit chronischen Schmerzen"

[study.purpose]
en = "We want to know what helps our patients, how they sleep and what they take."
de = "Wir möchten wissen, was hilft, wie Sie schlafen und was Sie einnehmen."
"""
HELPS = """
[questions.helps]
ask = "frequency"
text = { en = "What helps you most against the pain?", de = "Was hilft Ihnen am meisten gegen den Schmerz?" }
categories = ["Medicine", "Physiotherapy or exercise", "Warmth or cold", "Rest", "Something else"]
missing = ["I would rather not say"]
labels.de = { "I would rather not say" = "Das möchte ich nicht sagen" }
"""
PAIN = """
[questions.pain]
ask = "mean"
text = { en = "How strong is your pain right now?", de = "Wie stark sind Ihre Schmerzen gerade?" }
low = 0
high = 10
whole = true
missing = ["I don't know"]
labels.en = { 0 = "no pain at all", 10 = "the worst pain I can imagine" }
"""
SLEEP = """
[questions.sleep]
ask = "mean"
text = { en = "How long did you sleep last night?", de = "Wie lange haben Sie letzte Nacht geschlafen?" }
low = 0
high = 14
step = "0.5"
unit = { en = "hours", de = "Stunden" }
missing = ["I don't know"]
"""
MEDICINES = """Amitriptyline Aspirin Baclofen Buprenorphine Cannabis Capsaicin Carbamazepine Celecoxib Codeine
Diclofenac Dronabinol Duloxetine Etoricoxib Fentanyl Gabapentin Hydromorphone Ibuprofen Ketamine Lidocaine Melatonin
Metamizole Methadone Mirtazapine Morphine Naproxen Oxycodone Paracetamol Pregabalin Tilidine Tramadol"""
TAKES = f"""
[questions.takes]
ask = "frequency"
text = {{ en = "Which pain medicine do you take most often?", de = "Welches Schmerzmittel nehmen Sie am häufigsten?" }}
categories = {json.dumps(MEDICINES.split())}
missing = ["I take no pain medicine", "Not in this list"]
"""
CUPS = """
[questions.cups]
ask = "group-mean"
text = { en = "How many cups of coffee did you drink yesterday?", de = "Wie viele Tassen Kaffee haben Sie getrunken?" }
by = ["under 30", "30 to 59", "60 and over"]
low = 0
high = 10
whole = true
unit = { en = "cups", de = "Tassen" }
"""
ALL = HELPS + PAIN + SLEEP + TAKES + CUPS
ANSWERS = {"helps": "Warmth or cold", "takes": "Ibuprofen", "pain": "6", "sleep": "6.5", "cups": "3"}


@contextmanager
def collector_at_work() -> Iterator[Any]:
    """A collector with an address; `add(name, questions)` gives the address of a participant page."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "store.sqlite"))
        collector: Any = Collector(store, log=make_log(), today=lambda: datetime.now(UTC).date())
        collector.start()
        server, listening = make_server(Application(collector), "127.0.0.1", 0)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def add(name: str, questions: str = ALL, more: str = "") -> str:
            study = collector.create((HEAD.format(name=name, more=more) + questions).encode(), 3000)
            return f"{address}/s/{study}"

        collector.add = add
        try:
            yield collector
        finally:
            server.should_exit = True
            thread.join(20)
            collector.stop()


def started(page: Any) -> None:
    """From the welcome to the first question."""
    page.locator("#consent").check()
    page.locator("#start").click()
    page.locator("fieldset:visible").wait_for()


def answer(page: Any) -> None:
    """Answer the screens of the question that the device drew, up to the preview."""
    while page.locator("fieldset:visible").count():
        screen = page.locator("fieldset:visible")
        value = ANSWERS.get(screen.get_attribute("data-question"), "")
        choice = screen.locator(f'input[type=radio][value="{value}"]')
        if choice.count():
            choice.check(force=True)
        elif screen.locator("[data-help]").count():
            screen.locator("[data-help]").fill(value)
        else:
            screen.locator("input[type=radio]").first.check(force=True)
        place = screen.get_attribute("id")
        page.locator("#next").click()
        page.wait_for_function("(place) => document.getElementById(place).hidden", arg=place)
    page.locator("#preview").wait_for()


def states(visit: Any, collector: Any) -> Iterator[tuple[str, Any]]:
    """Every state of the page by its name."""
    address = collector.add("pain")
    page = visit(address)
    yield "welcome", page
    page.locator("#start").click()
    yield "consent-missing", page
    page.locator("#label summary").click()
    yield "label", page
    for name, questions in (("choice", HELPS), ("scale", PAIN), ("slider", SLEEP), ("list", TAKES), ("group", CUPS)):
        page = visit(collector.add(name, questions))
        started(page)
        if name == "list":
            page.locator("input[type=search]").fill("ta")
        yield name, page
        if name == "list":
            page.locator("input[type=search]").fill("")
        page.locator("#next").click()
        yield f"{name}-missing", page
        answer(page)
        yield f"{name}-preview", page
        if name == "choice":
            page.context.set_offline(True)
            page.locator("#send").click()
            page.locator("[data-outcome=queued]").wait_for()
            yield "queued", page
            page.locator("#optout").click()
            page.locator("[data-notice=opted_out]").wait_for()
            yield "opted-out", page
        if name == "scale":
            page.locator("#send").click()
            page.locator("[data-outcome=accepted]").wait_for()
            yield "done", page
            page.reload()
            page.locator("[data-notice=answered]").wait_for()
            yield "answered", page
    page = visit(collector.add("all", ALL, "[collection]\nask_all = true"))
    started(page)
    answer(page)
    yield "all-preview", page
    page = visit(address + "?lang=de")
    yield "welcome-de", page
    page.locator("#decline").click()
    yield "declined", page
    yield "not-begun", visit(collector.add("early", HELPS, "start = 2099-09-01"))
    closed = collector.add("closed", HELPS)
    collector.set_state(closed.rpartition("/")[2], "closed", by="screenshots")
    yield "closed", visit(closed)
    yield "invitation", visit(collector.add("invited", HELPS, "[collection]\ninvitations = true"))
    page = visit(address, no_manifest=True)
    page.locator("[data-notice=offline]").wait_for()
    yield "offline", page


def write(folder: Path, *, looks: Sequence[str] = tuple(LOOKS), wait: int = WAIT) -> None:
    """Write a picture of each state in each look, and a sheet of all states of a look."""
    folder.mkdir(parents=True, exist_ok=True)
    with collector_at_work() as collector, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for look in looks:
            pictures = _pictures(browser, collector, LOOKS[look], wait if look == "phone" else min(wait, SHORT_WAIT))
            for name, picture in pictures.items():
                (folder / f"{name}-{look}.png").write_bytes(picture)
            _sheet(browser, pictures, folder / f"sheet-{look}.png", columns=4 if look == "desktop" else 8)
        browser.close()


def _pictures(browser: Any, collector: Any, options: Any, wait: int) -> dict[str, bytes]:
    contexts, pictures = [], {}

    def visit(address: str, no_manifest: bool = False) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        if no_manifest:
            page.route("**/manifest", lambda route: route.abort())
        page.goto(address)
        page.wait_for_timeout(300)
        return page

    for name, page in states(visit, collector):
        page.wait_for_timeout(wait)
        pictures[name] = page.screenshot()
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            raise SystemExit(f"The state {name} is wider than its window.")
    for context in contexts:
        context.close()
    return pictures


def _sheet(browser: Any, pictures: Mapping[str, bytes], path: Path, columns: int) -> None:
    """All pictures on one sheet, each with its name."""
    cells = "".join(
        f'<figure><img src="{IMAGE}{b64encode(picture).decode()}"><figcaption>{name}</figcaption></figure>'
        for name, picture in pictures.items()
    )
    style = f"main{{display:grid;grid-template-columns:repeat({columns},1fr);gap:14px}}figure{{margin:0}}"
    style += "img{width:100%;border:1px solid #999}body{margin:14px;background:#fff;color:#222;font:13px sans-serif}"
    page = browser.new_page(viewport={"width": 1000 if columns == 4 else 1240, "height": 900})
    page.set_content(f"<style>{style}</style><main>{cells}</main>")
    page.screenshot(path=str(path), full_page=True)
    page.close()


if __name__ == "__main__":
    wanted = sys.argv[2].split(",") if len(sys.argv) > 2 else tuple(LOOKS)
    write(Path(sys.argv[1]), looks=wanted, wait=int((sys.argv[3:] or [WAIT])[0]))
