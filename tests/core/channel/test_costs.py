"""Estimates of work, sizes and small proofs of every node are those that were written down.

That they bound the work that is really done is what `tests/core/test_hostile_specs.py` shows. Here they are kept, so
that no change goes unnoticed. `python -m tests.core.channel.test_costs` writes them down.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.channel import Channel
from sottovoce.core.domain import KeyValue
from sottovoce.core.errors import SottovoceError
from sottovoce.core.registry import mechanism
from sottovoce.core.spec_cost import effort
from sottovoce.core.specs import canonical
from tests.core.channel.test_small_laws import NODES, instances

FILE = Path(__file__).parent / "golden" / "costs.json"
TEN, POINTS = sv.Integers(0, 9), sv.Interval(0, 10)
FILMS = KeyValue(list("abcdefgh"), TEN, 3)
LARGE: dict[str, tuple[str, sv.Domain]] = {
    **{name: (name, sv.Integers(0, 999)) for name in ("grr", "subset", "oue", "sue", "olh", "hadamard", "projective")},
    **{name: (name, TEN) for name in ("cms", "hcms", "rappor", "o-rr", "she", "the", "hrr", "flh", "d-bit-flip")},
    **{name: (name, POINTS) for name in ("laplace", "piecewise", "hybrid", "bernoulli", "staircase")},
    **{name: (name, sv.Sets(list("abcdefgh"), 3)) for name in ("mask", "cells", "options")},
    **{
        name: (name, KeyValue(list("abcdefgh"), TEN, 3))
        for name in ("key-mask", "key-cells", "key-options", "pckv-grr")
    },
    "sparse": ("sparse", sv.Sparse(20, 3)),
    "sampled": ("sampled", sv.Box(-1, 1, 9)),
}


def costs(channel: Channel) -> dict[str, Any]:
    """Everything about a channel that a reader of specifications, a device and an audit count with."""
    found: dict[str, Any] = {"words": channel.words, "publics": channel.publics, "bits": channel.payload_bits}
    try:
        found["effort"] = [int(one) for one in effort(channel)]
        small = canonical([one.spec() for one in channel.miniatures()])  # type: ignore[arg-type]
        found["small"] = hashlib.sha256(small).hexdigest()[:12]
    except SottovoceError as problem:
        found["refused"] = type(problem).__name__
    return found


def of_kind(kind: str) -> list[dict[str, Any]]:
    if kind in NODES:
        return [costs(channel) for channel in instances(kind)[:3]]
    name, domain = LARGE[kind.removeprefix("large ")]
    return [costs(mechanism(name, domain, epsilon=epsilon).channel) for epsilon in ("0.7", "3")]


KINDS = [*NODES, *(f"large {name}" for name in LARGE)]


@pytest.mark.parametrize("kinds", [KINDS[start::3] for start in range(3)], ids=["first", "second", "third"])
def test_costs_are_those_that_were_written_down(kinds: list[str]) -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    changed = [kind for kind in kinds if of_kind(kind) != kept[kind]]
    assert not changed, f"{changed}: if that is meant: python -m tests.core.channel.test_costs"


if __name__ == "__main__":
    rows = (f"{json.dumps(kind)}: {json.dumps(of_kind(kind))}" for kind in KINDS)
    FILE.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")
