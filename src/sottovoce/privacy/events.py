"""Events of the black-box audit: sets of reports, looked for on some samples and counted on others.

A *column* reads one thing off a report: all of it, its length, a byte, a bit, its first word. A *literal* says that
a column lies in a set of categories, or does not; an *event* is a conjunction of a few literals. The search proposes
literals on one batch of reports and scores them on a second one, so that sets which overfit the first batch
score low on the second; then it refines the best by a second and a third literal. The search needs no statistical
validity: its events are counted on fresh reports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 128  # of a report whose bytes and bits are looked at one by one
CATEGORIES = 64  # of a column that become literals of their own
BYTE_CATEGORIES = 16
RATIOS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # thresholds of likelihood-ratio sets, in logarithms
INFORMATIVE = 3.5  # standard errors between two values for a bit to count as evidence
EVIDENCE_STEPS = 12  # of a logarithm
CAUTIONS = (4.0, 2.0)  # standard errors by which the search corrects counts: for frequent events, and for rare ones
BEAM = 6  # events that are refined
DEPTH = 3  # literals of an event
COST = 0.02  # what a further literal must add to the logarithm of the ratio
PAIRS = 12  # ordered pairs of values that are refined
WORD = re.compile(rb"[A-Za-z0-9_.+-]+")

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]


class EventBatch:
    """Some reports of one value, with the columns that were read off them."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.messages = messages
        self._columns: dict[Column, Any] = {}
        self._array: Bytes | None = None

    def array(self) -> Bytes:
        """The first bytes of each report, zeros beyond its end."""
        if self._array is None:
            padded = b"".join(message[:MAX_BYTES].ljust(MAX_BYTES, b"\0") for message in self.messages)
            self._array = np.frombuffer(padded, dtype=np.uint8).reshape(-1, MAX_BYTES)
        return self._array

    def read(self, column: Column) -> Any:
        """The categories of a column, one for each report: an array of bytes, or a list."""
        if column not in self._columns:
            self._columns[column] = column.of(self)
        return self._columns[column]


@dataclass(frozen=True, eq=False)
class Column:
    """One thing that is read off a report, in words; `flag` ends the sentence where it is only true or false."""

    words: str
    of: Callable[[EventBatch], Any]
    categories: int = CATEGORIES
    flag: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Literal:
    """A column lies in a set of categories, or outside it."""

    column: Column
    members: frozenset[Hashable]
    inside: bool = True

    def mask(self, batch: EventBatch) -> Bools:
        """Which reports it holds for."""
        read = batch.read(self.column)
        if isinstance(read, np.ndarray):
            table = np.zeros(256, dtype=np.bool_)
            table[[int(member) for member in self.members]] = True  # type: ignore[call-overload]
            held: Bools = table[read]
        else:
            members = self.members
            held = np.fromiter((category in members for category in read), dtype=np.bool_, count=len(read))
        return held if self.inside else ~held

    def __str__(self) -> str:
        if self.column.flag:
            return f"{self.column.words} {self.column.flag[0 if self.inside else 1]}"
        verb = "is" if self.inside else "is not"
        if len(self.members) == 1:
            return f"{self.column.words} {verb} {next(iter(self.members))!r:.60}"
        return f"{self.column.words} {verb} one of {len(self.members)} likelier for the first value"


@dataclass(frozen=True)
class Event:
    """All of a few literals, for an ordered pair of values: likelier for the first, rarer for the second."""

    literals: tuple[Literal, ...]
    first: int
    second: int

    def count(self, batch: EventBatch) -> int:
        mask = np.ones(len(batch.messages), dtype=np.bool_)
        for literal in self.literals:
            mask &= literal.mask(batch)
        return int(mask.sum())

    def __str__(self) -> str:
        return " and ".join(map(str, self.literals))


# --- columns -------------------------------------------------------------------------------------------------
def columns(
    samples: Sequence[EventBatch],
    values: Sequence[object],
    skip: int,
    views: Mapping[str, Callable[[bytes], Hashable]],
) -> list[Column]:
    """Views of a report: without its first `skip` bytes as a whole, and all of it byte by byte."""
    parts = [
        Column("the report", lambda batch: [message[skip:] for message in batch.messages]),
        Column("the length", lambda batch: [len(message) for message in batch.messages]),
    ]
    longest = max(len(message) for batch in samples for message in batch.messages)
    parts += [_prefix(skip, size) for size in (2, 4, 8) if longest - skip > size]
    if all(_printable(message[skip:]) for batch in samples for message in batch.messages[:100]):
        parts += [_word(skip, "first", 0), _word(skip, "last", -1)]
    for value in values:
        parts += _own_text(skip, value)
    parts += [_view(words, view) for words, view in views.items()]
    for place in range(min(longest, MAX_BYTES)):
        parts.append(_byte(place, skip))
        parts += [_bit(place, bit, skip) for bit in range(8)]
    return parts


def _place(place: int, skip: int) -> str:
    return f"byte {place} of the id" if place < skip else f"byte {place - skip}"


def _byte(place: int, skip: int) -> Column:
    return Column(_place(place, skip), lambda batch: batch.array()[:, place], BYTE_CATEGORIES)


