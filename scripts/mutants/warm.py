"""Pytest in a process that is forked from one that has imported what all tests import, but nothing of the package.

Importing pytest, Hypothesis, SciPy and Numba takes longer than most mutants live.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from signal import SIGKILL

PRELOADED = ("pytest", "coverage", "hypothesis", "numba", "scipy.optimize", "scipy.stats", __name__)
# Read before the program runs or when NumPy is imported, so a forked process inherits what the server began with.
FIXED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}


def server() -> ForkServerContext:
    """The context of the server, which starts with the first process."""
    os.environ.update(FIXED)
    context = get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def start(folder: Path, arguments: list[str], environment: dict[str, str]) -> ForkServerProcess:
    """Pytest in a folder, with this environment and no other; what it prints goes to `.output.txt` there."""
    process = server().Process(target=_pytest, args=(str(folder), arguments, environment))
    process.start()
    return process


def end(process: ForkServerProcess) -> None:
    """Ends a process that this program started, with everything that one started."""
    if process.pid is not None:
        with suppress(ProcessLookupError):  # no group: it has ended, or is too young to lead one
            os.killpg(process.pid, SIGKILL)
    process.kill()
    process.join()


def _pytest(folder: str, arguments: list[str], environment: dict[str, str]) -> None:
    import numba
    import pytest

    if "sottovoce" in sys.modules:
        raise RuntimeError("The package is imported before its mutant is.")
    os.setsid()
    os.chdir(folder)
    with open(".output.txt", "wb") as output:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    numba.core.config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [folder, *(os.path.join(folder, name) for name in ("src", "experiments"))]
    sys.argv = ["pytest", *arguments]
    sys.exit(pytest.main(arguments))
