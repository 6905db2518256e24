"""Documents of a collected study: the report of its results, its dossier and its consent texts."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from sottovoce.core.params import decimal_text
from sottovoce.service.pages.planned import planned_numbers
from sottovoce.service.pages.planning import planned
from sottovoce.service.results import StudyOutcome
from sottovoce.service.stores.base import Transaction
from sottovoce.study.display.dates import day_text
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.report import ReportDocument
from sottovoce.study.dossier.write import audited_facts, document_parts
from sottovoce.study.results import QuestionResult


def report_of(work: Transaction, outcome: StudyOutcome, day: date) -> ReportDocument:
    """The report of the current results of a study."""
    goal = planned_numbers(work, outcome.row.name).participants
    return ReportDocument(
        outcome.results, outcome.manifest, day, planned=goal, notes=outcome.notes, alarms=outcome.alarms
    )


def figure_source(outcome: StudyOutcome, result: QuestionResult, day: date) -> str:
    """Where a figure comes from: the title of the study, the number of reports, epsilon and the day."""
    facts, reports = outcome.manifest.facts, ShownResult(result, outcome.results.level).n
    level = f"unbiased, with {100 * outcome.results.level:g} % intervals"
    return (
        f"{facts.title_in('en')}, {reports:,} reports, epsilon {decimal_text(facts.epsilon)}, {level}, {day_text(day)}"
    )


@lru_cache(maxsize=8)
def dossier_of(source: bytes, participants: int, day: date) -> str:
    """The dossier of a study file, planned anew: a plan may take seconds, so the last ones are kept."""
    return "".join(document_parts(audited_facts(planned(source, participants), day)))
