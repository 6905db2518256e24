"""The participant's page in a real browser: it keeps its step, reads numbers, and knows closed studies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

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
"""
HOURS = """
[questions.hours]
ask = "mean"
text = { en = "How long did you sleep?", de = "Wie lange haben Sie geschlafen?" }
low = 0
high = 14
unit = "hours"
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
    collector.add = lambda name, questions=HOURS, unit="person": collector.create(
        (STUDY.format(name=name, unit=unit, lifetime=20 if unit == "event" else 2) + questions).encode(), 1000
    )
    yield collector
    server.should_exit = True
    thread.join(20)
    collector.stop()


@pytest.fixture
def visit(browser: Any, site: Any) -> Iterator[Callable[..., Any]]:
    contexts = []

    def go(path: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(30_000)
        page.goto(site.address + path)
        return page

    yield go
    for context in contexts:
        context.close()


def close(site: Any, name: str) -> None:
    site.set_state(name, "closed", by="test")
    assert site.study(name).row.state == "closed"


def spent(page: Any, name: str) -> float:
    """What this browser lost in the study, by its own account."""
    return page.evaluate(
        "async (url) => (await (await (await import('/static/sottovoce.js')).open(url)).spent()).study",
        f"/v1/studies/{name}",
    )


def top(page: Any, selector: str) -> float:
    return page.locator(selector).bounding_box()["y"]


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_every_step_stays_until_the_participant_goes_on(visit, site, options):
    """A real number is shown as it was typed; five seconds later the preview and then the outcome are still in view."""
    name = site.add("steps" + str(len(options)), HOURS + LONG)
    page = visit(f"/s/{name}", **options)
    height = options.get("viewport", {"height": 720})["height"]
    page.get_by_label("owl").check()
    page.locator("[name=hours]").fill("7.25")
    page.wait_for_timeout(WAIT)
    assert page.locator("[name=hours]").input_value() == "7.25"
    for _ in range(2):
        page.get_by_role("button", name="Show what would be sent").click()
        page.wait_for_selector("#preview:not([hidden])")
        before = page.locator("#before").text_content()
        assert before in ("7.25", "owl")
        page.wait_for_timeout(WAIT)
        assert page.locator("#preview").is_visible() and page.locator("#form").is_hidden()
        assert 0 <= top(page, "#preview-title") < 200 and top(page, "#send") < height
        assert page.locator("#before").text_content() == before
        if _ == 0:
            page.get_by_role("button", name="Change my answers").click()
            assert page.locator("#form").is_visible() and page.locator("#preview").is_hidden()
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator("#outcome").filter(has_text="Thank you").wait_for()
    page.wait_for_timeout(WAIT)
    assert "Thank you" in page.locator("#outcome").text_content()
    assert 0 <= top(page, "#outcome") < height
    assert page.locator("#form").is_hidden() and page.locator("#preview").is_hidden()
    assert site.study(name).row.reports == 1


def test_numbers_are_understood_in_the_language_of_the_page(visit, site):
    """A decimal comma is a comma; what may be a thousands separator is asked again."""
    name = site.add("commas")
    for lang, written, read in (
        ("de", "7,5", "7,5"),
        ("de", "7.5", "7,5"),
        ("de", "0,125", "0,125"),
        ("en", "7,5", "7.5"),
        ("en", " 7.125 ", "7.125"),
        ("en", "8", "8"),
        ("en", "1,000", None),
        ("de", "1.000", None),
        ("en", "7.5.1", None),
        ("en", "15", None),
        ("en", "-1", None),
        ("en", "seven", None),
    ):
        page = visit(f"/s/{name}?lang={lang}", **PHONE)
        page.wait_for_selector("#form:not([hidden])")
        page.locator("[name=hours]").fill(written)
        page.locator("button[type=submit]").click()
        if read is None:
            said = page.locator("[name=hours]").evaluate("(one) => one.validationMessage")
            assert ("von 0 bis 14" if lang == "de" else "from 0 to 14") in said, written
            assert page.locator("#preview").is_hidden()
        else:
            page.wait_for_selector("#preview:not([hidden])")
            assert page.locator("#before").text_content() == read
        page.context.close()


def test_one_attribute_is_asked_once_and_answers_all_questions_about_it(visit, site):
    name = site.add("attributes", HOURS + LONG)
    manifest = json.loads(site.study(name).manifest.content)
    assert {arm["name"] for arm in manifest["arms"]} == {"hours", "type", "long"}, "no question is asked apart"
    page = visit(f"/s/{name}")
    page.wait_for_selector("#form:not([hidden])")
    assert page.locator("legend").all_text_contents() == ["How long did you sleep?", "What are you?"]
    drawn = """async (url) => {
      const study = await (await import('/static/sottovoce.js')).open(url);
      return Object.values(await study.preview({type: "lark", hours: 9.5})).slice(0, 2);
    }"""
    asked = dict(page.evaluate(drawn, f"/v1/studies/{name}") for _ in range(40))  # opening the study draws a question
    assert asked == {"hours": 9.5, "type": "lark", "long": 9.5}
    page.get_by_label("lark").check()
    page.locator("[name=hours]").fill("9.5")
    page.locator("button[type=submit]").click()
    page.locator("#send").click()
    page.locator("#outcome").filter(has_text="Thank you").wait_for()
    missing = """async (url) => {
      const study = await (await import('/static/sottovoce.js')).open(url);
      try { await study.preview({type: "lark"}); } catch (problem) { return problem.message; }
    }"""
    assert page.evaluate(missing, f"/v1/studies/{name}") == "The question 'hours' needs an answer."


def test_a_closed_study_says_so_at_once(visit, site):
    name = site.add("closed")
    answered, dashboard = visit(f"/s/{name}"), visit(f"/studies/{name}")
    answered.locator("[name=hours]").fill("7")
    answered.locator("button[type=submit]").click()
    answered.locator("#send").click()
    answered.locator("#outcome").filter(has_text="Thank you").wait_for()
    assert dashboard.locator(".qr").is_visible()
    close(site, name)
    dashboard.locator(".invite").wait_for(state="hidden")
    for lang, said in (("en", "This study is closed."), ("de", "Diese Studie ist abgeschlossen.")):
        page = visit(f"/s/{name}?lang={lang}", **PHONE)
        page.wait_for_timeout(WAIT)
        assert said in page.locator("main").text_content()
        assert page.locator("#form").is_hidden() and page.locator("fieldset").count() == 0
        assert page.locator("#problem").is_hidden()
        assert spent(page, name) == 0
    assert visit(f"/studies/{name}").locator(".qr").is_hidden()
    answered.reload()  # what was sent is still shown
    answered.locator("#history li").wait_for()


def test_a_study_that_closes_while_it_is_answered_costs_nothing(visit, site):
    name = site.add("closing")
    page = visit(f"/s/{name}", **PHONE)
    page.locator("[name=hours]").fill("7")
    page.locator("button[type=submit]").click()
    page.wait_for_selector("#preview:not([hidden])")
    close(site, name)
    page.locator("#send").click()
    page.locator("#outcome").filter(has_text="This study is closed.").wait_for()
    page.wait_for_timeout(WAIT)
    assert "closed" in page.locator("#outcome").text_content()
    assert page.locator("#form").is_hidden() and page.locator("#preview").is_hidden()
    assert page.locator("#nothing").is_visible()
    assert spent(page, name) == 0


def test_a_report_that_waits_when_its_study_closes_is_taken_back(visit, site):
    name = site.add("waiting")
    page = visit(f"/s/{name}")
    page.locator("[name=hours]").fill("7")
    page.locator("button[type=submit]").click()
    page.wait_for_selector("#preview:not([hidden])")
    page.context.set_offline(True)
    page.locator("#send").click()
    page.locator("#outcome").filter(has_text="Kept on this device").wait_for()
    close(site, name)
    page.context.set_offline(False)
    page.locator("#history li").wait_for(state="detached")
    assert spent(page, name) == 0
    assert site.study(name).row.reports == 0


def test_events_are_answered_again(visit, site):
    name = site.add("events", unit="event")
    page = visit(f"/s/{name}")
    for turn in range(2):
        page.locator("[name=hours]").fill("7")
        page.locator("button[type=submit]").click()
        page.locator("#send").click()
        page.locator("#outcome").filter(has_text="Thank you").wait_for()
        page.wait_for_timeout(2500)
        assert page.locator("#form").is_visible() and page.locator("[name=hours]").input_value() == ""
        assert page.locator("#history li").count() == turn + 1
    assert site.study(name).row.reports == 2
