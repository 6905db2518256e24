"""The participant's page in a real browser: its steps, numbers, notices, and who can use it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from sottovoce.core.specs import canonical
from sottovoce.service.invitations import invite
from tests.patience import PATIENCE
from tests.service.studies import send
from tests.service.test_experiment import batches
from tests.web.conftest import ROOT
from tests.web.steps import answer, begin, sent

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

STUDY = """
[study]
name = "{name}"
owner = "A sleep laboratory"
contact = "privacy@example.org"
purpose = "To learn how people sleep."
unit = "{unit}"
epsilon = "2"
lifetime = "{lifetime}"
languages = ["en", "de"]
{more}
"""
HOURS = """
[questions.hours]
ask = "mean"
text = { en = "How long did you sleep?", de = "Wie lange haben Sie geschlafen?" }
low = 0
high = 14
unit = { en = "hours", de = "Stunden" }
missing = ["don't know"]
"""
LONG = """
[questions.type]
ask = "frequency"
text = { en = "What are you?", de = "Was sind Sie?" }
categories = ["lark", "owl", "neither"]

[questions.long]
ask = "range"
attribute = "hours"
from = 9
"""
PLAIN_HOURS = HOURS.replace('missing = ["don\'t know"]\n', "")
TOWNS = [f"{start}{end}" for start in ("Ab", "Bé", "Ca", "Do", "El") for end in ("burg", "stadt", "ville")]
KINDS = {
    "choice": LONG.partition("[questions.long]")[0] + 'missing = ["don\'t know"]\n',
    "scale": """
[questions.pain]
ask = "mean"
text = { en = "How strong is your pain?", de = "Wie stark ist der Schmerz?" }
low = 0
high = 10
whole = true
labels.en = { 0 = "no pain at all", 10 = "the worst pain I can imagine" }
""",
    "slider": """
[questions.cups]
ask = "mean"
text = { en = "How many cups?", de = "Wie viele Tassen?" }
low = 0
high = 40
whole = true
missing = ["don't know"]
""",
    "list": f"""
[questions.town]
ask = "frequency"
text = {{ en = "Where do you live?", de = "Wo wohnen Sie?" }}
categories = {json.dumps(TOWNS)}
missing = ["not in this list"]
""",
    "pair": """
[questions.coffee]
ask = "group-mean"
text = { en = "How many cups of coffee?", de = "Wie viele Tassen Kaffee?" }
by = ["woman", "man"]
low = 0
high = 30
whole = true
unit = { en = "cups", de = "Tassen" }
""",
    "table": """
[questions.life]
ask = "table"
text = { en = "Your health", de = "Ihre Gesundheit" }
missing = ["refused"]
labels.de = { smokes = "raucht", never = "nie", refused = "keine Angabe" }
[questions.life.attributes.age]
text = { en = "How old are you?", de = "Wie alt sind Sie?" }
low = 16
high = 95
whole = true
bins = [40, 65]
[questions.life.attributes.smoker]
text = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["never", "smokes"]
[questions.life.attributes.sport]
text = { en = "Do you do sports?", de = "Treiben Sie Sport?" }
categories = ["yes", "no"]
""",
}
VALUES = {"type": "owl", "hours": "7.25", "pain": "6", "cups": "3", "town": "Caville", "coffee": ("man", "4")}
VALUES["life"] = {"age": "41", "smoker": "smokes", "sport": "refused"}
TABLES = {"41, raucht", "41, keine Angabe", "raucht, keine Angabe"}  # one of them, by the view that the device drew
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
WAIT = 5000  # milliseconds: two refreshes of the page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The real collector; `site.add(name)` is a study of its own for a test."""
    from sottovoce.service.app import Application
    from sottovoce.service.collector import Collector
    from sottovoce.service.http.server import make_server
    from sottovoce.service.logs import make_log
    from sottovoce.service.stores import open_store

    store = open_store(str(tmp_path_factory.mktemp("participant") / "store.sqlite"))
    collector: Any = Collector(store, log=make_log(), today=lambda: datetime.now(UTC).date())
    collector.start()
    server, listening = make_server(Application(collector), "127.0.0.1", 0)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    collector.address = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def add(name: str, questions: str = HOURS, unit: str = "person", more: str = "") -> str:
        head = STUDY.format(name=name, unit=unit, lifetime=20 if unit == "event" else 2, more=more)
        return str(collector.create((head + questions).encode(), 1000))

    collector.add = add
    collector.kind = cache(lambda kind: add(f"kind-{kind}", KINDS[kind]))
    yield collector
    server.should_exit = True
    thread.join(PATIENCE)
    collector.stop()


