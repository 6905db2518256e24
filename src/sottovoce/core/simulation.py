"""The mark of everything that came from a seed: its noise can be repeated by anyone, so it protects nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

METADATA = b"sottovoce.simulation"  # key in the schema of Arrow and Parquet
COLUMN = "simulation"  # of CSV files and of tables of estimates
NOTE = "the noise of these reports came from a seed: they are a simulation and protect nobody"


def marked(found: Any, simulated: bool) -> Any:
    """An estimate, with the mark where what it was made from has it."""
    return replace(found, simulated=True) if simulated and getattr(found, "simulated", None) is False else found


def in_words(text: str, simulated: bool) -> str:
    """A sentence about results, which says first that they are a simulation."""
    return f"This is a simulation, and its reports protect nobody. {text}" if simulated else text
