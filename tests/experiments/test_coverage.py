"""Coverage of 95 % intervals: the promises of the documentation, and the pages that show it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.channel import Contrast, Rates
from sottovoce.tally.laws import law_row
from sottovoce.testing.coverage import contrast_law, coverage, support_law
from sottovoce_experiments.catalogue import find, matching
from sottovoce_experiments.coverage.declared.distributions import FromTo, Unwarned
from sottovoce_experiments.coverage.declared.studies import MEANS, ORACLES, SHARES, SIZES
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section, rewritten, sections
from sottovoce_experiments.runner import Job, compute

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
STUDIES = matching("coverage-*")
PROMISES = {
    ("exact", "population"): (0.95, 1.0),
    ("exact", "sample"): (0.95, 1.0),
    ("wilson", "population"): (0.935, 0.98),
    ("normal", "population"): (0.94, 0.96),
    ("normal", "sample"): (0.94, 0.96),
}


# --- shares ----------------------------------------------------------------------------------------------------------
def broken_promises(rows: list[Row]) -> list[Row]:
    bad = []
    for row in rows:
        low, high = PROMISES[row["method"], row["target"]]
        if row["method"] == "normal" and row["n"] < 50_000:
            continue  # promised only where there are enough reports; `Estimate.ci` warns elsewhere
        if not low <= row["coverage"] <= high:
            bad.append(row)
    return bad


def shares(**chosen: Any) -> list[Row]:
    points = (point for point in SHARES.points() if chosen.items() <= point.items())
    return [row for point in points for row in compute(SHARES, point, 1, 0)]


@pytest.mark.parametrize("name", ORACLES)
def test_coverage_of_small_crowds(name: str) -> None:
    rows = [row for epsilon in (1.0, 3.0) for row in shares(mechanism=name, k=16, epsilon=epsilon, n=500)]
    assert len(rows) == 40 and broken_promises(rows) == []


# Every budget and both sizes; the other half is long, and so is a contrast at a large budget, which takes longest.
KEPT = {(16, 0.5), (256, 1.0), (16, 3.0)}
GRID = [
    pytest.param(name, size, epsilon, marks=pytest.mark.slow if kept else pytest.mark.long)
    for name, size, epsilon in product(ORACLES, SIZES, (0.5, 1.0, 3.0))
    for kept in ((size, epsilon) in KEPT and (name, epsilon) != ("hadamard", 3.0),)
]


@pytest.mark.parametrize(("name", "size", "epsilon"), GRID)
def test_coverage_on_the_whole_grid(name: str, size: int, epsilon: float) -> None:
    rows = shares(mechanism=name, k=size, epsilon=epsilon)
    assert len(rows) == 40
    assert broken_promises(rows) == []
    page = sections((DOCS / "results/coverage.md").read_text(encoding="utf-8"))[SHARES.id].splitlines()
    assert section_of(SHARES).markdown(rows).splitlines()[7:] == [
        line for line in page if line.startswith(f"| {name} | {size} | {epsilon:g} |")
    ]


def test_every_mean_without_a_memo_is_studied() -> None:
    built = [sv.mechanism(name, sv.Interval(-1, 1), epsilon=1) for name in sv.names(sv.Mean)]
    assert set(MEANS) == {m.name for m in built if m.claimed_forever is None}
    memo, single = (
        sv.mechanism(name, sv.Interval(-1, 1), epsilon=1).channel for name in ("bernoulli-memo", "bernoulli")
    )
    for code in (0, memo.inputs // 2, memo.inputs - 1):
        assert law_row(memo, code) == pytest.approx(law_row(single, code), rel=1e-9)


def test_a_wrong_rate_is_noticed() -> None:
    """The computation has power: intervals built with a rate that is one percent off do not cover."""
    m = sv.mechanism("oue", sv.Integers(0, 15), epsilon=1.0)
    rates = m.channel.rates()
    assert isinstance(rates, Rates)
    counts, law = support_law(rates, 50_000, 5000, "population")
    from sottovoce.estimate.frequency.supports import SupportsEvidence

    right = SupportsEvidence(counts, 50_000, float(rates.own), float(rates.other)).exact(0.95, "population")
    wrong = SupportsEvidence(counts, 50_000, float(rates.own), float(rates.other) * 1.01).exact(0.95, "population")
    covered = [law[(b.low <= 0.1) & (b.high >= 0.1)].sum() for b in (right, wrong)]
    assert covered[0] >= 0.95 > 0.9 > covered[1]


def test_laws_of_counts_have_the_right_moments() -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 15), epsilon=3.0)
    rates = m.channel.rates()
    assert isinstance(rates, Contrast)
    n, held, mates = 2000, 300, 250
    for target in ("population", "sample"):
        plus, minus, law = contrast_law(rates, n, held, mates, target)
        assert law.sum() == pytest.approx(1, abs=1e-6)
        score = (law * (plus - minus)).sum() / float(rates.slope) / n
        assert score == pytest.approx(held / n, abs=1e-6)
        shares = np.zeros(16)
        shares[0], shares[8], shares[1] = held / n, mates / n, 1 - (held + mates) / n
        variance = (law * (plus - minus) ** 2).sum() / float(rates.slope) ** 2 / n**2 - score**2
        assert variance == pytest.approx(m.variance(shares, n, target=target)[0], rel=1e-4)


def test_bisection_over_counts_equals_trying_all_of_them() -> None:
    from sottovoce.estimate.frequency.supports import SupportsEvidence

    m = sv.mechanism("sue", sv.Integers(0, 15), epsilon=1.0)
    rates = m.channel.rates()
    assert isinstance(rates, Rates)
    counts, law = support_law(rates, 500, 50, "sample")
    low, high = SupportsEvidence(counts, 500, float(rates.own), float(rates.other)).exact(0.95, "sample")
    assert coverage(m, 500, 0.1, "exact", "sample") == pytest.approx(law[(low <= 0.1) & (high >= 0.1)].sum(), abs=1e-12)


# --- pages -----------------------------------------------------------------------------------------------------------
# What the texts of sections say of the rows and the tables do not show.
HIDDEN = {"coverage-adaptive": {"runs": 5_000, "std_error": 0.0043}}


def section_of(study: Experiment) -> Section:
    assert study.section is not None
    return study.section


def value_of(column: PageColumn, text: str) -> Any:
    """The number, or the text, that a column writes as this text."""
    if text == column.missing:
        return None
    if column.scale is not None:
        return (float(text) - column.start) / column.scale
    if column.form not in ("", ",", None):
        return float(text)
    plain = text.replace(",", "") if column.form else text
    if plain.isdigit():
        return int(plain)
    return float(text) if column.form is None and re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text


def unwarned(text: str) -> Row:
    """What a column of coverages without a warning writes as this text: in brackets are those with one."""
    number = None if text == "-" else float(text.strip("()")) / 100
    bracketed = text.startswith("(")
    return {"coverage": None if bracketed else number, "warned_coverage": number if bracketed else None}


def rows_of(section: Section, text: str) -> list[Row]:
    """Rows that have the numbers of a section's table."""
    _, _, *lines = (line for line in text.splitlines() if line.startswith("|"))
    blank = {name: None for column in section.columns for name in (column.field, *dict(column.where))}
    found = []
    for place, line in enumerate(lines):
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        # What makes a line and is not shown is as different as the lines are.
        base = {**dict.fromkeys(section.by, place), **blank}
        rows: dict[tuple[Any, ...], Row] = {}
        for column, cell in zip(section.columns, cells, strict=True):
            if isinstance(column, Unwarned):
                rows.setdefault((("of", column.head),), {"of": column.head}).update(unwarned(cell))
                continue
            if isinstance(column, FromTo):
                ends = [None] if cell == "-" else [float(end) / (column.scale or 1) for end in cell.split(" to ")]
                for side, end in zip(("smallest", "largest"), ends * 2, strict=False):
                    rows.setdefault((side,), {})[column.field] = end
                continue
            value = {column.field: value_of(column, cell)}
            if column.where:
                rows.setdefault(column.where, dict(column.where)).update(value)
            else:
                base |= value
        found += [{**base, **row} for row in rows.values()] or [base]
    return found


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_the_page_is_what_is_written_of_its_rows(study: Experiment) -> None:
    section = section_of(study)
    text = sections((DOCS / section.page.file).read_text(encoding="utf-8"))[study.id]
    rows = rows_of(section, text)
    hidden = HIDDEN.get(study.id, {"runs": study.runs} if all(one.field != "runs" for one in section.columns) else {})
    assert section.markdown([{**row, **hidden} for row in rows]) == text
    # The page shows the grid that is declared.
    shown = [one for one in section.columns if one.field in study.axes and not one.where]
    lines = {tuple(one.text([row]) for one in shown) for row in rows}
    assert lines == {tuple(one.text([point]) for one in shown) for point in study.points()}