@pytest.fixture
def visit(browser: Any, site: Any) -> Iterator[Callable[..., Any]]:
    """`visit(path)` is a page, which must not complain or call anyone else."""
    contexts, complaints, foreign = [], [], []

    def go(path: str, before: Callable[[Any], None] = lambda page: None, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: complaints.append(str(one)))
        page.on("request", lambda one: None if one.url.startswith((site.address, "data:")) else foreign.append(one.url))
        before(page)
        page.goto(site.address + path)
        return page

    yield go
    for context in contexts:
        context.close()
    assert foreign == []
    assert [one for one in complaints if "ERR_INTERNET_DISCONNECTED" not in one and "ERR_FAILED" not in one] == []


def close(site: Any, name: str) -> None:
    site.set_state(name, "closed", by="test")
    assert site.study(name).row.state == "closed"


def reports(site: Any, name: str) -> int:
    return int(site.study(name).row.reports)


def spent(page: Any, name: str) -> float:
    """What this browser lost in the study, by its own account."""
    return page.evaluate(
        "async (url) => (await (await (await import('/static/sottovoce.js')).open(url)).spent()).study",
        f"/v1/studies/{name}",
    )


def in_view(page: Any, selector: str) -> bool:
    """Whether all of an element is in the window, and nothing lies over it."""
    return page.locator(selector).evaluate(
        """(one) => {
          const { top, bottom, left, right } = one.getBoundingClientRect();
          const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return top >= 0 && bottom <= innerHeight && (one === over || one.contains(over));
        }"""
    )


# --- the path through the page -----------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_every_step_stays_until_the_participant_goes_on(visit, site, options):
    """The drawn question is kept over reloads, looking again draws nothing, and Send is in view without scrolling."""
    name = site.add("steps" + str(len(options)), PLAIN_HOURS + LONG)
    wait = WAIT if options else 0
    page = visit(f"/s/{name}", **options)
    page.locator("#start").click()
    assert page.locator("#consent-problem").is_visible() and page.locator("#welcome").is_visible()
    assert page.evaluate("document.activeElement.id") == "consent"
    drawn = begin(page)
    page.reload()  # nobody picks a question
    assert begin(page) == drawn
    page.wait_for_timeout(wait)
    sends = []
    for _ in range(2):
        answer(page, VALUES)
        assert page.locator("#before").text_content() in ("7.25\u00a0hours", "owl")
        assert page.evaluate("document.activeElement.id") == "preview-title"
        page.wait_for_timeout(wait)
        assert in_view(page, "#send") and in_view(page, "#preview-title")
        assert page.locator("#form").is_hidden()
        assert f"leaves your {'phone' if options else 'computer'}" in page.locator("#preview-title").inner_text()
        sends.append([page.locator(one).text_content() for one in ("#before", "#after", "#kept", "#bytes")])
        if len(sends) == 1:
            page.locator("#change").click()
    assert sends[0] == sends[1] and len(sends[0][3].split()) >= 40
    sent(page)
    page.wait_for_timeout(wait)
    assert "Thank you" in page.locator("h1:visible").inner_text() and in_view(page, "[data-outcome=accepted] h1")
    assert page.locator("#form").is_hidden() and page.locator("#preview").is_hidden()
    assert reports(site, name) == 1
    said = page.locator("main").inner_text()
    assert "7.25" not in said and "Privacy used in this study: 2 of 2." in said
    results = page.get_by_role("link", name="See what the crowd says")
    assert results.get_attribute("href") == f"/s/{name}/results?lang=en"
    page.reload()
    page.locator("[data-notice=answered]").wait_for()
    assert page.locator("#welcome").is_hidden() and page.locator("#history li").count() == 1
    results.click()
    page.get_by_role("heading", name="What the crowd says").wait_for()
    assert "1 scrambled answer so far" in page.locator("main").inner_text() and page.locator("section.card").count()


