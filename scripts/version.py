"""The version: `python -m scripts.version` shows it, `python -m scripts.version 0.2.0` writes it everywhere.

It is said once, in src/sottovoce/__init__.py, from which the packages for Python are built. Files of other tools cannot
read it there; they are listed here, and a test compares them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/sottovoce/__init__.py"
# The version stands between the two groups.
PLACES = {
    SOURCE: r'(^__version__ = ")[^"]+(")',
    "experiments/pyproject.toml": r'(^version = ")[^"]+(")',
    "CITATION.cff": r"(^version: )\S+()",
    "clients/web/package.json": r'(^  "version": ")[^"]+(")',
    "clients/web/package-lock.json": r'(\A\{\n  "name": "@sottovoce/web",\n  "version": ")[^"]+(")',
    "clients/web/src/index.ts": r'(^export const version = ")[^"]+(")',
}


def versions() -> dict[str, str]:
    """The version that each file says."""
    return {name: _between(name, (ROOT / name).read_text(encoding="utf-8")) for name in PLACES}


def _match(name: str, text: str) -> re.Match[str]:
    match = re.search(PLACES[name], text, flags=re.MULTILINE)
    if match is None:
        raise SystemExit(f"{name} says no version where scripts/version.py looks for it.")
    return match


def _between(name: str, text: str) -> str:
    match = _match(name, text)
    return text[match.end(1) : match.start(2)]


def write(version: str) -> None:
    """Write a version into every file."""
    for name in PLACES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        match = _match(name, text)
        path.write_text(text[: match.end(1)] + version + text[match.start(2) :], encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Show the version, or write another one."""
    if arguments and not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", arguments[0]):
        raise SystemExit("A version has three numbers, such as 0.2.0 or 0.2.0rc1.")
    if arguments:
        write(arguments[0])
        print("Run `make web`: the browser client says its version too.")
    print(versions()[SOURCE])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
