"""Reports for the printed queries: of every mechanism that has one, with bad rows, and what the definition counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import sottovoce as sv
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.files.counts import account, fold
from sottovoce.tally.tally import Tally

OUTPUTS = (
    *("grr", "hadamard", "projective", "distortion", "urr", "bernoulli", "nprr", "three-output", "laplace", "scdf"),
    *("staircase", "piecewise", "pm-sub", "hybrid", "square-wave", "square-wave-discrete", "general-wave", "hierarchy"),
    *(
        "haar",
        "binned",
        "orthogonal-series",
        "designed-distribution",
        "coded-wave",
        "mixed-wave",
        "half-sets",
        "one-bit",
        "compression",
        "bernoulli-memo",
        "subset-exponential",
    ),
)
MASKS = ("sue", "oue", "unary", "the", "rue", "urap")
NAMES = (*OUTPUTS, *MASKS)
PAYLOAD, LENGTH = "with a payload that no device sends", "of a wrong length"
Expected = tuple[Tally, dict[str, int]]


def mechanism(name: str) -> Mechanism:
    return sv.mechanism(name, sv.Integers(0, 5), epsilon=1)


def reports_of(name: str) -> tuple[Mechanism, pa.Table, Expected]:
    """A column `report` with bad rows, the tally of the good ones by the definition, and the reasons of the others."""
    m = mechanism(name)
    values = list(m.privatize([place % 6 for place in range(120)], seed=3))
    tally = by_definition(m, values)
    if name in OUTPUTS:
        column = pa.array([*values, m.cells, -1, 1 << 62, -(1 << 63), None], pa.int64())
        return m, pa.table({"report": column}), (tally, {PAYLOAD: 4, LENGTH: 1})
    width = codec.payload_bytes(m.channel)
    rows = [value.to_bytes(width, "little") for value in values]
    spare = [b"\x40" + rows[0][1:], b"\xff" * width]  # bits that no code has: there are six codes
    column = pa.array([*rows, *spare, rows[0] + b"\0", b"", None], pa.binary())
    return m, pa.table({"report": column}), (tally, {PAYLOAD: 2, LENGTH: 3})


def by_definition(m: Mechanism, values: list[int]) -> Tally:
    cells = np.zeros(m.cells, np.int64)
    for value in values:
        for cell, amount in m.statistic.add(m.channel, value):
            cells[cell] += amount
    return Tally(m, len(values), cells)


def no_whole_numbers() -> tuple[Mechanism, pa.Table, Expected]:
    """Numbers that a cast to integers would round, or could not hold."""
    m = mechanism("grr")
    values = [0.4, 1.6, 2.0, 3.4, 5.0, 5.4, 1e30, -1e30, -0.4, math.nan, math.inf, -math.inf, None]
    return m, pa.table({"report": pa.array(values, pa.float64())}), (by_definition(m, [2, 5]), {PAYLOAD: 10, LENGTH: 1})


def check(rows: Any, m: Mechanism, expected: Expected) -> None:
    """Rows of a query say what they must, to the bit."""
    assert fold(rows, m) == expected[0]
    seen = account(rows)
    assert seen.refused == expected[1] and seen.reports == expected[0].n