def test_what_a_person_typed_is_nowhere_after_sending(visit, site):
    name = site.add("forgets", PLAIN_HOURS)
    page = visit(f"/s/{name}")
    begin(page)
    answer(page, {"hours": "7.125"})
    sent(page)
    kept = page.evaluate(
        """async () => {
          const done = (request) => new Promise((ready) => (request.onsuccess = () => ready(request.result)));
          const all = [document.documentElement.outerHTML, location.href, JSON.stringify(history.state)];
          all.push(JSON.stringify({...localStorage, ...sessionStorage}));
          all.push(...[...document.querySelectorAll("input")].map((one) => one.value));
          const base = await done(indexedDB.open("sottovoce"));
          for (const name of base.objectStoreNames) {
            const store = base.transaction(name).objectStore(name);
            for (const what of ["getAll", "getAllKeys"]) all.push(JSON.stringify(await done(store[what]())));
          }
          return all.join(" ");
        }"""
    )
    assert "accepted" in kept and "7.125" not in kept and "7,125" not in kept


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_question_by_touch_in_any_language(visit, site, kind):
    name = site.kind(kind)
    before = reports(site, name)
    page = visit(f"/s/{name}?lang=de", **PHONE)
    begin(page)
    assert page.locator("input:checked").count() == 1  # consent: no answer is preset
    low = page.evaluate(
        """() => [...document.querySelectorAll("fieldset:not([hidden]) label:has(input), .sends button, #back")]
          .filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect())
          .filter(({width, height}) => height < 52 || width < 24).length"""
    )
    assert low == 0
    page.locator("#next").click()  # says what is missing, and stays
    assert in_view(page, "#missing") and page.locator("#preview").is_hidden()
    if kind == "slider":
        slider, number = page.locator("[type=range]"), page.locator("[name=cups]")
        assert slider.get_attribute("class") == "unset" and number.input_value() == ""
        page.locator(".choice.none input").check()
        slider.evaluate("(one) => { one.value = 12; one.dispatchEvent(new Event('input', {bubbles: true})) }")
        assert number.input_value() == "12" and page.locator(".choice.none input:checked").count() == 0
    if kind == "list":
        search = page.locator("[type=search]")
        assert page.locator(".letters > li:visible > b").all_text_contents() == ["A", "B", "C", "D", "E"]
        search.fill("beb")  # without the accent
        assert page.locator(".letters label:visible").all_text_contents() == ["Béburg"]
        assert page.locator(".found").text_content() == "1 gefunden" and in_view(page, "#next")
        search.fill("")
    if kind == "pair":
        assert page.locator("h1:visible").text_content() == "Zu welcher Gruppe gehören Sie?"
        assert page.locator("#step").text_content() == "1 von 2"
    if kind == "table":
        assert page.locator("#step").text_content() == "1 von 2"  # the third attribute is not asked
        assert page.locator("#welcome .meta li").first.text_content().strip().startswith("2 von 3 Fragen")
    answer(page, VALUES)
    shown = {"choice": "owl", "scale": "6", "slider": "3", "list": "Caville", "pair": "man, 4\u00a0Tassen"}
    assert page.locator("#before").text_content() in ({shown[kind]} if kind in shown else TABLES)
    assert page.locator("#after").inner_text() and in_view(page, "#send")
    page.go_back()  # the phone's own way back
    assert page.locator("fieldset:visible").count() == 1
    page.locator("#next").click()
    page.locator("#preview").wait_for()
    sent(page)
    page.go_back()
    assert page.locator("#done").is_visible() and reports(site, name) == before + 1


def test_numbers_are_understood_in_the_language_of_the_page(visit, site):
    """A decimal comma is a comma; what may be a thousands separator is asked again."""
    name = site.add("commas", PLAIN_HOURS)
    pages = {lang: visit(f"/s/{name}?lang={lang}", **PHONE) for lang in ("en", "de")}
    for page in pages.values():
        begin(page)
    for lang, written, read in (
        ("de", "7,5", "7,5\u00a0Stunden"),
        ("de", "7.5", "7,5\u00a0Stunden"),
        ("de", "0,125", "0,125\u00a0Stunden"),
        ("en", "7,5", "7.5\u00a0hours"),
        ("en", " 7.125 ", "7.125\u00a0hours"),
        ("en", "8", "8\u00a0hours"),
        ("en", "1,000", None),
        ("de", "1.000", None),
        ("en", "7.5.1", None),
        ("en", "15", None),
        ("en", "-1", None),
        ("en", "seven", None),
    ):
        page = pages[lang]
        page.locator("[name=hours]").fill(written)
        page.locator("#next").click()
        if read is None:
            said = page.locator("#missing").inner_text()
            assert ("von 0 bis 14" if lang == "de" else "from 0 to 14") in said and written not in said, written
            assert page.locator("#preview").is_hidden()
        else:
            page.locator("#preview").wait_for()
            assert page.locator("#before").text_content() == read
            page.locator("#change").click()


