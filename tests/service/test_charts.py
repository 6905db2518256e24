"""Charts of the dashboard: which rows they show, and curves that never fall."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.question import Cdf
from sottovoce.service.pages.participant import preferred
from sottovoce.study.charts import MOST_ROWS, Point, intervals, largest
from sottovoce.study.display.numbers import NumberScale
from sottovoce.study.display.pictures import Row, chosen_rows
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.results import QuestionResult
from tests.each import for_each

FEATURES = [f"feature {place}" for place in range(60)]


def result(asked: Asked, mechanism: sv.Mechanism, answers: object) -> QuestionResult:
    reports = mechanism.privatize(answers, seed=1)
    return QuestionResult(asked, {asked.name: mechanism.estimate(mechanism.tally(reports))})


def labels(chart: str) -> list[str]:
    return re.findall(r'text-anchor="end">([^<]+)</text><line class="ink"', chart)


def test_the_largest_rows_are_shown_and_the_rest_is_counted():
    """Everyone uses the last five of sixty features, and some do not know."""
    asked = Asked("feature", sv.Frequency(sv.Categories(FEATURES)), missing=("don't know",))
    mechanism = sv.mechanism("subset", asked.full_question.domain, epsilon=5)
    found = result(asked, mechanism, [*FEATURES[-5:], "don't know"] * 1000)
    chart = found.question.chart(found.estimates, 0.95)
    shown = labels(chart)
    assert set(shown[:5]) == set(FEATURES[-5:]) and shown[-1] == "don&#x27;t know"
    assert len(shown) == MOST_ROWS
    assert "The 39 largest estimates are shown; 21 more are in the table.</text>" in chart
    assert "21 more are in the table" in re.search('aria-label="([^"]*)"', chart)[1]
    assert len(list(found.lines(0.95))) == 61


def test_numbers_keep_their_order():
    points = [Point(str(place), float(place % 7), 0.0, 9.0) for place in range(50)]
    shown, note = largest(points, always=(), in_order=True)
    assert [int(one.label) for one in shown] == sorted(int(one.label) for one in shown)
    assert note == "The 40 largest estimates are shown; 10 more are in the table."
    assert largest(points[:40], always=(), in_order=True) == (points[:40], "")
    assert [one.value for one in largest(points[:9], always=["2"], in_order=False)[0]] == [6, 5, 4, 3, 1, 1, 0, 0, 2]
    assert "more are" not in intervals("Few", points[:40], share=True)


def rows(shares: list[float], margin: float, aside: str = "") -> list[Row]:
    lines = [
        ResultLine("share", str(place), share, margin / 2, share - margin, share + margin)
        for place, share in enumerate(shares)
    ]
    return [Row(line.label, line, line.label == aside) for line in lines]


def test_the_card_of_a_question_shows_the_largest_rows_of_all():
    """The last of sixty answers are the common ones; a reason for no answer stays, last, however rare."""
    scale = NumberScale(1, "%", 100.0)
    listed = rows([0.001 + place / 1000 for place in range(60)], 0.0002, aside="0")
    shown, folded = chosen_rows(listed, scale, in_order=False)
    assert [row.label for row in shown] == [*(str(place) for place in range(59, 44, -1)), "0"]
    assert [row.label for row in folded] == [str(place) for place in range(44, 0, -1)]
    shown, folded = chosen_rows(listed, scale, in_order=True)
    assert [row.label for row in shown] == [*(str(place) for place in range(45, 60)), "0"]
    assert len(folded) == 44
    # More than two shares that may be zero are folded into one row, but of ordered answers none is left out.
    doubtful = rows([0.3, 0.01, 0.3, 0.01, 0.01], 0.02)
    assert [row.label for row in chosen_rows(doubtful, scale, in_order=False)[0]] == ["0", "2"]
    assert len(chosen_rows(doubtful, scale, in_order=True)[0]) == 5
    assert len(chosen_rows(doubtful[:4], scale, in_order=False)[0]) == 4
    unknown = rows([0.3, float("nan"), 0.2], 0.02)
    assert [row.label for row in chosen_rows(unknown, scale, in_order=False)[0]] == ["0", "2", "1"]


@pytest.mark.parametrize("name", ["square-wave-discrete", "hierarchy"])
def test_a_curve_never_falls_and_its_band_has_a_width(name: str):
    domain = sv.Integers(0, 63)
    mechanism = sv.mechanism(name, domain, epsilon=1)
    answers = np.clip(np.random.default_rng(3).normal(40, 4, 1149).round(), 0, 63).astype(int)
    found = result(Asked("hours", sv.Distribution(domain)), mechanism, answers)
    (estimate,) = found.estimates.values()
    raw = [one.value for one in found.lines(0.95) if one.measure == Cdf.noun]
    assert (np.diff(raw) < 0).any(), "this example shows nothing: the unbiased curve does not fall"
    chart = found.question.chart(found.estimates, 0.95)
    line, band = (
        np.array([[float(part) for part in one.split(",")] for one in re.search(shape, chart)[1].split()])
        for shape in ('<polyline class="ink" points="([^"]*)"', '<polygon class="band" points="([^"]*)"')
    )
    assert (np.diff(line[:, 1]) <= 0).all()  # the picture's y grows downwards
    high, low = band[: len(line), 1], band[len(line) :, 1][::-1]
    assert (low[1:-1] - high[1:-1] > 1).all()
    assert (high <= line[:, 1]).all() and (line[:, 1] <= low).all()
    plotted = estimate.curve().band(0.95)
    assert len(line) == len(plotted.points)


@for_each(
    "accepted,languages,language",
    [
        ("de-DE", ["en", "de"], "de"),
        ("en-GB,de;q=0.1", ["de", "en"], "en"),
        ("de;q=0.1, en-GB;q=0.9", ["de", "en"], "en"),
        ("fr, de-AT;q=0.5", ["en", "de"], "de"),
        ("de", ["en", "de-CH"], "de-CH"),
        ("de-AT, de-CH", ["de-CH", "de"], "de"),
        ("DE-ch", ["en", "de", "de-CH"], "de-CH"),
        ("it, *;q=0.5", ["en", "de"], "en"),
        ("de;q=0", ["en", "de"], "en"),
        ("", ["en", "de"], "en"),
        ("nonsense;;q=,,de;q=x", ["en", "de"], "en"),
        ("den", ["en", "de"], "en"),
    ],
)
def test_the_language_is_the_one_that_a_browser_weighs_most(accepted, languages, language):
    assert preferred(accepted, languages) == language
