"""The pages about papers: every sentence has on a thinned grid the verdict that its page shows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from sottovoce_experiments.catalogue import EXPERIMENTS, find
from sottovoce_experiments.claim import Claim, PaperVerdict
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import rewritten, sections
from sottovoce_experiments.papers.paper import Fact
from sottovoce_experiments.runner import compute

DOCS = Path(__file__).resolve().parents[2] / "docs"
JUDGED = [one for one in EXPERIMENTS if one.claims]
FACTS = [one for one in JUDGED if one.id.endswith("-sentences")]
FIGURES = [one for one in JUDGED if one not in FACTS]
NO_THIN_CASE = 12  # sentences about data that is not at hand, or about many cells
PAGES = sorted({one.section.page.file for one in JUDGED if one.section is not None})


@cache
def thinned(name: str) -> list[Row]:
    """The rows of a quick run; computed once, all in less than 20 seconds."""
    experiment = find(name)
    points = experiment.points(quick=True)
    return experiment.shown([row for point in points for row in compute(experiment, point, experiment.quick_runs, 0)])


def wrong(experiment: Experiment, rows: list[Row]) -> list[str]:
    """Sentences with another verdict than the declared one; what depends may be seen from one side only."""
    judged = [(claim, claim.judged(rows)) for claim in experiment.claims if claim.verdict != PaperVerdict.DEPENDS]
    return [f"{claim.sentence}: {found}" for claim, found in judged if found.verdict not in (claim.verdict, None)]


@pytest.mark.parametrize("experiment", FACTS, ids=lambda one: one.id)
def test_a_sentence_without_a_figure_has_its_verdict(experiment: Experiment) -> None:
    rows = thinned(experiment.id)
    assert wrong(experiment, rows) == []
    assert all(claim.judged(rows).cases for claim in experiment.claims)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", FIGURES, ids=lambda one: one.id)
def test_a_sentence_about_a_figure_has_its_verdict_on_a_thinned_grid(experiment: Experiment) -> None:
    assert wrong(experiment, thinned(experiment.id)) == []


@pytest.mark.slow
def test_most_sentences_have_a_case_on_the_thinned_grid() -> None:
    without = [claim.sentence for one in FIGURES for claim in one.claims if not claim.judged(thinned(one.id)).cases]
    assert len(without) <= NO_THIN_CASE, without


def test_at_least_sixty_sentences_are_judged() -> None:
    sentences = [(one.id, claim.place, claim.sentence) for one in JUDGED for claim in one.claims]
    assert len(set(sentences)) == len(sentences) >= 60


@pytest.mark.parametrize("file", PAGES)
def test_a_page_shows_the_declared_sentences_and_verdicts(file: str) -> None:
    page = (DOCS / file).read_text(encoding="utf-8")
    shown = sections(page)
    for one in JUDGED:
        if one.section is None or one.section.page.file != file or one.id not in shown:
            continue
        for claim in one.claims:
            line = next((line for line in shown[one.id].splitlines() if f"| {claim.sentence} |" in line), "")
            assert f"| **{claim.verdict}** |" in line, claim.sentence
            assert claim.why in line


@pytest.mark.parametrize("file", PAGES)
def test_a_page_is_what_its_sections_make(file: str) -> None:
    page = (DOCS / file).read_text(encoding="utf-8")
    own = [one for one in EXPERIMENTS if one.section is not None and one.section.page.file == file]
    assert own[0].section is not None
    assert rewritten(page, own[0].section.page, [one.id for one in own], {}) == page
    for drawn in re.findall(r"\]\((\S+\.svg)\)", page):
        assert (DOCS / file).parent.joinpath(drawn).is_file(), drawn


def test_a_verdict_needs_nearly_all_cases_or_nearly_none() -> None:
    def claim(*cases: bool) -> Claim:
        return Claim("1", "It is so", PaperVerdict.HOLDS, lambda rows: iter(cases))

    assert claim(*[True] * 19, False).judged([]).verdict == PaperVerdict.HOLDS
    assert claim(*[True] * 18, *[False] * 2).judged([]).verdict == PaperVerdict.DEPENDS
    assert claim(*[False] * 19, True).judged([]).verdict == PaperVerdict.FAILS
    assert claim().judged([]).verdict is None


def test_a_fact_is_judged_by_its_own_rows() -> None:
    fact = Fact("1", "It is so", PaperVerdict.DEPENDS, "a:b")
    rows: list[Row] = [
        {"fact": "a:b", "case": "one", "number": 1.0, "holds": True},
        {"fact": "a:b", "case": "two", "number": 2.0, "holds": False},
        {"fact": "a:c", "case": "other", "number": 3.0, "holds": True},
    ]
    assert fact.claim().line(rows) == ("1", "It is so", "**depends**", "1 of 2 cases; one: 1, two: 2", "")
