"""Questions and statistics are objects: nothing outside their own modules compares their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.parsed import nodes
from sottovoce.core.question import QUESTIONS
from sottovoce.core.statistic import STATISTICS
from tests.each import for_each

SOURCE = Path(__file__).resolve().parents[2] / "src" / "sottovoce"
OWN = ("core/question/", "core/statistic/", "core/language/question_words.py")
WORDS = {*QUESTIONS, *STATISTICS}
# Where a name is compared with one of these words, it is that of a question or a statistic: other things are called
# "mean" or "joint" as well, such as a row of a table, and may be looked up by that.
TELLING = {"question", "statistic", "kind", "room", "noun", "asked"}


def words_in(node: ast.expr) -> set[str]:
    """The names of questions or statistics among the texts of an expression, also inside a list, set or tuple."""
    if isinstance(node, ast.Constant):
        return {node.value} & WORDS if isinstance(node.value, str) else set()
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return set().union(*map(words_in, node.elts))
    return set().union(*(words_in(key) for key in node.keys if key)) if isinstance(node, ast.Dict) else set()


def tells(node: ast.expr) -> bool:
    """Whether an expression names a question or a statistic, or what one is called."""
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return any(part in TELLING for name in names for part in name.lower().strip("_").split("_"))


def faults(source: str) -> Iterator[int]:
    """Lines that compare, match or look up the name of a question or statistic."""
    for node in nodes(source):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(words_in, sides)) and any(map(tells, sides)):
                yield node.lineno
        elif isinstance(node, ast.Match) and tells(node.subject):
            patterns = [one.value for one in ast.walk(node) if isinstance(one, ast.MatchValue)]
            yield from (one.lineno for one in patterns if words_in(one))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            keys = [key for key in node.value.keys if key is not None]
            if tells(node.slice) and any(map(words_in, keys)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            table = node.func.value
            if isinstance(table, ast.Dict) and any(words_in(key) for key in table.keys if key) and tells(node.args[0]):
                yield node.lineno
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            # A table by name: several keys that are names of questions, or of statistics, and nothing else.
            keys = [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
            for names in ({*QUESTIONS}, {*STATISTICS}):
                if len(keys) > 1 and {*keys} <= names:
                    yield node.lineno


def found() -> list[str]:
    return [
        f"{path.relative_to(SOURCE).as_posix()}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(OWN)
        for line in faults(path.read_text(encoding="utf-8"))
    ]


def test_no_name_of_a_question_or_statistic_is_compared() -> None:
    assert found() == []


@for_each(
    "code",
    [
        'if mechanism.question == "mean": pass',
        'if "variance" != estimate.question.kind: pass',
        'if m.statistic.kind in ("supports", "seeds"): pass',
        'x = 1 if kind == "vector-mean" else 2',
        "match m.question.kind:\n    case 'group-mean' | 'mean':\n        pass",
        'y = {"mean": 1, "variance": 2}[question.kind]',
        'y = {"outputs": 1}.get(m.statistic.kind)',
        'if question.kind in {"median": 1, "mean": 2}: pass',
        'HOMES = {"frequency": "a", "mean": "b", "group-mean": "c"}',
        'COUNTERS: dict[str, int] = {"outputs": 1, "sums": 2}',
        'while not self.question_kind == "frequency": pass',
    ],
)
def test_comparisons_are_seen(code: str) -> None:
    assert list(faults(code))


@pytest.mark.parametrize(
    "code",
    [
        "if isinstance(mechanism.question, Mean): pass",
        'found = result["mean"]',
        'if name == "mean": pass',
        'table = {"mean": 1, "clamped": 2}',
        'if method == "joint": pass',
        'text = f"{question.noun}"',
        'return {"mean": mean, "variance": spread, "sd": deviation}',
    ],
)
def test_other_words_are_free(code: str) -> None:
    assert not list(faults(code))
