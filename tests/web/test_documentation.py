"""The documentation site in a browser: built strictly, no other host, search without a network, accessible."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scripts.docs import site

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("documentation")]
PHONE = {"viewport": {"width": 390, "height": 844}}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
LOOKS = {
    "light": {**DESKTOP, "color_scheme": "light"},
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "phone": {**PHONE, "color_scheme": "light"},
}
LARGEST_INDEX = 1_500_000  # bytes: a reader loads it with the first search


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Output of the strict build of the site. Workers share one build, since two would remove each other's files."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return built_site()
    shared = tmp_path_factory.getbasetemp().parent
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = shared / "site.txt"
        if not kept.exists():
            kept.write_text(built_site(), encoding="utf-8")
        return kept.read_text(encoding="utf-8")


def built_site() -> str:
    done = site.build()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def address(said: str) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site.SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_the_build_has_no_issues_and_pages_name_no_other_host(said: str) -> None:
    assert "No issues found" in said, said
    pages = sorted(site.SITE.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"([^\"]+)\"", text)
        assert [one for one in loaded if re.match(r"(https?:)?//", one)] == [], page
    following = (site.SITE / "guides" / "shares" / "index.html").read_text(encoding="utf-8")
    assert "md-footer__link--next" in following and "md-footer__link--prev" in following


def test_search_finds_pages_and_asks_nobody_else(browser: Any, address: str) -> None:
    from playwright.sync_api import TimeoutError

    index = site.SITE / "search.json"
    assert index.stat().st_size < LARGEST_INDEX and len(json.loads(index.read_text(encoding="utf-8"))["items"]) > 500
    page, asked = browser.new_page(**DESKTOP), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    search = page.get_by_role("combobox", name="Search")
    for _ in range(60):  # the page's script listens some time after it has loaded; a key that is pressed before is lost
        page.keyboard.press("Control+k")
        with contextlib.suppress(TimeoutError):
            search.wait_for(timeout=2_000)
            break
    for words, title in (("ethics board", "For ethics boards"), ("shuffler", "Hide senders")):
        search.fill(words)
        page.get_by_role("option", name=title).first.wait_for()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    page.close()


@pytest.mark.parametrize("path", ["", "study/run-a-survey/", "reference/command-line/", "reference/api/estimating/"])
def test_axe_finds_no_serious_violation(browser: Any, built: Any, address: str, path: str) -> None:
    axe = (site.ROOT / "clients/web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    for look, options in LOOKS.items():
        page = browser.new_page(**options)
        page.goto(address + path)
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((one) => one.violations)")
        bad = [(one["id"], one["nodes"][0]["html"][:160]) for one in found if one["impact"] in ("serious", "critical")]
        assert bad == [], look
        assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
        page.close()
