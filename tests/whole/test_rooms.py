"""Who may import whom: the device side is standard library only, and imports point one way.

Stubs (`.pyi`) may name any room: only type checkers read them.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.parsed import nodes
from scripts.rooms import (
    ALLOWED,
    BESIDE,
    DEVICE,
    NAMES_UPWARD,
    PACKAGE,
    ROOF,
    TOP,
    imported_names,
    is_upward,
    loaded_names,
    module_path,
    room_of,
)

TESTS = Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent / "src" / PACKAGE
EXPERIMENTS = TESTS.parent / "experiments" / BESIDE
RUNS_EXPERIMENTS = "cli/reproduce.py"
LONGEST_FILE = 450
FULLEST_FOLDER = 24  # modules, with __init__; one module for each decoder

STDLIB_ONLY = {"__init__", *DEVICE}
# Only Coins may draw: generators that can be predicted stay out of the rooms that randomise.
NO_GENERATORS = {*DEVICE, "fast"}
BINDS_BY_NAME = "core/late.py"
# These load code by a name that this test cannot see; reading metadata and data files is harmless.
LOADERS = {"importlib", "pkgutil", "runpy", "imp", "zipimport"}
HARMLESS = {"importlib.metadata", "importlib.resources"}
LOADING_CALLS = {"__import__", "exec", "eval"}


def import_fault(path: str, name: str) -> str | None:
    """Why this file may not import this name, or None."""
    room = room_of(path)
    parts = name.split(".")
    if parts[0] == BESIDE:
        allowed = room == BESIDE or path == RUNS_EXPERIMENTS
        return None if allowed else f"imports '{name}', which is not in the wheel"
    if parts[0] == PACKAGE:
        if len(parts) == 1 or (parts[1] not in ALLOWED and parts[1] != "__version__"):
            # Through the package's face any room could reach any other.
            return None if room in {*ROOF, *TOP, BESIDE} else f"imports '{name}' through the package's face"
        if parts[1] in (room, "__version__") or parts[1] in ALLOWED[room]:
            return None
        return f"imports '{name}', but {room} may not import {parts[1]}"
    if room in STDLIB_ONLY and parts[0] not in sys.stdlib_module_names:
        return f"imports '{name}', but {room} is standard library only"
    if room in NO_GENERATORS and (parts[0] == "random" or parts[:2] == ["numpy", "random"]):
        return f"imports '{name}', but only Coins may draw in {room}"
    if room in STDLIB_ONLY and path != BINDS_BY_NAME and parts[0] in LOADERS:
        return None if ".".join(parts[:2]) in HARMLESS and len(parts) > 1 else f"loads by name with '{name}'"
    return None


def load_fault(path: str, name: str) -> str | None:
    """Why this file may not name this module in a string, or None."""
    if not is_upward(path, name):
        return None
    return f"loads '{name}' by a string, but {room_of(path)} may not import {name.partition('.')[0]}"


def use_fault(path: str, node: ast.AST) -> str | None:
    """Why this file may not use this expression, or None."""
    room = room_of(path)
    if isinstance(node, ast.Name) and node.id in LOADING_CALLS:
        return f"uses {node.id}" if room in STDLIB_ONLY and path != BINDS_BY_NAME else None
    # `import importlib.metadata` binds importlib whole; `from importlib import metadata` does not.
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        dotted = f"{node.value.id}.{node.attr}"
        if room in STDLIB_ONLY and path != BINDS_BY_NAME and dotted == "importlib.import_module":
            return "loads by name with importlib.import_module"
        if room in NO_GENERATORS and dotted in ("np.random", "numpy.random"):
            return f"uses {dotted}, but only Coins may draw in {room}"
    return None


def faults(path: str, source: str) -> list[str]:
    """All that is wrong with one file of the package, one sentence each."""
    if room_of(path) not in ALLOWED:
        return [f"{path}: '{room_of(path)}' is no room of the design"]
    found = [(line, import_fault(path, name)) for line, name in imported_names(nodes(source), path)]
    found += [(line, load_fault(path, name)) for line, name in loaded_names(nodes(source))]
    found += [(getattr(node, "lineno", 0), use_fault(path, node)) for node in nodes(source)]
    said = [f"{path}:{line}: {fault}" for line, fault in sorted(found, key=lambda pair: pair[0]) if fault]
    if (length := len(source.splitlines())) > LONGEST_FILE:
        said.append(f"{path}: {length} lines, more than {LONGEST_FILE}")
    return said


def test_the_source_keeps_to_its_rooms() -> None:
    files = {file.relative_to(SOURCE).as_posix(): file for file in sorted(SOURCE.rglob("*.py"))}
    files |= {file.relative_to(EXPERIMENTS.parent).as_posix(): file for file in sorted(EXPERIMENTS.rglob("*.py"))}
    assert files, "The package has no source."
    found = [fault for path, file in files.items() for fault in faults(path, file.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)


BAD = {
    "third party in core": ("core/a.py", "import numpy as np"),
    "third party in mechanisms, by from": ("mechanisms/frequency/a.py", "from scipy.stats import norm"),
    "third party behind TYPE_CHECKING": (
        "client/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
    ),
    "third party in the package's face": ("__init__.py", "import numpy"),
    "analysis in the package's face": ("__init__.py", "from .study import Study"),
    "device to analysis inside a function": (
        "mechanisms/frequency/a.py",
        "def f():\n    from sottovoce.fast import kernels\n",
    ),
    "device to analysis, relative": ("core/a.py", "from ..fast import kernels"),
    "device to analysis, relative, no module": ("core/domain/a.py", "from ... import tally"),
    "device upwards": ("core/a.py", "from sottovoce.mechanisms.frequency import grr"),
    "device upwards, plain import": ("mechanisms/a.py", "import sottovoce.client.ledger"),
    "analysis upwards": ("tally/a.py", "from ..estimate import results"),
    "between neighbours": ("design/a.py", "from sottovoce.privacy import audit"),
    "library to service": ("study/a.py", "from sottovoce.service.stores import SQLite"),
    "library to command line": ("service/a.py", "from sottovoce.cli import main"),
    "testing to experiments": ("testing/a.py", "import sottovoce_experiments"),
    "another command to experiments": ("cli/bench.py", "from sottovoce_experiments.catalogue import find"),
    "experiments to service": (f"{BESIDE}/a.py", "from sottovoce.service import app"),
    "library to testing": ("estimate/a.py", "from ..testing import check_mechanism"),
    "round the corner": ("core/a.py", "import sottovoce as sv"),
    "round the corner, by from": ("fast/a.py", "from sottovoce import Study"),
    "round the corner, star": ("fast/a.py", "from sottovoce import *"),
    "device upwards, in a string": ("client/a.py", "load('service.stores:open')"),
    "analysis upwards, in a string": ("tally/a.py", "late.load('estimate.combine:combine')"),
    "analysis upwards, in a table": ("estimate/a.py", "TABLE = {'plan': 'study.plan:plan'}\nload(TABLE['plan'])"),
    "analysis upwards, in a string that is put together": ("fast/a.py", "load(f'estimate.{room}.evidence:answer')"),
    "random in core": ("core/coins.py", "import random"),
    "random in a mechanism": ("mechanisms/a.py", "def f():\n    from random import random\n"),
    "random in fast": ("fast/a.py", "import random"),
    "numpy's generators in fast, imported": ("fast/a.py", "from numpy.random import default_rng"),
    "numpy's generators in fast, imported whole": ("fast/a.py", "from numpy import random"),
    "numpy's generators in fast, used": ("fast/a.py", "import numpy as np\nx = np.random.default_rng()"),
    "importlib in core": ("core/registry.py", "import importlib"),
    "importlib in client": ("client/a.py", "from importlib import import_module"),
    "importlib under cover of metadata": (
        "core/a.py",
        "import importlib.metadata\nimportlib.import_module('numpy')",
    ),
    "importlib in a file merely called late": ("client/late.py", "import importlib"),
    "third party in late": ("core/late.py", "import numpy"),
    "__import__ in mechanisms": ("mechanisms/a.py", "np = __import__('numpy')"),
    "exec in core": ("core/a.py", "exec('import numpy')"),
    "unknown room": ("helpers/a.py", "x = 1"),
    "too long": ("core/a.py", "x = 1\n" * (LONGEST_FILE + 1)),
}

GOOD = {
    "batch verbs, in a string": ("core/batches.py", "load('fast.batch:privatize')"),
    "kernel of a statistic, in a string": ("core/statistic/a.py", "kernel = 'fast.counting:outputs'"),
    "downwards, in a string": ("cli/a.py", "load('service.collector:Collector')\nopen('study.toml')"),
    "words with a dot": ("core/a.py", "text = 'study. A plan'"),
    "standard library": ("core/a.py", "from __future__ import annotations\nimport hashlib, json, os.path"),
    "own room, relative": ("core/domain/a.py", "from . import base\nfrom ..errors import DomainError"),
    "device downwards": (
        "client/a.py",
        "from sottovoce.mechanisms.frequency import grr\nimport sottovoce.core",
    ),
    "late binds by name": ("core/late.py", "import importlib\nimportlib.import_module('x')"),
    "lazy face": ("__init__.py", "from sottovoce.core import late\nfrom importlib.metadata import version"),
    "analysis to device": (
        "tally/a.py",
        "import numpy as np\nfrom ..client import ledger\nfrom ..fast import k",
    ),
    "seeded simulation in analysis": ("study/a.py", "import random\nimport importlib"),
    "experiments to testing": (f"{BESIDE}/a.py", "from sottovoce.testing.coverage import coverage"),
    "experiments to experiments": (f"{BESIDE}/a.py", "from sottovoce_experiments.page import Page"),
    "reproduce to experiments": ("cli/reproduce.py", "from sottovoce_experiments.page import Page"),
    "testing to analysis": ("testing/a.py", "from ..study import planner\nfrom ..privacy import audit"),
    "command line to all": (
        "cli.py",
        "import sottovoce as sv\nfrom .service import app\nfrom . import engines",
    ),
    "version": ("client/a.py", "from sottovoce import __version__"),
    "just short enough": ("core/a.py", "x = 1\n" * LONGEST_FILE),
}


@pytest.mark.parametrize("root", [SOURCE, EXPERIMENTS, TESTS], ids=["source", "experiments", "tests"])
def test_no_folder_is_crowded(root: Path) -> None:
    sizes = Counter(file.parent.relative_to(root).as_posix() for file in root.rglob("*.py"))
    assert {folder: size for folder, size in sizes.items() if size > FULLEST_FOLDER} == {}


@pytest.mark.parametrize(("path", "source"), BAD.values(), ids=BAD.keys())
def test_a_bad_source_is_caught(path: str, source: str) -> None:
    assert faults(path, source)


@pytest.mark.parametrize(("path", "source"), GOOD.values(), ids=GOOD.keys())
def test_a_good_source_passes(path: str, source: str) -> None:
    assert faults(path, source) == []


def test_every_reason_to_load_upward_is_needed() -> None:
    for allowed in NAMES_UPWARD:
        files = [SOURCE / allowed] if allowed.endswith(".py") else sorted((SOURCE / allowed).glob("*.py"))
        named = [name for file in files for _, name in loaded_names(nodes(file.read_text(encoding="utf-8")))]
        assert any(is_upward("core/a.py", name) for name in named), (
            f"Nothing in {allowed} is loaded from a higher room."
        )


def test_every_module_that_a_string_names_exists() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        for line, name in loaded_names(nodes(file.read_text(encoding="utf-8"))):
            known = ":" not in name or module_path(SOURCE, name) is not None
            assert known, f"{file.relative_to(SOURCE)}:{line}: there is no module {name}"


def device_modules() -> list[str]:
    files = [file for room in DEVICE for file in sorted((SOURCE / room).rglob("*.py"))]
    dotted = [".".join(file.relative_to(SOURCE.parent).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in dotted]


LOADED = """
import json, sys
before = set(sys.modules)
for name in sys.argv[1:]:
    __import__(name)
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""


def loaded_by(*names: str) -> set[str]:
    """Top-level modules that importing these loads in a fresh interpreter."""
    command = [sys.executable, "-c", LOADED, *names]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.mark.parametrize("name", ["sottovoce", "sottovoce.client"])
def test_importing_the_device_side_loads_no_third_party(name: str) -> None:
    assert loaded_by(name) - sys.stdlib_module_names == {PACKAGE}


def test_no_device_module_loads_a_third_party() -> None:
    assert loaded_by(PACKAGE, *device_modules()) - sys.stdlib_module_names == {PACKAGE}


def test_the_runtime_check_sees_third_parties() -> None:
    assert "hypothesis" in loaded_by("hypothesis") - sys.stdlib_module_names
