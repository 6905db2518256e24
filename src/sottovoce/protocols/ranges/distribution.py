"""A distribution with an unknown range: search where nearly all answers lie first, then distinguish buckets there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

from sottovoce.core.domain import Bins, Integers, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Estimates
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.ranges.after import AfterRangeSearch
from sottovoce.protocols.ranges.bits import short
from sottovoce.protocols.ranges.search import RangeSearchRounds, bits_of

OWNER = "a range search for a distribution"
MOST_BUCKETS = 4096


@dataclass(frozen=True, slots=True)
class RangeSearchDistribution(AfterRangeSearch):
    """Estimate the distribution of a number whose range is hardly known.

    A few rounds of one bit each find the range beyond whose ends at most a share `beyond` is likely on either side.
    Everyone who is left answers through `method`, with `buckets` buckets: of equal width in that range, and one for
    all numbers below it and one for all above, unless the range reaches the end of the domain. No answer is moved, so
    quantiles, and shares up to the edges of buckets, are those of all answers. A mean of this distribution takes the
    numbers of an outer bucket to be spread evenly: ask for it through `RangeSearchMean`.

    The results are "distribution" and "thresholds". If the protocol is closed before, there are "thresholds" and
    "mean", from the thresholds.
    """

    domain: Integers | Interval
    epsilon: Any
    participants: int
    buckets: int = 64
    beyond: Any = Decimal("0.005")
    method: str = "coded-wave"
    search: Any = None
    rounds: int = 6

    def __post_init__(self) -> None:
        checked = self.opening
        for name in ("epsilon", "participants", "search", "rounds"):
            object.__setattr__(self, name, getattr(checked, name))
        check_integer("buckets", OWNER, self.buckets, 4, MOST_BUCKETS)
        if self.method not in names(Distribution):
            raise reject("method", OWNER, f"one of {', '.join(names(Distribution))}", self.method)
        if not 0 < float(self.beyond) <= 0.1:
            raise reject("beyond", OWNER, "a share in (0, 0.1]", self.beyond)

    @property
    def question(self) -> Distribution:
        return Distribution(self.domain)

    @property
    def opening(self) -> RangeSearchRounds:
        return RangeSearchRounds(self.domain, self.epsilon, self.participants, search=self.search, rounds=self.rounds)

    def following(self, estimates: Estimates, rounds: Rounds) -> AskEveryone:
        low, high = self.opening.holding(bits_of(rounds), float(self.beyond))
        return AskEveryone(self.bucketed(low, high), "distribution")

    def bucketed(self, low: Decimal, high: Decimal) -> Mechanism:
        """The question to everyone who is left: buckets of equal width from `low` to `high`, and what lies beyond."""
        least, most = Decimal(self.domain.low), Decimal(self.domain.high)
        count = self.buckets - (low > least) - (high < most)
        context = Context(prec=34)
        even = float(high - low) / count
        width = short(even, even / 50, toward="up")  # few digits; the range ends a little later
        edges = {context.add(low, context.multiply(width, Decimal(place))) for place in range(count + 1)}
        if self.domain.spacing is not None:  # an edge is the first possible answer of its bucket
            edges = {_first_from(self.domain, edge) for edge in edges}
        view = Bins(self.domain, sorted(edge for edge in edges if least < edge <= most and not edge == most == high))
        coded = build(self.method, Integers(0, view.size - 1), epsilon=self.epsilon)
        return replace(coded, question=Distribution(self.domain, buckets=view.size), domain=view)


def _first_from(domain: Integers | Interval, edge: Decimal) -> Decimal:
    """The first possible answer at or above an edge."""
    steps = ((edge - Decimal(domain.low)) / Decimal(str(domain.spacing))).to_integral_value("ROUND_CEILING")
    return Decimal(domain.low) + steps * Decimal(str(domain.spacing))
