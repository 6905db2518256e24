"""The rooms of the package, who may import whom, and which modules name others in strings that are loaded late."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = "sottovoce"
BESIDE = "sottovoce_experiments"  # a package of its own, which is not in the wheel

# What each room may import of this package, beside itself.
DEVICE: dict[str, set[str]] = {"core": set(), "mechanisms": {"core"}, "client": {"core", "mechanisms"}}
_LADDER = [["fast"], ["tally"], ["estimate"], ["files"], ["design", "privacy"], ["protocols"], ["study"]]
_below = set(DEVICE)
ANALYSIS: dict[str, set[str]] = {}
for _step in _LADDER:
    ANALYSIS |= {room: set(_below) for room in _step}
    _below |= set(_step)
TOP = {room: set(_below) for room in ("service", "engines", "testing")}
# The command line is the roof: `serve` and `bench` start what the rooms below it hold.
ROOF = {room: _below | set(TOP) | {"cli"} for room in ("cli", "__main__")}
# The package's own __init__ re-exports by name through core/late.py.
ALLOWED = {"__init__": {"core"}, **DEVICE, **ANALYSIS, **TOP, **ROOF}
# Coverage that is summed over a law is part of the contract, and a study is made of it.
ALLOWED[BESIDE] = _below | {"testing"}

# Modules that may name modules of higher rooms in strings, which are loaded when they are used, and why.
NAMES_UPWARD = {
    "__init__.py": "the public face",
    "core/batches.py": "the batch verbs of a mechanism",
    "core/registry.py": "builders of registered mechanisms",
    "core/statistic/": "the kernel of each statistic",
}
_NAMED = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*\.?(:\w+)?")


def room_of(path: str) -> str:
    """The room of a file, given its path inside the package; the package beside it is a room of its own."""
    return path.split("/")[0].removesuffix(".py")


def loaded_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every string of a module that names a module of the package, such as "fast.batch:privatize", with its line.

    Of a string that is put together, its beginning, such as "estimate.".
    """
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAMED.fullmatch(node.value):
            room, dot, _ = node.value.partition(".")
            if dot and room in ALLOWED:
                yield node.lineno, node.value


def is_upward(path: str, name: str) -> bool:
    """Whether a file names a module of a room that it may not import, without a reason to do so."""
    room, named = room_of(path), name.partition(".")[0]
    # A room of another checkout, which this list does not know, is not judged.
    return named not in {room, *ALLOWED.get(room, ALLOWED)} and not path.startswith(tuple(NAMES_UPWARD))


def module_path(source: Path, name: str) -> str | None:
    """The path of the module that "room.module:name" names, inside the package; None if there is none."""
    stem = name.partition(":")[0].rstrip(".").replace(".", "/")
    return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if (source / path).is_file()), None)


def imported_names(nodes: Iterable[ast.AST], path: str) -> Iterator[tuple[int, str]]:
    """Every imported name with its line, wherever in the file it stands, relative ones made absolute.

    `from a import b` yields `a.b`, because b may be a module.
    """
    package = [PACKAGE, *path.split("/")[:-1]]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parts = base + (node.module.split(".") if node.module else [])
            yield from ((node.lineno, ".".join([*parts, alias.name])) for alias in node.names)
