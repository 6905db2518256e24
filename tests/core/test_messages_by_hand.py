"""Messages byte by byte: what is sent for given reports, and that nothing else is read."""

from __future__ import annotations

import pytest

from sottovoce.core.arithmetic.hashing import id_bytes, id_words
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Rounding, SampledCoordinates, Subset
from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from tests.each import for_each

ID = bytes(range(16))
SMALL = Subset(5, 1, UNIT // 2)  # reports 0, ..., 4 in one byte
LARGE = Subset(257, 1, UNIT // 2)  # in two
SOME = SampledCoordinates(
    (Rounding(0, 1, 1),) * 3, Subset(2, 1, UNIT // 4 * 3), 1
)  # ids that choose a coordinate evenly


@pytest.mark.parametrize(
    ("channel", "report", "payload"), [(SMALL, 4, b"\x04"), (LARGE, 256, b"\x00\x01"), (LARGE, 3, b"\x03\x00")]
)
def test_payloads_are_little_endian_and_of_one_length(channel: Subset, report: int, payload: bytes) -> None:
    assert codec.encode(channel, report) == payload
    assert codec.decode(channel, payload) == report
    assert codec.split(channel, ID + payload) == (ID, report)
    assert codec.split(channel, bytearray(ID + payload)) == (ID, report)


@for_each("message", [b"", ID[:15], ID, ID + b"\x04\x00", ID[:15] + b"\x04", "text", 17, [0] * 17, None])
def test_a_message_of_another_length_or_type_is_refused(message: bytes) -> None:
    with pytest.raises(ReportError, match="has 17 bytes, id and payload"):
        codec.split(SMALL, message)


@pytest.mark.parametrize("payload", [b"", b"\x04\x00"])
def test_a_payload_of_another_length_is_refused(payload: bytes) -> None:
    with pytest.raises(ReportError, match="has 1 bytes"):
        codec.decode(SMALL, payload)


@pytest.mark.parametrize(("channel", "payload"), [(SMALL, b"\x05"), (SMALL, b"\xff"), (LARGE, b"\x01\x01")])
def test_a_number_that_is_no_report_is_refused(channel: Subset, payload: bytes) -> None:
    with pytest.raises(ReportError, match="not a report"):
        codec.split(channel, ID + payload)


def test_an_id_that_no_device_draws_is_refused() -> None:
    """2**53 = 3 x 3002399751580330 + 2: the last two of the numbers below 2**53 choose no coordinate of three."""
    for number, accepted in ((UNIT - 3, True), (UNIT - 2, False), (UNIT - 1, False), (0, True)):
        words = (number << 11 | 0x7FF, 5)
        assert SOME.accepts(words) == accepted
        if accepted:
            assert codec.split(SOME, id_bytes(words) + b"\x01") == (id_bytes(words), 1)
            assert SOME.first(words) == number % 3
        else:
            with pytest.raises(ReportError, match="This id is invalid"):
                codec.split(SOME, id_bytes(words) + b"\x01")


def test_ids_are_two_little_endian_words() -> None:
    words = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert id_bytes(words) == ID and id_words(ID) == words
