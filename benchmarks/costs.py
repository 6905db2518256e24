"""Bytes, seconds and money of each step, from measured rates and from assumptions that can be changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import NamedTuple

SIZES = (10**6, 10**9, 10**12)
GIGABYTE, MEGABYTE, HOUR, DAY = 10**9, 10**6, 3600, 86_400
CORES = 2  # of the machine on which rates are measured


def assumed(default: float, unit: str) -> float:
    made: float = field(default=default, metadata={"unit": unit})
    return made


@dataclass(frozen=True)
class Assumptions:
    """What is not measured here; each is an option of the command."""

    storage_price: float = assumed(0.023, "dollars for a gigabyte of object storage and month")
    put_price: float = assumed(0.005, "dollars for a thousand files that are written")
    core_price: float = assumed(0.05, "dollars an hour for a core")
    traffic_price: float = assumed(0, "dollars for a gigabyte that comes in")
    request_bytes: float = assumed(3000, "bytes of TLS and HTTP around a batch")
    collector_rate: float = assumed(8000, "single reports a second, one collector; docs/study/operate.md")
    file_megabytes: float = assumed(128, "of a file in object storage")
    cluster_cores: float = assumed(64, "cores of the cluster; rates are taken to grow with them")

    def rows(self) -> list[list[str]]:
        return [
            [f"--{one.name.replace('_', '-')}", f"{getattr(self, one.name):,g}", one.metadata["unit"]]
            for one in fields(self)
        ]


class Rates(NamedTuple):
    """What is measured: bytes of a report, and reports a second on two cores."""

    wire_bytes: float
    stored_bytes: float
    plain: float
    once: float
    cluster_once: float
    estimate_seconds: float


class Step(NamedTuple):
    """One step for so many reports; `cores` are busy for `seconds`."""

    name: str
    gigabytes: float
    seconds: float
    cores: float
    dollars: float

    def row(self, reports: int) -> list[str]:
        alone = self.seconds and self.cores == CORES
        machines = f"{math.ceil(self.seconds / DAY):,}" if alone else ""
        size = f"{self.gigabytes:,.{3 if self.gigabytes < 1 else 0}f}" if self.gigabytes else ""
        taken = duration(self.seconds) if self.seconds else ""
        return [f"{reports:.0e}", self.name, size, taken, machines, f"{self.dollars:,.2f}"]


def steps(reports: int, rates: Rates, given: Assumptions) -> list[Step]:
    """From the devices to the estimate."""
    sent, stored = (reports * size / GIGABYTE for size in (rates.wire_bytes, rates.stored_bytes))
    traffic = reports * (rates.wire_bytes + given.request_bytes) / GIGABYTE
    files = math.ceil(stored * GIGABYTE / (given.file_megabytes * MEGABYTE))
    cluster = given.cluster_cores

    def busy(name: str, gigabytes: float, seconds: float, cores: float = CORES) -> Step:
        return Step(name, gigabytes, seconds, cores, given.core_price * cores * seconds / HOUR)

    return [
        Step("send, a report a request", traffic, 0, 0, given.traffic_price * traffic),
        busy("receive, one collector", sent, reports / given.collector_rate),
        Step(f"write files, {files:,} of them", stored, 0, 0, given.put_price * files / 1000),
        Step("store for a month", stored, 0, 0, given.storage_price * stored),
        busy("count, without ids, DuckDB", reports / GIGABYTE, reports / rates.plain),
        busy("count, each id once, DuckDB", stored, reports / rates.once),
        busy(f"the same by Spark, {cluster:g} cores", stored, reports * CORES / cluster / rates.cluster_once, cluster),
        busy("estimate", 0, rates.estimate_seconds),
    ]


def duration(seconds: float) -> str:
    """In the largest unit that it fills."""
    for unit, length in (("days", DAY), ("hours", HOUR), ("minutes", 60)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
