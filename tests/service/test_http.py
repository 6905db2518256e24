"""The collector over HTTP: routes, problems with remedies, forms of estimates, administration."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.exchange.wire import CBOR_TYPE, JSON_TYPE
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.privacy.manipulation import what_if
from sottovoce.service.app import Application
from sottovoce.service.collector import MOST_LEVELS, Collector
from sottovoce.service.http import admin, public
from sottovoce.service.http.headers import SECURITY
from sottovoce.service.http.openapi import DOCUMENT
from sottovoce.service.invitations import add_token, invite
from sottovoce.service.problems import PROBLEMS
from sottovoce.service.results import REPEATED
from sottovoce.service.shuffler.opening import sealed_route_of
from sottovoce.service.shuffler.unsealing import new_key
from sottovoce.service.stores.base import CLOSED
from sottovoce.service.stores.sqlite import SQLiteStore
from sottovoce.tally.tally import Tally
from tests.patience import PATIENCE
from tests.service.studies import SOURCE, TYPE, add, batch_of, collecting, drawn, everyone, grr, send

A, B = (bytes([n]) * 16 for n in (1, 2))


class Site:
    """A collector, its routes and one study."""

    def __init__(self, collector: Collector, client: TestClient, study: str, log: io.StringIO) -> None:
        self.collector, self.client, self.study, self.log = collector, client, study, log

    @property
    def manifest(self) -> Manifest:
        return self.collector.study(self.study).manifest

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(path.replace("STUDY", f"/v1/studies/{self.study}"), **more)

    def post(self, body: bytes, kind: str = CBOR_TYPE) -> Any:
        return self.client.post(f"/v1/studies/{self.study}/reports", content=body, headers={"content-type": kind})

    def act(self, path: str, token: str | None = None, *, key: str | None = "k", **more: Any) -> Any:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        if key is not None:
            headers["idempotency-key"] = key
        return self.client.post(f"/v1/admin/studies{path}", headers=headers, **more)


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    open_ones: list[Any] = []

    def make(collection: Collection | None = None, **limits: int) -> Site:
        store = SQLiteStore(tmp_path / "store.sqlite")
        study = add(store, everyone(grr()), collection)
        log = io.StringIO()
        context = collecting(store, log=log, **limits)
        collector = context.__enter__()
        open_ones.append((context, store))
        return Site(collector, TestClient(Application(collector)), study, log)

    yield make
    for context, store in open_ones:
        context.__exit__(None, None, None)
        store.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


def problem(response: Any) -> str:
    """The code of a problem document, whose shape is checked."""
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found["type"] == f"/problems/{found['code']}" and found["status"] == response.status_code
    assert PROBLEMS[found["code"]].status == response.status_code and found["title"] and found["detail"]
    return str(found["code"])


# --- reports ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [CBOR_TYPE, JSON_TYPE, "application/json; charset=utf-8"])
def test_batches_of_both_kinds_are_counted(site: Site, kind: str) -> None:
    batch = batch_of(site.manifest, 0, [A, B], [b"\x00", b"\x03"])
    body = batch.to_cbor() if kind == CBOR_TYPE else batch.to_json()
    expected = {"accepted": 1, "duplicates": 0, "failed": [{"index": 1, "code": "invalid_payload"}]}
    first = site.post(body, kind)
    assert (first.status_code, first.json()) == (200, expected)
    assert site.post(body, kind).json() == {**expected, "accepted": 0, "duplicates": 1}
    assert site.get("STUDY/checksum").json()["reports"] == 1


def test_every_refusal_has_its_code(site: Site) -> None:
    good = batch_of(site.manifest, 0, [A], [b"\x00"]).to_cbor()
    assert problem(site.post(b"garbage")) == "invalid_batch"
    assert problem(site.post(b"{" * 100_000, JSON_TYPE)) == "invalid_batch"
    assert problem(site.post(good, "text/plain")) == "unsupported_type"
    assert problem(site.post(bytes(1 << 20))) == "too_large"
    assert problem(site.client.post("/v1/studies/nowhere/reports", content=good)) == "unknown_study"
    assert problem(site.client.put(f"/v1/studies/{site.study}/reports", content=good)) == "method_not_allowed"
    assert problem(site.get("/nowhere")) == "not_found"
    assert problem(site.client.post("/healthz")) == "method_not_allowed"
    assert problem(site.get("STUDY/manifest?hash=00")) == "not_found"
    assert problem(site.get("/v1/studies/nowhere/estimates")) == "unknown_study"
    for query in ("level=2", "level=0", "level=1", "level=-1", "level=1e400", "level=nan", "level=x", "format=xml"):
        assert problem(site.get(f"STUDY/estimates?{query}")) == "invalid_request"
    outdated = site.post(good.replace(site.manifest.prefix, bytes(8)))
    assert problem(outdated) == "outdated_manifest" and outdated.json()["manifest"] == site.manifest.hash
    assert site.get("STUDY/manifest").headers["study-state"] == "open"
    site.collector.set_state(site.study, CLOSED, by="test")
    assert problem(site.post(good)) == "study_closed"
    said = site.get("STUDY/manifest").headers
    assert said["study-state"] == "closed" and "study-state" in said["access-control-expose-headers"]
    assert site.get("STUDY/checksum").json()["reports"] == 0


def test_a_full_queue_says_when_to_come_back(make_site: Callable[..., Site]) -> None:
    site = make_site(most_waiting=1)
    gate: Future[None] = Future()
    Thread(target=lambda: site.collector.writer.call(gate.result)).start()
    while site.collector.writer._waiting:
        pass
    first = site.collector.submit(site.study, batch_of(site.manifest, 0, [A], [b"\x00"]), Future())
    second = site.post(batch_of(site.manifest, 0, [B], [b"\x00"]).to_cbor())
    assert problem(second) == "queue_full" and int(second.headers["retry-after"]) > 0
    gate.set_result(None)
    first.future.result(PATIENCE)
    assert site.post(batch_of(site.manifest, 0, [B], [b"\x00"]).to_cbor()).json()["accepted"] == 1


def test_a_full_disk_says_so_and_nothing_is_lost(site: Site) -> None:
    writer = site.collector.store._writer  # type: ignore[attr-defined]
    for batch in drawn(site.manifest, ["lark"] * 100, 1):
        assert site.post(batch.to_cbor()).json()["accepted"] == 100
    ((pages,),) = writer.execute("PRAGMA page_count").fetchall()
    writer.execute(f"PRAGMA max_page_count = {pages}")
    refused = []
    for turn in range(2, 6):
        for batch in drawn(site.manifest, ["lark"] * 1000, turn):
            response = site.post(batch.to_cbor())
            if response.status_code != 200:
                assert problem(response) == "disk_full" and "retry-after" in response.headers
                refused.append(batch)
    assert refused and site.get("/readyz").status_code == 503
    counted = site.get("STUDY/checksum").json()["reports"]
    assert counted == 100 + 1000 * (4 - len(refused))
    writer.execute("PRAGMA max_page_count = 1000000")
    assert [site.post(batch.to_cbor()).json()["accepted"] for batch in refused] == [1000] * len(refused)
    assert site.get("/readyz").status_code == 200


def test_a_sealed_study_takes_no_open_reports(make_site: Callable[..., Site]) -> None:
    site = make_site(Collection(sealed_for="0" * 64, batch=100))
    assert problem(site.post(batch_of(site.manifest, 0, [A], [b"\x00"]).to_cbor())) == "sealed_only"


@pytest.mark.parametrize("batch", [None, 100, 10_000])
def test_amplification_is_claimed_for_sealed_studies_only(make_site: Callable[..., Site], batch: int | None) -> None:
    site = make_site(Collection(sealed_for=batch and "0" * 64, batch=batch))
    page = site.get(f"/studies/{site.study}/certificates").text
    if batch is None:
        assert "shuffler" not in page
        return
    (arm,) = site.manifest.stage.arms
    known = shuffled(arm.mechanism, participants=batch, delta=1e-6).epsilon
    assert f"among {batch:,} honest participants" in page
    assert f"at most epsilon {known:.4g} with delta 1e-06" in page


# --- what anyone may read -----------------------------------------------------------------------------------
def test_the_manifest_is_its_bytes_and_its_tag_its_name(site: Site) -> None:
    (row,) = site.get("/v1/studies").json()["studies"]
    assert row["id"] == site.study == site.manifest.hash[:16] and row["state"] == "open"
    found = site.get("STUDY/manifest")
    assert found.content == site.manifest.content and found.headers["etag"] == f'"{site.manifest.hash}"'
    assert site.get("STUDY/manifest", headers={"if-none-match": found.headers["etag"]}).status_code == 304
    assert site.get(f"STUDY/manifest?hash={site.manifest.hash}").content == site.manifest.content


def test_estimates_in_three_forms_are_the_same(site: Site) -> None:
    assert site.get("STUDY/estimates").json()["rows"] == []
    for batch in drawn(site.manifest, ["lark"] * 600 + ["owl"] * 400, 1):
        site.post(batch.to_cbor())
    plain = site.get("STUDY/estimates?level=0.9")
    rows = plain.json()["rows"]
    assert [row["label"] for row in rows] == ["lark", "owl", "neither"]
    assert all(row["low"] < row["estimate"] < row["high"] and row["level"] == 0.9 for row in rows)
    again = site.get("STUDY/estimates?level=0.9", headers={"if-none-match": plain.headers["etag"]})
    assert again.status_code == 304
    text = site.get("STUDY/estimates?level=0.9&format=csv")
    assert text.headers["etag"] != plain.headers["etag"] and len(text.text.splitlines()) == 4
    table = pa.ipc.open_stream(
        site.get("STUDY/estimates?level=0.9", headers={"accept": "application/vnd.apache.arrow.stream"}).content
    ).read_all()
    assert table.column("estimate").to_pylist() == [row["estimate"] for row in rows]
    assert json.loads(table.schema.metadata[b"sottovoce"])["reports"] == 1000


def test_estimates_do_not_parse_the_study_file_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.get("STUDY/estimates")
    monkeypatch.setattr("sottovoce.service.running_study.parse_study", lambda source: pytest.fail("parsed again"))
    for batch in drawn(site.manifest, ["lark"] * 600 + ["owl"] * 400, 1):
        site.post(batch.to_cbor())
    assert len(site.get("STUDY/estimates").json()["rows"]) == 3


def test_anyone_can_estimate_again_from_the_tallies(site: Site) -> None:
    for batch in drawn(site.manifest, ["lark"] * 300, 1):
        site.post(batch.to_cbor())
    found = site.get("STUDY/tallies").json()
    (row,) = found["tallies"]
    tally = Tally.from_bytes(site.get("STUDY/tallies?round=1&arm=0").content)
    assert tally.n == row["reports"] == found["reports"] == 300
    assert [[cell, count] for cell, count in enumerate(tally.cells.tolist())] == row["cells"]
    estimate = tally.mechanism.estimate(tally)
    served = [one["estimate"] for one in site.get("STUDY/estimates").json()["rows"]]
    assert np.allclose(estimate.values, served, rtol=1e-12)
    assert problem(site.get("STUDY/tallies?round=2&arm=0")) == "not_found"
    assert problem(site.get("STUDY/tallies?round=1")) == "invalid_request"


def test_every_code_has_a_page_and_every_page_the_headers(site: Site) -> None:
    for code in PROBLEMS:
        page = site.get(f"/problems/{code}")
        assert page.status_code == 200 and code in page.text and "What to do" in page.text
        assert "http" not in page.text.replace("HTTP status", "")  # nothing is loaded from elsewhere
        assert all(page.headers[name] == value for name, value in SECURITY.items())
    assert problem(site.get("/problems/nothing")) == "not_found"
    assert site.get("/openapi.json").json() == json.loads(json.dumps(DOCUMENT))


def test_estimates_say_what_fake_reports_can_do(site: Site) -> None:
    for batch in drawn(site.manifest, ["lark"] * 200 + ["owl"] * 100, 1):
        site.post(batch.to_cbor())
    found = site.get("STUDY/estimates").json()
    ((moved),) = found["fakes"]["estimates"]
    assert found["alarms"] == [] and found["fakes"]["share"] == 0.01
    assert moved["question"] == "type" and moved["text"].startswith("With 1 % fake reports every share moves by")
    estimates = {row["label"]: row["estimate"] for row in found["rows"]}
    for row in moved["rows"]:
        assert row["low"] < estimates[row["label"]] < row["high"]
        assert row["moves"] == max(row["high"] - estimates[row["label"]], estimates[row["label"]] - row["low"])
    first = site.get("STUDY/estimates?fakes=0.1")
    more = first.json()["fakes"]["estimates"][0]
    assert all(b["moves"] > 9 * a["moves"] for a, b in zip(moved["rows"], more["rows"], strict=True))
    for bad in ("0.6", "-1", "nan", "x"):
        assert problem(site.get(f"STUDY/estimates?fakes={bad}")) == "invalid_request"
    # The same id with other bytes, and ids that nobody draws: both are alarms, also where nothing new was counted.
    forged = next(iter(drawn(site.manifest, ["lark"] * 200 + ["owl"] * 100, 1)))
    changed = bytes((payload + 1) % 3 for payload in forged.payloads)
    assert site.post(replace(forged, payloads=changed).to_cbor()).json()["failed"][0]["code"] == "conflict"
    again = site.get("STUDY/estimates?fakes=0.1", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 200 and "300 reports came with the id of another" in again.json()["alarms"][0]
    ids = [bytes([7]) + number.to_bytes(15, "big") for number in range(60)]
    site.post(batch_of(site.manifest, 0, ids, [b"\x00"] * 60).to_cbor())
    raised = site.get("STUDY/estimates").json()["alarms"]
    assert any(one.startswith("ALARM: first bytes of ids (place 7)") for one in raised)
    stream = pa.ipc.open_stream(site.get("STUDY/estimates?format=arrow").content)
    assert json.loads(stream.schema.metadata[b"sottovoce"])["alarms"] == raised


def test_the_sealed_route_is_described_where_there_is_one(site: Site, tmp_path: Path) -> None:
    private, _ = new_key()
    (tmp_path / "key").write_text(private)
    with_key = TestClient(Application(site.collector, [sealed_route_of(str(tmp_path / "key"))]))
    assert "/v1/studies/{study}/sealed" not in site.get("/openapi.json").json()["paths"]
    assert set(with_key.get("/openapi.json").json()["paths"]["/v1/studies/{study}/sealed"]) == {"post"}


def test_every_route_is_described() -> None:
    routes = {route.path: set(route.methods or ()) - {"HEAD"} for route in [*public.routes(), *admin.routes()]}
    routes["/v1/studies/{study}/reports"] = {"POST"}
    described = {path: {verb.upper() for verb in verbs} for path, verbs in DOCUMENT["paths"].items()}
    assert described == {path: verbs for path, verbs in routes.items() if verbs != {"OPTIONS"}}
    page = (Path(__file__).parents[2] / "docs" / "study/collect.md").read_text(encoding="utf-8")
    for path in described:
        assert path.replace("{study}", "{id}").rpartition("/")[2] in page, path
    assert all(f"`{code}`" in page for code in PROBLEMS)


def test_pages_of_others_may_send_and_read(site: Site) -> None:
    for part in ("reports", "manifest"):
        asked = site.client.options(f"/v1/studies/{site.study}/{part}", headers={"origin": "https://example.org"})
        assert asked.status_code == 204 and asked.headers["access-control-allow-origin"] == "*"
        assert "content-type" in asked.headers["access-control-allow-headers"]
    assert site.get("STUDY/manifest").headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in site.client.get("/v1/admin/log").headers


def test_health_and_metrics(site: Site) -> None:
    site.post(batch_of(site.manifest, 0, [A, B], [b"\x00", b"\x03"]).to_cbor())
    site.post(b"garbage")
    assert site.get("/healthz").text == "ok\n" and site.get("/readyz").text == "ready\n"
    text = site.get("/metrics").text
    for line in (
        'sottovoce_reports_total{outcome="accepted"} 1.0',
        'sottovoce_reports_total{outcome="invalid_payload"} 1.0',
        'sottovoce_problems_total{code="invalid_batch"} 1.0',
        f'sottovoce_study_reports{{round="1",study="{site.study}"}} 1.0',
    ):
        assert line in text.splitlines()
    assert "_created" not in text and "process_" not in text


# --- administration -----------------------------------------------------------------------------------------
def _token(site: Site, *scopes: str) -> str:
    with site.collector.store.transaction() as work:
        return add_token(work, "-".join(scopes), list(scopes))


def test_administration_needs_a_token_of_the_right_scope(site: Site) -> None:
    path = f"/{site.study}/close"
    reader = _token(site, "read")
    missing = site.act(path)
    assert problem(missing) == "unauthorized" and missing.headers["www-authenticate"] == "Bearer"
    assert problem(site.act(path, "0" * 64)) == "unauthorized"
    assert problem(site.act(path, reader)) == "forbidden"
    headers = {"authorization": f"Bearer {reader}"}
    found = site.client.get(f"/v1/admin/studies/{site.study}", headers=headers).json()
    assert (found["state"], found["reports"]) == ("open", 0)
    log = site.client.get("/v1/admin/log", headers=headers).json()["acts"]
    assert [one["act"] for one in log] == ["create", "token"]
    with site.collector.store.read() as work:
        assert reader not in str(work.execute("SELECT * FROM tokens"))


def test_an_act_with_the_same_key_is_done_once(site: Site) -> None:
    manager = _token(site, "manage")
    assert problem(site.act(f"/{site.study}/close", manager, key=None)) == "invalid_request"
    first = site.act(f"/{site.study}/close", manager)
    assert first.json() == {"id": site.study, "state": "closed"}
    assert site.act(f"/{site.study}/close", manager).json() == first.json()
    assert problem(site.act(f"/{site.study}/open", manager)) == "key_reused"
    assert problem(site.act(f"/{site.study}/open", manager, key="other")) == "state_conflict"


@pytest.mark.slow
def test_a_study_is_created_as_a_draft_and_opened(site: Site) -> None:
    manager = _token(site, "manage")
    source = SOURCE.replace(b'"sleep"', b'"other"').replace(b'"20"', b'"1"')
    made = site.act("?participants=1000&draft=true", manager, content=source)
    assert made.status_code == 201 and made.json()["state"] == "draft"
    again = site.act("?participants=1000&draft=true", manager, content=source)
    assert again.json() == made.json()
    name = made.json()["id"]
    manifest = site.collector.study(name).manifest
    batch = batch_of(manifest, 0, [A], [b"\x00"]).to_cbor()
    sent = site.client.post(f"/v1/studies/{name}/reports", content=batch, headers={"content-type": CBOR_TYPE})
    assert problem(sent) == "not_open"
    assert site.act(f"/{name}/open", manager, key="open").json()["state"] == "open"
    sent = site.client.post(f"/v1/studies/{name}/reports", content=batch, headers={"content-type": CBOR_TYPE})
    assert sent.status_code == 200
    edited = source.replace(b'"1"', b'"2"')
    second = site.act("?participants=1000", manager, key="second", content=edited).json()
    assert made.json()["also_open"] == [] and second["also_open"] == [name]
    bad = site.act("?participants=9", manager, key="bad", content=b"[study]\nname = 3")
    assert bad.status_code == 400 and bad.json()["mistakes"]
    assert problem(site.act("?participants=x", manager, key="worse", content=source)) == "invalid_request"


def test_invitations_are_made_once_and_stored_as_hashes(make_site: Callable[..., Site]) -> None:
    site = make_site(Collection(invitations=True))
    inviter = _token(site, "invite")
    path = f"/{site.study}/invitations"
    made = site.act(path, inviter, json={"count": 3})
    tokens = made.json()["invitations"]
    assert made.status_code == 201 and len(set(tokens)) == 3
    assert site.act(path, inviter, json={"count": 3}).json()["invitations"] == tokens
    for body in ({"count": 0}, {"count": 10**9}, {"count": "x"}, {}, []):
        assert problem(site.act(path, inviter, key=str(body), json=body)) == "invalid_request"
    with site.collector.store.read() as work:
        stored = str([work.execute(f"SELECT * FROM {table}") for table in ("invitations", "requests", "acts")])
        assert len(work.execute("SELECT * FROM invitations")) == 3
        assert not any(one in stored or str(bytes.fromhex(one)) in stored for one in tokens)
    batch = batch_of(site.manifest, 0, [A], [b"\x00"], tokens=bytes.fromhex(tokens[0]))
    assert site.post(batch.to_cbor()).json()["accepted"] == 1
    assert problem(site.post(batch_of(site.manifest, 0, [B], [b"\x00"]).to_cbor())) == "token_missing"


def test_an_invitation_does_not_choose_the_id(make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is invited still draws ids until they suit, so the bound of fake reports is that of free ids."""
    issued: list[bool] = []

    def recorded(*positional: Any, **named: Any) -> Any:
        bound = what_if(*positional, **named)
        issued.append(bound.issued)
        return bound

    monkeypatch.setattr("sottovoce.study.display.fake_reports.what_if", recorded)
    site = make_site(Collection(invitations=True))
    with site.collector.store.transaction() as work:
        (token,) = invite(work, 1, site.manifest.study, 1)
    batch = batch_of(site.manifest, 0, [A], [b"\x00"], tokens=bytes.fromhex(token))
    assert site.post(batch.to_cbor()).json()["accepted"] == 1
    page = site.get(f"/studies/{site.study}").text
    assert "of the reports were fake" in page and issued and not any(issued)


