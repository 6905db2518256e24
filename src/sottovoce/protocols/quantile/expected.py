"""What a search for quantiles in rounds will reach: the error to expect, and the least possible one.

The error of the share below an estimate is a multiple of the floor: that of everyone asked about the true quantile. The
multiple is a fit to what `sottovoce reproduce quantiles-in-rounds` measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import sqrt

import numpy as np

from sottovoce.core.question import Quantile
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.quantile.answers import line_of
from sottovoce.protocols.quantile.rounds import QuantileRounds

ALWAYS, WITH_FEW = 1.15, 20.0  # the multiple for many people, and what is added for each floor


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRounds:
    """Quantiles of numbers that are searched in rounds, for answers of a prior."""

    question: Quantile
    epsilon: Decimal
    prior: Prior | None

    @property
    def fewest(self) -> int:
        """Participants of a search."""
        return QuantileRounds.least_participants(len(self.question.shares))

    def protocol(self, participants: int) -> QuantileRounds:
        """The search, ready to run."""
        domain = self.question.domain.line
        return QuantileRounds(domain, self.question.shares, self.epsilon, participants)  # type: ignore[arg-type]

    def floors(self, participants: float) -> Floats:
        """Standard errors of the share below each quantile, if everyone were asked about the true one."""
        odds, shares = np.exp(float(self.epsilon)), np.array([float(share) for share in self.question.shares])
        return np.asarray(np.sqrt((shares * (1 - shares) + odds / (odds - 1) ** 2) * len(shares) / participants))

    def least(self, participants: float) -> float:
        """The standard error that nobody can beat who asks about thresholds."""
        return self._in_answers(self.floors(participants))

    def error(self, participants: float) -> float:
        """The standard error to expect."""
        floors = self.floors(participants)
        return self._in_answers(floors * (ALWAYS + WITH_FEW * floors))

    def _in_answers(self, errors: Floats) -> float:
        """Errors of shares as errors of quantiles, root mean square."""
        shares = np.array([float(share) for share in self.question.shares])
        ends = self._places(np.array([shares - errors, shares + errors]))
        return max(sqrt(float(np.mean(((ends[1] - ends[0]) / 2) ** 2))), 1e-9 * self._width)

    @property
    def _width(self) -> float:
        low, high = line_of(self.question.domain.line)[0]  # type: ignore[arg-type]
        return high - low

    def _places(self, levels: Floats) -> Floats:
        """Expected quantiles; even answers by default."""
        low, high = line_of(self.question.domain.line)[0]  # type: ignore[arg-type]
        if self.prior is None:
            return np.asarray(low + np.clip(levels, 0, 1) * (high - low))
        order = np.argsort(self.prior.values)
        values, weights = np.asarray(self.prior.values)[order], np.asarray(self.prior.weights)[order]
        return np.asarray(np.interp(levels, np.cumsum(weights) - weights / 2, values))
