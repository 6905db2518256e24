"""Plans for the shares of categories: frequency oracles, ranked by the exact error of a share.

Within 5 % of the lowest mean squared error, cost decides: whether a tally hashes every candidate, then the bytes of a
report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import count_text, reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import SAME_LAW
from sottovoce.core.registry import mechanism as build
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.request import Target
from sottovoce.study.detect import POWER, smallest_share
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays, no_method

CROWD = 1 << 30  # participants, of whom each value has some who are asked about it
CLOSE = math.sqrt(1.05)  # standard errors whose mean squared error is within 5 % of the lowest
LARGE = 256  # cells of a tally for each category
MANY = 4096  # candidates from which on one hash for each report and candidate is too much work
RARE = "rare"


@dataclass(frozen=True, slots=True)
class SharesPlanner(Planner):
    """Methods within five percent of the lowest mean squared error come first: for very many categories by the work of
    a tally, then by the bytes of a report, and then by their error. Without a prior all values are assumed to be
    equally common; with the prior "rare" the error is that of a value that nobody holds.
    """

    domain: Domain
    size: int
    truth: NDArray[np.float64] | None  # None for a rare value
    methods: tuple[str, ...]
    named: bool  # the methods were asked for by name
    target: Target

    @property
    def subject(self) -> str:
        return f"Shares of {self.size} categories"

    @property
    def measure(self) -> str:
        return "a share of zero" if self.truth is None else "a share, root mean square over all shares"

    def _error(self, mechanism: Mechanism) -> float:
        """The exact standard error of a large crowd, times the root of its size."""
        if self.truth is not None:
            return math.sqrt(CROWD * float(np.mean(mechanism.variance(self.truth, CROWD, target=self.target))))
        others = np.full(self.size, 1 / (self.size - 1))
        others[0] = 0
        return math.sqrt(CROWD * float(mechanism.variance(others, CROWD, target=self.target)[0]))

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = []
        for name in self.methods if self.named else [one for one in self.methods if one not in SAME_LAW]:
            try:
                mechanism = build(name, self.domain, epsilon=epsilon)
            except ParameterError:
                continue
            # Asked for by name: devices keep a file for a memo, and all permutations make a very large tally.
            heavy = mechanism.claimed_forever is not None or mechanism.cells > LARGE * mechanism.channel.inputs
            if (mechanism.guarantee.accepted_by() and not heavy) or self.named:
                candidates.append((self._error(mechanism), codec.payload_bytes(mechanism.channel), mechanism))
        if not candidates:
            raise no_method(epsilon, self.methods)
        least = min(error for error, _, _ in candidates)
        candidates.sort(key=lambda item: _rank(item[2], item[0] / least, item[1]))
        first_size = candidates[0][1]
        options = (
            Option(mechanism.name, mechanism, error, size, self._said(mechanism.name, error / least, size, first_size))
            for error, size, mechanism in candidates
        )
        return RootWays(tuple(options), least)

    def trusted_error(self, epsilon: Decimal, participants: int) -> float:
        """Two-sided geometric noise on each count: one person who answers otherwise changes two counts by one."""
        step = math.exp(-float(epsilon) / 2)
        return math.sqrt(2 * step) / (1 - step) / participants

    def _said(self, name: str, ratio: float, size: int, first_size: int) -> str:
        """The reason of an option, with the other names of its law; by name they are options of their own."""
        others = [] if self.named else [other for other, same in SAME_LAW.items() if same == name]
        return _reason(ratio, size, first_size) + (f" Other names of its law: {', '.join(others)}." if others else "")

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        try:
            one, any_one = (smallest_share(best.mechanism, participants, among=among) for among in (1, self.size))
        except ParameterError:
            return
        if one is None or any_one is None:
            yield "With so few participants no share can be distinguished from zero."
            return
        yield (
            f"A share of {one:.3g} is distinguished from zero with probability {100 * POWER:g} % by its 95 % interval,"
            f" one of {any_one:.3g} by intervals that hold for all {self.size:,} values at once."
        )


def planner(request: Request) -> SharesPlanner:
    """Checks the request; the prior is the shares that are expected."""
    request.refuse_mechanism()
    domain = request.question.domain
    if domain.size is None:
        raise reject("question", OWNER, "about a domain with finitely many codes", domain)
    if domain.size > MAX_CELLS:
        raise ParameterError(
            "A tally has at most 2**24 cells; there is no method for so many categories.", count_text(domain.size)
        )
    methods, named = tuple(request.registered(Frequency)), request.methods is not None
    if isinstance(request.prior, str) and request.prior == RARE:
        return SharesPlanner(domain, domain.size, None, methods, named, request.target)
    truth = expected_shares(request.prior, domain.size)
    return SharesPlanner(domain, domain.size, truth, methods, named, request.target)


def expected_shares(prior: Any, size: int) -> NDArray[np.float64]:
    """The shares of a prior; equal ones where there is none."""
    if prior is None:
        return np.full(size, 1 / size)
    try:
        shares = np.asarray(prior, float)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (size,) or not shares.min() >= 0 or not abs(shares.sum() - 1) <= 1e-9:
        raise reject("prior", OWNER, f"{size} shares that sum to 1, or {RARE!r}", prior)
    return shares


def _rank(mechanism: Mechanism, ratio: float, size: int) -> tuple[bool, float, float, float]:
    """Close ones first: those whose tally does not hash every one of very many candidates, then by bytes."""
    hashes_each_candidate = mechanism.channel.publics > 0 and isinstance(mechanism.statistic, CountSupports)
    slow = hashes_each_candidate and mechanism.channel.inputs > MANY
    return (False, slow, size, ratio) if ratio <= CLOSE else (True, ratio, size, slow)


def _reason(ratio: float, size: int, best_size: int) -> str:
    if ratio == 1:
        error = "no method has a smaller error"
    elif ratio <= CLOSE:
        error = f"an error within {math.ceil(1000 * (ratio - 1)) / 10:.1f} % of the smallest"
    else:
        error = f"{ratio:.3g} times the smallest error"
    if size == best_size:
        return f"{error}."
    return f"{error}, reports {size / best_size:.3g} times the size of the first choice."
