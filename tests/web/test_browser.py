"""The shipped bundle in a real browser: what it sends is counted once, and it refuses what it must."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sottovoce as sv
from scripts.fuzz.hostile import RECIPES
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.specs import canonical
from sottovoce.privacy.blackbox import audit_black_box
from tests.service.studies import everyone, grr
from tests.web.conftest import collector_at_work, counted

VECTORS = Path(__file__).parents[2] / "clients" / "web" / "vectors"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
OPEN = "async ([url, options]) => { window.study = await sottovoce.open(url, options); return study.state(); }"
SEND = "async (answer) => await study.send({type: answer})"
PROBLEM = """async ([url, options]) => {
  try { await sottovoce.open(url, options); return null; }
  catch (problem) { return [problem.name, problem.code, problem.message]; }
}"""
REFUSED = (
    "async (answer) => { try { return await study.send({type: answer}); } catch (problem) { return problem.code; } }"
)


def wait_for(page: Any, state: str) -> None:
    """Until the one report of the page's study has a state."""
    waiting = """async (state) => {
      for (let i = 0; i < 400; i++) {
        if ((await study.sent())[0]?.state === state) return true;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return false;
    }"""
    assert page.evaluate(waiting, state), f"The report is not {state} after 20 seconds."


# --- sending --------------------------------------------------------------------------------------------------------
def test_a_report_is_counted_and_its_bytes_are_those_that_were_shown(opened, collector):
    page = opened()
    assert page.evaluate(OPEN, [collector.study_url, {"limit": 1}]) == "open"
    shown = page.evaluate(
        """async () => {
          const one = await study.preview({type: "owl"});
          const again = await study.preview({type: "owl"});
          const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
          return {...one, bytes: hex(one.bytes), same: hex(one.bytes) === hex(again.bytes), payload: hex(one.payload)};
        }"""
    )
    assert shown["same"]
    assert shown["before"] == "owl"
    (sent,) = shown["after"]["answers"]
    assert sent["from"] == sent["to"] in ("lark", "owl", "neither")
    assert page.evaluate(SEND, "owl")["state"] == "accepted"
    assert counted(collector) == 1
    (kept,) = page.evaluate("() => study.sent()")
    assert kept["body"] == shown["bytes"]
    assert kept["state"] == "accepted"
    assert "owl" not in json.dumps({**kept, "name": ""})  # the answer before noise is kept nowhere
    assert page.evaluate(REFUSED, "lark") == "answered"
    assert page.evaluate("() => study.state()") == "answered"
    spent = page.evaluate("() => study.spent()")
    assert 0.99 < spent["study"] == spent["total"] <= 1
    assert counted(collector) == 1


@pytest.mark.parametrize("kind", ["module", "script"])
def test_three_lines_in_somebody_elses_page(browser, served, collector, kind):
    lines = {
        "module": """<script type="module">
          import {{ open }} from "{address}/static/sottovoce.js";
          const study = await open("{study}", {{ limit: 1 }});
          document.title = (await study.send({{ type: "owl" }})).state;
          </script>""",
        "script": """<script src="{address}/static/sottovoce.script.js"></script>
          <script>sottovoce.open("{study}", {{ limit: 1 }}).then((study) => study.send({{ type: "owl" }}))
          .then((sent) => document.title = sent.state)</script>""",
    }[kind]
    served.pages["/stranger"] = "<!doctype html><p>My page</p>" + lines.format(
        address=collector.address, study=collector.study_url
    )
    page = browser.new_page()
    page.goto(f"{served.url}/stranger")
    page.wait_for_function("document.title === 'accepted'")
    assert counted(collector) == 1
    page.context.close()


def test_offline_and_back(opened, collector):
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    opened.context.set_offline(True)
    assert page.evaluate(SEND, "lark")["state"] == "queued"
    (before,) = page.evaluate("() => study.sent()")
    assert before["attempts"] == 0
    opened.context.set_offline(False)
    wait_for(page, "accepted")
    (after,) = page.evaluate("() => study.sent()")
    assert (after["id"], after["payload"]) == (before["id"], before["payload"])
    assert counted(collector) == 1


