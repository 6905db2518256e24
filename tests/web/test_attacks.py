"""Hostile studies, servers and devices against the shipped pages and the shipped bundle, in a real browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sottovoce.service.app import Application
from sottovoce.service.collector import Collector
from sottovoce.service.http.server import make_server
from sottovoce.service.logs import make_log
from sottovoce.service.stores import open_store
from tests.patience import PATIENCE
from tests.web.conftest import counted
from tests.web.steps import answer, begin, sent

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
SCRIPT = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TEXT = json.dumps(SCRIPT + "'\"><svg/onload=window.hacked=1>")
HOSTILE = f"""
[study]
name = "hostile"
owner = {TEXT}
contact = "https://example.org/'><script>window.hacked=1</script>"
purpose = {TEXT}
unit = "person"
epsilon = "4"

[questions.type]
ask = "frequency"
text = {TEXT}
categories = [{TEXT}, "owl", "</svg><script>window.hacked=1</script>"]
missing = ["<b onmouseover=window.hacked=1>refused"]

[questions.hours]
ask = "mean"
text = {TEXT}
low = 0
high = 14
unit = "<i>h"

[questions.cups]
ask = "group-mean"
text = "Cups?"
by = ["<script>window.hacked=1</script>", "b"]
low = 0
high = 3
whole = true
"""
OPEN = "async ([url, options]) => { window.study = await sottovoce.open(url, options); return study.state(); }"
SEND = """async (answer) => {
  try { return (await study.send({type: answer})).state; }
  catch (problem) { return [problem.name, problem.kind]; }
}"""
EMPTIED = """async () => {
  while ((await study.sent()).length) await new Promise((done) => setTimeout(done, 20));
}"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A collector with a study whose every text is a script."""
    store = open_store(str(tmp_path_factory.mktemp("hostile") / "store.sqlite"))
    collector: Any = Collector(store, log=make_log(), today=lambda: datetime.now(UTC).date())
    collector.start()
    collector.name = collector.create(HOSTILE.encode(), 1000)
    server, listening = make_server(Application(collector), "127.0.0.1", 0)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    collector.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    yield collector
    server.should_exit = True
    thread.join(PATIENCE)
    collector.stop()


def test_texts_of_a_study_are_never_code(browser, hostile):
    """The content security policy is switched off: it must not be what hides a text that was not escaped."""
    page = browser.new_context(bypass_csp=True).new_page()
    name = hostile.name
    paths = [
        "/",
        f"/studies/{name}",
        f"/s/{name}",
        f"/plan/{name}",
        f"/studies/{name}/live",
        f"/studies/{name}/type.svg",
    ]

    def visit(path: str) -> None:
        page.goto(hostile.address + path)
        page.wait_for_timeout(300)
        assert page.evaluate("window.hacked") is None, path
        assert page.evaluate("document.querySelectorAll('main script, svg script, [onerror], [onload]').length") == 0

    visit(f"/s/{name}")
    assert page.locator("legend").first.text_content() == json.loads(TEXT)  # shown as it was written
    begin(page)
    answer(page, {"type": "owl", "hours": "7", "cups": ("b", "2")})
    assert page.evaluate("window.hacked") is None
    sent(page)
    for path in [*paths, f"/studies/{name}/cups/pairs"]:
        visit(path)
    page.context.close()


