"""Kinds that are declared by their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from scripts.web_kinds import TABLES
from sottovoce.core.declared import Declared, decimal, declared, in_units, integer, integers, text, texts
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.late import load


@declared
class Everything(Declared):
    kind: ClassVar[str] = "everything"
    count: int = integer(1, 9)
    share: int = in_units()
    weights: tuple[int, ...] = integers(0, 5)
    word: str = text("yes", "no")
    names: tuple[str, ...] = texts()
    step: Decimal | None = decimal(optional=True)

    def check_fields(self) -> None:
        if sum(self.weights) > self.count:
            raise ParameterError("The weights are too large.")


PLAIN: dict[str, Any] = {"count": 3, "share": 7, "weights": [1, 2], "word": "yes", "names": ["a"], "step": "0.5"}


def test_a_specification_is_read_and_written() -> None:
    thing = Everything.from_fields(PLAIN)
    assert thing == Everything(3, 7, (1, 2), "yes", ("a",), Decimal("0.5"))
    assert thing.spec() == {"kind": "everything", **PLAIN}


def test_an_optional_field_is_left_out() -> None:
    plain = {name: value for name, value in PLAIN.items() if name != "step"}
    thing = Everything.from_fields(plain)
    assert thing.step is None and thing.spec() == {"kind": "everything", **plain}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"count": "3"}, "The 'count' of everything in a specification must be an integer, not a str."),
        ({"count": True}, "must be an integer, not a bool"),
        ({"weights": 3}, "The 'weights' of everything in a specification must be a list, not a int."),
        ({"names": [3]}, "The 'names' of everything in a specification must be a text, not a int."),
        ({"step": 0.5}, "must be a text, not a float"),
        ({"more": 1}, "Missing: none; unknown: 1"),
    ],
)
def test_plain_data_of_another_type_is_refused(changed: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        Everything.from_fields({**PLAIN, **changed})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"count": 10}, r"The 'count' parameter of everything must be an integer in \[1, 9\]\. Got 10"),
        ({"share": 0}, "The 'share' parameter of everything must be an integer in"),
        ({"weights": [6]}, r"must be an integer in \[0, 5\]"),
        ({"weights": [3, 3]}, "The weights are too large"),
        ({"word": "maybe"}, "The 'word' parameter of everything must be one of yes, no"),
        ({"step": "x"}, "The 'step' parameter of everything must be a number"),
    ],
)
def test_values_out_of_bounds_are_refused(changed: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Everything.from_fields({**PLAIN, **changed})


def test_a_missing_field_is_named() -> None:
    with pytest.raises(SpecError, match="Missing: count; unknown: 0"):
        Everything.from_fields({name: value for name, value in PLAIN.items() if name != "count"})


def test_every_field_of_every_kind_has_a_form() -> None:
    """Fields without a form are computed by the constructor, or written by derived keys."""
    for homes in TABLES.values():
        for home in homes.values():
            kind = load(home)
            arguments = {one.name for one in fields(kind) if one.init}
            assert arguments - {*kind.forms} <= {"vectors"} and "from_fields" not in vars(kind), home
