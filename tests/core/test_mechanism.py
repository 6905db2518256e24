"""Mechanisms: plain data in and out, what a device refuses, the bytes it sends, and the formulas it promises."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest

from sottovoce.client import Client
from sottovoce.core import channel as nodes
from sottovoce.core import late, registry
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import UNIT, loss, within
from sottovoce.core.channel import Bits, Block, Chain, HadamardSets, HashMap, Public, Subset, Table, Then
from sottovoce.core.channel.facets import Contrast, Rates, rates_of, stages_of
from sottovoce.core.channel.finite import bits as bits_module
from sottovoce.core.coins import Coins, SeededCoins, TapeCoins, flips_span
from sottovoce.core.domain import Above, Bins, Categories, Integers, Interval, Level, Prefix, Record, Select, Sets
from sottovoce.core.errors import (
    DomainError,
    MismatchError,
    ParameterError,
    PrivacyError,
    ReportError,
    SottovoceError,
    SpecError,
    TooLargeError,
)
from sottovoce.core.exact import law_of
from sottovoce.core.exchange import codec
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.language.spelling import ELSEWHERE, NOT_YET, letters
from sottovoce.core.mechanism import Mechanism, check_same, difference
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Attributes, Boxes, Distribution, Frequency, GroupMean, Mean, VectorMean
from sottovoce.core.registry import mechanism, names
from sottovoce.core.specs import MAX_INTEGER, canonical, parse
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from tests.each import for_each

U = UNIT
ORACLES = ["grr", "subset", "sue", "oue", "olh", "hadamard"]  # those for any number of categories, worked out by hand
BIRDS = Categories(["lark", "owl"])
EPSILONS = ["0.1", "0.5", "1", "2", "4", "8"]
SIZES = [2, 3, 16, 100, 1024, 4096]
PEOPLE = Record({"age": Integers(0, 2), "type": Categories(["lark", "owl"])})
RAPPOR = Chain(Bits(3, 3 * U // 4, U // 4), Bits(3, 3 * U // 4, U // 4, "mask", 0))

MECHANISMS: dict[str, Mechanism] = {
    **{name: mechanism(name, Categories(["a", "b", "c"]), epsilon=1) for name in ORACLES},
    "subset of two": mechanism("subset", Integers(0, 4), epsilon=1, w=2),
    "views": Mechanism(
        "v", Frequency(Prefix(Level(Integers(0, 7), 2, 3), 2)), Subset(4, 2, 3 * U // 4), Decimal(3), CountSupports()
    ),
    "rappor": Mechanism(
        "rappor", Frequency(Select(PEOPLE, ["age"])), RAPPOR, Decimal(3), CountSupports(), claimed_forever=Decimal(3)
    ),
    "apart": Mechanism(
        "b", Frequency(Bins(Interval(0, 3), [1, 2])), Bits(3, (U // 2,) * 3, U // 4), Decimal(2), CountSupports()
    ),
    "table": Mechanism(
        "t",
        Frequency(Above(Interval(0, 3), 2)),
        Then(Table([[U, 0], [0, U]]), Table([[3 * U // 4, U // 4], [U // 4, 3 * U // 4]])),
        Decimal("1.0986122886681099"),
        CountOutputs(),
    ),
}
VALUES: dict[str, list[object]] = {
    **{name: ["a", "b", "c"] for name in ORACLES},
    "subset of two": [0, 4],
    "views": list(range(8)),
    "rappor": [{"age": age, "type": "owl"} for age in range(3)],
    "apart": [0, 1.5, 3],
    "table": [0, 3],
}


def walk(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], object]]:
    """Every place of plain data."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))


