"""The estimate that the authors of a method have published: AHEAD, HDG, TDG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class PublishedDecoder(Decoder):
    """Shares of boxes as published, non-negative and with sum one.

    AHEAD averages the layers of its tree by their variances and makes them consistent from root to leaves. HDG and TDG
    make grids consistent and are as even inside coarse cells as all grids allow. Du et al., CCS 2021; Yang et al., VLDB
    2020.
    """

    name: ClassVar[str] = "published"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.PUBLISHED})
    kind: ClassVar[str] = "fitted"
    projects: ClassVar[bool] = False

    def solve(self, evidence: Evidence) -> Decoded:
        source: Any = evidence  # offers what is published
        return Decoded(source.published())
