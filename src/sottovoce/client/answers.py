"""What a participant gives a device: an answer to each question of a round, and the arm where they choose it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest


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


def values_of(manifest: Manifest, answers: Mapping[str, object]) -> list[Any]:
    """The answer to each arm's question, checked for all of them before a coin is drawn."""
    if not isinstance(answers, Mapping):
        raise ParameterError("The answers are a mapping from the names of questions to values.")
    values = []
    for place, arm in enumerate(manifest.stage.arms):
        asked = manifest.asked(place)
        if asked.key not in answers:
            raise ParameterError(
                f"The question {asked.key!r} needs an answer: the device draws which question is asked, so it needs"
                " all answers."
            )
        value = asked.answer(answers[asked.key])
        arm.mechanism.domain.encode(value)
        values.append(value)
    return values
