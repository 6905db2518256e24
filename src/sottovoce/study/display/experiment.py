"""Arms of an experiment on pages and in documents: the differences of every question as a card of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtri

from sottovoce.core.question import Frequency, Joint, Quantile
from sottovoce.estimate.evidence import deviate
from sottovoce.study.detect import POWER
from sottovoce.study.display import pictures
from sottovoce.study.display.card import MOST_LINES, Card, card
from sottovoce.study.display.findings import Finding, Verdict, quoted
from sottovoce.study.display.numbers import POINTS, SPACE, NumberScale, inside
from sottovoce.study.experiments.comparisons import DIFFERENCE, ArmComparison, evidence_so_far, is_enough
from sottovoce.study.questions import study_question
from sottovoce.study.questions.result_lines import ResultLine, level_of_each
from sottovoce.study.results import QuestionResult, StudyResults
from sottovoce.study.study import Study
from sottovoce.study.words import local, plain, words

SMALLEST_P = 0.001
HALF = 0.5
MOST_STUDIES = 1_000_000  # rarer evidence is said to be as rare
ONE_LOOK = (
    "P-values and intervals hold for one look. Decide when the study has ended, not as soon as a result is clear."
)


def study_cards(results: StudyResults, reports: int, language: str = "en") -> list[Card]:
    """A card for each question with estimates; in an experiment the differences first, then a card for each arm."""
    cards = [card(one, results.level, reports, language) for one in results.questions]
    if results.study.experiment is None:
        return cards
    ordered: list[Card] = []
    for asked in results.study.questions:
        compared = [one for one in results.comparisons if one.asked.name == asked.name]
        first = next((one for one in results.questions if one.asked.name == asked.name), None)
        waits = [one for one in cards if one.asked.name == asked.name and one.finding.verdict is Verdict.WAITING]
        if waits:  # intervals of an arm are wider than half of the scale
            ordered.append(replace(waits[0], key=asked.name, compares=True, is_wide=True, fakes="", has_groups=False))
        elif first is not None and any(_told(one) for one in compared):
            ordered.append(_comparison_card(first, [one for one in compared if _told(one)], results.level, language))
        for one, result in zip(cards, results.questions, strict=True):
            if one.asked.name == asked.name:
                ordered.append(replace(one, text=f"{one.text} Arm {quoted(result.arm)}."))
    return ordered


def shown_arms(study: Study, language: str = "en") -> list[tuple[str, str, str]]:
    """The name of each arm, its share of the people, and what they read; empty where there is no experiment."""
    if study.experiment is None:
        return []
    return [
        (
            arm.name,
            f"{100 * float(study.experiment.part(arm)):.0f}{SPACE}%",
            arm.text(language) or "No text of its own.",
        )
        for arm in study.experiment.arms
    ]


def comparison_sentence(comparison: ArmComparison, language: str = "en") -> str:
    """The comparison of two arms in words, without the card."""
    if not _told(comparison):
        return f"{comparison.asked.name}: {comparison.refused or 'Not enough reports to compare the arms.'}"
    return f"{comparison.asked.name}: {_finding([comparison], language).sentence}"


def p_text(p_value: float) -> str:
    """A p-value to three decimals; a very small one as a bound."""
    shown = "1" if p_value > 1 - SMALLEST_P / 2 else f"{p_value:.3f}"
    bounded = f"under{SPACE}{SMALLEST_P:g}" if p_value < SMALLEST_P else f"={SPACE}{shown}"
    return f"p{SPACE}{bounded}"


def _comparison_card(first: QuestionResult, compared: Sequence[ArmComparison], level: float, language: str) -> Card:
    asked = first.asked
    finding = _finding(compared, language)
    rows = [row for one in compared for row in _rows(one, language, several=len(compared) > 1)]
    scale = _scale([row.line for row in rows], compared[0])
    names = " and ".join(quoted(one.arm) for one in compared)
    reports = sum(one.n for one in compared[0].estimates[1:]) + sum(one.estimates[0].n for one in compared)
    hold = "hold" if len(rows) == 1 else "hold together"
    surest = sorted(rows, key=lambda row: row.line.p_value)[: pictures.MOST_ROWS]
    part = f"The {len(surest)} surest of {len(rows):,} differences. " if len(surest) < len(rows) else ""
    caption = (
        f"{part}Difference of {names} from {quoted(compared[0].baseline)}. Intervals and p-values {hold} at"
        f" {100 * level:g}{SPACE}%. {reports:,} reports."
    )
    listed = [row for row in rows if row in surest]
    picture = pictures.dots_table(listed, [], scale, caption=caption, head=("Difference", "Value and interval"))
    finer = replace(scale, places=max(0, scale.places) + 1)
    numbers = tuple(
        (f"{row.label}, {row.note}", finer.value(row.line.value), finer.value(row.line.low), finer.value(row.line.high))
        for row in rows[:MOST_LINES]
    )
    hidden = len(rows) - len(numbers)
    widest = max((row.line.high - row.line.low) / 2 for row in rows)
    words = tuple((row.label, f"{scale.text(row.line.value, row.line.low, row.line.high)}, {row.note}") for row in rows)
    shown = (asked, asked.text(language), reports, finding, picture, numbers, hidden, words, 0, len(rows))
    return Card(*shown, scale.margin(widest), "", False, True, key=asked.name, compares=True)


def _rows(comparison: ArmComparison, language: str, *, several: bool) -> list[pictures.Row]:
    """A row for each difference; of two shares, which mirror each other, only the first."""
    lines = _told(comparison)
    return [
        pictures.Row(
            _label(comparison, line, language, several=several), _shown(comparison, line), note=p_text(line.p_value)
        )
        for line in lines
    ]


def _told(comparison: ArmComparison) -> tuple[ResultLine, ...]:
    mirrored = len(comparison.lines) == 2 and study_question(comparison.asked).compared_values == 1
    lines = comparison.lines[:1] if mirrored else comparison.lines
    return tuple(line for line in lines if math.isfinite(line.value) and not math.isnan(line.p_value))


def _label(comparison: ArmComparison, line: ResultLine, language: str, *, several: bool) -> str:
    """What differs: the answer, or the number; with the arm where there are several."""
    what = _what(comparison, line, language)
    return f"{comparison.arm}: {what}" if several else what


def _what(comparison: ArmComparison, line: ResultLine, language: str) -> str:
    """What differs, in words: an answer, the mean, the median."""
    noun = line.measure.removesuffix(DIFFERENCE)
    if noun == Frequency.noun and line.label:
        return comparison.asked.label(line.label, language)
    if noun == Joint.noun:
        return _cell(comparison, line.label, language)
    if noun == Quantile.noun:
        question: Any = comparison.asked.question
        share = float(line.label or question.shares[0])  # a single quantile has no label
        return "median" if share == HALF else f"{100 * share:g}{SPACE}% quantile"
    return f"{noun} of {quoted(line.label)}" if line.label else noun


def _cell(comparison: ArmComparison, label: str, language: str) -> str:
    """A cell of a cross table in words, such as "smoker never, sport daily"."""
    question: Any = comparison.asked.full_question  # `Joint`
    fields, (table, _, answers) = dict(question.domain.fields), label.partition(": ")
    names = next((names for names in question.tables if " x ".join(names) == table), ())
    for cell in product(*(map(str, fields[name].labels()) for name in names)):
        if ", ".join(cell) == answers:
            said = [comparison.asked.label(one, language) for one in (*names, *cell)]
            return ", ".join(f"{name} {answer}" for name, answer in zip(said, said[len(names) :], strict=False))
    return label


def _shown(comparison: ArmComparison, line: ResultLine) -> ResultLine:
    """A difference inside the possible range; of shares in percentage points."""
    noun = line.measure.removesuffix(DIFFERENCE)
    limits = next(part.a.evidence.limits for part in comparison.parts.values() if part.a.evidence.noun == noun)
    length = float(np.max(limits[1]) - np.min(limits[0]))
    value, low, high = inside((-length, length), line.value, line.low, line.high)
    factor = 100 if line.is_share else 1
    return replace(line, value=factor * value, low=factor * low, high=factor * high, std_error=factor * line.std_error)


def _scale(lines: Sequence[ResultLine], comparison: ArmComparison) -> NumberScale:
    is_share = lines[0].is_share
    asked = comparison.asked
    unit = POINTS if is_share else asked.unit_of_numbers or asked.unit
    plain = [replace(line, measure="difference") for line in lines]  # already in points
    return NumberScale.of(plain, unit, None)


def _finding(compared: Sequence[ArmComparison], language: str) -> Finding:
    """The difference that is surest, with its verdict; intervals hold for all differences of the question."""
    candidates = [(line, one) for one in compared for line in _told(one)]
    line, one = min(candidates, key=lambda item: (item[0].p_value, -abs(item[0].value) / (item[0].std_error or 1)))
    plain = _shown(one, line)
    scale = _scale([plain], one)
    size = scale.text(abs(plain.value), *sorted((abs(plain.low), abs(plain.high))))
    is_answer = line.measure.removesuffix(DIFFERENCE) in (Frequency.noun, Joint.noun) and bool(line.label)
    words = ("more frequent", "less frequent") if is_answer else ("higher", "lower")
    more = words[0] if line.value > 0 else words[1]
    what = _what(one, line, language)
    what = quoted(what) if is_answer else f"the {what}"
    said = p_text(line.p_value)
    if line.low > 0 or line.high < 0:
        key = f"{more} in arm {quoted(one.arm)} than in arm {quoted(one.baseline)}"
        headline = f"{what[0].upper()}{what[1:]} is {key}"
        sentence = f"{headline}, by {size}; {said}."
        return Finding(headline, sentence, Verdict.CLEAR, key, note=_notes(_overall(compared), _watched(compared)))
    headline = "No clear difference between the arms"
    interval = scale.text(plain.value, plain.low, plain.high)
    sentence = f"{headline}. Closest to one: {what} is {interval} for {one.name}; {said}."
    note = _notes(_seen(plain, one, scale), _overall(compared), _watched(compared))
    return Finding(headline, sentence, Verdict.CHANCE, headline, note=note)


def _seen(line: ResultLine, one: ArmComparison, scale: NumberScale) -> str:
    """From which size on a difference would probably have been seen."""
    reach = deviate(level_of_each(one.level, one.count)) + float(ndtri(POWER))
    size = scale.margin(reach * line.std_error).removeprefix(f"±{SPACE}")
    return f"With these reports, a difference of {size} is seen in {100 * POWER:g} of 100 such studies."


def _notes(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _watched(compared: Sequence[ArmComparison]) -> str:
    """Whether the study may end early, at the level of the results."""
    evidence = evidence_so_far(compared)
    if evidence is None:
        return ""
    level = compared[0].level
    if is_enough(evidence, level):
        return (
            "You may stop early: this result holds however often you looked. Where nothing differs, at most one of"
            f" {_times(evidence):,} studies ever gets such evidence."
        )
    enough = f"{1 / (1 - level):.0f}"
    return (
        f"If you look before the end: the evidence so far is {evidence:.2g}. Stop early only if it reaches"
        f" {enough}, which at most one of {enough} studies ever does where nothing differs."
    )


def crowd_sentence(compared: Sequence[ArmComparison], language: str) -> str:
    """Whether texts lead to different answers, for participants; it holds however often anyone looks."""
    evidence = evidence_so_far(compared)
    if evidence is None:
        return ""
    tables = words(language)["results"]
    if not is_enough(evidence, compared[0].level):
        return str(tables["texts_alike"])
    return plain(tables["texts_differ"], count=local(str(_times(evidence)), language))


def _times(evidence: float) -> int:
    """One of how many studies gets such evidence by chance, rounded down."""
    return math.floor(min(evidence, MOST_STUDIES))


def _overall(compared: Sequence[ArmComparison]) -> str:
    tests = [(one, one.overall) for one in compared]
    said = [
        f"{quoted(one.arm)} {p_text(min(1.0, len(compared) * test.p_value))}" for one, test in tests if test is not None
    ]
    return f"One test of all answers together: {', '.join(said)}." if said else ""


def published_differences(compared: Sequence[ArmComparison], language: str = "en") -> list[tuple[str, str, str]]:
    """What differs, by how much and the interval with the p-value, for documents."""
    rows = [row for one in compared for row in _rows(one, language, several=len(compared) > 1)]
    if not rows:
        return []
    scale = _scale([row.line for row in rows], compared[0])
    return [
        (row.label, scale.value(row.line.value), f"{scale.between(row.line.low, row.line.high)}, {row.note}")
        for row in rows
    ]
