"""The share of participants at or above each of several thresholds, each from answers of its own."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from sottovoce.core.channel.shapes import support_rates
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Mean
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.mean.clamped import SeparateSharesEvidence
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.ranges.bits import threshold_of
from sottovoce.tally.tally import Tally


def above_thresholds(domain: Domain, tallies: Iterable[Tally]) -> Estimate:
    """The shares at or above thresholds, in rising order; tallies about the same threshold are added."""
    tally_at: dict[Decimal, Tally] = {}
    for tally in tallies:
        threshold = threshold_of(tally)
        if tally.n:
            tally_at[threshold] = tally_at[threshold] + tally if threshold in tally_at else tally
    order = sorted(tally_at)
    if not order:
        raise ParameterError("Nothing can be estimated yet: no report was counted.")
    rates = support_rates(tally_at[order[0]].mechanism.channel)
    if rates is None:
        raise TypeError("Thresholds need randomized response.")
    counts = np.array([int(tally_at[place].cells[1]) for place in order], np.int64)
    asked = np.array([tally_at[place].n for place in order], np.int64)
    names = tuple(f"from {decimal_text(place)} on" for place in order)
    own, other = float(rates.own), float(rates.other)
    evidence = SeparateSharesEvidence(counts, asked, own, other, None, names)  # type: ignore[arg-type]
    return Estimate.of(Mean(domain), evidence, sources_of(tally_at.values()))
