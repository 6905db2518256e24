"""Which files are mutated, which of them decide privacy, and the seeded sample of their mutants."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from math import sqrt
from pathlib import Path

from scripts.mutants.operators import OPERATORS, Mutant, mutants

PACKAGE = "src/sottovoce"
ROOMS = ("core", "fast", "tally", "estimate", "privacy", "client")
# Studies that are commands, pictures, and sentences for people.
LEFT_OUT = (
    "*/__init__.py",
    "*/coverage.py",
    "*/coverage_*.py",
    "*/plot.py",
    "*/explain.py",
    "*/errors.py",
    "*/late.py",
)
# What decides ratio, likelihood, odds, coins, sampling, audit, refusals of a device, and intervals.
CRITICAL = (
    "core/channel/*", "core/domain/*", "core/coins.py", "core/rational.py", "core/exact.py", "core/mechanism.py",
    "core/codec.py", "core/hashing.py", "core/round.py", "core/params.py", "privacy/audit.py", "privacy/follow.py",
    "privacy/blackbox.py", "client/*", "fast/kernels/*", "fast/words.py", "fast/batch.py",
    "estimate/shares/binomials.py", "estimate/shares/evidence.py", "estimate/shares/base.py",
    "estimate/shares/supports.py", "estimate/shares/contrasts.py", "estimate/shares/matrix.py",
    "estimate/estimate.py", "estimate/evidence.py",
)  # fmt: skip
CRITICAL_SHARE = 3  # a critical file is sampled so many times as often as another one of the same size


def files(root: Path, only: str = "") -> list[str]:
    """The files that are mutated, relative to the root; `only` keeps those whose path contains it."""
    found = [path for room in ROOMS for path in sorted((root / PACKAGE / room).rglob("*.py"))]
    names = [path.relative_to(root).as_posix() for path in found]
    return [name for name in names if only in name and not any(fnmatch(name, pattern) for pattern in LEFT_OUT)]


def is_critical(file: str) -> bool:
    """Whether a mistake in this file could break a promise of privacy or of an interval."""
    return any(fnmatch(file, f"{PACKAGE}/{pattern}") for pattern in CRITICAL)


def room(file: str) -> str:
    """The room of a file."""
    return file.removeprefix(PACKAGE + "/").split("/")[0]


def candidates(root: Path, only: str = "") -> list[Mutant]:
    """Every mutant of every file."""
    return [m for name in files(root, only) for m in mutants((root / name).read_text(encoding="utf-8"), name)]


def sample(root: Path, *, count: int, seed: int, only: str = "") -> list[Mutant]:
    """A sample without repetition: a room, a file of it, an operator, one of its mutants.

    Rooms and files are drawn by the root of their size, so that small ones are seen as well, and critical files more
    often; all operators of a file are equally likely, so that the frequent ones do not push the others out.
    """
    chooser = random.Random(seed)
    rooms: dict[str, dict[str, dict[str, list[Mutant]]]] = {}
    for mutant in candidates(root, only):
        pool = rooms.setdefault(room(mutant.file), {}).setdefault(mutant.file, {})
        pool.setdefault(mutant.operator, []).append(mutant)
    sizes = {file: sum(map(len, pool.values())) for pools in rooms.values() for file, pool in pools.items()}
    room_weights = {name: sqrt(sum(sizes[file] for file in pools)) for name, pools in rooms.items()}
    file_weights = {file: sqrt(size) * (CRITICAL_SHARE if is_critical(file) else 1) for file, size in sizes.items()}
    chosen: list[Mutant] = []
    while rooms and len(chosen) < count:
        pools = rooms[_drawn(chooser, rooms, room_weights)]
        operators = pools[_drawn(chooser, pools, file_weights)]
        left = operators[chooser.choice([name for name in OPERATORS if name in operators])]
        mutant = left.pop(chooser.randrange(len(left)))
        _without_empty(rooms, mutant)
        if _compiles(mutant, root):
            chosen.append(mutant)
    return chosen


def _drawn(chooser: random.Random, names: Iterable[str], weights: Mapping[str, float]) -> str:
    listed = list(names)
    return chooser.choices(listed, [weights[name] for name in listed])[0]


def _without_empty(rooms: dict[str, dict[str, dict[str, list[Mutant]]]], mutant: Mutant) -> None:
    """Removes what became empty when the mutant was taken out."""
    files_left = rooms[room(mutant.file)]
    operators = files_left[mutant.file]
    if not operators[mutant.operator]:
        del operators[mutant.operator]
    if not operators:
        del files_left[mutant.file]
    if not files_left:
        del rooms[room(mutant.file)]


def _compiles(mutant: Mutant, root: Path) -> bool:
    try:
        compile(mutant.apply((root / mutant.file).read_text(encoding="utf-8")), mutant.file, "exec")
    except SyntaxError:
        return False
    return True
