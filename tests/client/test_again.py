"""Studies that ask the same people again: in waves that a device draws, and in rounds whose losses add up."""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.core.errors import PrivacyError, SpecError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.round import Arm, Round
from sottovoce.testing.statistics import check_rate
from tests.client.collectors import URL, Scripted, facts

START = date(2027, 3, 1)
CUPS = sv.Integers(0, 5)
GRR = sv.mechanism("grr", CUPS, epsilon=1)


def repeated(waves: int = 12, window: int = 4, days: int = 7, **changes: Any) -> Manifest:
    repeat = Repeat(days, waves, window)
    about = {"lifetime": repeat.lifetime(Decimal(1)), "start": START.isoformat(), "end": repeat.end(START).isoformat()}
    asked = sv.Asked("cups", GRR.question)
    return Manifest(facts(repeat=repeat, **about | changes), (asked,), Round((Arm("cups", GRR),)))


class Days:
    """A device and its calendar."""

    def __init__(self, path: Path | None = None, **limits: Any) -> None:
        self.day = START
        self.device = Participant(path, tick=Untimed(), today=lambda: self.day, **limits)

    def answers(self, manifest: Manifest, waves: int) -> list[int]:
        """The waves in which the device answers, if it is asked on each day."""
        repeat, answered = manifest.facts.repeat, []
        assert repeat is not None
        for wave in range(waves):
            for day in range(repeat.days):
                self.day = repeat.begins(START, wave) + timedelta(day)
                try:
                    self.device.answer(manifest, {"cups": 3})
                except PrivacyError:
                    continue
                answered.append(wave)
        return answered


# --- waves ------------------------------------------------------------------------------------------------------------
def test_a_refusal_keeps_the_turn() -> None:
    """Devices that try in every wave answer when they drew it, also after refusals that undid everything else."""
    manifest = repeated(window=12)
    for _ in range(20):
        days = Days()
        turns = days.device.study_account(manifest).turns
        assert days.answers(manifest, 12) == list(turns)


@pytest.mark.parametrize("window", [1, 4, 5, 12])
def test_a_person_answers_once_in_any_window_of_waves(window: int, tmp_path: Path) -> None:
    manifest, days = repeated(window=window), Days(tmp_path / "device")
    answered = days.answers(manifest, 12)
    assert answered == list(range(answered[0], 12, window)) and answered[0] < window
    account = days.device.study_account(manifest)
    assert account.turns == tuple(answered) and account.window_limit == 1
    assert account.study_limit == -(-12 // window) == manifest.participations
    assert len(answered) - Decimal("1e-9") < account.study <= len(answered)
    assert account.window <= 1 and account.total == account.study and account.total_limit is None
    assert [entry.epoch for entry in sorted(days.device.reports(), key=lambda one: one.epoch)] == answered
    days.day += timedelta(1)
    with pytest.raises(PrivacyError, match="has ended"):
        days.device.answer(manifest, {"cups": 3})


def test_first_turns_are_uniform_and_nothing_but_the_public_number_decides_them() -> None:
    """Also of devices that join late: they draw one of the waves that are left."""
    repeat, study = Repeat(7, 12, 4), "ab" * 32
    for joined, choices in ((-2, 4), (0, 4), (5, 4), (10, 2), (11, 1)):
        drawn = Counter(repeat.turns(study, b"%016d" % place, joined)[0] for place in range(4000))
        begun = max(0, joined)
        assert sorted(drawn) == list(range(begun, begun + choices))
        for count in drawn.values() if choices > 1 else ():
            check_rate("a first turn", count, 4000, 1 / choices)
    assert repeat.turns(study, bytes(16), 12) == range(0) == repeat.turns(study, bytes(16), 99)
    assert {repeat.turns(other, bytes(16), 0)[0] for other in ("00" * 32, "11" * 32, "22" * 32, "33" * 32)} != {0}


def test_the_turn_is_drawn_before_anything_is_asked_and_stays(tmp_path: Path) -> None:
    """A new device, a restart or a withdrawal draws no other turn; a late look does not move it."""
    manifest, days = repeated(), Days(tmp_path / "device")
    turns = days.device.study_account(manifest).turns
    days.day = repeated().facts.repeat.begins(START, turns[0] + 1)  # type: ignore[union-attr]
    again = Days(tmp_path / "device")
    again.day = days.day
    assert again.device.study_account(manifest).turns == turns
    with pytest.raises(PrivacyError, match=f"its next turn in wave {turns[1] + 1} of 12"):
        again.device.check(manifest)
    again.day = manifest.facts.repeat.begins(START, turns[-1] + 1)  # type: ignore[union-attr]
    if turns[-1] < 11:
        with pytest.raises(PrivacyError, match="no later turn"):
            again.device.answer(manifest, {"cups": 3})


def test_a_report_of_a_wave_that_waits_stays_one_of_that_wave(tmp_path: Path) -> None:
    manifest = repeated(window=1)
    transport = Scripted(manifest=manifest)
    day = [START]
    device = Participant(tmp_path / "device", tick=Untimed(), today=lambda: day[0], transport=transport)
    device.answer(manifest, {"cups": 3}, url=URL.format(manifest.study[:16]), send=False)
    day[0] += timedelta(7)
    device.send()
    assert [batch.epoch for batch in transport.batches] == [0]


def test_the_limits_of_the_device_hold_over_waves(tmp_path: Path) -> None:
    days = Days(tmp_path / "device", lifetime_limit=2)
    assert len(days.answers(repeated(window=2, waves=6), 6)) == 2  # of three turns


def test_what_a_repeated_manifest_says() -> None:
    manifest = repeated()
    assert Manifest.from_spec(manifest.content) == manifest and manifest.largest_loss == 3
    said = (
        "The study has 12 waves of 7 days. The device draws its first wave beforehand, and answers again every 4 waves."
    )
    assert said in manifest.text() and "at most 3 reports: the lifetime budget is 3" in manifest.text()
    assert "answers once in each of them" in repeated(window=1).text()
    assert "in one of them, which it draws beforehand" in repeated(window=12).text()
    assert {Repeat(7, 12, window).guarantee for window in (1, 4, 12)} == {"report", "window", "sequence"}
    for wrong in ({"lifetime": Decimal(2)}, {"unit": "event"}, {"rounds": 2}, {"end": None}, {"start": None}):
        with pytest.raises(SpecError):
            repeated(**wrong)
    for numbers in ((0, 12, 4), (7, 1, 1), (7, 12, 13), (7, 12, 0), (7.0, 12, 4), (True, 12, 4)):
        with pytest.raises(SpecError):
            Repeat(*numbers)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="before the year 10000"):  # no calendar has its last day
        repeated(days=366, waves=10_000, lifetime=Decimal(2500))
    with pytest.raises(SpecError, match="one round without a quota"):
        manifest.next(manifest.stage)


