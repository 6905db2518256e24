"""Reports by the book: what a device sends, word by word, without a line of the package.

Written from the documented definitions only, in plain integers and lists, slowly and readably, for sizes up to a
few hundred. It shares no code with what it checks. `python tests/mechanisms/reference.py --write` writes the vectors in
tests/golden/reports.json, which clients in any language can be held to.

A device reads 64-bit words: two that are the report's id, then the words of its answer, always the same number
of them. A draw that is rejected, and a lane of `flips` for which no word was reserved, read on in the overflow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, comb, floor, isqrt
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "golden" / "reports.json"
UNIT = 2**53  # probabilities are integers over this
LEVELS = 8  # leading bits that side-by-side flips compare, before a lane takes a word of its own


# --- coins --------------------------------------------------------------------------------------------


class Words:
    """The words of one answer, and its overflow."""

    def __init__(self, span: Iterable[int], overflow: Iterable[int] = ()) -> None:
        self.span = list(span)
        self.overflow = list(overflow)
        self.place = 0

    def next(self) -> int:
        self.place += 1
        return self.span[self.place - 1]

    def extra(self) -> int:
        return self.overflow.pop(0)


def flip(words: Words, num: int) -> bool:
    """True with probability num / UNIT: the 53 leading bits of a word are below num."""
    return words.next() // 2**11 < num


def below(words: Words, n: int) -> int:
    """A uniform number below n: the remainder of the 53 leading bits, unless they lie in the incomplete last round."""
    draw = words.next() // 2**11
    while draw >= UNIT // n * n:
        draw = words.extra() // 2**11
    return draw % n


def binary(num: int) -> list[int]:
    """The 53 binary digits of num / UNIT, first digit first."""
    return [num // 2 ** (52 - place) % 2 for place in range(53)]


def compared(num: int) -> int:
    """How many digits the lanes compare side by side: up to the last 1 of num, at most LEVELS."""
    last = max(place for place, digit in enumerate(binary(num)) if digit)
    return min(LEVELS, last + 1)


def reserved(lanes: int, num: int) -> int:
    """Words set aside for lanes that are still undecided: seven deviations above the mean of lanes / 256."""
    if not any(binary(num)[LEVELS:]):
        return 0
    return (lanes + 7 * isqrt(256 * lanes)) // 256 + 5


def flips(words: Words, lanes: int, num: int) -> list[bool]:
    """Lanes side by side, each true with probability num / UNIT: its 53-bit number is below num.

    First come the leading digits: for each of them a row of words with one bit per lane, 64 lanes to a word, lowest
    bit first. Lanes whose digits all agree with those of num take a word each, in order, for the 45 that remain.
    """
    columns = ceil(lanes / 64)
    start = words.place
    rows = [[words.next() for _ in range(columns)] for _ in range(compared(num))]
    spare = [words.next() for _ in range(reserved(lanes, num))]
    result = []
    for lane in range(lanes):
        digits = [row[lane // 64] >> lane % 64 & 1 for row in rows]
        wanted = binary(num)[: len(digits)]
        if digits != wanted:
            result.append(digits < wanted)
        elif not any(binary(num)[len(digits) :]):
            result.append(False)  # equal is not below
        else:
            word = spare.pop(0) if spare else words.extra()
            result.append(word // 2**19 < num % 2**45)
    assert words.place == start + compared(num) * columns + reserved(lanes, num)
    return result


# --- channels: the report is a number ------------------------------------------------------------------


def subset(channel: dict[str, Any], code: int, words: Words) -> int:
    """Randomized response (w = 1, the report is a code) and subset selection (a set of w codes, as a bit mask)."""
    k, w = channel["k"], channel["w"]
    kept = flip(words, channel["keep"])
    others = [other for other in range(k) if other != code]
    if w == 1:
        return code if kept else others[below(words, k - 1)]
    chosen = [code] if kept else []
    missing = w - len(chosen)
    for bound in range(len(others) - missing, len(others)):  # Floyd's algorithm
        other = others[below(words, bound + 1)]
        chosen.append(others[bound] if other in chosen else other)
    return sum(2**member for member in chosen)


def bits(channel: dict[str, Any], code: int, words: Words) -> int:
    """Unary encodings: all bits are drawn with q, then the bit of the code again with p from the last word."""
    assert channel["encoding"] == "onehot"
    drawn = flips(words, channel["k"], channel["q"])
    drawn[code] = flip(words, channel["p"])
    return sum(2**place for place, one in enumerate(drawn) if one)


def block(channel: dict[str, Any], code: int, words: Words) -> int:
    """Hadamard response: a uniform output of the code's set, or one outside; its own group comes first there."""
    order, groups = channel["sets"]["order"], channel["sets"]["groups"]
    group, row = code % groups, code // groups + 1
    own = range(group * order, (group + 1) * order)
    plus = [y for y in own if bin(y % order & row).count("1") % 2 == 0]
    minus = [y for y in own if y not in plus]
    rest = [y for y in range(groups * order) if y not in own]
    choice = plus if flip(words, channel["inside"]) else minus + rest
    return choice[below(words, len(choice))]


