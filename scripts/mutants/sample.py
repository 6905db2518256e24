"""Which files are mutated, which of them decide privacy, and the seeded sample of their mutants."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatch
from itertools import islice
from math import log, sqrt
from pathlib import Path

from scripts.mutants.operators import Mutant, mutants

PACKAGE = "src/sottovoce"
ROOMS = ("core", "mechanisms", "fast", "tally", "estimate", "privacy", "client")
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
    "core/*", "mechanisms/*", "client/*", "privacy/*", "fast/kernels/*", "fast/words.py", "fast/batch.py",
    "estimate/frequency/intervals/binomials.py", "estimate/frequency/evidence.py", "estimate/frequency/base.py",
    "estimate/frequency/supports.py", "estimate/frequency/contrasts.py", "estimate/frequency/matrix.py",
    "estimate/estimate.py", "estimate/evidence.py", "estimate/reading.py",
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
    """A sample without repetition, spread over rooms, files and operators, that unchanged code keeps.

    Each mutant waits for a time of its own: exponential, from a hash of its texts and the seed, with its weight as the
    rate. The `count` shortest are the sample. A change elsewhere leaves the hash as it is and shifts weights a little,
    so that only the last places change.
    """
    found = candidates(root, only)
    rates = weights(found)
    waiting = sorted(found, key=lambda mutant: _exponential(f"{seed}|{mutant.name}") / rates[_pool(mutant)])
    return list(islice((mutant for mutant in waiting if _compiles(mutant, root)), count))


def _pool(mutant: Mutant) -> tuple[str, str]:
    return mutant.file, mutant.operator


def weights(found: Iterable[Mutant]) -> dict[tuple[str, str], float]:
    """The weight of one mutant by its file and operator.

    Rooms and files weigh the root of their size, so that small ones are seen as well, and critical files more; all
    operators of a file weigh the same, so that the frequent ones do not push the others out.
    """
    pools = Counter(map(_pool, found))
    sizes, operators, rooms = Counter[str](), Counter[str](), Counter[str]()
    for (file, _), size in pools.items():
        sizes[file] += size
        operators[file] += 1
        rooms[room(file)] += size
    of_file = {file: sqrt(size) * (CRITICAL_SHARE if is_critical(file) else 1) for file, size in sizes.items()}
    of_files = {name: sum(of_file[file] for file in sizes if room(file) == name) for name in rooms}
    return {
        (file, operator): sqrt(rooms[room(file)]) * of_file[file] / of_files[room(file)] / operators[file] / size
        for (file, operator), size in pools.items()
    }


def _exponential(text: str) -> float:
    """A number from the exponential law of mean one that depends on the text alone."""
    drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return -log((drawn + 0.5) / 2**64)


def _compiles(mutant: Mutant, root: Path) -> bool:
    try:
        compile(mutant.apply((root / mutant.file).read_text(encoding="utf-8")), mutant.file, "exec")
    except SyntaxError:
        return False
    return True
