"""Late binding: the only file of the device side that loads other rooms, by module name and only when called.

A phone that answers a question never loads NumPy; an analyst who calls `mechanism.privatize` gets the fast
room without importing it by hand. Where its packages are missing, one sentence names the extra to install.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from sottovoce.core.errors import MissingExtraError

_ROOT = "sottovoce"
_EXTRAS = {"matplotlib": "plot", "duckdb": "duckdb", "pyspark": "spark", "pyreadstat": "labelled"}


def load(target: str, *, package: str = _ROOT) -> Any:
    """The object that "module:name" names, with `module` relative to the package; without a name the module itself."""
    module, _, name = target.partition(":")
    try:
        imported = importlib.import_module(f"{package}.{module}")
        return getattr(imported, name) if name else imported
    except ModuleNotFoundError as problem:
        raise missing(problem) from None


def by_name(*targets: str) -> dict[str, str]:
    """Targets by the names of their objects."""
    return {target.partition(":")[2]: target for target in targets}


def attribute(module: str, names: Mapping[str, str], name: str) -> Any:
    """An attribute of a module that loads its names when they are first used."""
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return load(names[name])


def missing(problem: ModuleNotFoundError) -> ImportError:
    """The sentence for a missing third-party package; an error of our own is passed on unchanged."""
    package = (problem.name or "").partition(".")[0]
    if package in ("", _ROOT):
        return problem
    if package == "sottovoce_experiments":
        return MissingExtraError(
            "The experiments are a package of their own: run pip install ./experiments in a copy of the repository."
        )
    extra = _EXTRAS.get(package, "analysis")
    return MissingExtraError(
        f"This needs the package {package}, which is not installed: pip install 'sottovoce[{extra}]'."
    )
