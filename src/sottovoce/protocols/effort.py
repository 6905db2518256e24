"""Bounds of the work of a protocol between its rounds, from sizes alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.design.designed import INPUTS, MORE_INPUTS

_ROW, _PAIR = 800, 10  # steps for each input of a designed table, and for each pair of them; measured


def effort_of(method: str, epsilon: Decimal, inputs: Any = None) -> int:
    """Steps to build a mechanism for a mean: a linear program if it is designed."""
    if method != "designed":
        return ARM_EFFORT
    usual = next((count for least, count in MORE_INPUTS if epsilon > least), INPUTS)
    count = usual if inputs is None else inputs
    return int(_ROW * count + _PAIR * count**2)