def test_a_lost_answer_is_followed_by_the_same_bytes(opened, collector):
    page = opened()
    bodies: list[bytes] = []

    def lose(route: Any) -> None:
        bodies.append(route.request.post_data_buffer)
        if len(bodies) == 1:
            route.fetch()  # it arrives and is counted, but the answer is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/reports", lose)
    page.evaluate(OPEN, [collector.study_url, {}])
    assert page.evaluate(SEND, "owl")["state"] == "queued"
    wait_for(page, "accepted")
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]
    assert counted(collector) == 1


def test_a_page_that_is_closed_while_it_sends(opened, collector):
    page = opened()
    page.route("**/reports", lambda route: None)  # no answer ever
    page.evaluate(OPEN, [collector.study_url, {}])
    page.evaluate("() => { study.send({type: 'owl'}); }")
    wait_for(page, "queued")
    page.close()
    again = opened()
    assert again.evaluate(OPEN, [collector.study_url, {}]) == "answered"
    wait_for(again, "accepted")
    assert counted(collector) == 1


def test_two_tabs_answer_once(opened, collector):
    pages = [opened(), opened()]
    for page in pages:
        page.evaluate(OPEN, [collector.study_url, {}])
    for page in pages:
        page.evaluate("() => { window.done = study.send({type: 'owl'}).then((one) => one.state, (one) => one.code); }")
    assert sorted(page.evaluate("() => done") for page in pages) == ["accepted", "answered"]
    assert counted(collector) == 1


RACE = """async ([url, count]) => {
  const study = await sottovoce.open(url);
  const shown = (await study.preview({type: "lark"})).payload;
  const answers = Array.from({length: count}, (_, turn) => ({type: turn % 2 ? "owl" : "lark"}));
  const sent = await Promise.all(answers.map((one) => study.send(one)));
  const kept = await study.sent();
  const first = kept.find((one) => one.id === sent[0].id);
  return {
    ids: sent.map((one) => one.id), states: sent.map((one) => one.state), kept: kept.map((one) => one.id),
    shown: Array.from(shown), first: first.payload, spent: (await study.spent()).study, epsilon: study.epsilon,
  };
}"""


def test_reports_that_are_sent_at_once_have_their_own_id_noise_and_charge(opened, tmp_path):
    count = 6
    with collector_at_work(tmp_path / "events", everyone(grr()), unit="event") as events:
        found = opened().evaluate(RACE, [events.study_url, count])
        assert len(set(found["ids"])) == count == len(set(found["kept"]))
        assert found["states"] == ["accepted"] * count
        assert bytes(found["shown"]).hex() == found["first"]  # the report that was shown is the first one
        assert found["spent"] == pytest.approx(count * found["epsilon"])
        assert counted(events) == count


def test_a_send_that_fails_keeps_the_noise_that_was_shown(opened, tmp_path):
    fails = """async (url) => {
      const study = await sottovoce.open(url);
      const shown = async () => Array.from((await study.preview({type: "lark"})).bytes).join();
      const before = await shown();
      const failed = await Promise.allSettled([study.send({}), study.send({type: "nobody"})]);
      const after = await shown();
      const { id } = await study.send({type: "lark"});
      const kept = (await study.sent()).find((one) => one.id === id).body.match(/../g).map((one) => parseInt(one, 16));
      return [failed.map((one) => one.status), before === after, kept.join() === before, (await shown()) === before];
    }"""
    with collector_at_work(tmp_path / "events", everyone(grr()), unit="event") as events:
        found = opened().evaluate(fails, events.study_url)
        assert found == [["rejected", "rejected"], True, True, False]
        assert counted(events) == 1


def test_opting_out_deletes_what_is_unsent(opened, collector):
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    opened.context.set_offline(True)
    page.evaluate(SEND, "owl")
    assert page.evaluate("() => study.optOut()") == 1
    opened.context.set_offline(False)
    assert page.evaluate("() => study.sent()") == []
    assert page.evaluate("() => study.spent()") == {"window": 0, "study": 0, "total": 0}
    assert page.evaluate(REFUSED, "owl") == "opted_out"
    page.evaluate("() => study.flush()")
    assert counted(collector) == 0


