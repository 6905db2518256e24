"""How far fake reports can move an estimate, exactly: who does not answer but sends what they like.

An estimate of the linear decoder is the mean of one number from each report, which lies in a range that the channel
fixes. Of n reports m fake ones, with the numbers c, move the mean of the others by the share m / n of c less that mean.
No validation prevents it: every fake report is one that an honest device might send. Public words are a function of the
id, and whoever fakes reports can try ids until the words suit; unless the collector issues the ids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.fakes import FakeReports

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
OWNER = "what_if"


@dataclass(frozen=True, slots=True, eq=False)
class Manipulation:
    """What fake reports among those of an estimate could have done to it.

    Attributes:
        estimate: with the fake reports in it.
        share: of fake reports among all reports.
        shares: the same among the reports of each value: all of them where ids are free, since each fake report can be
            made to count for it.
        low, high: the estimate from the other reports alone lies between these. Shares, means, combinations of them
            with the same weights, and means of groups can be either; of a variance both means are moved at once.
    """

    estimate: Estimate
    share: float
    issued: bool
    shares: Floats
    low: Floats
    high: Floats

    @property
    def moves(self) -> Floats:
        """How far each value is moved at most; infinite where all of its reports may be fake."""
        values = self.estimate.evidence.values()
        return np.asarray(np.maximum(self.high - values, values - self.low))

    def to_frame(self) -> pd.DataFrame:
        """One row for each value."""
        import pandas as pd

        return pd.DataFrame(
            {
                "label": self.estimate.axes.texts(),
                "estimate": self.estimate.evidence.values(),
                "without_fakes_low": self.low,
                "without_fakes_high": self.high,
                "moves": self.moves,
            }
        )

    def text(self) -> str:
        """The largest move as one sentence."""
        noun = self.estimate.evidence.noun
        every = "every" if len(self.low) > 1 else "the"
        known = self.moves[~np.isnan(self.moves)]  # a group that is not estimable has none
        largest = float(known.max()) if len(known) else math.inf
        if math.isinf(largest):
            return f"With {100 * self.share:g} % fake reports {every} {noun} can be anything."
        return (
            f"With {100 * self.share:g} % fake reports {every} {noun} moves by at most {largest:.3g}, for ids that"
            f" {'the collector issues (on average)' if self.issued else 'devices draw, and fakers choose'}."
        )

    __str__ = text


def what_if(
    estimate: Estimate, share: float | None = None, *, fakes: int | None = None, issued: bool = False, of: int = 0
) -> Manipulation:
    """How far a share of fake reports, or a number of them, can have moved an estimate.

    `of` is the number of reports of the whole study, where it is larger than that of the estimate: fakes choose ids
    that lead them to this question. With `issued` they cannot, and are spread like all others.
    """
    total = check_integer("of", OWNER, of or estimate.n, estimate.n, 1 << 53)
    part = _share(share, fakes, total)
    added, evidence = FakeReports(part * total, part, issued), estimate.evidence
    bounds = evidence.without_fakes(added)
    if bounds is None:
        raise ParameterError(
            f"This {evidence.noun} is not made of means of one number from each report, so how far fake reports move it"
            " is not known; ask for the shares or means behind it."
        )
    means = evidence.contributions()
    shares = added.among(np.full(len(bounds.low), float(estimate.n)) if means is None else means.reports)
    return Manipulation(estimate, part, issued, shares, *bounds)


def _share(share: float | None, fakes: int | None, total: int) -> float:
    if (share is None) == (fakes is None):
        raise ParameterError("Give the share of fake reports or their number, one of the two.")
    if fakes is not None:
        return check_integer("fakes", OWNER, fakes, 0, total) / total
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise reject("share", OWNER, "a number in [0, 1]", share)
    return float(share)
