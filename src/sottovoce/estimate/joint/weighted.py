"""Tables of several public strata together: the tables of each stratum, weighted by its part of the people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sottovoce.estimate.evidence import Flags, Floats
from sottovoce.estimate.joint.residuals import Names, Reported, TableSource
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class WeightedTables(TableSource):
    """The weighted sum of the tables of different people; the weights sum to one."""

    parts: tuple[tuple[float, TableSource], ...]

    @property
    def sizes(self) -> dict[str, int]:  # type: ignore[override]
        return self.parts[0][1].sizes

    @property
    def n(self) -> int:
        return sum(part.n for _, part in self.parts)

    def precision(self, block: Names) -> float:
        return _inverse_sum([(weight, part.precision(block)) for weight, part in self.parts])

    def blocks(self) -> list[Reported]:
        every = [{block.names: block for block in part.blocks()} for _, part in self.parts]
        weights = [weight for weight, _ in self.parts]
        blocks = []
        for names in every[0]:
            if all(names in own for own in every):
                rows = list(zip(weights, (own[names] for own in every), strict=True))
                residual = np.asarray(sum(weight * block.residual for weight, block in rows))
                blocks.append(Reported(names, residual, _inverse_sum([(w, block.precision) for w, block in rows])))
        return blocks

    def values(self, names: Names) -> Floats:
        return np.asarray(sum(weight * part.values(names) for weight, part in self.parts))

    def variances(self, names: Names, target: Target = Target.POPULATION) -> Floats:
        return np.asarray(sum(weight**2 * part.variances(names, target) for weight, part in self.parts))

    def covariance(self, functionals: Sequence[tuple[Names, Floats]], target: Target = Target.POPULATION) -> Floats:
        return np.asarray(sum(weight**2 * part.covariance(functionals, target) for weight, part in self.parts))

    def joined(self, others: Sequence[TableSource]) -> TableSource | None:
        """None: reports of other people belong to a stratum, which is not known here."""
        return None

    def few(self, names: Names) -> Flags:
        return np.asarray(np.any([part.few(names) for _, part in self.parts], axis=0))

    def about(self, sizes: dict[str, int]) -> TableSource:
        return replace(self, parts=tuple((weight, part.about(sizes)) for weight, part in self.parts))


def _inverse_sum(precisions: Sequence[tuple[float, float]]) -> float:
    """The precision of a weighted sum of independent estimates; 0 where one of them is unknown."""
    if not all(precision for _, precision in precisions):
        return 0.0
    return 1 / sum(weight**2 / precision for weight, precision in precisions)