# --- refusing -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "script",
    [
        "Object.defineProperty(window, 'indexedDB', {value: undefined})",
        "indexedDB.open = () => { throw new DOMException('', 'SecurityError') }",
    ],
)
def test_without_storage_a_repeated_study_is_refused_and_says_why(opened, browser, served, tmp_path, script):
    rappor = everyone(sv.mechanism("rappor", sv.Categories(["lark", "owl", "neither"]), epsilon=1))
    with collector_at_work(tmp_path / "other", rappor) as repeated:
        page = opened(script)
        name, code, said = page.evaluate(PROBLEM, [repeated.study_url, {}])
    assert (name, code) == ("SottovoceError", "no_storage")
    assert "keeps nothing" in said


def test_without_storage_a_study_is_answered_once(opened, collector):
    page = opened("Object.defineProperty(window, 'indexedDB', {value: undefined})")
    page.evaluate(OPEN, [collector.study_url, {}])
    assert not page.evaluate("() => study.lasting")
    assert page.evaluate(SEND, "owl")["state"] == "accepted"
    assert page.evaluate(REFUSED, "owl") == "answered"


def test_a_memo_is_kept_and_answers_once_in_each_epoch(opened, tmp_path):
    rappor = everyone(sv.mechanism("rappor", sv.Categories(["lark", "owl", "neither"]), epsilon=1))
    with collector_at_work(tmp_path / "other", rappor) as repeated:
        page = opened()
        page.evaluate(OPEN, [repeated.study_url, {}])
        assert page.evaluate(SEND, "owl")["state"] == "accepted"
        once = page.evaluate("() => study.spent()")
        assert page.evaluate(REFUSED, "owl") == "answered"
        tomorrow = "async (url) => { study = await sottovoce.open(url, {now: () => Date.now() + 864e5}); }"
        page.evaluate(tomorrow, repeated.study_url)
        assert page.evaluate(SEND, "owl")["state"] == "accepted"
        assert page.evaluate("() => study.spent()") == once  # the same value again costs nothing more
        assert counted(repeated) == 2
        # Another study that gets reports of this value: it counts there as well, and once altogether.
        manifest = repeated.study(repeated.name).manifest
        other = replace(manifest, facts=replace(manifest.facts, purpose="Another study."))
        page.evaluate(OPEN, [other.content.decode(), {}])
        assert page.evaluate(SEND, "owl")["state"] == "queued"
        assert page.evaluate("() => study.spent()") == once
        page.evaluate(OPEN, [repeated.study_url, {}])
        assert page.evaluate("() => study.spent()") == once


def test_a_later_round_says_the_same_about_the_study(opened, collector):
    """It names the study by a hash that it only claims: with another unit a person would be asked again and again."""
    first = collector.study(collector.name).manifest
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    assert page.evaluate(SEND, "owl")["state"] == "accepted"
    later = first.next(first.stage)
    page.evaluate(OPEN, [later.content.decode(), {}])
    assert page.evaluate(REFUSED, "owl") == "answered"
    page.evaluate(OPEN, [replace(later, facts=replace(first.facts, unit="event")).content.decode(), {}])
    assert page.evaluate(REFUSED, "owl") == "privacy"


def test_a_manifest_whose_true_epsilon_exceeds_the_stated_one_is_refused(opened, collector):
    plain = json.loads(collector.study(collector.name).manifest.content)
    plain["arms"][0]["mechanism"]["channel"]["keep"] = (1 << 53) - 1
    page = opened()
    name, code, said = page.evaluate(PROBLEM, [canonical(plain).decode(), {}])
    assert (name, code) == ("SottovoceError", "privacy")
    assert "larger epsilon than it claims" in said


@pytest.mark.parametrize("options", [{"limit": 0.99}, {"limit": "0.999999"}, {"lifetimeLimit": 0.5}])
def test_a_limit_of_the_participant_is_kept(opened, collector, options):
    page = opened()
    assert page.evaluate(PROBLEM, [collector.study_url, options])[1] == "privacy"


