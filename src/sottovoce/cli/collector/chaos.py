"""`sottovoce chaos`: a collector that is killed again and again under load. What was acknowledged is counted once.

Every participant has an answer of their own, so a count of two in a cell that one report was sent for proves double
counting. Requests and answers are dropped, requests are sent twice, ids come with other bytes, clocks are wrong, and
for a while the disk is full. Some kills hit a change of round, at each of its steps in turn. What each device sent is
known here, so the counts can be computed again from it.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
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

from sottovoce.cli.collector.fragile import CHANGE, FULL, WAVE, FragileCollector, free_port
from sottovoce.cli.show import note
from sottovoce.client.deliveries import today
from sottovoce.client.outbox import Outgoing
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.client.transport import HttpTransport, Interrupted, Reply, Unreached
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.errors import CollectorError, ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import Batch
from sottovoce.service import operations
from sottovoce.service.running_study import name_of
from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import StoreError

PEOPLE = 1000  # different answers; a participant beyond has that of an earlier one
THREADS = 12
FEWEST, MOST = 30, 300  # reports that are acknowledged before a kill
PATIENCE = 15.0  # seconds that these may take
LONG = 120.0  # seconds until a round has its quota, or a full disk was noticed
FEW = 200  # participants of a study whose change of round is hit
EVERY = 3  # of so many kills one hits a change of round, and one a change of wave
SHOWN = 10  # kills after which the command says how far it is
DISK_FULL = "status 507"
UNDER_LOAD = "under load"
STUDY = """\
[study]
name = "{name}"
owner = "sottovoce chaos"
contact = "privacy@example.org"
purpose = "Every participant has an answer of their own."
unit = "person"
epsilon = "{epsilon}"
"""
# Daily waves in which everyone answers once: whose clock is a day ahead answers the second wave.
WAVES = """start = {start}