def test_one_attribute_is_asked_once_and_answers_all_questions_about_it(visit, site):
    name = site.add("attributes", PLAIN_HOURS + LONG)
    manifest = json.loads(site.study(name).manifest.content)
    assert {arm["name"] for arm in manifest["arms"]} == {"hours", "type", "long"}, "no question is asked apart"
    page = visit(f"/s/{name}")
    assert page.locator("legend").all_text_contents() == ["How long did you sleep?", "What are you?"]
    drawn = """async (url) => {
      const study = await (await import('/static/sottovoce.js')).open(url);
      return Object.values(await study.preview({type: "lark", hours: 9.5})).slice(0, 2);
    }"""
    ((question, before),) = {tuple(page.evaluate(drawn, f"/v1/studies/{name}")) for _ in range(10)}  # drawn once
    assert {"hours": 9.5, "type": "lark", "long": 9.5}[question] == before
    assert begin(page) == ("type" if question == "type" else "hours")
    answer(page, {"type": "lark", "hours": "9.5"})
    assert page.locator("#asked").text_content() in ("What are you?", "How long did you sleep?")
    sent(page)


def test_a_study_that_asks_all_shows_how_far_one_is(visit, site):
    name = site.add("all", PLAIN_HOURS + LONG + KINDS["pair"], more="[collection]\nask_all = true")
    page = visit(f"/s/{name}", **PHONE)
    begin(page)
    assert page.locator("#step").text_content() == "1 of 4" and page.locator("#bars li").count() == 4
    answer(page, VALUES)
    page.go_back()
    assert page.locator("#step").text_content() == "4 of 4"
    page.locator("#back").click()
    page.locator("#step").filter(has_text="3 of 4").wait_for()
    answer(page, VALUES)
    assert "Your other answers are not sent." in page.locator("#preview").inner_text()
    sent(page)
    assert "Your answers to the other questions" in page.locator("#done").inner_text()


def test_events_are_answered_again(visit, site):
    name = site.add("events", unit="event")
    page = visit(f"/s/{name}")
    begin(page)
    for turn in range(2):
        assert page.locator("[name=hours]").input_value() == ""
        answer(page, VALUES)
        sent(page)
        assert page.locator("#history li").count() == turn + 1
        page.locator("#again").click()
        page.locator("fieldset:visible").wait_for()
    assert reports(site, name) == 2


# --- notices instead of questions ---------------------------------------------------------------------------
def test_a_closed_study_says_so_at_once(visit, site):
    name = site.add("closed")
    answered, dashboard = visit(f"/s/{name}"), visit(f"/studies/{name}")
    begin(answered)
    answer(answered, VALUES)
    sent(answered)
    assert dashboard.locator(".invite").is_visible()
    close(site, name)
    dashboard.locator(".invite").wait_for(state="hidden")
    for lang, said in (("en", "This study is closed."), ("de", "Diese Studie ist beendet.")):
        page = visit(f"/s/{name}?lang={lang}", **PHONE)
        page.wait_for_timeout(2500)
        assert said in page.locator(".notice:visible").inner_text()
        assert page.locator("#welcome").count() == page.locator("fieldset").count() == 0
        assert page.locator("#told").is_hidden() and spent(page, name) == 0
    assert visit(f"/studies/{name}").locator(".invite").is_hidden()
    answered.reload()  # what was sent is still shown
    answered.locator("#history li").wait_for()


def test_a_study_that_closes_while_it_is_answered_costs_nothing(visit, site):
    name = site.add("closing")
    page = visit(f"/s/{name}", **PHONE)
    begin(page)
    answer(page, VALUES)
    close(site, name)
    page.locator("#send").click()
    page.locator("[data-notice=closed]").wait_for()
    page.wait_for_timeout(2500)
    assert page.locator(".notice:visible").count() == 1
    assert (
        page.locator("#form").is_hidden() and page.locator("#preview").is_hidden() and page.locator("#told").is_hidden()
    )
    assert spent(page, name) == 0


