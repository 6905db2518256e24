"""Saving a protocol between rounds: its state is the tallies of the rounds that are over."""

from __future__ import annotations

import struct

from sottovoce.core.errors import ReportError
from sottovoce.core.round import Estimates, History, Protocol, Round, check_tallies
from sottovoce.core.specs import canonical
from sottovoce.core.work import Budget
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.tally.tally import Tally

_MAGIC = b"sottovoce history 1\n"
_WHOLE = b"sottovoce checkpoint 1\n"


def save(history: History) -> bytes:
    """The finished rounds as bytes."""
    parts = [_MAGIC, struct.pack("<I", len(history))]
    for tallies in history:
        parts.append(struct.pack("<I", len(tallies)))
        for tally in tallies:
            data = tally.to_bytes()
            parts += [struct.pack("<Q", len(data)), data]
    return b"".join(parts)


def load(data: bytes, *, budget: Budget | None = None) -> tuple[tuple[Tally, ...], ...]:
    """The finished rounds of these bytes; all specifications in them share a budget."""
    if not data.startswith(_MAGIC):
        raise ReportError("These bytes are not a saved protocol of this version.")
    place, budget = len(_MAGIC), budget or Budget(len(data))

    def number(form: str) -> int:
        nonlocal place
        size = struct.calcsize(form)
        if place + size > len(data):
            raise ReportError("This saved protocol is cut off.")
        (value,) = struct.unpack_from(form, data, place)
        place += size
        return int(value)

    rounds = []
    for _ in range(number("<I")):
        tallies = []
        for _ in range(number("<I")):
            length = number("<Q")
            if place + length > len(data):
                raise ReportError("This saved protocol is cut off.")
            tallies.append(Tally.from_bytes(data[place : place + length], budget=budget))
            place += length
        rounds.append(tuple(tallies))
    if place != len(data):
        raise ReportError("This saved protocol has bytes after its end.")
    return tuple(rounds)


def checkpoint(protocol: Protocol, history: History) -> bytes:
    """A protocol and its finished rounds as bytes: all that is needed to go on elsewhere."""
    spec = canonical(protocol_spec(protocol))
    return b"".join((_WHOLE, struct.pack("<I", len(spec)), spec, save(history)))


def resume(data: bytes) -> tuple[Protocol, tuple[tuple[Tally, ...], ...]]:
    """The protocol and the finished rounds of a checkpoint; the rounds are checked against the protocol."""
    start = len(_WHOLE) + 4
    if not isinstance(data, bytes) or not data.startswith(_WHOLE) or len(data) < start:
        raise ReportError("These bytes are not a checkpoint of this version.")
    (length,) = struct.unpack_from("<I", data, len(_WHOLE))
    budget = Budget(len(data))
    protocol = protocol_from_spec(data[start : start + length], budget=budget)
    history = load(data[start + length :], budget=budget)
    current(protocol, history)
    return protocol, history


def current(protocol: Protocol, history: History) -> Round | Estimates:
    """Where a protocol stands after these rounds; every tally is checked against the arm it belongs to."""
    stage: Round | Estimates = protocol.start()
    done: list[tuple[Tally, ...]] = []
    for tallies in history:
        if not isinstance(stage, Round):
            raise ReportError("This history has more rounds than its protocol.")
        done.append(check_tallies(stage, tallies))
        stage = protocol.advance(tuple(done))
    return stage