def test_levels_that_readers_choose_do_not_fill_the_memory(site: Site) -> None:
    for number in range(12):
        assert site.get(f"STUDY/estimates?level=0.9{number}").status_code == 200
    assert [len(held) for held in site.collector._held.values()] == [MOST_LEVELS]
    first, again = (site.get("STUDY/estimates?level=0.911") for _ in range(2))
    assert first.json() == again.json() and first.json()["level"] == 0.911


def test_intervals_of_devices_that_report_again_say_so(tmp_path: Path) -> None:
    memo = sv.mechanism("basic-rappor", TYPE, epsilon=1, epsilon_forever=2)
    for place, mechanism in enumerate((memo, grr())):
        with SQLiteStore(tmp_path / f"{place}.sqlite") as store:
            study = add(store, everyone(mechanism))
            with collecting(store) as collector:
                assert REPEATED not in collector.outcome(study).notes  # nothing is estimated yet
                (batch, *_) = drawn(collector.study(study).manifest, ["owl"] * 50, 1)
                assert send(collector, study, batch).accepted == 50
                assert (REPEATED in collector.outcome(study).notes) == (mechanism is memo)


def test_the_planner_plans_what_its_sliders_say(site: Site) -> None:
    """Each plan is work for the collector: there are as many as the sliders have places."""
    name = site.manifest.questions[0].name
    for people, epsilon, status in (("1300", "2", 200), ("1258", "2", 400), ("1300", "2.1", 400), ("", "", 400)):
        asked = f"people={people}&epsilon={epsilon}&question={name}&goal=5"
        assert site.get(f"/plan/{site.study}/rows?{asked}").status_code == status


def test_a_bug_says_its_kind_only(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise RuntimeError("somebody's answer")

    monkeypatch.setattr(site.collector, "outcome", broken)
    client = TestClient(Application(site.collector), raise_server_exceptions=False)
    response = client.get(f"/v1/studies/{site.study}/estimates")
    assert problem(response) == "internal_error" and "somebody" not in response.text
    assert response.status_code == 500 and response.json()["id"] in site.log.getvalue()
    assert "RuntimeError" in site.log.getvalue() and "somebody" not in site.log.getvalue()
