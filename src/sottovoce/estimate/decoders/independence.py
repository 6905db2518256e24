"""Tables of attributes that are taken to be independent: the baseline of every joint fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.joint.latent import independence


@dataclass(frozen=True, slots=True)
class IndependenceDecoder(Decoder):
    """Every cell is the product of the shares of its answers, each attribute moved to shares that sum to one."""

    name: ClassVar[str] = "independence"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.TABLES})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "fitted"

    def solve(self, evidence: Evidence) -> Decoded:
        joint: Any = evidence
        model = independence(joint.tables.sizes, joint.tables.blocks())
        return Decoded(model.values(joint.asked.tables), JointFit(0, 0.0, model, model, 0.0))