def test_the_policy_forbids_scripts_in_a_page(browser, hostile):
    page = browser.new_page()
    for path in ("/", f"/studies/{hostile.name}", f"/s/{hostile.name}", f"/plan/{hostile.name}", "/problems/conflict"):
        page.goto(hostile.address + path)
        page.evaluate(
            """() => {
              const made = document.createElement("script");
              made.textContent = "window.hacked = 1";
              document.body.append(made);
              document.body.insertAdjacentHTML("beforeend", "<img src='/nothing' onerror='window.hacked = 1'>");
            }"""
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.hacked") is None, path
        blocked = "fetch('https://example.org/').then(() => 'sent', () => 'blocked')"
        assert page.evaluate(blocked) == "blocked", path
        assert page.evaluate("document.querySelectorAll('[style], style, script:not([src])').length") == 1, path
    page.context.close()


def test_a_manifest_that_is_swapped_before_the_first_sending_gets_nothing(opened, collector):
    manifest = collector.study(collector.name).manifest
    other = manifest.next(manifest.stage)  # another round: of the same study, and as good as the first
    page = opened()
    assert page.evaluate(OPEN, [collector.study_url, {}]) == "open"
    opened.context.set_offline(True)
    assert page.evaluate(SEND, "owl") == "queued"
    bodies: list[Any] = []
    page.route("**/reports", lambda route: (bodies.append(1), route.abort()))
    page.route("**/manifest", lambda route: route.fulfill(body=other.content, content_type="application/json"))
    opened.context.set_offline(False)
    page.evaluate(EMPTIED)
    assert bodies == [] and counted(collector) == 0
    assert page.evaluate("() => study.spent()") == {"window": 0, "study": 0, "total": 0}


def test_a_server_that_gives_another_study_or_more_than_it_says_is_refused(opened, collector):
    manifest = collector.study(collector.name).manifest
    page = opened()
    other = replace(manifest, facts=replace(manifest.facts, purpose="Another purpose."))
    page.route("**/manifest", lambda route: route.fulfill(body=other.content, content_type="application/json"))
    problem = (
        "async (url) => { try { await sottovoce.open(url, {}); } catch (one) { return [one.kind, one.message]; } }"
    )
    kind, said = page.evaluate(problem, collector.study_url)
    assert kind == "study" and "another study" in said


@pytest.mark.parametrize("key", ["__proto__", "constructor", "toString"])
def test_keys_that_every_object_has_are_keys_like_others(opened, collector, key):
    """In the manifest, in answers, and in the texts of a question."""
    text = collector.study(collector.name).manifest.content.decode()
    page = opened()
    problem = "async (text) => { try { await sottovoce.open(text, {}); } catch (one) { return one.name; } }"
    for place in ("{", '{"arms":[{', '"study":{'):
        hostile = text.replace(place, f'{place}"{key}":{{"polluted":true}},', 1)
        assert page.evaluate(problem, hostile) == "SottovoceError", place
    page.evaluate(OPEN, [collector.study_url, {}])
    assert page.evaluate("({}).polluted") is None
    assert page.evaluate("(key) => [study.questions[0].text(key), study.questions[0].label('owl', key)]", key) == [
        page.evaluate("study.questions[0].text('en')"),
        "owl",
    ]
    refused = (
        'async (key) => { try { await study.send(JSON.parse(`{"${key}": 1}`)); } catch (one) { return one.name; } }'
    )
    assert page.evaluate(refused, key) == "SottovoceError"
    assert counted(collector) == 0


def test_storage_that_is_deleted_in_the_middle_is_a_refusal(opened, collector):
    page, other = opened(), opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    deleted = "new Promise((done) => { indexedDB.deleteDatabase('sottovoce').onsuccess = () => done(true) })"
    assert other.evaluate(deleted)
    assert page.evaluate(SEND, "owl") == ["SottovoceError", "storage"]
    assert counted(collector) == 0
    assert page.evaluate(OPEN, [collector.study_url, {}]) == "open"
    assert page.evaluate(SEND, "owl") == "accepted"


def test_a_clock_that_jumps_back_does_not_ask_again(opened, collector):
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    assert page.evaluate(SEND, "owl") == "accepted"
    back = """async (url) => {
      study = await sottovoce.open(url, {now: () => Date.now() - 90 * 864e5});
      return study.state();
    }"""
    assert page.evaluate(back, collector.study_url) == "answered"
    assert page.evaluate(SEND, "owl") == ["SottovoceError", "privacy"]
    assert counted(collector) == 1