def changed(spec: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """The same plain data with another value in one place."""
    result = copy.deepcopy(spec)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def answer(one: Mechanism, value: object, coins: Coins | None = None) -> bytes:
    """A message, by way of a memo where the mechanism keeps one."""
    if stages_of(one.channel) is None:
        return one.randomize(value, coins)
    return one.answer_from(one.remember(value, coins), coins)


# --- plain data ---------------------------------------------------------------------------------------


@for_each("name", MECHANISMS)
def test_a_spec_is_complete_and_plain(name: str) -> None:
    one = MECHANISMS[name]
    spec = one.spec()
    for _, value in walk(spec):
        assert type(value) in (dict, list, str, int, type(None))
        assert not isinstance(value, int) or abs(value) <= MAX_INTEGER
    for form in (spec, json.dumps(spec), json.dumps(spec, indent=3), canonical(spec), json.dumps(spec).encode()):
        again = Mechanism.from_spec(form)
        assert again == one and hash(again) == hash(one)
        assert type(again.channel) is getattr(nodes, type(one.channel).__name__)
        assert again.spec() == spec and again.fingerprint == one.fingerprint
        assert (again.ratio, again.words, again.epsilon_forever) == (one.ratio, one.words, one.epsilon_forever)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.name = "other"  # type: ignore[misc]


def test_fingerprints_are_golden() -> None:
    """The canonical text is written by hand; 6584790284608188 is e / (e + 1) in units, rounded down."""
    text = (
        '{"channel":{"k":2,"keep":6584790284608188,"node":"subset","w":1},"codec":{"bytes":1,"version":1},'
        '"domain":{"kind":"categories","values":["lark","owl"]},"epsilon":"1","epsilon_forever":null,"guarantee":"pure","name":"grr",'
        '"question":{"kind":"frequency"},"statistic":{"kind":"outputs"},"unused":null,"version":1}'
    )
    built = mechanism("grr", BIRDS, epsilon=1.0)
    assert canonical(built.spec()) == text.encode()
    assert built.fingerprint == hashlib.sha256(text.encode()).hexdigest()
    assert (
        built.fingerprint
        == mechanism("k-rr", BIRDS, epsilon="1.00").fingerprint
        == Mechanism.from_spec(text).fingerprint
    )
    assert Context(prec=60).exp(Decimal(1)) / (Context(prec=60).exp(Decimal(1)) + 1) * U > 6584790284608188

    umlaut = mechanism("oue", Categories(["ü", '"', "\n"]), epsilon="0.5")
    text = (
        '{"channel":{"encoding":"onehot","k":3,"node":"bits","ones":1,"p":4503599627370496,"q":%d},'
        '"codec":{"bytes":1,"version":1},"domain":{"kind":"categories","values":["ü","\\"","\\n"]},'
        '"epsilon":"0.5","epsilon_forever":null,"guarantee":"pure","name":"oue",'
        '"question":{"kind":"frequency"},"statistic":{"kind":"supports"},"unused":null,"version":1}'
    )
    context = Context(prec=60)
    q = math.ceil(Fraction(U) / (Fraction(context.exp(Decimal("0.5"))) + 1))
    assert umlaut.fingerprint == hashlib.sha256((text % q).encode("utf-8")).hexdigest()


@for_each("name", MECHANISMS)
def test_missing_and_unknown_keys_are_refused_everywhere(name: str) -> None:
    spec = MECHANISMS[name].spec()
    for path, value in walk(spec):
        if isinstance(value, dict):
            with pytest.raises(SottovoceError):
                Mechanism.from_spec(changed(spec, (*path, "more"), 1))
            for key in value:
                short = {k: v for k, v in value.items() if k != key}
                with pytest.raises(SottovoceError):
                    Mechanism.from_spec(changed(spec, path, short) if path else short)


WRONG = [
    None,
    True,
    False,
    -1,
    1 << 53,
    -(1 << 53),
    "",
    "nan",
    "1e5",
    [1],
    [[1]],
    ["a", "a"],
    {"a": 1},
    {"kind": "hash"},
]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_wrong_value_anywhere_is_refused_by_a_proper_error(name: str) -> None:
    """What is accepted must read the same when it is written again, so that hashes agree across languages."""
    spec = MECHANISMS[name].spec()
    for path, right in walk(spec):
        for value in WRONG:
            if not path or (value == right and type(value) is type(right)):
                continue
            wrong = changed(spec, path, value)
            try:
                again = Mechanism.from_spec(json.dumps(wrong))
            except SottovoceError:
                continue
            assert canonical(again.spec()) == canonical(wrong)
            assert path[-1] in ("name", "unused") or "values" in path or path[-1] in ("low", "high", "ones")


@pytest.mark.parametrize("name", ["grr", "olh", "hadamard", "rappor"])
def test_a_kind_that_is_a_list_is_refused_by_a_proper_error(name: str) -> None:
    spec = MECHANISMS[name].spec()
    for path, _ in walk(spec):
        if path and path[-1] in ("kind", "node", "fields"):
            with pytest.raises(SottovoceError):
                Mechanism.from_spec(changed(spec, path, []))
            with pytest.raises(SottovoceError):
                Mechanism.from_spec(changed(spec, path, 5))


@pytest.mark.parametrize(
    ("key", "value"), [("version", 99), ("version", -1), ("version", True), ("codec", {"version": True, "bytes": 1})]
)
def test_a_spec_of_another_version_is_refused(key: str, value: object) -> None:
    with pytest.raises(SpecError):
        Mechanism.from_spec({**MECHANISMS["grr"].spec(), key: value})
    if key == "version":
        with pytest.raises(SpecError):
            Mechanism("grr", Frequency(BIRDS), Subset(2, 1, 3 * U // 4), Decimal(2), CountOutputs(), version=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", ["1.0", " 1", "1_0e-1", "1e0", "\u0661", "+1"])
def test_a_number_has_one_spelling_in_a_spec(epsilon: str) -> None:
    with pytest.raises(SottovoceError):
        Mechanism.from_spec({**MECHANISMS["grr"].spec(), "epsilon": epsilon})


TEXT = json.dumps(MECHANISMS["grr"].spec())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "5",
        '"text"',
        TEXT[:-1],
        TEXT + "{}",
        TEXT.replace('"version": 1,', '"version": 1.0,', 1),
        TEXT.replace('"version": 1,', '"version": 1e0,', 1),
        TEXT.replace('"version": 1,', '"version": NaN,', 1),
        TEXT.replace('"version": 1,', '"version": -Infinity,', 1),
        TEXT.replace('"version": 1,', '"version": 1, "version": 1,', 1),
        TEXT.replace('"k": 3', '"k": 3, "k": 3'),
        TEXT.replace('"k": 3', '"k": 3.0'),
        TEXT.replace('"k": 3', '"k": true'),
        TEXT.replace('"k": 3', '"k": "3"'),
        TEXT.replace('"k": 3', '"K": 3'),
        TEXT.replace('"bytes": 1', '"bytes": 2'),
        TEXT.replace('"epsilon": "1"', '"epsilon": 1'),
        TEXT.replace('"epsilon": "1"', '"epsilon": "0"'),
        TEXT.replace('"epsilon": "1"', '"epsilon": "-1"'),
        TEXT.replace('"epsilon": "1"', '"epsilon": "20.1"'),
        TEXT.replace('"epsilon": "1"', '"epsilon": "Infinity"'),
        TEXT.replace('"pure"', '"Pure"'),
        TEXT.replace('"outputs"', '"sums"'),
        '{"a":' * 100_000,
        "[" * 100_000,
        '{"a":' * 40 + "1" + "}" * 40,
        TEXT.encode() + b"\xff",
        b"\xff\xfe",
    ],
    ids=lambda text: repr(text)[:30],
)
def test_what_is_no_spec_is_refused(text: str | bytes) -> None:
    with pytest.raises(SottovoceError):
        Mechanism.from_spec(text)


def test_specs_that_are_no_plain_data_are_refused() -> None:
    spec = MECHANISMS["grr"].spec()
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    for wrong in (
        {**spec, "version": 1.0},
        {**spec, "version": 1 << 54},
        {**spec, 5: 1},
        {**spec, "é": 1},
        {**spec, "name": "\ud800"},
        {**spec, "domain": {1, 2}},
        {**spec, "domain": deep},
        None,
        5,
        [],
    ):
        with pytest.raises(SpecError):
            Mechanism.from_spec(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"version": 1,', f'"version": {"9" * 5000},', 1),  # Python refuses to read so many digits
        TEXT.replace('"version": 1,', f'"version": {1 << 60},', 1),
        TEXT.replace('"name": "grr"', '"name": "\\ud800"'),
    ],
    ids=["digits", "2**60", "surrogate"],
)
def test_a_text_is_held_to_the_same_rules(text: str) -> None:
    with pytest.raises(SpecError):
        Mechanism.from_spec(text)


