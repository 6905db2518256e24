"""What the pages show, as plain data for the templates: questions, charts, privacy facts, the plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Categories, Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Cdf, Distribution, Frequency, GroupMean
from sottovoce.estimate.distribution.band import quiet_band
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.service.pages import charts
from sottovoce.service.pages.charts import Point
from sottovoce.service.pages.comparisons import has_groups
from sottovoce.service.results import StudyOutcome
from sottovoce.service.signs import FAKES, manipulations
from sottovoce.study.reading import parse_study
from sottovoce.study.results import QuestionResult, ResultLine
from sottovoce.study.whole import StudyPlan, plan_study

MOST_LINES = 1000  # of a table on a page; the export has all
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
        chart_of(result, found.results.level),
        max(0, len(lines) - MOST_LINES),
        max(widths, default=math.nan),
        next((one.text() for one in manipulations(result, FAKES, found.row.reports).values()), ""),
        has_groups(result),
    )


def chart_of(result: QuestionResult, level: float) -> str:
    """A curve in its band for a distribution of numbers, else dots with intervals."""
    asked = result.asked
    for estimate in result.estimates.values():
        if isinstance(asked.question, Distribution) and isinstance(estimate, Estimate) and _is_curve(estimate):
            return _curve(asked, estimate, level)
    lines = list(result.lines(level))
    first = lines[0].measure if lines else ""
    points = [_point(one) for one in lines if one.measure == first]
    domain = asked.question.by if isinstance(asked.question, GroupMean) else asked.question.domain
    in_order = not isinstance(asked.question, (Frequency, GroupMean)) or not isinstance(domain, Categories)
    shown, note = charts.largest(points, always=asked.missing, in_order=in_order)
    title, share = f"Estimates of {asked.name} with intervals", first in SHARES
    return charts.intervals(title, shown, share=share, unit="" if share else asked.unit, note=note)


def _is_curve(estimate: Estimate) -> bool:
    found = estimate.evidence
    if not isinstance(found, DistributionEvidence) or found.circular:
        return False
    return not isinstance(found.buckets.domain, Categories)


def _curve(asked: Asked, estimate: Estimate, level: float) -> str:
    """The curve and the band of `Estimate.plot`: it never falls, and the band holds the curve and all of the truth."""
    found = quiet_band(estimate.curve(), level)
    values = np.clip(found.values, 0, 1)
    ends = np.minimum(found.low, values), np.maximum(found.high, values)
    points = [Point("", *map(float, one)) for one in zip(values, *ends, strict=True)]
    title = f"Cumulative shares of {asked.name} with a {100 * level:g} % band of the whole curve"
    return charts.curve(title, [float(place) for place in found.points], points, unit=asked.unit)


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
    """What the form asks, one entry for each attribute: several questions about it need one answer."""
    names = {manifest.asked(place).key for place in range(len(manifest.stage.arms))}
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
        return {"kind": "pair", "choices": groups, **_number(question.value.root)}
    domain = question.domain.root
    if isinstance(domain, Categories):
        return {"kind": "choice", "choices": [(str(one), asked.label(one, language)) for one in domain.values]}
    return {"kind": "number", **_number(domain)} if hasattr(domain, "low") else {"kind": "text"}


def _number(domain: Any) -> dict[str, Any]:
    low, high = (_plain(getattr(domain, end, "")) for end in ("low", "high"))
    whole, step = isinstance(domain, Integers), getattr(domain, "step", None)
    return {"low": low, "high": high, "whole": whole, "step": "1" if whole else _plain(step) if step else ""}


def _plain(end: Any) -> str:
    return (
        decimal_text(Decimal(str(float(end))))
        if isinstance(end, (float, int, Decimal)) or hasattr(end, "numerator")
        else str(end)
    )
