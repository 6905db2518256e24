"""A collector, a page of somebody else, and a browser."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
MODULE = """<!doctype html><meta charset="utf-8"><title>A page</title><p id="said"></p>
<script type="module">
import * as sottovoce from "{address}/static/sottovoce.js";
window.sottovoce = sottovoce;
</script>"""


class Served:
    """Pages by path, which a test may add to."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = served.pages.get(self.path.partition("?")[0])
                self.send_response(404 if page is None else 200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((page or "").encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    made = Served()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()


@pytest.fixture(scope="session")
def built(require_tool: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build from source. Workers take turns: two installations at once break each other."""
    require_tool("npm")
    folder = tmp_path_factory.mktemp("built")
    with (ROOT / "clients" / "web" / "package.json").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        subprocess.run([ROOT / "scripts" / "web.sh", folder], check=True, timeout=3 * PATIENCE)
    return folder


@pytest.fixture(scope="session")
def browser(require_tool: Callable[[str], str]) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = require_tool("chromium")
    with playwright.sync_playwright() as running:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = running.chromium.launch(executable_path=program, args=arguments, timeout=1000 * PATIENCE)
        for name in ("new_context", "new_page"):
            setattr(found, name, patient(getattr(found, name)))
        yield found
        found.close()


def patient(opening: Callable[..., Any]) -> Callable[..., Any]:
    """Open a context or page that waits for what comes late on a machine under load; by default it is 30 seconds."""

    def opened(**options: Any) -> Any:
        context_or_page = opening(**options)
        context_or_page.set_default_timeout(1000 * PATIENCE)
        return context_or_page

    return opened


@contextmanager
def collector_at_work(folder: Path, protocol: Any, *, sealed: Any = (), **facts: Any) -> Iterator[Any]:
    """The real collector on a port of its own, with one open study; the day is today."""
    from sottovoce.service.app import Application
    from sottovoce.service.http.server import make_server
    from sottovoce.service.stores import open_store
    from tests.service.studies import add, collecting

    folder.mkdir(exist_ok=True)
    store = open_store(str(folder / "store.sqlite"))
    name = add(store, protocol, **facts)
    with collecting(store, days=[datetime.now(UTC).date()]) as collector:
        server, listening = make_server(Application(collector, sealed), "127.0.0.1", 0)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        collector.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        collector.study_url = f"{collector.address}/v1/studies/{name}"
        collector.name = name
        try:
            yield collector
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    store.close()


def counted(collector: Any) -> int:
    """Reports that the collector counted."""
    return sum(arm_counts.reports for arm_counts in collector.study(collector.name).arm_counts)


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Any]:
    from tests.service.studies import everyone, grr

    with collector_at_work(tmp_path, everyone(grr())) as found:
        yield found


@pytest.fixture
def opened(browser: Any, served: Served, collector: Any) -> Iterator[Callable[..., Any]]:
    """`opened()` is a new page with the client of the collector; pages of one test share the browser's storage."""
    context = browser.new_context()
    served.pages["/page"] = MODULE.format(address=collector.address)

    def page(script: str = "") -> Any:
        made = context.new_page()
        if script:
            made.add_init_script(script)
        made.goto(f"{served.url}/page")
        made.wait_for_function("window.sottovoce")
        return made

    page.context = context  # type: ignore[attr-defined]
    yield page
    context.close()
