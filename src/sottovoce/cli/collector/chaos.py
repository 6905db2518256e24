"""`sottovoce chaos`: a collector that is killed again and again under load. What was acknowledged is counted once.

Every participant has an answer of their own, so a count of two in a cell that one report was sent for proves double
counting. Requests and answers are dropped, requests are sent twice, ids come with other bytes, clocks are wrong, and
for a while the disk is full. What each device sent is known here, so the counts can be computed again from it.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sottovoce.cli.collector.crowd import CollectorProcess
from sottovoce.client.outbox import Outgoing
from sottovoce.client.participant import Participant, today
from sottovoce.client.tick import NoTick
from sottovoce.client.transport import HttpTransport, Interrupted, Reply, Unreached
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.errors import CollectorError, ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch

PEOPLE = 1000  # different answers; a participant beyond has that of an earlier one
THREADS = 12
FEWEST, MOST = 30, 300  # reports that are acknowledged before a kill
PATIENCE = 15.0  # seconds that these may take
ROOM = 256 * 1024  # bytes that a full disk still takes
STUDY = """\
[study]
name = "chaos"
owner = "sottovoce chaos"
contact = "privacy@example.org"
purpose = "Every participant has an answer of their own."
unit = "person"
epsilon = "20"

[questions.who]
ask = "shares"
text = "Who are you?"
low = 0
high = {last}
whole = true

