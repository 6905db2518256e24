"""Counts in sentences."""

from __future__ import annotations


def plural(count: int, noun: str, form: str = "") -> str:
    """A count with its noun: 1 report, 2 reports; with the form "," also 1,000 reports."""
    return f"{count:{form}} {noun}{'' if count == 1 else 's'}"