@pytest.mark.parametrize("name", ["x", "no such mechanism", "<script>", "日本", "grr " * 25])
def test_a_name_may_be_any_printable_text(name: str) -> None:
    again = Mechanism.from_spec({**MECHANISMS["grr"].spec(), "name": name})
    assert again.name == name and again.spec()["name"] == name
    assert again.fingerprint != MECHANISMS["grr"].fingerprint
    assert len(again.randomize("a")) == 17


def test_from_spec_calls_no_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = {name: canonical(one.spec()) for name, one in MECHANISMS.items()}

    def explode(*_: object, **__: object) -> None:
        raise AssertionError("A builder was asked for.")

    monkeypatch.setattr(registry, "BUILDERS", {})
    monkeypatch.setattr(registry, "builder", explode)
    monkeypatch.setattr(registry, "mechanism", explode)
    monkeypatch.setattr(late, "load", explode)
    for name, text in specs.items():
        one = Client.from_spec(text, memo="memo").mechanism
        assert one.fingerprint == MECHANISMS[name].fingerprint
        assert len(answer(one, VALUES[name][0])) == 16 + codec.payload_bytes(one.channel)


def test_differences_are_shown_on_both_sides() -> None:
    one, other = mechanism("grr", BIRDS, epsilon=1), mechanism("grr", BIRDS, epsilon=2)
    places = difference(one.spec(), other.spec())
    assert "epsilon: '1' against '2'" in places and any(place.startswith("channel.keep: ") for place in places)
    check_same(one, Mechanism.from_spec(one.spec()), "add tallies")
    with pytest.raises(MismatchError) as caught:
        check_same(one, other, "add tallies")
    assert one.fingerprint[:12] in str(caught.value) and other.fingerprint[:12] in str(caught.value)
    assert difference({"a": [1]}, {"b": None}) == ["a: [1] against None"]


def test_parse_and_canonical_are_inverse() -> None:
    for one in MECHANISMS.values():
        assert parse(canonical(one.spec())) == one.spec()


# --- privacy ------------------------------------------------------------------------------------------


@for_each("name", MECHANISMS)
def test_a_claim_below_the_truth_is_refused(name: str) -> None:
    spec = MECHANISMS[name].spec()
    truth = loss(MECHANISMS[name].ratio)
    below = decimal_text(truth * Decimal("0.9999999"))
    with pytest.raises(PrivacyError) as caught:
        Mechanism.from_spec({**spec, "epsilon": below})
    assert below in str(caught.value)
    above = decimal_text(truth * Decimal("1.0000001"))
    assert Mechanism.from_spec({**spec, "epsilon": above}).epsilon == MECHANISMS[name].epsilon
    assert Decimal(MECHANISMS[name].epsilon) >= truth


