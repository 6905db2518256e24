"""``python -m benchmarks.dashboard``: the dashboard of a study with 50 questions, in a real browser.

A collector in a process of its own has some reports of every question. Chromium opens the dashboard, several times with
an empty cache; then single reports arrive at a rate while the page is open. The page itself notes when it changed and
which number of reports it showed; the collector says how many it has counted. Needs Chromium (`make system-deps`).
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.collector import Served, play
from benchmarks.timing import Row, mark, table
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import CBOR_TYPE, Batch

QUESTIONS = 50
CHROMIUM = "/usr/bin/chromium"
MOST = 1000  # reports of a batch
# What a question asks, and an answer to it.
KINDS: tuple[tuple[str, Callable[[random.Random], object]], ...] = (
    (
        'ask = "frequency"\ncategories = ["never", "seldom", "often", "always"]\nmissing = ["refused"]',
        lambda rng: rng.choice(["never", "seldom", "often", "often", "always", "refused"]),
    ),
    ('ask = "mean"\nlow = 0\nhigh = 14\nunit = "hours"\nmissing = ["don\'t know"]', lambda rng: rng.uniform(5, 9)),
    ('ask = "distribution"\nlow = 0\nhigh = 100\nbuckets = 16', lambda rng: rng.betavariate(2, 5) * 100),
    (
        'ask = "group-mean"\nby = ["north", "east", "west"]\nlow = 0\nhigh = 10\nwhole = true',
        lambda rng: (rng.choice(["north", "east", "west"]), rng.randint(2, 8)),
    ),
    ('ask = "frequency"\ncategories = ["yes", "no"]', lambda rng: rng.choice(["yes", "no", "no"])),
)
WATCH = """() => {
  window.changes = [];
  const live = document.getElementById("live");
  const shown = () => Number(live.querySelector(".reports").textContent.replaceAll(",", ""));
  new MutationObserver(() => window.changes.push([Date.now() / 1000, shown()])).observe(live, { childList: true });
}"""
LOADED = """() => {
  const [page] = performance.getEntriesByType("navigation");
  return [page.loadEventEnd, page.responseEnd, page.transferSize];
}"""


def study_file(questions: int = QUESTIONS) -> str:
    """A study with questions of all kinds in turn."""
    head = (
        '[study]\nname = "fifty"\nowner = "A benchmark"\ncontact = "bench@example.org"\nunit = "person"\n'
        'purpose = "To measure the dashboard."\nepsilon = "2"\n'
    )
    asked = (
        f'[questions.q{place + 1:02d}]\n{KINDS[place % len(KINDS)][0]}\ntext = "Question number {place + 1}?"\n'
        for place in range(questions)
    )
    return "\n".join([head, *asked])


def batches(manifest: Manifest, reports: int, size: int, seed: int = 1) -> list[Batch]:
    """Reports of honest devices, each arm's in batches of at most so many."""
    rng = random.Random(seed)
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    by_arm: dict[int, list[tuple[bytes, bytes]]] = {}
    while reports:
        report_id = rng.randbytes(16)
        arm = manifest.arm_of(report_id)
        asked, mechanism = manifest.asked(arm), manifest.stage.arms[arm].mechanism
        if mechanism.takes_id(report_id):
            value = KINDS[(int(asked.name[1:]) - 1) % len(KINDS)][1](rng)
            payload = mechanism.randomize(asked.answer(value), report_id=report_id)[16:]
            by_arm.setdefault(arm, []).append((report_id, payload))
            reports -= 1
    found = []
    for arm, pairs in by_arm.items():
        for start in range(0, len(pairs), size):
            ids, payloads = (b"".join(part) for part in zip(*pairs[start : start + size], strict=True))
            found.append(Batch(manifest.prefix, epoch, manifest.number, arm, ids, payloads))
    rng.shuffle(found)
    return found


