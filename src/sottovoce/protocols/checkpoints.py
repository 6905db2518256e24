"""Saving a protocol between rounds, or within one: the protocol and its tallies."""

from __future__ import annotations

import hashlib

from sottovoce.core.errors import ReportError
from sottovoce.core.round import Round
from sottovoce.core.spec_cost import Budget
from sottovoce.core.specs import Spec, canonical
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State
from sottovoce.tally.tally import Tally

_MAGIC = b"sottovoce checkpoint 2\n"
_DIGEST = 32


def checkpoint(state: State) -> bytes:
    """All that is needed to resume elsewhere: the protocol, its finished rounds, the current one, and a digest.

    The current round is stored as the fingerprints of its arms and its tallies so far.
    """
    rounds = [*state.history, state.begun]
    parts = [_text(canonical(protocol_spec(state.protocol))), _text(canonical(_brief(state))), _number(len(rounds))]
    for tallies in rounds:
        parts += [_number(len(tallies)), *(_text(tally.to_bytes()) for tally in tallies)]
    body = _MAGIC + b"".join(parts)
    return body + hashlib.sha256(body).digest()


def resume(data: bytes) -> State:
    """The state of a checkpoint. Its protocol takes one step, which must lead to the stored round.

    All specifications in it, and the designs of the protocol, share a budget of work. The finished rounds are the
    collector's own: `play.replay` checks each tally of a history from elsewhere against its arm.
    """
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        raise ReportError("The bytes are not a checkpoint of this version.")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if len(body) < len(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise ReportError("This checkpoint is damaged or cut off: its digest does not fit.")
    read, budget = _Reader(body, len(_MAGIC)), Budget(len(data))
    protocol, brief = protocol_from_spec(read.text(), budget=budget), read.text()
    rounds = [
        tuple(Tally.from_bytes(read.text(), budget=budget) for _ in range(read.number())) for _ in range(read.number())
    ]
    if not rounds or read.place != len(body):
        raise ReportError("This checkpoint has bytes after its end, or no rounds.")
    *history, begun = rounds
    state = State(protocol, tuple(history), protocol.advance(history) if history else protocol.start())
    if canonical(_brief(state)) != brief:
        raise ReportError("The finished rounds of this checkpoint do not lead to the round that it was in.")
    return state.counted(begun) if begun else state


class _Reader:
    """Concatenated texts, each after its length."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def number(self) -> int:
        return int.from_bytes(self._taken(8), "little")

    def text(self) -> bytes:
        return self._taken(self.number())

    def _taken(self, size: int) -> bytes:
        if self.place + size > len(self.data):
            raise ReportError("This checkpoint is cut off.")
        self.place += size
        return self.data[self.place - size : self.place]


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _text(data: bytes) -> bytes:
    return _number(len(data)) + data


def _brief(state: State) -> Spec:
    """The current round by the fingerprints of its arms; nothing if there are estimates."""
    stage = state.stage
    if not isinstance(stage, Round):
        return {"round": None}
    arms = [{"name": arm.name, "mechanism": arm.mechanism.fingerprint, "weight": arm.weight} for arm in stage.arms]
    return {"round": {"arms": arms, "quota": stage.quota, "chosen": stage.chosen}}