[questions.spread]
ask = "variance"
text = "How long?"
low = 0
high = 1
"""


@dataclass(slots=True)
class Faults(HttpTransport):
    """A network that loses requests and answers, sends twice, and lets others use the same id."""

    rate: float = 0.06
    seen: Counter[str] = field(default_factory=Counter)
    chance: random.Random = field(default_factory=random.Random)

    def post(self, url: str, body: bytes, kind: str) -> Reply:
        fate = self.chance.random() / self.rate
        if fate < 1:
            self.seen["requests dropped"] += 1
            raise Unreached("The request was dropped.")
        reply = HttpTransport.post(self, url, body, kind)
        self.seen[f"status {reply.status}"] += 1
        if fate < 2:
            self.seen["answers dropped"] += 1
            raise Interrupted("The answer was dropped.")
        if fate < 3:
            self.seen["sent twice"] += 1
            with suppress(CollectorError):
                return HttpTransport.post(self, url, body, kind)
        elif fate < 4 and b'"accepted":1' in reply.body:
            self._conflict(url, body, kind)
        return reply

    def _conflict(self, url: str, body: bytes, kind: str) -> None:
        """The id of a report that was counted, with another payload."""
        one = Batch.from_cbor(body)
        other = Batch(
            one.manifest, one.epoch, one.round, one.arm, one.ids, bytes([one.payloads[0] ^ 1]) + one.payloads[1:]
        )
        with suppress(CollectorError):
            said = HttpTransport.post(self, url, other.to_cbor(), kind).body
            self.seen["conflicts" if b"conflict" in said else "other bytes refused"] += 1


@dataclass(slots=True)
class Load:
    """Participants who answer until they are told to stop."""

    url: str
    seed: int
    devices: list[Participant] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    acknowledged: int = 0
    ending: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, threads: int = THREADS) -> list[threading.Thread]:
        """Begin."""
        crew = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(threads)]
        for thread in crew:
            thread.start()
        return crew

    def _work(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        transport = Faults(keep=True, chance=chance)
        while not self.ending.is_set():
            with suppress(CollectorError):
                manifest = self._manifest(transport)
                while not self.ending.is_set() and self._one(manifest, transport, chance):
                    pass
            time.sleep(0.05)
        transport.close()
        with self._lock:
            self.seen.update(transport.seen)

    def _manifest(self, transport: HttpTransport) -> Manifest:
        """The current one, read once by all threads."""
        content = transport.get(f"{self.url}/manifest").body
        with self._lock:
            known = self.manifests.get(hashlib.sha256(content).hexdigest())
            if known is None:
                known = Manifest.from_spec(content)
                self.manifests[known.hash] = known
            return known

    def _one(self, manifest: Manifest, transport: Faults, chance: random.Random) -> bool:
        """One participant; whether the collector is there, and in this round."""
        days = chance.choice((0, 0, 0, 0, 0, 0, -1, 1, 5, -5))
        device = Participant(None, tick=NoTick(), transport=transport, today=lambda: today() + timedelta(days))
        with self._lock:
            place = len(self.devices)
            self.devices.append(device)
        found = device.answer(manifest, {"who": place % PEOPLE, "spread": chance.random()}, url=self.url)
        if found.state == "queued":
            found = next(iter(device.send()), found)
        with self._lock:
            self.acknowledged += found.state == "accepted"
        return found.state not in ("queued", "outdated_manifest") or days > 1

    def wait_for(self, more: int) -> None:
        """Until so many more reports are acknowledged."""
        target, end = self.acknowledged + more, time.monotonic() + PATIENCE
        while self.acknowledged < target and time.monotonic() < end:
            time.sleep(0.005)

    def settle(self) -> None:
        """Everyone sends what is left, without faults; whose clock is days ahead is refused until then."""
        transport = HttpTransport(keep=True)
        for device in self.devices:
            object.__setattr__(device, "transport", transport)
            device.send()
        transport.close()

    def entries(self) -> Iterator[Outgoing]:
        """All reports that were made."""
        for device in self.devices:
            yield from device.reports()


def chaos(kills: int, store: str | None, *, seed: int, as_json: bool) -> bool:
    """Run it, print what was found, and say whether nothing was lost or counted twice."""
    if kills < 1:
        raise ParameterError("At least one kill is needed.")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sottovoce-chaos-") as folder:
        file = Path(folder) / "study.toml"
        # The comment makes the study a new one in a database that knows others.
        file.write_text(STUDY.format(last=PEOPLE - 1) + f"# {Path(folder).name}\n", encoding="utf-8")
        place = store or str(Path(folder) / "store.sqlite")
        collector = CollectorProcess(str(file), place, PEOPLE)
        collector.start()
        try:
            load = Load(collector.url, seed)
            crew = load.run()
            for number in range(kills):
                load.wait_for(chance.randint(FEWEST, MOST) if collector.most_bytes is None else FEWEST)
                collector.kill()
                full = store is None and number == kills // 2
                collector.most_bytes = _largest(Path(folder)) + ROOM if full else None
                try:
                    collector.start()
                except CollectorError:  # the disk is too full even to begin
                    collector.most_bytes = None
                    collector.start()
            load.ending.set()
            for thread in crew:
                thread.join()
            if collector.most_bytes is not None:
                collector.kill()
                collector.most_bytes = None
                collector.start()
            load.settle()
            found = _compared(load, collector.get("tallies"), collector.get("checksum"))
        finally:
            collector.stop()
    found = {"kills": kills, "store": "postgresql" if store else "sqlite", **found}
    if as_json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name}: {value}")
    return not found["lost"] and not found["double"] and bool(found["counts_agree"])


def _largest(folder: Path) -> int:
    return max(file.stat().st_size for file in folder.iterdir())


def _compared(load: Load, tallies: Any, checksum: Any) -> dict[str, Any]:
    """What the collector counted beside what it acknowledged."""
    counted: Counter[tuple[int, int, int]] = Counter()
    for arm in tallies["tallies"] if isinstance(tallies, dict) else tallies:
        for cell, count in arm["cells"]:
            counted[arm["round"], arm["arm"], cell] += count
    sure: Counter[tuple[int, int, int]] = Counter()
    maybe: Counter[tuple[int, int, int]] = Counter()
    states: Counter[str] = Counter()
    for entry in load.entries():
        states[entry.state] += 1
        if entry.state in ("accepted", "queued") or entry.attempts > 1:
            for cell in _cells(load.manifests[entry.manifest], entry):
                (sure if entry.state == "accepted" else maybe)[cell] += 1
    lost = sum(max(0, count - counted[cell]) for cell, count in sure.items())
    double = sum(max(0, count - sure[cell] - maybe[cell]) for cell, count in counted.items())
    return {
        "acknowledged": states["accepted"],
        "lost": lost,
        "double": double,
        "counts_agree": states["accepted"] <= checksum["reports"] <= states["accepted"] + sum(states.values()),
        "reports": checksum["reports"],
        "rounds": max(manifest.number for manifest in load.manifests.values()),
        "states": dict(sorted(states.items())),
        "faults": dict(sorted(load.seen.items())),
    }


def _cells(manifest: Manifest, entry: Outgoing) -> Iterator[tuple[int, int, int]]:
    """Where the collector counts a report."""
    mechanism = manifest.stage.arms[entry.arm].mechanism
    report = codec.decode(mechanism.channel, entry.payload)
    public = id_words(entry.id) if mechanism.channel.publics else (0, 0)
    for cell, amount in mechanism.statistic.add(mechanism.channel, report, public):
        for _ in range(amount):
            yield entry.round, entry.arm, cell
