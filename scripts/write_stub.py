"""Writes the stubs of packages that load names when they are first used, which no type checker can follow.

`python -m scripts.write_stub` writes `__init__.pyi` of the package itself, of its channels, domains and questions.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import sottovoce
from sottovoce.core import channel, domain, question

HEADER = "# Written by `python -m scripts.write_stub` from the names in __init__.py."


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    listed = ["", "__version__: str", "__all__ = [", *(f'    "{name}",' for name in sottovoce.__all__), "]"]
    texts = {
        sottovoce: _lines(sottovoce, *listed),
        channel: _lines(channel, "", "NODES: dict[str, str]"),
        domain: _lines(domain),
        question: _lines(question, "", "QUESTIONS: dict[str, str]"),
    }
    return {Path(str(module.__file__)).with_suffix(".pyi"): text for module, text in texts.items()}


def _lines(module: ModuleType, *others: str) -> str:
    """One import for each name, and other lines."""
    imports = (f"from sottovoce.{home} import {own} as {name}" for home, own, name in sorted(_targets(module._NAMES)))
    return "\n".join([HEADER, *imports, *others]) + "\n"


def _targets(names: dict[str, str]) -> list[tuple[str, str, str]]:
    """Of everything that is offered the module, the name there, and the public name."""
    # A module is offered as a whole where no name of it is given.
    split = [
        (target.partition(":") if ":" in target else target.rpartition("."), name) for name, target in names.items()
    ]
    return [(home, own, name) for (home, _, own), name in split]


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
