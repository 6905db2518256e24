"""Text as a domain holds it."""

from __future__ import annotations

from decimal import Decimal

import sottovoce as sv
from sottovoce.core.domain import Bins, Domain
from sottovoce.core.domain.written import MAX_LENGTH
from tests.each import for_each


def test_a_number_may_have_as_many_characters_as_allowed_and_no_more() -> None:
    longest = "7".rjust(MAX_LENGTH, "0")
    assert sv.Integers(0, 9).typed(longest) == 7
    assert sv.Integers(0, 9).typed("0" + longest) == "0" + longest  # left alone: the domain refuses a text


@for_each(
    "domain,text,value",
    [
        (sv.Integers(0, 9), " 7 ", 7),
        (sv.Integers(0, 9), "7.0", 7),
        (sv.Integers(-9, 9), " -7. ", -7),
        (sv.Integers(0, 9), "7.5", "7.5"),
        (sv.Integers(0, 9), "7e0", "7e0"),
        (sv.Integers(0, 9), ".0", ".0"),
        (sv.Categories([1, 2]), "2.0", "2.0"),
        (sv.Categories(["true", "false"]), True, "true"),
        (sv.Categories(["No", "FALSE", "True"]), False, "FALSE"),
        (sv.Categories(["true", "True"]), True, True),
        (sv.Categories(["yes", "no"]), True, True),
        (sv.Categories([0, 1]), True, 1),
        (sv.Categories([0, 1, 2]), True, True),
        (sv.Integers(0, 1), False, 0),
        (sv.Interval(0, 1), True, 1),
        (sv.Integers(0, 9), True, True),
        (sv.Categories([1, 2]), "2", 2),
        (sv.Categories(["1", "2"]), "2", "2"),
        (sv.Categories(["1", "2"]), 2, "2"),
        (sv.Categories([1, 2]), 2, 2),
        (sv.Interval(0, 1), "0.25", 0.25),
        (sv.Interval(0, 1), "0.1234567890123456789", Decimal("0.1234567890123456789")),
        (sv.Interval(0, 1), "a half", "a half"),
        (Bins(sv.Interval(0, 1), ["0.3"]), ".5", 0.5),
    ],
)
def test_texts_become_what_the_domain_holds(domain: Domain, text: object, value: object) -> None:
    found = domain.typed(text)
    assert found == value and type(found) is type(value)


def test_which_domains_hold_texts() -> None:
    assert sv.Categories(["a", "b"]).holds_texts and not sv.Categories([1, 2]).holds_texts
    assert not sv.Integers(0, 1).holds_texts