def test_a_report_that_waits_is_sent_later_or_taken_back(visit, site):
    closes, opens, stops = (site.add(f"waiting-{end}") for end in ("closes", "opens", "stops"))
    for name in (closes, opens, stops):
        page = visit(f"/s/{name}")
        begin(page)
        answer(page, VALUES)
        page.context.set_offline(True)
        page.locator("#send").click()
        page.locator("[data-outcome=queued]").filter(has_text="not sent yet").wait_for()
        if name == closes:
            close(site, name)
        if name == stops:
            page.locator("#optout").click()
            page.locator("[data-notice=opted_out]").wait_for()
        page.context.set_offline(False)
        if name == opens:
            page.locator("[data-outcome=accepted]").wait_for()
        if name == closes:
            page.locator("[data-notice=outdated]").wait_for()
        assert page.locator("#history li").count() == int(name == opens)
        assert spent(page, name) == 2 * (name == opens) and reports(site, name) == int(name == opens)
        if name == stops:
            page.locator("#optin").click()
            page.locator("#welcome").wait_for()


def test_what_keeps_a_study_from_being_answered_is_said_before_any_question(visit, site):
    """Not begun, refused for its privacy, no connection, no invitation, no thank you."""
    early = visit(f"/s/{site.add('early', more='start = 2099-09-01')}?lang=de")
    assert "1. September 2099" in early.locator(".notice:visible").inner_text()
    name = site.kind("choice")
    manifest = json.loads(site.study(name).manifest.content)
    manifest["arms"][0]["mechanism"]["channel"]["keep"] = (1 << 53) - 1  # a larger epsilon than it states
    worse = canonical(manifest).decode()
    for body, notice in ((worse, "refused"), (None, "offline"), ("{}", "broken")):

        def swapped(page: Any, body: str | None = body) -> None:
            page.route("**/manifest", lambda route: route.fulfill(body=body) if body else route.abort())

        page = visit(f"/s/{name}", swapped)
        page.locator(".notice:visible").wait_for()
        assert page.locator(".notice:visible").get_attribute("data-notice") == notice
        assert page.locator("#welcome").is_hidden() and page.locator("fieldset:visible").count() == 0
    page = visit(f"/s/{name}")
    page.locator("#decline").click()
    assert page.locator("[data-notice=declined]").is_visible()
    page.locator("#restart").click()
    begin(page)
    assert spent(page, name) == 0


def test_an_invitation_stays_on_the_device_until_its_report_is_sent(visit, site):
    """No request for a page or a script names it, also in another language of the page."""
    name = site.add("invited", PLAIN_HOURS + LONG, more="[collection]\ninvitations = true")
    study = site.study(name)
    with site.store.transaction() as work:
        (token,) = invite(work, study.number, study.manifest.study, 1)
    page = visit(f"/s/{name}")
    page.locator("[data-notice=invitation]").wait_for()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(f"{one.url} {one.headers}"))
    page.goto(f"{site.address}/s/{name}#invitation={token}")
    page.reload()
    for language in ("Deutsch", "English"):
        page.locator(f".languages a[href*={token!r}]").first.wait_for(state="attached")
        page.locator(".languages summary").click()
        page.get_by_role("link", name=language).click()
        page.locator("#start").wait_for()
    begin(page)
    answer(page, VALUES)
    sent(page)
    assert reports(site, name) == 1 and len(asked) > 5
    assert not [one for one in asked if token in one]


