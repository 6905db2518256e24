"""The share of participants at or above each of several thresholds, each from answers of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Rates
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.estimate.estimate import Estimate, check_target
from sottovoce.protocols.ranges.found import Beyond
from sottovoce.tally.tally import Tally


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ThresholdShares(Estimate):
    """Shares at or above thresholds, in rising order, which are independent: others answered about each."""

    def covariance(self, *, target: str = "population") -> NDArray[np.float64]:
        check_target(target)
        return np.diag(self.evidence.variances(target))

    def _explained(self, level: float) -> str:
        low, high = self.ci(level)
        shares = ", ".join(
            f"{share:.4f} {name} ({max(0.0, left):.4f} to {min(1.0, right):.4f})"
            for name, share, left, right in zip(self.labels, self.values, low, high, strict=True)
        )
        return f"{self.n} participants were asked about a threshold each. Shares and {level:.0%} intervals: {shares}."


def above_thresholds(tallies: Iterable[Tally]) -> ThresholdShares:
    """The shares that these tallies tell; those about the same threshold are put together."""
    found: dict[Decimal, Tally] = {}
    for tally in tallies:
        view = tally.mechanism.domain
        if not isinstance(view, Above):
            raise TypeError("These tallies are about thresholds.")
        if tally.n:
            found[view.threshold] = found[view.threshold] + tally if view.threshold in found else tally
    order = sorted(found)
    if not order:
        raise ParameterError("Nothing can be estimated yet: no report was counted.")
    mechanism = found[order[0]].mechanism
    rates = rates_of(mechanism.channel)
    if not isinstance(rates, Rates):
        raise TypeError("Thresholds are asked about through randomized response.")
    counts = np.array([int(found[place].cells[1]) for place in order], np.int64)
    asked = np.array([found[place].n for place in order], np.int64)
    names = tuple(f"from {decimal_text(place)} on" for place in order)
    evidence = Beyond(counts, asked, float(rates.own), float(rates.other), names)  # type: ignore[arg-type]
    errors = np.sqrt(evidence.variances("population"))
    cells = np.stack([asked - counts, counts])
    return ThresholdShares(mechanism, int(asked.sum()), evidence.values(), errors, evidence, cells)
