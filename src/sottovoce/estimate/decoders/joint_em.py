"""The joint table with the largest likelihood, from reports about all attributes of a person (RAPPOR-EM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.joint.latent import independence
from sottovoce.estimate.joint.models import WholeTable


@dataclass(frozen=True, slots=True)
class JointEmDecoder(Decoder):
    """Expectation maximization over the cells of all attributes together.

    Reference: Fanti, Pihur, Erlingsson, "Building a RAPPOR with the unknown: privacy-preserving learning of
    associations and data dictionaries", PoPETs 2016. It stops when no share changes by more than `tolerance`.
    """

    name: ClassVar[str] = "joint-em"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.JOINED_REPORTS})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "fitted"
    tolerance: float = 1e-6
    steps: int = 10_000

    def __post_init__(self) -> None:
        if not isinstance(self.tolerance, float) or not 0 < self.tolerance < 1:
            raise reject("tolerance", self.name, "a number in (0, 1)", self.tolerance)
        check_integer("steps", self.name, self.steps, 1, 10**7)

    def solve(self, evidence: Evidence) -> Decoded:
        joint: Any = evidence
        names = tuple(joint.tables.sizes)
        shares, taken = joint.tables.likeliest(names, self.tolerance, self.steps)
        model = WholeTable(names, shares / shares.sum())
        values = [model.table(table).ravel() for table in joint.asked.tables]
        alone = independence(joint.tables.sizes, joint.tables.blocks())
        said = "The values have the largest likelihood of all joint tables; intervals are those of the unbiased shares."
        return Decoded(np.concatenate(values), JointFit(taken, 0.0, model, alone, 0.0, said))
