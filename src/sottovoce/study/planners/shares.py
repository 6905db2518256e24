"""Plans for the shares of categories: frequency oracles, ranked by the exact error of a share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import codec
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import count_text, reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.study.planners.base import CLOSE, OWNER, Option, Planner, Request, RootWays, no_method

LARGE = 256  # cells of a tally for each category
MANY = 4096  # candidates from which on one hash for each report and candidate is too much work


@dataclass(frozen=True, slots=True)
class SharesPlanner(Planner):
    """Methods within two percent of the smallest error come first: by the bytes of a report, for very many categories
    by the work of a tally, and then by their error. Without a prior all values are assumed to be equally common.
    """

    domain: Domain
    truth: NDArray[np.float64]
    methods: tuple[str, ...]
    target: str

    @property
    def subject(self) -> str:
        return f"Shares of {len(self.truth)} categories"

    @property
    def measure(self) -> str:
        return "a share, root mean square over all shares"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = []
        for name in self.methods:
            try:
                mechanism = build(name, self.domain, epsilon=epsilon)
            except ParameterError:
                continue
            # Asked for by name: devices keep a file for a memo, and all permutations make a very large tally.
            if mechanism.claimed_forever is not None or mechanism.cells > LARGE * len(self.truth):
                continue
            error = math.sqrt(float(np.mean(mechanism.variance(self.truth, 1, target=self.target))))
            candidates.append((error, codec.payload_bytes(mechanism.channel), mechanism))
        if not candidates:
            raise no_method(epsilon, self.methods)
        least = min(error for error, _, _ in candidates)
        candidates.sort(key=lambda item: _rank(item[2], item[0] / least, item[1]))
        first_size = candidates[0][1]
        options = (
            Option(mechanism.name, mechanism, error, size, _reason(error / least, size, first_size))
            for error, size, mechanism in candidates
        )
        return RootWays(tuple(options), least)


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
    truth = np.full(domain.size, 1 / domain.size) if request.prior is None else _shares(request.prior, domain.size)
    return SharesPlanner(domain, truth, tuple(request.registered(Frequency)), request.target)


def _shares(prior: Any, size: int) -> NDArray[np.float64]:
    try:
        found = np.asarray(prior, float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (size,) or not found.min() >= 0 or not abs(found.sum() - 1) <= 1e-9:
        raise reject("prior", OWNER, f"{size} shares that sum to 1", prior)
    return found


def _rank(mechanism: Mechanism, ratio: float, size: int) -> tuple[bool, float, float, float]:
    """Close ones first, by bytes; then those whose tally does not hash every candidate."""
    hashes_each_candidate = mechanism.channel.publics > 0 and isinstance(mechanism.statistic, CountSupports)
    slow = hashes_each_candidate and mechanism.channel.inputs > MANY
    return (False, size, slow, ratio) if ratio <= CLOSE else (True, ratio, size, slow)


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
