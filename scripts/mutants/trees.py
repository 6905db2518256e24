"""Copies of the repository in which pytest runs, so that a mutant never touches the files of a person."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from scripts.mutants.operators import Mutant
from scripts.mutants.plugin import CHOSEN, NOTES, TRACE
from scripts.mutants.warm import FIXED, end, start

ONE_TEST = 90.0  # seconds that a test may take beside many times its usual time: a kernel may have to be compiled
TIMES_USUAL = 20
COLLECTING = 240.0  # seconds
TICK = 0.1
OPTIONS = ("-n", "0", "-q", "-p", "no:cacheprovider", "-p", "scripts.mutants.plugin")
SEED = "SOTTOVOCE_TEST_SEED"
COMPILES = re.compile(r"\b(compiled|njit)\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a mutant was noticed: `killer` is the test, "" if none; `finished` is whether all tests were run."""

    killer: str
    why: str
    finished: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """One copy, with a Numba cache of its own that holds kernels of the unchanged source only."""

    folder: Path
    numba: Path

    def trace(self, files: Sequence[str], target: Path, *, slow: bool, seconds: float) -> None:
        """Runs the quick or the slow tests of some files and writes down which lines they run."""
        chosen = "slow and not long" if slow else "not slow and not long"
        process = self._pytest(["-m", chosen, *files], {TRACE: str(target)}, self.numba)
        process.join(seconds)
        end(process)

    def run(
        self, mutant: Mutant, tests: Sequence[str], usual: dict[str, float], *, stale: Iterable[str], seconds: float
    ) -> Outcome:
        """Runs tests against a mutant until one fails or the time is up; `stale` files have their kernels compiled."""
        path = self.folder / mutant.file
        before = {name: (self.folder / name).stat() for name in {mutant.file, *stale}}
        source = path.read_text(encoding="utf-8")
        cache = self.numba
        if any(COMPILES.search((self.folder / name).read_text(encoding="utf-8")) for name in before):
            cache = self.numba.with_name(self.numba.name + "-mutant")
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(self.numba, cache, copy_function=os.link)
        try:
            path.write_text(mutant.apply(source), encoding="utf-8")
            # Both Python and Numba tell a changed file by its time, which two mutants in one second would share.
            now = time.time_ns()
            for name in before:
                os.utime(self.folder / name, ns=(now, now))
            return self._watched(tests, usual, cache, seconds)
        finally:
            path.write_text(source, encoding="utf-8")
            for name, status in before.items():
                os.utime(self.folder / name, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _watched(self, tests: Sequence[str], usual: dict[str, float], cache: Path, seconds: float) -> Outcome:
        chosen, notes = self.folder / ".chosen.json", self.folder / ".notes.jsonl"
        chosen.write_text(json.dumps(list(tests)), encoding="utf-8")
        notes.write_text("", encoding="utf-8")
        files = list(dict.fromkeys(name.split("::")[0] for name in tests))
        process = self._pytest(["-x", *files], {CHOSEN: str(chosen), NOTES: str(notes)}, cache)
        until, current, since = time.monotonic() + seconds, "", time.monotonic()
        while process.is_alive():
            process.join(TICK)
            began = [note["began"] for note in _notes(notes) if "began" in note]
            if began and began[-1] != current:
                current, since = began[-1], time.monotonic()
            allowed = ONE_TEST + TIMES_USUAL * usual.get(current, 0.0) if current else COLLECTING
            if time.monotonic() - since > allowed:
                end(process)
                return Outcome(current or "collection", "took too long", True)
            if time.monotonic() > until:
                end(process)
                return Outcome("", "ran out of time", False)
        failed = [note for note in _notes(notes) if "failed" in note]
        if failed:
            return Outcome(failed[0]["failed"], failed[0]["why"], True)
        if process.exitcode in (-signal.SIGKILL, -signal.SIGTERM):
            return Outcome("", "were ended from outside", False)
        if process.exitcode not in (0, 5):
            return Outcome("pytest", f"ended with code {process.exitcode}", True)
        return Outcome("", "", True)

    def _pytest(self, arguments: list[str], settings: dict[str, str], cache: Path) -> ForkServerProcess:
        environment = {name: value for name, value in os.environ.items() if name not in (SEED, "HYPOTHESIS_PROFILE")}
        environment |= (
            FIXED
            | settings
            | {
                "PYTHONPATH": os.pathsep.join(str(self.folder / name) for name in ("src", "experiments")),
                "NUMBA_CACHE_DIR": str(cache),
                "PYTHONDONTWRITEBYTECODE": "" if TRACE in settings else "1",
            }
        )
        return start(self.folder, [*OPTIONS, *arguments], environment)


def copy_tree(root: Path, folder: Path) -> Tree:
    """A fresh copy of every file of the repository, as it lies there, committed or not."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    tree = Tree(folder, folder.with_name(folder.name + "-numba"))
    tree.numba.mkdir(parents=True, exist_ok=True)
    wanted = {name for name in names if name and (root / name).is_file()}
    for path in [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]:
        if path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    changed = [name for name in wanted if not _same(root / name, folder / name)]
    for name in changed:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, folder / name)
    # A kernel of another file may use what changed.
    if any(name.startswith(("src/", "experiments/")) for name in changed):
        shutil.rmtree(tree.numba)
        tree.numba.mkdir()
    return tree


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def _notes(path: Path) -> list[dict[str, str]]:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]