def requests(study: str, found: list[Batch]) -> list[bytes]:
    """As they travel."""
    made = []
    for one in found:
        body = one.to_cbor()
        head = f"POST /v1/studies/{study}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {CBOR_TYPE}\r\n"
        made.append(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return made


def loads(browser: Any, address: str, times: int, when: str) -> list[Row]:
    """How long it takes until the page is loaded, with every estimate and chart, each time with an empty cache."""
    found, sizes = [], []
    for _ in range(times):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address, wait_until="load")
        page.locator(".question svg").first.wait_for()
        loaded, _, size = page.evaluate(LOADED)
        visible = page.evaluate("document.querySelectorAll('.question:has(svg)').length")
        found.append(loaded / 1000)
        sizes.append(size)
        context.close()
        if visible != QUESTIONS:
            raise AssertionError(f"{visible} charts of {QUESTIONS} questions")
    return [
        Row(f"first load {when}", 1000 * found[0], "ms"),
        Row("other loads, median", 1000 * statistics.median(found[1:] or found), "ms"),
        Row("slowest load", 1000 * max(found), "ms", 1000.0, "max"),
        Row("size of the page", max(sizes) / 1024, "KiB"),
    ]


def updates(browser: Any, address: str, served: Served, made: list[bytes], rate: float) -> list[Row]:
    """What an open page shows while reports arrive."""
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda one: problems.append(str(one)))
    page.on("console", lambda one: problems.append(one.text) if one.type == "error" else None)
    page.goto(address, wait_until="load")
    page.evaluate(WATCH)
    counted: list[tuple[float, int]] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.1):
            counted.append((time.time(), served.reports()))

    watcher = threading.Thread(target=look)
    watcher.start()
    sent: list[Any] = []
    sender = threading.Thread(target=lambda: sent.append(play(served.port, made, rate)))
    began, cpu = time.time(), served.cpu()
    sender.start()
    while sender.is_alive():
        page.wait_for_timeout(200)
    seconds, cpu = time.time() - began, served.cpu() - cpu
    total = served.reports()
    page.wait_for_function(
        "(total) => window.changes.at(-1)?.[1] === total", arg=total, timeout=30_000
    )  # the last report is shown too
    settled = time.time() - began - seconds
    changes = page.evaluate("window.changes")
    done.set()
    watcher.join()
    ((_, waits, failed),) = sent
    while_sending = [one for one in changes if one[0] <= began + seconds]
    lags = [_age(at, shown, counted) for at, shown in while_sending]
    gaps = [after[0] - before[0] for before, after in pairwise(changes)]
    return [
        Row("reports that arrived", len(made) / seconds, "per second"),
        Row("requests that failed", failed, ""),
        Row("wait of a report, median", 1000 * waits[len(waits) // 2], "ms"),
        Row("updates of the page", len(while_sending) / seconds, "per second"),
        Row("longest time between updates", max(gaps, default=0), "s"),
        Row("age of what a new update shows, median", statistics.median(lags or [0]), "s"),
        Row("age of what a new update shows, most", max(lags, default=0), "s"),
        Row("until the last report is shown", settled, "s"),
        Row("errors in the page", len(problems), ""),
        Row("processor time of the collector", 100 * cpu / seconds, "% of a core"),
    ]


def _age(at: float, shown: int, counted: list[tuple[float, int]]) -> float:
    """For how long the collector had counted more than a page showed at a moment."""
    more = [when for when, count in counted if count > shown and when <= at]
    return at - more[0] if more else 0.0


def address(served: Served) -> str:
    """Of the dashboard."""
    return served.url.replace("/v1/studies/", "/studies/")


def _played(served: Served, made: list[bytes]) -> None:
    """Sent by a thread of its own, since the browser's has a loop already."""
    sender = threading.Thread(target=play, args=(served.port, made))
    sender.start()
    sender.join()


def main() -> int:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description="Measure the dashboard.")
    parser.add_argument("--reports", type=int, default=20_000, help="that are counted before")
    parser.add_argument("--rate", type=float, default=1000.0, help="reports a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--loads", type=int, default=7)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        path = Path(folder)
        served = Served(path, str(path / "store.sqlite"), study_file())
        try:
            made = requests(served.study, batches(served.manifest, round(given.rate * given.seconds), 1, seed=2))
            _played(served, requests(served.study, batches(served.manifest, given.reports, MOST)))
            rows = loads(browser, address(served), given.loads, "of a new study")
            served.end()
            served = Served(path, str(path / "store.sqlite"), study_file())
            rows += loads(browser, address(served), given.loads, "after a start")
            rows += updates(browser, address(served), served, made, given.rate)
        finally:
            served.end()
    lines = [[row.name, f"{row.value:.3g}", row.unit, mark(row.ok)] for row in rows]
    sys.stdout.write(table(["dashboard of 50 questions", "measured", "", ""], lines) + "\n")
    return 0 if all(row.ok is not False for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
