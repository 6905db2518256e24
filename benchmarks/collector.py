"""``python -m benchmarks.collector``: how many reports a collector takes, stored durably before each answer.

A process sends prepared requests over a few connections to a collector in another process, both on this machine. The
rates depend on what else runs here, so the load of the machine and the processor time of the collector are printed too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.timing import Row, dump, mark, si, table
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import CBOR_TYPE, Batch

STUDY = """
[study]
name = "bench"
owner = "benchmark"
contact = "bench@example.org"
purpose = "To measure the speed of the collector."
unit = "event"
epsilon = "1"

[questions.answer]
ask = "frequency"
categories = ["a", "b", "c", "d"]
text = "Which?"
"""
CONNECTIONS = 64
READINGS = 20  # of memory
MOST_GROWTH = 2.0  # bytes a report, once caches are full: a store of ids in memory would take 16 and more
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Sender(asyncio.Protocol):
    """A connection that sends the next request as soon as it has the answer to the last."""

    def __init__(self, run: Run) -> None:
        self.run, self.data, self.sent = run, b"", 0.0
        self.transport: Any = None
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.run.free(self)

    def send(self, request: bytes, due: float) -> None:
        self.busy, self.sent = True, due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        found = _LENGTH.search(self.data, 0, end)
        if found is None or len(self.data) < end + 4 + int(found[1]):
            return
        good, self.data, self.busy = self.data.startswith(b"HTTP/1.1 200"), b"", False
        self.run.answered(time.perf_counter() - self.sent, good)
        self.run.free(self)


class Run:
    """Prepared requests, sent as fast as they are answered, or at a rate."""

    def __init__(self, requests: list[bytes], rate: float | None) -> None:
        self.requests, self.rate = deque(requests), rate
        self.total, self.waits, self.failed = len(requests), [], 0  # type: ignore[var-annotated]
        self.idle: list[Sender] = []
        self.due: deque[tuple[bytes, float]] = deque()
        self.done = asyncio.Event()

    def free(self, sender: Sender) -> None:
        if self.rate is None:
            if self.requests:
                sender.send(self.requests.popleft(), time.perf_counter())
        elif self.due:
            sender.send(*self.due.popleft())
        else:
            self.idle.append(sender)

    def answered(self, seconds: float, good: bool) -> None:
        self.waits.append(seconds)
        self.failed += not good
        if len(self.waits) == self.total:
            self.done.set()

    async def pace(self) -> None:
        """A request that has no free connection waits, and its wait counts."""
        start, made = time.perf_counter(), 0
        while self.rate is not None and self.requests:
            now = time.perf_counter()
            while self.requests and start + made / self.rate <= now:
                due, request = start + made / self.rate, self.requests.popleft()
                made += 1
                if self.idle:
                    self.idle.pop().send(request, due)
                else:
                    self.due.append((request, due))
            await asyncio.sleep(0.001)


async def _played(port: int, run: Run, connections: int) -> float:
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Sender(run), "127.0.0.1", port)
    pacing = asyncio.create_task(run.pace())
    await run.done.wait()
    await pacing
    return time.perf_counter() - start


def play(
    port: int, requests: list[bytes], rate: float | None = None, connections: int = CONNECTIONS
) -> tuple[float, list[float], int]:
    """Seconds, the wait of each request, and how many failed."""
    import uvloop

    async def main() -> tuple[float, list[float], int]:
        run = Run(requests, rate)
        seconds = await _played(port, run, connections)
        return seconds, sorted(run.waits), run.failed

    return uvloop.run(main())


def prepared(manifest: Manifest, study: str, count: int, size: int) -> list[bytes]:
    """Requests of `size` reports each."""
    epoch = manifest.facts.collection.epoch(datetime.now(UTC).date())
    found = []
    for _ in range(count):
        body = Batch(
            manifest.prefix, epoch, manifest.number, 0, secrets.token_bytes(16 * size), bytes([1]) * size
        ).to_cbor()
        head = (
            f"POST /v1/studies/{study}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {CBOR_TYPE}\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


class Served:
    """A collector in a process of its own."""

    def __init__(self, folder: Path, store: str, study: str = STUDY) -> None:
        (folder / "study.toml").write_text(study)
        command = [sys.executable, "-m", "sottovoce", "serve", str(folder / "study.toml"), "--port", "0"]
        self.process = subprocess.Popen([*command, "--store", store], stdout=subprocess.PIPE, text=True)
        if self.process.stdout is None:
            raise AssertionError
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.split(":")[2].partition("/")[0])
        with urlopen(f"{self.url}/manifest") as answer:
            self.manifest = Manifest.from_spec(answer.read())
        self.study = self.url.rpartition("/")[2]

    def reports(self) -> int:
        with urlopen(f"{self.url}/checksum") as answer:
            return int(json.loads(answer.read())["reports"])

    def cpu(self) -> float:
        """Processor seconds of the collector so far."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident megabytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)


