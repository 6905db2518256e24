"""The mean of each coordinate of a vector, with intervals one by one and for all of them at once."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from sottovoce.core.domain.sparse import Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.parts import CountParts
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.candidates import of_all_cells
from sottovoce.estimate.evidence import Evidence, Ints
from sottovoce.estimate.request import Target
from sottovoce.estimate.vector_mean import ball, coordinates, sparse
from sottovoce.estimate.vector_mean.base import VectorEvidence

READS = (CountParts, Sums, CountOutputs)


def _home(mechanism: Mechanism) -> ModuleType:
    """The module for the reports of these vectors: sparse, of a ball, or of a box."""
    if isinstance(mechanism.domain, Sparse):
        return sparse
    return ball if isinstance(mechanism.statistic, Sums) else coordinates


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> VectorEvidence:
    """The evidence of cells."""
    means: VectorEvidence = _home(mechanism).from_cells(mechanism, n, cells)
    return means


evidence = of_all_cells(from_cells)


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Means of coordinates are read from their own reports only."""
    return None


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Any:
    """The variance of the mean of each coordinate for a given truth, with the expected number of its reports."""
    check_people("n", "variance", n)
    return _home(mechanism).predicted_variance(mechanism, truth, n, target=target)