@pytest.mark.parametrize(
    "file", ["results/coverage.md", "results/coverage-of-shares.md", "results/coverage-of-rounds.md"]
)
def test_pages_have_all_sections_in_order(file: str) -> None:
    page = (DOCS / file).read_text(encoding="utf-8")
    chosen = [study for study in STUDIES if section_of(study).page.file == file]
    order = [study.id for study in chosen]
    assert list(sections(page)) == order
    head = section_of(chosen[0]).page.head
    assert rewritten(page, Page(file, head), order, {}) == page
    new = rewritten(page, Page(file, head), order, {order[1]: "new\n"})
    assert sections(new) == {**sections(page), order[1]: "new\n"}
    assert rewritten("", Page(file, head), order, {order[1]: "new\n"}) == f"{head}<!-- section: {order[1]} -->\nnew\n"


def test_a_column_takes_the_row_that_it_is_about() -> None:
    line: Sequence[Row] = [{"of": "a", "x": 0.5, "n": 1000}, {"of": "b", "x": None, "n": 7}]
    assert PageColumn("n", "n", ",").text(line) == "1,000"
    assert PageColumn("x", "x", ".1f", (("of", "a"),), -100, 100).text(line) == "50.0"
    assert PageColumn("x", "x", ".1f", (("of", "b"),), missing="-").text(line) == "-"
    assert PageColumn("x", "x", ".1f", (("of", "c"),), missing="none").text(line) == "none"


