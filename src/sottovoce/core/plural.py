"""Counts in sentences."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 report, 2 reports."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