def local_hash(channel: dict[str, Any], code: int, words: Words, report_id: tuple[int, int]) -> int:
    """Local hashing: the id chooses the hash, the hashed code is randomized."""
    assert channel["map"]["bits"] == 64 and channel["inner"]["node"] == "subset"
    upper_half = (report_id[0] * code + report_id[1]) % 2**64 // 2**32
    return subset(channel["inner"], upper_half * channel["map"]["g"] // 2**32, words)


def half_space(channel: dict[str, Any], code: list[Fraction], words: Words) -> int:
    """Signs of a vector: each number is rounded to an end of its range, then fair coins say which ends are exchanged.

    Inside, a draw of coins counts only if it is not tied, and is turned round where it exchanges most of the ends. An
    even number of coordinates owns eight draws, of which the first that counts is taken; more come from the overflow.
    """
    ranges = [
        (Fraction(run["grid"]["low"]), Fraction(run["grid"]["high"]))
        for run in channel["grids"]
        for _ in range(run["count"])
    ]
    places = [round((number - low) / (high - low) * 2**32) for number, (low, high) in zip(code, ranges, strict=True)]
    upper = [flip(words, 2**21 * place) for place in places]
    inside = flip(words, channel["inside"])
    d = len(ranges)
    draws = [flips(words, d, UNIT // 2) for _ in range(draws_of_signs(d))]
    while inside and sum(draws[0]) * 2 == d:
        draws = draws[1:] or [flips(Words([words.extra() for _ in range(ceil(d / 64))]), d, UNIT // 2)]
    exchanged = draws[0]
    if inside and sum(exchanged) * 2 > d:
        exchanged = [not one for one in exchanged]
    return sum(2**place for place in range(d) if upper[place] != exchanged[place])


def draws_of_signs(d: int) -> int:
    return 1 if d % 2 else 8


def coordinates(channel: dict[str, Any]) -> int:
    return sum(run["count"] for run in channel["grids"])


def span(channel: dict[str, Any]) -> int:
    """How many words an answer owns, read or not."""
    if channel["node"] == "half-space":
        d = coordinates(channel)
        return d + 1 + draws_of_signs(d) * ceil(d / 64)
    if channel["node"] == "public":
        return span(channel["inner"])
    if channel["node"] == "subset":
        return 1 + channel["w"]
    if channel["node"] == "block":
        return 2
    lanes, num = channel["k"], channel["q"]
    return compared(num) * ceil(lanes / 64) + reserved(lanes, num) + 1


def width(channel: dict[str, Any]) -> int:
    """Bytes of a payload: those of the largest index, or one bit for each code."""
    if channel["node"] == "public":
        return width(channel["inner"])
    if channel["node"] == "block":
        largest = channel["sets"]["order"] * channel["sets"]["groups"] - 1
    elif channel["node"] == "subset" and channel["w"] == 1:
        largest = channel["k"] - 1
    elif channel["node"] == "half-space":
        largest = 2 ** coordinates(channel) - 1
    else:
        largest = 2 ** channel["k"] - 1
    return max(1, ceil(largest.bit_length() / 8))


def payload(
    channel: dict[str, Any], code: Any, report_id: tuple[int, int], words: Iterable[int], overflow: Iterable[int] = ()
) -> bytes:
    """What a device sends beside the id."""
    private = Words(words, overflow)
    assert len(private.span) == span(channel)
    if channel["node"] == "public":
        report = local_hash(channel, code, private, report_id)
    else:
        nodes = {"subset": subset, "bits": bits, "block": block, "half-space": half_space}
        report = nodes[channel["node"]](channel, code, private)
    return report.to_bytes(width(channel), "little")


def message(channel: dict[str, Any], code: Any, words: Iterable[int], overflow: Iterable[int] = ()) -> bytes:
    """The whole message: the first two words are the id."""
    a, b, *private = words
    return a.to_bytes(8, "little") + b.to_bytes(8, "little") + payload(channel, code, (a, b), private, overflow)


# --- specifications: e**epsilon to a hundred digits, rounded toward privacy ------------------------------


def channel_of(name: str, k: int, epsilon: str) -> dict[str, Any]:
    """The channel of a mechanism with its default parameters, from the laws in the builders' texts."""
    context = Context(prec=100)
    e = Fraction(context.exp(Decimal(epsilon)))
    root = Fraction(context.exp(context.divide(Decimal(epsilon), Decimal(2))))
    if name == "grr":
        return {"node": "subset", "k": k, "w": 1, "keep": floor(UNIT * e / (e + k - 1))}
    if name == "subset":
        w = max(1, round(k / (e + 1)))
        return {"node": "subset", "k": k, "w": w, "keep": floor(UNIT * e * w / (e * w + k - w))}
    if name == "sue":
        p = floor(UNIT * root / (root + 1))
        return {"node": "bits", "k": k, "p": p, "q": UNIT - p, "encoding": "onehot", "ones": 1}
    if name == "oue":
        q = ceil(UNIT / (e + 1))
        return {"node": "bits", "k": k, "p": UNIT // 2, "q": q, "encoding": "onehot", "ones": 1}
    if name == "olh":
        g = min(max(2, round(e + 1)), 2**20)
        inner = {"node": "subset", "k": g, "w": 1, "keep": floor(UNIT * e / (e + g - 1))}
        return {"node": "public", "map": {"kind": "hash", "k": k, "g": g, "bits": 64}, "inner": inner}
    assert name == "hadamard"
    powers = [2**n for n in range(25)]
    groups = min((b for b in powers if 2 * b <= k), key=lambda b: (e + 2 * b - 1) ** 2 / b)
    order = min(b for b in powers if b >= 2 and groups * (b - 1) >= k)
    s, outputs = order // 2, order * groups
    sets = {"kind": "hadamard", "codes": k, "order": order, "groups": groups}
    return {"node": "block", "sets": sets, "inside": floor(UNIT * e * s / (e * s + outputs - s))}


def mechanism_of(name: str, domain: dict[str, Any], k: int, epsilon: str) -> dict[str, Any]:
    """The full specification."""
    channel = channel_of(name, k, epsilon)
    counts_outputs = channel["node"] == "block" or (channel["node"] == "subset" and channel["w"] == 1)
    return {
        "name": name,
        "version": 1,
        "epsilon": epsilon,
        "epsilon_forever": None,
        "question": {"kind": "frequency"},
        "domain": domain,
        "channel": channel,
        "statistic": {"kind": "outputs" if counts_outputs else "supports"},
        "codec": {"version": 1, "bytes": width(channel)},
        "guarantee": "pure",
        "unused": None,
    }


def linf_of(low: str, high: str, d: int, epsilon: str) -> dict[str, Any]:
    """The full specification of duchi-linf: e**epsilon - 1 times C of the weight inside, C vectors being on a side."""
    e = Fraction(Context(prec=100).exp(Decimal(epsilon)))
    side = sum(comb(d, agreeing) for agreeing in range(d + 1) if 2 * agreeing > d)
    grid = {"node": "rounding", "low": low, "high": high, "steps": 1}
    inside = floor(UNIT * (e - 1) * side / ((e - 1) * side + 2**d))
    channel = {"node": "half-space", "grids": [{"count": d, "grid": grid}], "inside": inside}
    return {
        "name": LINF,
        "version": 1,
        "epsilon": epsilon,
        "epsilon_forever": None,
        "question": {"kind": "vector-mean"},
        "domain": {"kind": "box", "low": low, "high": high, "dimensions": d},
        "channel": channel,
        "statistic": {"kind": "parts"},
        "codec": {"version": 1, "bytes": width(channel)},
        "guarantee": "pure",
        "unused": None,
    }


def fingerprint(spec: dict[str, Any]) -> str:
    """SHA-256 of the specification with its keys sorted, in UTF-8, without spaces."""
    text = json.dumps(spec, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# --- vectors ---------------------------------------------------------------------------------------------

NAMES = ("grr", "subset", "sue", "oue", "olh", "hadamard")
LINF = "duchi-linf"
BIRDS = {"kind": "categories", "values": ["lark", "owl", "neither", "été"]}


def shake(label: str, words: int) -> list[int]:
    """Words from SHAKE-256 of a label."""
    raw = hashlib.shake_256(label.encode("utf-8")).digest(8 * words)
    return [int.from_bytes(raw[8 * i : 8 * i + 8], "little") for i in range(words)]


def little_endian(words: Iterable[int]) -> str:
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


def vector(spec: dict[str, Any], value: object, code: Any, words: list[int], overflow: list[int]) -> dict[str, Any]:
    return {
        "spec": spec,
        "fingerprint": fingerprint(spec),
        "value": value,
        "words": little_endian(words),
        "overflow": little_endian(overflow),
        "message": message(spec["channel"], code, words, overflow).hex(),
    }


def vectors() -> Iterator[dict[str, Any]]:
    """Every mechanism at several sizes and budgets; then words that are rejected, and lanes that use up the reserve."""
    for name in NAMES:
        for k, epsilon in ((2, "1"), (5, "0.5"), (17, "2"), (65, "0.1"), (130, "1.5"), (300, "4"), (300, "8")):
            spec = mechanism_of(name, {"kind": "integers", "low": -3, "high": k - 4}, k, epsilon)
            words = shake(f"sottovoce golden 1|{name}|{k}|{epsilon}", 2 + span(spec["channel"]))
            code = words[-1] % k
            yield vector(spec, code - 3, code, words, [])
        for code in (0, 3):
            spec = mechanism_of(name, BIRDS, 4, "1")
            words = shake(f"sottovoce golden 1|{name}|birds|{code}", 2 + span(spec["channel"]))
            yield vector(spec, BIRDS["values"][code], code, words, [])
    for name in ("grr", "subset", "olh", "hadamard"):
        # All bits set: the truth is not told, and each draw below a number that is no power of two is rejected.
        spec = mechanism_of(name, {"kind": "integers", "low": 0, "high": 99}, 100, "1")
        words = shake(f"sottovoce golden 1|{name}|rejected", 2) + [2**64 - 1] * span(spec["channel"])
        overflow = [2**64 - 1, *shake(f"sottovoce golden 1|{name}|overflow", 99)]
        yield vector(spec, 42, 42, words, overflow)
    for name in ("sue", "oue"):
        # Every lane agrees with q in its leading digits, so there are more undecided lanes than reserved words.
        spec = mechanism_of(name, {"kind": "integers", "low": 0, "high": 99}, 100, "1")
        q = spec["channel"]["q"]
        rows = [(2**64 - 1) * digit for digit in binary(q)[:LEVELS] for _ in range(2)]
        tails = shake(f"sottovoce golden 1|{name}|tails", span(spec["channel"]) - len(rows))
        words = [*shake(f"sottovoce golden 1|{name}|undecided", 2), *rows, *tails]
        yield vector(spec, 7, 7, words, shake(f"sottovoce golden 1|{name}|overflow", 100))
    yield from linf_vectors()


def linf_vectors() -> Iterator[dict[str, Any]]:
    """Vectors of numbers, odd and even, in one word and in several; then signs that are tied all too often."""
    sizes = ((1, "1"), (2, "0.5"), (3, "2"), (6, "4"), (64, "1"), (65, "8"), (130, "0.1"))
    for turn, (d, epsilon) in enumerate(sizes):
        low, high = (("-1", "1"), ("0", "0.7"))[turn % 2]
        spec = linf_of(low, high, d, epsilon)
        words = shake(f"sottovoce golden 1|{LINF}|{d}|{epsilon}", 2 + span(spec["channel"]))
        tenths = [word % (1 + int(10 * (Fraction(high) - Fraction(low)))) for word in words[2 : 2 + d]]
        code = [Fraction(low) + Fraction(tenth, 10) for tenth in tenths]
        yield vector(spec, [float(number) for number in code], code, words, [])
    spec = linf_of("-1", "1", 128, "1")
    tied = [0x0F0F0F0F0F0F0F0F, 0x3333333333333333]
    words = [*shake(f"sottovoce golden 1|{LINF}|tied", 2 + 128), 0, *tied * 8]
    overflow = [*tied, *shake(f"sottovoce golden 1|{LINF}|overflow", 20)]
    code = [Fraction(place - 64, 64) for place in range(128)]
    yield vector(spec, [float(number) for number in code], code, words, overflow)


ABOUT = (
    "What a device sends, given its 64-bit words (hexadecimal bytes, little-endian, eight per word): the two of the"
    " id and those of the answer; 'overflow' holds the words that rejected draws read on. Written by"
    " tests/mechanisms/reference.py --write, from the definitions and not from the package."
)


def text() -> str:
    return json.dumps({"about": ABOUT, "version": 1, "vectors": list(vectors())}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} anew")
    if parser.parse_args().write:
        FILE.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
