"""Losses of repeated studies by enumeration: per report, per window, over the whole sequence."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.core.errors import TooLargeError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.privacy.accounting.repeats import repeat_loss
from sottovoce.privacy.accounting.study import repeat_text

BITS = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon="0.5")


@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("joined", [-1, 0, 1, 3])
def test_a_window_loses_epsilon_and_a_sequence_its_answers(window: int, joined: int) -> None:
    """Histories that differ in one window lose one report; those that differ anywhere as many as the device sends."""
    repeat = Repeat(7, 4, window)
    sent = -(-(4 - max(0, joined)) // window)
    assert repeat_loss(BITS, repeat, span=window, joined=joined) == pytest.approx(0.5, abs=1e-12)
    assert repeat_loss(BITS, repeat, joined=joined) == pytest.approx(0.5 * sent, abs=1e-12)
    assert sent <= repeat.answers


def test_a_wider_difference_than_the_window_loses_more() -> None:
    """The power of the test above: a schedule with a shorter window breaks the promise of a longer one."""
    assert repeat_loss(BITS, Repeat(7, 4, 2), span=3) == pytest.approx(1.0, abs=1e-12)
    assert repeat_loss(BITS, Repeat(7, 4, 2), span=1) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        sv.mechanism("grr", sv.Integers(0, 2), epsilon=1),
        sv.mechanism("oue", sv.Integers(0, 1), epsilon=1),
        sv.mechanism("subset", sv.Integers(0, 2), epsilon=1),
    ],
    ids=lambda one: one.name,
)
def test_other_mechanisms(mechanism: sv.Mechanism) -> None:
    for window in (1, 2):
        found = repeat_loss(mechanism, Repeat(1, 2, window), span=window)
        assert found == pytest.approx(mechanism.epsilon, abs=1e-9)
        assert repeat_loss(mechanism, Repeat(1, 2, window)) == pytest.approx(mechanism.epsilon * 2 / window, abs=1e-9)


def test_large_cases_are_refused() -> None:
    with pytest.raises(TooLargeError):
        repeat_loss(BITS, Repeat(7, 40, 4))


def test_what_a_year_of_answers_loses() -> None:
    from decimal import Decimal

    said = repeat_text(Repeat(7, 104, 4), Decimal("0.5"), "person")
    assert "any 4 waves in a row together" in said and "(14 reports) loses at most epsilon 7" in said
    assert "at most 100.0 %" in said
    assert "at most 62.3 %" in repeat_text(Repeat(7, 12, 12), Decimal("0.5"), "person")