def _bit(place: int, bit: int, skip: int) -> Column:
    words = f"bit {bit} of {_place(place, skip)}"
    return Column(words, lambda batch: batch.array()[:, place] >> bit & 1, 1, ("is set", "is not set"))


def _prefix(skip: int, size: int) -> Column:
    return Column(
        f"the start ({size} bytes)", lambda batch: [message[skip : skip + size] for message in batch.messages]
    )


def _word(skip: int, name: str, place: int) -> Column:
    def pick(message: bytes) -> bytes:
        words = WORD.findall(message[skip:])
        return words[place] if words else b""

    return Column(f"the {name} word", lambda batch: [pick(message) for message in batch.messages])


def _own_text(skip: int, value: object) -> Iterator[Column]:
    """Whether a report contains what was answered, in plain text, anywhere or as a word."""
    text = value if isinstance(value, bytes) else str(value).encode()
    if not text:
        return
    yield Column(
        f"the text {text!r:.40}",
        lambda batch: [text in message[skip:] for message in batch.messages],
        flag=("occurs", "does not occur"),
    )
    yield Column(
        f"the word {text!r:.40}",
        lambda batch: [text in message and text in WORD.findall(message[skip:]) for message in batch.messages],
        flag=("occurs", "does not occur"),
    )


def _view(words: str, view: Callable[[bytes], Hashable]) -> Column:
    return Column(words, lambda batch: [view(message) for message in batch.messages])


def _printable(text: bytes) -> bool:
    return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in text)


Found = tuple[float, tuple[int, ...], Event]
Grown = tuple[float, tuple[Literal, ...], Bools, Bools]


# --- the search ------------------------------------------------------------------------------------------------
def find(
    proposing: Sequence[EventBatch], scoring: Sequence[EventBatch], looked_at: Sequence[Column], limit: int
) -> list[Event]:
    """The events with the largest cautious ratios on the scored batches, best first."""
    literals = list(_literals(proposing, looked_at))
    rows = [_LiteralRows(batch, literals) for batch in scoring]
    single = [row.counts(None) for row in rows]
    pairs = list(permutations(range(len(scoring)), 2))
    best = {
        (i, j): np.max(scores(single[i], single[j], rows[i].size, rows[j].size, CAUTIONS[0]), initial=0.0)
        for i, j in pairs
    }
    lists: list[list[Found]] = [[] for _ in CAUTIONS]
    for i, j in sorted(pairs, key=lambda pair: -best[pair])[:PAIRS]:
        sets = [*_ratio_sets(proposing[i], proposing[j], looked_at), *_weighed(proposing[i], proposing[j])]
        for entries, caution in zip(lists, CAUTIONS, strict=True):
            entries += _refined(rows[i], rows[j], literals, sets, (i, j), caution)
    chosen: dict[tuple[int, ...], Event] = {}
    share = max(1, limit // (len(CAUTIONS) * DEPTH))
    for entries, depth in product(
        lists, range(1, DEPTH + 1)
    ):  # long events are easily overrated: keep room for short ones
        ranked = sorted((entry for entry in entries if len(entry[2].literals) == depth), key=lambda entry: -entry[0])
        fresh = {counted: event for _, counted, event in reversed(ranked) if counted not in chosen}
        chosen |= dict(list(reversed(fresh.items()))[:share])  # events that hold equally often are one event
    return list(chosen.values())


def scores(x: Any, y: Any, n: int, m: int, caution: float) -> Floats:
    """A cautious logarithm of the ratio of two frequencies (Wilson's bounds), minus infinity where x is too small."""
    low = _wilson(np.asarray(x, dtype=np.float64), n, -caution)
    high = _wilson(np.asarray(y, dtype=np.float64), m, caution)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low, 0.0)) - np.log(high))


def _wilson(count: Floats, n: int, z: float) -> Floats:
    p = count / n
    spread = np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    bound = (p + z * z / (2 * n) + z * spread) / (1 + z * z / n)
    return np.where((count == 0) & (z < 0), 0.0, np.minimum(bound, 1.0))


def _literals(proposing: Sequence[EventBatch], looked_at: Iterable[Column]) -> Iterator[Literal]:
    """One for each frequent category of each column."""
    for column in looked_at:
        if column.flag:
            yield Literal(column, frozenset([1]))
            continue
        total: Counter[Hashable] = Counter()
        for batch in proposing:
            total.update(_counted(batch, column))
        few = 3 if column.categories == CATEGORIES else sum(total.values()) // 50  # bytes of an id are all rare
        for category, count in total.most_common(column.categories):
            if count >= few and len(total) > 1:
                yield Literal(column, frozenset([category]))


def _counted(batch: EventBatch, column: Column) -> Counter[Hashable]:
    read = batch.read(column)
    return Counter(read.tolist() if isinstance(read, np.ndarray) else read)


