"""Write the vectors that the TypeScript client shares with the package: `python -m scripts.web_vectors [NAME ...]`.

They are made by this package, and read by `clients/web/test` and by tests in a browser. Implementations in other
languages may use them too; `clients/web/vectors/README.md` says what each file holds.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import sottovoce as sv
from scripts.fuzz.compositions import pair_of_channels
from scripts.fuzz.hostile import RECIPES
from scripts.web_kinds import kinds
from scripts.web_meanings import meanings
from scripts.web_seals import seals
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import odds, within
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.coins import SeededCoins
from sottovoce.core.domain import (
    Above,
    Bins,
    Clamp,
    Digit,
    Fields,
    Level,
    Merged,
    Powers,
    Prefix,
    Select,
    Square,
    VectorPart,
)
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.experiment import ExperimentArm
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.core.registry import fits
from sottovoce.core.round import Arm, Round
from sottovoce.core.specs import canonical
from sottovoce.core.unknown import MAX_FIELDS
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.testing.codes import codes_of, first_message

FOLDER = Path(__file__).parents[1] / "clients" / "web" / "vectors"
BUDGETS = ("0.5", "1", "4")
SEED = 18
MESSAGES, SHOWN = 24, 2
SHORT_BITS = 8  # leading bits of a word that a coin reads, so that draws are rejected
COMPOSITIONS, DRAWS = 200, 6
LONGEST = 200  # characters of a ratio that is written out; of a longer one its SHA-256
HOSTILE, HOSTILE_BYTES = 6, 700
NOT_JUDGED = ("the question", "its question", "statistic outputs", "counted", "needs", "cells", "Moments")

# A mechanism is asked about the first of these that it fits.
QUESTIONS: tuple[tuple[Any, Sequence[Any]], ...] = (
    (sv.Interval(0, 14), (0, 3.3, 7.25, 13.999, 14)),
    (sv.Integers(0, 6), range(7)),
    (sv.Integers(0, 1), range(2)),
    (sv.Pair(sv.Integers(1, 3), sv.Interval(0, 10)), [[1, 0], [2, 3.3], [3, 10], [1, 9.75]]),
    (sv.Box(0, 10, 3), [[0, 3.3, 10], [10, 10, 10], [0.1, 5, 9.75]]),
    (sv.Sparse(5, 1), [[], [[0, 1]], [[3, 0.25]], [[4, -1]]]),
    (sv.Sets(["bus", "car", "bike", "train"], 2), [[], ["bus"], ["train", "car"], ["bike", "train"]]),
    (sv.KeyValue(["bus", "car", "bike"], sv.Integers(1, 5), 2), [[], [["bus", 5]], [["bike", 2], ["car", 1]]]),
    (sv.Words("abc", 2), ["", "a", "CB", "cc"]),
    (sv.Ball(2, 3), [[0, 0, 0]]),
    (
        sv.Record({"group": sv.Integers(0, 2), "answer": sv.Integers(0, 1)}),
        [{"group": group, "answer": answer} for group in range(3) for answer in range(2)],
    ),
)
RATINGS = sv.KeyValue([f"film {number}" for number in range(40)], sv.Interval(0, 10), 3)
RATED: list[Any] = [[], [["film 0", 0.5]], [["film 39", 10], ["film 3", 7.25], ["film 8", 0]]]
# Beside the registry's first question: other sizes, and domains that are views.
OTHERS: tuple[tuple[str, Any, Sequence[Any]], ...] = (
    ("grr", sv.Categories(["lark", "owl", "é"]), ["lark", "owl", "é"]),
    ("oue", sv.Integers(0, 99), [0, 50, 99]),
    ("subset", sv.Integers(-20, 20), [-20, 0, 20]),
    ("olh", Bins(sv.Interval(0, 1), ["0.1", "0.5", "0.75"]), [0, 0.1, 0.3, 1]),
    ("hcms", sv.Text(), ["a", "lark", "é", ""]),
    ("cms", sv.Text(), ["a", "lark"]),
    ("sampled", sv.Box(-1, 1, 9), [[0, 0.5, -1, 1, 0, 0, 0.125, 0, 1]]),
    ("duchi-linf", sv.Box(-1, 1, 8), [[0, 0.5, -1, 1, 0, 0, 0.125, 0]]),
    ("sparse", sv.Sparse(70, 3, 2), [[], [[0, 2], [69, -0.5]], [[3, 0.25], [4, 1], [5, -2]]]),
    ("mask", sv.Sets(range(70), 5), [[], [0, 69], [3, 4, 5, 6, 7]]),
    ("cells", sv.Sets(range(300), 3), [[], [0, 299], [3, 4, 5]]),
    ("options", sv.Sets(range(70), 70), [[], [0, 69], list(range(70))]),
    ("options", sv.Ranking(["bus", "car", "bike"]), [["car", "bus", "bike"], ["bike", "car", "bus"]]),
    ("key-mask", RATINGS, RATED),
    ("key-cells", RATINGS, RATED),
    ("fragments", sv.Words(), ["", "tea", "Mate", "o'clock", "zzzzzzzzzz"]),
    ("fragments", sv.Words("äöüßabcdefgh", 4, "cut"), ["Äh", "bücher", "h" * 900]),
    ("square-wave", sv.Circle(24), [0, 12.5, 24]),
    ("square-wave", sv.Interval(0, 14, step="0.5"), [0, 3.5, 14]),
)


def hashed(text: str) -> str:
    return text if len(text) <= LONGEST else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def ratio_text(ratio: Fraction) -> str:
    return hashed(str(ratio))


def plain_code(code: Any) -> Any:
    """Whole numbers as texts, fractions as texts with a stroke, tuples as lists."""
    if isinstance(code, tuple):
        return [plain_code(part) for part in code]
    if isinstance(code, Fraction):
        return f"{code.numerator}/{code.denominator}"
    return str(code)


def to_answer(domain: Any, value: Any) -> Any:
    """A value of JSON as the package takes it."""
    return dict(map(tuple, value)) if domain.kind == "sparse" else value


# --- mechanisms -----------------------------------------------------------------------------------------------------
def mechanisms() -> Iterator[dict[str, Any]]:
    for name in sv.names():
        domain, answers = next(question for question in QUESTIONS if fits(name, question[0]))
        for epsilon in BUDGETS:
            yield mechanism(sv.mechanism(name, domain, epsilon=epsilon), answers)
    for name, domain, answers in OTHERS:
        if fits(name, domain):
            yield mechanism(sv.mechanism(name, domain, epsilon="1.25"), answers)


def mechanism(found: Mechanism, answers: Sequence[Any]) -> dict[str, Any]:
    """One mechanism: its specification, its loss, and messages from seeded words."""
    known: dict[str, Any] = {"spec": found.spec(), "fingerprint": found.fingerprint}
    if found.guarantee.allows_floats:
        return {**known, "refused": "idealised"}
    coins, sent = SeededCoins(SEED), []
    for turn in range(MESSAGES):
        sent.append(first_message(found, to_answer(found.domain, answers[turn % len(answers)]), coins))
    return {
        **known,
        "ratio": ratio_text(found.ratio),
        "epsilon": repr(found.epsilon),
        "forever": None if found.ratio_forever is None else ratio_text(found.ratio_forever),
        "words": found.channel.words,
        "answers": list(answers),
        "seed": SEED,
        "messages": [message.hex() for message in sent[:SHOWN]],
        "count": MESSAGES,
        "digest": hashlib.sha256(b"".join(sent)).hexdigest(),
        "bad": [message.hex() for message in bad_messages(found, sent[0])],
    }


def bad_messages(found: Mechanism, good: bytes) -> Iterator[bytes]:
    """Messages that the package refuses: too short, too long, and payloads that are no reports."""
    yield good[:-1]
    yield good + b"\0"
    for payload in (b"\xff" * (len(good) - 16), b"\0" * (len(good) - 17) + b"\x80"):
        message = good[:16] + payload
        try:
            codec.split(found.channel, message)
        except SottovoceError:
            yield message


# --- channels -------------------------------------------------------------------------------------------------------
def channels() -> Iterator[dict[str, Any]]:
    """Random compositions of every node, drawn with short words, so that draws are rejected."""
    for seed in range(COMPOSITIONS):
        short, long = pair_of_channels(seed)
        for channel in dict.fromkeys((short, long)):
            if not channel.exact:
                continue
            rng, codes = Random(seed), codes_of(channel)[:64]
            drawn = []
            coins = SeededCoins(seed, bits=SHORT_BITS)
            for _ in range(DRAWS):
                code = rng.choice(codes)
                public = NO_WORDS
                while channel.publics and (public == NO_WORDS or not channel.accepts(public)):
                    public = rng.getrandbits(64), rng.getrandbits(64)
                coins.begin(channel.words)
                report = channel.sample(code, coins, public)
                drawn.append([plain_code(code), id_bytes(public).hex(), str(report)])
            try:
                ratio = ratio_text(channel.ratio())
            except SottovoceError:
                ratio = None
            bits, tried = channel.payload_bits, [rng.getrandbits(channel.payload_bits + 1) for _ in range(8)]
            yield {
                "channel": channel.spec(),
                "words": channel.words,
                "bits": bits,
                "inputs": str(channel.inputs),
                "ratio": ratio,
                "seed": seed,
                "draws": drawn,
                "contains": [[str(number), channel.contains(number)] for number in tried],
            }


# --- domains --------------------------------------------------------------------------------------------------------
PEOPLE = sv.Record({"age": sv.Integers(0, 3), "type": sv.Categories(["lark", "owl"]), "bmi": sv.Interval(10, 60)})
PERSON = {"age": 2, "type": "owl", "bmi": 24.9}
TRIED: list[Any] = [
    0,
    1,
    2,
    3,
    -1,
    5,
    9,
    10,
    24,
    0.1,
    0.25,
    0.3,
    0.5,
    7.25,
    1e-7,
    1e21,
    123456789.125,
    -0.5,
    True,
    None,
]
TRIED += [
    "lark",
    "owl",
    "é",
    "e\u0301",
    "",
    "1",
    [],
    [1, 2],
    ["lark", 3.5],
    [0.25, -0.125],
    [[0, 1]],
    [[1, 0.5], [0, 0]],
]
TRIED += [[], [1], [2, 0], [0, 0], [0, 1, 2], ["owl"], ["owl", "lark"], ["owl", "owl"], ["wren"], [True], [1.5]]
TRIED += [[[1, 0.5], [1, 0.5]], {"age": 2}, PERSON, {**PERSON, "age": 9}, {**PERSON, "more": 1}]
DOMAINS: tuple[Any, ...] = (
    sv.Categories(["lark", "owl", "é"]),
    sv.Categories([3, -1, 0, 1]),
    sv.Integers(-2, 5),
    sv.Interval("-1.5", "0.25"),
    sv.Interval(0, "123456789.125"),
    sv.Interval(0, 10, step="0.1"),
    sv.Interval("-0.5", "7.25", step="0.25"),
    Bins.even(sv.Interval(0, 10, step="0.5"), 7),
    sv.Circle(24),
    sv.Text(),
    PEOPLE,
    sv.Pair(sv.Categories(["lark", "owl"]), sv.Interval(0, 10)),
    sv.Box("-0.5", 1, 2),
    sv.Sparse(5, 1),
    sv.KeyValue(["lark", "owl", "wren"], sv.Interval(0, 1), 2),
    sv.KeyValue([2, 0, 1], sv.Integers(1, 3)),
    sv.Sets([2, 0, 1], 2),
    sv.Sets(["lark", "owl"]),
    Bins(sv.Interval(0, 1), ["0.1", "0.5", 1]),
    Bins(sv.Integers(0, 9), ["2.5", 7]),
    Bins(sv.Circle(24), [6, 12]),
    Above(sv.Interval(0, 10), "0.3"),
    Clamp(sv.Interval(-3, 10), "-0.5", "0.25"),
    Clamp(sv.Integers(-3, 10), 0, 3),
    Digit(sv.Interval(-3, 10), "0.7", 3, "0.1"),
    Level(sv.Integers(0, 9), 3, 2),
    Merged(sv.Categories([3, 1, 0, 5, 9]), (2, 0, 2, 1, 1)),
    Prefix(sv.Categories([3, 1, 0, 5, 9]), 2),
    Select(PEOPLE, ["type", "age"]),
    Select(PEOPLE, ["bmi"]),
    Fields(PEOPLE, ["type", "age"]),
    Square(sv.Interval(0, 10), "0.3"),
    VectorPart(sv.Box("-0.5", 1, 2), [1]),
    Powers(sv.Integers(0, 10), "1.5"),
)


def domains() -> Iterator[dict[str, Any]]:
    """Codes of values, and null for values that are refused."""
    for domain in DOMAINS:
        codes = []
        for value in TRIED:
            try:
                codes.append(plain_code(domain.encode(value)))
            except SottovoceError:
                codes.append(None)
        yield {"domain": domain.spec(), "codes": codes}


# --- specifications that are refused --------------------------------------------------------------------------------
def bad_specs() -> Iterator[str]:
    """A good specification with one thing wrong, and hostile texts."""
    good = sv.mechanism("grr", sv.Integers(0, 6), epsilon=1).spec()
    channel, codec = good["channel"], good["codec"]
    wrong: list[dict[str, Any]] = [
        {"epsilon": "0.99"},
        {"epsilon": "1.0"},
        {"epsilon": 1},
        {"epsilon": "0"},
        {"epsilon": "21"},
        {"epsilon": "-1"},
        {"epsilon": "1e0"},
        {"epsilon_forever": "1"},
        {"version": 2},
        {"version": True},
        {"name": ""},
        {"name": "x" * 101},
        {"guarantee": "none"},
        {"guarantee": "metric"},
        {"guarantee": "approximate(0.10)"},
        {"guarantee": "utility_optimised(3,0)"},
        {"question": {"kind": 3}},
        {"question": {"kind": ""}},
        {"question": {"kind": "Mood"}},
        {"question": {"kind": "mood" * 11}},
        {"question": {"more": 1}},
        {"question": {"kind": "mood", "more": "x" * MAX_FIELDS}},
        {"question": "mood"},
        {"statistic": {"kind": None}},
        {"statistic": {"kind": "mood", "more": "x" * MAX_FIELDS}},
        {"statistic": "mood"},
        {"codec": {**codec, "bytes": 2}},
        {"codec": {**codec, "version": 2}},
        {"domain": {"kind": "integers", "low": 0, "high": 5}},
        {"domain": {"kind": "integers", "low": 0, "high": 6, "step": 1}},
        {"domain": {"kind": "integers", "low": "0", "high": 6}},
        {"domain": {"kind": "mood"}},
        {"channel": {**channel, "keep": 0}},
        {"channel": {**channel, "keep": channel["keep"] + (1 << 40)}},
        {"channel": {**channel, "keep": 1 << 53}},
        {"channel": {**channel, "keep": (1 << 53) // 7}},
        {"channel": {**channel, "k": 8}},
        {"channel": {**channel, "w": 0}},
        {"channel": {**channel, "w": 7}},
        {"channel": {**channel, "node": "mood"}},
        {"channel": {**channel, "node": "__proto__"}},
        {"channel": {**channel, "more": 1}},
        {"channel": [channel]},
        {"unused": 3},
        {"more": None},
    ]
    for change in wrong:
        yield json.dumps({**good, **change})
    for key in good:
        yield json.dumps({name: value for name, value in good.items() if name != key})
    written = json.dumps(good)
    yield written.replace('"w": 1', '"w": 1.0')
    yield written.replace('"w": 1', '"w": 1e0')
    yield written.replace('"w": 1', '"w": 1, "w": 1')
    yield written.replace('"w": 1', '"w": 01')
    yield written.replace('"w": 1', '"w": 9007199254740993')
    yield written + " x"
    yield "[" * 40 + "]" * 40
    yield '{"name": "\\ud800"}'
    yield "nonsense"
    bits = sv.mechanism("oue", sv.Integers(0, 6), epsilon=1).spec()
    yield json.dumps({**bits, "channel": {**bits["channel"], "encoding": "mood"}})
    yield json.dumps({**bits, "channel": {**bits["channel"], "p": bits["channel"]["q"]}})
    rappor = sv.mechanism("rappor", sv.Integers(0, 6), epsilon=1).spec()
    yield json.dumps({**rappor, "epsilon_forever": None})
    yield json.dumps({**rappor, "epsilon_forever": "0.1"})
    for name, recipe in zip(range(len(RECIPES)), RECIPES, strict=True):
        for seed in range(HOSTILE):
            text = recipe(Random(100 * name + seed), HOSTILE_BYTES)
            yield text.decode("utf-8", errors="replace")


def refused_specs() -> list[str]:
    """Those that the package refuses; others of the hostile ones are merely odd."""
    kept = []
    for text in bad_specs():
        try:
            found = Mechanism.from_spec(text, device=True)
        except SottovoceError as problem:
            # What is asked and counted, and how long the package would compute, is not for a browser to judge.
            if not any(word in str(problem) for word in NOT_JUDGED):
                kept.append(text)
        else:
            if found.guarantee.allows_floats:
                kept.append(text)
    return kept


# --- budgets --------------------------------------------------------------------------------------------------------
def budgets() -> Iterator[list[Any]]:
    """A ratio, a decimal epsilon, and whether the ratio is at most e**epsilon; next to the border on both sides."""
    for text in ("0.000001", "0.1", "0.5", "1", "1.15", "2.302585092994045684", "4", "9.99", "20", "700", "1000"):
        epsilon = Decimal(text)
        border = odds(epsilon)
        least = Fraction(1, border.denominator)
        for ratio in (Fraction(1), border - least, border, border + least, border + 2 * least, border * 2):
            yield [str(ratio), text, within(ratio, epsilon)]
    for seed in range(20):
        rng = Random(seed)
        ratio = 1 + Fraction(rng.getrandbits(70), rng.getrandbits(60) + 1)
        text = decimal_text(Decimal(rng.randrange(1, 20_000)) / 1000)
        yield [str(ratio), text, within(ratio, Decimal(text))]
    yield ["3/2", "0", False]
    yield ["1", "0", True]


# --- wire -----------------------------------------------------------------------------------------------------------
def wire() -> dict[str, Any]:
    """Batches in both forms, and bytes that no reader takes."""
    prefix = bytes(range(8))
    good = [
        Batch(prefix, 3, 1, 0, bytes(range(16)), b"\x05"),
        Batch(prefix, 2100, 2, 24, bytes(range(48)), b"\x05\x06" * 3),
        Batch(prefix, (1 << 32) - 1, 255, 256, bytes(range(32)), bytes(600), bytes(32)),
    ]
    bad_cbor = []
    one = good[0].to_cbor()
    many = good[1].to_cbor()
    for data in (one, many):
        bad_cbor += [
            data[:-1],
            data + b"\0",
            b"\xa8" + data[1:],
            b"\xbf" + data[1:] + b"\xff",
            data.replace(b"\x02\x03", b"\x02\x18\x03"),
        ]
        for place in range(len(data)):
            for change in (1, 0x20, 0x80):
                other = bytearray(data)
                other[place] ^= change
                bad_cbor.append(bytes(other))
    bad_cbor += [b"", b"\xa7", one.replace(b"\xa7", b"\xa8", 1) + b"\x07\x40"]
    plain = json.loads(good[0].to_json())
    changes: list[dict[str, Any]] = [
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
        {"payloads": ""},
        {"payloads": 7},
        {"manifest": "00" * 7},
        {"tokens": "00"},
        {"sender": "someone"},
    ]
    bad_json = [json.dumps({**plain, **change}).encode() for change in changes]
    return {
        "good": [
            {
                **{
                    name: value.hex() if isinstance(value := getattr(batch, name), bytes) else value
                    for name in Batch.__slots__
                },
                "cbor": batch.to_cbor().hex(),
                "json": hashlib.sha256(batch.to_json()).hexdigest(),
            }
            for batch in good
        ],
        "bad_cbor": [data.hex() for data in dict.fromkeys(bad_cbor) if _refuses(Batch.from_cbor, data)],
        "bad_json": [data.decode() for data in bad_json if _refuses(Batch.from_json, data)],
    }


def _refuses(read: Any, data: bytes) -> bool:
    try:
        read(data)
    except SottovoceError:
        return True
    return False


# --- manifests ------------------------------------------------------------------------------------------------------
def study(**changes: Any) -> Any:
    facts = {
        "unit": "person",
        "owner": "Institute",
        "contact": "privacy@example.org",
        "purpose": "How long people sleep.",
    }
    return sv.Study("sleep", **{"epsilon": "1", **facts, **changes})


def manifests() -> Iterator[dict[str, Any]]:
    hours, smoker = sv.Mean(sv.Interval(0, 14)), sv.Frequency(sv.Categories(["yes", "no"]))
    asked = [
        sv.Asked("hours", hours, {"en": "How long?", "de": "Wie lange?"}, missing=("don't know",), unit="hours"),
        sv.Asked("smoker", smoker, {"en": "Do you smoke?"}, missing=("refused",), share=3),
        sv.Asked("cups", sv.Frequency(sv.Integers(0, 5)), {"en": "Cups?"}),
    ]
    plan = study(questions=asked)
    arms = (
        Arm("hours", sv.mechanism("group-bernoulli", plan.question("hours").full_question.domain, epsilon=1), 1),
        Arm("smoker", sv.mechanism("grr", plan.question("smoker").full_question.domain, epsilon=1), 3),
        Arm("cups:first", sv.mechanism("olh", sv.Integers(0, 5), epsilon=1), 2),
    )
    first = Manifest(plan.facts, plan.questions, Round(arms))
    answers = [{"hours": 7.5, "smoker": "no", "cups": 3}, {"hours": "don't know", "smoker": "refused", "cups": 0}]
    yield manifest(first, answers)
    yield manifest(first.next(Round(arms[:2], quota=100)), answers)
    kept = study(questions=[sv.Asked("cups", sv.Frequency(sv.Integers(0, 5)), "Cups?")], epsilon="4", lifetime="8")
    cohort = Arm("cups", sv.mechanism("rappor", sv.Integers(0, 5), epsilon=4))
    yield manifest(Manifest(kept.facts, kept.questions, Round((cohort,))), [{"cups": 1}])
    box = sv.VectorMean(sv.Box(0, 10, 3))
    vectors = study(questions=[sv.Asked("three", box, "Three numbers?")])
    arm = Arm("three", sv.mechanism("duchi-linf", box.domain, epsilon=1))
    yield manifest(Manifest(vectors.facts, vectors.questions, Round((arm,))), [{"three": [1, 2, 3]}])
    cups = sv.Frequency(sv.Integers(0, 5))
    twice = study(questions=[sv.Asked("cups", cups, "Cups?"), sv.Asked("again", cups, attribute="cups")])
    both = tuple(Arm(name, sv.mechanism("grr", cups.domain, epsilon=1)) for name in ("cups", "again"))
    yield manifest(Manifest(twice.facts, twice.questions, Round(both)), [{"cups": 4}])
    yield manifest(Manifest.from_spec(canonical(invented()), device=True), [{"cups": 2}])
    arms = (ExperimentArm("usual", 2), ExperimentArm("new", 1, (("en", "Coffee is cheap today."),)))
    tried = study(questions=[sv.Asked("cups", cups, "Cups?")], experiment=StudyExperiment(arms))
    parts = tuple(Arm(f"cups: {arm.name}", sv.mechanism("grr", cups.domain, epsilon=1), arm.share) for arm in arms)
    yield manifest(Manifest(tried.facts, tried.questions, Round(parts)), [{"cups": 5}])
    grr = Arm("cups", sv.mechanism("grr", cups.domain, epsilon=1))
    for window in (1, 4, 12):
        again = study(questions=[sv.Asked("cups", cups, "Cups?")], start=date(2027, 3, 1), repeat=Repeat(7, 12, window))
        yield manifest(Manifest(again.facts, again.questions, Round((grr,))), [{"cups": 5}])
    # The computed loss of these reports is rounded up to the float of 0.68, which is above 0.68.
    seven = sv.Frequency(sv.Integers(0, 6))
    asked = [sv.Asked("cups", seven, "Cups?")]
    again = study(questions=asked, start=date(2027, 3, 1), epsilon="0.68", repeat=Repeat(7, 3, 1))
    arm = Arm("cups", sv.mechanism("grr", seven.domain, epsilon="0.68"))
    yield manifest(Manifest(again.facts, again.questions, Round((arm,))), [{"cups": 5}])
    rounds = replace(twice.facts, rounds=2, lifetime=Decimal(2))
    yield manifest(Manifest(rounds, twice.questions, Round(both, quota=10)), [{"cups": 4}])


def invented() -> dict[str, Any]:
    """A manifest whose question and statistic no package knows; a device answers it all the same."""
    cups = sv.Frequency(sv.Integers(0, 5))
    plan = study(questions=[sv.Asked("cups", cups, "Cups?")])
    arm = Arm("cups", sv.mechanism("olh", cups.domain, epsilon=1))
    plain = Manifest(plan.facts, plan.questions, Round((arm,))).spec()
    asked = {"kind": "mood-swing", "weights": [1, 2, 3], "of": {"kind": "hours", "most": None}}
    plain["questions"][0]["question"] = {**asked, "domain": cups.domain.spec()}
    plain["arms"][0]["mechanism"] |= {"question": asked, "statistic": {"kind": "spectrum", "lags": [1, 7]}}
    return plain


def manifest(found: Manifest, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Its hash, arms of ids, codes of answers, and which limits it keeps."""
    ids = [hashlib.sha256(b"%d" % number).digest()[:16] for number in range(6 if len(found.stage.arms) > 1 else 1)]
    limits = []
    for limit, lifetime in (("0.9", None), ("1", None), ("4", "1"), ("4", "0.99"), ("20", "8")):
        try:
            found.check(limit=Decimal(limit), lifetime_limit=None if lifetime is None else Decimal(lifetime))
            limits.append([limit, lifetime, True])
        except SottovoceError:
            limits.append([limit, lifetime, False])
    codes = [
        [
            plain_code(arm.mechanism.domain.encode(found.asked(place).answer(given[found.asked(place).key])))
            for place, arm in enumerate(found.stage.arms)
        ]
        for given in answers
    ]
    return {
        "content": found.content.decode(),
        "hash": found.hash,
        "study": found.study,
        "prefix": found.prefix.hex(),
        "arms": [[one.hex(), found.arm_of(one)] for one in ids],
        "limits": limits,
        "experiment": [getattr(found.experiment_arm(place), "name", None) for place in range(len(found.stage.arms))],
        "answers": answers,
        "codes": codes,
        **({"turns": list(turns(found))} if found.facts.repeat else {}),
    }


