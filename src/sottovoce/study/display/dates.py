"""Days and periods in words."""

from __future__ import annotations

from datetime import date

from sottovoce.core.exchange.study_facts import StudyFacts


def day_text(day: date) -> str:
    """A day in words: 30 June 2027."""
    return f"{day.day} {day:%B %Y}"


def period_text(facts: StudyFacts) -> str:
    """When a study collects: 1 November 2026 to 30 June 2027; empty where the study has no dates."""
    start, end = (day_text(date.fromisoformat(one)) if one else "" for one in (facts.start, facts.end))
    if start and end:
        return f"{start} to {end}"
    return f"from {start}" if start else f"until {end}" if end else ""
