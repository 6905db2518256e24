"""Shares from the likelihood, smoothed after each update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.distribution.iterate import iterate
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class EmsDecoder(Decoder):
    """EM with smoothing, until the total log-likelihood changes by less than `stop`; best for smooth distributions."""

    name: ClassVar[str] = "ems"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LIKELIHOOD, Offer.ORDER})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "those of a smoothed likelihood"
    stop: float = 1e-3
    max_iterations: int = 100_000

    def __post_init__(self) -> None:
        stop = self.stop
        if isinstance(stop, bool) or not isinstance(stop, (int, float)) or not 0 < stop < 1e6:
            raise reject("stop", "ems", "a number above 0", stop)
        check_integer("max_iterations", "ems", self.max_iterations, 1, 1 << 40)

    def solve(self, evidence: Evidence) -> Decoded:
        source = evidence.distribution
        circular = source is not None and source.circular
        most = self.max_iterations
        return Decoded(
            *iterate(evidence.likelihood(), stop=self.stop, smooth=True, circular=circular, max_iterations=most)
        )
