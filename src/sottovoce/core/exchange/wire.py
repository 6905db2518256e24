"""What a device sends: a batch of reports of one arm, a header once and then columns. Standard library only.

Two forms of the same batch. CBOR (RFC 8949) is the small one: a map with the keys 0, 1, 2 ... in the order of `KEYS`,
every number in its shortest form, so that a batch has exactly one encoding. JSON has the names as keys and bytes in
lower-case hexadecimal. Ids and payloads are columns of fixed width without separators; report i has the id
ids[16 i : 16 i + 16]. Its public words are its id, so they are not sent. A batch of one report has 23 bytes or a few
more beside its id and payload.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange.manifest import ID_BYTES, PREFIX_BYTES

VERSION = 1
MOST_REPORTS = 1000
MOST_BYTES = 256 * 1024
TOKEN_BYTES = 16
LARGEST = (1 << 32) - 1  # epoch, round and arm
KEYS = ("version", "manifest", "epoch", "round", "arm", "ids", "payloads", "tokens")
_NUMBERS = ("version", "epoch", "round", "arm")
CBOR_TYPE, JSON_TYPE = "application/cbor", "application/json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Reports of one arm of one round.

    Attributes:
        manifest: the first bytes of the manifest's hash.
        epoch: the number of the period in which the reports are sent, the same for everyone.
        ids: of all reports, one after the other.
        payloads: of all reports, one after the other; the arm's mechanism says how wide each is.
        tokens: invitations, one for each report, in the studies that have them; otherwise empty.
    """

    manifest: bytes
    epoch: int
    round: int
    arm: int
    ids: bytes
    payloads: bytes
    tokens: bytes = b""

    def __post_init__(self) -> None:
        for name in ("manifest", "ids", "payloads", "tokens"):
            if type(getattr(self, name)) is not bytes:
                raise ReportError(f"The {name} of a batch are bytes.")
        for name in ("epoch", "round", "arm"):
            number = getattr(self, name)
            if type(number) is not int or not 0 <= number <= LARGEST:
                raise ReportError(f"The {name} of a batch is a whole number from 0 to {LARGEST}.")
        if len(self.manifest) != PREFIX_BYTES:
            raise ReportError(f"A batch names its manifest by {PREFIX_BYTES} bytes.")
        count, rest = divmod(len(self.ids), ID_BYTES)
        if rest or not 1 <= count <= MOST_REPORTS:
            raise ReportError(f"A batch has 1 to {MOST_REPORTS} ids of {ID_BYTES} bytes.")
        if not self.payloads or len(self.payloads) % count:
            raise ReportError("The payloads of a batch are equally wide, one for each id.")
        if len(self.tokens) not in (0, count * TOKEN_BYTES):
            raise ReportError(f"The tokens of a batch are {TOKEN_BYTES} bytes for each id, or absent.")

    def __len__(self) -> int:
        """How many reports."""
        return len(self.ids) // ID_BYTES

    @property
    def width(self) -> int:
        """Bytes of each payload."""
        return len(self.payloads) // len(self)

    def reports(self) -> Iterator[tuple[bytes, bytes]]:
        """Id and payload of each."""
        width = self.width
        for place in range(len(self)):
            yield (
                self.ids[place * ID_BYTES : (place + 1) * ID_BYTES],
                self.payloads[place * width : (place + 1) * width],
            )

    # --- CBOR ----------------------------------------------------------------------------------------
    def to_cbor(self) -> bytes:
        """The one CBOR form."""
        values = [VERSION, *(getattr(self, name) for name in KEYS[1:])]
        if not self.tokens:
            values.pop()
        items = [
            _number(key) + (_text(one) if isinstance(one, bytes) else _number(one)) for key, one in enumerate(values)
        ]
        return bytes([0xA0 + len(items)]) + b"".join(items)

    # --- JSON ----------------------------------------------------------------------------------------
    def to_json(self) -> bytes:
        """The JSON form."""
        plain = {"version": VERSION, **{name: getattr(self, name) for name in KEYS[1:]}}
        if not self.tokens:
            del plain["tokens"]
        return json.dumps(
            {name: one.hex() if isinstance(one, bytes) else one for name, one in plain.items()}, separators=(",", ":")
        ).encode()

    # --- reading ---------------------------------------------------------------------------------------
    @classmethod
    def from_named(cls, values: Mapping[str, Any]) -> Batch:
        """The batch with these values by name, as either form states them. Unknown names are refused."""
        if set(values) - {"tokens"} != set(KEYS) - {"tokens"}:
            raise ReportError(f"A batch has the fields {', '.join(KEYS[:-1])}, and tokens in some studies.")
        if values["version"] != VERSION or type(values["version"]) is not int:
            raise ReportError(f"This batch has another version than {VERSION}.")
        return cls(**{name: values[name] for name in KEYS[1:] if name in values})

    @classmethod
    def from_cbor(cls, data: bytes) -> Batch:
        """Read the CBOR form; anything but the one form is refused."""
        if not data or not 0xA7 <= data[0] <= 0xA8:
            raise ReportError("This is not a batch: its CBOR form is a map with the keys 0 to 6, or 7.")
        values: dict[str, Any] = {}
        place = 1
        for key in range(data[0] - 0xA0):
            name = KEYS[key]
            written_key, place = _read(data, place, 0)
            if written_key != key:
                raise ReportError("The keys of a batch are in the order 0, 1, 2 and so on.")
            size, place = _read(data, place, 0 if name in _NUMBERS else 2)
            if name in _NUMBERS:
                values[name] = size
                continue
            if place + size > len(data):
                raise ReportError("This batch is cut off.")
            values[name], place = data[place : place + size], place + size
        if place != len(data):
            raise ReportError("This batch has bytes after its end.")
        if values.get("tokens") == b"":
            raise ReportError("A batch without tokens leaves them out.")
        return cls.from_named(values)

    @classmethod
    def from_json(cls, data: bytes) -> Batch:
        """Read the JSON form."""
        from sottovoce.core.specs import parse

        plain = parse(data)
        return cls.from_named({name: one if name in _NUMBERS else _unhex(one) for name, one in plain.items()})


def _unhex(text: object) -> bytes:
    if not isinstance(text, str) or text.strip("0123456789abcdef"):
        raise ReportError("Bytes of a batch in JSON are written in lower-case hexadecimal.")
    if len(text) % 2:
        raise ReportError("Bytes of a batch in JSON have two hexadecimal digits each.")
    return bytes.fromhex(text)


def _number(number: int, kind: int = 0) -> bytes:
    """The shortest head of a CBOR item: of a number, or of bytes with so many of them."""
    if number < 24:
        return bytes([kind << 5 | number])
    for code, size in ((24, 1), (25, 2), (26, 4)):
        if number < 1 << 8 * size:
            return bytes([kind << 5 | code]) + number.to_bytes(size, "big")
    raise ReportError(f"Numbers of a batch are at most {LARGEST}.")


def _text(data: bytes) -> bytes:
    return _number(len(data), 2) + data


def _read(data: bytes, place: int, kind: int) -> tuple[int, int]:
    """The number of a head and the place after it; only the shortest form is read."""
    head = data[place] if place < len(data) else 0xFF
    code, start = head & 31, place + 1
    size = {24: 1, 25: 2, 26: 4}.get(code, 0)
    number = int.from_bytes(data[start : start + size], "big") if size else code
    end = start + size
    if end > len(data) or code > 26 or head >> 5 != kind or _number(number, kind) != data[place:end]:
        raise ReportError("This batch is not in the shortest CBOR form of whole numbers and bytes.")
    return number, end
