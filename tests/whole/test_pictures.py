"""The pictures of the documentation are those that their command draws, and pages show all of them."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BESIDE = {"demo", "group-errata"}  # which commands draw: test_cli.py, test_group_errata.py
PICTURES = [path for path in sorted((DOCS / "pictures").glob("*.svg")) if path.stem not in BESIDE]


@pytest.mark.slow
def test_the_pictures_are_what_their_command_draws() -> None:
    drawn = runpy.run_path(str(DOCS.parent / "scripts" / "generate_pictures.py"))["pictures"]()
    assert sorted(drawn) == [path.stem for path in PICTURES], "Remove pictures that no command draws."
    for path in PICTURES:
        assert path.read_text(encoding="utf-8") == drawn[path.stem], "Run `python scripts/generate_pictures.py`."


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_small_well_formed_and_shown_on_a_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg") and len(text) < 24_000
    assert "<script" not in text and not re.search(r"\bon\w+=", text)
    shown = {
        link for page in DOCS.rglob("*.md") for link in re.findall(r"!\[[^\]]+\]\((\S+)\)", page.read_text("utf-8"))
    }
    assert f"../pictures/{path.name}" in shown