# --- everyone can use it --------------------------------------------------------------------------------------
def test_the_keyboard_is_enough(visit, site):
    name = site.add("keyboard", KINDS["pair"] + 'missing = ["don\'t know"]\n')
    page = visit(f"/s/{name}")

    def reach(selector: str) -> None:
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("(one) => document.activeElement.matches(one)", selector):
                return
        raise AssertionError(selector)

    reach("#consent")
    page.keyboard.press("Space")
    reach("#start")
    page.keyboard.press("Enter")
    page.locator("fieldset:visible").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H1"
    reach("[name=coffee-group]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("[name=coffee]").wait_for()
    reach("[name=coffee]")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    page.locator("#preview").wait_for()
    assert page.evaluate("document.activeElement.id") == "preview-title"
    assert page.locator("#before").text_content() == "man, 8\u00a0cups"
    reach("#send")
    page.keyboard.press("Enter")
    page.locator("[data-outcome=accepted]").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Thank you. You were counted."
    assert reports(site, name) == 1


LONGER = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walk.nextNode()) if (walk.currentNode.data.trim()) texts.push(walk.currentNode);
  for (const one of texts) one.data += one.data.slice(-Math.ceil(0.4 * one.data.trim().length) - 1);
}"""
OVERFLOWS = """() => {
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.offsetParent);
  const cut = (one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth
    && getComputedStyle(one).overflowX !== "visible" && one.tagName !== "INPUT";
  const wide = shown.filter((one) => !one.closest(".aside, pre, thead")
    && (one.getBoundingClientRect().right > innerWidth + 1 || cut(one)));
  return [document.documentElement.scrollWidth > innerWidth + 1, ...wide.map((one) => one.outerHTML.slice(0, 100))];
}"""


def test_every_step_has_no_serious_finding_and_no_overflow(visit, site, built):
    """axe in the light on a desktop and in the dark on a phone; at 200 % and 400 % zoom; texts 40 % longer."""
    axe = (ROOT / "clients/web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    looks = ({}, {**PHONE, "color_scheme": "dark"})
    sizes = ({"width": 640, "height": 360}, {"width": 320, "height": 256}, PHONE["viewport"])
    for look, options in enumerate(looks):
        for kind in KINDS:
            page = visit(f"/s/{site.kind(kind)}", bypass_csp=True, **options)
            page.evaluate(axe)

            def check(page: Any = page, look: int = look) -> None:
                found = page.evaluate("axe.run().then((one) => one.violations)")
                serious = [one for one in found if one["impact"] in ("serious", "critical")]
                assert [(one["id"], one["nodes"][0]["html"][:120]) for one in serious] == []
                if look == 0:
                    for size in sizes:
                        page.set_viewport_size(size)
                        assert page.evaluate(OVERFLOWS) == [False], size
                    page.set_viewport_size({"width": 1280, "height": 720})

            first = kind == "choice"
            if first:
                page.locator("#label summary").click()
                check()
            begin(page)
            check()
            answer(page, VALUES)
            check()
            if first:
                sent(page)
                check()
    for kind in KINDS:
        page = visit(f"/s/{site.kind(kind)}?lang=de", bypass_csp=True, **PHONE)
        page.locator("#label summary").click()
        page.evaluate(LONGER)
        assert page.evaluate(OVERFLOWS) == [False]
        begin(page)
        assert page.evaluate(OVERFLOWS) == [False], kind
        answer(page, VALUES)
        page.locator("#after").evaluate("(one) => (one.textContent += one.textContent)")
        assert page.evaluate(OVERFLOWS) == [False], kind
        assert in_view(page, "#send")


# --- an experiment -----------------------------------------------------------------------------------------
EXPERIMENT = """
[experiment.usual]
text = { en = "Sleep is good.", de = "Schlaf ist gut." }

[experiment.new]
text = { en = "Most people sleep seven hours.", de = "Die meisten schlafen sieben Stunden." }
"""


def test_two_devices_read_the_text_of_their_arm_and_the_dashboard_compares(visit, site):
    """Chance draws the arm, a reload keeps it, and both arms are compared on the dashboard."""
    name = site.add("experiment", LONG.partition("[questions.long]")[0] + EXPERIMENT)
    texts = {"usual": "Schlaf ist gut.", "new": "Die meisten schlafen sieben Stunden."}
    seen: set[str] = set()
    for _ in range(20):  # both texts are among them but for one run in 500,000
        page = visit(f"/s/{name}?lang=de", **PHONE)
        begin(page)
        (arm,) = [one.get_attribute("data-arm") for one in page.locator("[data-arm]:visible").all()]
        assert page.locator("[data-arm]:visible").inner_text() == texts[arm]
        if arm in seen:
            continue
        page.reload()
        begin(page)
        assert page.locator("[data-arm]:visible").get_attribute("data-arm") == arm
        answer(page, {"type": "owl" if arm == "new" else "lark"})
        sent(page)
        seen.add(arm)
        if len(seen) == 2:
            break
    assert seen == {*texts} and reports(site, name) == 2
    manifest = site.study(name).manifest
    epoch = manifest.facts.collection.epoch(site.today())
    for batch in batches(manifest, 400, {"usual": "lark", "new": "owl"}, epoch):
        send(site, name, batch)
    board = visit(f"/studies/{name}")
    assert "frequent in arm “new” than in arm “usual”" in board.locator("#q-type").inner_text()
    assert "Most people sleep" in board.locator("main").inner_text()
