"""Which specifications of nodes and domains are read, and which are refused, is what was written down.

Every number of a specification is replaced by its neighbours and by the ends of ranges: a check that is dropped, or
that moves its border by one, reads something else. `python -m tests.core.test_borders` writes them down.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import channel_from_spec
from sottovoce.core.domain import (
    Above,
    Bins,
    Cells,
    Clamp,
    Digit,
    Fields,
    Itemsets,
    KeyValue,
    Level,
    Merged,
    Pair,
    Powers,
    Prefix,
    Select,
    Square,
    VectorPart,
    domain_from_spec,
)
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import Collection
from tests.client.collectors import facts, memoised, sleep
from tests.core.channel.test_small_laws import NODES, instances

FILE = Path(__file__).parent / "golden" / "borders.json"
LISTED = 3  # entries of a list that are changed
LONGEST = 1 << 20  # no work for numbers beyond
RECORD = sv.Record({"a": sv.Integers(0, 2), "b": sv.Categories(["x", "y"]), "n": sv.Interval(0, 1)})
DOMAINS: dict[str, sv.Domain] = {
    "integers": sv.Integers(2, 9),
    "interval": sv.Interval(0, 10),
    "steps": sv.Interval(0, 10, step=0.5),
    "categories": sv.Categories(["a", "b", "c"]),
    "circle": sv.Circle(24),
    "box": sv.Box(-1, 1, 3),
    "ball": sv.Ball(2, 3),
    "sparse": sv.Sparse(5, 2),
    "pair": Pair(sv.Categories(["a", "b"]), sv.Interval(0, 10)),
    "record": sv.Record({"a": sv.Integers(0, 2), "b": sv.Categories(["x", "y"])}),
    "sets": sv.Sets(list("abc"), 2),
    "ranking": sv.Ranking(list("abc")),
    "keys": KeyValue(list("abc"), sv.Integers(1, 5), 2),
    "bins": Bins(sv.Interval(0, 10), [2, 5]),
    "merged": Merged(sv.Integers(0, 3), (0, 1, 1, 0)),
    "clamp": Clamp(sv.Interval(0, 10), 2, 5),
    "text": sv.Text(),
    "fields": Fields(RECORD, ["a", "n"]),
    "vector part": VectorPart(sv.Box(-1, 1, 4), (2, 0)),
    "itemsets": Itemsets(sv.Sets(list("abc"), 2), [["a"], ["a", "b"]]),
    "cells": Cells(Pair(sv.Categories(["a", "b"]), sv.Categories(["x", "y"])), 1),
    "digit": Digit(sv.Interval(0, 10), 1, 4, 2),
    "powers": Powers(sv.Interval(0, 10), 5),
    "square": Square(sv.Interval(0, 10), 5),
    "above": Above(sv.Interval(0, 10), 4),
    "level": Level(sv.Integers(0, 7), 2, 2),
    "prefix": Prefix(sv.Text(), 8),
    "select": Select(RECORD, ["a", "b"]),
}


def variants(spec: Any) -> Iterator[Any]:
    """The specification with one of its numbers, texts or lists replaced, at any depth."""
    if isinstance(spec, bool) or spec is None:
        yield not spec
    elif isinstance(spec, int):
        near = {-1, 0, 1, 2, spec - 1, spec + 1, 2 * spec}
        yield from sorted(near | ({UNIT - 1, UNIT, UNIT + 1} if spec > LONGEST else {65}) - {spec})
    elif isinstance(spec, str):
        yield from ("", "0", "-1", "x", spec + "0")
    elif isinstance(spec, list):
        yield from ([], spec[:-1], [*spec, *spec[:1]], spec[::-1])
        for place, one in enumerate(spec[:LISTED]):
            yield from ([*spec[:place], other, *spec[place + 1 :]] for other in variants(one))
    elif isinstance(spec, dict):
        for key, one in spec.items():
            if key != "kind":
                yield from ({**spec, key: other} for other in variants(one))


def verdicts(spec: Any, read: Callable[[Any], Any]) -> str:
    """One digit for each variant: 1 if it is read, as it was written."""

    def verdict(one: Any) -> str:
        try:
            return str(int(read(one).spec() == one))
        except SottovoceError:
            return "."

    return "".join(map(verdict, variants(spec)))


def of_kind(kind: str) -> list[str]:
    if kind in DOMAINS:
        return [verdicts(json.loads(json.dumps(DOMAINS[kind].spec())), domain_from_spec)]
    if kind in MANIFESTS:
        return verdicts_of_facts(kind)
    specs = {json.dumps(channel.spec()) for channel in instances(kind)[:3]}
    return [verdicts(json.loads(spec), channel_from_spec) for spec in sorted(specs)]


def manifests() -> dict[str, Manifest]:
    """Studies that are asked once, in waves, in rounds, by a shuffler, with invitations and with chosen budgets."""
    repeat = Repeat(7, 4, 2)
    days = {"start": "2027-03-01", "end": "2027-03-28", "repeat": repeat, "lifetime": Decimal(2)}
    return {
        "once": sleep(collection=Collection(3, invitations=True)),
        "waves": replace(sleep(), facts=facts(**days)),
        "rounds": sleep(rounds=3, lifetime=3, collection=Collection(sealed_for="ab" * 32, batch=100)),
        "chosen": sleep(chosen=True, collection=Collection(ask_all=True)),
        "memos": memoised(),
        "second round": sleep().next(sleep().stage),
    }


def verdicts_of_facts(name: str) -> list[str]:
    """Variants of the facts, the questions and the rounds of a manifest; its mechanisms are tried by themselves."""
    manifest = manifests()[name]
    plain: dict[str, Any] = json.loads(json.dumps(manifest.spec()))
    arms = plain.pop("arms")
    weights = [{"name": arm["name"], "weight": arm["weight"]} for arm in arms]

    def read(one: Any) -> Any:
        full = [{**arm, "mechanism": own["mechanism"]} for arm, own in zip(one["arms"], arms, strict=False)]
        found = Manifest.from_spec(json.dumps({**one, "arms": full})).spec()
        return Written({**found, "arms": [{"name": arm["name"], "weight": arm["weight"]} for arm in found["arms"]]})

    return [verdicts({**plain, "arms": weights}, read)]


class Written(dict[str, Any]):
    """A specification that was read and written again."""

    def spec(self) -> dict[str, Any]:
        return json.loads(json.dumps(self))  # type: ignore[no-any-return]


MANIFESTS = tuple(manifests())
KINDS = [*NODES, *DOMAINS, *MANIFESTS]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_and_refused_is_what_was_written_down(kind: str) -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))[kind]
    assert of_kind(kind) == kept, "If that is meant: python -m tests.core.test_borders"


if __name__ == "__main__":
    rows = (f"{json.dumps(kind)}: {json.dumps(of_kind(kind))}" for kind in KINDS)
    FILE.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")
