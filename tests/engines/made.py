"""Tables of reports for the tests of engines: a mechanism for each statistic; repeated, conflicting and bad rows.

What an engine must find is said twice: row by row from the definitions, and with NumPy for many rows.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.engines.arms import Arms
from sottovoce.engines.rows import CountedRows, account, fold_arms
from sottovoce.fast.batch import from_payloads
from sottovoce.tally.tally import Tally

PAIR = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 1))
RECORD = {"sex": "f", "age": 3}
BY_STATISTIC = {
    "outputs": ("grr", sv.Integers(0, 299), 0),
    "supports": ("oue", sv.Integers(0, 20), 0),
    "supports of sets": ("subset", sv.Integers(0, 12), 0),
    "supports by hashing": ("olh", sv.Integers(0, 15), 0),
    "seeds": ("flh", sv.Integers(0, 15), 0),
    "cohorts": ("cms", sv.Integers(0, 15), 0),
    "keyed": ("group-bernoulli", PAIR, ("b", 0.25)),
    "parts": ("duchi-linf", sv.Box(-1, 1, dimensions=3), [0.5, -0.5, 0.1]),
    "each": ("split-attributes", sv.Record({"sex": sv.Categories(["f", "m"]), "age": sv.Integers(0, 9)}), RECORD),
    "joint": ("nprr", sv.Interval(0, 1), 0.25),
    "moments": ("piecewise", sv.Interval(0, 1), 0.25),
    "sums": ("she", sv.Integers(0, 4), 0),
}
NO_ARM = 7  # in tables: no round of these tests has so many


@cache
def mechanism_of(kind: str) -> Mechanism:
    name, domain, _ = BY_STATISTIC[kind]
    if kind in ("joint", "moments"):
        made: Any = sv.VarianceRounds(domain, 4, method="split-eps", mechanism=name)
        found: Mechanism = made.start().arms[0].mechanism
    else:
        found = sv.mechanism(name, domain, epsilon=1)
    assert found.statistic.kind == kind.partition(" ")[0]
    return found


@dataclass(frozen=True)
class Rows:
    """Rows of one arm: ids, payloads and what is wrong with some of them."""

    mechanism: Mechanism
    ids: NDArray[np.uint8]
    payloads: NDArray[np.uint8]


@cache
def clean(kind: str, n: int) -> Rows:
    """Reports of equal answers, one for each id."""
    mechanism = mechanism_of(kind)
    reports = mechanism.privatize([BY_STATISTIC[kind][2]] * n, seed=n)
    generator = np.random.default_rng(n)
    ids = generator.integers(0, 256, (n, codec.ID_BYTES), dtype=np.uint8)
    if reports.public is not None:
        ids = reports.public.astype("<u8").view(np.uint8).reshape(n, -1)
    return Rows(mechanism, ids, reports.payloads())


def dirty(kind: str, n: int) -> Rows:
    """The same with repeated rows, and others whose id comes with another payload."""
    rows, generator = clean(kind, n), np.random.default_rng(n + 1)
    again, changed = generator.choice(n, n // 20 + 1), generator.choice(n, n // 50 + 1)
    other = (changed + 1) % n
    ids = np.concatenate([rows.ids, rows.ids[again], rows.ids[changed]])
    payloads = np.concatenate([rows.payloads, rows.payloads[again], rows.payloads[other]])
    order = generator.permutation(len(ids))
    return Rows(rows.mechanism, ids[order], payloads[order])


def table(*arms: Rows, bad: bool = True, with_arm: bool = True, seed: int = 0) -> pa.Table:
    """A table of all arms in random order, with bad rows: each takes the id of a good one, which must be counted."""
    made: list[tuple[int | None, bytes | None, bytes | None]] = []
    for arm, rows in enumerate(arms):
        pairs = list(zip(map(bytes, rows.ids), map(bytes, rows.payloads), strict=True))
        made += [(arm, one, payload) for one, payload in pairs]
        if bad:
            first, payload = pairs[0]
            made += [(arm, None, payload), (arm, b"short", payload), (arm, first, None), (arm, first, payload + b"\0")]
            made += [(arm, first, b"\xff" * len(payload))] * 2
            made += [(NO_ARM, first, payload), (None, first, payload)] if with_arm else []
    order = np.random.default_rng(seed).permutation(len(made))
    columns = list(zip(*(made[place] for place in order), strict=True))
    found = {
        "arm": pa.array(columns[0], pa.int32()),
        "id": pa.array(columns[1], pa.binary()),
        "payload": pa.array(columns[2], pa.binary()),
    }
    return pa.table(found if with_arm else {name: found[name] for name in ("id", "payload")})


def plain_table(*arms: Rows) -> pa.Table:
    """Many rows without bad ones, arms one after the other; quick to make."""
    parts = []
    for arm, rows in enumerate(arms):
        ids = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(codec.ID_BYTES), len(rows.ids), [None, pa.py_buffer(np.ascontiguousarray(rows.ids))]
        )
        width = rows.payloads.shape[1]
        payloads = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), len(rows.ids), [None, pa.py_buffer(np.ascontiguousarray(rows.payloads))]
        )
        numbers = pa.array(np.full(len(rows.ids), arm, np.int32))
        columns = {"arm": numbers, "id": ids.cast(pa.binary()), "payload": payloads.cast(pa.binary())}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


# --- what must come out -------------------------------------------------------------------------------------
def by_definition(arms: Arms, rows: pa.Table) -> tuple[tuple[Tally, ...], CountedRows]:
    """One row after the other: is it valid, which bytes of its id are smallest, what does it add."""
    kept: dict[bytes, set[tuple[int, bytes]]] = defaultdict(set)
    read, bad = 0, 0
    for row in rows.to_pylist():
        read += 1
        arm, one, payload = row.get("arm", 0), row["id"], row["payload"]
        valid = arm is not None and arm < len(arms.mechanisms) and one is not None and len(one) == codec.ID_BYTES
        if valid:
            try:
                codec.split(arms.mechanisms[arm].channel, one + (payload or b""))
            except ReportError:
                valid = False
        if valid and arms.assigns:
            assert arms.manifest is not None
            valid = arms.manifest.arm_of(one) == arm
        bad += not valid
        if valid:
            kept[one].add((arm, payload))
    cells = [dict.fromkeys([-1], 0) for _ in arms.mechanisms]
    checksum = 0
    for one, variants in kept.items():
        arm, payload = min(variants)
        mechanism = arms.mechanisms[arm]
        report = codec.decode(mechanism.channel, payload)
        cells[arm][-1] += 1
        for cell, amount in mechanism.statistic.add(mechanism.channel, report, id_words(one)):
            cells[arm][cell] = cells[arm].get(cell, 0) + amount
        checksum ^= int.from_bytes(hashlib.sha256(one).digest(), "big")
    tallies = tuple(Tally.from_rows(m, own.items()) for m, own in zip(arms.mechanisms, cells, strict=True))
    conflicts = sum(len(variants) > 1 for variants in kept.values())
    return tallies, CountedRows(len(kept), read - bad - len(kept), conflicts, {"": bad}, f"{checksum:064x}")


def by_kernels(rows: Rows) -> tuple[Tally, int, int]:
    """The tally of the smallest bytes of each id, the number of repeated rows, and that of ids in conflict."""
    width = codec.ID_BYTES + rows.payloads.shape[1]
    whole = np.ascontiguousarray(np.concatenate([rows.ids, rows.payloads], 1)).view(f"V{width}").reshape(-1)
    different = np.frombuffer(b"".join(sorted(set(whole.tolist()))), np.uint8).reshape(-1, width)
    ids = different[:, : codec.ID_BYTES]
    new = np.concatenate([[True], (ids[1:] != ids[:-1]).any(1)])
    several = int((np.diff(np.append(np.flatnonzero(new), len(ids))) > 1).sum())
    batch = from_payloads(rows.mechanism, different[new][:, codec.ID_BYTES :], ids[new])
    return rows.mechanism.tally(batch), len(rows.ids) - int(new.sum()), several


def check_rows(found: Any, arms: Arms, expected: tuple[tuple[Tally, ...], CountedRows]) -> None:
    """Rows of an engine say what they must, to the bit."""
    tallies, told = expected
    assert fold_arms(found, arms) == tallies
    seen = account(found)
    assert (seen.reports, seen.repeated, seen.conflicts) == (told.reports, told.repeated, told.conflicts)
    assert sum(seen.refused.values()) == sum(told.refused.values())
    assert seen.checksum == told.checksum
