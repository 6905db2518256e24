"""``python -m benchmarks.over_time``: a year of daily waves, answered by devices of the real client.

Every device is a `Participant` with a file of its own, which draws its turns when it hears of the study. Between its
turns the file waits in an archive on disk, so that memory holds only the devices of a moment. On a turn the device is
started twice, as if a person opened the page again: the second answer must be refused. A collector in this process
counts the reports in a store on disk, and opens and closes the waves by the calendar of the bench.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import sys
import tempfile
import threading
import time
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.timing import Row, dump, mark, si, table
from sottovoce.client.device_file import DeviceFile
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.client.transport import HttpTransport, Reply
from sottovoce.core.errors import PrivacyError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.service.collector import Collector
from sottovoce.service.logs import make_log
from sottovoce.service.stores.sqlite import SQLiteStore

START = date(2027, 1, 1)
STUDY = """
[study]
name = "daily"
owner = "benchmark"
contact = "bench@example.org"
purpose = "To measure a year of daily waves."
unit = "device"
epsilon = "1"
start = 2027-01-01

[repeat]
every = "day"
waves = {waves}
guarantee = "window"
window = {window}

[questions.answer]
ask = "frequency"
categories = ["a", "b", "c", "d"]
text = "Which?"
"""
THREADS = 16
MOST_GROWTH = 16.0  # MB of the process between the second month and the end
READINGS = 30  # days between two readings of memory


class Direct(HttpTransport):
    """Bytes that a device sends, given to the collector of this process; its answers as over HTTP."""

    def __init__(self, collector: Collector, name: str) -> None:
        HttpTransport.__init__(self)
        self.collector, self.name = collector, name

    def post(self, url: str, body: bytes, kind: str) -> Reply:
        one = self.collector.submit(self.name, Batch.from_cbor(body), Future())
        one.future.result(60)
        if one.problem is not None:
            raise AssertionError(one.problem)
        failed = [{"code": code} for _, code in one.failed]
        body = json.dumps({"accepted": one.accepted, "duplicates": one.duplicates, "failed": failed}).encode()
        return Reply(200, body, 0.0)


class Archive:
    """Files of devices that wait for their turn."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.database.execute("CREATE TABLE device (number INTEGER PRIMARY KEY, file BLOB)")
        self.database.execute("PRAGMA synchronous = OFF")
        self.lock = threading.Lock()

    def put(self, number: int, file: DeviceFile) -> None:
        kept = file._kept
        if kept is None:
            raise AssertionError
        content = zlib.compress(kept.serialize(), 1)
        kept.close()
        with self.lock:
            self.database.execute("INSERT OR REPLACE INTO device VALUES (?, ?)", (number, content))

    def get(self, number: int) -> DeviceFile:
        with self.lock:
            (content,) = self.database.execute("SELECT file FROM device WHERE number = ?", (number,)).fetchone()
        file = DeviceFile(None)
        file._kept = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        file._kept.deserialize(zlib.decompress(content))
        return file


