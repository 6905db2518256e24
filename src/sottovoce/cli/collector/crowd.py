"""A collector as a process of its own, and a crowd of simulated participants that answer it over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.client import OK
from typing import Any

from sottovoce.client.participant import Participant
from sottovoce.client.tick import NoTick
from sottovoce.client.transport import HttpTransport, fetch_manifest
from sottovoce.core.errors import CollectorError

PATIENCE = 60.0  # seconds until a collector listens
THREADS = 48  # each waits for the commit of its report


@dataclass(slots=True)
class CollectorProcess:
    """`sottovoce serve` of a study file, on a port of this machine."""

    study: str
    store: str
    participants: int
    port: int = 0
    url: str = ""
    name: str | None = None  # of the study, where the store may hold others
    point: str | None = None  # where it ends itself, or what happens to it: see `fragile`
    _process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens; the second time on the same port."""
        arguments = ["serve", self.study, "--store", self.store, "--participants", str(self.participants)]
        program = ["sottovoce"] if self.point is None else ["sottovoce.cli.collector.fragile", self.point]
        command = [sys.executable, "-m", *program, *arguments, "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            if not line:
                self.kill()
                raise CollectorError("The collector of this run does not start.")
            found = json.loads(line)
            if self.name in (None, found["study"]):
                break
        self.url = found["url"]
        self.port = int(self.url.split(":")[2].partition("/")[0])

    def kill(self) -> None:
        """End it without a warning."""
        self._end(signal.SIGKILL)

    def died(self, seconds: float) -> bool:
        """Whether it ends by itself within this time."""
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
        return True

    def stop(self) -> None:
        """Ask it to end."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def get(self, path: str) -> Any:
        """A document of the study, in plain data."""
        reply = HttpTransport(timeout=PATIENCE).get(f"{self.url}/{path}")
        if reply.status != OK:
            raise CollectorError(f"The collector answers with status {reply.status}.")
        return json.loads(reply.body)


@dataclass(slots=True)
class SimulatedCrowd:
    """Participants with devices in memory; each answers through the real client code, some threads at a time."""

    url: str
    make: Callable[[], HttpTransport] = lambda: HttpTransport(keep=True)
    states: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, answers: Iterable[dict[str, object]], threads: int = THREADS) -> None:
        """Everyone answers once; who meets a full queue comes back."""
        waiting = iter(answers)

        def work() -> None:
            transport = self.make()
            manifest, url = fetch_manifest(self.url, transport)
            while True:
                with self._lock:
                    one = next(waiting, None)
                if one is None:
                    break
                device = Participant(None, tick=NoTick(), transport=transport)
                found = device.answer(manifest, one, url=url)
                while found.state == "queued":
                    time.sleep(max(0.05, found.retry_after))
                    (found,) = device.send()
                if found.state == "outdated_manifest":
                    manifest, url = fetch_manifest(self.url, transport)
                with self._lock:
                    self.states[found.state] = self.states.get(found.state, 0) + 1
            transport.close()

        crew = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
