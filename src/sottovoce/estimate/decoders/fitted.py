"""The fit that a protocol about boxes is made for: AHEAD, HDG, TDG and copulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class FittedDecoder(Decoder):
    """Shares of boxes, non-negative and with sum one, by the fit of their protocol.

    AHEAD averages the layers of its tree by their variances and makes them consistent from root to leaves. HDG and TDG
    make grids consistent and are as even inside coarse cells as all grids allow. Du et al., CCS 2021; Yang et al., VLDB
    2020. Copulas are this project's.
    """

    name: ClassVar[str] = "fitted"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.FITTED})
    kind: ClassVar[str] = "fitted"
    projects: ClassVar[bool] = False

    def solve(self, evidence: Evidence) -> Decoded:
        source: Any = evidence  # offers what is published
        return Decoded(source.fitted_shares())
