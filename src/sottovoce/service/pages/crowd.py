"""The results page for participants: what the crowd says, in the reader's language."""

from __future__ import annotations

from typing import NamedTuple

from sottovoce.service.pages.templating import rendered
from sottovoce.service.results import StudyOutcome
from sottovoce.study.display.experiment import crowd_sentence
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.words import plain, words


class CrowdAnswer(NamedTuple):
    """A question with its picture as HTML; the picture is empty while intervals are too wide to say anything.

    In an experiment `readers` says which text these people read before. The last arm of a question has a `verdict`:
    whether texts lead to different answers.
    """

    text: str
    readers: str
    picture: str
    verdict: str


def crowd_text(name: str, outcome: StudyOutcome, language: str) -> str:
    """The page with a picture for each question, without tests and verdicts."""
    level = outcome.results.level
    shown = [ShownResult(one, level, language) for one in outcome.results.questions]
    return rendered(
        "crowd.html",
        study=name,
        facts=outcome.manifest.facts,
        language=language,
        tables=words(language),
        reports=outcome.row.reports,
        is_open=outcome.row.state == "open",
        level=f"{100 * level:g}",
        answers=[
            CrowdAnswer(
                one.asked.text(language),
                _readers(outcome, one.result.arm, language),
                "" if one.says_little else one.question.picture(one),
                _verdict(outcome, one.result.arm, one.asked.name, language),
            )
            for one in shown
        ],
    )


def _verdict(outcome: StudyOutcome, arm: str, question: str, language: str) -> str:
    compared = [one for one in outcome.results.comparisons if one.asked.name == question]
    return crowd_sentence(compared, language) if compared and compared[-1].arm == arm else ""


def _readers(outcome: StudyOutcome, arm: str, language: str) -> str:
    texts = [one.text(language) for one in outcome.manifest.facts.experiment if one.name == arm]
    if not texts:
        return ""
    tables = words(language)["results"]
    return plain(tables["read"], text=texts[0]) if texts[0] else str(tables["read_nothing"])
