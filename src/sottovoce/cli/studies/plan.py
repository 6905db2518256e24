"""`sottovoce plan`: which method, how many participants, which epsilon, for one question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sottovoce.cli.domains import Allowed, ReadFrom, question_of
from sottovoce.cli.show import table
from sottovoce.core.late import load
from sottovoce.core.params import decimal_text
from sottovoce.files.opening import FileProblem, check_free, writing
from sottovoce.study.plan import Plan
from sottovoce.study.plan import plan as make_plan

PICTURES = {".svg": "svg", ".png": "png"}
PICTURE = "The picture"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Two of epsilon, participants and an error, and how the error is meant."""

    epsilon: str | None = None
    participants: int | None = None
    std_error: str | None = None
    half_width: str | None = None
    level: float = 0.95
    target: str = "population"


def plan(
    question: str,
    allowed: Allowed,
    read_from: tuple[str | None, ...],
    wanted: Wanted,
    *,
    picture: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print the plan as a table and a sentence, or as JSON, and draw it if asked to."""
    form = None if picture is None else picture_form(picture, force)
    chosen = make_plan(
        question_of(question, allowed, ReadFrom(*read_from)),
        epsilon=wanted.epsilon,
        participants=wanted.participants,
        std_error=wanted.std_error,
        half_width=wanted.half_width,
        level=wanted.level,
        target=wanted.target,
    )
    if picture is not None:
        draw = load("cli.studies.picture:draw")  # which needs the extra of plots
        with writing(picture, force=force, name=PICTURE) as file:
            draw(chosen, wanted.target, file, form)
    if as_json:
        print(json.dumps(_plain(chosen)))
    else:
        _show(chosen)


def picture_form(path: str, force: bool) -> str:
    """The format of the picture, after all checks that need no plan."""
    form = PICTURES.get(Path(path).suffix.lower())
    if form is None:
        raise FileProblem(f"{PICTURE} must have a name that ends with {' or '.join(PICTURES)}.")
    check_free(path, force, name=PICTURE)
    return form


def _show(plan: Plan) -> None:
    rows = [
        (
            option.method,
            option.reason,
            str(option.bytes_per_report),
            f"{option.std_error:.4g}",
            f"{option.half_width(plan.level):.4g}",
        )
        for option in plan.options
    ]
    table(("method", "why", "bytes", "std error", f"{100 * plan.level:g} % half-width"), rows, numbers=3)
    print(plan.advice)


def _plain(plan: Plan) -> dict[str, Any]:
    goal = plan.goal
    return {
        "question": plan.question.kind,
        "subject": plan.subject,
        "solved_for": plan.solved_for,
        "epsilon": decimal_text(plan.epsilon),
        "participants": plan.participants,
        "goal": None if goal is None else {"size": float(goal.size), "level": goal.level},
        "level": plan.level,
        "measure": plan.measure,
        "advice": plan.advice,
        "options": [
            {
                "method": option.method,
                "decoder": option.decoder,
                "std_error": option.std_error,
                "half_width": option.half_width(plan.level),
                "bytes": option.bytes_per_report,
                "reason": option.reason,
            }
            for option in plan.options
        ],
        "expected": [
            {"label": one.label, "std_error": one.std_error, "needed": one.needed} for one in plan.best.expected
        ],
    }