def measure(served: Served, *, quick: bool) -> list[Row]:
    """Rates of single reports and of batches, and the wait at half the load."""
    part = 4 if quick else 1
    play(served.port, prepared(served.manifest, served.study, 2_000, 1))
    rows: list[Row] = []
    for name, count, size, target in (
        ("single reports", 40_000 // part, 1, 4_000.0),
        ("batches of 100", 6_000 // part, 100, 25_000.0),
        ("batches of 1000", 800 // part, 1000, 25_000.0),
    ):
        requests = prepared(served.manifest, served.study, count, size)
        before, cpu = served.reports(), served.cpu()
        seconds, _, failed = play(served.port, requests, connections=CONNECTIONS if size < 1000 else 12)
        used = served.cpu() - cpu
        if failed or served.reports() - before != count * size:
            raise AssertionError("Reports were refused or lost.")
        unit = "requests/s" if size == 1 else "reports/s"
        rows.append(Row(name, count * size / seconds, unit, target, "min", {"cpu": count * size / used}))
    requests = prepared(served.manifest, served.study, 16_000 // part, 1)
    _, waits, _ = play(served.port, requests, rate=2_000)
    for share, target in ((0.5, None), (0.99, 0.050)):
        wait = waits[int(share * (len(waits) - 1))]
        rows.append(Row(f"wait at 2,000 requests/s, {share:.0%}", wait, "s", target, "max", {}))
    return rows


def flat(served: Served, reports: int) -> list[Row]:
    """Memory while very many reports are counted: caches fill in the first quarter, then it must not grow."""
    step = reports // READINGS
    found, start, rates = [], time.perf_counter(), []
    for _ in range(READINGS):
        requests = prepared(served.manifest, served.study, step // 1000, 1000)
        seconds, _, failed = play(served.port, requests, connections=12)
        if failed:
            raise AssertionError("Reports were refused.")
        found.append(served.memory())
        rates.append(step / seconds)
        print(f"  {served.reports():,} reports, {found[-1]:.0f} MB, {rates[-1]:,.0f}/s", file=sys.stderr, flush=True)
    first = READINGS // 4
    rows = [
        Row(f"memory after {count * step:,} reports", found[count - 1], "MB", None, "max", {})
        for count in (1, first, 2 * first, READINGS)
    ]
    slope = growth([step * (place + 1) for place in range(first - 1, READINGS)], found[first - 1 :])
    rows.append(Row("growth over the last three quarters", slope, "bytes/report", MOST_GROWTH, "max", {}))
    rows.append(Row("seconds", time.perf_counter() - start, "s", None, "max", {}))
    return rows


def growth(reports: list[int], megabytes: list[float]) -> float:
    """The slope of the line of least squares through readings of memory, in bytes for each report."""
    centre, mean = sum(reports) / len(reports), sum(megabytes) / len(megabytes)
    top = sum((x - centre) * (y - mean) for x, y in zip(reports, megabytes, strict=True))
    return top / sum((x - centre) ** 2 for x in reports) * 1024**2


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.collector", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--store", default=None, metavar="URL", help="a PostgreSQL database instead of SQLite")
    parser.add_argument("--flat", type=int, default=None, metavar="N", help="instead: memory over N reports")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        served = Served(Path(folder), args.store or str(Path(folder) / "bench.sqlite"))
        try:
            rows = measure(served, quick=args.quick) if args.flat is None else flat(served, args.flat)
        finally:
            served.end()
    load = os.getloadavg()[0]
    if args.json:
        print(dump({"load": load, "cores": os.cpu_count(), "rows": [row.as_dict() for row in rows]}))
    else:
        lines = [
            [row.name, si(row.value), row.unit, si(row.extra["cpu"]) if "cpu" in row.extra else "", mark(row.ok)]
            for row in rows
        ]
        print(table(["measure", "value", "unit", "per processor second", ""], lines))
        print(f"{os.cpu_count()} cores, load {load:.1f}: the collector shares them with its sender and with others.")
    return int(args.check and any(row.ok is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
