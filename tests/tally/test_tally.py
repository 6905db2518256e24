"""Tallies are a commutative monoid; their bytes are never read as something else; hostile reports count nothing."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.client import Untimed
from sottovoce.core.coins import SeededCoins
from sottovoce.core.exchange import codec
from sottovoce.core.question import Frequency
from sottovoce.core.specs import canonical
from sottovoce.fast.batch import from_payloads
from sottovoce.testing.codes import first_message
from tests.each import for_each

NAMES = [*sv.names(sv.Frequency), "bernoulli", "piecewise", "hybrid"]  # an index, a wide one, one of a mix
MAGIC = b"sottovoce tally 2\n"


def build(name: str = "grr", size: int = 5, epsilon: float = 1.0) -> sv.Mechanism:
    """A mechanism with this many codes, or with two where its name stands for two."""
    try:
        return sv.mechanism(name, sv.Integers(0, size - 1), epsilon=epsilon)
    except sv.ParameterError:
        return sv.mechanism(name, sv.Integers(0, 1), epsilon=epsilon)


GRR, OUE = build(), build("oue", 70)
SOME = GRR.tally(GRR.privatize([0, 1, 2, 3, 4] * 7, seed=3))


def one_sentence(problem: BaseException) -> None:
    """An error of the package's own, on one line that ends like a sentence."""
    said = str(problem)
    assert isinstance(problem, sv.SottovoceError)
    assert said and "\n" not in said and said.endswith("."), said
    assert len(said) < 400


# --- the monoid -------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(data=st.data())
def test_any_split_in_any_order_is_the_same_tally(name: str, data: st.DataObject) -> None:
    m = build(name, 9)
    values = data.draw(st.lists(st.integers(0, m.domain.size - 1), max_size=80))
    reports = m.privatize(values, seed=data.draw(st.integers(0, 1 << 30)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=6)))
    parts = [m.tally(reports[a:b], threads=1) for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]
    whole = m.tally(reports)
    shuffled = data.draw(st.permutations(parts))
    total = sv.Tally.empty(m)
    while len(shuffled) > 1:  # any bracketing
        place = data.draw(st.integers(0, len(shuffled) - 2))
        shuffled[place : place + 2] = [shuffled[place] + shuffled[place + 1]]
    assert total + shuffled[0] == shuffled[0] + total == shuffled[0] == whole
    assert hash(shuffled[0]) == hash(whole)
    assert whole.n == len(values)


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_update_do_not_change_the_integers(name: str) -> None:
    m = build(name, 70)
    reports = m.privatize(np.arange(5001) % m.domain.size, seed=1)
    whole = m.tally(reports, threads=1)
    assert whole == m.tally(reports, threads=2) == m.tally(reports, threads=7)
    assert sv.Tally.empty(m).update(reports[:100]).update(reports[100:]) == whole
    assert m.tally(reports[:100]).merge(m.tally(reports[100:])) == whole


def test_what_is_no_tally_is_not_added() -> None:
    with pytest.raises(TypeError):
        SOME + 1
    assert (SOME == 1) is False
    assert sv.Tally.empty(GRR) != SOME


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        (build(epsilon=2.0), ["epsilon", "'1'", "'2'", "channel.keep"]),
        (build(size=6), ["domain.high", "4", "5"]),
        (sv.mechanism("grr", sv.Categories(list("abcde")), epsilon=1.0), ["domain.kind", "integers", "categories"]),
        (OUE, ["name", "'grr'", "'oue'"]),
        (
            sv.Mechanism(
                "grr",
                Frequency(GRR.domain),
                dataclasses.replace(GRR.channel, keep=GRR.channel.keep - 1),
                GRR.claimed,
                GRR.statistic,
            ),
            ["channel.keep", str(GRR.channel.keep), str(GRR.channel.keep - 1)],
        ),
    ],
    ids=["epsilon", "domain", "kind of domain", "name", "keep"],
)
def test_tallies_of_different_mechanisms_do_not_merge_and_it_is_said_what_differs(
    other: sv.Mechanism, shown: list[str]
) -> None:
    assert other.fingerprint != GRR.fingerprint
    for merge in (lambda: SOME + sv.Tally.empty(other), lambda: sv.Tally.empty(other).merge(SOME)):
        with pytest.raises(sv.MismatchError) as caught:
            merge()
        said = str(caught.value)
        for text in [*shown, other.fingerprint[:12], GRR.fingerprint[:12]]:
            assert text in said, said
    with pytest.raises(sv.MismatchError):
        sv.Tally.from_bytes(SOME.to_bytes(), mechanism=other)
    with pytest.raises(sv.MismatchError):
        other.estimate(SOME)


