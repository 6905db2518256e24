"""The cheap parts of the contract for families whose whole contract is slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import fits
from sottovoce.testing.contract import check_fast_is_scalar, check_messages, check_spec, check_tallies

VECTORS = (sv.Box(0, 10, 3), sv.Sparse(70, 2), sv.Sparse(70, 1), sv.Ball(2, 3))


def group(key: str, groups: int, value: str = "group-bernoulli") -> Callable[[], Mechanism]:
    domain = sv.Pair(sv.Integers(1, groups), sv.Interval(0, 10))
    return lambda: sv.mechanism(value, domain, epsilon=2, key=key)


def vector(name: str, **options: Any) -> Callable[[], Mechanism]:
    def build() -> Mechanism:
        domain = next(domain for domain in VECTORS if fits(name, domain))
        return sv.mechanism(name, domain, epsilon=2, **options)

    return build


BUILT = {
    "indices of groups": group("grr", 5),
    "sets of groups": group("subset", 9),
    "groups over two words": group("unary", 70),
    "groups with noise": group("grr", 3, "group-nprr"),
    "coordinates": vector("sampled", inner="bernoulli", count=2),
    "all coordinates": vector("split-epsilon", inner="bernoulli"),
    **{name: vector(name) for name in sv.names(sv.VectorMean) if name not in ("sampled", "split-n", "split-epsilon")},
    "mixed": lambda: sv.mechanism("hybrid", sv.Interval(-1, 1), epsilon=2),
    "noise": lambda: sv.mechanism("nprr", sv.Interval(-1, 1), epsilon=2),
}


@pytest.mark.parametrize("name", BUILT)
def test_kernels_tallies_messages_and_specifications(name: str, seed: int) -> None:
    mechanism = BUILT[name]()
    for check in (check_fast_is_scalar, check_tallies, check_messages):
        check(mechanism, seed % 1000)
    check_spec(mechanism)
