"""The black-box audit: a lower confidence bound on epsilon from reports alone, for code that cannot be enumerated.

Reports of several values are drawn in two stages. The first looks for events, sets of reports, that are far likelier
for one value than for another (`sottovoce.privacy.events`). The second draws fresh reports and counts those events:
exact bounds of Clopper and Pearson, one-sided and corrected for the number of events, give ln(low / high), which at
the stated level does not exceed the true epsilon, provided that draws are independent and follow one law per value.
So a claim can be refuted here but never confirmed: a leak that was not found may still exist.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import betaincinv

from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import Supporting, facet, need, stages_of
from sottovoce.core.errors import ParameterError, ProgramError, ReportError, SottovoceError
from sottovoce.core.exchange import codec
from sottovoce.core.language.display import card
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, count_text, reject
from sottovoce.privacy.drawn import ALPHA
from sottovoce.privacy.events import Event, EventBatch, columns, find

OWNER = "audit_black_box"
EVENTS = 18  # at most, that are counted in the second stage
SEARCH_SHARE = Fraction(3, 20)  # of the reports, to propose events, and as many to score them
SEARCH_MOST = 20_000
CHUNK = 500  # reports of one value in a row
SLACK = 1e-9  # relative error allowed for the incomplete beta function

Views = Mapping[str, Callable[[bytes], Hashable]]


@runtime_checkable
class ReportSource(Protocol):
    """A source of reports."""

    def many(self, value: Any, count: int) -> list[bytes]:
        """Draw `count` independent reports of one value."""


@dataclass(frozen=True, slots=True)
class BlackBoxCertificate:
    """The result of a black-box audit.

    With confidence `level` the true epsilon is at least `epsilon_lower`; it is 0 where nothing was found, which
    confirms nothing. `event` describes the reports that distinguish the two `values`; `counts` of the second stage's
    `samples` reports of each had it. `drawn` is the number of all reports, of all values and both stages; `tests`
    the number of events that were counted, and corrected for.
    """

    claimed: Decimal
    epsilon_lower: float
    level: float
    event: str | None
    values: tuple[Any, Any] | None
    counts: tuple[int, int] | None
    samples: int
    drawn: int
    tests: int

    @property
    def refuted(self) -> bool:
        """Whether the claim is wrong, at the stated level."""
        return Decimal(self.epsilon_lower) > self.claimed

    def __str__(self) -> str:
        chance = f"confidence 1 - {1 - self.level:.3g}"
        if self.event is None or self.values is None or self.counts is None:
            return f"epsilon {self.claimed} claimed: nothing found in {self.drawn} reports, which proves nothing"
        verdict = "REFUTED" if self.refuted else "not refuted, which does not confirm it"
        first, second = (f"{value!r:.40}" for value in self.values)
        return (
            f"epsilon {self.claimed} claimed, at least {self.epsilon_lower:.4g} found ({chance}): {verdict};"
            f" {self.event}: {self.counts[0]} of {self.samples} reports of {first}, {self.counts[1]} of {second}"
        )

    def _repr_html_(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted, which does not confirm it"
        facts = [
            ("verdict", verdict),
            ("epsilon claimed", self.claimed),
            ("epsilon found", f"at least {self.epsilon_lower:.4g}"),
            ("confidence", f"1 - {1 - self.level:.3g}"),
            ("reports drawn", f"{self.drawn:,}"),
        ]
        return card("Black-box audit", facts, notes=[str(self)])


# --- where reports come from ---------------------------------------------------------------------------------
def serialised(report: object) -> bytes:
    """The canonical bytes of what a function returned.

    Bytes are themselves. An array is its type, shape and bytes. Anything else is the name of its type and its
    `repr`, so that 1, 1.0 and True differ, and lists in another order do.
    """
    if isinstance(report, (bytes, bytearray, memoryview)):
        return bytes(report)
    name = type(report).__name__
    if isinstance(report, np.ndarray) and not report.dtype.hasobject:
        return f"{name}:{report.dtype.str}:{report.shape}:".encode() + report.tobytes()
    text = repr(report)
    if " at 0x" in text:
        raise ReportError(f"A report of type {name} shows its address in memory only: return bytes, text or numbers.")
    return f"{name}:{text}".encode()


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function from a value to one report, called once for each."""

    draw: Callable[[Any], object]

    def many(self, value: Any, count: int) -> list[bytes]:
        return [serialised(self.draw(value)) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class CommandSource:
    """A command that prints one report per line; see `command_source`."""

    command: tuple[str, ...]
    lines: str
    timeout: float

    def many(self, value: Any, count: int) -> list[bytes]:
        if not any("{count}" in part for part in self.command):
            return [report for _ in range(count) for report in self._run(value, 1)]
        return self._run(value, count)

    def _run(self, value: Any, count: int) -> list[bytes]:
        parts = [part.replace("{count}", str(count)) for part in self.command]
        typed = None if any("{value}" in part for part in parts) else f"{value}\n".encode()
        parts = [part.replace("{value}", str(value)) for part in parts]
        try:
            done = subprocess.run(parts, input=typed or b"", capture_output=True, timeout=self.timeout)
        except (OSError, subprocess.TimeoutExpired) as problem:
            reason = "it takes too long" if isinstance(problem, subprocess.TimeoutExpired) else problem.strerror
            raise ProgramError(f"The program cannot be run: {reason}.") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ProgramError(f"The program ended with code {done.returncode}.", said[-1] if said else None)
        lines = done.stdout.splitlines()
        if len(lines) != count:
            raise ProgramError(f"The program was asked for {count} reports and printed {len(lines)} lines.")
        return [self._read(line) for line in lines]

    def _read(self, line: bytes) -> bytes:
        try:
            return bytes.fromhex(line.decode("ascii")) if self.lines == "hex" else line
        except ValueError:
            # The line is not shown: a program that reports in clear prints the answer itself.
            raise ProgramError("A line that the program printed is not hexadecimal.") from None


def command_source(command: Sequence[str], *, lines: str = "hex", timeout: float = 60) -> CommandSource:
    """Reports from a command line, in any language, run without a shell.

    `{value}` in a part of the command is replaced by the value; a command without it gets the value as one line on
    standard input. `{count}` is replaced by how many reports are wanted; a command without it is run once for each
    report. It prints one report per line, as hexadecimal (`lines="hex"`) or as it is (`lines="text"`).
    """
    if isinstance(command, str) or not command or not all(isinstance(part, str) for part in command):
        raise reject("command", "command_source", "a list of strings, the program first", command)
    if lines not in ("hex", "text"):
        raise reject("lines", "command_source", "'hex' or 'text'", lines)
    return CommandSource(tuple(command), lines, timeout)


# --- the audit -----------------------------------------------------------------------------------------------
def audit_black_box(
    draw: Mechanism | ReportSource | Callable[[Any], object],
    values: Sequence[Any],
    *,
    claimed: Any = None,
    samples: int = 20_000,
    level: float = 1 - ALPHA,
    skip: int | None = None,
    views: Views | None = None,
    seed: int = 0,
) -> BlackBoxCertificate:
    """A lower bound on epsilon from `samples` reports of each value, and whether it exceeds the claim.

    `draw` is a function from a value to a report (see `serialised`), a `command_source`, or a `Mechanism`, whose
    claim, id and public functions are then known. The first `skip` bytes are an id, unique to each report: they are
    left out of comparisons of whole reports, but their bytes and bits are tested as well. `views` are
    further functions of a report to look at. `seed` orders the draws; the randomness tested is the code's own.
    """
    values = _checked_values(values)
    check_integer("samples", OWNER, samples, 100, 10**9)
    alpha = _alpha(level)
    if isinstance(draw, Mechanism):
        claimed = draw.claimed if claimed is None else claimed
        skip = codec.ID_BYTES if skip is None else skip
        views = {**mechanism_views(draw, values), **(views or {})}
    claim = check_epsilon(OWNER, claimed)
    skip = check_integer("skip", OWNER, 0 if skip is None else skip, 0, 1 << 16)
    source, order = _source(draw), np.random.default_rng(seed)
    part = min(SEARCH_MOST, int(samples * SEARCH_SHARE))
    searched = _drawn(source, values, [2 * part] * len(values), order)
    proposing = [EventBatch(messages[:part]) for messages in searched]
    scoring = [EventBatch(messages[part:]) for messages in searched]
    events = find(proposing, scoring, columns([*proposing, *scoring], values, skip, views or {}), EVENTS)
    fresh = samples - 2 * part
    counts = _counted(source, values, events, fresh, order)
    drawn = 2 * part * len(values) + fresh * len(_used(events))
    bounds = [lower_bound(x, y, fresh, alpha / len(events)) for x, y in counts]
    best = int(np.argmax(bounds)) if bounds else 0
    if not bounds or bounds[best] == 0:
        return BlackBoxCertificate(claim, 0.0, level, None, None, None, fresh, drawn, len(events))
    event = events[best]
    pair = (values[event.first], values[event.second])
    return BlackBoxCertificate(claim, bounds[best], level, str(event), pair, counts[best], fresh, drawn, len(events))


def lower_bound(x: int, y: int, n: int, alpha: float) -> float:
    """A lower bound on ln(P / Q) that fails with probability alpha at most; x of n draws had P and y of n others Q.

    Bounds of Clopper and Pearson, half of alpha for each.
    """
    if x == 0:
        return 0.0
    low = float(betaincinv(x, n - x + 1, alpha / 2)) * (1 - SLACK)
    high = 1.0 if y == n else min(1.0, float(betaincinv(y + 1, n - y, 1 - alpha / 2)) * (1 + SLACK))
    return max(0.0, math.nextafter(math.log(low / high), -math.inf)) if low > 0 else 0.0


def samples_needed(first: float, second: float, *, claimed: Any, level: float = 1 - ALPHA) -> int:
    """Reports of each value that refute a claim with an event of these probabilities, nineteen times in twenty.

    The two counts are taken 1.64 standard deviations on the unlucky side, which is more cautious than that.
    """
    claim, alpha = float(check_epsilon("samples_needed", claimed)), _alpha(level)
    p, q = (_probability(name, value) for name, value in (("first", first), ("second", second)))
    if not (p > 0 and (q == 0 or math.log(p / q) > claim)):
        raise ParameterError(f"An event of probabilities {first} and {second} does not contradict epsilon {claimed}.")

    def enough(samples: int) -> bool:
        n = samples - 2 * min(SEARCH_MOST, int(samples * SEARCH_SHARE))
        x = n * p - 1.64 * math.sqrt(n * p * (1 - p))
        y = n * q + 1.64 * math.sqrt(n * q * (1 - q))
        return x >= 1 and lower_bound(int(x), min(n, math.ceil(y)), n, alpha / EVENTS) > claim

    high = 100
    while not enough(high):
        high *= 2
        if high > 1 << 50:
            raise ParameterError(f"More than {count_text(1 << 50)} reports would be needed.")
    low = high // 2
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def mechanism_views(mechanism: Mechanism, values: Sequence[Any]) -> dict[str, Callable[[bytes], Hashable]]:
    """Views that need the public functions of an id: the payload beside the public code of each value."""
    channel: Channel = mechanism.channel
    mapped = getattr(channel, "mapped", None)
    if not channel.publics or mapped is None:
        return {}
    codes = []
    for value in values:
        try:
            codes.append(mechanism.domain.encode(value))
        except SottovoceError:
            continue

    def seen(message: bytes) -> tuple[int, ...]:
        words = id_words(message[: codec.ID_BYTES].ljust(codec.ID_BYTES, b"\0"))
        return tuple(mapped(code, words) for code in codes)

    def supported(message: bytes) -> tuple[bool, ...]:
        words = id_words(message[: codec.ID_BYTES].ljust(codec.ID_BYTES, b"\0"))
        report = int.from_bytes(message[codec.ID_BYTES :], "little")
        supporting = need(channel, Supporting)
        return tuple(supporting.supports(report, code, words) for code in codes)

    supports = {"whether it supports each value": supported} if facet(channel, Supporting) else {}
    return {
        **supports,
        "the public codes of the values": seen,
        "the payload with the public codes of the values": lambda message: (message[codec.ID_BYTES :], *seen(message)),
    }


def _first_answer(mechanism: Mechanism, value: Any) -> bytes:
    """A message of a device that was never asked before, and keeps nothing."""
    cohort = mechanism.draw_cohort()
    return mechanism.answer_from(mechanism.remember(value, cohort=cohort), cohort=cohort)


def _source(draw: Any) -> ReportSource:
    if isinstance(draw, Mechanism):
        if stages_of(draw.channel):
            return FunctionSource(lambda value: _first_answer(draw, value))
        return FunctionSource(draw.randomize)
    if isinstance(draw, ReportSource):
        return draw
    if not callable(draw):
        raise reject("draw", OWNER, "a function of a value, a command_source or a Mechanism", draw)
    return FunctionSource(draw)


def _drawn(
    source: ReportSource, values: Sequence[Any], wanted: Sequence[int], order: np.random.Generator
) -> list[list[bytes]]:
    """Reports of each value, in the order they were drawn."""
    result: list[list[bytes]] = [[] for _ in values]
    for place, messages in _chunks(source, values, wanted, order):
        result[place] += messages
    return result


def _chunks(
    source: ReportSource, values: Sequence[Any], wanted: Sequence[int], order: np.random.Generator
) -> Iterator[tuple[int, list[bytes]]]:
    """Chunks of reports in random order of the values, so that drift over time does not look like an effect."""
    sizes = [(place, min(CHUNK, count - at)) for place, count in enumerate(wanted) for at in range(0, count, CHUNK)]
    for index in order.permutation(len(sizes)):
        place, size = sizes[index]
        yield place, source.many(values[place], size)


def _used(events: Sequence[Event]) -> set[int]:
    """The indices of the values that occur in events."""
    return {place for event in events for place in (event.first, event.second)}


def _counted(
    source: ReportSource, values: Sequence[Any], events: Sequence[Event], fresh: int, order: np.random.Generator
) -> list[tuple[int, int]]:
    """How often fresh reports of its first and of its second value have each event; none are kept."""
    used = _used(events)
    wanted = [fresh if place in used else 0 for place in range(len(values))]
    counts = np.zeros((len(events), 2), dtype=np.int64)
    for place, messages in _chunks(source, values, wanted, order):
        batch = EventBatch(messages)
        for row, event in enumerate(events):
            for side, own in enumerate((event.first, event.second)):
                if own == place:
                    counts[row, side] += event.count(batch)
    return [(int(x), int(y)) for x, y in counts]


def _checked_values(values: Any) -> list[Any]:
    must_be = "a list of at least two different values"
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or len(values) < 2:
        raise reject("values", OWNER, must_be, values)
    if len({serialised(value) for value in values}) < len(values):
        raise reject("values", OWNER, must_be, values)
    return list(values)


def _alpha(level: Any) -> float:
    number = check_decimal("level", OWNER, level)
    if not 0 < number < 1:
        raise reject("level", OWNER, "a number in (0, 1)", level)
    return float(1 - number)


def _probability(name: str, value: Any) -> float:
    number = float(check_decimal(name, "samples_needed", value))
    if not 0 <= number <= 1:
        raise reject(name, "samples_needed", "a number in [0, 1]", value)
    return number
