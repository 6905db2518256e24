"""Batches on the wire: one encoding each, against an independent reader; everything else is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import cbor2
import pytest

from sottovoce.core.errors import ReportError, SottovoceError
from sottovoce.core.exchange.wire import KEYS, Batch
from tests.each import for_each

ID = bytes(range(16))
ONE = Batch(b"manifest", 3, 1, 0, ID, b"\x07")
MANY = Batch(b"\xff" * 8, 70_000, 300, 24, ID * 40, bytes(range(80)), bytes(16 * 40))


@pytest.mark.parametrize("batch", [ONE, MANY])
def test_an_independent_reader_finds_the_same_values(batch):
    found = cbor2.loads(batch.to_cbor())
    assert list(found) == list(range(8 if batch.tokens else 7))
    named = {KEYS[key]: value for key, value in found.items()}
    assert named.pop("version") == 1
    assert named == {name: getattr(batch, name) for name in named}
    assert cbor2.dumps(found, canonical=True) == batch.to_cbor()
    plain = json.loads(batch.to_json())
    assert plain["ids"] == batch.ids.hex() and plain["epoch"] == batch.epoch


@pytest.mark.parametrize("batch", [ONE, MANY])
def test_both_forms_are_read_back(batch):
    assert Batch.from_cbor(batch.to_cbor()) == batch
    assert Batch.from_json(batch.to_json()) == batch


def test_one_report_takes_few_bytes():
    assert len(ONE.to_cbor()) == 40  # 16 of the id, 1 of the payload


def test_reports_are_pairs_of_id_and_payload():
    pairs = list(MANY.reports())
    assert len(pairs) == len(MANY) == 40 and pairs[3] == (ID, bytes([6, 7]))


def test_every_cut_and_every_extra_byte_is_refused():
    data = ONE.to_cbor()
    for size in range(len(data)):
        with pytest.raises(ReportError):
            Batch.from_cbor(data[:size])
    with pytest.raises(ReportError):
        Batch.from_cbor(data + b"\x00")


def test_every_changed_byte_is_refused_or_another_batch():
    data = MANY.to_cbor()
    for place in range(len(data)):
        for change in (1, 0x20, 0x80):
            other = bytearray(data)
            other[place] ^= change
            with suppress(ReportError):
                assert Batch.from_cbor(bytes(other)) != MANY


@for_each(
    "plain",
    [
        {"version": 2},
        {"version": True},
        {"epoch": -1},
        {"epoch": 1 << 32},
        {"epoch": "1"},
        {"round": True},
        {"arm": None},
        {"ids": "00"},
        {"ids": ""},
        {"ids": "AA" * 16},
        {"ids": "0" * 31},
        {"ids": "00" * 16 * 1001, "payloads": "00" * 1001},
        {"payloads": ""},
        {"payloads": 7},
        {"manifest": "00" * 7},
        {"tokens": "00"},
        {"sender": "someone"},
    ],
)
def test_a_wrong_field_is_refused(plain):
    good = json.loads(ONE.to_json())
    with pytest.raises(SottovoceError):
        Batch.from_json(json.dumps({**good, **plain}).encode())


def test_no_other_form_of_the_same_values_is_read():
    values = cbor2.loads(ONE.to_cbor())
    backwards = cbor2.dumps(dict(reversed(values.items())))
    long_number = ONE.to_cbor().replace(b"\x02\x03", b"\x02\x18\x03")
    endless = b"\xbf" + ONE.to_cbor()[1:] + b"\xff"
    for data in (backwards, long_number, endless, ONE.to_cbor().replace(b"\xa7", b"\xa8", 1) + b"\x07\x40"):
        with pytest.raises(ReportError):
            Batch.from_cbor(data)
