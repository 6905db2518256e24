"""The lines on which the keys of a TOML file stand; Python's own reader does not tell them."""

from __future__ import annotations

import re
from collections.abc import Mapping

Path = tuple[str, ...]
_HEADER = re.compile(r"^\s*\[(\[)?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")


def key_lines(text: str) -> dict[Path, int]:
    """The line of every key and table that begins a line, counted from one."""
    lines: dict[Path, int] = {}
    table: Path = ()
    quotes = ""  # of a text over several lines that is not closed yet
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        if header := _HEADER.match(line):
            table = _parts(header[2])
            for end in range(1, len(table) + 1):
                lines.setdefault(table[:end], number)
        elif key := _KEY.match(line):
            for end in range(1, len(_parts(key[1])) + 1):
                lines.setdefault((*table, *_parts(key[1])[:end]), number)
            rest = line[key.end() :]
            for mark in ('"""', "'''"):
                if rest.count(mark) == 1:
                    quotes = mark
    return lines


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a key; where it is missing, that of the table it belongs to; else the first."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1


def _parts(key: str) -> Path:
    return tuple(next(filter(None, match.groups()), "") for match in _PART.finditer(key))
