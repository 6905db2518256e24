"""Who mentions whom among the definitions of the package, for lines that no tracer sees.

Compiled kernels are not traced, a cached function runs for its first caller only, and a constant is computed at import.
The tests of such a definition are those that run a line that mentions it, directly or through another such definition,
and those that mention it themselves.
The same graph says which files hold kernels that must be compiled again after a change: Numba's cache looks at the file
of a kernel itself, not at those of the functions and constants it uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scripts.mutants.sample import PACKAGE

COMPILED = {"compiled", "njit", "jit", "vectorize", "guvectorize"}
CACHED = {"cache", "lru_cache", "cached_property"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a method or a constant at the top of a module.

    `mentions` holds the identifiers it uses, each with the lines where it does; `hidden` is whether a tracer
    misses its lines for some tests.
    """

    file: str
    name: str
    first: int
    last: int
    compiled: bool
    hidden: bool
    mentions: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Graph:
    """All definitions, and what each module's identifiers stand for."""

    definitions: tuple[Definition, ...]
    imports: dict[str, dict[str, tuple[str, str]]]
    tests: tuple[Definition, ...] = ()

    def around(self, file: str, line: int) -> Definition | None:
        """The definition that holds a line."""
        return next((d for d in self.definitions if d.file == file and d.first <= line <= d.last), None)

    @cached_property
    def _mentioned(self) -> dict[tuple[str, str], list[tuple[Definition, tuple[int, ...]]]]:
        """By file and name: who mentions it, in which lines."""
        found: dict[tuple[str, str], list[tuple[Definition, tuple[int, ...]]]] = {}
        for user in self.definitions:
            for identifier, lines in user.mentions.items():
                target = self.imports[user.file].get(identifier, (user.file, identifier))
                found.setdefault(target, []).append((user, lines))
        return found

    def _users(self, used: Definition) -> Iterator[tuple[Definition, tuple[int, ...]]]:
        mentioned = self._mentioned.get((used.file, used.name), ())
        return ((user, lines) for user, lines in mentioned if user is not used)

    def entries(self, start: Definition) -> set[tuple[str, int]]:
        """Traced lines that mention a definition, directly or through hidden ones."""
        found: set[tuple[str, int]] = set()
        for definition in self._closure(start, through_traced=False):
            for user, lines in self._users(definition):
                if not user.hidden:
                    found |= {(user.file, line) for line in lines}
        return found

    def callers(self, start: Definition) -> set[str]:
        """Tests that mention a definition, or a hidden one that uses it, in their own lines."""
        wanted = {(d.file, d.name) for d in self._closure(start, through_traced=False)}
        return {
            f"{test.file}::{test.name}"
            for test in self.tests
            if any(self.imports[test.file].get(identifier) in wanted for identifier in test.mentions)
        }

    def stale(self, start: Definition) -> set[str]:
        """Files with kernels that a change of this definition alters."""
        return {d.file for d in self._closure(start, through_traced=True) if d.compiled}

    def _closure(self, start: Definition, *, through_traced: bool) -> list[Definition]:
        found, waiting = {id(start): start}, [start]
        while waiting:
            for user, _ in self._users(waiting.pop()):
                # A plain function hands its result on to constants only; kernels use no plain function.
                if (user.hidden or through_traced) and id(user) not in found:
                    found[id(user)] = user
                    waiting.append(user)
        return list(found.values())


def read_graph(root: Path) -> Graph:
    """The graph of the whole package and its tests."""
    definitions: list[Definition] = []
    tests: list[Definition] = []
    imports: dict[str, dict[str, tuple[str, str]]] = {}
    for path in (*sorted((root / PACKAGE).rglob("*.py")), *sorted((root / "tests").rglob("test_*.py"))):
        file = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports[file] = dict(_imported(tree, root))
        found = tests if file.startswith("tests/") else definitions
        for node in tree.body:
            found += _definitions(file, node)
    return Graph(tuple(definitions), imports, tuple(tests))


def _imported(tree: ast.Module, root: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each identifier that is imported from a module of the package, with the file and the name it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sottovoce":
            place = root / "src" / node.module.replace(".", "/")
            path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            for alias in node.names:
                yield alias.asname or alias.name, (path.relative_to(root).as_posix(), alias.name)


def _definitions(file: str, node: ast.stmt) -> Iterator[Definition]:
    if isinstance(node, ast.FunctionDef):
        yield _function(file, node, node.name)
    elif isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                yield _function(file, part, f"{node.name}.{part.name}")
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                last = node.end_lineno or node.lineno
                yield Definition(file, target.id, node.lineno, last, False, True, _mentions(node))


def _function(file: str, node: ast.FunctionDef, name: str) -> Definition:
    decorators = {part.id for line in node.decorator_list for part in ast.walk(line) if isinstance(part, ast.Name)}
    decorators |= {
        part.attr for line in node.decorator_list for part in ast.walk(line) if isinstance(part, ast.Attribute)
    }
    compiled = bool(decorators & COMPILED)
    hidden = compiled or bool(decorators & CACHED)
    return Definition(file, name, node.lineno, node.end_lineno or node.lineno, compiled, hidden, _mentions(node))


def _mentions(node: ast.AST) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.setdefault(part.id, set()).add(part.lineno)
    return {name: tuple(sorted(lines)) for name, lines in found.items()}
