"""Checks of mechanisms for boxes, in addition to the contract: every box is unbiased, and its variance exact."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.domain import Integers, Record, Select
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Boxes, Distribution, Joint
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.estimate.boxes.evidence import from_cells
from sottovoce.estimate.request import Target
from sottovoce.testing import distribution, joint
from sottovoce.testing.codes import require


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """A grid of two fields, or of one where the number of codes has no factors, through a small channel.

    Where every field has a channel of its own, a grid of as many fields.
    """
    most = Decimal(MAX_EPSILON)
    if isinstance(mechanism.statistic, CountJoint):
        each = Record({f"field{place}": Integers(0, part.inputs - 1) for place, part in enumerate(channel.parts)})
        return Mechanism(mechanism.name, Boxes(each), channel, most, mechanism.statistic, each)
    rows = next((size for size in range(2, channel.inputs) if channel.inputs % size == 0), channel.inputs)
    sizes = [rows, channel.inputs // rows] if rows < channel.inputs else [rows]
    record = Record({f"field{place}": Integers(0, size - 1) for place, size in enumerate(sizes)})
    domain = Select(record, record.labels())
    return Mechanism(mechanism.name, Boxes(record), channel, most, mechanism.statistic, domain)


def check_small(mechanism: Mechanism) -> None:
    """The shares of cells and of all boxes have the mean and the variance of the enumerated law."""
    if isinstance(mechanism.statistic, CountJoint):
        return joint.check_small(_as_table(mechanism))
    distribution.check_small(_on_a_line(mechanism))
    cells = np.eye(mechanism.cells, dtype=np.int64)
    readings = [from_cells(mechanism, 1, one) for one in cells]
    grid = readings[0].buckets
    ranges = [list(combinations_with_replacement(range(size), 2)) for size in grid.shape]
    codes = list(np.ndindex(*grid.shape))
    laws = [law(mechanism.channel, code) for code in range(mechanism.channel.inputs)]
    for ends in product(*ranges):
        limits = dict(zip(grid.names, ends, strict=True))
        scores = np.array([float(one.boxes([limits]).values()[0]) for one in readings])
        row = readings[0].boxes([limits]).weights
        for code, chances in zip(codes, laws, strict=True):
            rates = np.zeros(mechanism.cells)
            for (_, report), probability in chances.items():
                rates[report] += float(probability)
            inside = all(low <= place <= high for place, (low, high) in zip(code, ends, strict=True))
            mean, square = float(rates @ scores), float(rates @ scores**2)
            require(abs(mean - inside) < 1e-9 * max(1.0, square), f"The box {limits} is biased for code {code}.")
            spread = float(readings[0].decode.spreads(row, rates, Target.POPULATION)[0])
            error = abs(square - mean**2 - spread)
            require(error < 1e-9 * max(1.0, square), f"The variance of the box {limits} is wrong for code {code}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rate of the outputs near their answer, and the shares of all cells sum to one."""
    if isinstance(mechanism.statistic, CountJoint):
        return joint.check_drawn(_as_table(mechanism), seed, reports)
    distribution.check_drawn(_on_a_line(mechanism), seed, reports)


def _on_a_line(mechanism: Mechanism) -> Mechanism:
    """The channel as one of a single number, whose values are the cells."""
    domain = Integers(0, mechanism.channel.inputs - 1)
    return replace(mechanism, question=Distribution(domain), domain=domain)


def _as_table(mechanism: Mechanism) -> Mechanism:
    """The channels of all fields as those of a table of them, whose cells are those of the grid."""
    record: Any = mechanism.domain
    return replace(mechanism, question=Joint(record, len(record.fields)))