# --- what a tally may be ----------------------------------------------------------------------------
@for_each(
    "n,cells",
    [
        (3, [1, 1, 0, 0, 0]),  # sums to less
        (3, [1, 1, 1, 1, 0]),  # sums to more
        (3, [4, -1, 0, 0, 0]),
        (3, [4, 0, 0, 0, 0]),
        (-1, [0, 0, 0, 0, 0]),
        (1 << 54, [1 << 53, 1 << 53, 0, 0, 0]),
        (3, [3, 0, 0, 0]),
        (3, [[3, 0, 0, 0, 0]]),
        (3, [1.7, 1.2, 0.9, 0.0, 1.0]),  # would be cut to 1, 1, 0, 0, 1
        (3.0, [3, 0, 0, 0, 0]),
        (True, [1, 0, 0, 0, 0]),
        ("3", [3, 0, 0, 0, 0]),
        (None, [0, 0, 0, 0, 0]),
        (0, ["a"] * 5),
        (0, [float("nan")] * 5),
        (0, [1 << 70] * 5),
        (0, np.array([(1 << 64) - 1] * 5, np.uint64)),  # -1 as 64 signed bits
    ],
)
def test_wrong_counts_are_refused(n: Any, cells: Any) -> None:
    with pytest.raises(sv.SottovoceError) as caught:
        sv.Tally(GRR, n, cells)
    one_sentence(caught.value)


def test_a_sum_that_wraps_around_64_bits_is_no_sum() -> None:
    """2049 cells of 2**53 sum to 2**64 + 2**53, which 64 bits cannot tell from 2**53."""
    large = build(size=4096)
    cells = np.zeros(4096, np.int64)
    cells[:2049] = 1 << 53
    with pytest.raises(sv.MismatchError, match="sum to 18455751272964292608"):
        sv.Tally(large, 1 << 53, cells)


def test_supports_need_not_sum_to_the_reports_but_none_exceeds_them() -> None:
    assert sv.Tally(OUE, 2, [2] * 70).n == 2
    with pytest.raises(sv.MismatchError):
        sv.Tally(OUE, 2, [3] + [0] * 69)


