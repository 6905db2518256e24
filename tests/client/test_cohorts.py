"""The cohort of a device: drawn once, the same in all reports, with ids that are uniform given it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.client import Untimed
from sottovoce.client.memo import Memo
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.coins import TapeCoins
from sottovoce.core.exact import law_of
from sottovoce.core.mechanism import Mechanism
from tests.client.toys import in_cohorts, unary


def cohort_of(mechanism: Mechanism, message: bytes) -> int:
    return mechanism.channel.cohort(id_words(message[:16]))  # type: ignore[attr-defined, no-any-return]


def test_the_cohort_of_a_device_is_the_same_in_all_reports(tmp_path: Path) -> None:
    mechanism = in_cohorts()
    path = tmp_path / "memo"
    device = sv.Client(mechanism, lifetime_limit=20, memo=path, tick=Untimed())
    messages = [device.report(value % 3) for value in range(30)]
    assert {cohort_of(mechanism, message) for message in messages} == {Memo(path).keep(mechanism, 0).cohort}
    assert len({message[:16] for message in messages}) == 30


@pytest.mark.parametrize(("g", "digits", "bits"), [(2, 2, 2), (3, 1, 2), (2, 3, 4), (3, 2, 4)])
def test_ids_are_uniform_given_the_cohort(g: int, digits: int, bits: int) -> None:
    """Exactly: an id is the first pair of words of the cohort, unchanged, so all of its pairs are as likely."""
    mechanism = in_cohorts(g**digits if g**digits < 8 else 8, g, digits, bits)
    channel = mechanism.channel
    pairs = [(a, b) for a in range(1 << bits) for b in range(1 << bits)]
    rest = [0] * mechanism.words
    sizes = set()
    for cohort in range(mechanism.cohorts):
        mine = [pair for pair in pairs if channel.accepts(pair) and channel.cohort(pair) == cohort]  # type: ignore[attr-defined]
        sizes.add(len(mine))
        for pair in pairs:
            taken = iter(mine[-1])
            message = mechanism.answer_from(0, TapeCoins([*pair, *rest], taken), cohort=cohort)
            assert id_words(message[:16]) == (pair if pair in mine else mine[-1])
            assert list(taken) == (list(mine[-1]) if pair in mine else [])
    assert len(sizes) == 1  # cohorts are equally likely, so over all devices ids are uniform as well


def test_cohorts_are_drawn_uniformly() -> None:
    for mechanism in (in_cohorts(4, 2, 2), in_cohorts(), in_cohorts(16, 4, 5)):
        law = law_of(mechanism.draw_cohort)
        assert law == dict.fromkeys(range(mechanism.cohorts), Fraction(1, mechanism.cohorts))
    assert law_of(unary().draw_cohort) == {0: 1}


@pytest.mark.parametrize("cohort", [-1, 16, None, "1", 1.0, True], ids=repr)
def test_what_is_no_cohort_is_refused(cohort: Any) -> None:
    mechanism = in_cohorts()
    with pytest.raises(sv.PrivacyError, match="cohort is invalid"):
        mechanism.answer_from(0, cohort=cohort)
    with pytest.raises(sv.PrivacyError, match="cohort is invalid"):
        mechanism.remember(0, cohort=cohort)
