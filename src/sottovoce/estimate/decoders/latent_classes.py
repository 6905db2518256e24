"""One joint distribution of all attributes: a mixture of classes in which attributes are independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.params import check_integer
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.fitted import JointFit


@dataclass(frozen=True, slots=True)
class LatentClassesDecoder(Decoder):
    """The posterior mode of latent classes with a Gaussian prior, whose strength the reports decide.

    All tables agree with each other and are possible. Independence is among the candidates, so that the fit does not
    predict worse. `classes` is the number of classes: by default 12, or 24 for 200,000 participants and more.
    """

    name: ClassVar[str] = "latent-classes"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.TABLES})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "fitted"
    classes: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.classes is not None:
            check_integer("classes", self.name, self.classes, 1, 256)
        check_integer("seed", self.name, self.seed, 0, 1 << 53)

    def solve(self, evidence: Evidence) -> Decoded:
        joint: Any = evidence
        fit = latent.fit(joint.tables, self.classes, self.seed)
        values = fit.model.values(joint.asked.tables)
        return Decoded(values, JointFit(fit.steps, 0.0, fit.model, fit.independent, fit.strength))
