"""Labels of a study in files that other programs open: spreadsheets run no formula, Markdown shows no HTML."""

from __future__ import annotations

import csv
from pathlib import Path

import sottovoce as sv
from sottovoce.core.language.escape import markdown, spreadsheet
from sottovoce.study.export import write_export
from tests.each import for_each
from tests.study.test_study import study

LABELS = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "-5", "<svg onload=alert(1)>", "a|b", "[x](http://a.test)"]


@for_each(
    "text,shown",
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\n=1", "'\n=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff20SUM(A1)", "'\uff20SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("a=b", "a=b"),
        ("", ""),
        (-2.5, -2.5),
    ],
)
def test_a_cell_never_begins_a_formula(text: object, shown: object) -> None:
    assert spreadsheet(text) == shown


def test_markdown_has_no_html_no_links_and_no_columns() -> None:
    assert markdown("<b>&") == "&lt;b&gt;&amp;"
    assert markdown("a|b\\|c") == "a\\|b\\\\\\|c"
    assert markdown("![x](http://a.test)\n# b `c`") == "!\\[x\\](http://a.test) # b \\`c\\`"


TICKED = sv.Asked("kind", sv.SetShares(sv.Sets(LABELS, 3)), {"en": "<b>Which?</b> |"})
CROSSED = sv.Asked(
    "kind",
    sv.Joint(sv.Record({"a": sv.Categories(LABELS), "b": sv.Categories(["=G", "<b>|"])})),
    {"en": "<b>Which?</b> |"},
    attribute_texts={name: {"en": "<b>A</b> |"} for name in ("a", "b")},
)


@for_each(
    "asked,answers",
    [
        (TICKED, {"kind": [[one, LABELS[0]] for one in LABELS[1:]] * 50}),
        (CROSSED, {"kind/a": LABELS * 50, "kind/b": ["=G", "<b>|"] * (25 * len(LABELS))}),
    ],
)
def test_items_of_sets_and_cells_of_tables_are_escaped(asked: sv.Asked, answers: dict, tmp_path: Path) -> None:
    plan = study(asked, epsilon="5").plan(len(next(iter(answers.values()))))
    write_export(sv.simulate_study(plan, answers, seed=1).results, tmp_path)
    with open(tmp_path / "estimates.csv", encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if spreadsheet(cell) != cell]
    assert any("=1+1" in cell for cell in cells)
    for name in ("publication.md", "codebook.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<" not in text and "[x](" not in text


def test_the_export_of_a_study_escapes_its_labels(tmp_path: Path) -> None:
    asked = sv.Asked("kind", sv.Frequency(sv.Categories(LABELS)), {"en": "Which <b>one</b>?\n| a |"})
    results = sv.simulate_study(study(asked, epsilon="5").plan(400), {"kind": LABELS * 50}, seed=1).results
    write_export(results, tmp_path)
    with open(tmp_path / "estimates.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [*(f"'{one}" for one in LABELS[:4]), *LABELS[4:]]
    assert all(float(row["estimate"]) is not None for row in rows)
    for name in ("publication.md", "codebook.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<" not in text and "Which &lt;b&gt;one&lt;/b&gt;? \\| a \\|" in text
        assert "[x](" not in text
        tables = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
        assert {line.count("|") for line in tables} <= {3, 4, 5}
