"""The mean of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class VectorMean(Question):
    """Ask for the mean of each coordinate of a vector.

    Args:
        domain: The vectors: `Box`, `Ball` or `Sparse`.

    Examples:
        >>> m = sv.mechanism("duchi-linf", sv.Box(-1, 1, dimensions=2), epsilon=2)
        >>> m.estimate(m.tally(m.privatize([[0.5, -0.5]] * 20_000, seed=1))).values.round(1)
        array([ 0.5, -0.5])

    See also:
        `Attributes` for fields with names, `Mean` for one number.
    """

    kind: ClassVar[str] = "vector-mean"
    noun: ClassVar[str] = "mean of a coordinate"
    averages: ClassVar[bool] = True
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (
            self.domain.coordinates is None and getattr(self.domain, "dimensions", None) is None
        ):
            raise reject("domain", self.kind, "a domain of vectors, such as Box(-1, 1, dimensions=3)", self.domain)
