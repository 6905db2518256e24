"""Messages as devices send them, id and payload: lines of hexadecimal digits, or bytes one after the other."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from itertools import islice
from typing import IO

import numpy as np

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import Reports
from sottovoce.files.intake import LENGTH, NOT_HEX, Intake

BATCH_BYTES = 1 << 22
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def binary_messages(file: IO[bytes], mechanism: Mechanism, intake: Intake) -> Iterator[Reports]:
    """All messages of this mechanism have one length, so nothing stands between them."""
    width, row = _width(mechanism), 1
    while data := file.read(_rows(width) * width):
        count, rest = divmod(len(data), width)
        if rest:
            said = f"A message of this mechanism has {width} bytes; the last {rest} of this input are fewer."
            _refuse_or_count(intake, LENGTH, row + count, said)
        messages = np.frombuffer(data[: count * width], np.uint8).reshape(-1, width)
        yield intake.messages(mechanism, messages, np.arange(row, row + count))
        row += count


def hexadecimal_messages(file: IO[bytes], mechanism: Mechanism, intake: Intake) -> Iterator[Reports]:
    """What `sottovoce answer` prints: one message per line. Empty lines mean nothing."""
    width = _width(mechanism)
    decoded = _decoded(file, width, intake)
    while block := list(islice(decoded, _rows(width))):
        rows, messages = zip(*block, strict=True)
        message_bytes = np.frombuffer(b"".join(messages), np.uint8).reshape(-1, width)
        yield intake.messages(mechanism, message_bytes, np.array(rows, np.int64))


def _decoded(file: IO[bytes], width: int, intake: Intake) -> Iterator[tuple[int, bytes]]:
    for number, line in _lines(file, 2 * width):
        if len(line) == 2 * width:
            try:
                yield number, binascii.unhexlify(line)
                continue
            except binascii.Error:
                pass
        if line.strip(b"0123456789abcdefABCDEF"):
            _refuse_or_count(intake, NOT_HEX, number, f"Line {number} must hold {2 * width} hexadecimal digits only.")
        else:
            said = f"Line {number} has {len(line)} hexadecimal digits, expected {2 * width}."
            # A line that was cut while it was read has no length to be stated.
            _refuse_or_count(intake, LENGTH, number, said if len(line) <= 4 * width else f"Line {number} is too long.")


def _lines(file: IO[bytes], digits: int) -> Iterator[tuple[int, bytes]]:
    """Lines that are not empty, numbered from 1; of a very long one the beginning only."""
    most, number = 2 * digits + 64, 0
    while line := file.readline(most):
        number += 1
        more = line
        while not more.endswith(b"\n") and len(more) == most:
            more = file.readline(most)
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if text := line.strip():
            yield number, text


def _refuse_or_count(intake: Intake, reason: str, row: int, sentence: str) -> None:
    if intake.strict:
        raise ReportError(sentence)
    intake.leave_out(reason, np.array([row]))


def _width(mechanism: Mechanism) -> int:
    return codec.ID_BYTES + codec.payload_bytes(mechanism.channel)


def _rows(width: int) -> int:
    return max(1, BATCH_BYTES // width)
