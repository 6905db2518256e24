"""How the package is built, in a few numbers: `python -m scripts.structure [folder of another checkout]`.

What is counted: modules in the largest folder; comparisons with names of questions and statistics outside the modules
that define them; `isinstance` checks of channel nodes and of domains outside their own rooms; members of `Channel`;
names that two classes share.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

NAMES = {"frequency", "mean", "variance", "group", "vector", "group-mean", "vector-mean"}
STATISTICS = {"outputs", "supports", "seeds", "keyed", "parts", "joint", "sums", "moments"}
OWNERS = ("core/question/", "core/statistic")
CHANNELS = ("core/channel", "fast/kernels")
DOMAINS = ("core/domain",)


def trees(source: Path) -> dict[str, ast.Module]:
    """Every module of the package, by its path."""
    files = sorted(source.rglob("*.py"))
    return {file.relative_to(source).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def outside(modules: dict[str, ast.Module], rooms: tuple[str, ...]) -> Iterator[ast.AST]:
    """All nodes of modules that are not in one of these rooms."""
    for path, tree in modules.items():
        if not path.startswith(rooms):
            yield from ast.walk(tree)


def compared_names(modules: dict[str, ast.Module]) -> int:
    """Comparisons of a question or a statistic with its name."""
    found = 0
    for node in outside(modules, OWNERS):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = {side.attr for side in sides if isinstance(side, ast.Attribute)}
            asked |= {side.id for side in sides if isinstance(side, ast.Name)}
            texts = {leaf.value for side in sides for leaf in ast.walk(side) if isinstance(leaf, ast.Constant)}
            found += bool(asked & {"question", "statistic", "kind"} and texts & (NAMES | STATISTICS))
    return found


def classes(modules: dict[str, ast.Module], rooms: tuple[str, ...]) -> set[str]:
    """The classes that some rooms define."""
    kept = (tree for path, tree in modules.items() if path.startswith(rooms))
    return {node.name for tree in kept for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def checked_types(modules: dict[str, ast.Module], rooms: tuple[str, ...]) -> int:
    """`isinstance` checks, outside these rooms, of classes that they define."""
    kinds = classes(modules, rooms) - {"Channel", "Domain"}
    found = 0
    for node in outside(modules, rooms):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            found += bool({leaf.id for leaf in ast.walk(node.args[1]) if isinstance(leaf, ast.Name)} & kinds)
    return found


def members(modules: dict[str, ast.Module], path: str, name: str) -> int:
    """Public methods and properties of a class."""
    body = next(node.body for node in ast.walk(modules[path]) if isinstance(node, ast.ClassDef) and node.name == name)
    return sum(isinstance(item, ast.FunctionDef) and not item.name.startswith("_") for item in body)


def shared_names(modules: dict[str, ast.Module]) -> list[str]:
    """Names of public classes that stand for more than one class."""
    every = [node.name for tree in modules.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    return sorted(name for name, count in Counter(every).items() if count > 1 and not name.startswith("_"))


def main(root: Path) -> None:
    modules = trees(root / "src" / "sottovoce")
    folders = Counter(path.rpartition("/")[0] for path in modules)
    largest, count = folders.most_common(1)[0]
    tests = Counter(file.parent for file in (root / "tests").rglob("*.py"))
    print(f"modules: {len(modules)}, at most {count} in a folder ({largest}); tests: at most {max(tests.values())}")
    print(f"comparisons with names of questions or statistics outside their modules: {compared_names(modules)}")
    print(f"isinstance checks of channel nodes outside their rooms: {checked_types(modules, CHANNELS)}")
    print(f"isinstance checks of domains outside their room: {checked_types(modules, DOMAINS)}")
    print(f"members of Channel: {members(modules, 'core/channel/base.py', 'Channel')}")
    shared = shared_names(modules)
    print(f"class names used twice: {len(shared)}{' (' + ', '.join(shared) + ')' if shared else ''}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
