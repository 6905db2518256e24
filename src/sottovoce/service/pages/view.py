"""View data of the pages for the templates: questions, charts, privacy facts, plans."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.params import decimal_text
from sottovoce.service.results import StudyOutcome
from sottovoce.study.display.card import Card
from sottovoce.study.display.experiment import study_cards
from sottovoce.study.questions import study_question


def cards(outcome: StudyOutcome) -> list[Card]:
    """A card for each question with estimates."""
    return study_cards(outcome.results, outcome.row.reports)


# --- the participant's questions --------------------------------------------------------------------------
MOST_CELLS = 11  # of a scale in one row
MOST_SHORT = 12  # answers of a list without a search
MOST_STEPS = 101  # of a slider


def screens(manifest: Manifest, language: str) -> Iterator[dict[str, Any]]:
    """The screens of the participant's form, one for each answer; two where a group is asked before the answer."""
    names = {manifest.asked(place).key for place in range(len(manifest.stage.arms))}
    for asked in manifest.questions:
        if asked.name not in names:
            continue
        field = study_question(asked).field(language)
        common = {
            "question": asked.name,
            "attribute": "",
            "text": asked.text(language),
            "unit": asked.unit_in(language),
            "missing": [(one, asked.label(one, language)) for one in asked.missing],
        }
        if field["kind"] == "pair":
            yield {**common, "part": "group", "group_text": field["group_text"], **_listed(field["choices"])}
        parts = field["fields"].items() if field["kind"] == "record" else [("", field)]
        for attribute, part in parts:
            text = {"text": part["text"], "attribute": attribute} if attribute else {}
            yield {**common, "part": "", **_screen(asked, part, language), **text}


def _screen(asked: Asked, field: dict[str, Any], language: str) -> dict[str, Any]:
    """What a participant answers: a list, a number or a text."""
    if field["kind"] == "several":
        return {**_listed(field["choices"]), "kind": "several", "most": field["most"], "count": len(field["choices"])}
    if field["kind"] == "rank":
        return field
    if field["kind"] == "rated":
        number = _number(asked, field, language)
        return {**number, "kind": "rated", "cells": number.get("cells", ()), "count": len(field["choices"])}
    if field["kind"] == "choice" or "value_choices" in field:
        return _listed(field.get("value_choices", field["choices"]))
    return field if field["kind"] == "text" else _number(asked, field, language)


def _listed(choices: list[tuple[str, str]]) -> dict[str, Any]:
    """A list of answers; a long one by its letters, where every answer begins with a letter."""
    if len(choices) <= MOST_SHORT:
        return {"kind": "choice", "choices": choices}
    if not all(label[:1].isalpha() for _, label in choices):
        return {"kind": "list", "letters": [("", choices)]}
    ordered = sorted(choices, key=lambda choice: _letters(choice[1]))
    by_letter = groupby(ordered, key=lambda choice: _letters(choice[1])[:1].upper())
    return {"kind": "list", "letters": [(letter, list(some)) for letter, some in by_letter]}


def _letters(label: str) -> str:
    """A label without accents and capitals: what a list is ordered and searched by."""
    plain = unicodedata.normalize("NFD", label.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _number(asked: Asked, field: dict[str, Any], language: str) -> dict[str, Any]:
    """A number: a row of cells where it has few steps, else a field, with a slider where it has some."""
    low, high = Decimal(field["low"]), Decimal(field["high"])
    number = {**field, "kind": "number", "slides": False, "large": max(abs(low), abs(high)) >= 1000}
    if not field["step"] or asked.question.domain.circular:
        return number
    step = Decimal(field["step"])
    count = int((high - low) / step) + 1
    if not 2 <= count <= MOST_CELLS:
        return {**number, "slides": count <= MOST_STEPS}
    cells = [decimal_text(low + place * step) for place in range(count)]
    named = [(cell, asked.label(cell, language)) for cell in cells]
    if all(label != cell for cell, label in named):
        return {"kind": "choice", "choices": named}
    ends = [label if label != cell else "" for cell, label in (named[0], named[-1])]
    return {**field, "kind": "scale", "cells": cells, "ends": ends}
