"""From report to bytes and back. Version 1: a fixed number of bytes, little-endian, no other framing.

Type and length are the same for every report of a mechanism; each report has one encoding, and
invalid bytes are refused.
"""

from __future__ import annotations

from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.channel.base import Channel
from sottovoce.core.errors import ReportError
from sottovoce.core.specs import Spec

VERSION = 1
ID_BYTES = 16


def payload_bytes(channel: Channel) -> int:
    """Bytes of every payload."""
    return max(1, -(-channel.payload_bits // 8))


def encode(channel: Channel, report: int) -> bytes:
    """The payload of a report."""
    return report.to_bytes(payload_bytes(channel), "little")


def decode(channel: Channel, payload: bytes) -> int:
    """The report of a payload; invalid payloads are refused."""
    expected = payload_bytes(channel)
    if len(payload) != expected:
        raise ReportError(f"A payload of this mechanism has {expected} bytes. Got {len(payload)}.")
    report = int.from_bytes(payload, "little")
    if not channel.contains(report):
        raise ReportError("The bytes are not a report of this mechanism.")
    return report


def split(channel: Channel, message: bytes) -> tuple[bytes, int]:
    """The id and the report of what a device sent."""
    expected = ID_BYTES + payload_bytes(channel)
    if not isinstance(message, (bytes, bytearray)) or len(message) != expected:
        raise ReportError(f"A report of this mechanism has {expected} bytes, id and payload.")
    if not channel.accepts(id_words(message[:ID_BYTES])):
        raise ReportError("This id is invalid for this mechanism: its devices do not use it.")
    return message[:ID_BYTES], decode(channel, message[ID_BYTES:])


def spec(channel: Channel) -> Spec:
    """The codec in plain data."""
    return {"version": VERSION, "bytes": payload_bytes(channel)}
