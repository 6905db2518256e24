"""Studies that are repeated: the table [repeat] of a study file, and what a repeated study cannot have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.study.question_tables import Notes

if TYPE_CHECKING:
    from sottovoce.study.plan import Plan

EVERY = {"day": 1, "week": 7, "4 weeks": 28}
GUARANTEES = ("report", "window", "sequence")
KEYS = ("every", "waves", "guarantee", "window")
WINDOWED = ("window",)  # what epsilon may protect that needs the length of a window
CHOOSE = (
    'Choose what epsilon protects: guarantee = "report" (each report by itself, everyone answers every wave), "window"'
    ' (all reports within a window of waves), or "sequence" (all reports of a person).'
)


def repeat_problems(
    unit: str,
    start: date | None,
    end: date | None,
    lifetime: Any,
    collection: Collection | None,
    *,
    has_parts: bool,
) -> Iterator[str]:
    """What a repeated study cannot have, one sentence each."""
    if unit == "event":
        yield "A repeated study protects persons or devices. Events are reported as they happen, without [repeat]."
    if start is None:
        yield "A repeated study needs the first day of its first wave: write start = 2027-03-01 under [study]."
    if end is not None:
        yield "A repeated study ends with its last wave: remove the end."
    if lifetime is not None:
        yield "The lifetime budget of a repeated study is computed from its waves: remove the lifetime."
    if collection is not None and collection.epoch_days != 1:
        yield "The epochs of a repeated study are its waves: remove epoch_days."
    if has_parts:
        yield "A repeated study has no strata, no experiment and no question in rounds: remove [repeat] or these."


def invitation_problem(repeat: Repeat, collection: Collection | None) -> str | None:
    """Why a repeated study cannot have invitations: its second report would be refused, and charged all the same."""
    if collection is None or not collection.invitations or repeat.answers == 1:
        return None
    return (
        f"An invitation is good for one report, and a person sends up to {repeat.answers} to this study. Remove"
        ' invitations, or write guarantee = "sequence": then everyone answers once.'
    )


def in_one_round(plan: Plan) -> Plan:
    """The plan without methods of several rounds: a wave is one round."""
    options = [one for one in plan.options if isinstance(one.procedure, Mechanism) or not one.procedure.start().quota]
    if not options:
        raise ParameterError(f"{plan.subject} is asked in several rounds, which a repeated study cannot do.")
    return replace(plan, options=tuple(options))


def repeat_plan_text(repeat: Repeat, epsilon: Decimal, participants: int, unit: str) -> str:
    """What a repeated study asks of a person, for its plan."""
    most, total = plural(repeat.answers, "report"), decimal_text(repeat.lifetime(epsilon))
    each = plural(participants // repeat.window, "participant", ",")
    return (
        f"Repeated: {repeat.waves} waves of {plural(repeat.days, 'day')}, about {each} in each; +- is that of one wave."
        f" A {unit} sends at most {most}, which lose epsilon {total} together."
    )


def read_repeat(table: object, notes: Notes) -> Repeat | None:
    """The table [repeat] of a study file; mistakes are noted."""
    if not isinstance(table, Mapping):
        notes.note(("repeat",), "The key repeat is not a table.", "Write [repeat] and its keys.")
        return None
    notes.unknown(("repeat",), table, KEYS, "key")
    every, guarantee = table.get("every"), table.get("guarantee")
    days = EVERY.get(every, 0) if isinstance(every, str) else every
    if not isinstance(days, int) or isinstance(days, bool) or days < 1:
        what = "The time between two waves is missing or unknown."
        notes.note(("repeat", "every"), what, 'Write every = "day", "week", "4 weeks", or a number of days.')
        return None
    if guarantee not in GUARANTEES:
        notes.note(("repeat", "guarantee"), "The guarantee is missing or unknown.", CHOOSE)
        return None
    if (guarantee in WINDOWED) != ("window" in table):
        what = 'A window belongs to the guarantee "window", and to no other.'
        notes.note(("repeat", "window"), what, "Write window = 4 with it: one answer in any 4 waves.")
        return None
    waves = table.get("waves")
    window = {"report": 1, "sequence": waves, "window": table.get("window")}[guarantee]
    try:
        repeat = Repeat(days, waves, window)  # type: ignore[arg-type]
    except SpecError as problem:
        notes.note(("repeat", "waves"), str(problem), "Write waves = 12, for example.")
        return None
    if repeat.guarantee != guarantee:
        notes.note(("repeat", "window"), "A window has at least 2 waves, and fewer than all.", CHOOSE)
        return None
    return repeat
