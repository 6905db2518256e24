"""The mean of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class VectorMean(Question):
    """The mean of each coordinate of a vector."""

    kind: ClassVar[str] = "vector-mean"
    noun: ClassVar[str] = "mean of a coordinate"
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (
            self.domain.coordinates is None and getattr(self.domain, "dimensions", None) is None
        ):
            raise reject("domain", self.kind, "a domain of vectors, such as Box(-1, 1, dimensions=3)", self.domain)
