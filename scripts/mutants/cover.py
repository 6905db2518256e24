"""The map of covered lines: which test runs which line, kept for each test file until it or what it runs changes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from scripts.mutants.graph import Graph
from scripts.mutants.operators import Mutant
from scripts.mutants.trees import Tree

# These look at the repository, build the wheel, or run the commands of this folder.
NOT_TRACED = (
    "tests/whole/test_repository.py",
    "tests/release/test_wheel.py",
    "tests/whole/test_mutants.py",
    "tests/whole/test_rooms.py",
)
TRACING = 3000.0  # seconds that the test files of one process may take
TOGETHER = 8  # test files that are traced in one process
FIRST_FILES, FIRST_SECONDS = 5, 12.0  # of the first batch of tests
FURTHER_CASE = 0.05  # added to the cost of a test for each case of the same function that comes before it
MOST_SECONDS = 120.0  # that the tests of the second batch took when they were traced


@dataclass(frozen=True, slots=True)
class Traced:
    """One test that passes on the unchanged source: its time, that of collecting its file, and the lines it runs."""

    name: str
    seconds: float
    collecting: float
    lines: int

    @property
    def file(self) -> str:
        return self.name.split("::")[0]

    @property
    def cost(self) -> float:
        """Small for a test that is quick and about little else: it more likely looks at this very line."""
        return self.seconds + self.collecting / 10 + self.lines / 1000


@dataclass(frozen=True, slots=True)
class Cover:
    """Which tests run which line, and which test files run it already while they are collected."""

    tests: dict[str, Traced]
    lines: dict[tuple[str, int], set[str]]
    collected: dict[tuple[str, int], set[str]]

    def selected(self, mutant: Mutant, graph: Graph) -> list[str]:
        """The tests of a mutant, likely killers first; what runs while a file is collected may feed all its tests."""
        places = {(mutant.file, line) for line in range(mutant.lines[0], mutant.lines[1] + 1)}
        around = graph.around(mutant.file, mutant.lines[0])
        callers: set[str] = set()
        if around is not None and around.hidden:
            callers = graph.callers(around)
            entries = graph.entries(around)
            places = places | entries if mutant.function else entries  # a constant is computed at import, for all
        direct = {name for place in places for name in self.lines.get(place, ())}
        direct |= {name for name in self.tests if name.split("[")[0] in callers}
        fed = {file for place in places for file in self.collected.get(place, ())}
        others = {test.name for test in self.tests.values() if test.file in fed} - direct
        return self.ordered(direct) + self.ordered(others)

    def ordered(self, names: Iterable[str]) -> list[str]:
        """By cost, where each further case of one test function counts as dearer than the one before it."""
        turn: dict[str, int] = {}
        turns = []
        for test in sorted((self.tests[name] for name in names), key=lambda test: (test.cost, test.name)):
            function = test.name.split("[")[0]
            turn[function] = turn.get(function, -1) + 1
            turns.append((test.cost + FURTHER_CASE * turn[function], test.name))
        return [name for _, name in sorted(turns)]

    def batches(self, names: list[str]) -> list[list[str]]:
        """A few cheap tests of few files, then others: collecting many files takes longer than most tests.

        A line that nearly every test runs would otherwise have all of them; of those that take long in sum, what comes
        late in the order is left out.
        """
        files: set[str] = set()
        first: list[str] = []
        seconds = 0.0
        for name in names:
            test = self.tests[name]
            if test.file not in files and (len(files) == FIRST_FILES or seconds + test.collecting > FIRST_SECONDS):
                continue
            if seconds + test.seconds > FIRST_SECONDS:
                continue
            seconds += test.seconds + (0.0 if test.file in files else test.collecting)
            files.add(test.file)
            first.append(name)
        taken = set(first)
        rest = [name for name in names if name not in taken]
        kept, seconds = [], 0.0
        for name in rest:
            seconds += self.tests[name].seconds
            if seconds <= MOST_SECONDS:
                kept.append(name)
        return [batch for batch in (first, kept) if batch]


def read_cover(root: Path, folder: Path, trees: list[Tree], *, slow: bool) -> Cover:
    """The map, after tracing the test files whose part of it is missing or out of date."""
    helpers = [path for path in sorted((root / "tests").rglob("*.py")) if not path.name.startswith("test_")]
    shared = _digest(helpers)
    files = [path.relative_to(root).as_posix() for path in sorted((root / "tests").rglob("test_*.py"))]
    files = [name for name in files if name not in NOT_TRACED]
    parts = {name: folder / (name.replace("/", "-") + (".slow" if slow else ".quick") + ".json") for name in files}
    stale = [name for name in files if not _is_fresh(parts[name], root, name, shared)]
    free: Queue[Tree] = Queue()
    for tree in trees:
        free.put(tree)

    def trace(names: Sequence[str]) -> None:
        tree = free.get()
        print(f"tracing {', '.join(names)} ({'slow' if slow else 'quick'} tests)", flush=True)
        raw = tree.folder / ".trace.json"
        raw.unlink(missing_ok=True)
        tree.trace(names, raw, slow=slow, seconds=TRACING)
        found = json.loads(raw.read_text(encoding="utf-8")) if raw.exists() else {}
        sources = {file: _digest([tree.folder / file]) for file in found.get("lines", {})}
        for name in names:
            part = _part(found, name, len(names)) | {"key": _digest([tree.folder / name]) + shared, "sources": sources}
            parts[name].write_text(json.dumps(part), encoding="utf-8")
        free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        list(pool.map(trace, _together(stale)))
    return _joined(parts.values())


def _together(files: Iterable[str]) -> list[list[str]]:
    """Files of one folder that are traced in one process: importing the package takes longer than most tests."""
    folders: dict[str, list[str]] = {}
    for name in files:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    return [names[at : at + TOGETHER] for names in folders.values() for at in range(0, len(names), TOGETHER)]


def _part(found: dict[str, Any], file: str, files: int) -> dict[str, Any]:
    """What one test file ran. Lines that were run while several files were collected are counted for each of them."""
    if "names" not in found:
        return {}
    mine = {0} | {number for number, name in enumerate(found["names"]) if name.startswith(f"{file}::")}
    place = {number: new for new, number in enumerate(sorted(mine))}
    lines = {
        source: {line: [place[one] for one in numbers if one in mine] for line, numbers in numbered.items()}
        for source, numbered in found["lines"].items()
    }
    names = [found["names"][number] for number in sorted(mine)]
    tests = {name: found["tests"][name] for name in names[1:]}
    return {"collected": found["collected"] / files, "names": names, "tests": tests, "lines": lines}


def _is_fresh(part: Path, root: Path, name: str, shared: str) -> bool:
    if not part.exists():
        return False
    found = json.loads(part.read_text(encoding="utf-8"))
    if found["key"] != _digest([root / name]) + shared:
        return False
    return all((root / file).exists() and _digest([root / file]) == key for file, key in found["sources"].items())


def _joined(parts: Iterable[Path]) -> Cover:
    cover = Cover({}, {}, {})
    for part in parts:
        found = json.loads(part.read_text(encoding="utf-8"))
        if "names" not in found:
            print(f"{part.stem}: no lines were traced, so its tests are not used")
            continue
        names, passed = found["names"], {name for name, test in found["tests"].items() if test["passed"]}
        seconds = {name: found["tests"][name]["seconds"] for name in passed}
        run = Counter(number for numbered in found["lines"].values() for ns in numbered.values() for number in ns)
        counts = {name: run[number] for number, name in enumerate(names)}
        tests = {name: Traced(name, seconds[name], found["collected"], counts[name]) for name in passed}
        cover.tests.update(tests)
        for file, numbered in found["lines"].items():
            for line, numbers in numbered.items():
                runs = {names[number] for number in numbers} & passed
                cover.lines.setdefault((file, int(line)), set()).update(runs)
                if 0 in numbers and passed:
                    cover.collected.setdefault((file, int(line)), set()).add(next(iter(passed)).split("::")[0])
    return cover


def _digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
