"""Maps of two fields on pages: the shares of coarse parts of the grid, each with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from sottovoce.estimate.axes import Axes
from sottovoce.estimate.boxes.base import GridEvidence
from sottovoce.estimate.distribution.answers import PartAnswer
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.study.display.cross_tables import heat_row
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.questions.result_lines import evidence_lines
from sottovoce.study.words import local, plain, words

MOST_PARTS = 4  # of a field: intervals of smaller parts are too wide to read


def picture(shown: ShownResult) -> str:
    """A table of parts of both fields, with darker colours for larger shares; empty for other numbers of fields."""
    estimate = shown.estimate
    if estimate is None or not isinstance(estimate.evidence, GridEvidence):
        return ""
    evidence = estimate.evidence
    grid = evidence.buckets
    if len(grid.shape) != 2:
        return ""
    sides = [_starts(size) for size in grid.shape]
    labels = [_labels(shown, one, starts) for one, starts in zip(grid.each, sides, strict=True)]
    parts = [_rows(size, starts) for size, starts in zip(grid.shape, sides, strict=True)]
    weights = np.kron(*parts)
    names = [f"{one}, {two}" for one in labels[0] for two in labels[1]]
    assert evidence.question is not None
    answer = PartAnswer(
        evidence, weights, Axes.of("part", names), (0.0, 1.0), evidence.question, inner=weights, outer=weights
    )
    lines = [shown.scale.bounded(line) for line in evidence_lines(answer, shown.level, answer.noun)]
    top = max(line.value for line in lines) or 1.0
    first, second = (shown.asked.label(name, shown.language) for name in grid.names)
    title = plain(shown.words["crossed"], rows=first, columns=second)
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in ("", *labels[1]))
    width = len(labels[1])
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        f"{heat_row(shown.scale, lines[place * width : (place + 1) * width], top)}</tr>\n"
        for place, label in enumerate(labels[0])
    )
    return (
        f'<p class="small"><b>{escape(title)}.</b></p>'
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(title)}"><table class="heat">'
        f'<caption class="aside">{escape(title)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>'
        "</table></div>"
    )


def _starts(size: int) -> list[int]:
    """Where each part begins, and the end of the last one."""
    parts = min(size, MOST_PARTS)
    return [round(place * size / parts) for place in range(parts + 1)]


def _rows(size: int, starts: list[int]) -> Any:
    """One row for each part, with a one for each of its buckets."""
    places = np.arange(size)
    return np.array([(low <= places) & (places < high) for low, high in pairwise(starts)], float)


def _labels(shown: ShownResult, buckets: Buckets, starts: list[int]) -> list[str]:
    """The parts of a field in words of the reader's language."""
    first: Sequence[str]
    if buckets.domain.choices is not None:
        first = last = [shown.asked.label(one, shown.language) for one in buckets.domain.labels()]
    elif buckets.step is not None:
        first, last = (_numbers(ends, shown.language) for ends in (buckets.least_answers, buckets.largest_answers))
    else:
        first, last = (_numbers(ends, shown.language) for ends in (buckets.edges[:-1], buckets.edges[1:]))
    form = words(shown.language)["script"]["from_to"]
    ends = [(first[low], last[high - 1]) for low, high in pairwise(starts)]
    return [low if low == high else plain(form, low=low, high=high) for low, high in ends]


def _numbers(ends: Iterable[float], language: str) -> list[str]:
    return [local(f"{float(end):.10g}", language) for end in ends]