def test_two_calls_at_once_answer_a_wave_once(tmp_path: Path) -> None:
    """Two windows of one browser, or a process beside another: one report and one charge for each wave."""
    manifest, path = repeated(window=1), tmp_path / "device"
    Days(path).device.study_account(manifest)
    refused: list[int] = []

    def answer(wave: int) -> None:
        days = Days(path)
        days.day = START + timedelta(7 * wave)
        try:
            days.device.answer(manifest, {"cups": 3})
        except PrivacyError:
            refused.append(wave)

    for wave in (0, 1):
        threads = [threading.Thread(target=answer, args=(wave,)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    device = Days(path).device
    assert sorted(entry.epoch for entry in device.reports()) == [0, 1] and sorted(refused) == [0] * 3 + [1] * 3
    assert Decimal("1.999") < device.account().total <= 2


@pytest.mark.parametrize("seed", range(5))
def test_a_clock_that_jumps_brings_no_two_reports_into_a_window(seed: int, tmp_path: Path) -> None:
    """Days in any order, also before the start and after the end, and a device that is away for months."""
    manifest, days = repeated(window=4), Days(tmp_path / "device")
    turns = days.device.study_account(manifest).turns
    order = random.Random(seed)
    for _ in range(60):
        days.day = START + timedelta(order.randrange(-30, 7 * 12 + 60))
        with suppress(PrivacyError):
            days.device.answer(manifest, {"cups": 3})
    answered = sorted(entry.epoch for entry in days.device.reports())
    assert set(answered) <= set(turns) and all(b - a >= 4 for a, b in pairwise(answered))
    account = days.device.study_account(manifest)
    assert account.turns == turns and account.study <= account.study_limit
    assert len(answered) - Decimal("1e-9") < account.study <= len(answered)


# --- rounds -----------------------------------------------------------------------------------------------------------
def in_rounds(rounds: int, lifetime: str, **changes: Any) -> Manifest:
    about = facts(rounds=rounds, lifetime=Decimal(lifetime), **changes)
    return Manifest(about, (sv.Asked("cups", GRR.question),), Round((Arm("cups", GRR),), quota=10))


def test_a_device_answers_each_round_once_and_adds_the_budgets_up(tmp_path: Path) -> None:
    manifest, device = in_rounds(3, "3"), Days(tmp_path / "device").device
    assert manifest.participations == 3 and manifest.largest_loss == 3
    for number in (1, 2, 3):
        assert manifest.number == number
        device.answer(manifest, {"cups": 1})
        with pytest.raises(PrivacyError, match="answered this round already"):
            device.answer(manifest, {"cups": 1})
        manifest = manifest.next(manifest.stage)
    with pytest.raises(PrivacyError, match="all the rounds that it answers"):
        device.answer(manifest, {"cups": 1})
    assert Decimal("2.999") < device.account().total <= 3


def test_a_device_refuses_the_round_that_exceeds_the_sum_or_its_own_limit(tmp_path: Path) -> None:
    """The sum of the study allows two of three rounds of epsilon 1; the device alone may allow only one."""
    for path, limits, answered, said in (
        ("study", {}, 2, "lifetime budget of this study"),
        ("device", {"lifetime_limit": 1}, 1, "allows in its lifetime"),
    ):
        manifest, device = in_rounds(3, "2.5"), Days(tmp_path / path, **limits).device
        for _ in range(answered):
            device.answer(manifest, {"cups": 1})
            manifest = manifest.next(manifest.stage)
        with pytest.raises(PrivacyError, match=said):
            device.answer(manifest, {"cups": 1})
        assert device.account().total <= Decimal(answered)


def test_rounds_that_were_answered_are_not_asked_again_later(tmp_path: Path) -> None:
    first, device = in_rounds(3, "3"), Days(tmp_path / "device").device
    second = first.next(first.stage)
    device.answer(second, {"cups": 1})
    with pytest.raises(PrivacyError, match="answered this round already"):
        device.answer(first, {"cups": 1})


def test_what_a_manifest_of_rounds_says() -> None:
    manifest = in_rounds(3, "3")
    assert Manifest.from_spec(manifest.content) == manifest
    assert "answers at most 3 rounds of this study, once each: the lifetime budget is 3" in manifest.text()
    for wrong in ({"rounds": 0}, {"rounds": True}, {"rounds": 2, "lifetime": Decimal(3)}, {"unit": "event"}):
        with pytest.raises(SpecError):
            replace(manifest.facts, **wrong)
