"""Tables of reports for the tests of engines: a mechanism for each statistic; repeated, conflicting and bad rows.

What an engine must find is said twice: row by row from the definitions, and with NumPy for many rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import from_payloads
from sottovoce.files.arms import Arms
from sottovoce.files.counts import CountedRows, account, fold_arms
from sottovoce.tally.tally import Tally

PAIR = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 1))
RATINGS = sv.KeyValue(range(20), sv.Interval(0, 1), 3)
RECORD = {"sex": "f", "age": 3}
BY_STATISTIC = {
    "outputs": ("grr", sv.Integers(0, 299), 0),
    "supports": ("oue", sv.Integers(0, 20), 0),
    "supports of sets": ("subset", sv.Integers(0, 12), 0),
    "supports by hashing": ("olh", sv.Integers(0, 15), 0),
    "items": ("mask", sv.Sets(range(90), 9), [0, 7]),
    "items in cells": ("cells", sv.Sets(range(90), 9), [0, 7]),
    "ends": ("key-mask", RATINGS, {0: 0.5, 7: 1}),
    "states": ("key-options", RATINGS, {0: 0.5, 7: 1}),
    "asked of sets": ("options", sv.Sets(range(90), 90), [0, 7]),
    "asked": ("d-bit-flip", sv.Integers(0, 15), 0),
    "seeds": ("flh", sv.Integers(0, 15), 0),
    "seeds of words": ("fragments", sv.Words("abc", 3), "ab"),
    "cohorts": ("cms", sv.Integers(0, 15), 0),
    "keyed": ("group-bernoulli", PAIR, ("b", 0.25)),
    "parts": ("duchi-linf", sv.Box(-1, 1, dimensions=3), [0.5, -0.5, 0.1]),
    "each": ("split-attributes", sv.Record({"sex": sv.Categories(["f", "m"]), "age": sv.Integers(0, 9)}), RECORD),
    "joint": ("nprr", sv.Interval(0, 1), 0.25),
    "moments": ("piecewise", sv.Interval(0, 1), 0.25),
    "sums": ("she", sv.Integers(0, 4), 0),
}
Row = tuple[int | None, bytes | None, bytes | None]  # arm, id and payload
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
    made: list[Row] = []
    for arm, rows in enumerate(arms):
        made += [(arm, bytes(one), bytes(payload)) for one, payload in zip(rows.ids, rows.payloads, strict=True)]
        made += bad_rows(rows, arm, with_arm=with_arm) if bad else []
    order = np.random.default_rng(seed).permutation(len(made))
    found = columns(made[place] for place in order)
    return found if with_arm else found.drop_columns(["arm"])


def bad_rows(rows: Rows, arm: int = 0, *, with_arm: bool = False) -> list[Row]:
    """Rows that are refused, with the id of the first good one."""
    first, payload = bytes(rows.ids[0]), bytes(rows.payloads[0])
    made: list[Row] = [(arm, None, payload), (arm, b"short", payload), (arm, first, None)]
    made += [(arm, first, payload + b"\0"), (arm, first, b"\xff" * len(payload)), (arm, first, b"\xff" * len(payload))]
    return [*made, (NO_ARM, first, payload), (None, first, payload)] if with_arm else made


def columns(rows: Iterable[Row]) -> pa.Table:
    """A table with the columns `arm`, `id` and `payload`."""
    arms, ids, payloads = zip(*rows, strict=True)
    kinds = {"arm": pa.array(arms, pa.int32()), "id": pa.array(ids, pa.binary())}
    return pa.table({**kinds, "payload": pa.array(payloads, pa.binary())})


def written(rows: pa.Table, folder: Path, places: Iterable[int] = (), *, row_group: int = 1 << 20) -> list[str]:
    """The rows in files that end at these places, by default in three of about one size; their paths."""
    folder.mkdir(exist_ok=True)
    ends = [*places] or [rows.num_rows // 3, 2 * rows.num_rows // 3]
    paths = []
    for start, stop in pairwise([0, *ends, rows.num_rows]):
        paths.append(f"{folder}/{start}-{stop}.parquet")
        pq.write_table(rows.slice(start, stop - start), paths[-1], row_group_size=row_group)
    return paths


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
def against(arms: Arms, arm: int | None, one: bytes | None, payload: bytes | None) -> str | None:
    """The first thing that speaks against a row."""
    if arm is None or not 0 <= arm < len(arms.mechanisms):
        return "with an arm that does not exist"
    channel = arms.mechanisms[arm].channel
    if one is None or len(one) != 16:
        return "without an id of 16 bytes"
    if payload is None or len(payload) != max(1, -(-channel.payload_bits // 8)):
        return "of a wrong length"
    if not channel.accepts(id_words(one)):
        return "with an id that no device uses"
    if not channel.contains(int.from_bytes(payload, "little")):
        return "with a payload that no device sends"
    if arms.assigns and arms.manifest is not None and arms.manifest.arm_of(one) != arm:
        return "with another arm than that of its id"
    return None


def by_definition(arms: Arms, rows: pa.Table) -> tuple[tuple[Tally, ...], CountedRows]:
    """One row after the other: is it valid, which bytes of its id are smallest, what does it add."""
    kept: dict[bytes, tuple[int, bytes]] = {}
    conflicts: set[bytes] = set()
    read, bad = 0, Counter[str]()
    for row in (row for batch in rows.to_batches(max_chunksize=1 << 16) for row in batch.to_pylist()):
        read += 1
        arm, one, payload = row.get("arm", 0), row["id"], row["payload"]
        wrong = against(arms, arm, one, payload)
        if wrong is not None:
            bad[wrong] += 1
        else:
            if kept.get(one, (arm, payload)) != (arm, payload):
                conflicts.add(one)
            kept[one] = min(kept.get(one, (arm, payload)), (arm, payload))
    cells = [dict.fromkeys([-1], 0) for _ in arms.mechanisms]
    checksum = 0
    added: dict[tuple[int, bytes], list[tuple[int, int]]] = {}  # by equal reports, where ids play no part
    for one, found in kept.items():
        arm, payload = found
        mechanism = arms.mechanisms[arm]
        amounts = added.get(found)
        if amounts is None:
            report = codec.decode(mechanism.channel, payload)
            amounts = list(mechanism.statistic.add(mechanism.channel, report, id_words(one)))
            if not mechanism.channel.publics:
                added[found] = amounts
        cells[arm][-1] += 1
        for cell, amount in amounts:
            cells[arm][cell] = cells[arm].get(cell, 0) + amount
        checksum ^= int.from_bytes(hashlib.sha256(one).digest(), "big")
    tallies = tuple(Tally.from_rows(m, own.items()) for m, own in zip(arms.mechanisms, cells, strict=True))
    return tallies, CountedRows(
        len(kept), read - bad.total() - len(kept), len(conflicts), dict(bad), f"{checksum:064x}"
    )


def by_kernels(rows: Rows, refused: dict[str, int] | None = None) -> tuple[tuple[Tally, ...], CountedRows]:
    """The tally of the smallest bytes of each id, and what became of all rows, beside so many refused ones."""
    width = codec.ID_BYTES + rows.payloads.shape[1]
    whole = np.ascontiguousarray(np.concatenate([rows.ids, rows.payloads], 1)).view(f"V{width}").reshape(-1)
    different = np.frombuffer(b"".join(sorted(set(whole.tolist()))), np.uint8).reshape(-1, width)
    ids = different[:, : codec.ID_BYTES]
    new = np.concatenate([[True], (ids[1:] != ids[:-1]).any(1)])
    several = int((np.diff(np.append(np.flatnonzero(new), len(ids))) > 1).sum())
    batch = from_payloads(rows.mechanism, different[new][:, codec.ID_BYTES :], ids[new])
    checksum = 0
    for one in ids[new]:
        checksum ^= int.from_bytes(hashlib.sha256(one.tobytes()).digest(), "big")
    counted = CountedRows(len(batch), len(rows.ids) - len(batch), several, refused or {}, f"{checksum:064x}")
    return (rows.mechanism.tally(batch),), counted


def check_rows(found: Any, arms: Arms, expected: tuple[tuple[Tally, ...], CountedRows]) -> None:
    """Rows of an engine say what they must, to the bit."""
    tallies, told = expected
    assert fold_arms(found, arms) == tallies
    seen = account(found)
    assert (seen.reports, seen.repeated, seen.conflicts) == (told.reports, told.repeated, told.conflicts)
    assert seen.refused == told.refused
    assert seen.checksum == told.checksum