def test_a_lifetime_is_kept_over_studies(opened, collector, tmp_path):
    more = everyone(sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon="0.75"))
    with collector_at_work(tmp_path / "other", more) as other:
        page = opened()
        page.evaluate(OPEN, [collector.study_url, {"lifetimeLimit": 1.5}])
        assert page.evaluate(SEND, "owl")["state"] == "accepted"
        page.evaluate(OPEN, [other.study_url, {"lifetimeLimit": 1.5}])
        assert page.evaluate(REFUSED, "owl") == "privacy"
        assert counted(other) == 0


def test_an_answer_outside_is_refused_without_being_repeated(opened, collector):
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    said = page.evaluate(
        "async () => { try { await study.send({type: 'secret'}) } catch (one) { return one.message } }"
    )
    assert said == "An answer must be one of the 3 categories."


def test_hostile_specifications_never_stop_the_page(opened):
    texts = [recipe(Random(seed), 4000).decode(errors="replace") for recipe in RECIPES for seed in range(6)]
    read = """async (texts) => {
      const odd = [];
      for (const text of texts) {
        const began = performance.now();
        try { (await sottovoce.mechanism(text)).epsilon; }
        catch (problem) { if (problem.name !== "SottovoceError") odd.push(`${problem} ${text.slice(0, 200)}`); }
        if (performance.now() - began > 5000) odd.push(`slow ${text.slice(0, 200)}`);
      }
      return odd;
    }"""
    page = opened()
    assert page.evaluate(read, texts) == []
    assert page.evaluate(read, [one.decode() if isinstance(one, bytes) else one for one in ("", "null", "[]")]) == []


# --- the bytes of the shipped bundle --------------------------------------------------------------------------------
def test_the_shipped_bundle_draws_the_shared_vectors(opened):
    vectors = [one for one in json.loads((VECTORS / "mechanisms.json").read_text()) if "refused" not in one]
    drawn = """async (vectors) => {
      const wrong = [];
      for (const one of vectors) {
        const mechanism = await sottovoce.mechanism(one.spec);
        const coins = await sottovoce.seeded(one.seed);
        const message = (value) => {
          if (!mechanism.memoised) return mechanism.randomize(value, coins);
          const cohort = mechanism.drawCohort(coins);
          return mechanism.answerFrom(mechanism.remember(value, coins, cohort), coins, cohort);
        };
        const sent = Array.from({length: one.count}, (_, turn) => message(one.answers[turn % one.answers.length]));
        const all = new Uint8Array(await new Blob(sent).arrayBuffer());
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
        const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
        if (hex !== one.digest || mechanism.epsilon !== Number(one.epsilon)) wrong.push(one.spec.name);
      }
      return wrong;
    }"""
    assert opened().evaluate(drawn, vectors) == []


class PageSource:
    """Messages that the shipped bundle draws in a page, with the browser's own randomness."""

    def __init__(self, page: Any, spec: dict[str, Any]) -> None:
        self.page = page
        page.evaluate("async (spec) => { window.audited = await sottovoce.mechanism(spec); }", json.dumps(spec))

    def many(self, value: Any, count: int) -> list[bytes]:
        found = self.page.evaluate(
            """([value, count]) => Array.from({length: count}, () => Array.from(audited.randomize(value),
              (byte) => byte.toString(16).padStart(2, "0")).join(""))""",
            [value, count],
        )
        return [bytes.fromhex(one) for one in found]


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "hadamard", "subset"])
def test_the_black_box_audit_finds_no_leak(opened, name):
    mechanism = sv.mechanism(name, sv.Integers(0, 3), epsilon=1)
    source = PageSource(opened(), mechanism.spec())
    found = audit_black_box(source, [0, 3], claimed="1", samples=4000, skip=16)
    assert not found.refuted
    # It has the power to see more: half of the budget would be refuted.
    if name == "grr":
        assert audit_black_box(source, [0, 3], claimed="0.5", samples=4000, skip=16).refuted


def test_the_manifest_of_the_collector_is_read_as_the_package_reads_it(opened, collector):
    page = opened()
    page.evaluate(OPEN, [collector.study_url, {}])
    known: Manifest = collector.study(collector.name).manifest
    assert page.evaluate("() => [study.manifest.hash, study.id, study.epsilon]") == [
        known.hash,
        collector.name,
        known.stage.epsilon,
    ]
