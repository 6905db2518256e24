"""Readings of a truncated series: scores for the projection of a distribution onto a few functions."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Channel, Table
from sottovoce.core.channel.shapes import alternatives_of
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.readings.transition import Transition
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.reading import MatrixReading

_LEAST = 1e-9  # of the length of a function, that must lie outside the functions before it


def functions_of(channel: Channel) -> tuple[Table, ...]:
    """The tables of two reports each, one of which a participant answers through; none for any other channel."""
    parts = [part for _, part in alternatives_of(channel)]
    tables = tuple(part for part in parts if isinstance(part, Table) and part.outputs == 2)
    return tables if len(tables) == len(parts) else ()


def is_projection(channel: Channel) -> bool:
    """Whether reports tell fewer functions than there are shares."""
    return 0 < len(functions_of(channel)) < channel.inputs - 1


class ProjectedDecode(MatrixReading):
    """Scores of least variance for equal shares, among those that are unbiased for the projection."""

    def __init__(self, channel: Channel, transition: Transition) -> None:
        tables = functions_of(channel)
        heights = np.array([[row[1] for row in table.rows] for table in tables], float).T
        heights = (heights - heights.mean(axis=0)) / np.ptp(heights, axis=0)
        basis, lengths = np.linalg.qr(np.column_stack([np.ones(len(heights)), heights]))
        if np.abs(np.diag(lengths)).min() < _LEAST * np.abs(lengths).max():
            raise ParameterError("The functions of these reports depend on each other.")
        law = transition.matrix @ basis
        scaled = law.T / transition.matrix.mean(axis=1)
        self.projection: Floats = basis @ basis.T
        self.matrix = basis @ np.linalg.solve(scaled @ law, scaled)

    def between(self, shares: Floats) -> Floats:
        return np.asarray(self.projection**2 @ shares)
