"""Shares of the leaves of a hierarchy, each of whose levels a part of the participants answered about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.readings.branches import LevelReports, branches_of
from sottovoce.estimate.evidence import Floats, Offer


@dataclass(frozen=True, eq=False)
class HierarchyEvidence(OutputsEvidence):
    """Counts of the outputs of all levels."""

    @property
    def branches(self) -> tuple[LevelReports, ...]:
        """The participants who answered about each level."""
        return branches_of(self.counted.mechanism.channel)

    @property
    def offers(self) -> frozenset[Offer]:
        return super().offers if self.branches[0].differences else super().offers | {Offer.LEVELS}

    def levels(self) -> list[Floats]:
        """The unbiased shares of the nodes of each level, from those who answered about it."""
        return [(one.gather(own) / max(own.sum(), 1) - one.other) / one.slope for one, own in self._by_branch()]

    def level_weights(self) -> list[float]:
        """The information of the reports about each level, per participant."""
        return [float(own.sum()) / self.n * one.information for one, own in self._by_branch()]

    def _by_branch(self) -> list[tuple[LevelReports, Floats]]:
        return [(one, self.cells[one.cells].astype(np.float64)) for one in self.branches]
