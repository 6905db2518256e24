"""Entries of `changes` are well-formed, and become a section of the changelog."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from scripts.release_notes import CHANGELOG, HEADINGS, fragments, notes, problem, release

WELL_FORMED = "`sv.combine` weighs tallies of different budgets by their precision."
MALFORMED = {
    "cdf.improved.md": (WELL_FORMED, "kind"),
    "Cdf.fixed.md": (WELL_FORMED, "name"),
    "cdf.md": (WELL_FORMED, "name"),
    "two-lines.fixed.md": (f"{WELL_FORMED}\nAnd more.", "one line"),
    "empty.fixed.md": ("\n", "one line"),
    "long.added.md": ("`plan` " + "word " * 25 + "end.", "25 words"),
    "pronoun.fixed.md": ("It no longer fails at the upper end.", "subject"),
    "kind-again.fixed.md": ("Fixed `cdf` at the upper end.", "subject"),
    "no-stop.changed.md": ("`cdf` is exact at the upper end", "full stop"),
    "no-advice.breaking.md": ("`--real` is now `--whole`.", "Do: "),
}


def test_entries_are_well_formed() -> None:
    assert [sentence for path in fragments() if (sentence := problem(path))] == []


def test_malformed_entries_are_named_with_what_is_expected(tmp_path: Path) -> None:
    for name, (text, expected) in MALFORMED.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        sentence = problem(tmp_path / name)
        assert sentence, name
        assert expected in sentence, sentence


def test_entries_become_a_section_above_the_older_ones(tmp_path: Path) -> None:
    texts = {"a.fixed.md": WELL_FORMED, "b.breaking.md": "`--real` is now `--whole`. Do: rename it in scripts."}
    for name, text in texts.items():
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
        assert problem(tmp_path / name) is None
    entries = notes(fragments(tmp_path))
    assert entries.index(HEADINGS["breaking"]) < entries.index(HEADINGS["fixed"])
    text = release("# Changelog\n\nIntroduction.\n\n## 0.1.0\n\n- First.\n", "0.2.0", entries, date(2027, 1, 31))
    assert text.index("Introduction") < text.index("## 0.2.0 (2027-01-31)") < text.index(WELL_FORMED)
    assert text.index(WELL_FORMED) < text.index("## 0.1.0")
    with pytest.raises(SystemExit, match=r"section 0\.2\.0 already"):
        release(text, "0.2.0", entries, date(2027, 1, 31))


def test_the_first_release_is_told_by_task_in_sixty_lines() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    first = text[text.index("## 0.1.0") :]
    assert len(first.splitlines()) <= 60
    assert "### Highlights" in first
    assert "Unreleased" not in text