class Year:
    """Devices, their turns, and the calendar."""

    def __init__(self, folder: Path, devices: int, waves: int, window: int) -> None:
        self.day, self.waves, self.devices = START, waves, devices
        self.store = SQLiteStore(folder / "store")
        log = make_log(open(folder / "log", "w"))  # noqa: SIM115
        self.collector = Collector(self.store, log=log, today=lambda: self.day)
        self.collector.start()
        self.name = self.collector.create(STUDY.format(waves=waves, window=window).encode(), devices)
        self.manifest: Manifest = self.collector.study(self.name).manifest
        self.archive, self.transport = Archive(folder / "devices"), Direct(self.collector, self.name)
        self.turns: list[list[int]] = [[] for _ in range(waves)]
        self.refused = self.reports = 0
        self.worst = Decimal(0)
        self.lock = threading.Lock()

    def device(self, file: DeviceFile) -> Participant:
        return Participant(file, tick=Untimed(), today=lambda: self.day, transport=self.transport)

    def join(self, number: int) -> None:
        """A device hears of the study and draws its turns."""
        file = DeviceFile(None)
        turns = self.device(file).study_account(self.manifest).turns
        self.archive.put(number, file)
        with self.lock:
            for wave in turns:
                self.turns[wave].append(number)

    def answer(self, number: int) -> None:
        """A device answers on its turn; the second attempt of the day is refused."""
        file = self.archive.get(number)
        device, answer = self.device(file), {"answer": "abcd"[number % 4]}
        delivery = device.answer(self.manifest, answer, url="http://collector.invalid/v1/studies/bench")
        if delivery.state != "accepted":
            raise AssertionError(delivery.state)
        try:
            device.answer(self.manifest, answer)
        except PrivacyError:
            refused = 1
        else:
            refused = 0
        account = device.study_account(self.manifest)
        if account.study > account.study_limit or account.window > account.window_limit:
            raise AssertionError("A device lost more than its study allows.")
        self.archive.put(number, file)
        with self.lock:
            self.reports += 1
            self.refused += refused
            self.worst = max(self.worst, account.study)

    def counted(self) -> list[int]:
        """How many reports the collector holds of each wave."""
        found = dict.fromkeys(range(self.waves), 0)
        outcome = self.collector.outcome(self.name)
        for wave in outcome.waves:
            found[wave.number - 1] = wave.results.reports
        return list(found.values())


def memory() -> float:
    """Resident megabytes of this process."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def play(year: Year) -> list[Row]:
    """All days; the rows of the bench."""
    start, chance = time.perf_counter(), random.Random(1)
    readings: list[float] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for first in range(0, year.devices, 1000):
            list(pool.map(year.join, range(first, min(first + 1000, year.devices))))
        joined = time.perf_counter() - start
        for wave in range(year.waves):
            year.day = START + timedelta(wave)
            year.collector.writer.call(year.collector.writer._upkeep)
            today = year.turns[wave]
            chance.shuffle(today)
            list(pool.map(year.answer, today))
            if wave % READINGS == READINGS - 1 or wave == year.waves - 1:
                readings.append(memory())
                print(f"  day {wave + 1}: {year.reports:,} reports, {readings[-1]:.0f} MB", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - start
    before = time.perf_counter()
    counted = year.counted()
    shown = time.perf_counter() - before
    expected = [len(today) for today in year.turns]
    wrong = sum(abs(one - other) for one, other in zip(counted, expected, strict=True))
    growth = max(readings[2:], default=readings[-1]) - readings[min(1, len(readings) - 1)]
    return [
        Row("reports", float(sum(expected)), "", None, "max", {}),
        Row("reports counted in another wave, twice or not at all", float(wrong), "", 0.5, "max", {}),
        Row("second answers that were not refused", float(year.reports - year.refused), "", 0.5, "max", {}),
        Row("largest loss of a device", float(year.worst), "epsilon", None, "max", {}),
        Row("memory after 60 days", readings[min(1, len(readings) - 1)], "MB", None, "max", {}),
        Row("growth of memory from then on", growth, "MB", MOST_GROWTH, "max", {}),
        Row("results of all waves", shown, "s", None, "max", {}),
        Row("joining", joined, "s", None, "max", {}),
        Row("seconds in all", seconds, "s", None, "max", {}),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.over_time", description=__doc__)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--waves", type=int, default=365)
    parser.add_argument("--window", type=int, default=183, help="days in which a device answers once")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        year = Year(Path(folder), args.devices, args.waves, args.window)
        try:
            rows = play(year)
        finally:
            year.collector.writer.stop()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows.append(Row("largest memory", peak, "MB", None, "max", {}))
    if args.json:
        print(dump({"load": os.getloadavg()[0], "cores": os.cpu_count(), "rows": [row.as_dict() for row in rows]}))
    else:
        lines: list[list[Any]] = [[row.name, si(row.value), row.unit, mark(row.ok)] for row in rows]
        print(table(["measure", "value", "unit", ""], lines))
    return int(args.check and any(row.ok is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
