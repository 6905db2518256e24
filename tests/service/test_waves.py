"""Repeated studies at a collector: waves open and close by the calendar, are counted apart, and survive a crash."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from sottovoce.cli.collector.fragile import WAVE
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.core.errors import PrivacyError
from sottovoce.core.exchange.wire import Batch
from sottovoce.estimate.series.series import Series
from sottovoce.service import audit_log, operations
from sottovoce.service.collector import Collector
from sottovoce.service.intake import IN_FUTURE, NOT_OPEN, STUDY_CLOSED, TOO_OLD
from sottovoce.service.pages.header import planned_reports
from sottovoce.service.pages.live import LiveParts
from sottovoce.service.results import tally_rows
from sottovoce.service.stores.base import CLOSED
from sottovoce.service.stores.sqlite import SQLiteStore
from sottovoce.study.export import write_waves
from sottovoce.study.reading import StudyFileError, check_study, parse_study
from sottovoce.study.study_plan import plan_study
from tests.patience import PATIENCE
from tests.service.studies import collecting, drawn, send, told

START = date(2027, 3, 1)
SOURCE = """
[study]
name = "mood"
owner = "A university"
contact = "privacy@example.org"
purpose = "To learn how people feel over a term."
unit = "person"
epsilon = "1"
start = 2027-03-01

[repeat]
every = "week"
waves = 4
guarantee = "window"
window = 2

