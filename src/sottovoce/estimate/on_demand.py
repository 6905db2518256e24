"""Reports in place of their tally."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Ints
from sottovoce.fast.batch import Reports


@dataclass(frozen=True, eq=False)
class TallyOnDemand:
    """Reports that are counted when `cells` are read: to hash every report for every code may be too much work."""

    mechanism: Mechanism
    reports: Reports

    @property
    def n(self) -> int:
        """How many reports there are."""
        return len(self.reports)

    @property
    def simulated(self) -> bool:
        """Whether the noise of the reports came from a seed."""
        return self.reports.simulated

    @cached_property
    def cells(self) -> Ints:
        """The cells of the tally."""
        cells: Ints = self.mechanism.tally(self.reports).cells
        return cells
