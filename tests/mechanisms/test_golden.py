"""Golden reports: the package sends, bit for bit, what an independent reading of the definitions sends."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.client import Client
from sottovoce.core import channel as nodes
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, HadamardSets, HalfSpace, Subset
from sottovoce.core.channel.compose import public as public_module
from sottovoce.core.channel.finite import subset as subset_module
from sottovoce.core.coins import Coins, TapeCoins
from sottovoce.core.domain import Box, Integers
from sottovoce.core.errors import SpecError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism, names
from sottovoce.mechanisms.vector import linf
from tests.each import for_each
from tests.mechanisms import reference

SIZES = [2, 3, 4, 5, 8, 9, 16, 33, 63, 64, 65, 100, 128, 129, 255, 256, 257, 300]
EPSILONS = ["0.01", "0.1", "0.5", "1", "1.75", "3", "8", "20"]
VECTORS = json.loads(reference.FILE.read_text(encoding="utf-8"))["vectors"]


def unhex(text: str) -> list[int]:
    raw = bytes.fromhex(text)
    return [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]


def test_the_reference_does_not_know_the_package() -> None:
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {
        "__future__", "argparse", "hashlib", "json", "collections.abc", "decimal", "fractions", "math", "pathlib",
        "typing",
    }  # fmt: skip


def test_the_file_is_what_the_reference_writes() -> None:
    assert reference.FILE.read_text(encoding="utf-8") == reference.text()
    assert {one["spec"]["name"] for one in VECTORS} == {*reference.NAMES, reference.LINF} <= set(names())
    assert len(VECTORS) == 68


def check_message(vector: dict[str, Any]) -> None:
    client = Client.from_spec(vector["spec"])
    assert client.mechanism.fingerprint == vector["fingerprint"]
    words, overflow = unhex(vector["words"]), unhex(vector["overflow"])
    assert len(words) == 2 + client.mechanism.channel.words
    assert client.report(vector["value"], coins=TapeCoins(words, overflow)).hex() == vector["message"]
    assert (
        client.report(vector["value"], coins=TapeCoins(bytes.fromhex(vector["words"]), overflow)).hex()
        == (vector["message"])
    )


@for_each("vector", VECTORS)
def test_a_device_sends_the_golden_message(vector: dict[str, Any]) -> None:
    check_message(vector)


@for_each("epsilon", EPSILONS)
@for_each("name", reference.NAMES)
def test_builders_choose_the_documented_channel(name: str, epsilon: str) -> None:
    for k in SIZES:
        built = mechanism(name, Integers(0, k - 1), epsilon=epsilon)
        spec = reference.mechanism_of(name, {"kind": "integers", "low": 0, "high": k - 1}, k, epsilon)
        assert built.spec() == spec and built.fingerprint == reference.fingerprint(spec)
        assert built.channel.words == reference.span(spec["channel"])


@for_each("epsilon", EPSILONS)
@for_each("d", [1, 2, 7, 64, 65, 300])
def test_signs_of_vectors_have_the_documented_channel(d: int, epsilon: str) -> None:
    built = linf.build(Box(-1, 1, d), epsilon=epsilon)
    assert built.spec() == reference.linf_of("-1", "1", d, epsilon)
    assert built.channel.words == reference.span(built.channel.spec())


def compare(one: Mechanism, code: int, words: list[int], overflow: list[int]) -> None:
    sent = one.randomize(code, TapeCoins(words, overflow))
    assert sent == reference.message(one.channel.spec(), code, words, overflow)


@pytest.mark.parametrize("epsilon", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("0.1", "4")), "1"])
@pytest.mark.parametrize("name", reference.NAMES)
def test_random_words_give_the_reference_message(name: str, epsilon: str) -> None:
    for k in SIZES:
        one = mechanism(name, Integers(0, k - 1), epsilon=epsilon)
        for code in sorted({0, 1, k // 3, k // 2, k - 2, k - 1}):
            for turn in range(2):
                label = f"sottovoce test_golden 1|{name}|{k}|{epsilon}|{code}|{turn}"
                compare(one, code, reference.shake(label, 2 + one.channel.words), [])


CHANNELS: list[dict[str, Any]] = [
    *({"node": "subset", "k": k, "w": w, "keep": UNIT - UNIT // 8} for k in (2, 3, 6, 70) for w in (1, 2, 5) if w < k),
    *(
        {"node": "bits", "k": k, "p": UNIT - 1, "q": q, "encoding": "onehot", "ones": 1}
        for k in (2, 64, 65, 200)
        for q in (1, UNIT // 2, UNIT // 4, UNIT >> 8, (UNIT >> 8) + 1, UNIT // 3, UNIT - 2)
    ),
    *(
        {"node": "block", "sets": {"kind": "hadamard", "codes": c, "order": o, "groups": b}, "inside": UNIT * 3 // 4}
        for c, o, b in ((3, 4, 1), (3, 2, 3), (14, 8, 2), (20, 8, 5))
    ),
    *(
        {
            "node": "public",
            "map": {"kind": "hash", "k": 1 << 32, "g": g, "bits": 64},
            "inner": {"node": "subset", "k": g, "w": 1, "keep": UNIT // 2 + 1},
        }
        for g in (2, 3, 1000)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: " ".join(str(v) for v in c.values())[:40])
def test_uneven_words_give_the_reference_payload(channel: dict[str, Any]) -> None:
    """Words of zeros, of ones, and of both: rejected draws and undecided lanes, which random words never meet."""
    one = nodes.channel_from_spec(channel)
    codes = sorted({0, 1, one.inputs // 2, one.inputs - 1})
    for turn in range(12):
        draws = reference.shake(f"sottovoce test_golden 1|uneven|{turn}", 4 + one.words)
        words = [(0, 2**64 - 1, draw)[draw % 3] if turn > 1 else (2**64 - 1) * turn for draw in draws]
        overflow = [2**64 - 1, 2**64 - 1, *reference.shake(f"sottovoce test_golden 1|overflow|{turn}", 300)]
        report_id, span = (words[0], words[1]), words[4:]
        for code in codes:
            coins = TapeCoins(span, overflow)
            coins.begin(len(span))
            report = one.sample(code, coins, report_id)
            assert codec.encode(one, report) == reference.payload(channel, code, report_id, span, overflow)


# --- power: a detail that is different is found -----------------------------------------------------------


MUTANTS: list[tuple[Any, str, Any, str]] = [
    (subset_module, "_skip", lambda index, code: index + 1 if index > code else index, "grr"),
    (subset_module, "_skip", lambda index, code: index, "subset"),
    (Coins, "below", lambda self, n: (self.word() >> 11) * n >> 53, "grr"),
    (Coins, "flip", lambda self, num: UNIT - 1 - (self.word() >> 11) < num, "hadamard"),
    (HadamardSets, "_half", lambda self, code, index, parity: index + parity, "hadamard"),
    (HadamardSets, "_beyond", lambda self, code, index: index, "hadamard"),
    (public_module, "hash_value", lambda a, b, v, g, bits: ((b * v + a) % 2**64 >> 32) * g >> 32, "olh"),
    (Subset, "payload_bits", property(lambda self: 16), "grr"),
    (Bits, "mask", lambda self, code: 1 << self.k - 1 - code, "oue"),
    (HalfSpace, "_untied", lambda self, signs: True, reference.LINF),
    (HalfSpace, "_signs", lambda self, coins: coins.flips(self.dimensions, UNIT // 2) ^ 1, reference.LINF),
]


def send_all(name: str) -> None:
    for vector in VECTORS:
        if vector["spec"]["name"] == name:
            check_message(vector)


@pytest.mark.parametrize(("owner", "attribute", "wrong", "name"), MUTANTS, ids=lambda x: x if type(x) is str else "")
def test_a_wrong_detail_is_found(
    owner: Any, attribute: str, wrong: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, attribute, wrong)
    with pytest.raises((AssertionError, SpecError)):
        send_all(name)
