"""Which kind a file of reports or answers is: as named, by how its name ends, or by its first bytes."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import IO, Any

from sottovoce.files.opening import STANDARD, FileProblem

_ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".tally": "tally",
    ".hex": "hex",
    ".bin": "messages",
}
# Messages begin with a random id, so more than one byte is compared.
_HEADS = {b"\xff\xff\xff\xff": "arrow", b"PAR1": "parquet", b"sottovoce tally ": "tally"}
_HEAD = 64


def kind_of(
    path: str, wanted: str | None, allowed: tuple[str, ...], *, name: str = "The input", option: str = "--format"
) -> str:
    """The kind of a file: as given, else by how its name ends."""
    kind = wanted or _by_name(path)
    if kind is None:
        raise FileProblem(f"The kind of the file cannot be inferred from its name: add {option} {'|'.join(allowed)}.")
    if kind not in allowed:
        raise FileProblem(f"{name} must be one of {', '.join(allowed)} here.")
    return kind


def kind_by_content(
    path: str, file: IO[bytes], wanted: str | None, allowed: tuple[str, ...], *, name: str
) -> tuple[str, IO[bytes]]:
    """The kind of an input: as given, else by how its name ends, else by its first bytes; and the file."""
    kind = wanted or (None if path == STANDARD else _by_name(path))
    if path == STANDARD or kind is None:
        head = file.read(_HEAD)
        if not head:
            raise FileProblem(f"{name} is empty.")
        kind, file = kind or _looks_like(head, allowed), io.BufferedReader(_Ahead(head, file))
    if kind not in allowed:
        raise FileProblem(f"{name} must be one of {', '.join(allowed)} here.")
    return kind, file


def _by_name(path: str) -> str | None:
    return _ENDINGS.get(Path(path).suffix.lower())


def _looks_like(head: bytes, allowed: tuple[str, ...]) -> str:
    for start, kind in _HEADS.items():
        if head.startswith(start):
            return kind
    if "messages" not in allowed:
        return "csv"
    # All of it must be text: a random id may well begin with a letter and the end of a line.
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head)  # the last letter may be cut
    if "\ufffd" in text or not "".join(text.split()).isprintable() or not text.split():
        return "messages"
    return "hex" if is_hexadecimal(text.split()[0].encode()) else "csv"


def is_hexadecimal(line: bytes) -> bool:
    """Whether a line holds hexadecimal digits and nothing else."""
    return bool(line) and not line.strip(b"0123456789abcdefABCDEF")


class _Ahead(io.RawIOBase):
    """A stream from which some bytes were read, as if they were not."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
