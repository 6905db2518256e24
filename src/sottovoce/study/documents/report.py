"""The report of a study: one page that stands alone, then every question, and how the numbers came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from html import escape
from itertools import count

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.study.display.card import Card, ranked
from sottovoce.study.display.comparisons import compared
from sottovoce.study.display.dates import day_text, period_text
from sottovoce.study.display.experiment import shown_arms, study_cards
from sottovoce.study.display.findings import Verdict
from sottovoce.study.display.numbers import SPACE
from sottovoce.study.display.privacy_numbers import coin_sentence, epsilon_text, guess_sentence
from sottovoce.study.documents.elements import facts, figure, masthead, page, paragraph, section, table
from sottovoce.study.export import SUPPRESSED, methods_text
from sottovoce.study.results import StudyResults

MOST_SHORT = 5  # findings of the first page
MOST_PAIRS = 10  # compared pairs of groups in the report; the dashboard has all


@dataclass(frozen=True)
class ReportDocument:
    """The results of a study as a document.

    Attributes:
        day: the day of the report, which is told in every figure.
        planned: participants of the plan; 0 where it is not known.
        notes: what an unfinished study leaves out, and doubts about intervals.
        alarms: signs of fake reports.
    """

    results: StudyResults
    manifest: Manifest
    day: date
    planned: int = 0
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the study."""
        return self.manifest.facts.title_in("en")

    @property
    def is_simulated(self) -> bool:
        """Whether the reports come from a simulation."""
        return any(
            getattr(estimate, "simulated", False)
            for one in self.results.questions
            for estimate in one.estimates.values()
        )

    @cached_property
    def cards(self) -> list[Card]:
        """A card for each question with estimates."""
        return study_cards(self.results, self.results.reports)

    @cached_property
    def findings(self) -> list[Card]:
        """The cards, what is clear first."""
        return ranked(self.cards)

    def to_html(self) -> str:
        """The report as a document that stands alone."""
        title = f"Report: {self.title}"
        footer = f"{self.title} · study {self.manifest.study[:16]} · {day_text(self.day)}"
        return page(title, self.parts(), footer=footer)

    def parts(self) -> Iterator[str]:
        """The parts of the report, in order."""
        yield self._first_page()
        if arms := shown_arms(self.results.study):
            yield section("What people read", table(("Arm", "Share of people", "Text above the question"), arms))
        numbers = count(2)  # the first figure is on the first page
        for card in self.cards:
            yield self._question(card, 1 if card is self._first else next(numbers))
        yield self._all_answers()
        yield self._methods()

    # --- the first page ----------------------------------------------------------------------------
    @property
    def _first(self) -> Card | None:
        """The card of the first figure: the first finding whose picture fits on the first page."""
        fitting = [one for one in self.findings if one.finding.verdict is not Verdict.WAITING]
        return next(iter(fitting), None)

    @property
    def _people(self) -> str:
        return {"person": "People", "device": "Devices", "event": "Events"}[self.manifest.facts.unit]

    def _first_page(self) -> str:
        known = self.manifest.facts
        people = f"{self.results.reports:,}" + (f" of {self.planned:,} planned" if self.planned else "")
        said = [
            (f"{self._people} who answered" if known.unit == "person" else f"{self._people} that reported", people),
            ("Period", period_text(known) or day_text(self.day)),
            ("Privacy", epsilon_text(self.manifest)),
        ]
        kind = f"{'Simulated study' if self.is_simulated else 'Study report'} · {day_text(self.day)}"
        first = [figure(self._first.picture, self._caption(self._first, 1))] if self._first is not None else []
        return "\n".join(
            [
                '<div class="first">',
                masthead(known.owner, kind, self.title, known.purpose_in("en")),
                *self._warnings(),
                facts(said),
                self._in_short(),
                *first,
                f'<div class="grid two">{self._how_to_read()}{self._privacy()}</div>',
                "</div>\n",
            ]
        )

    def _warnings(self) -> Iterator[str]:
        if self.is_simulated:
            yield '<p class="notice warn"><span><b>This is a simulation.</b> Nobody was asked: the answers were drawn'
            yield " from the expected population, and the report shows what the real study would show.</span></p>"
        for alarm in self.alarms:
            yield f'<p class="notice bad"><span>{escape(alarm)}</span></p>'

    def _in_short(self) -> str:
        items = []
        for one in self.findings[:MOST_SHORT]:
            before, key, after = map(escape, one.finding.parts)
            badge = f'<span class="badge {one.badge}">{escape(one.finding.label)}</span>'
            items.append(f"<li><span>{escape(one.text)}</span> {before}<b>{key}</b>{after} {badge}</li>")
        if not items:
            return section("In short", paragraph("Nothing can be estimated yet: too few reports were counted."))
        more = len(self.findings) - MOST_SHORT
        rest = [f'<p class="fine">{plural(more, "more finding")} below.</p>'] if more > 0 else []
        return section("In short", f'<ol class="short">{"".join(items)}</ol>', *rest)

    def _how_to_read(self) -> str:
        level = f"{100 * self.results.level:g}"
        example = next((one for one in self.findings if "(" in one.finding.sentence), None)
        lead = "A number is followed by its interval in brackets. " if example is not None else ""
        return section(
            "How to read the numbers",
            paragraph(
                f"{lead}Intervals made this way contain the true value in {level} of 100 such studies. They include who"
                " happened to answer and the noise that devices added. “Clear”: the comparisons of the question hold"
                " together at this level. “Under 7 %”: the share cannot be told apart from 0."
            ),
        )

    def _privacy(self) -> str:
        said = [
            "Each device scrambles its answer before anything is sent.",
            coin_sentence(self.manifest) or guess_sentence(self.manifest),
        ]
        fakes = next((one.fakes for one in self.findings if one.fakes), "")
        return section("How privacy is kept", paragraph(" ".join(filter(None, [*said, fakes]))))

    def _caption(self, card: Card, number: int) -> str:
        epsilon = decimal_text(self.manifest.facts.epsilon)
        return (
            f"Figure {number}. {card.text} {self.title}, {plural(card.n, 'report', ',')}, epsilon {epsilon},"
            f" {day_text(self.day)}."
        )

    # --- further pages -------------------------------------------------------------------------------
    def _question(self, card: Card, number: int) -> str:
        badge = f'<span class="badge {card.badge}">{escape(card.finding.label)}</span>'
        notes = [card.finding.note, card.fakes]
        return (
            f'<section class="result"><div class="chart-head"><h2>{escape(card.finding.headline)}</h2>{badge}</div>'
            f'<p class="asked">{escape(card.text)}</p>'
            f"{self._figure(card, number)}"
            f"{self._pairs(card)}{''.join(f'<p class=small>{escape(one)}</p>' for one in notes if one)}</section>\n"
        )

    def _figure(self, card: Card, number: int) -> str:
        if card is self._first:
            return f'<p class="small">Figure {number} is on the first page.</p>'
        return figure(card.picture, self._caption(card, number))

    def _pairs(self, card: Card) -> str:
        comparison = compared(self.results[card.key], self.results.level) if card.has_groups else None
        if comparison is None or not comparison.pairs:
            return ""
        rows = "".join(
            f'<li><span class="badge {"ok" if one.differs else "plain hollow"}">'
            f"{'Clear' if one.differs else 'May be chance'}</span><span>{escape(one.text)}</span></li>"
            for one in comparison.pairs[:MOST_PAIRS]
        )
        said = f"These comparisons hold all at once at {100 * self.results.level:g}{SPACE}%."
        left = len(comparison.pairs) + comparison.hidden - MOST_PAIRS
        more = f" {plural(left, 'more pair')} of groups can be downloaded from the dashboard." if left > 0 else ""
        return f'<ul class="verdicts">{rows}</ul><p class="fine">{said}{more}</p>'

    def _all_answers(self) -> str:
        """Tables of the questions whose figure folds answers into one row."""
        folded = [one for one in self.cards if one.folded and one.finding.verdict is not Verdict.WAITING]
        tables = [
            table(("Answer", "Share and interval"), one.rows, f"Table {number}. {one.text} {one.n:,} reports.")
            for number, one in enumerate(folded, 1)
        ]
        return section("All answers", *tables) if tables else ""

    def _methods(self) -> str:
        rows = [(one.text, f"{one.n:,}", one.margin.removeprefix("±").strip() or "not known") for one in self.cards]
        sizes: Sequence[str] = [table(("Question", "Reports", "Widest margin (±)"), rows)] if rows else []
        return section(
            "Methods",
            paragraph(methods_text(self.results)),
            paragraph(SUPPRESSED),
            *(paragraph(one) for one in dict.fromkeys(self.notes)),
            *sizes,
            paragraph(
                f"The study has the fingerprint {self.manifest.study[:16]}, that of its manifest, which holds every"
                " mechanism in full. Anyone can repeat the estimates from the published counts."
            ),
        )
