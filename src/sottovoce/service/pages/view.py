"""What the pages show, as plain data for the templates: questions, charts, privacy facts, the plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sottovoce.client.typed import root
from sottovoce.core.asked import Asked
from sottovoce.core.domain import Categories, Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Cdf, Distribution, Frequency, GroupMean, Mean
from sottovoce.estimate.estimate import Estimate
from sottovoce.service.pages import charts
from sottovoce.service.pages.charts import Point
from sottovoce.service.pages.comparisons import has_groups
from sottovoce.service.results import StudyOutcome
from sottovoce.service.signs import FAKES, manipulations
from sottovoce.study.reading import parse_study
from sottovoce.study.results import QuestionResult, ResultLine
from sottovoce.study.whole import StudyPlan, plan_study

MOST_LINES = 200  # of a table on a page; the export has all
SHARES = ("share", Cdf.noun)


@dataclass(frozen=True, slots=True)
class Card:
    """A question of the dashboard."""

    asked: Asked
    n: int
    lines: tuple[ResultLine, ...]
    chart: str
    hidden: int
    widest: float
    fakes: str
    has_groups: bool


def cards(found: StudyOutcome) -> list[Card]:
    """One for each question that has estimates."""
    return [_card(one, found) for one in found.results.questions]


def _card(result: QuestionResult, found: StudyOutcome) -> Card:
    lines = tuple(result.lines(found.results.level))
    estimates = [one for one in result.estimates.values() if isinstance(one, Estimate)]
    widths = [(one.high - one.low) / 2 for one in lines if math.isfinite(one.high - one.low)]
    return Card(
        result.asked,
        max((one.n for one in estimates), default=0),
        lines[:MOST_LINES],
        chart_of(result.asked, lines),
        max(0, len(lines) - MOST_LINES),
        max(widths, default=math.nan),
        next((one.text() for one in manipulations(result, FAKES, found.row.reports).values()), ""),
        has_groups(result),
    )


def chart_of(asked: Asked, lines: tuple[ResultLine, ...]) -> str:
    """A curve where there is one, else dots with intervals."""
    title = f"Estimates of {asked.name} with intervals"
    cumulative = [one for one in lines if one.measure == Cdf.noun]
    if len(cumulative) > 2:
        with suppress(ValueError):  # labels that are no numbers
            places = [float(one.label) for one in cumulative]
            return charts.curve(title, places, [_point(one) for one in cumulative], unit=asked.unit)
    measures = list(dict.fromkeys(one.measure for one in lines))
    shown = [one for one in lines if one.measure == measures[0]] if measures else []
    share = bool(measures) and measures[0] in SHARES
    return charts.intervals(title, [_point(one) for one in shown], share=share, unit="" if share else asked.unit)


def error_of(error: float, asked: Asked) -> str:
    """A +- with its unit: that of the answers for a mean, percentage points for shares."""
    if isinstance(asked.question, (Mean, GroupMean)):
        return f"{error:.3g} {asked.unit}".strip()
    return f"{100 * error:.3g} points" if isinstance(asked.question, (Frequency, Distribution)) else f"{error:.3g}"


def said_of(line: ResultLine, asked: Asked) -> str:
    """What a line of numbers is about, with the unit of its number or of its place."""
    text = f"{line.measure} {line.label}".strip()
    if not asked.unit:
        return text
    if line.measure not in SHARES:
        return f"{text}, {asked.unit}"
    return f"{text} {asked.unit}" if isinstance(asked.question, Distribution) else text


def _point(line: ResultLine) -> Point:
    return Point(line.label or line.measure, line.value, line.low, line.high)


# --- the plan -----------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def planned(source: bytes, participants: int, epsilon: str = "") -> StudyPlan:
    """The plan of a study file for so many participants, with its own epsilon or another."""
    study, _ = parse_study(source)
    if study is None:
        raise ParameterError("The study file cannot be read.")
    if epsilon:
        given = Decimal(epsilon)
        study = replace(study, epsilon=given, lifetime=max(given, study.lifetime or given))
    return plan_study(study, participants)


# --- the participant's form -----------------------------------------------------------------------------
def fields(manifest: Manifest, language: str) -> Iterator[dict[str, Any]]:
    """What the form asks, one entry for each question."""
    names = {manifest.asked(place).name for place in range(len(manifest.stage.arms))}
    for asked in manifest.questions:
        if asked.name in names:
            yield {
                "name": asked.name,
                "text": asked.text(language),
                "unit": asked.unit,
                "missing": [(one, asked.label(one, language)) for one in asked.missing],
                **_field(asked, language),
            }


def _field(asked: Asked, language: str) -> dict[str, Any]:
    question = asked.question
    if isinstance(question, GroupMean):
        groups = [(str(one), asked.label(one, language)) for one in question.by.labels()]
        return {"kind": "pair", "choices": groups, **_number(root(question.value))}
    domain = root(question.domain)
    if isinstance(domain, Categories):
        return {"kind": "choice", "choices": [(str(one), asked.label(one, language)) for one in domain.values]}
    return {"kind": "number", **_number(domain)} if hasattr(domain, "low") else {"kind": "text"}


def _number(domain: Any) -> dict[str, Any]:
    low, high = (_plain(getattr(domain, end, "")) for end in ("low", "high"))
    step = getattr(domain, "step", None)
    usual = "1" if isinstance(domain, Integers) else "any"
    return {"low": low, "high": high, "step": usual if step is None else _plain(step)}


def _plain(end: Any) -> str:
    return (
        decimal_text(Decimal(str(float(end))))
        if isinstance(end, (float, int, Decimal)) or hasattr(end, "numerator")
        else str(end)
    )
