"""Small formulas of audits and accounts, compared with what can be computed by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.special import betaincinv

import sottovoce as sv
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.privacy.accounting.account import Entry
from sottovoce.privacy.accounting.bounds import clones_closed_form
from sottovoce.privacy.blackbox import lower_bound
from sottovoce.privacy.drawn import SOME_ID
from sottovoce.privacy.worst import SHOWN_DIGITS, WorstCase


@pytest.mark.parametrize("name", ["", 5, None, ["memo"]])
def test_an_entry_needs_a_name(name: object) -> None:
    with pytest.raises(sv.ParameterError, match=r"^An entry of an account needs a name\.$"):
        Entry.of(name, 1)  # type: ignore[arg-type]


def test_a_lower_bound_leaves_room_for_errors_of_the_beta_function() -> None:
    low, high = betaincinv(90, 11, 0.025), betaincinv(11, 90, 0.975)
    assert 1.9e-9 < math.log(low / high) - lower_bound(90, 10, 100, 0.05) < 2.1e-9


def test_the_closed_form_for_clones_says_nothing_outside_of_its_theorem() -> None:
    delta = 1e-6
    least = 16 * math.log(2 / delta)
    assert clones_closed_form(0.1, math.floor(least), delta) == math.inf
    assert clones_closed_form(math.log(10_000 / least) + 1e-6, 10_000, delta) == math.inf
    assert clones_closed_form(math.log(10_000 / least) - 1e-6, 10_000, delta) < math.inf


def test_messages_are_named_by_payload_and_cut() -> None:
    def name(message: bytes) -> str:
        return WorstCase(message, (0, 1), (Fraction(1, 2), Fraction(1, 4)))._name()

    own, half = id_bytes(SOME_ID), SHOWN_DIGITS // 2
    assert name(own + b"\xab") == "Report ab"
    assert name(own) == f"Message {own.hex()}"  # the id is all there is
    assert name(own + bytes(half)) == "Report " + "00" * half
    assert name(own + bytes(half + 1)) == "Report " + "00" * half + "..."
    assert name(bytes(16) + b"\xab") == "Message " + "00" * 16 + "ab"