# --- studies ---------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_a_cell_of_each_study_is_computed_written_and_drawn(
    study: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Path]
) -> None:
    for file in study.needs:
        monkeypatch.setenv("SOTTOVOCE_DATA", str(shared_data(file).parent))
    point = study.points(quick=True)[0]
    rows = compute(study, point, 2, 0)
    assert len({tuple(row) for row in rows}) == 1, "all rows have the same columns, as a Parquet file has"
    assert compute(study, point, 2, 0) == rows
    assert json.loads(json.dumps(rows)) == rows
    assert {*study.axes, *study.columns} <= rows[0].keys()
    text = section_of(study).markdown(rows)
    assert all(line.count("|") == len(section_of(study).columns) + 1 for line in text.splitlines() if line[:1] == "|")
    assert Job(study, tmp_path).draw(rows, tmp_path / "picture.svg") is None


def test_a_pattern_runs_several_studies_and_writes_their_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Widths are computed without chance: the section of the page comes out again."""
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    assert [one.id for one in matching("coverage-shown*")] == ["coverage-shown", "coverage-shown-real"]
    assert main(["reproduce", "coverage-wid*", "--folder", str(tmp_path), "--pages", str(tmp_path), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"coverage-widths"}
    ours, theirs = (
        sections((folder / "results/coverage.md").read_text(encoding="utf-8")) for folder in (tmp_path, DOCS)
    )
    assert ours == {"coverage-widths": theirs["coverage-widths"]}
    assert main(["reproduce", "coverage-*-real", "--folder", str(tmp_path), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {} and "coverage-shown-real is left out. This experiment needs" in told.err


def test_an_axis_of_several_names_takes_some_combinations() -> None:
    gaussian = find("coverage-gaussian")
    assert gaussian.axes == ("n", "protocol", "mean", "deviation")
    assert len(gaussian.points()) == 28
    assert gaussian.points()[0] == {"n": 10_000, "protocol": "GaussianMeanKnownSigma", "mean": 0.0, "deviation": 1.5}


def test_the_list_is_made_without_what_computes_a_study() -> None:
    rooms = "distributions, rounds, shares, studies"
    code = f"import sys; from sottovoce_experiments.coverage.declared import {rooms};"
    code += " print({'numba', 'scipy', 'matplotlib'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "set()\n"
