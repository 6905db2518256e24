"""How the package is built, in a few numbers: `python -m scripts.structure [folder of another checkout]`.

Each count has a ceiling in `scripts/ceilings.json`, and a test fails where a count exceeds it. Ceilings only fall:
`python -m scripts.structure --lower` writes those counts that are lower now. A ceiling is raised by hand alone, with
the reason in the commit.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts import parsed
from scripts.rooms import PACKAGE, imported_names, is_upward, loaded_names, module_path, room_of

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_name("ceilings.json")
NAMES = {"frequency", "mean", "variance", "group", "vector", "group-mean", "vector-mean"}
STATISTICS = {"outputs", "supports", "seeds", "keyed", "parts", "joint", "sums", "moments"}
OWNERS = ("core/question/", "core/statistic")
CHANNELS = ("core/channel", "fast/kernels")
DOMAINS = ("core/domain",)
QUESTIONS = ("core/question/",)
LONG = 300  # characters of a syntax tree: about two lines of code
NODES = 22  # of a syntax tree: about two lines of code
BASES = {"Channel", "Domain", "Question"}


def class_nodes(modules: dict[str, ast.Module], rooms: tuple[str, ...] = ("",)) -> list[ast.ClassDef]:
    """The classes at the top of the modules of some rooms."""
    inside = (tree for path, tree in modules.items() if path.startswith(rooms))
    return [item for tree in inside for item in tree.body if isinstance(item, ast.ClassDef)]


def classes(modules: dict[str, ast.Module], rooms: tuple[str, ...]) -> set[str]:
    """The names of the classes that some rooms define."""
    return {item.name for item in class_nodes(modules, rooms)}


class Package(NamedTuple):
    """The modules of the package by their paths: trees, and every node of each tree."""

    source: Path
    modules: dict[str, ast.Module]
    nodes: dict[str, tuple[ast.AST, ...]]

    @classmethod
    def of(cls, root: Path) -> Package:
        """The package in a checkout."""
        source = root / "src" / PACKAGE
        files = {file.relative_to(source).as_posix(): file for file in sorted(source.rglob("*.py"))}
        found = {path: parsed.nodes(file.read_text(encoding="utf-8")) for path, file in files.items()}
        return cls(source, {path: tree[0] for path, tree in found.items()}, found)

    def outside(self, rooms: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
        """All nodes of modules that are not in one of these rooms, with the path of the module."""
        for path, nodes in self.nodes.items():
            if not path.startswith(rooms):
                yield from ((path, node) for node in nodes)


def compared_names(package: Package) -> Counter[str]:
    """Comparisons of a question or a statistic with its name."""
    counts: Counter[str] = Counter()
    for path, node in package.outside(OWNERS):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            compared = {side.attr for side in sides if isinstance(side, ast.Attribute)}
            compared |= {side.id for side in sides if isinstance(side, ast.Name)}
            texts = {leaf.value for side in sides for leaf in ast.walk(side) if isinstance(leaf, ast.Constant)}
            counts[path] += bool(compared & {"question", "statistic", "kind"} and texts & (NAMES | STATISTICS))
    return counts


def checked_types(*rooms: str) -> Callable[[Package], Counter[str]]:
    """Counts checks, outside these rooms, of classes that they define: `isinstance(x, K)` and `type(x) is K`."""

    def count(package: Package) -> Counter[str]:
        kinds = classes(package.modules, rooms) - BASES
        checks = ((path, node) for path, node in package.outside(rooms) if isinstance(node, (ast.Call, ast.Compare)))
        return Counter(path for path, node in checks if kinds & set(_checked(node)))

    return count


def _checked(node: ast.Call | ast.Compare) -> Iterator[str]:
    """The classes that an expression compares the type of a value with."""
    sides: list[ast.expr] = []
    if isinstance(node, ast.Call) and _called(node) == "isinstance":
        sides = node.args[1:]
    elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and _called(node.left) == "type":
        sides = node.comparators
    yield from (leaf.id for side in sides for leaf in ast.walk(side) if isinstance(leaf, ast.Name))


def _called(call: ast.Call) -> str:
    """The function that is called, with the name before its dot."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def members_of_channel(package: Package) -> Counter[str]:
    """Public methods and properties of `Channel`."""
    channel = next(item for item in class_nodes(package.modules, CHANNELS) if item.name == "Channel")
    named = (item.name for item in channel.body if isinstance(item, ast.FunctionDef))
    return Counter(name for name in named if not name.startswith("_"))


