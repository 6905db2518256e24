"""No two classes of the package share a name: a name says what a thing is to somebody who has not read the code."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from scripts.parsed import nodes

ROOT = Path(__file__).resolve().parents[2]


def shared(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names of more than one class, with the files that have them."""
    found = defaultdict(list)
    for file, text in sources.items():
        for node in nodes(text):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(file)
    return {name: files for name, files in sorted(found.items()) if len(files) > 1}


def test_no_two_classes_share_a_name() -> None:
    files = [path for folder in ("src", "experiments") for path in (ROOT / folder).rglob("*.py")]
    assert shared({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}) == {}


def test_a_shared_name_is_noticed() -> None:
    sources = {
        "a": "class A: pass",
        "b": "def f():\n    class A: pass",
        "c": "class B: pass\nclass C:\n    class B: pass",
    }
    assert shared(sources) == {"A": ["a", "b"], "B": ["c", "c"]}
