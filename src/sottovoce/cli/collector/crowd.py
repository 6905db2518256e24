"""A collector as a process of its own, and a crowd of simulated participants that answer it over HTTP."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import OK
from pathlib import Path
from typing import Any, TextIO

from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.client.transport import HttpTransport, fetch_manifest
from sottovoce.core.errors import CollectorError

PATIENCE = 60.0  # seconds until a collector listens
PROCESSES = 2
THREADS = 12  # of each process; each waits for the commit of its report


@dataclass(slots=True)
class CollectorProcess:
    """`sottovoce serve` of a study file, on a port of this machine."""

    study: str
    store: str
    participants: int
    port: int = 0
    url: str = ""
    name: str | None = None  # of the study, where the store may hold others
    log: str = os.devnull
    _process: Any = None
    _said: TextIO | None = None

    def start(self) -> None:
        """Start it, and wait until it listens; the second time on the same port."""
        arguments = ["serve", self.study, "--store", self.store, "--participants", str(self.participants)]
        self._process, self._said = self._launched([*arguments, "--port", str(self.port)])
        while True:
            line = self._said.readline()
            if not line:
                self.kill()
                last = Path(self.log).read_text(encoding="utf-8").splitlines()[-1:]
                raise CollectorError(" ".join(["The collector of this run does not start.", *last]))
            announced = json.loads(line)
            if self.name in (None, announced["study"]):
                break
        self.url = announced["url"]
        self.port = int(self.url.split(":")[2].partition("/")[0])

    def _launched(self, arguments: list[str]) -> tuple[Any, TextIO]:
        """The process, and what it prints."""
        command = [sys.executable, "-m", "sottovoce", *arguments]
        with open(self.log, "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert isinstance(process.stdout, io.TextIOBase)
        return process, process.stdout

    def kill(self) -> None:
        """End it without a warning."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, how)
            self._ended(PATIENCE)
            self._process = None
        if self._said is not None:
            self._said.close()
            self._said = None

    def _ended(self, seconds: float) -> bool:
        """Whether it ends within this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def get(self, path: str) -> Any:
        """A document of the study, in plain data."""
        reply = HttpTransport(timeout=PATIENCE).get(f"{self.url}/{path}")
        if reply.status != OK:
            raise CollectorError(f"The collector answers with status {reply.status}.")
        return json.loads(reply.body)


@dataclass(slots=True)
class SimulatedCrowd:
    """Participants with devices in memory; each answers through the real client code.

    Python runs one thread of a process at a time, so several processes share the participants. In each of them a few
    threads wait for the commits of their reports.
    """

    url: str
    states: Counter[str] = field(default_factory=Counter)

    def answer(
        self, answers: Sequence[dict[str, object]], *, processes: int = PROCESSES, threads: int = THREADS
    ) -> None:
        """Everyone answers once; who meets a full queue comes back."""
        shares = [(self.url, answers[first::processes], threads) for first in range(processes)]
        with multiprocessing.get_context("spawn").Pool(processes, initializer=_leave_interrupts) as pool:
            for states in pool.imap_unordered(_answered, shares):
                self.states.update(states)


def _leave_interrupts() -> None:
    """Ctrl+C reaches all processes of a terminal; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answered(share: tuple[str, Sequence[dict[str, object]], int]) -> Counter[str]:
    """What became of the reports of some participants."""
    study, answers, threads = share
    waiting, states = iter(answers), Counter[str]()
    lock = threading.Lock()

    def work() -> None:
        transport = HttpTransport(keep=True)
        manifest, url = fetch_manifest(study, transport)
        while True:
            with lock:
                one = next(waiting, None)
            if one is None:
                break
            device = Participant(None, tick=Untimed(), transport=transport)
            delivery = device.answer(manifest, one, url=url)
            while delivery.state == "queued":
                time.sleep(max(0.05, delivery.retry_after))
                (delivery,) = device.send()
            if delivery.state == "outdated_manifest":
                manifest, url = fetch_manifest(study, transport)
            with lock:
                states[delivery.state] += 1
        transport.close()

    with ThreadPoolExecutor(threads) as crew:
        for done in [crew.submit(work) for _ in range(threads)]:
            done.result()
    return states