def turns(found: Manifest) -> Iterator[list[Any]]:
    """Numbers, waves in which they were drawn, the waves that they lead to, and the first day of the last one."""
    repeat, start = found.facts.repeat, date.fromisoformat(found.facts.start or "")
    assert repeat is not None
    for place in range(2):
        number = hashlib.sha256(b"%d" % place).digest()[:16]
        for joined in (-3, 0, 5, repeat.waves - 1, repeat.waves):
            waves = repeat.turns(found.study, number, joined)
            yield [number.hex(), joined, list(waves), repeat.begins(start, waves[-1]).isoformat() if waves else None]


def bad_manifests() -> Iterator[str]:
    good = json.loads(next(manifests())["content"])
    changes: list[tuple[tuple[Any, ...], Any]] = [
        (("study", "unit"), "household"),
        (("study", "contact"), ""),
        (("study", "lifetime"), "0.5"),
        (("study", "start"), "soon"),
        (("study", "epsilon"), "0.9"),
        (("study", "epsilon"), "1.0"),
        (("study", "languages"), []),
        (("study", "collection", "epoch_days"), 0),
        (("study", "collection", "invitations"), 1),
        (("study", "collection", "batch"), 5),
        (("study", "experiment"), []),
        (("study", "experiment"), [{"name": name, "share": 1, "texts": {"en": "Read this."}} for name in ("a", "b")]),
        (("study", "rounds"), 1),
        (("study", "repeat"), {"days": 7, "waves": 12, "window": 4}),  # without a start
        (("version",), 2),
        (("round",), 2),
        (("parent",), "00"),
        (("quota",), 0),
        (("chosen",), None),
        (("arms",), []),
        (("arms", 0, "weight"), 0),
        (("arms", 0, "name"), "other"),
        (("arms", 1, "name"), "hours"),
        (("arms", 1, "mechanism", "epsilon"), "2"),
        (("arms", 1, "mechanism", "channel", "keep"), (1 << 53) - 1),
        (("questions", 0, "name"), "Hours"),
        (("questions", 0, "missing"), ["a", "a"]),
        (("questions", 0, "texts"), {"english": "How?"}),
        (("questions", 0, "share"), 0),
        (("questions", 0, "attribute"), ""),
        (("questions", 0, "attribute"), "hours"),
        (("questions", 0, "attribute"), "nobody"),
        (("more",), 1),
    ]
    for path, value in changes:
        plain = json.loads(json.dumps(good))
        place = plain
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        text = canonical(plain).decode()
        if _refuses(Manifest.from_spec, text.encode()):
            yield text


FILES: dict[str, Callable[[], Any]] = {
    "mechanisms": lambda: list(mechanisms()),
    "channels": lambda: list(channels()),
    "domains": lambda: {"values": TRIED, "domains": list(domains())},
    "kinds": lambda: list(kinds()),
    "specs": refused_specs,
    "budgets": lambda: list(budgets()),
    "wire": wire,
    "manifests": lambda: {"good": list(manifests()), "bad": list(bad_manifests())},
    "seals": seals,
    "meanings": lambda: list(meanings()),
}


def text_of(content: Any) -> str:
    """JSON with one entry per line."""

    def written(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True)

    def lines(value: list[Any]) -> str:
        return "[\n" + ",\n".join(map(written, value)) + "\n]"

    if isinstance(content, list):
        return lines(content) + "\n"
    parts = (
        f"{written(key)}:{lines(value) if isinstance(value, list) else written(value)}"
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(names: Sequence[str]) -> None:
    """Write the files with these names, or all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or FILES:
        (FOLDER / f"{name}.json").write_text(text_of(FILES[name]()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
