"""Hostile specifications, which try to make a device hang, fill its memory or fail with an unknown error.

Each recipe takes a random generator and a size in bytes and gives the text of a specification, near that size at most.
Standard library only: it describes channels and builds none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

UNIT = 1 << 53
Plain = dict[str, Any]
Recipe = Callable[[Random, int], bytes]
QUESTIONS = {
    "interval": "mean",
    "pair": "group-mean",
    "sparse": "vector-mean",
    "box": "vector-mean",
    "ball": "vector-mean",
}
MEMOISED = ("chain", "cohorts")  # nodes that keep a memo claim a second budget
INTERVAL: Plain = {"kind": "interval", "low": "0", "high": "1"}


def text_of(
    channel: Plain, domain: Plain, *, guarantee: str = "pure", statistic: str = "outputs", **other: Any
) -> bytes:
    """The text of a mechanism with this channel."""
    fields: Plain = {
        "name": "x",
        "version": 1,
        "epsilon": "20",
        "epsilon_forever": "20" if channel.get("node") in MEMOISED else None,
        "question": {"kind": QUESTIONS.get(domain["kind"], "frequency")},
        "domain": domain,
        "channel": channel,
        "statistic": {"kind": statistic},
        "unused": None,
    }
    plain = {**fields, "codec": {"version": 1, "bytes": 1}, "guarantee": guarantee, **other}
    return json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()


def integers(size: int) -> Plain:
    """The domain of `size` whole numbers."""
    return {"kind": "integers", "low": 0, "high": size - 1}


def subset(k: int, w: int = 1, keep: int = UNIT // 8 * 7) -> Plain:
    """A plain channel."""
    return {"node": "subset", "k": k, "w": w, "keep": keep}


def weights(rng: Random, length: int, *, least: int = 1) -> list[int]:
    """Weights of few digits that sum to 2**53, but for one of them, in falling order."""
    small = sorted((rng.choice((least, least, least + 1)) for _ in range(length - 1)), reverse=True)
    return [UNIT - sum(small), *small]


# --- the four bombs that a first attack found -----------------------------------------------------------------------
def nested_pools(rng: Random, size: int) -> bytes:
    """Each pool refuses about half of the ids: with enough of them no id is ever accepted."""
    g, digits = rng.choice(((2, 24), (67, 9), (181, 7), (1447, 5), (3, 24)))
    channel, depth = subset(g), min(28, size // 120)
    for _ in range(depth):
        channel = {"node": "public", "map": _pool(g, digits), "inner": channel}
    codec = {"version": 1, "bytes": 1 if g <= 256 else 2}
    return text_of(channel, integers(g), statistic="supports", codec=codec)


def _pool(g: int, digits: int) -> Plain:
    return {"kind": "pool", "k": g, "g": g, "digits": digits, "bits": 64, "polynomial": 3 if g == 2 else 0}


def uneven_masks(rng: Random, size: int) -> bytes:
    """The worst pair of uneven masks is found by dynamic programming over long fractions."""
    k = min(64, size // 36)
    p = [rng.randrange(UNIT // 2, UNIT) for _ in range(k)]
    q = [rng.randrange(1, UNIT // 2) for _ in range(k)]
    first = {"node": "bits", "k": k, "p": p, "q": q, "encoding": "mask", "ones": k // 2}
    return text_of(first, integers(k), statistic=rng.choice(("supports", "outputs", "sums")))


def chained_masks(rng: Random, size: int) -> bytes:
    """Masks after a stage that accepts every mask, so that the whole specification is valid."""
    k = min(16, size // 40)
    p, q = ([rng.randrange(*ends) for _ in range(k)] for ends in ((UNIT // 2, UNIT), (1, UNIT // 2)))
    first = {"node": "bits", "k": k, "p": p, "q": q, "encoding": "mask", "ones": 0}
    return text_of({"node": "then", "first": first, "second": subset(1 << k)}, integers(1 << k))


def long_noise(rng: Random, size: int) -> bytes:
    """Three lists of equal weights: the weights of all magnitudes are products of two of them."""
    length = 1 << (size // 43).bit_length() - 1
    equal = [UNIT // length] * length
    channel = {"node": "noise", "steps": length, "first": equal, "cycle": equal, "bands": equal}
    codec = {"version": 1, "bytes": (2 * length * length).bit_length() + 7 >> 3}
    return text_of(channel, integers(length + 1), codec=codec)


def large_delta(rng: Random, size: int) -> bytes:
    """All pairs of rows of a table with weights of one digit."""
    cells = size // 3
    columns = rng.choice((2, 10, max(2, round(cells**0.5))))
    rows = [weights(rng, columns, least=0) for _ in range(max(2, cells // (columns + 6)))]
    channel = {"node": "table", "rows": rows}
    return text_of(channel, integers(len(rows)), guarantee="approximate(0.999)")


# --- others ---------------------------------------------------------------------------------------------------------
def nested_products(rng: Random, size: int) -> bytes:
    """Stages one after another, each multiplied up entry by entry."""
    k = rng.choice((2, 5, 8, 16, 40, 60))
    channel = subset(k, 1, rng.randrange(UNIT // k + 1, UNIT))
    for _ in range(rng.randrange(1, 26)):
        channel = {"node": "then", "first": _stage(rng, k), "second": channel}
        if len(json.dumps(channel)) > size:
            break
    guarantee = rng.choice(("pure", "approximate(0.5)"))
    return text_of(channel, integers(k), guarantee=guarantee)


def _stage(rng: Random, k: int) -> Plain:
    window = {"node": "window", "k": k, "stride": 1, "width": 1, "inside": rng.randrange(UNIT // k + 1, UNIT)}
    table = {"node": "table", "rows": [weights(rng, k, least=0) for _ in range(k)]}
    return rng.choice((window, table, subset(k, 1, rng.randrange(UNIT // k + 1, UNIT))))


def sensitive_products(rng: Random, size: int) -> bytes:
    """A guarantee whose check enumerates the law of a product, report by report."""
    k, stages = rng.choice(((500, 1), (60, 2), (64, 1), (12, 4), (500, 0)))
    channel = subset(k)
    for _ in range(stages):
        channel = {"node": "then", "first": subset(k, 1, UNIT - rng.randrange(1, 99)), "second": channel}
    codec = {"version": 1, "bytes": 1 if k <= 256 else 2}
    return text_of(channel, integers(k), guarantee="utility_optimised(0)", codec=codec)


def tall_trees(rng: Random, size: int) -> bytes:
    """The largest number of stages, most of them deeply nested: each level adds up their cost."""
    leaves = max(2, size // 150)
    stages = [subset(2, 1, rng.randrange(UNIT // 2 + 1, UNIT)) for _ in range(leaves)]
    while len(stages) > 1:
        ends = range(0, len(stages) - 1, 2)
        left = stages[len(stages) - len(stages) % 2 :]
        stages = [{"node": "then", "first": stages[i], "second": stages[i + 1]} for i in ends] + left
    (channel,) = stages
    for _ in range(28 - leaves.bit_length()):
        parts = rng.sample((channel, subset(2)), 2)
        channel = {"node": "then", "first": parts[0], "second": parts[1]}
    return text_of(channel, integers(2))


def keyed_products(rng: Random, size: int) -> bytes:
    """The extremes of a product, entry by entry, under a key."""
    k, outputs = rng.choice((2, 4, 100, 1000)), rng.choice([n for n in (3, 8, 30, 90) if 15 * n * n < size])
    inner: Plain = subset(outputs, 1, UNIT // 2)
    for _ in range(rng.randrange(1, 6)):
        inner = {"node": "then", "first": _stage(rng, outputs), "second": inner}
    neutral = weights(rng, outputs)
    channel = {"node": "keyed", "key": subset(k), "inner": inner, "neutral": neutral}
    domain = {"kind": "pair", "group": integers(k), "value": integers(outputs)}
    return text_of(channel, domain, statistic="keyed")


def many_parts(rng: Random, size: int) -> bytes:
    """Many channels side by side, some with long ratios, or in a mix, or a mix in a mix."""
    parts = rng.choice(
        (
            [subset(2, 1, rng.randrange(UNIT // 2 + 1, UNIT)) for _ in range(size // 66)],
            [_wide_bits(rng) for _ in range(size // 130)],
            [_half_space(rng) for _ in range(size // 160)],
            [
                {"node": "cap", "size": 65536, "law": "sphere", "threshold": f"0.00{i}", "keep": UNIT - 9}
                for i in range(size // 90)
            ],
            [{"node": "place", "dimensions": 1 << 20, "most": 4096 - i % 9, "bound": "1"} for i in range(size // 80)],
        )
    )
    while len(parts) > 1 and rng.random() < 0.4:
        parts = [{"node": "each", "channels": parts[i : i + 7]} for i in range(0, len(parts), 7)]
    channel: Plain = {"node": "each", "channels": parts}
    if rng.random() < 0.4:
        channel = {"node": "mix", "weights": weights(rng, len(parts)), "channels": parts}
    if rng.random() < 0.3:
        channel = {"node": "then", "first": channel, "second": subset(1 << 20)}
    domain = {"kind": "record", "fields": [{"name": str(i), "domain": integers(2)} for i in range(min(9, len(parts)))]}
    return text_of(
        channel, rng.choice((domain, integers(2), INTERVAL)), statistic=rng.choice(("joint", "outputs", "sums"))
    )


def _wide_bits(rng: Random) -> Plain:
    k = rng.choice((1 << 24, 1 << 12, 100))
    return {
        "node": "bits",
        "k": k,
        "p": UNIT // 8 * 7,
        "q": rng.choice((UNIT // 2, 3)),
        "encoding": "onehot",
        "ones": 1,
    }


def _half_space(rng: Random) -> Plain:
    grid = {"node": "rounding", "low": "0", "high": "1", "steps": 1}
    return {"node": "half-space", "grids": [{"count": 65536, "grid": grid}], "inside": rng.randrange(1, UNIT)}


def long_powers(rng: Random, size: int) -> bytes:
    """The ratio of one coordinate to the power of their number."""
    grid = {"node": "rounding", "low": "0", "high": "1", "steps": 1}
    inner: Plain = subset(2, 1, rng.randrange(UNIT // 2 + 1, UNIT))
    if rng.random() < 0.5:
        inner = {"node": "mix", "weights": weights(rng, size // 100), "channels": [inner] * (size // 100)}
    count = rng.choice((2, 500, 10_000, 65536))
    node, grids = "sampled-coordinates", [{"count": count, "grid": grid}]
    channel = {"node": node, "grids": grids, "inner": inner, "count": count, "bits": 64}
    domain = {"kind": "box", "low": "0", "high": "1", "dimensions": count}
    return text_of(channel, domain, statistic="parts", guarantee=rng.choice(("pure", "approximate(0.1)")))


def slots(rng: Random, size: int) -> bytes:
    """Sparse vectors with the largest number of entries, before any channel."""
    dimensions, most = rng.choice((2, 100, 1 << 20)), rng.choice((1, 2, 48, 4096))
    held: Plain = {"dimensions": dimensions, "most": min(most, dimensions), "bound": "1"}
    second = rng.choice(
        (subset(2 * dimensions), subset(2 * dimensions, 2, UNIT - 9), {"node": "table", "rows": [[UNIT, 0]] * 4})
    )
    firsts = [rng.randrange(1, UNIT // 64) for _ in range(held["most"])]
    channel: Plain = rng.choice(
        (
            {"node": "then", "first": {"node": "place", **held}, "second": second},
            {"node": "hints", **held, "speak": rng.randrange(1, UNIT // 2), "firsts": firsts},
            {"node": "signs", **held, "least": 1 + held["most"] // 2, "inside": rng.randrange(UNIT // 2, UNIT)},
        )
    )
    return text_of(channel, {"kind": "sparse", **held}, statistic=rng.choice(("sums", "outputs")))


def long_texts(rng: Random, size: int) -> bytes:
    """Categories of accents in the wrong order, one long or many short ones; long decimals and huge exponents."""
    accents = "a" + "\u0301\u0327" * (size // 14)
    longest = rng.choice(
        (accents, "x" * size, "\U0010ffff" * (size // 12), "9" * size, "1e999999999", "1e-999999999", "\ud800")
    )
    domain = rng.choice(
        (
            {"kind": "categories", "values": ["b", longest]},
            {"kind": "categories", "values": [f"{i}{accents[:900]}" for i in range(size // 6000 + 2)]},
            {"kind": "interval", "low": "0", "high": longest},
            {"kind": "bins", "of": INTERVAL, "edges": [f"0.{'0' * 110}{i}" for i in range(1, size // 120)]},
            {"kind": "square", "of": INTERVAL, "centre": longest},
        )
    )
    other = rng.choice(({}, {"epsilon": longest}, {"name": longest}, {"guarantee": f"approximate(0.{longest})"}))
    return text_of(subset(2), domain, **other)


def large_domains(rng: Random, size: int) -> bytes:
    """Products of many sizes, and views of views of them."""
    names = [str(i) for i in range(size // 90)]
    fields = [{"name": name, "domain": integers(1 << 32)} for name in names]
    domain: Plain = {"kind": "select", "of": {"kind": "record", "fields": fields}, "names": names}
    for _ in range(rng.randrange(27)):
        domain = {"kind": "level", "of": domain, "branching": 2, "level": 1}
        if rng.random() < 0.3:
            domain = {"kind": "prefix", "of": domain["of"], "bits": 1}
    return text_of(subset(2), domain)


def odd_json(rng: Random, size: int) -> bytes:
    """Deep, long, repeated and broken JSON."""
    deep = size // 2
    return rng.choice(
        (
            b"[" * size,
            b'{"a":' * (size // 5),
            b"[" * deep + b"]" * deep,
            b'{"name":' + b"9" * size + b"}",
            b"{" + b",".join(b'"k%d":0' % i for i in range(size // 10)) + b"}",
            b'{"name":"x","name":"x"}',
            b"\xff\xfe" * deep,
            b'{"a":[' + b"0," * (size // 2) + b"0]}",
            b'{"a":[' + b"{}," * (size // 3) + b"0]}",
            b"1e999999999",
            b"-" * size,
            json.dumps("\ud800" * (size // 6)).encode(),
        )
    )


def mutated(rng: Random, size: int) -> bytes:
    """Another recipe with some of its numbers, names or bytes changed."""
    data = bytearray(rng.choice(RECIPES[:-1])(rng, size))
    swaps = ((b":2", b":%d" % UNIT), (b"subset", b"window"), (b"each", b"mix"), (b"then", b"chain"), (b":1", b":-1"))
    for _ in range(rng.randrange(1, 4)):
        old, new = rng.choice(swaps)
        if rng.random() < 0.7:
            data = data.replace(old, new, rng.randrange(1, 9))
        elif data:
            data[rng.randrange(len(data))] = rng.choice(b'09"[]{},:aeE.-')
    return bytes(data)


RECIPES: tuple[Recipe, ...] = (
    nested_pools,
    uneven_masks,
    chained_masks,
    long_noise,
    large_delta,
    nested_products,
    sensitive_products,
    tall_trees,
    keyed_products,
    many_parts,
    long_powers,
    slots,
    long_texts,
    large_domains,
    odd_json,
    mutated,
)