def _ratio_sets(first: EventBatch, second: EventBatch, looked_at: Iterable[Column]) -> Iterator[Literal]:
    """Categories whose estimated log ratio lies above a threshold, and the few with the best cautious scores."""
    n, m = len(first.messages), len(second.messages)
    for column in looked_at:
        if column.categories < CATEGORIES or column.flag:
            continue
        x, y = _counted(first, column), _counted(second, column)
        kept = [category for category, count in x.items() if count >= 2]
        rough = {c: np.log((x[c] + 0.5) / (y[c] + 0.5) * (m / n)) for c in kept}
        believed = dict(zip(kept, scores([x[c] for c in kept], [y[c] for c in kept], n, m, CAUTIONS[1]), strict=True))
        ranked = sorted(kept, key=lambda c: (-believed[c], -rough[c]))
        sets = [frozenset(c for c in kept if rough[c] > ratio) for ratio in RATIOS]
        sets += [frozenset(ranked[: 1 << power]) for power in range(8) if 1 << power <= len(ranked)]
        yield from (Literal(column, members) for members in dict.fromkeys(sets) if members)


def _weighed(first: EventBatch, second: EventBatch) -> Iterator[Literal]:
    """The evidence of all informative bits together, each with its own log ratio, as if they were independent."""
    n, m = len(first.messages), len(second.messages)
    p, q = (
        (np.unpackbits(batch.array(), axis=1).sum(axis=0, dtype=np.int64) + 0.5) / (len(batch.messages) + 1)
        for batch in (first, second)
    )
    chosen = np.flatnonzero(np.abs(p - q) > INFORMATIVE * np.sqrt(p * (1 - p) / n + q * (1 - q) / m))
    if len(chosen) < 2:
        return
    clear = np.log((1 - p) / (1 - q))[chosen]
    gain = np.log(p / q)[chosen] - clear

    def weigh(batch: EventBatch) -> Bytes:
        total = np.unpackbits(batch.array(), axis=1)[:, chosen] @ gain + clear.sum()
        return np.asarray(np.clip(np.rint(EVIDENCE_STEPS * total) + 128, 0, 255), np.uint8)

    column = Column(f"the evidence of {len(chosen)} bits together", weigh)
    for ratio in RATIOS:
        yield Literal(column, frozenset(range(128 + int(EVIDENCE_STEPS * ratio), 256)))


class _LiteralRows:
    """Which reports of a batch each literal holds for, eight to a byte."""

    def __init__(self, batch: EventBatch, literals: Sequence[Literal]) -> None:
        self.batch = batch
        self.size = len(batch.messages)
        packed = [np.packbits(literal.mask(batch)) for literal in literals]
        self._packed = np.array(packed).reshape(len(literals), -(-self.size // 8))

    def mask(self, index: int) -> Bools:
        """Which reports one literal holds for."""
        return np.unpackbits(self._packed[index], count=self.size).astype(np.bool_)

    def counts(self, mask: Bools | None) -> NDArray[np.int64]:
        """How often each literal holds, among the reports of a mask."""
        packed = self._packed if mask is None else self._packed & np.packbits(mask)
        return np.asarray(np.bitwise_count(packed).sum(axis=1, dtype=np.int64))


def _refined(
    first: _LiteralRows,
    second: _LiteralRows,
    literals: Sequence[Literal],
    sets: Sequence[Literal],
    pair: tuple[int, int],
    caution: float,
) -> list[Found]:
    """The best single literals and ratio sets of a pair, and their best conjunctions."""
    full = (np.ones(first.size, dtype=np.bool_), np.ones(second.size, dtype=np.bool_))
    beam = _extended((0.0, (), *full), first, second, literals, caution)
    for literal in sets:
        masks = literal.mask(first.batch), literal.mask(second.batch)
        score = float(scores(masks[0].sum(), masks[1].sum(), first.size, second.size, caution))
        beam.append((score, (literal,), *masks))
    everything: list[Grown] = []
    for _ in range(DEPTH):
        beam = sorted(beam, key=lambda grown: -grown[0])[:BEAM]
        everything += beam
        beam = [grown for base in beam for grown in _extended(base, first, second, literals, caution)]
    return [
        (score, (*pair, int(x.sum()), int(y.sum())), Event(parts, *pair))
        for score, parts, x, y in everything
        if score > 0
    ]


def _extended(
    base: Grown, first: _LiteralRows, second: _LiteralRows, literals: Sequence[Literal], caution: float
) -> list[Grown]:
    """The few best ways to add a literal, or its opposite."""
    _, parts, x_mask, y_mask = base
    if not literals:
        return []
    x, y = first.counts(x_mask), second.counts(y_mask)
    inside = scores(x, y, first.size, second.size, caution)
    outside = scores(x_mask.sum() - x, y_mask.sum() - y, first.size, second.size, caution)
    gains = np.concatenate([inside, outside]) - (COST if parts else 0) * len(parts)
    result = []
    for place in np.argsort(-gains, kind="stable")[:BEAM]:
        index, inside_it = int(place % len(literals)), bool(place < len(literals))
        literal = Literal(literals[index].column, literals[index].members, inside_it)
        masks = (mask & (rows.mask(index) == inside_it) for mask, rows in ((x_mask, first), (y_mask, second)))
        result.append((float(gains[place]), (*parts, literal), *masks))
    return result
