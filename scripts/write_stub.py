"""Writes src/sottovoce/__init__.pyi, from which type checkers know what `import sottovoce as sv` offers.

The package itself loads names when they are first used, which no checker can follow. `python -m scripts.write_stub`
"""

from __future__ import annotations

from pathlib import Path

import sottovoce

STUB = Path(sottovoce.__file__).with_suffix(".pyi")


def stub() -> str:
    """The text of the stub: one import for each public name."""
    lines = [
        "# Written by `python -m scripts.write_stub` from the names in __init__.py.",
        *(f"from sottovoce.{module} import {own} as {name}" for module, own, name in sorted(targets())),
        "",
        "__version__: str",
        "__all__ = [",
        *(f'    "{name}",' for name in sottovoce.__all__),
        "]",
    ]
    return "\n".join(lines) + "\n"


def targets() -> list[tuple[str, str, str]]:
    """Of everything that is offered the module, the name there, and the public name."""
    pairs = [(target, name) for name, target in sottovoce._NAMES.items()]
    # A module is offered as a whole where no name of it is given.
    split = [(target.partition(":") if ":" in target else target.rpartition("."), name) for target, name in pairs]
    return [(module, own, name) for (module, _, own), name in split]


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