def test_probabilities_that_do_not_fit_are_refused() -> None:
    spec = MECHANISMS["grr"].spec()
    for keep in (0, U, U + 1, -1, U // 3, 1):
        with pytest.raises(SottovoceError):
            Mechanism.from_spec(changed(spec, ("channel", "keep"), keep))
    with pytest.raises(PrivacyError):
        Mechanism.from_spec(changed(spec, ("channel", "keep"), spec["channel"]["keep"] + 1))
    for k in (2, 4):
        with pytest.raises((MismatchError, PrivacyError)):
            Mechanism.from_spec(changed(spec, ("channel", "k"), k))
    for values in (["a", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(MismatchError):
            Mechanism.from_spec(changed(spec, ("domain", "values"), values))
    for values in (["a", "b", "b"], ["a", "é", "e\u0301"], [1, 2, True], ["a", "b", 1]):
        with pytest.raises(ParameterError):
            Mechanism.from_spec(changed(spec, ("domain", "values"), values))


def test_a_table_with_unequal_supports_is_refused() -> None:
    for rows in ([[U, 0], [0, U]], [[U - 1, 1], [U, 0]]):
        with pytest.raises(PrivacyError):
            Mechanism("t", Frequency(BIRDS), Table(rows), Decimal(20), CountOutputs())


def test_short_hash_words_cost_no_privacy() -> None:
    """Short words are for proofs; in a client they only make collisions more frequent."""
    short = Mechanism(
        "olh", Frequency(Integers(0, 2)), Public(HashMap(3, 3, 4), Subset(3, 1, U // 2)), Decimal(1), CountSupports()
    )
    again = Client.from_spec(short.spec(), limit=1.0).mechanism
    for words in ((0, 0), (1 << 63, 12345), ((1 << 64) - 1, 7)):
        laws = [law_of(lambda coins, c=code, w=words: again.channel.sample(c, coins, w)) for code in range(3)]
        for a, b in itertools.permutations(laws, 2):
            assert set(a) == set(b) and all(within(a[y] / b[y], Decimal(1)) for y in a)


def test_a_client_has_a_limit() -> None:
    one = MECHANISMS["grr"]
    assert Client.from_spec(one.spec(), limit=1.0).mechanism == one
    assert Client.from_spec(one.spec(), limit=one.epsilon)
    for limit in (0.999, 0, -1, math.nextafter(one.epsilon, 0), float("nan"), Decimal("0.5")):
        with pytest.raises(PrivacyError):
            Client.from_spec(one.spec(), limit=limit)  # type: ignore[arg-type]
    # What counts is the channel, not the claim.
    assert Client.from_spec({**one.spec(), "epsilon": "20"}, limit=1.0)


@pytest.mark.parametrize("guarantee", ["approximate", "utility_optimised", "idealised"])
def test_a_client_refuses_guarantees_that_are_not_pure(guarantee: str) -> None:
    spec = {**MECHANISMS["grr"].spec(), "guarantee": guarantee}
    with pytest.raises(PrivacyError):
        Client.from_spec(spec)
    others = tuple({"approximate", "utility_optimised", "idealised"} - {guarantee})
    with pytest.raises(PrivacyError):
        Client.from_spec(spec, accept=others)
    assert Client.from_spec(spec, accept=(guarantee,)).report("a")
    with pytest.raises(PrivacyError):
        Client.from_spec(spec, accept=(guarantee,), limit=0.5)


def test_a_client_checks_however_it_is_made() -> None:
    bare = Mechanism("x", Frequency(BIRDS), Subset(2, 1, U - 1), Decimal(1), CountOutputs(), guarantee=IDEALISED)
    with pytest.raises(PrivacyError):
        Client(bare)
    with pytest.raises(PrivacyError):
        Client(bare, accept=("approximate",))
    with pytest.raises(PrivacyError):
        Client(bare, limit=36.0, accept=("idealised",))
    assert Client(bare, limit=37.0, accept=("idealised",)).report("owl")
    with pytest.raises(PrivacyError):
        Client(MECHANISMS["grr"], 0.999)
    assert Client(MECHANISMS["grr"], 1.0) == Client.from_spec(MECHANISMS["grr"].spec(), limit=1.0)


@pytest.mark.parametrize(
    "channel", [Subset(4, 1, U // 2), Block(HadamardSets(6, 4, 2), U // 2)], ids=["subset", "block"]
)
def test_a_continuum_does_not_fit_a_finite_channel(channel: Any) -> None:
    with pytest.raises(SottovoceError):
        Mechanism("x", Frequency(Interval(0, 3)), channel, Decimal(3), CountOutputs())


def test_a_channel_that_takes_only_some_codes_fits_no_domain() -> None:
    """An error for some values only, once a device is asked, would tell them."""
    one_bit = Bits(2, 3 * U // 4, U // 4, "mask", 1)
    any_bits = Bits(2, 3 * U // 4, U // 4, "mask", 0)
    for channel in (one_bit, Then(one_bit, Subset(4, 1, U // 2)), Chain(one_bit, any_bits)):
        for statistic in (CountSupports(), CountOutputs()):
            with pytest.raises(MismatchError):
                Mechanism("x", Frequency(Integers(0, 3)), channel, Decimal(20), statistic)


def test_numbers_too_long_to_print_are_refused_by_a_proper_error() -> None:
    """Python refuses to write out an integer of more than 4300 digits."""
    fields = {f"f{index}": Integers(0, (1 << 32) - 1) for index in range(500)}
    with pytest.raises(MismatchError, match=r"at least 2\*\*16000 codes"):
        Mechanism("x", Frequency(Select(Record(fields), fields)), Subset(3, 1, U // 2), Decimal(3), CountOutputs())
    with pytest.raises(ParameterError, match=r"at least 2\*\*16000"):
        mechanism("grr", Select(Record(fields), fields), epsilon=1)
    with pytest.raises(ParameterError, match=r"at least 2\*\*20000 reports"):
        Chain(Bits(20_000, U // 2, U // 4), Subset(3, 1, U // 2))


# --- memos ----------------------------------------------------------------------------------------------------


class Untouchable(Coins):
    """Coins that fail the test when anything is asked of them."""

    def _load(self, words: int) -> bytes:
        raise AssertionError("A coin was drawn.")

    def extra(self) -> int:
        raise AssertionError("A coin was drawn.")


def test_a_mechanism_with_a_memo_is_not_answered_without_it() -> None:
    """Drawing the memo again would spend `epsilon_forever` again."""
    one = MECHANISMS["rappor"]
    for value in VALUES["rappor"]:
        with pytest.raises(PrivacyError):
            one.randomize(value, Untouchable())
        with pytest.raises(PrivacyError):
            Client(one).report(value, coins=Untouchable())
    assert one.epsilon < one.epsilon_forever < math.inf
    for name, other in MECHANISMS.items():
        if name != "rappor":
            assert other.epsilon_forever == math.inf
            with pytest.raises(PrivacyError):
                other.remember(VALUES[name][0], Untouchable())
            with pytest.raises(PrivacyError):
                other.answer_from(0, Untouchable())


def test_a_memo_is_a_report_of_the_first_stage(seed: int) -> None:
    one, draw = MECHANISMS["rappor"], random.Random(seed)
    for value in VALUES["rappor"]:
        code = one.domain.encode(value)
        for _ in range(50):
            words = [draw.getrandbits(64) for _ in range(RAPPOR.first.words)]
            coins = TapeCoins(words)
            coins.begin(len(words))
            assert one.remember(value, TapeCoins(words)) == RAPPOR.first.sample(code, coins)
    assert law_of(lambda coins: one.remember(VALUES["rappor"][1], coins)) == {
        memo: RAPPOR.first.likelihood(memo, 1) for memo in range(8)
    }


def test_an_answer_from_a_memo_is_a_report_of_the_second_stage(seed: int) -> None:
    one, draw = MECHANISMS["rappor"], random.Random(seed)
    for memo in range(8):
        messages = set()
        for _ in range(50):
            words = [draw.getrandbits(64) for _ in range(2 + RAPPOR.second.words)]
            coins = TapeCoins(words)
            coins.begin(len(words))
            public = (coins.word(), coins.word())
            message = one.answer_from(memo, TapeCoins(words))
            assert message == id_bytes(public) + codec.encode(RAPPOR, RAPPOR.second.sample(memo, coins, public))
            assert len(message) == 17 and one.channel.contains(message[16])
            messages.add(message)
        assert len(messages) == 50  # a memo is kept, a message is not

    # Memo and answer together have the law of one report.
    def memo_and_answer(coins: Coins) -> int:
        memo = one.remember(VALUES["rappor"][2], coins)
        coins.begin(RAPPOR.second.words)
        return RAPPOR.second.sample(memo, coins)

    assert law_of(memo_and_answer) == {report: RAPPOR.likelihood(report, 2) for report in range(8)}


@pytest.mark.parametrize("memo", [-1, 8, 1 << 80, None, "1", 1.0, True, b"\1", [1]], ids=repr)
def test_what_is_no_memo_is_refused_before_a_coin_is_drawn(memo: Any) -> None:
    with pytest.raises(PrivacyError):
        MECHANISMS["rappor"].answer_from(memo, Untouchable())


def test_foreign_values_are_not_remembered() -> None:
    one = MECHANISMS["rappor"]
    for value in (*one.domain.foreign(), {"age": 3, "type": "owl"}, {"age": 1, "type": "robin"}, {"type": "owl"}):
        with pytest.raises(DomainError):
            one.remember(value, Untouchable())


# --- a spec must not be able to keep a device busy -----------------------------------------------------------


def test_nested_views_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def size(self: Integers) -> int:
        nonlocal asked
        asked += 1
        return self.high - self.low + 1

    monkeypatch.setattr(Integers, "size", property(size))
    domain: Any = Integers(0, 255)
    for _ in range(6):
        domain = Prefix(domain, 2)
    assert asked < 1000


def test_nested_compositions_are_multiplied_up_once_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    right = Table.likelihood

    def likelihood(self: Table, *arguments: Any) -> Fraction:
        nonlocal asked
        asked += 1
        return right(self, *arguments)

    monkeypatch.setattr(Table, "likelihood", likelihood)
    blur = Table([[U // 2 + 1, U // 2 - 1], [U // 2 - 1, U // 2 + 1]])
    channel: Any = blur
    for _ in range(12):
        channel = Then(channel, blur)
    lead = Fraction(2, U) ** 13  # what is left of the difference of the two rows
    assert channel.ratio() == (1 + lead) / (1 - lead)
    assert asked == 4 * 13  # each entry of each table once
    wide = Table([[U - 99, *[1] * 99], [U - 198, *[2] * 99]] * 50)
    with pytest.raises(TooLargeError):
        Then(wide, Then(wide, wide)).ratio()
    assert asked == 4 * 13


def test_the_ratio_of_many_equal_bits_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    right = bits_module.units

    def units(count: int) -> Fraction:
        nonlocal asked
        asked += 1
        return right(count)

    monkeypatch.setattr(bits_module, "units", units)
    Bits(3000, U // 2, U // 4).ratio()
    assert asked < 100


# --- messages -------------------------------------------------------------------------------------------------


@for_each("name", MECHANISMS)
def test_messages_have_one_length(name: str, seed: int) -> None:
    one = MECHANISMS[name]
    expected = 16 + max(1, -(-one.channel.payload_bits // 8))
    coins = SeededCoins(seed)
    ids = set()
    for value in VALUES[name]:
        for _ in range(50):
            message = answer(one, value, coins)
            assert type(message) is bytes and len(message) == expected
            report_id, report = codec.split(one.channel, message)
            assert one.channel.contains(report) and codec.encode(one.channel, report) == message[16:]
            ids.add(report_id)
        assert len(answer(one, value)) == expected
    assert len(ids) == 50 * len(VALUES[name])


@for_each("name", MECHANISMS)
def test_foreign_bytes_are_refused(name: str, seed: int) -> None:
    one = MECHANISMS[name]
    message = answer(one, VALUES[name][0], SeededCoins(seed))
    for wrong in (b"", message[:-1], message[1:], message + b"\0", message * 2, message[:16]):
        with pytest.raises(ReportError):
            codec.split(one.channel, wrong)
    width = codec.payload_bytes(one.channel)
    assert width == 1
    for payload in range(256):
        if one.channel.contains(payload):
            assert codec.decode(one.channel, bytes([payload])) == payload
        else:
            with pytest.raises(ReportError):
                codec.decode(one.channel, bytes([payload]))
    accepted = sum(map(one.channel.contains, range(256)))
    outputs = {"subset of two": 10, "views": 6, "hadamard": 4, "table": 2, "olh": 4}
    bits = {"sue": 8, "oue": 8, "rappor": 8, "apart": 8}
    assert accepted == {**outputs, **bits}.get(name, 3)


def test_payloads_are_little_endian_and_fixed() -> None:
    wide = mechanism("grr", Integers(0, 999), epsilon=1).channel
    assert codec.encode(wide, 1) == b"\x01\x00" and codec.encode(wide, 999) == b"\xe7\x03"
    assert codec.decode(wide, b"\xe7\x03") == 999
    for payload in (b"\xe8\x03", b"\xff\xff", b"\x01", b"\x01\x00\x00"):
        with pytest.raises(ReportError):
            codec.decode(wide, payload)
    assert codec.spec(wide) == {"version": 1, "bytes": 2}


A = (1 << 63) + (1 << 33)
ID_HEX = "0000000002000080" + "0000000000000000"  # the words A and 0, little-endian


def send(one: Mechanism, value: object, words: list[int]) -> str:
    """The message of a participant whose coins are these words, after the two of the id."""
    span = one.channel.words
    return one.randomize(value, TapeCoins([A, 0, *words, *[0] * (span - len(words))])).hex()


def top(value: int) -> int:
    """A word whose 53 leading bits are this number."""
    return value << 11 | 0x5A5


def test_golden_bytes_of_randomized_response() -> None:
    grr = MECHANISMS["grr"]
    keep = 5189199575106477  # e / (e + 2) in units, rounded down
    assert send(grr, "b", [top(keep - 1)]) == ID_HEX + "01"  # kept
    assert send(grr, "b", [top(keep), top(6)]) == ID_HEX + "00"  # 6 mod 2 = 0: the first of the others
    assert send(grr, "b", [top(keep), top(7)]) == ID_HEX + "02"
    assert send(grr, "a", [top(U - 1), top(6)]) == ID_HEX + "01"
    assert send(grr, "c", [top(U - 1), top(7)]) == ID_HEX + "01"


def test_golden_bytes_of_subset_selection() -> None:
    two = mechanism("subset", Integers(0, 3), epsilon=1, w=2)
    # e / (e + 1) is kept. Kept, code 2: one more among three, number 4 mod 3 = 1 of (0, 1, 3), so {1, 2}.
    assert send(two, 2, [0, top(4)]) == ID_HEX + "06"
    # Dropped, code 0: 3 mod 2 = 1 of (1, 2), that is 2; then 4 mod 3 = 1 of (1, 2, 3) again, so the bound: 3.
    assert send(two, 0, [top(U - 1), top(3), top(4)]) == ID_HEX + "0c"
    assert send(two, 0, [top(U - 1), top(3), top(3)]) == ID_HEX + "06"
    assert two.channel.words == 3


def test_golden_bytes_of_unary_encoding() -> None:
    oue = MECHANISMS["oue"]
    # q = 0.2689 is 0.0100... in binary. First bits: lanes 1 and 2 have a one, so they are above. Lane 0 has 00,
    # which is below 01: true. Then the words of undecided lanes (there are none) and the coin of the code.
    levels = [0b110, 0, *[0b111] * 6]
    span = flips_span(3, 2422408970132804)
    rest = [0] * (span - 8)
    assert send(oue, "b", [*levels, *rest, top(U // 2 - 1)]) == ID_HEX + "03"
    assert send(oue, "b", [*levels, *rest, top(U // 2)]) == ID_HEX + "01"
    assert send(oue, "a", [*levels, *rest, top(U // 2)]) == ID_HEX + "00"  # what lane 0 drew is not used
    assert send(oue, "c", [*levels, *rest, 0]) == ID_HEX + "05"
    assert span + 1 == oue.channel.words


def test_golden_bytes_of_local_hashing() -> None:
    olh = mechanism("olh", Integers(0, 9), epsilon=1, g=10)
    # Upper half of A * 3 + 0 modulo 2**64 is 2**31 + 6, times 10 and over 2**32: 5.
    assert send(olh, 3, [0]) == ID_HEX + "05"
    assert send(olh, 3, [top(U - 1), top(9 * 11 + 5)]) == ID_HEX + "06"  # the fifth of the others, counted from 0
    assert send(olh, 0, [0]) == ID_HEX + "00"


def test_golden_bytes_of_hadamard_response() -> None:
    hadamard = MECHANISMS["hadamard"]
    assert hadamard.channel.spec()["sets"] == {"kind": "hadamard", "codes": 3, "order": 4, "groups": 1}
    # Row 1 is + - + -: its set is {0, 2}. Row 3 is + - - +: {0, 3}, and {1, 2} outside.
    assert [send(hadamard, "a", [0, top(i)]) for i in (4, 5)] == [ID_HEX + "00", ID_HEX + "02"]
    assert [send(hadamard, "c", [0, top(i)]) for i in (4, 5)] == [ID_HEX + "00", ID_HEX + "03"]
    assert sorted(send(hadamard, "c", [top(U - 1), top(i)]) for i in (4, 5)) == [ID_HEX + "01", ID_HEX + "02"]


def test_the_id_is_drawn_before_the_answer_and_apart_from_it() -> None:
    words = [random.Random(1).getrandbits(64) for _ in range(4)]
    for value in ("a", "b", "c"):
        message = MECHANISMS["grr"].randomize(value, TapeCoins(words))
        assert message[:16] == b"".join(word.to_bytes(8, "little") for word in words[:2])


# --- builders ---------------------------------------------------------------------------------------------------


@for_each("name", names())
def test_epsilon_is_checked_in_one_sentence(name: str) -> None:
    sentence = rf"^The 'epsilon' parameter of {name} must be a number in \(0, 20\]\. Got .*\.$"
    wrong = [0, -1, 20.1, "x", None, True, float("nan"), float("inf"), [], 1j, "0." + "1" * 130, Decimal("sNaN")]
    for epsilon in wrong:
        with pytest.raises(ParameterError, match=sentence):
            mechanism(name, BIRDS, epsilon=epsilon)


@pytest.mark.parametrize(("name", "option"), [("olh", "g"), ("subset", "w")])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", 1 << 40, [], 2.0], ids=repr)
def test_options_are_checked_in_one_sentence(name: str, option: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        mechanism(name, Integers(0, 9), epsilon=1, **{option: value})
    assert re.match(rf"^The '{option}' parameter of {name} must be an integer in .*\. Got .*\.$", str(caught.value))


@for_each("name", names())
def test_domains_are_checked_in_one_sentence(name: str) -> None:
    if name in names(GroupMean):
        unfit, sentence = (Interval(0, 1), PEOPLE), r"must be a Pair of groups and numbers, such as .*\.$"
    elif name in names(Mean):
        unfit, sentence = (BIRDS, PEOPLE), r"must be a domain of numbers, such as Interval\(0, 10\)\.$"
    elif name in names(VectorMean):
        unfit, sentence = (Interval(0, 1), BIRDS, PEOPLE), r"must be (a Box|a vector|vectors) ?.*\.$"
    elif name in names(Attributes):
        unfit, sentence = (Interval(0, 1), BIRDS), r"must be a record whose fields are .*\.$"
    elif name in names(Distribution):
        unfit, sentence = (PEOPLE, Bins(Interval(0, 1), ["0.5"])), r"must be an Interval, Integers, Categories in .*\.$"
    elif name in names(Boxes):
        unfit, sentence = (Interval(0, 1), BIRDS), r"must be a Record\. Got .*\.$"
    else:
        unfit, sentence = (Interval(0, 1), PEOPLE, Integers(0, (1 << 32) - 1)), r"must (have|be) .*\. Got .*\.$"
    for domain in unfit:
        with pytest.raises(ParameterError) as caught:
            mechanism(name, domain, epsilon=1)
        assert re.match(rf"^The 'domain' parameter of {name} {sentence}", str(caught.value))
    for wrong in (None, 5, ["a", "b"], Integers):
        with pytest.raises(ParameterError) as caught:
            mechanism(name, wrong, epsilon=1)  # type: ignore[arg-type]
        assert re.match(rf"^The 'domain' parameter of {name} must be a domain\. Got .*\.$", str(caught.value))
    with pytest.raises(ParameterError, match=r"no such parameter. Known: epsilon.*\.$"):
        mechanism(name, BIRDS, epsilon=1, colour="red")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ParameterError) as caught:
        mechanism("nothing", BIRDS, epsilon=1)
    assert all(name in str(caught.value) for name in (*registry.BUILDERS, *registry.ALIASES))


@for_each(
    "written,name",
    [
        ("GRR", "grr"),
        ("kRR", "grr"),
        ("K_RR", "grr"),
        ("three_output", "three-output"),
        ("Three Outputs", "three-output"),
        ("PrivUnit", "priv-unit"),
        ("priv_unit_g", "priv-unit-g"),
        ("1BitMean", "bernoulli"),
        ("Hadamard-Response", "hadamard"),
    ],
)
def test_case_and_hyphens_of_names_do_not_matter(written: str, name: str) -> None:
    assert registry.registered_name(written) == name
    assert registry.builder(written) is registry.builder(name)
    if name == "grr":
        same = mechanism(name, Integers(0, 9), epsilon=1)
        assert mechanism(written, Integers(0, 9), epsilon=1).fingerprint == same.fingerprint


def test_no_two_names_differ_by_case_and_hyphens_only() -> None:
    forms = [letters(name) for name in (*registry.BUILDERS, *registry.ALIASES)]
    assert len(set(forms)) == len(forms)
    unregistered = [*NOT_YET, *ELSEWHERE]
    assert not set(forms) & set(unregistered) and all(letters(name) == name for name in unregistered)
    assert len(set(unregistered)) == len(unregistered)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("grrr", "There is no mechanism of this name; did you mean grr"),
        ("peicewise", "did you mean piecewise or group-piecewise?"),
        ("secret answer 8271", "There is no mechanism of this name. Known: "),
        ("hdg", "; HDG is a protocol: sottovoce.protocols.boxes.hdg.HDG. Known: "),
        ("tree-hist", "TreeHist is known from the papers, and is not here yet"),
        ("PrivTrie", "PrivTrie is known"),
        ("HIO", "HIO is a protocol"),
        ("PEM", "; PEM is a protocol: sottovoce.protocols.words.pem.PEM. Known: "),
    ],
)
def test_close_names_and_names_of_the_papers_are_said(written: str, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        mechanism(written, Integers(0, 9), epsilon=1)
    assert said in str(caught.value) and "8271" not in str(caught.value)


def test_a_name_is_a_text() -> None:
    for name in (None, 5, ["grr"]):
        with pytest.raises(ParameterError, match="'name' parameter of mechanism must be a text"):
            mechanism(name, Integers(0, 9), epsilon=1)  # type: ignore[arg-type]


@for_each("alias", registry.ALIASES)
def test_an_alias_is_the_same_mechanism(alias: str) -> None:
    assert alias not in registry.BUILDERS
    domain = Sets(range(10), 3) if alias == "privset" else Integers(0, 9)
    same = mechanism(registry.ALIASES[alias], domain, epsilon="1.5")
    if alias in registry.DECODERS:  # the name says how estimates are decoded
        same = replace(same, name=alias)
    assert mechanism(alias, domain, epsilon="1.5") == same


@pytest.mark.parametrize("name", ORACLES)
def test_a_budget_too_small_for_the_coins_is_refused(name: str) -> None:
    """Below about 2**-53 the probabilities round to chance: an estimator would divide by zero."""
    with pytest.raises(ParameterError, match="raise epsilon"):
        mechanism(name, Integers(0, 2), epsilon="1e-20")


FRESH = """
import json, sys
{code}
loaded = sorted(name for name in sys.modules if name.startswith("sottovoce"))
known = {{"numpy", "scipy", "numba", "cryptography", "pyarrow", "pandas", "typer"}}
foreign = sorted({{name.split(".")[0] for name in sys.modules}} & known)
print(json.dumps([loaded, foreign]))
"""


def fresh(code: str) -> tuple[list[str], list[str]]:
    run = subprocess.run([sys.executable, "-c", FRESH.format(code=code)], capture_output=True, text=True, check=True)
    loaded, foreign = json.loads(run.stdout)
    return loaded, foreign


def test_the_registry_is_lazy() -> None:
    loaded, foreign = fresh("import sottovoce.core.registry as r; r.names()")
    assert not foreign and not [name for name in loaded if name.startswith("sottovoce.mechanisms")]
    loaded, foreign = fresh(
        "import sottovoce as sv; m = sv.mechanism('grr', sv.Integers(0, 3), epsilon=1);"
        "sv.Client.from_spec(m.spec()).report(2)"
    )
    built = [name for name in loaded if name.startswith("sottovoce.mechanisms.frequency.")]
    assert not foreign and built == ["sottovoce.mechanisms.frequency.common", "sottovoce.mechanisms.frequency.grr"]
    assert not [name for name in loaded if name.split(".")[1:2] in (["fast"], ["tally"], ["estimate"], ["privacy"])]


# --- the formulas of the docstrings -------------------------------------------------------------------------------


def build(name: str, epsilon: str, size: int) -> Mechanism:
    return mechanism(name, Integers(0, size - 1), epsilon=epsilon)


@for_each("epsilon", EPSILONS)
@for_each("name", ORACLES)
def test_the_budget_is_spent_and_not_exceeded(name: str, epsilon: str) -> None:
    for size in SIZES:
        one = build(name, epsilon, size)
        assert within(one.ratio, Decimal(epsilon))
        exact = loss(one.ratio)
        assert Decimal(epsilon) - Decimal("1e-6") <= exact <= Decimal(epsilon)
        assert one.epsilon <= float(epsilon) and one.claimed == Decimal(epsilon)
        assert math.isclose(math.log(one.ratio), float(epsilon), abs_tol=1e-6)


def close(exact: Fraction, formula: float) -> bool:
    return math.isclose(exact, formula, rel_tol=1e-9, abs_tol=1e-12)


@for_each("epsilon", EPSILONS)
@for_each("k", SIZES)
def test_formulas_of_randomized_response(epsilon: str, k: int) -> None:
    e = math.exp(float(epsilon))
    rates = rates_of(build("grr", epsilon, k).channel)
    assert isinstance(rates, Rates)
    assert close(rates.own, e / (e + k - 1)) and close(rates.other, 1 / (e + k - 1))


@for_each("epsilon", EPSILONS)
@for_each("k", SIZES)
def test_formulas_of_unary_encodings(epsilon: str, k: int) -> None:
    e = math.exp(float(epsilon))
    sue, oue = (rates_of(build(name, epsilon, k).channel) for name in ("sue", "oue"))
    assert isinstance(sue, Rates) and isinstance(oue, Rates)
    p = math.sqrt(e) / (math.sqrt(e) + 1)
    assert close(sue.own, p) and close(sue.other, 1 - p) and sue.own + sue.other == 1
    assert oue.own == Fraction(1, 2) and close(oue.other, 1 / (e + 1))
    # Erratum 4: it is p (1-q) / (q (1-p)) that is e**epsilon, not p / q.
    for p, q in (sue, oue):
        assert math.isclose(p * (1 - q) / (q * (1 - p)), e, rel_tol=1e-9)
        assert p / q < e
    variance = oue.other * (1 - oue.other) / (oue.own - oue.other) ** 2
    assert math.isclose(variance, 4 * e / (e - 1) ** 2, rel_tol=1e-9)


@for_each("epsilon", EPSILONS)
@for_each("k", SIZES)
def test_formulas_of_subset_selection(epsilon: str, k: int) -> None:
    """METHODS, erratum 4."""
    e = math.exp(float(epsilon))
    chosen = build("subset", epsilon, k).channel
    assert isinstance(chosen, Subset) and chosen.w == max(1, round(k / (e + 1)))
    for w in {1, 2, k // 2, k - 1, chosen.w} & set(range(1, k)):
        rates = rates_of(mechanism("subset", Integers(0, k - 1), epsilon=epsilon, w=w).channel)
        assert isinstance(rates, Rates)
        total = e * w + k - w
        assert close(rates.own, e * w / total)
        assert close(rates.other, (e * w * (w - 1) + w * (k - w)) / ((k - 1) * total))
        assert math.isclose(rates.other, (w - rates.own) / (k - 1), rel_tol=1e-12)


@for_each("epsilon", EPSILONS)
@for_each("k", SIZES)
def test_formulas_of_local_hashing(epsilon: str, k: int) -> None:
    e = math.exp(float(epsilon))
    one = build("olh", epsilon, k).channel
    assert isinstance(one, Public) and one.map.outputs == max(2, round(e + 1))
    for g in (one.map.outputs, 2, 7):
        rates = rates_of(mechanism("olh", Integers(0, k - 1), epsilon=epsilon, g=g).channel)
        assert isinstance(rates, Rates)
        p = e / (e + g - 1)
        assert close(rates.own, p)
        # Erratum 17: the collision probability is known exactly; it differs from 1/g by less than g / 2**64.
        small, larger = divmod(1 << 32, g)
        c = (larger * (small + 1) ** 2 + (g - larger) * small**2) / 2.0**64
        assert math.isclose(c, 1 / g, rel_tol=1e-9)
        assert close(rates.other, c * p + (1 - c) * (1 - p) / (g - 1))


@for_each("epsilon", EPSILONS)
@for_each("k", SIZES)
def test_formulas_of_hadamard_response(epsilon: str, k: int) -> None:
    e = math.exp(float(epsilon))
    one = build("hadamard", epsilon, k).channel
    assert isinstance(one, Block) and isinstance(one.sets, HadamardSets)
    groups, order = one.sets.groups, one.sets.order
    s, outputs = order / 2, groups * order
    assert close(Fraction(one.inside, U), e * s / (e * s + outputs - s))
    assert k <= groups * (order - 1)
    rates = one.rates()
    slope = (e - 1) / (e + 2 * groups - 1)
    if groups == 1:
        assert isinstance(rates, Rates)
        # In the set or in the rest of the one group: +1 or -1.
        assert close(2 * rates.own - 1, slope)
        assert math.isclose(rates.other, 0.5, abs_tol=1e-12)
        return
    assert isinstance(rates, Contrast)
    assert close(rates.slope, slope)
    # Codes spread evenly over the groups hit each of them with 1 / B, which gives the variance of the docstring.
    hit = (rates.hit_own + (groups - 1) * rates.hit_other) / groups
    assert hit == Fraction(1, groups)
    variance = (e + 2 * groups - 1) ** 2 / (groups * (e - 1) ** 2)
    assert math.isclose(hit / rates.slope**2, variance, rel_tol=1e-9)
    for other in (2 * groups, groups // 2):
        if 1 <= other <= k // 2:
            assert (e + 2 * other - 1) ** 2 / other >= (e + 2 * groups - 1) ** 2 / groups * (1 - 1e-12)


@pytest.mark.parametrize("f", ["0.25", "0.5", "0.75"])
def test_formulas_of_rappor(f: str) -> None:
    """METHODS, erratum 12, with h = 1: two budgets."""
    share, p, q = float(f), 0.75, 0.5
    first = Bits(4, int((1 - Fraction(f) / 2) * U), int(Fraction(f) / 2 * U))
    chain = Chain(first, Bits(4, 3 * U // 4, U // 2, "mask", 0))
    one = Mechanism(
        "rappor", Frequency(Integers(0, 3)), chain, Decimal(20), CountSupports(), claimed_forever=Decimal(20)
    )
    p_star = share * (p + q) / 2 + (1 - share) * p
    q_star = share * (p + q) / 2 + (1 - share) * q
    rates = chain.rates()
    assert isinstance(rates, Rates)
    assert close(rates.own, p_star) and close(rates.other, q_star)
    assert math.isclose(one.epsilon, math.log(p_star * (1 - q_star) / (q_star * (1 - p_star))), rel_tol=1e-12)
    assert math.isclose(one.epsilon_forever, 2 * math.log((1 - share / 2) / (share / 2)), rel_tol=1e-12)
