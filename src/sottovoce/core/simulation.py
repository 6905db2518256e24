"""The mark of simulations: noise from a seed can be repeated by anyone, so it protects nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

METADATA = b"sottovoce.simulation"  # key in the schema of Arrow and Parquet
COLUMN = "simulation"  # of CSV files and of tables of estimates
NOTE = "the noise of these reports came from a seed: they are a simulation and protect nobody"


def marked(estimate: Any, simulated: bool) -> Any:
    """An estimate, marked if its source was a simulation."""
    return (
        replace(estimate, simulated=True) if simulated and getattr(estimate, "simulated", None) is False else estimate
    )


def in_words(text: str, simulated: bool) -> str:
    """A sentence about results, preceded by the mark of a simulation."""
    return f"This is a simulation, and its reports protect nobody. {text}" if simulated else text
