"""View data of the pages for the templates: questions, charts, privacy facts, plans."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.estimate.estimate import Estimate
from sottovoce.service.fake_report_signs import FAKES, manipulations
from sottovoce.service.pages.comparisons import has_groups
from sottovoce.service.results import StudyOutcome
from sottovoce.study.questions import study_question
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.reading import parse_study
from sottovoce.study.results import QuestionResult
from sottovoce.study.study_plan import StudyPlan, plan_study

MOST_LINES = 1000  # of a table on a page; the export has all


@dataclass(frozen=True, slots=True)
class Card:
    """A question on the dashboard."""

    asked: Asked
    n: int
    lines: tuple[ResultLine, ...]
    chart: str
    hidden: int
    widest: float
    fakes: str
    has_groups: bool


def cards(outcome: StudyOutcome) -> list[Card]:
    """A card for each question with estimates."""
    return [_card(one, outcome) for one in outcome.results.questions]


def _card(result: QuestionResult, outcome: StudyOutcome) -> Card:
    lines = tuple(result.lines(outcome.results.level))
    estimates = [one for one in result.estimates.values() if isinstance(one, Estimate)]
    widths = [(one.high - one.low) / 2 for one in lines if math.isfinite(one.high - one.low)]
    return Card(
        result.asked,
        max((one.n for one in estimates), default=0),
        lines[:MOST_LINES],
        result.question.chart(result.estimates, outcome.results.level),
        max(0, len(lines) - MOST_LINES),
        max(widths, default=math.nan),
        next((one.text() for one in manipulations(result, FAKES, outcome.row.reports).values()), ""),
        has_groups(result),
    )


def said_of(line: ResultLine, asked: Asked) -> str:
    """The label of a line of numbers, with its unit."""
    return study_question(asked).said_of(line)


# --- the plan -----------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def planned(source: bytes, participants: int, epsilon: str = "") -> StudyPlan:
    """The plan of a study file for this number of participants, with its own epsilon or another."""
    study, _ = parse_study(source)
    if study is None:
        raise ParameterError("The study file cannot be read.")
    if epsilon:
        budget = Decimal(epsilon)
        study = replace(study, epsilon=budget, lifetime=max(budget, study.lifetime or budget))
    return plan_study(study, participants)


# --- the participant's form -----------------------------------------------------------------------------
def fields(manifest: Manifest, language: str) -> Iterator[dict[str, Any]]:
    """The fields of the form, one for each attribute. Questions about one attribute share a field."""
    names = {manifest.asked(place).key for place in range(len(manifest.stage.arms))}
    for asked in manifest.questions:
        if asked.name in names:
            yield {
                "name": asked.name,
                "text": asked.text(language),
                "unit": asked.unit,
                "missing": [(one, asked.label(one, language)) for one in asked.missing],
                **study_question(asked).field(language),
            }
