"""What a participant gives a device: the answer to the question that it drew, and the arm where they choose it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.exchange.codec import ID_BYTES
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.wire import TOKEN_BYTES


def chosen_arm(manifest: Manifest, arm: str | None) -> int | None:
    """The arm where participants choose it; None where coins do."""
    if not manifest.stage.chosen:
        if arm is not None:
            raise ParameterError("In this study the device draws the arm; it cannot be chosen.")
        return None
    names = [one.name for one in manifest.stage.arms]
    if arm not in names:
        raise ParameterError(
            f"In this study participants choose their budget: give the arm, one of {', '.join(names)}."
        )
    return names.index(arm)


def drawn_arm(database: Connection, manifest: Manifest) -> int:
    """The arm of the next report: drawn before anything is asked and kept, so that nobody picks a question."""
    row = database.execute("SELECT arm FROM drawn WHERE manifest = ?", (manifest.hash,)).fetchone()
    if row is not None:
        return int(row[0])
    arm = manifest.arm_of(os.urandom(ID_BYTES))
    database.execute("INSERT INTO drawn VALUES (?, ?)", (manifest.hash, arm))
    return arm


def forget_arm(database: Connection, manifest: Manifest) -> None:
    """The next report draws a question of its own."""
    database.execute("DELETE FROM drawn WHERE manifest = ?", (manifest.hash,))


def needed(manifest: Manifest, arm: int) -> tuple[str, ...]:
    """The names under which answers are needed: that of the arm's question, or all where the study asks all."""
    arms = range(len(manifest.stage.arms)) if manifest.facts.collection.ask_all else (arm,)
    return tuple(dict.fromkeys(manifest.asked(place).key for place in arms))


def values_of(manifest: Manifest, answers: Mapping[str, object]) -> list[Any]:
    """The answers that were given, by arm, checked before a coin is drawn; None for a question without an answer."""
    if not isinstance(answers, Mapping):
        raise ParameterError("The answers are a mapping from the names of questions to values.")
    values: list[Any] = []
    for place, arm in enumerate(manifest.stage.arms):
        asked = manifest.asked(place)
        value = None
        if asked.key in answers:
            try:
                value = asked.answer(answers[asked.key])
                if _lacking(manifest, place, value):  # another table: the answers that are there must be possible
                    record: Any = asked.full_question.domain
                    record.held_codes(value, ())
                else:
                    arm.mechanism.domain.encode(value)
            except DomainError as problem:
                raise _with_reasons(problem, asked) from None
        values.append(value)
    return values


def check_needed(manifest: Manifest, arm: int, answers: Mapping[str, object], value: object) -> None:
    """Refuse answers without one that is needed; `value`, that of the arm, has the attributes of its table."""
    for key in needed(manifest, arm):
        if answers.get(key) is None:
            raise ParameterError(f"The question {key!r} needs an answer: this device drew it.")
    lacking = _lacking(manifest, arm, value)
    if lacking:
        key = manifest.asked(arm).key
        raise ParameterError(f"The question {key!r} needs answers to {' and '.join(lacking)}: this device drew them.")


def needed_attributes(manifest: Manifest, arm: int) -> tuple[str, ...]:
    """The attributes that an arm reports of a table; empty for other questions."""
    domain: Any = manifest.stage.arms[arm].mechanism.domain
    return tuple(domain.names) if manifest.asked(arm).attributes else ()


def _lacking(manifest: Manifest, arm: int, value: object) -> list[str]:
    """The attributes of an arm that a record leaves out."""
    return [name for name in needed_attributes(manifest, arm) if isinstance(value, Mapping) and name not in value]


def check_token(manifest: Manifest, token: bytes) -> None:
    """Refuse a missing invitation, or one that the study does not need."""
    is_needed = manifest.facts.collection.invitations
    if not isinstance(token, bytes) or len(token) != (TOKEN_BYTES if is_needed else 0):
        raise ParameterError(
            f"This study needs an invitation token of {TOKEN_BYTES} bytes."
            if is_needed
            else "This study takes no invitation tokens."
        )


def _with_reasons(problem: DomainError, asked: Asked) -> DomainError:
    """The error for a wrong answer, which also names the reasons for giving none."""
    if not asked.missing:
        return problem
    reasons = ", ".join(f'"{reason}"' for reason in asked.missing)
    sentence = f"{problem.sentence} For no answer, give one of {reasons}."
    return DomainError(sentence, domain=problem.domain, must_be=problem.must_be, listed=problem.listed)
