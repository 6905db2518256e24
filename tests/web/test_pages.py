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
from sottovoce.service.pages.documents import report_of
from tests.patience import PATIENCE
from tests.service.studies import send
from tests.web import steps
from tests.web.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SOURCE = b"""
[study]
name = "sleep"
owner = "A sleep laboratory"
contact = "privacy@example.org"
purpose = "To learn when people sleep."
title = "Sleep"
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
A4_WIDTH, A4_HEIGHT = 680, 1016  # pixels at 96 dpi inside the margins of the style sheet: 180 x 269 mm
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
    thread.join(PATIENCE)
    collector.stop()


@pytest.fixture
def visit(browser: Any, site: Any) -> Iterator[Callable[..., Any]]:
    """`visit(path)` is a page, which must not complain or call anyone else."""
    contexts, complaints, foreign = [], [], []

    def go(path: str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: complaints.append(str(one)))
        page.on(
            "request",
            lambda one: None if one.url.startswith((site.address, "data:", "file:")) else foreign.append(one.url),
        )
        page.goto(site.address + path)
        return page

    go.complaints = complaints  # type: ignore[attr-defined]
    yield go
    for context in contexts:
        context.close()
    assert foreign == []
    assert [one for one in complaints if "ERR_INTERNET_DISCONNECTED" not in one] == []


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


def test_the_dashboard_is_live(visit, site):
    page = visit(f"/studies/{site.name}")
    page.wait_for_selector(".reports")
    before = reports(site)
    crowd(site, 600)
    said(page, ".reports", f"{reports(site):,}")
    assert reports(site) > before
    page.wait_for_selector(".question svg")
    assert page.locator(".question").count() == page.locator(".glance li").count() == 3
    text = page.locator("main").text_content()
    assert (
        "no amplification is claimed" in text and "If 1\u00a0% of the reports were fake, no share would be off" in text
    )
    assert "Planned: ±" in text and "of 1,000 planned" in text
    picture = page.request.get(f"{site.address}/studies/{site.name}/type.svg")
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text().count("<circle") == 5
    assert "Sleep, " in picture.text() and "epsilon 2, unbiased" in picture.text()
    rows = json.loads(page.request.get(f"{site.address}/v1/studies/{site.name}/estimates").text())["rows"]
    shown = page.locator("#q-type details tbody tr td").first.text_content()
    assert abs(float(shown.removesuffix("\u00a0%").replace("\u2212", "-")) - 100 * rows[0]["estimate"]) <= 0.0501
    # Everyone is an owl: the finding is the headline, and its verdict is clear.
    assert page.locator("#h-type").text_content() == "“owl” is the most frequent answer"
    assert page.locator("#q-type .badge").text_content() == "Clear"


def test_an_update_leaves_tables_open_and_the_keyboard_where_it_is(visit, site):
    """Groups are compared when somebody looks."""
    crowd(site, 300)
    page = visit(f"/studies/{site.name}")
    page.locator("#q-coffee [data-loaded]").wait_for()
    loaded = page.locator("#q-coffee [data-loaded]").text_content() or ""
    assert "Every two groups" not in loaded and ("May be chance" in loaded or "too small" in loaded.lower())
    table = page.locator("#q-coffee details").last
    table.locator("summary").focus()
    page.keyboard.press("Enter")
    assert table.evaluate("(one) => one.open")
    crowd(site, 20)
    said(page, ".reports", f"{reports(site):,}")
    table = page.locator("#q-coffee details").last
    assert table.evaluate("(one) => one.open && one.querySelector('summary') === document.activeElement")
    assert page.locator("#q-coffee [data-loaded]").count() == 1  # what was loaded later is still there
    page.get_by_role("button", name="Open all tables").click()
    assert page.locator("details:not([open])").count() == 0


def test_paper_is_white_and_has_no_buttons(visit, site):
    page = visit(f"/studies/{site.name}", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 22, 25)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not any(page.locator(one).first.is_visible() for one in ("nav", "button", ".invite", ".files"))
    assert page.locator("#privacy").is_visible()


def test_forged_reports_raise_an_alarm(visit, site):
    manifest = site.study(site.name).manifest
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    page = visit(f"/studies/{site.name}")
    assert page.locator("[role=alert]").count() == 0
    report_id = next(one for one in iter(lambda: os.urandom(16), None) if manifest.arm_of(one) == 0)
    mechanism = manifest.stage.arms[0].mechanism
    payloads = {mechanism.randomize("owl", report_id=report_id)[16:] for _ in range(200)}
    for payload in sorted(payloads)[:2]:
        send(site, site.name, Batch(manifest.prefix, epoch, manifest.number, 0, report_id, payload))
    page.reload()
    said(page, "[role=alert]", "someone is forging reports")
    said(page, "#quality", "conflict")
    assert page.locator("[data-part=state] .badge").first.text_content() == "Needs attention"
    assert page.request.get(site.address).text().count("Needs attention") == 1  # the list of studies says so, too


def test_the_planner_answers_a_goal_with_ways_to_reach_it(visit, site):
    page = visit(f"/plan/{site.name}")
    said(page, "#rows .big", "With 1,000 people you get")
    page.locator("#goal").fill("5")
    said(page, "#rows .big", "Your goal is ±\u00a05\u00a0points.")
    ways = page.locator(".ways button").all_text_contents()
    assert 2 <= len(ways) <= 3 and ways[0].endswith(" people") and ways[1].startswith("Epsilon ")
    page.locator(".ways button").first.click()
    said(page, "#rows .answer .badge", "Goal met")
    assert page.locator("#people-said").text_content() == ways[0].removesuffix(" people")
    page.locator("#people").evaluate(
        "(one) => { one.value = 0; one.dispatchEvent(new Event('input', {bubbles: true})) }"
    )
    said(page, "#rows .big", "With 100 people")
    page.get_by_role("button", name="Drop").click()
    said(page, "#left-out", "Without “How")
    page.get_by_text("The same against epsilon").click()
    said(page, "[data-place=curve]", "epsilon: larger is less private")
    page.locator("#goal").fill("nothing")
    said(page, "#rows .big", "a number above 0")


PATHS = ["/", "/studies/{}", "/studies/{}/report", "/studies/{}/dossier", "/plan/{}", "/design", "/problems/conflict"]


@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_no_serious_violation(visit, site, built, path):
    """Also in the dark, on a phone, and with letters twice as large, where no page is wider than its window."""
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
    # A zoom of 200 % halves the pixels of the window.
    page = visit(path.format(site.name), viewport={"width": 640, "height": 450})
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_numbers_below_a_chart_stay_inside_its_card_on_a_phone(visit, site):
    """Everyone is an owl, so that the last tick is 100 %: its unit stands to the right of the scale."""
    crowd(site, 300)
    page = visit(f"/studies/{site.name}", **PHONE)
    page.locator("#q-type .ax text").last.wait_for()
    assert page.locator("#q-type .ax text").last.text_content() == "100\u00a0%"
    beyond = """() => [...document.querySelectorAll(".card svg text")].filter((one) => {
      const text = one.getBoundingClientRect(), card = one.closest(".card").getBoundingClientRect();
      return text.width > 0 && (text.right > card.right || text.left < card.left);
    }).map((one) => one.textContent)"""
    assert page.evaluate(beyond) == []


def test_from_an_answer_on_a_phone_to_report_and_dossier(visit, site, tmp_path):
    """A served study, answered in the browser of a phone; then dashboard, report and dossier in hand."""
    crowd(site, 400)
    before = reports(site)
    phone = visit(f"/s/{site.name}", **PHONE)
    steps.begin(phone)
    steps.answer(phone, {"type": "owl", "hours": "7.5", "coffee": ("man", "3")})
    steps.sent(phone)
    assert reports(site) == before + 1
    page = visit(f"/studies/{site.name}")
    said(page, ".reports", f"{reports(site):,}")
    page.get_by_role("link", name="Report", exact=True).click()
    said(page, "h1", "Sleep")
    text = page.locator(".sheet").text_content()
    assert f"{reports(site):,} of 1,000 planned" in text and "epsilon 2 per person" in text
    assert "“owl” is the most frequent answer" in text and "Figure 1." in text and "Methods" in text
    assert "Each device scrambles its answer" in text and "is left out (..)" in text
    paper = tmp_path / "report.pdf"
    page.pdf(path=str(paper), prefer_css_page_size=True)
    # The first sheet stands alone: it holds the findings, a figure, how to read them and privacy.
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4_WIDTH, "height": A4_HEIGHT})
    assert page.locator(".first").evaluate("(one) => one.getBoundingClientRect().height") <= A4_HEIGHT
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Back to the study").click()
    page.get_by_role("link", name="Dossier").click()
    said(page, "h1", "Sleep")
    assert page.locator(".contents a").count() == 18 and page.locator(".todo").count() > 5
    page.get_by_role("link", name="consent-de.html").click()
    said(page, "body", "Ich habe das verstanden")
    written = tmp_path / "report.html"
    with site.store.read() as work:
        document = report_of(work, site.outcome(site.name), datetime.now(UTC).date()).to_html()
    written.write_text(document, encoding="utf-8")
    alone = visit("/design")
    alone.goto(written.as_uri())
    said(alone, "h1", "Sleep")
    assert alone.evaluate("getComputedStyle(document.querySelector('.masthead h1')).fontSize") == "40px"
