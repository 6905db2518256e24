"""What fake reports do to a mean: the arithmetic that every bound of manipulation is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FakeReports:
    """So many fake reports, which are a share of all of a study.

    Where ids are `issued` by the collector, they are spread over arms and public words like all other reports. Else
    whoever fakes reports tries ids, and any number of the fake ones may count for the same value.
    """

    number: float
    share: float
    issued: bool = False

    def among(self, reports: Any) -> Floats:
        """The largest share of fake reports among these."""
        count = np.asarray(reports, float)
        if self.issued:
            return np.full(count.shape, self.share)
        with np.errstate(divide="ignore"):
            return np.minimum(1.0, np.where(count > 0, self.number / count, 1.0))

    def removed(self, values: Any, least: Any, most: Any, reports: Any) -> tuple[Floats, Floats]:
        """Between which numbers the means of the other reports lie, if every report is read as least to most."""
        shares = self.among(reports)
        rest = 1 - shares
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(rest > 0, (values - shares * most) / rest, -np.inf)
            high = np.where(rest > 0, (values - shares * least) / rest, np.inf)
        return low, high


def weighted(
    values: Floats, weights: Floats, parts: list[tuple[Floats, Floats, Floats]], *, together: bool
) -> tuple[Floats, Floats]:
    """The ends of a weighted sum of independent parts, each given by its values and their ends.

    How far all fake reports move a mean grows faster than their number, so that they move the sum farthest where all
    of them are in one part. With `together` every part is moved by its own, as where ids are issued.
    """
    with np.errstate(invalid="ignore"):
        moves = [
            np.stack([np.where(w > 0, w * (part[side] - part[0]), 0.0) for w, part in zip(weights, parts, strict=True)])
            for side in (1, 2)
        ]
    if together:
        return values + moves[0].sum(axis=0), values + moves[1].sum(axis=0)
    return values + moves[0].min(axis=0), values + moves[1].max(axis=0)
