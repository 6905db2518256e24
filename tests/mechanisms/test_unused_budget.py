"""A mechanism that honestly leaves budget unused says so and why; one that does so silently, or in vain, is refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Subset
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.testing import check_mechanism
from sottovoce.testing.contract import check_privacy

WHY = "The coin of this device has sixteen outcomes, so probabilities are rounded down to sixteenths."


def coarse(unused: str | None = WHY, sixteenths: int = 11) -> sv.Mechanism:
    """Randomized response by a coin of four bits: the largest multiple of 1/16 below e / (e + 1) is 11/16."""
    keep = UNIT // 16 * sixteenths
    asked = sv.Frequency(sv.Categories(["no", "yes"]))
    return sv.Mechanism("coarse-rr", asked, Subset(2, 1, keep), Decimal(1), CountOutputs(), unused=unused)


def test_declared_budget_may_be_left() -> None:
    mechanism = coarse()
    check_mechanism(mechanism)
    assert mechanism.epsilon == pytest.approx(0.78846, abs=1e-5)
    again = sv.Mechanism.from_spec(mechanism.spec())
    assert again.unused == WHY and again == mechanism
    assert again.fingerprint != replace(mechanism, unused=None).fingerprint


def test_undeclared_waste_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"wastes budget: epsilon 0\.788.* of 1"):
        check_mechanism(coarse(unused=None))


def test_a_declaration_in_vain_is_refused() -> None:
    full = replace(sv.mechanism("rr", sv.Categories(["no", "yes"]), epsilon=1), unused=WHY)
    with pytest.raises(AssertionError, match="declares unused budget, and uses it"):
        check_privacy(full)


def test_a_declaration_does_not_excuse_a_loss() -> None:
    with pytest.raises(sv.PrivacyError, match="more than the 1 it claims"):
        coarse(sixteenths=12)


@pytest.mark.parametrize("reason", ["", "x" * 401, "two\nlines", 7])
def test_a_reason_is_a_short_text(reason: object) -> None:
    with pytest.raises(sv.SpecError, match="reason for unused budget"):
        coarse(unused=reason)  # type: ignore[arg-type]
