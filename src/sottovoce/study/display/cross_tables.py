"""Cross tables for readers: heat maps with intervals, tables for documents, and the sentence of the finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.question import Joint
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint.association import ODDS, RISK, about
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.numbers import NumberScale
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import table as table_element
from sottovoce.study.words import plain

if TYPE_CHECKING:
    from sottovoce.study.questions.result_lines import ResultLine

ANSWER, WITHIN, CRAMER = "share of an answer", "share within a group", "Cramer's V"
MOST_SHOWN = 6  # tables that a page shows at once
STEPS = 5  # of the heat map


@dataclass(frozen=True, slots=True)
class CrossTable:
    """One table: the last attribute has the columns, the others have the rows.

    Attributes:
        title: what is crossed, and `total` the word for all people, in the reader's language.
        cells: bounded lines, row by row.
        totals: bounded lines of the answers to the attribute of the rows, where there is one; else empty.
        below: bounded lines of the answers to the attribute of the columns.
        ratios: the relative risks of a table of two attributes, the surest first.
        association: Cramer's V of a table of two attributes.
    """

    title: str
    total: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[ResultLine, ...], ...]
    totals: tuple[ResultLine, ...]
    below: tuple[ResultLine, ...]
    ratios: tuple[ResultLine, ...]
    association: ResultLine | None

    def head(self) -> list[str]:
        """The heads of the columns, for documents."""
        total = [self.total] if self.totals else []
        return [f"{', '.join(self.names[:-1])} / {self.names[-1]}", *self.columns, *total]

    def texts(self, scale: NumberScale) -> list[list[str]]:
        """The rows of the table as texts, with totals."""
        totals = [[_text(scale, line)] for line in self.totals] or [[]] * len(self.rows)
        rows = [
            [label, *(_text(scale, line) for line in cells), *total]
            for label, cells, total in zip(self.rows, self.cells, totals, strict=True)
        ]
        everyone = [scale.value(1.0)] if self.totals else []
        return [*rows, [self.total, *(_text(scale, line) for line in self.below), *everyone]]


def _text(scale: NumberScale, line: ResultLine) -> str:
    value, interval = scale.shown(line)
    return f"{value} ({interval})" if interval else value


def tables_of(shown: ShownResult, question: Joint) -> list[CrossTable]:
    """The tables of a question, those that surely depend first."""
    cells = [shown.scale.bounded(line) for line in shown.lines if line.measure == question.noun]
    lines = {(line.measure, line.label): line for line in shown.lines}
    fields = dict(question.domain.fields)
    labels = _labels(shown, fields)
    tables, start = [], 0
    for names in question.tables:
        width = len(labels[names[-1]])
        count = math.prod(len(labels[name]) for name in names)
        own, start = cells[start : start + count], start + count
        rows = [", ".join(one) for one in _product([labels[name] for name in names[:-1]])]
        pair = len(names) == 2
        said = _spoken_ratios(shown, names, fields, labels) if pair else {}
        spoken = spoken_names(shown, names)
        ratios = [
            replace(line, label=said[line.label]) for line in shown.lines if line.measure == RISK and line.label in said
        ]
        tables.append(
            CrossTable(
                plain(shown.words["crossed"], rows=", ".join(spoken[:-1]), columns=spoken[-1]),
                shown.words["total"],
                spoken,
                tuple(rows),
                tuple(labels[names[-1]]),
                tuple(tuple(own[place : place + width]) for place in range(0, count, width)),
                tuple(_totals(shown, lines, fields, names[0]) if pair else ()),
                tuple(_totals(shown, lines, fields, names[-1])),
                tuple(sorted(ratios, key=_doubt)),
                lines.get((CRAMER, " x ".join(names))),
            )
        )
    return sorted(tables, key=lambda one: one.association.p_value if one.association is not None else 1.0)


def spoken_names(shown: ShownResult, names: Sequence[str]) -> tuple[str, ...]:
    """The labels of attributes or answers, in the reader's language."""
    return tuple(shown.asked.label(name, shown.language) for name in names)


def _labels(shown: ShownResult, fields: Mapping[str, Domain]) -> dict[str, list[str]]:
    return {
        name: [shown.asked.label(one, shown.language) for one in domain.labels()] for name, domain in fields.items()
    }