[questions.mood]
ask = "frequency"
text = "How do you feel?"
categories = ["well", "so-so", "badly"]
"""


INVITED = "[collection]\ninvitations = true\n[repeat]"
REPEAT_LINES = ("[repeat]", "every", "waves", "guarantee", "window")


def changed(**lines: str) -> bytes:
    """The study file with other lines by key; an empty one is left out."""
    kept = [lines.get(line.partition(" =")[0], line) for line in SOURCE.splitlines()]
    return "\n".join(kept).encode()


def wave_batches(collector: Collector, name: str, wave: int, well: int, seed: int) -> list[Batch]:
    manifest = collector.study(name).manifest
    values = np.repeat([0, 1, 2], [well, 1000 - well, 1000])
    categories = manifest.stage.arms[0].mechanism.domain.values
    batches = drawn(manifest, [categories[one] for one in values], seed)
    return [Batch(one.manifest, wave, one.round, one.arm, one.ids, one.payloads) for one in batches]


def upkeep(collector: Collector) -> None:
    collector.writer.call(lambda: collector.writer._upkeep())


def day(wave: int, more: int = 0) -> date:
    return START + timedelta(7 * wave + more)


# --- study files ------------------------------------------------------------------------------------------------------
def test_a_study_file_says_how_often_and_what_epsilon_protects() -> None:
    study = check_study(SOURCE.encode())
    assert study.repeat is not None and (study.repeat.days, study.repeat.waves, study.repeat.window) == (7, 4, 2)
    assert study.end == date(2027, 3, 28) and study.lifetime == 2
    for guarantee, window in (('"report"', 1), ('"sequence"', 4)):
        repeat = check_study(changed(guarantee=f"guarantee = {guarantee}", window="")).repeat
        assert repeat is not None and repeat.window == window
    once = {
        "guarantee": 'guarantee = "sequence"',
        "window": "",
        "[repeat]": "[collection]\ninvitations = true\n[repeat]",
    }
    assert check_study(changed(**once)).collection.invitations  # everyone answers once, and a token suffices


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"guarantee": "", "window": ""}, "Choose what epsilon protects"),
        ({"guarantee": 'guarantee = "week"'}, "Choose what epsilon protects"),
        ({"window": ""}, "window = 4"),
        ({"window": "window = 4"}, "fewer than all"),
        ({"window": "window = 1"}, "fewer than all"),
        ({"waves": "waves = 1"}, "at least two waves"),
        ({"waves": 'waves = "4"'}, "whole number"),
        ({"every": 'every = "month"'}, "4 weeks"),
        ({"start": ""}, "first day of its first wave"),
        ({"start": "start = 2027-03-01\nend = 2027-04-01"}, "remove the end"),
        ({"unit": 'unit = "event"'}, "persons or devices"),
        ({"epsilon": 'epsilon = "1"\nlifetime = "2"'}, "remove the lifetime"),
        ({"[repeat]": "[collection]\nepoch_days = 7\n[repeat]"}, "remove epoch_days"),
        ({"waves": "waves = 4\nrounds = 3"}, "not known"),
        ({"[repeat]": INVITED}, "good for one report, and a person sends up to 2"),
    ],
)
def test_mistakes_of_the_table(lines: dict[str, str], said: str) -> None:
    study, mistakes = parse_study(changed(**lines))
    assert study is None and any(said in str(one) for one in mistakes), mistakes
    with pytest.raises(StudyFileError):
        check_study(changed(**lines))


def test_a_plan_is_made_for_one_wave_and_says_what_a_person_loses() -> None:
    """In a window of two waves each hears half of the people, so margins are those of half as many."""
    again, once = check_study(SOURCE.encode()), check_study(changed(**dict.fromkeys(REPEAT_LINES, "")))
    assert again.plan(4000).questions[0].half_width == once.plan(2000).questions[0].half_width
    said = again.plan(4000).text()
    assert "4,000 participants" in said and "about 2,000 participants in each" in said
    assert "at most 2 reports, which lose epsilon 2 together" in said
    goal = plan_study(again, goals=["mood +- 3 points"]).participants
    assert goal == 2 * plan_study(once, goals=["mood +- 3 points"]).participants


def test_a_wave_is_one_round() -> None:
    """A variance is planned in rounds elsewhere; a repeated study takes the best method of one round."""
    lines = {"ask": 'ask = "variance"', "categories": "low = 0\nhigh = 10"}
    plan = check_study(changed(**lines)).plan(20_000)
    assert plan.protocol.start().quota is None and plan.manifest().participations == 2


# --- the collector ----------------------------------------------------------------------------------------------------
def test_waves_are_counted_apart_opened_and_closed_by_the_calendar(tmp_path: Path) -> None:
    days = [START]
    with SQLiteStore(tmp_path / "store") as store, collecting(store, days=days) as collector:
        name = collector.create(SOURCE.encode(), 4000)
        running = collector.study(name)
        for wave in range(4):
            days.append(day(wave, 2))
            upkeep(collector)
            for batch in wave_batches(collector, name, wave, 500 - 100 * wave, seed=wave):
                assert told(send(collector, name, batch))[1:] == (0, [], None)
            assert running.row.epoch == wave
        # Late reports are counted in the wave that they name, for a day.
        days.append(day(3))
        late, later = wave_batches(collector, name, 2, 100, seed=50)[:2]
        assert send(collector, name, late).accepted == len(late)
        days.append(day(3, 1))
        assert {code for _, code in send(collector, name, later).failed} == {TOO_OLD}
        assert send(collector, name, late).duplicates == len(late)
        early = Batch(later.manifest, 4, 1, 0, later.ids, later.payloads)
        assert {code for _, code in send(collector, name, early).failed} == {IN_FUTURE}
        days.append(day(4))  # the last wave still waits for late reports
        upkeep(collector)
        assert running.row.state == "open"
        last = wave_batches(collector, name, 3, 100, seed=60)[0]
        assert send(collector, name, last).accepted == len(last)
        days.append(day(4, 1))
        upkeep(collector)
        assert running.row.state == CLOSED and send(collector, name, later).problem == STUDY_CLOSED
        with store.read() as work:
            acts = [one["act"] for one in audit_log.entries(work)]
            rows = tally_rows(work, work.study(running.number))
        assert acts == ["create", "wave", "wave", "wave", "close"]
        assert [(one.get("epoch", 0), one["reports"]) for one in rows] == [
            (0, 2000),
            (1, 2000),
            (2, 2000 + len(late)),
            (3, 2000 + len(last)),
        ]
        operations.verify(store)


def test_nothing_is_counted_before_the_first_wave(tmp_path: Path) -> None:
    days = [START - timedelta(1)]
    with SQLiteStore(tmp_path / "store") as store, collecting(store, days=days) as collector:
        name = collector.create(SOURCE.encode(), 4000)
        upkeep(collector)
        batch = wave_batches(collector, name, 0, 500, seed=1)[0]
        assert send(collector, name, batch).problem == NOT_OPEN
        assert collector.study(name).row.epoch == 0 and collector.study(name).row.state == "open"


@pytest.mark.parametrize("noticed", [False, True])
def test_a_crash_over_a_change_of_waves_loses_and_doubles_nothing(tmp_path: Path, noticed: bool) -> None:
    """The collector dies before or after it opened the wave; devices send again what was not answered."""
    days = [day(0)]
    path = tmp_path / "store"
    with SQLiteStore(path) as store, collecting(store, days=days) as collector:
        name = collector.create(SOURCE.encode(), 4000)
        first = wave_batches(collector, name, 0, 500, seed=1)
        second = wave_batches(collector, name, 1, 300, seed=2)
        for batch in first:
            send(collector, name, batch)
        days.append(day(1))
        if noticed:
            upkeep(collector)
        send(collector, name, second[0])
    with SQLiteStore(path) as store, collecting(store, days=days) as collector:
        found = [told(send(collector, name, one)) for one in (*first, *second)]
        assert sum(one[0] for one in found) == sum(map(len, second[1:]))
        assert sum(one[1] for one in found) == sum(map(len, first)) + len(second[0])
        upkeep(collector)
        assert collector.study(name).row.epoch == 1
        waves = collector.outcome(name).waves
        assert [(wave.number, wave.results.reports) for wave in waves] == [(1, 2000), (2, 2000)]
        operations.verify(store)


# --- results ----------------------------------------------------------------------------------------------------------
def test_results_over_time_on_the_dashboard_in_json_and_in_files(tmp_path: Path) -> None:
    days = [START]
    with SQLiteStore(tmp_path / "store") as store, collecting(store, days=days) as collector:
        name = collector.create(SOURCE.encode(), 8000)
        assert "Changes appear here" not in LiveParts().of(collector, name).text
        for wave, well in enumerate((200, 500, 800)):
            days.append(day(wave, 2))
            for batch in wave_batches(collector, name, wave, well, seed=wave):
                send(collector, name, batch)
            if not wave:
                assert "Changes appear here" in LiveParts().of(collector, name).text
        outcome = collector.outcome(name)
        (series,) = outcome.series
        assert series.series.people == "same" and series.series.epochs == (1, 2, 3)
        direct = [wave.results.questions[0].estimates["mood"].values for wave in outcome.waves]
        assert np.allclose(series.series.values, direct)
        assert series.change.values[0] == pytest.approx(direct[2][0] - direct[1][0])
        low, high = series.trend.ci()
        assert low[0] < 0.15 < high[0]  # the shares are 10, 25 and 40 %
        plain = json.loads(outcome.to_json())
        assert {row["wave"] for row in plain["rows"]} == {1, 2, 3}
        assert plain["rows"][0]["begins"] == "2027-03-01"
        page = LiveParts().of(collector, name).text
        for said in ("Over time", "From wave 2 to wave 3", "wave 3, which began on 15 March 2027"):
            assert said in page
        write_waves(outcome.waves, outcome.series, tmp_path, 0.95)
        waves = list(csv.DictReader((tmp_path / "waves.csv").open(encoding="utf-8")))
        assert [row["wave"] for row in waves if row["label"] == "well"] == ["1", "2", "3"]
        changes = list(csv.DictReader((tmp_path / "changes.csv").open(encoding="utf-8")))
        between = {f"change from wave {wave} to wave {wave + 1}" for wave in (1, 2)}
        assert {row["what"] for row in changes} == {"trend"} | between
        assert {row["few_reports"] for row in changes} == {"False"} and "may be too narrow" not in page
        for batch in wave_batches(collector, name, 3, 200, seed=3):
            days.append(day(3, 2))
            send(collector, name, Batch(batch.manifest, 3, 1, batch.arm, batch.ids[: 16 * 40], batch.payloads[:40]))
            break
        assert "may be too narrow" in LiveParts().of(collector, name).text  # 40 reports in the last wave


def test_a_plan_of_people_is_one_of_several_reports_each(tmp_path: Path) -> None:
    with collecting(SQLiteStore(tmp_path / "store"), days=[START]) as collector:
        name = collector.create(SOURCE.encode(), 500)
        manifest = collector.study(name).manifest
        assert planned_reports(manifest, 500) == 500 * 2  # four waves, one answer in any two of them


def test_groups_with_too_few_reports_are_named_so_and_not_drawn(tmp_path: Path) -> None:
    """A mean by group that is not known was drawn as NaN, and said to have changed by nan."""
    lines = {"ask": 'ask = "mean"', "categories": 'by = ["a", "b", "c"]\nlow = 0\nhigh = 10'}
    days = [START]
    with SQLiteStore(tmp_path / "store") as store, collecting(store, days=days) as collector:
        name = collector.create(changed(**lines), 4000)
        for wave, people in enumerate((1500, 20, 1500, 4)):
            days.append(day(wave, 2))
            answers = [("ab"[place % 2], 3.0) for place in range(people)]
            for one in drawn(collector.study(name).manifest, answers, wave):
                send(collector, name, Batch(one.manifest, wave, one.round, one.arm, one.ids, one.payloads))
            if wave:
                page = LiveParts().of(collector, name).text
                assert not re.search(r"\bnan\b", page)
                assert "left out" in page and ("too few reports" in page) == (wave > 1)
        (series,) = outcome_series(collector, name)
        alone = series.contrast([-1, 0, 1, 0], "change from wave 1 to wave 3")
        assert np.isfinite(alone.values[:2]).all() and not np.isfinite(series.trend().values).any()


def outcome_series(collector: Collector, name: str) -> list[Series]:
    return [one.series for one in collector.outcome(name).series]


def test_devices_and_collector_agree_on_waves_and_turns(tmp_path: Path) -> None:
    """Every device answers twice in four waves of windows of two, and is counted in the wave of its answer."""
    days, answered = [START], [0, 0, 0, 0]
    with SQLiteStore(tmp_path / "store") as store, collecting(store, days=days) as collector:
        name = collector.create(SOURCE.encode(), 4000)
        manifest = collector.study(name).manifest
        people = [Participant(None, tick=Untimed(), today=lambda: days[-1]) for _ in range(30)]
        for wave in range(4):
            days.append(day(wave, 6))
            upkeep(collector)
            for person in people:
                try:
                    person.answer(manifest, {"mood": "well"})
                except PrivacyError:
                    continue
                (entry,) = [one for one in person.reports() if one.epoch == wave]
                assert send(collector, name, entry.batch).accepted == 1
                answered[wave] += 1
        assert sum(answered) == 60 and answered[0] + answered[1] == 30 and min(answered) > 0
        assert [wave.results.reports for wave in collector.outcome(name).waves] == answered


# --- killed ----------------------------------------------------------------------------------------------------------
KILLED = """
import sys, time
from pathlib import Path
from sottovoce.cli.collector import fragile
from sottovoce.service.stores.sqlite import SQLiteStore
from tests.service.studies import collecting, send
from tests.service.test_waves import START, changed, wave_batches

