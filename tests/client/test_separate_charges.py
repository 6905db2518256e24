"""Mechanisms and arms that share a device: each memo has coins and a charge of its own, and the worst arm counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from sottovoce.client import Untimed
from sottovoce.client.memo import Memo
from sottovoce.client.participant import Participant
from sottovoce.core.arithmetic.rational import loss
from sottovoce.core.errors import PrivacyError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Round
from tests.client.collectors import ANSWERS, Scripted, sleep
from tests.client.toys import unary


def device(path: Path, lifetime_limit: object = None) -> Participant:
    return Participant(path, tick=Untimed(), transport=Scripted(), lifetime_limit=lifetime_limit)


def test_mechanisms_with_the_same_channel_share_no_coins_and_no_charge(tmp_path: Path) -> None:
    """They differ in what they claim alone: equal memos, or one charge for both, would show that coins are shared."""
    path = tmp_path / "device"
    one = unary(64)
    other = replace(one, claimed=one.claimed + 1)
    assert one.channel == other.channel and one.fingerprint != other.fingerprint
    assert Memo(path).keep(one, 3).answer != Memo(path).keep(other, 3).answer
    each = Fraction(loss(one.ratio_forever or Fraction(1)))
    assert 0 <= Fraction(device(path).account().total) - 2 * each < Fraction(1, 10**40)  # rounded up


def mixed(lifetime: str = "1") -> Manifest:
    """An arm that loses 1, and a much likelier one that loses 0.2."""
    whole, cheap = sleep(unit="event", lifetime=lifetime), sleep(epsilon="0.2").stage.arms[1]
    return Manifest(whole.facts, whole.questions, Round((whole.stage.arms[0], replace(cheap, weight=500))))


def test_the_worst_arm_counts_beside_what_was_lost_before(tmp_path: Path) -> None:
    path = tmp_path / "device"
    device(path, 3).answer(sleep(owner="Another"), ANSWERS)
    with pytest.raises(PrivacyError, match="more than it allows in its lifetime"):
        device(path, Decimal("1.5")).answer(mixed(), ANSWERS)
    assert device(path, 2).answer(mixed(), ANSWERS).state == "queued"


def test_the_worst_arm_counts_in_the_lifetime_of_a_study(tmp_path: Path) -> None:
    path, manifest = tmp_path / "device", mixed("1.5")
    worst = loss(manifest.stage.arms[0].mechanism.ratio)
    for _ in range(10):
        if device(path).account().total + worst > manifest.facts.lifetime:
            break
        device(path).answer(manifest, ANSWERS)
    with pytest.raises(PrivacyError, match="lifetime budget of this study"):
        device(path).answer(manifest, ANSWERS)
    assert len(device(path).reports()) <= 3