def test_cells_cannot_be_changed() -> None:
    mine = np.array([1, 2, 0, 0, 0])
    tally = sv.Tally(GRR, np.int64(3), mine)
    mine[0] = 99
    assert tally.cells[0] == 1 and type(tally.n) is int
    assert mine.flags.writeable, "the caller's own array stays the caller's"
    with pytest.raises(ValueError, match="read-only"):
        tally.cells[0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        tally.n = 5  # type: ignore[misc]
    read = sv.Tally.from_bytes(tally.to_bytes())
    assert not read.cells.flags.writeable
    assert pickle.loads(pickle.dumps(tally)) == tally


# --- rows -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_many_tallies_are_their_sum(name: str) -> None:
    m = build(name, 12)
    reports = m.privatize(np.arange(40) % m.domain.size, seed=2)
    parts = [m.tally(reports[i::4]) for i in range(4)]
    rows = [row for part in parts for row in part.to_rows()]
    assert sv.Tally.from_rows(m, reversed(rows)) == m.tally(reports)
    assert sv.Tally.from_rows(m, []) == sv.Tally.empty(m)
    numpy_rows = np.array(rows)
    assert sv.Tally.from_rows(m, map(tuple, numpy_rows)) == m.tally(reports)
    assert all(type(number) is int for row in parts[0].to_rows() for number in row)


@for_each(
    "rows",
    [
        [(-1, 1), (5, 1)],
        [(-2, 1), (-1, 1)],
        [(-1, 2), (0, 1.7), (1, 1)],
        [(-1, 2), (0, 3), (1, -1)],
        [(-1, "2"), (0, 2)],
        [(-1, 1), (0.5, 1)],
        [(-1, 1), (0, True)],
        [(0, 1)],
        [(-1, 1)],
        [(-1, 0), (0, 1 << 63), (0, 1 << 63)],  # wraps to zero in 64 bits
        [(-1, 0), *[(0, 1 << 53)] * 2048],
    ],
)
def test_wrong_rows_are_refused(rows: Any) -> None:
    with pytest.raises(sv.SottovoceError) as caught:
        sv.Tally.from_rows(GRR, rows)
    one_sentence(caught.value)


# --- bytes ------------------------------------------------------------------------------------------
@for_each("name", NAMES)
def test_bytes_hold_all_of_a_tally(name: str) -> None:
    m = build(name, 12)
    tally = m.tally(m.privatize(np.arange(40) % m.domain.size, seed=2))
    read = sv.Tally.from_bytes(tally.to_bytes())
    assert read == tally and read.mechanism.spec() == m.spec()
    assert sv.Tally.from_bytes(tally.to_bytes(), mechanism=m) == tally
    assert read.to_bytes() == tally.to_bytes()


def test_bytes_cut_off_anywhere_are_refused() -> None:
    data = SOME.to_bytes()
    for length in range(len(data)):
        with pytest.raises(sv.SottovoceError) as caught:
            sv.Tally.from_bytes(data[:length])
        one_sentence(caught.value)


def test_any_flipped_bit_is_noticed() -> None:
    data = SOME.to_bytes()
    for place in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[place // 8] ^= 1 << place % 8
        with pytest.raises(sv.ReportError) as caught:
            sv.Tally.from_bytes(bytes(wrong))
        one_sentence(caught.value)


@given(junk=st.binary(max_size=300), keep=st.integers(0, 400))
def test_junk_is_no_tally(junk: bytes, keep: int) -> None:
    for data in (junk, SOME.to_bytes() + junk, SOME.to_bytes()[:keep] + junk):
        if data == SOME.to_bytes():
            continue
        with pytest.raises(sv.SottovoceError) as caught:
            sv.Tally.from_bytes(data)
        one_sentence(caught.value)


@pytest.mark.parametrize("data", [b"", "text", None, 7, b"sottovoce tally 3\n" + SOME.to_bytes()[len(MAGIC) :]])
def test_foreign_bytes_are_refused(data: Any) -> None:
    with pytest.raises(sv.ReportError, match="not a tally of this version"):
        sv.Tally.from_bytes(data)


def forged(
    n: int = 3,
    cells: Any = (3, 0, 0, 0, 0),
    *,
    spec: bytes | None = None,
    length: int | None = None,
    trailing: bytes = b"",
    mark: int = 0,
) -> bytes:
    """Bytes with a digest that fits, whatever they hold: a digest is no signature."""
    text = canonical(GRR.spec()) if spec is None else spec
    size = (len(text) if length is None else length).to_bytes(4, "little")
    body = MAGIC + bytes([mark]) + size + text + n.to_bytes(8, "little") + np.array(cells, "<i8").tobytes() + trailing
    return body + hashlib.sha256(body).digest()


def test_the_forger_can_write_a_true_tally() -> None:
    """So that the refusals below are about what they say."""
    assert sv.Tally.from_bytes(forged()) == sv.Tally(GRR, 3, [3, 0, 0, 0, 0])
    assert sv.Tally.from_bytes(forged(mark=1)).simulated and not sv.Tally.from_bytes(forged()).simulated


@pytest.mark.parametrize("mark", [4, 128, 255])  # 2: an epoch follows
def test_a_mark_that_says_neither_simulated_nor_real_is_refused(mark: int) -> None:
    with pytest.raises(sv.ReportError, match="not a tally of this version"):
        sv.Tally.from_bytes(forged(mark=mark))


@for_each(
    "data",
    [
        forged(cells=[4, -1, 0, 0, 0]),
        forged(cells=[4, 0, 0, 0, 0]),
        forged(cells=[2, 0, 0, 0, 0]),
        forged(cells=[3, 0, 0, 0]),
        forged(cells=[3, 0, 0, 0, 0, 0]),
        forged(cells=[]),
        forged(n=(1 << 64) - 1),
        forged(n=(1 << 53) + 1),
        forged(trailing=b"\0"),
        forged(trailing=b"\0" * 8),
        forged(spec=b""),
        forged(spec=b"{}"),
        forged(spec=b"[1]"),
        forged(spec=b"\xff\xfe"),
        forged(spec=canonical(GRR.spec()).replace(b'"high":4', b'"high":9')),
        forged(spec=canonical(GRR.spec()) + b" "),
        forged(length=0),
        forged(length=3),
        forged(length=(1 << 32) - 1),
        forged(length=len(canonical(GRR.spec())) + 8),
    ],
)
def test_forged_bytes_with_a_right_digest_are_refused(data: bytes) -> None:
    try:
        read = sv.Tally.from_bytes(data)
    except sv.SottovoceError as problem:
        one_sentence(problem)
    else:  # a spec may be written with a space: then it is the same tally, not another one
        assert read == sv.Tally(GRR, 3, [3, 0, 0, 0, 0])


# --- messages of devices ----------------------------------------------------------------------------
@pytest.mark.parametrize("size", [2, 9, 70])
@pytest.mark.parametrize("name", NAMES)
def test_messages_of_clients_are_counted_like_batches(name: str, size: int, tmp_path: Path) -> None:
    m = build(name, size)
    memo = None if m.claimed_forever is None else tmp_path / "memo"
    client = sv.Client.from_spec(canonical(m.spec()), memo=memo, lifetime_limit=memo and 1000, tick=Untimed())
    messages = [client.report(value % m.domain.size, coins=SeededCoins(value)) for value in range(40)]
    assert len({len(message) for message in messages}) == 1
    counted = m.tally(messages)
    assert counted.n == 40
    assert counted == m.tally(iter(messages)) == m.tally([bytearray(message) for message in messages])
    ids = np.array([list(message[: codec.ID_BYTES]) for message in messages], np.uint8)
    payloads = np.array([list(message[codec.ID_BYTES :]) for message in messages], np.uint8)
    batch = from_payloads(m, payloads, ids if m.channel.publics else None)
    assert counted == m.tally(batch)
    assert counted == sum((m.tally([message]) for message in messages), sv.Tally.empty(m))


@for_each("name", NAMES)
def test_a_batch_and_its_messages_have_one_tally(name: str) -> None:
    m = build(name, 70)
    reports = m.privatize(np.arange(100) % m.domain.size, seed=9)
    public = np.zeros((100, 2), np.uint64) if reports.public is None else reports.public
    ids = public.astype("<u8").view(np.uint8)
    messages = [bytes(i) + bytes(p) for i, p in zip(ids, reports.payloads(), strict=True)]
    assert m.tally(messages) == m.tally(reports)


def hostile(m: sv.Mechanism) -> list[tuple[str, bytes]]:
    """Messages that no device following the mechanism can have sent."""
    good = first_message(m, 0)
    width = len(good) - codec.ID_BYTES
    found = [("empty", b""), ("short", good[:-1]), ("long", good + b"\0"), ("id only", good[: codec.ID_BYTES])]
    for payload in (b"\xff" * width, b"\0" * width, b"\0" * (width - 1) + b"\x80"):
        if not m.channel.contains(int.from_bytes(payload, "little")):
            found.append((payload.hex(), good[: codec.ID_BYTES] + payload))
    return found


@pytest.mark.parametrize("size", [5, 70, 300])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_messages_are_refused_with_their_position_and_nothing_is_counted(name: str, size: int) -> None:
    m = build(name, size, 0.5)
    good = [first_message(m, value % m.domain.size) for value in range(6)]
    start = m.tally(good)
    before = start.to_bytes()
    for what, message in hostile(m):
        for place in (0, 3, 6):
            with pytest.raises(sv.ReportError) as caught:
                start.update([*good[:place], message, *good[place:]])
            one_sentence(caught.value)
            assert f"Report {place} " in str(caught.value), what
    assert start.to_bytes() == before


def test_the_hostile_list_has_what_matters() -> None:
    """Impossible indices, spare bits, and masks with the wrong number of ones."""
    assert len(hostile(build("grr", 5))) == 6
    assert len(hostile(build("oue", 70))) >= 6
    subset = build("subset", 70, 0.5)
    assert subset.channel.payload_bits == 70
    assert len(hostile(subset)) == 7
    one_more = int.from_bytes(subset.randomize(0)[codec.ID_BYTES :], "little")
    for flipped in (one_more ^ 1, one_more ^ 1 << 69, one_more | 1 << 70, one_more | 1 << 71):
        message = bytes(16) + flipped.to_bytes(9, "little")
        with pytest.raises(sv.ReportError, match=r"^Report 1 is invalid for this mechanism: "):
            subset.tally([subset.randomize(0), message])


@pytest.mark.parametrize("wrong", [7, None, "0" * 17, 17 * [0], memoryview(bytes(17))])
def test_messages_are_bytes(wrong: Any) -> None:
    with pytest.raises(sv.ReportError, match=r"^Report 1 must be bytes, not "):
        GRR.tally([GRR.randomize(0), wrong])


# --- batches made by hand ---------------------------------------------------------------------------
@for_each(
    "m,payload",
    [
        (GRR, np.array([1, 5], np.uint8)),
        (GRR, np.array([1, 255], np.uint8)),
        (GRR, np.array([1, -1])),
        (GRR, np.array([1, 1 << 40])),
        (GRR, np.array([1.0, 2.0])),
        (GRR, np.array([[1], [2]], np.uint8)),
        (OUE, np.full((2, 2), (1 << 64) - 1, np.uint64)),
        (OUE, np.zeros((2, 1), np.uint64)),
        (OUE, np.zeros((2, 3), np.uint64)),
        (OUE, np.zeros((2, 2), np.int64)),
        (OUE, np.zeros(2, np.uint64)),
        (build("olh"), np.zeros(2, np.uint8)),
    ],
)
def test_batches_made_by_hand_are_checked_before_a_kernel_writes(m: sv.Mechanism, payload: Any) -> None:
    with pytest.raises(sv.ReportError) as caught:
        m.tally(sv.Reports(m, payload))
    one_sentence(caught.value)


def test_public_words_of_another_length_are_refused() -> None:
    m = build("olh")
    reports = m.privatize([0, 1, 2], seed=0)
    with pytest.raises(sv.ReportError, match="public words"):
        m.tally(sv.Reports(m, reports.payload, reports.public[:2]))
