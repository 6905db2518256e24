"""Whole numbers in nodes, sets, maps and domains: kept as Python's own, and nothing else is taken for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from tests.core.channel.test_small_laws import NODES, instances
from tests.core.channel.test_words import UNREGISTERED
from tests.core.test_limits import LINES

# Lines that hold a kind of node, set, map or domain that the others do not.
NAMES = (
    "grr", "she", "d-bit-flip", "rws", "projective", "one-time-rappor", "o-rr", "bernoulli", "group-bernoulli",
    "duchi-linf", "sparse", "duchi-l2", "proj-unit", "square-wave-discrete", "hierarchy", "coded-wave",
    "fake-attributes",
)  # fmt: skip


def parts(whole: Any) -> Iterator[Any]:
    """A description and all descriptions inside it."""
    if isinstance(whole, tuple):
        for part in whole:
            yield from parts(part)
    elif dataclasses.is_dataclass(whole):
        yield whole
        for field in dataclasses.fields(whole):
            yield from parts(getattr(whole, field.name))


@pytest.fixture(scope="module")
def numbers() -> list[tuple[Any, str, int]]:
    """Every field with a whole number, of one instance of each kind."""
    built = [sv.mechanism(name, LINES[name], epsilon=2) for name in NAMES]
    wholes = (*UNREGISTERED, *(instances(kind)[0] for kind in NODES), *((m.channel, m.domain) for m in built))
    each = {type(part): part for whole in wholes for part in parts(whole)}
    found = [(part, field.name) for part in each.values() for field in dataclasses.fields(part) if field.init]
    # A map with fewer bits than words have is for enumerations alone.
    return [(p, name, getattr(p, name)) for p, name in found if type(getattr(p, name)) is int and name != "bits"]


def test_whole_numbers_are_kept_as_python_has_them(numbers: list[tuple[Any, str, int]]) -> None:
    assert len(numbers) > 60
    for part, name, number in numbers:
        again = dataclasses.replace(part, **{name: np.int64(number)})
        assert again == part and type(getattr(again, name)) is int, (type(part), name)


def takes(part: Any, name: str, value: Any) -> bool:
    try:
        dataclasses.replace(part, **{name: value})
    except sv.ParameterError:
        return False
    return True


def test_nothing_else_is_taken_for_a_whole_number(numbers: list[tuple[Any, str, int]]) -> None:
    for part, name, number in numbers:
        for wrong in (float(number), number + 0.5, str(number), True, None):
            assert not takes(part, name, wrong), f"{type(part).__name__} takes {wrong!r} for its {name}."
