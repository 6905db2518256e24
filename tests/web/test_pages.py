"""The pages in a real browser: a participant answers, the dashboard hears it, and everyone can use them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sottovoce.core.exchange.wire import Batch
from sottovoce.service.invitations import invite
from tests.service.studies import send
from tests.web.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SOURCE = b"""
[study]
name = "sleep"
owner = "A sleep laboratory"
contact = "privacy@example.org"
purpose = "To learn when people sleep."
unit = "person"
epsilon = "2"
languages = ["en", "de"]

[questions.type]
ask = "frequency"
text = { en = "What are you?", de = "Was sind Sie?" }
categories = ["lark", "owl", "neither"]
missing = ["don't know", "refused"]
labels.de = { lark = "Lerche", owl = "Eule", refused = "keine Angabe" }

[questions.hours]
ask = "mean"
text = { en = "How long did you sleep?", de = "Wie lange haben Sie geschlafen?" }
low = 0
high = 14
unit = "hours"
missing = ["don't know"]

[questions.coffee]
ask = "group-mean"
text = { en = "How many cups of coffee?", de = "Wie viele Tassen Kaffee?" }
by = ["woman", "man"]
low = 0
high = 10
whole = true
"""
INVITED = b"""
[collection]
invitations = true
"""
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The real collector with a study of every kind of answer."""
    from sottovoce.service.app import Application
    from sottovoce.service.collector import Collector
    from sottovoce.service.http.server import make_server
    from sottovoce.service.logs import make_log
    from sottovoce.service.stores import open_store

    store = open_store(str(tmp_path_factory.mktemp("pages") / "store.sqlite"))
    collector: Any = Collector(store, log=make_log(), today=lambda: datetime.now(UTC).date())
    collector.start()
    collector.name = collector.create(SOURCE, 1000)
    server, listening = make_server(Application(collector), "127.0.0.1", 0)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    collector.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    yield collector
    server.should_exit = True
    thread.join(20)
    collector.stop()


@pytest.fixture
def visit(browser: Any, site: Any) -> Iterator[Callable[..., Any]]:
    """`visit(path)` is a page, which must not complain or call anyone else."""
    contexts, complaints, foreign = [], [], []

    def go(path: str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: complaints.append(str(one)))
        page.on("request", lambda one: None if one.url.startswith((site.address, "data:")) else foreign.append(one.url))
        page.goto(site.address + path)
        return page

    go.complaints = complaints  # type: ignore[attr-defined]
    yield go
    for context in contexts:
        context.close()
    assert foreign == []
    assert [one for one in complaints if "ERR_INTERNET_DISCONNECTED" not in one] == []


def fill(page: Any) -> None:
    page.wait_for_selector("#form:not([hidden])")
    page.get_by_label("owl").check()
    page.locator("[name=hours]").fill("7.5")
    page.locator("[name=coffee-group]").select_option("man")
    page.locator("[name=coffee]").fill("3")


def crowd(site: Any, people: int) -> None:
    """So many more reports, as devices send them."""
    manifest = site.study(site.name).manifest
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    values = {"type": "owl", "hours": 7.5, "coffee": ("man", 3)}
    for _ in range(people):
        report_id = os.urandom(16)
        arm = manifest.arm_of(report_id)
        asked, mechanism = manifest.asked(arm), manifest.stage.arms[arm].mechanism
        if not mechanism.takes_id(report_id):
            continue
        payload = mechanism.randomize(asked.answer(values[asked.name]), report_id=report_id)[16:]
        send(site, site.name, Batch(manifest.prefix, epoch, manifest.number, arm, report_id, payload))


def said(page: Any, selector: str, text: str) -> None:
    """Wait until an element says something."""
    page.locator(selector).filter(has_text=text).wait_for()


def reports(site: Any) -> int:
    return int(site.study(site.name).row.reports)


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_participant_sees_what_is_sent_and_is_counted(visit, site, options):
    before = reports(site)
    page = visit(f"/s/{site.name}", **options)
    fill(page)
    page.get_by_role("button", name="Show what would be sent").click()
    page.wait_for_selector("#preview:not([hidden])")
    shown = page.locator("#bytes").text_content() or ""
    assert len(shown.split()) >= 40 and page.locator("#after").text_content()
    page.get_by_role("button", name="Send", exact=True).click()
    said(page, "#outcome", "Thank you")
    assert reports(site) == before + 1
    page.reload()
    said(page, "#outcome", "already")
    assert page.locator("#form").is_hidden()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= options.get("viewport", {"width": 1280})["width"], "the page is wider than the screen"


def test_an_invitation_stays_on_the_device_until_its_report_is_sent(visit, site):
    """No request for a page or a script names it, also in another language of the page."""
    name = site.create(SOURCE.replace(b"To learn when", b"To invite, and learn when") + INVITED, 1000)
    study = site.study(name)
    with site.store.transaction() as work:
        (token,) = invite(work, study.number, study.manifest.study, 1)
    page = visit(f"/s/{name}")
    said(page, "#problem", "needs an invitation")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(f"{one.url} {one.headers}"))
    page.goto(f"{site.address}/s/{name}#invitation={token}")
    page.reload()
    page.get_by_role("link", name="de").click()
    page.wait_for_selector("#form:not([hidden])")
    page.get_by_role("link", name="en").click()
    fill(page)
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send", exact=True).click()
    said(page, "#outcome", "Thank you")
    assert study.row.reports == 1 and len(asked) > 5
    assert not [one for one in asked if token in one]