[repeat]
every = "day"
waves = 2
guarantee = "report"
"""
# With so large a budget nearly every report is the answer itself.
WHO = f"""
[questions.who]
ask = "frequency"
text = "Who are you?"
low = 0
high = {PEOPLE - 1}
whole = true
"""
# With a small budget the plan has two rounds: the mean first, then squares about it.
SPREAD = """
[questions.spread]
ask = "variance"
text = "How long?"
low = 0
high = 1
"""


Place = tuple[str, int, int, int, int]  # a study, its round, its wave, an arm and a cell


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
    transports: list[Faults] = field(default_factory=list)
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
        self.transports.append(transport)
        while not self.ending.is_set():
            url = self.url
            with suppress(CollectorError):
                manifest = self._manifest(url, transport)
                while not self.ending.is_set() and url == self.url and self._one(manifest, url, transport, chance):
                    pass
            time.sleep(0.05)
        transport.close()

    @property
    def seen(self) -> Counter[str]:
        """What happened to requests."""
        return sum((Counter(one.seen) for one in self.transports), Counter())

    def _manifest(self, url: str, transport: HttpTransport) -> Manifest:
        """The current one, read once by all threads."""
        content = transport.get(f"{url}/manifest").body
        with self._lock:
            known = self.manifests.get(hashlib.sha256(content).hexdigest())
            if known is None:
                known = Manifest.from_spec(content)
                self.manifests[known.hash] = known
            return known

    def _one(self, manifest: Manifest, url: str, transport: Faults, chance: random.Random) -> bool:
        """One participant; whether the collector is there, and in this round."""
        days = chance.choice((0, 0, 0, 0, 0, 0, -1, 1, 5, -5))
        if manifest.facts.repeat is not None:  # the study begins today
            days = min(max(days, 0), 1)
        device = Participant(None, tick=Untimed(), transport=transport, today=lambda: today() + timedelta(days))
        with self._lock:
            place = len(self.devices)
            self.devices.append(device)
        answer = {"who": place % PEOPLE, "spread": chance.random()}
        asked = {one.name: answer[one.name] for one in manifest.questions}
        delivery = device.answer(manifest, asked, url=url)
        if delivery.state == "queued":
            delivery = next(iter(device.send()), delivery)
        with self._lock:
            self.acknowledged += delivery.state == "accepted"
        return delivery.state not in ("queued", "outdated_manifest") or days > 1

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


@dataclass(slots=True)
class Attack:
    """A collector that is killed, and its studies: a new one for each change of round that is to be hit."""

    folder: Path
    collector: FragileCollector
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    urls: list[str] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)

    def study(self, participants: int, *, rounds: bool, waves: bool = False) -> None:
        """Begin another study; its name is that of no other run, since a database may know those."""
        name = f"chaos-{self.run}-{len(self.urls)}"
        file = self.folder / f"{len(self.urls)}.toml"
        text = STUDY.format(name=name, epsilon=2 if rounds else 10 if waves else 20)
        text += WAVES.format(start=today().isoformat()) if waves else ""
        text += SPREAD if rounds else WHO
        file.write_text(text, encoding="utf-8")
        self.collector.study, self.collector.name, self.collector.participants = str(file), name, participants

    def start(self, point: str | None = None) -> str:
        """Start the collector; returns the address of its study."""
        self.collector.point = point
        self.collector.start()
        if self.collector.url not in self.urls:
            self.urls.append(self.collector.url)
        return self.collector.url

    def kill_under_load(self, load: Load, reports: int) -> None:
        """Any moment."""
        load.url = self.start()
        load.wait_for(reports)
        self.collector.kill()
        self.killed[UNDER_LOAD] += 1

    def kill_in_change(self, load: Load, point: str) -> None:
        """A new study, whose first change of round, or of wave, gets as far as this point."""
        if point in CHANGE:
            self.study(FEW, rounds=True)
        else:
            self.study(PEOPLE, rounds=False, waves=True)
        load.url = self.start(point)
        if self.collector.died(LONG):
            self.killed[point] += 1
        else:
            self.killed[UNDER_LOAD] += 1
        self.collector.kill()

    def fill_disk(self, load: Load) -> None:
        """Until senders were told that the disk is full, and were counted again when there was room."""
        self.start(FULL)
        before, end = load.seen[DISK_FULL], time.monotonic() + LONG
        while load.seen[DISK_FULL] == before and time.monotonic() < end:
            time.sleep(0.05)
        load.wait_for(FEWEST)
        self.collector.kill()


def chaos(kills: int, store: str | None, *, seed: int, as_json: bool) -> bool:
    """Run it, print what was found, and say whether nothing was lost or counted twice."""
    if kills < 1:
        raise ParameterError("At least one kill is needed.")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        place = store or str(Path(folder) / "store.sqlite")
        collector = FragileCollector("", place, PEOPLE, free_port(), log=str(Path(folder) / "log"))
        attack = Attack(Path(folder), collector)
        attack.study(PEOPLE, rounds=False)
        try:
            load = Load(attack.start(), seed)
            crew = load.run()
            load.wait_for(FEWEST)
            attack.collector.stop()
            for number in range(kills):
                if number % EVERY == 2:
                    attack.kill_in_change(load, WAVE[(seed + number // EVERY) % len(WAVE)])
                elif number % EVERY == 1:
                    attack.kill_in_change(load, CHANGE[(seed + number // EVERY) % len(CHANGE)])
                else:
                    attack.kill_under_load(load, chance.randint(FEWEST, MOST))
                if number == kills // 2:
                    attack.fill_disk(load)
                if (number + 1) % SHOWN == 0:
                    note(f"{number + 1} of {kills} kills, {load.acknowledged:,} reports acknowledged.")
            attack.start()
            load.wait_for(FEWEST)
            load.ending.set()
            for thread in crew:
                thread.join()
            load.settle()
            outcome = _compared(load, attack.urls)
        finally:
            attack.collector.stop()
        outcome = {
            "kills": kills,
            "store": "postgresql" if store else "sqlite",
            "killed": {point: attack.killed[point] for point in (UNDER_LOAD, *CHANGE, *WAVE) if attack.killed[point]},
            "refused_by_full_disk": load.seen[DISK_FULL],
            **outcome,
            "store_agrees": _agrees(place),
        }
    if as_json:
        print(json.dumps(outcome))
    else:
        for name, value in outcome.items():
            print(f"{name}: {value}")
    agrees = bool(outcome["counts_agree"] and outcome["store_agrees"])
    return agrees and not outcome["lost"] and not outcome["double"]


def _agrees(place: str) -> bool:
    """Whether numbers, checksums and first bytes follow from the ids, and the log of acts is whole."""
    with open_store(place, create=False) as store:
        try:
            operations.verify(store)
            operations.status(store)
        except StoreError:
            return False
    return True


def _compared(load: Load, urls: list[str]) -> dict[str, Any]:
    """What the collector counted beside what it acknowledged, over all studies."""
    counted: Counter[Place] = Counter()
    reports = rounds = 0
    for url in urls:
        tallies = _read(f"{url}/tallies")
        reports += tallies["reports"]
        rounds += max(arm["round"] for arm in tallies["tallies"])
        for arm in tallies["tallies"]:
            for cell, count in arm["cells"]:
                counted[tallies["id"], arm["round"], arm.get("epoch", 0), arm["arm"], cell] += count
    sure: Counter[Place] = Counter()
    maybe: Counter[Place] = Counter()
    states: Counter[str] = Counter()
    for entry in load.entries():
        states[entry.state] += 1
        if entry.state in ("accepted", "queued") or entry.attempts > 1:
            for cell in _cells(load.manifests[entry.manifest], entry):
                (sure if entry.state == "accepted" else maybe)[cell] += 1
    return {
        "acknowledged": states["accepted"],
        "lost": sum(max(0, count - counted[cell]) for cell, count in sure.items()),
        "double": sum(max(0, count - sure[cell] - maybe[cell]) for cell, count in counted.items()),
        "counts_agree": states["accepted"] <= reports <= states["accepted"] + sum(states.values()),
        "reports": reports,
        "studies": len(urls),
        "rounds": rounds,
        "states": dict(sorted(states.items())),
        "faults": dict(sorted(load.seen.items())),
    }


def _read(url: str) -> Any:
    return json.loads(HttpTransport(timeout=LONG).get(url).body)


def _cells(manifest: Manifest, entry: Outgoing) -> Iterator[Place]:
    """Where the collector counts a report."""
    mechanism = manifest.stage.arms[entry.arm].mechanism
    report = codec.decode(mechanism.channel, entry.payload)
    epoch = 0 if manifest.facts.repeat is None else entry.epoch
    public = id_words(entry.id) if mechanism.channel.publics else (0, 0)
    for cell, amount in mechanism.statistic.add(mechanism.channel, report, public):
        for _ in range(amount):
            yield name_of(manifest), entry.round, epoch, entry.arm, cell