def shared_names(package: Package) -> Counter[str]:
    """Names of public classes that stand for more than one class."""
    named = Counter(item.name for item in class_nodes(package.modules) if not item.name.startswith("_"))
    return Counter(name for name, count in named.items() if count > 1)


def late_loads(package: Package) -> Counter[str]:
    """Calls of `load`."""
    return Counter(path for path, nodes in package.nodes.items() for _ in _load_calls(nodes))


def _load_calls(nodes: tuple[ast.AST, ...]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and _called(node) in ("load", "late.load"):
            yield node


def upward_loads(package: Package) -> Counter[str]:
    """Strings that name a module of a room which may not be imported."""
    return Counter(
        path for path, nodes in package.nodes.items() for _, name in loaded_names(nodes) if is_upward(path, name)
    )


def hidden_cycles(package: Package) -> Counter[str]:
    """Late loads of a module of the same room that could not be imports, since that module imports the loading one."""
    imported = {path: set(_imports(package, path)) for path in package.nodes}
    counts: Counter[str] = Counter()
    for path, nodes in package.nodes.items():
        for call in _load_calls(nodes):
            target = call.args[0]
            name = target.value if isinstance(target, ast.Constant) else None
            loaded = module_path(package.source, name) if isinstance(name, str) else None
            if loaded is not None and room_of(loaded) == room_of(path):
                counts[path] += path in _reached(imported, loaded)
    return counts


def _imports(package: Package, path: str) -> Iterator[str]:
    """The modules of the package that a module imports when it is loaded, without those for annotations alone."""
    top = [node for node in package.modules[path].body if not isinstance(node, ast.If)]
    for _, name in imported_names(top, path):
        inside = name.removeprefix(f"{PACKAGE}.")
        for part in (inside, inside.rpartition(".")[0]):
            found = module_path(package.source, part) if part and inside != name else None
            if found is not None:
                yield found
                break


def _reached(imported: dict[str, set[str]], first: str) -> set[str]:
    """All modules that are loaded with one."""
    reached, left = {first}, [first]
    while left:
        new = imported[left.pop()] - reached
        reached |= new
        left += new
    return reached


def repeated_bodies(package: Package) -> Counter[str]:
    """Functions whose statements stand to the letter in another function before, docstrings aside; short ones may."""
    known: set[str] = set()
    counts: Counter[str] = Counter()
    for path, nodes in package.nodes.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                body = _dumped(node)
                counts[path] += len(body) > LONG and body in known
                known.add(body)
    return counts


def alike_functions(package: Package) -> Counter[str]:
    """Functions that differ from one before in names and texts alone; short ones may."""
    known: set[str] = set()
    counts: Counter[str] = Counter()
    for path, nodes in package.nodes.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and sum(len(list(ast.walk(one))) for one in _statements(node)) > NODES:
                arguments = "".join(f"id='{argument.arg}'" for argument in node.args.args)
                shape = _unnamed(arguments + _dumped(node))
                counts[path] += shape in known
                known.add(shape)
    return counts


@cache
def _dumped(function: ast.FunctionDef) -> str:
    """The statements of a function as text."""
    return "".join(map(ast.dump, _statements(function)))


def _unnamed(dump: str) -> str:
    """A syntax tree whose names are numbered in the order in which they come, and whose texts are all alike."""
    numbers: dict[str, int] = {}
    named = re.sub(r"\bid='(\w+)'", lambda name: f"id={numbers.setdefault(name[1], len(numbers))}", dump)
    return re.sub(r"""value=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", "value=text", named)


def forwarding_functions(package: Package) -> Counter[str]:
    """Methods without a docstring that only pass on to a part with the same arguments: `delegated` declares them."""
    counts: Counter[str] = Counter()
    for path, nodes in package.nodes.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and len(node.body) == 1 and isinstance(node.body[0], ast.Return):
                called = node.body[0].value
                names = [argument.arg for argument in node.args.args[1:]]
                if isinstance(called, ast.Call) and [ast.unparse(one) for one in called.args] == names:
                    counts[path] += _is_of_a_part(called.func) and not called.keywords and not node.decorator_list
                decorators = [ast.unparse(one) for one in node.decorator_list]
                counts[path] += decorators == ["property"] and _is_of_a_part(called)
    return counts


def _is_of_a_part(node: ast.expr | None) -> bool:
    """Whether an expression is `self.part.member`."""
    return (
        node is not None
        and ast.unparse(node).startswith("self.")
        and ast.unparse(node).replace(".", "_").isidentifier()
    )


def constant_properties(package: Package) -> Counter[str]:
    """Properties without a docstring that return the same for all objects: a constant of the class would do."""
    counts: Counter[str] = Counter()
    for path, nodes in package.nodes.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and [ast.unparse(one) for one in node.decorator_list] == ["property"]:
                leaves = {leaf.id for leaf in ast.walk(node.body[0]) if isinstance(leaf, ast.Name)}
                returns = len(node.body) == 1 and isinstance(node.body[0], ast.Return)
                counts[path] += returns and not leaves & {"self", "super"}
    return counts


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """The body of a function without its docstring."""
    return function.body[ast.get_docstring(function, clean=False) is not None :]


def lengths(package: Package) -> Counter[str]:
    """Lines of each module."""
    return Counter({path: len((package.source / path).read_bytes().splitlines()) for path in package.modules})


def lines(package: Package) -> Counter[str]:
    """Lines of source, by room."""
    counts: Counter[str] = Counter()
    for path, length in lengths(package).items():
        counts[room_of(path)] += length
    return counts


def longest(package: Package) -> Counter[str]:
    """Lines of the longest module."""
    return Counter(dict(lengths(package).most_common(1)))


COUNTS: dict[str, Callable[[Package], Counter[str]]] = {
    "checks of channel nodes outside their rooms": checked_types(*CHANNELS),
    "checks of domains outside their room": checked_types(*DOMAINS),
    "checks of questions outside their room": checked_types(*QUESTIONS),
    "comparisons with names of questions or statistics": compared_names,
    "late loads": late_loads,
    "late loads that hide a cycle inside a room": hidden_cycles,
    "upward loads in strings": upward_loads,
    "members of Channel": members_of_channel,
    "class names used twice": shared_names,
    "functions written twice": repeated_bodies,
    "functions alike but for names": alike_functions,
    "functions that only forward to a part": forwarding_functions,
    "constants written as properties": constant_properties,
    "lines of src": lines,
    "lines of the longest module": longest,
}


def ceilings() -> dict[str, int]:
    """The largest number allowed for each count."""
    known: dict[str, int] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    return known


def exceeded(name: str, counts: Counter[str], ceiling: int) -> str | None:
    """The sentence for a count above its ceiling, with where it is counted; None for all others."""
    total = counts.total()
    if total <= ceiling:
        return None
    places = ", ".join(f"{place} {count}" for place, count in counts.most_common(40) if count)
    return f"{name}: {total}, above the ceiling of {ceiling}: {places}."


def main(root: Path, lower: bool) -> None:
    package, known = Package.of(root), ceilings()
    totals = {name: count(package).total() for name, count in COUNTS.items()}
    for name, total in totals.items():
        print(f"{name}: {total:,} (ceiling {known.get(name, total):,})")
    if lower:
        fallen = {name: min(total, known.get(name, total)) for name, total in totals.items()}
        CEILINGS.write_text(json.dumps(fallen, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    folders = [argument for argument in sys.argv[1:] if argument != "--lower"]
    main(Path(folders[0]) if folders else ROOT, "--lower" in sys.argv)
