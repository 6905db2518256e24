"""Texts of a study inside other formats: a label is shown as it is, and never runs as a formula or as HTML."""

from __future__ import annotations

import re
from typing import Any

# What spreadsheets take for the beginning of a formula; some languages type these signs at full width.
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_MARKDOWN = re.compile(r"[\\`|\[\]]")


def spreadsheet(value: Any) -> Any:
    """A cell of a CSV file. A text that begins like a formula gets an apostrophe in front; numbers stay."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def markdown(text: str) -> str:
    """One line of Markdown that shows this text, also in a table: no HTML, no links, no new columns."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\g<0>", plain)