def _spoken_ratios(
    shown: ShownResult, names: Sequence[str], fields: Mapping[str, Domain], labels: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The labels of the ratios of two attributes, as the results have them, in words for readers."""
    spoken = spoken_names(shown, names)
    groups, outcomes = (list(zip(map(str, fields[name].labels()), labels[name], strict=True)) for name in names)
    return {
        about(names, outcome[0], group[0], other[0]): about(spoken, outcome[1], group[1], other[1])
        for outcome in outcomes
        for group in groups
        for other in groups
    }


def _doubt(line: ResultLine) -> float:
    """Small where a ratio is surely different from one."""
    if not math.isfinite(line.value):
        return math.inf
    return -max(line.low, 1 / line.high if line.high > 0 else 0.0)


def _totals(
    shown: ShownResult, lines: Mapping[tuple[str, str], ResultLine], fields: Mapping[str, Domain], name: str
) -> list[ResultLine]:
    return [shown.scale.bounded(lines[ANSWER, f"{name}: {one}"]) for one in fields[name].labels()]


def _product(lists: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [()]
    for one in lists:
        rows = [(*row, label) for row in rows for label in one]
    return rows


# --- the picture -----------------------------------------------------------------------------------
def picture(tables: Sequence[CrossTable], shown: ShownResult) -> str:
    """Heat maps, the surest dependence first; further tables are folded."""
    drawn = [_heat_map(one, shown) for one in tables]
    text = "".join(drawn[:MOST_SHOWN])
    if len(drawn) > MOST_SHOWN:
        more = plain(shown.words["more_tables"], count=str(len(drawn) - MOST_SHOWN))
        text += f'<details class="more"><summary>{escape(more)}</summary>{"".join(drawn[MOST_SHOWN:])}</details>'
    return text


def _heat_map(table: CrossTable, shown: ShownResult) -> str:
    top = max((line.value for row in table.cells for line in row), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in table.head())
    ends = [heat_cell(shown.scale, line, None) for line in table.totals] or [""] * len(table.rows)
    body = [
        f'<tr><th scope="row">{escape(label)}</th>{heat_row(shown.scale, row, top)}{end}</tr>\n'
        for label, row, end in zip(table.rows, table.cells, ends, strict=True)
    ]
    below = "".join(heat_cell(shown.scale, line, None) for line in table.below)
    body.append(f'<tr><th scope="row">{escape(table.total)}</th>{below}</tr>\n')
    return (
        f'<p class="small"><b>{escape(table.title)}.</b> {escape(shown.caption())}</p>'
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(table.title)}"><table class="heat">'
        f'<caption class="aside">{escape(table.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{''.join(body)}</tbody></table></div>"
    )


def heat_row(scale: NumberScale, lines: Sequence[ResultLine], top: float) -> str:
    """The cells of one row of a heat map."""
    return "".join(heat_cell(scale, line, top) for line in lines)


def heat_cell(scale: NumberScale, line: ResultLine, top: float | None) -> str:
    """A cell; those of the heat map have one of five steps of colour."""
    value, interval = scale.shown(line)
    part = 0.0 if top is None else max(line.value, 0.0) / top
    step = "" if top is None else f" h{min(STEPS, 1 + int(STEPS * part))}"
    said = f"<b>{escape(value)}</b><span>{escape(interval)}</span>" if interval else f"<span>{escape(value)}</span>"
    return f'<td class="number{step}">{said}</td>'


def associations_table(tables: Sequence[CrossTable], shown: ShownResult) -> str:
    """Which attributes go together, and the surest relative risk of every two; for analysts, in English."""
    rows = []
    for table in tables:
        if table.association is None:
            continue
        scale, p_value = replace(shown.scale_of(CRAMER), places=2), table.association.p_value
        clear = [line for line in table.ratios if line.low > 1 or line.high < 1]
        risk = f"{clear[0].label}: {_text(shown.scale_of(RISK), clear[0])}" if clear else "none clearly differs from 1"
        said = "under 0.001" if p_value < 0.001 else f"{p_value:.3f}"
        rows.append((" and ".join(table.names), _text(scale, table.association), said, risk))
    if not rows:
        return ""
    head = ("Attributes", "Cramer's V, 0 to 1", "P-value of independence", "Surest relative risk")
    caption = "P-values are adjusted for all pairs (Holm). Each interval holds by itself."
    rare = dict.fromkeys(one for table in tables if table.association for one in table.association.left_out)
    if rare:
        answers = (findings.quoted(" ".join(spoken_names(shown, one))) for one in rare)
        caption += f" Too rare to count in Cramer's V: {', '.join(answers)}."
    return table_element(head, rows, caption)


# --- the finding -----------------------------------------------------------------------------------
def finding(
    shown: ShownResult,
    question: Joint,
    pairs: Sequence[tuple[str, ...]],
    risks: Callable[[tuple[str, ...]], Sequence[ResultLine]],
) -> Finding:
    """The two attributes with the surest dependence; `risks` has their relative risks, which hold together."""
    lines = [line for line in shown.lines if line.measure == CRAMER]
    best = min(range(len(lines)), key=lambda place: (lines[place].p_value, -lines[place].value))
    line, pair = lines[best], pairs[best]
    names = findings.listed([findings.quoted(one) for one in spoken_names(shown, pair)])
    scale = replace(shown.scale_of(CRAMER), places=2)
    if line.p_value >= 1 - shown.level:
        key = "No two attributes clearly go together"
        closest = f"Closest are {names}: Cramer's V {_text(scale, line)}."
        said = f"{key}. {closest if math.isfinite(line.value) else 'There are too few reports to tell.'}"
        return Finding(key, said, Verdict.CHANCE, key)
    clear = [one for one in risks(pair) if one.low > 1 or one.high < 1]
    headline = f"{names} go together"
    if not clear:
        said = f"{headline}: Cramer's V {_text(scale, line)}."
        return Finding(headline, said, Verdict.CLEAR, headline)
    risk = min(clear, key=_doubt)
    fields = dict(question.domain.fields)
    spoken = _spoken_ratios(shown, pair, fields, _labels(shown, fields)).get(risk.label, risk.label)
    said = f"{headline}. The relative risk of {spoken} is {_text(NumberScale.of([risk], '', None), risk)}."
    return Finding(headline, said, Verdict.CLEAR, headline)


# --- the truth of a simulation ---------------------------------------------------------------------
def true_measures(
    pair: tuple[str, ...],
    labels: Mapping[str, Sequence[str]],
    table: Floats,
    skip: Collection[str],
    rare: Collection[tuple[str, str]] = (),
) -> dict[tuple[str, str], float]:
    """Shares within groups, ratios and Cramer's V of a table of two attributes whose shares are known.

    Answers in `rare`, with their attributes, do not count in Cramer's V.
    """
    first, second = pair
    rows, columns = labels[first], labels[second]
    known: dict[tuple[str, str], float] = {}
    sizes = table.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = table / sizes[:, None]
        odds = table / (sizes[:, None] - table)
        counted = (
            [place for place, one in enumerate(labels[name]) if one not in skip and (name, one) not in rare]
            for name in pair
        )
        known[CRAMER, " x ".join(pair)] = _cramer(table[np.ix_(*counted)])
        groups = [place for place, label in enumerate(rows) if label not in skip]
        for column, answer in enumerate(columns):
            for row, group in enumerate(rows):
                known[WITHIN, f"{second} {answer} among {first} {group}"] = float(within[row, column])
            for row in groups[1:] if answer not in skip else ():
                label = about(pair, answer, rows[row], rows[groups[0]])
                known[RISK, label] = float(within[row, column] / within[groups[0], column])
                known[ODDS, label] = float(odds[row, column] / odds[groups[0], column])
    return {key: value for key, value in known.items() if math.isfinite(value)}


def _cramer(table: Floats) -> float:
    """Cramer's V of a table whose shares are known; answers that nobody gave count nothing."""
    shares = table / table.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    phi = float(np.nansum((shares - expected) ** 2 / np.where(expected > 0, expected, np.nan)))
    return math.sqrt(phi / (min(table.shape) - 1))
