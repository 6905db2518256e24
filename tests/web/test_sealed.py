"""Sealed studies in a real browser: the shipped bundle seals, a shuffler passes on, and the collector counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sottovoce.core.exchange.study_facts import Collection
from sottovoce.service.http.server import make_server
from sottovoce.service.shuffler.mixer import Mixer
from sottovoce.service.shuffler.opening import sealed_route
from sottovoce.service.shuffler.relay import Relay
from sottovoce.service.shuffler.unsealing import public_key, unseal
from tests.patience import PATIENCE
from tests.service.studies import everyone, grr
from tests.web.conftest import MODULE, collector_at_work, counted
from tests.web.steps import answer, begin

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
KEY = X25519PrivateKey.generate()
SEND = """async ([url, answer]) => {
  const study = await sottovoce.open(url, {limit: 1});
  const shown = await study.preview({type: answer});
  const sent = await study.send({type: answer});
  const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
  return [sent.state, hex(shown.bytes), (await study.sent())[0].body];
}"""


@pytest.fixture
def shuffled(tmp_path) -> Iterator[Any]:
    """A collector with a key, and the shuffler before it."""
    collection = Collection(sealed_for=public_key(KEY), batch=2)
    with collector_at_work(tmp_path, everyone(grr()), sealed=[sealed_route(KEY)], collection=collection) as collector:
        relay = Relay(Mixer(str(tmp_path / "mixer")), collector.address, least=2)
        server, listening = make_server(relay.application(), "127.0.0.1", 0)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        collector.relay, collector.shuffler = relay, f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield collector
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def test_a_page_of_somebody_else_and_the_participants_page_send_seals(browser, served, shuffled):
    manifest = shuffled.study(shuffled.name).manifest
    served.pages["/sealed"] = MODULE.format(address=shuffled.shuffler)
    stranger = browser.new_page()
    requests: list[str] = []
    stranger.on("request", lambda one: requests.append(one.url))
    stranger.goto(f"{served.url}/sealed")
    stranger.wait_for_function("window.sottovoce")
    state, shown, sent = stranger.evaluate(SEND, [f"{shuffled.shuffler}/v1/studies/{shuffled.name}", "owl"])
    assert state == "accepted" and shown == sent
    assert not [one for one in requests if one.startswith(shuffled.address)]  # the collector sees nothing of it
    batch = unseal(KEY, manifest, bytes.fromhex(sent))
    assert (len(batch), batch.manifest, batch.epoch) == (1, manifest.prefix, 0)
    stranger.context.close()

    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.goto(f"{shuffled.shuffler}/s/{shuffled.name}")
    begin(page)
    answer(page, {"type": "owl"})
    page.locator("#send").click()
    page.locator("[data-outcome=passed]").filter(has_text="on its way").wait_for()
    assert complaints == [] and counted(shuffled) == 0  # nobody was passed on yet
    assert shuffled.relay.pass_on() == 2
    assert counted(shuffled) == 2
    # At the collector there is no form: whoever answered there would show it an address.
    page.goto(f"{shuffled.address}/s/{shuffled.name}")
    assert page.locator("form").count() == 0 and page.locator("[data-notice=elsewhere]").is_visible()
    page.goto(f"{shuffled.address}/studies/{shuffled.name}")
    assert page.locator("img").count() == 0 and "through a shuffler" in (page.locator("main").text_content() or "")
    page.context.close()


def test_a_key_that_seals_nothing_is_refused(browser, served, shuffled):
    manifest = json.loads(shuffled.study(shuffled.name).manifest.content)
    manifest["study"]["collection"]["sealed_for"] = "00" * 32
    served.pages["/weak"] = MODULE.format(address=shuffled.shuffler)
    page = browser.new_page()
    page.goto(f"{served.url}/weak")
    page.wait_for_function("window.sottovoce")
    answer = """async (text) => {
      const study = await sottovoce.open(text, {});
      try { return await study.send({type: "owl"}); } catch (problem) { return [problem.kind, problem.message]; }
    }"""
    kind, said = page.evaluate(answer, json.dumps(manifest))
    assert kind == "privacy" and "seals nothing" in said
    page.context.close()
