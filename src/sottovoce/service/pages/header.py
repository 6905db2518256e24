"""The header card of a dashboard: how far the study is, how long it goes on, and how private answers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.service.stores.base import CLOSED, DONE, DRAFT, OPEN, StudyRow
from sottovoce.study.display.dates import day_text, period_text
from sottovoce.study.display.privacy_numbers import coin_sentence, guess_sentence, strength

SHOWN_EPOCHS = 30
TALL = 44  # pixels of the tallest bar
PERIODS = {1: "day", 7: "week"}
STATES = {
    DRAFT: ("Planned", "hollow"),
    OPEN: ("Collecting", "live"),
    CLOSED: ("Closed", "plain"),
    DONE: ("Complete", "plain"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the reports per day: position and size in per cent and pixels."""

    x: float
    y: float
    height: float
    is_today: bool


@dataclass(frozen=True, slots=True)
class Header:
    """Texts of the header card. Sentences without a number to say are empty.

    Attributes:
        part: collected of planned, in per cent; None without a plan.
        time: "16 days"; `until`: "until 30 June 2027".
        bars: reports per epoch, the last `SHOWN_EPOCHS`.
        privacy: epsilon in a word, such as "Moderate".
        promise: what chance decides at least, or how often a guess is wrong.
        dates: when the study collects.
    """

    state: str
    state_class: str
    needs_attention: bool
    reports: int
    planned: int
    part: float | None
    pace: str
    time: str
    until: str
    time_part: float | None
    elapsed: str
    period: str
    bars: tuple[Bar, ...]
    rate: str
    privacy: str
    epsilon: str
    promise: str
    dates: str


def planned_reports(manifest: Manifest, participants: int) -> int:
    """Reports that this many participants send, who answer a repeated study several times."""
    repeat = manifest.facts.repeat
    return participants * (1 if repeat is None else repeat.answers)


def header_of(
    row: StudyRow, manifest: Manifest, people: int, arrivals: Mapping[int, int], today: date, *, alarmed: bool = False
) -> Header:
    """The header card of a study on a day; `people` are planned."""
    facts, planned = manifest.facts, planned_reports(manifest, people)
    state, look = STATES.get(row.state, (row.state, "plain"))
    bounds = [None if one is None else date.fromisoformat(one) for one in (facts.start, facts.end)]
    time, until, time_part, elapsed = _time(bounds[0], bounds[1], today, is_open=row.state == OPEN)
    days = facts.collection.epoch_days if facts.repeat is None else facts.repeat.days
    now = facts.epoch(today)
    pace = _pace(row.reports, arrivals, bounds[1], today, now, days) if row.state == OPEN else ""
    return Header(
        "Needs attention" if alarmed else state,
        "bad" if alarmed else look,
        alarmed,
        row.reports,
        planned,
        min(100.0, 100 * row.reports / planned) if planned else None,
        pace,
        *(time, until, time_part, elapsed),
        PERIODS.get(days, f"{days} days"),
        _bars(arrivals, now),
        _rate(arrivals, now, PERIODS.get(days, f"{days} days")),
        strength(manifest),
        decimal_text(facts.epsilon),
        coin_sentence(manifest) or guess_sentence(manifest),
        period_text(facts),
    )


def _time(start: date | None, end: date | None, today: date, *, is_open: bool) -> tuple[str, str, float | None, str]:
    if start is not None and today < start:
        return plural((start - today).days, "day"), f"until it starts on {day_text(start)}", 0.0, "Not begun"
    if end is None:
        return ("Open" if is_open else "Ended"), ("no end date is set" if is_open else ""), None, ""
    left = (end - today).days + 1
    if left <= 0 or not is_open:
        return "Ended", f"on {day_text(end)}" if left <= 0 else "", 100.0, ""
    total = None if start is None else (end - start).days + 1
    passed = None if total is None else total - left + 1
    part = None if total is None or passed is None else 100 * (passed - 1) / total
    return plural(left, "day"), f"until {day_text(end)}", part, "" if total is None else f"Day {passed} of {total}"


def _bars(arrivals: Mapping[int, int], now: int) -> tuple[Bar, ...]:
    first = max(now - SHOWN_EPOCHS + 1, min([*arrivals, now]))
    counts = [arrivals.get(epoch, 0) for epoch in range(first, now + 1)]
    most, step = max([*counts, 1]), 100 / len(counts)
    return tuple(
        Bar(place * step, TALL - height, height, place == len(counts) - 1)
        for place, count in enumerate(counts)
        for height in [max(1.0, TALL * count / most) if count else 0.0]
    )


def _rate(arrivals: Mapping[int, int], now: int, period: str) -> str:
    full = [arrivals.get(epoch, 0) for epoch in range(max(now - SHOWN_EPOCHS, min([*arrivals, now])), now)]
    current = arrivals.get(now, 0)
    word = "today" if period == "day" else f"in this {period}"
    if not full:
        return f"{current:,} {word}"
    return f"{round(sum(full) / len(full)):,} a {period} on average, {current:,} {word}"


def _pace(reports: int, arrivals: Mapping[int, int], end: date | None, today: date, now: int, days: int) -> str:
    """How many reports there will be at the end, if they come as in the last epochs."""
    recent = [epoch for epoch in range(now - SHOWN_EPOCHS, now) if epoch >= min([*arrivals, now])]
    if end is None or not recent:
        return ""
    left = max(0, (end - today) // timedelta(days=1))
    expected = reports + sum(arrivals.get(epoch, 0) for epoch in recent) / (len(recent) * days) * left
    digits = 10 ** max(0, len(str(round(expected))) - 2)
    return f"About {round(expected / digits) * digits:,} by the end at this pace"