def test_reasons_need_no_number_and_opting_out_deletes_what_is_unsent(visit, site):
    before = reports(site)
    page = visit(f"/s/{site.name}?lang=de")
    page.wait_for_selector("#form:not([hidden])")
    assert page.locator("legend").first.text_content() == "Was sind Sie?"
    page.get_by_label("keine Angabe").check()
    page.locator("[name=hours-reason]").select_option("don't know")
    page.locator("[name=coffee-group]").select_option("woman")
    page.locator("[name=coffee]").fill("0")
    page.get_by_role("button", name="Zeigen, was gesendet würde").click()
    page.wait_for_selector("#preview:not([hidden])")
    page.context.set_offline(True)
    page.get_by_role("button", name="Senden").click()
    said(page, "#outcome", "Auf diesem Gerät")
    page.get_by_role("button", name="Nicht mehr teilnehmen").click()
    said(page, "#outcome", "Sie nehmen nicht mehr")
    page.context.set_offline(False)
    page.wait_for_timeout(500)
    assert reports(site) == before


def test_the_keyboard_is_enough(visit, site):
    before = reports(site)
    page = visit(f"/s/{site.name}")
    page.wait_for_selector("#form:not([hidden])")
    for _ in range(5):  # the languages, then the first question
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("8")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#preview:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "preview-title"
    for _ in range(2):  # the exact bytes, then the button
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    said(page, "#outcome", "Thank you")
    assert reports(site) == before + 1


def test_the_dashboard_is_live(visit, site):
    page = visit(f"/studies/{site.name}")
    page.wait_for_selector(".progress")
    before = reports(site)
    crowd(site, 600)
    said(page, ".progress strong", f"{reports(site):,}")
    assert reports(site) > before
    page.wait_for_selector(".card svg")
    assert page.locator(".card").count() == 3
    text = page.locator("main").text_content()
    assert "no amplification is claimed" in text and "With 1 % fake reports" in text
    assert "planned ±" in text and page.locator("progress").count() == 1
    picture = page.request.get(f"{site.address}/studies/{site.name}/type.svg")
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text().count("<circle") == 5
    rows = json.loads(page.request.get(f"{site.address}/v1/studies/{site.name}/estimates").text())["rows"]
    shown = page.locator("section[aria-labelledby=q-type] tbody tr td").first.text_content()
    assert shown == f"{rows[0]['estimate']:.4g}"


def test_an_update_leaves_tables_open_and_the_keyboard_where_it_is(visit, site):
    """Groups are compared when somebody looks."""
    crowd(site, 300)
    page = visit(f"/studies/{site.name}")
    groups = page.locator("section[aria-labelledby=q-coffee] details").nth(1)
    assert groups.locator("[data-loaded]").count() == 0
    groups.locator("summary").focus()
    page.keyboard.press("Enter")
    groups.locator("[data-loaded]").wait_for()
    loaded = groups.text_content() or ""
    assert "Every two groups" not in loaded and len(loaded) > 100
    crowd(site, 20)
    said(page, ".progress strong", f"{reports(site):,}")
    assert groups.evaluate("(one) => one.open && one.querySelector('summary') === document.activeElement")
    assert groups.locator("[data-loaded]").count() == 1  # what was loaded later is still there
    page.get_by_role("button", name="Open all tables").click()
    assert page.locator("details:not([open])").count() == 0


def test_paper_is_white_and_has_no_buttons(visit, site):
    page = visit(f"/studies/{site.name}", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not any(page.locator(one).first.is_visible() for one in ("nav", "button", ".invite", ".files"))
    assert page.locator("#privacy").is_visible()


def test_forged_reports_raise_an_alarm(visit, site):
    manifest = site.study(site.name).manifest
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    page = visit(f"/studies/{site.name}")
    assert page.locator(".alarm").count() == 0
    report_id = next(one for one in iter(lambda: os.urandom(16), None) if manifest.arm_of(one) == 0)
    mechanism = manifest.stage.arms[0].mechanism
    payloads = {mechanism.randomize("owl", report_id=report_id)[16:] for _ in range(200)}
    for payload in sorted(payloads)[:2]:
        send(site, site.name, Batch(manifest.prefix, epoch, manifest.number, 0, report_id, payload))
    page.reload()
    said(page, ".alarm", "someone is forging reports")
    said(page, "section[aria-labelledby=uploads]", "conflict")


def test_the_planner_answers_the_sliders(visit, site):
    page = visit(f"/plan/{site.name}")
    page.wait_for_selector("#rows table")
    before = page.locator("#rows caption").text_content()
    assert "1,000 participants, epsilon 2" in before
    page.locator("#participants").evaluate(
        "(one) => { one.value = 50; one.dispatchEvent(new Event('input', {bubbles: true})) }"
    )
    said(page, "#rows caption", "100,000 participants")
    errors = [one.split() for one in page.locator("#rows tbody tr td:nth-child(2)").all_text_contents()]
    assert 0 < float(errors[0][0]) < 2 and [one[1:] for one in errors] == [["points"], ["hours"], []]


@pytest.mark.parametrize("path", ["/", "/studies/{}", "/s/{}", "/plan/{}", "/problems/conflict"])
def test_axe_finds_no_serious_violation(visit, site, built, path):
    axe = (ROOT / "clients/web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    for options in ({}, {**PHONE, "color_scheme": "dark"}):
        page = visit(path.format(site.name), bypass_csp=True, **options)
        page.wait_for_load_state()
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((one) => one.violations)")
        bad = [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in ("serious", "critical")]
        assert bad == []
        # A phone widens its window for a page that is too wide, so the window itself says nothing.
        width = options.get("viewport", {"width": 1280})["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