fragile.BEFORE_WAVE = 2
fragile.die_in_wave(sys.argv[2])
with SQLiteStore(Path(sys.argv[1])) as store, collecting(store, days=[START]) as collector:
    name = collector.create(changed(every='every = "day"'), 4000)
    for batch in wave_batches(collector, name, 0, 500, seed=1):
        send(collector, name, batch)
    time.sleep(120)  # the change of wave comes, and with it the end
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", WAVE)
def test_a_collector_that_is_killed_in_a_change_of_wave_goes_on(tmp_path: Path, point: str) -> None:
    """SIGKILL before each statement, and before the commit: what was acknowledged is counted once, in its wave."""
    path = tmp_path / "store"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), point], timeout=PATIENCE, check=False)
    assert ended.returncode == -signal.SIGKILL
    days = [START + timedelta(1)]
    with SQLiteStore(path) as store, collecting(store, days=days) as collector:
        (name,) = collector.studies
        again = [told(send(collector, name, one)) for one in wave_batches(collector, name, 0, 500, seed=1)]
        assert sum(one[0] for one in again) + sum(one[1] for one in again) == 2000 and sum(one[1] for one in again)
        for batch in wave_batches(collector, name, 1, 300, seed=2):
            assert told(send(collector, name, batch))[1:] == (0, [], None)
        upkeep(collector)
        assert collector.study(name).row.epoch == 1
        assert [(wave.number, wave.results.reports) for wave in collector.outcome(name).waves] == [(1, 2000), (2, 2000)]
        operations.verify(store)
