"""Fixtures that every test may use: the seed, tools of the system, and data that is not in the repository."""

from __future__ import annotations

import gc
import glob
import os
import shutil
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is imported, and for the processes that tests start: threads of OpenBLAS wait for each other by spinning,
# and on cores that are busy with another worker a product of two short vectors then takes ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Tests design anew: a design on disk would hide a mistake in what the searches import.
os.environ.setdefault("SOTTOVOCE_CACHE", "off")

DEFAULT_SEED = 20_250_117
SEED_VARIABLE = "SOTTOVOCE_TEST_SEED"
DATA_VARIABLE = "SOTTOVOCE_DATA"

# One program may go by several names, and Debian keeps PostgreSQL's server programs off PATH.
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome")}
OTHER_PLACES = "/usr/lib/postgresql/*/bin"

# "ci" is the default: the same examples on every run, no deadline, because compiling kernels is slow once.
# HYPOTHESIS_PROFILE=explore looks for new ones.
_slow_is_fine = [HealthCheck.too_slow]
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=_slow_is_fine)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def chosen_seed() -> int:
    """The seed of this run: fixed by default, so that a statistical test never fails by chance alone."""
    text = os.environ.get(SEED_VARIABLE, str(DEFAULT_SEED))
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"{SEED_VARIABLE} must be an integer. Got {text!r}.") from None


def find_tool(name: str) -> str | None:
    """The path of a program of the system, or None."""
    for candidate in (name, *OTHER_NAMES.get(name, ())):
        if path := shutil.which(candidate):
            return path
    found = sorted(glob.glob(f"{OTHER_PLACES}/{name}"), key=lambda path: int(Path(path).parts[-3]))
    return found[-1] if found else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """All that is collected stays to the end: looking for garbage in it, now or later, finds none."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_runtest_teardown() -> None:
    """Close the pictures of a test: those of twenty tests in one worker would be a warning, which fails the next."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def pytest_report_header(config: pytest.Config) -> str:
    return f"sottovoce: seed {chosen_seed()} (set {SEED_VARIABLE} for another)"


@pytest.fixture(scope="session")
def seed() -> int:
    return chosen_seed()


@pytest.fixture(scope="session")
def require_tool() -> Callable[[str], str]:
    """`require_tool("initdb")` is the program's path; without it CI fails and a person's run skips."""

    def require(name: str) -> str:
        if path := find_tool(name):
            return path
        reason = f"This test needs the program '{name}'; `make system-deps` installs it."
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    return require


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`shared_data("name")` is a file or folder under SOTTOVOCE_DATA, which is no part of the product."""

    def find(name: str) -> Path:
        folder = os.environ.get(DATA_VARIABLE)
        if not folder:
            pytest.skip(f"This test needs {DATA_VARIABLE} to name the folder that holds '{name}'.")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"This test needs '{name}', which the folder in {DATA_VARIABLE} does not hold.")
        return path

    return find
